/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Containers of a system with a library between applications and CUDA, on one GPU. Each has an
 * application, an actor that launches kernels. Faults do not occur. One simulation a test.
 */
#ifndef LIBRARY_FIXTURE_H
#define LIBRARY_FIXTURE_H

#include "cuda/cuda.h"
#include "cuda/device.h"
#include "systems/system.h"
#include "runner.h"

#define US	      1000ull
#define MS	      1000000ull
#define PROCESSES_MAX 3u

extern struct sim_gpu gpu;
extern struct cuda_device device;
extern struct sim_process processes[PROCESSES_MAX];
extern struct cuda_context contexts[PROCESSES_MAX];

/* vgpu.type of each container; NULL: none. */
extern const char *library_vgpu_types[PROCESSES_MAX];

/*
 * Run a container for each of @priorities, NULL at the end, texts of compute.priority. @bodies:
 * their applications. @keys: the struct of the system's keys. The context switch takes
 * @switch_ns, a timeslice 1 ms.
 */
void library_simulate(const struct sim_system *system, void *keys, u64 switch_ns,
		      const char *const *priorities, void (*const *bodies)(void));

/* Launch @count kernels of @kernel_ns in container @index, one every @launch_ns. */
void library_launch(u32 index, u32 count, u64 kernel_ns, u64 launch_ns);

/* Kernels that a container has launched, and that have ended, by now. */
u64 library_launched(u32 index);
u64 library_ended(u32 index);

#endif
