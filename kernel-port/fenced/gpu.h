/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The one context of gvmfenced, its memory, and who has which part of it. */
#ifndef KERNEL_PORT_FENCED_GPU_H
#define KERNEL_PORT_FENCED_GPU_H

#include <stdbool.h>

#include "cuda_calls.h"
#include "engine/error.h"
#include "gvm/fence_table.h"

#define GPU_TENANTS	64u
#define GPU_ALLOCATIONS 32768u
#define GPU_GRANULE	(16ull << 20)
#define GPU_MARGIN	(8ull << 20)

/* The driver's calls. */
struct gpu_cuda {
#define GPU_POINTER(name) __typeof__(&(name)) name;
	FENCED_CUDA(GPU_POINTER)
#undef GPU_POINTER
};

#define GPU_PROGRAMS	 32u
#define GPU_PROGRAM_NAME 64u

/* Clients with a mode of their own: those whose program's file has this name. */
struct gpu_program {
	char name[GPU_PROGRAM_NAME];
	enum gvm_fence_mode mode;
};

/* Filled by gpu_open(); constant afterwards, but for the table, which has a lock. */
struct gpu {
	struct gpu_cuda cuda;
	struct CUctx_st *context;
	int device, ordinal;
	enum gvm_fence_mode mode; /* of tenants that are not listed; NOPROT: no fence */
	struct gpu_program programs[GPU_PROGRAMS];
	u32 program_count;
	bool samples;	   /* clients can be sampled */
	u32 sample_every;  /* the setting of clients when they come; 0: none */
	bool local_stores; /* code that may change what ptxas has spilled is served */
	struct gvm_fence_table table; /* over all memory */
	char name[128];
};

/*
 * Load the driver, make the context on GPU @ordinal and take @bytes of its memory, a power of
 * two; 0: half of it, rounded down. Returns 0, or a negative enum sim_exit with one line in
 * *err; what was made stays until the process ends. CONTEXT: once in a process, before threads.
 */
int gpu_open(struct gpu *gpu, int ordinal, u64 bytes, enum gvm_fence_mode mode,
	     struct sim_error *err);

/*
 * Write @bytes to the GPU's memory. They are there when this returns, for kernels of all
 * streams: those of clients do not wait for the default stream.
 */
cu_result gpu_write(const struct gpu *gpu, cu_ptr to, const void *from, size_t bytes);

/* The mode for a client's process; @pid 0 is not known, and not listed. */
enum gvm_fence_mode gpu_mode_of(const struct gpu *gpu, int pid);

#endif
