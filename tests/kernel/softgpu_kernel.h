/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Kernels on the software GPU that run beside the test, and RM's control calls about their
 * TSGs. A kernel reads one word of memory that is on the GPU again and again, so its
 * accesses count its time.
 */
#ifndef SOFTGPU_KERNEL_H
#define SOFTGPU_KERNEL_H

#include <pthread.h>

#include "softgpu_guest.h"

/* Accesses at once. Slices are multiples of it, so a turn is as long as its slice. */
#define SOFTGPU_KERNEL_WINDOW 64u

struct softgpu_kernel {
	pthread_t thread;
	struct softgpu_tenant tenant;
	uint64_t *memory; /* its first word is 1 */
	uint64_t accesses;
	struct softgpu_access done;
	int over; /* read and written atomically */
};

/* init: give it memory on the GPU of a tenant. free: give that back. */
void softgpu_kernel_init(struct softgpu_kernel *kernel, const struct softgpu_tenant *tenant);
void softgpu_kernel_free(struct softgpu_kernel *kernel);

/* Run it in a thread of its own, and wait until it has ended: two test points. */
void softgpu_kernel_begin(struct softgpu_kernel *kernel, uint64_t accesses);
void softgpu_kernel_wait(struct softgpu_kernel *kernel);

bool softgpu_kernel_is_over(struct softgpu_kernel *kernel);

/* Wait until the SMs work, which no other kernel does now. */
void softgpu_kernel_wait_running(struct softgpu_kernel *kernel);

/* How often the TSG of a client has left the SMs. Takes all events. */
size_t softgpu_switches(unsigned int client);

/* An RM control call: its NV_STATUS, or ~0. */
unsigned int softgpu_rm_control(unsigned int client, unsigned int object, unsigned int command,
				void *params, size_t bytes);

/* The handle of a client's TSG, and its slice in us. 0: there is none. */
unsigned int softgpu_tsg_of(unsigned int client);
/* A client puts its TSG on the runlist, as a process does that has made channels. */
unsigned int softgpu_schedule_tsg(unsigned int client);
/* A client's handle of the GPU that its first channel is on. 0: there is none. */
unsigned int softgpu_subdevice_of(unsigned int client);
uint64_t softgpu_get_timeslice(unsigned int client);

#endif
