/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A library that a system puts between applications and CUDA (LD_PRELOAD): it sees when a
 * process has work, and may hold its launches up (fifo_allow()). Each GPU has one, for all of
 * its processes. What the real library's processes tell each other, this one knows.
 */
#ifndef SIM_CUDA_LIBRARY_H
#define SIM_CUDA_LIBRARY_H

#include "config/config.h"
#include "cuda/types.h"

/*
 * device->library_data and context->library_data are the library's. No call may block.
 * create, destroy, stop, attach and detach are required; the others may be NULL. idle and ended
 * must not call sim/fifo.
 */
struct cuda_library {
	/*
	 * It keeps launches in a queue of its own, from which a thread of its own makes them.
	 * So the application's thread never waits for room in a ring of CUDA.
	 */
	bool queues;
	/* Make the library's state for the containers of a GPU; or free it. 0 or -ENOMEM. */
	int (*create)(struct cuda_device *device, const struct config *config);
	void (*destroy)(struct cuda_device *device);
	/* The GPU stops: end all timers. */
	void (*stop)(struct cuda_device *device);
	/* A container's process has its context; or its context ends, perhaps twice. */
	void (*attach)(struct cuda_context *context, const struct cfg_container *container);
	void (*detach)(struct cuda_context *context);
	/* A context has work after it had none; or all of its work has ended. */
	void (*busy)(struct cuda_context *context);
	void (*idle)(struct cuda_context *context);
	/* A context submits kernels: the library may change when they are launched. */
	void (*launch)(struct cuda_context *context, struct fifo_burst *burst);
	/* Kernels were submitted, or wait no more; or kernels have ended. */
	void (*submitted)(struct cuda_context *context);
	void (*ended)(struct cuda_context *context);
	/*
	 * Files of a container that the library has, and no driver: read one into @text of
	 * @size bytes, and return its length; write one. -ENOENT: there is no such file;
	 * -EINVAL: no value of it.
	 */
	int (*read_file)(struct cuda_context *context, const char *file, char *text,
			 size_t size);
	int (*write_file)(struct cuda_context *context, const char *file, const char *text);
	/*
	 * The advice with which the library makes the allocation that a context asks for, or
	 * CUDA_NO_ADVICE.
	 */
	enum cuda_advice (*advice)(struct cuda_context *context);
	/*
	 * How long the page tables of @chunks chunks take the application: to map, or to unmap.
	 */
	u64 (*map_ns)(struct cuda_context *context, u64 chunks);
};

#endif
