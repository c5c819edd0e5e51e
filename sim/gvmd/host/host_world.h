/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Containers on a real host: directories of control files, as gvm.ko has them. */
#ifndef SIM_GVMD_HOST_HOST_WORLD_H
#define SIM_GVMD_HOST_HOST_WORLD_H

#include <limits.h>

#include "gvmd/policy.h"

/* One container. */
struct host_container {
	char name[GVMD_NAME_MAX];
	char directory[PATH_MAX]; /* below the root: "4201/0" or "cgroup/tenant-a/0" */
	u32 gpu;		  /* the number after that */
	char report[PATH_MAX];	  /* file of its application's report; empty: it has none */
	bool seen;		  /* a control file of it was read */
};

/* All-zero has no container. */
struct host_world {
	const char *root; /* borrowed */
	u32 count;
	struct host_container containers[GVMD_CONTAINERS_MAX];
};

/*
 * Use @root; NULL: /sys/kernel/debug/gvm, or /sys/kernel/gvm where debugfs has no gvm.
 */
void host_world_set_root(struct host_world *world, const char *root);

/*
 * Add "NAME=PID[:GPU]" or "NAME=/CGROUP[:GPU]"; the GPU is 0 by default. Or set the report of a
 * container, "NAME=FILE". Both return NULL, or what is wrong.
 */
const char *host_world_add(struct host_world *world, const char *argument);
const char *host_world_add_report(struct host_world *world, const char *argument);

/*
 * Read or write a file of a container: as read() and write() of struct gvmd_world (daemon.h).
 * A read takes at most @size - 1 bytes.
 */
int host_world_read(struct host_world *world, u32 index, const char *file, char *text,
		    size_t size);
int host_world_write(struct host_world *world, u32 index, const char *file, const char *text,
		     bool no_wait);

#endif
