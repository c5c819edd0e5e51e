/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The GPUs that a container has, of those of NVIDIA's driver on this host. */
#ifndef SIM_GVMD_HOST_HOST_GPUS_H
#define SIM_GVMD_HOST_HOST_GPUS_H

#include <jansson.h>
#include <stddef.h>

struct sim_error;

#define HOST_GPUS	  "/proc/driver/nvidia/gpus"
#define HOST_GPUS_MAX	  32
#define HOST_GPU_UUID_MAX 48

/* Their UUIDs, "GPU-...", by PCI address: the first one is the container's GPU 0. */
struct host_gpus {
	char uuids[HOST_GPUS_MAX][HOST_GPU_UUID_MAX];
	size_t count;
};

/*
 * Find the GPUs of the container with this config.json, by NVIDIA_VISIBLE_DEVICES in its
 * environment, or by its device nodes; without both it has all. @folder: HOST_GPUS, but for
 * tests. Returns 0 or a negative enum sim_exit.
 */
int host_gpus_find(const char *folder, const json_t *config, struct host_gpus *ret_gpus,
		   struct sim_error *err);

#endif
