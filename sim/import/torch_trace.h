/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A profile of a PyTorch program: the Chrome trace that torch.profiler exports, plain or
 * compressed by gzip. What python/gvm_profile adds to it is in its key "gvmsim": the dates of the
 * steps, how long steps take without the profiler, the memory, and how many bytes the tensors
 * of each kernel have. Without that key, the steps are those of the profiler's own step().
 *
 * The events that count, of kind "X", with "ts" and "dur" in us:
 *
 *     kernel, gpu_memcpy, gpu_memset    work of the GPU, by "correlation" of a launch
 *     cuda_runtime, cuda_driver         calls of the host: launches, and waits for the GPU
 *     user_annotation                   "ProfilerStep#N"
 */
#ifndef SIM_IMPORT_TORCH_TRACE_H
#define SIM_IMPORT_TORCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/types.h"
#include "import/torch_steps.h"

struct sim_error;

#define TORCH_DEVICE_MAX 96
/* Of the text. Parsed it takes ten times as much memory. */
#define TORCH_TRACE_MAX (512ull << 20)
/* Of the memory: what a tensor of an application may have. */
#define TORCH_MEMORY_MAX (1ull << 44)

/* What a kernel is made for. */
enum torch_kind {
	TORCH_PRODUCT,	/* matrix products, convolutions, attention */
	TORCH_GATHER,	/* reads a part of a table, by indices */
	TORCH_ELEMENTS, /* any other kernel */
	TORCH_COPY,	/* over the link, by a copy engine */
};

struct torch_kernel {
	u64 start_ns, end_ns; /* date; the clock is that of the calls */
	u64 launch;	      /* correlation of its call; 0: not known */
	u64 blocks;	      /* thread blocks */
	u64 bytes; /* of its operator's tensors, or of the rows it gathers; 0: not known */
	enum torch_kind kind;
	bool claimed; /* it is the first one of a call */
};

/* A call of the CUDA runtime or driver that launches kernels, or waits for them. */
struct torch_call {
	u64 start_ns, end_ns;
	u64 correlation; /* 0: none, so no kernels */
	bool waits;	 /* for the GPU */
	bool graph;	 /* launches a CUDA graph */
};

struct torch_span {
	u64 start_ns, end_ns;
};

/* Owned by the caller: torch_trace_read(), torch_trace_destroy(). */
struct torch_trace {
	char device[TORCH_DEVICE_MAX]; /* "NVIDIA H200"; empty: not said, or longer */
	u64 sms;		       /* 0: not said */
	struct torch_kernel *kernels;  /* by launch, then by start */
	size_t kernel_count;
	struct torch_call *calls; /* by start; launches have kernels */
	size_t call_count;
	struct torch_span *steps; /* by start */
	size_t step_count;
	u64 plain_step_ns; /* a step without the profiler, a mean; 0: not measured */
	struct torch_steps plain_steps; /* all of these; none: not measured */
	u64 state_bytes;		/* allocated between two steps */
	u64 reserved_bytes;		/* of the allocator; 0: memory is not said */
};

/*
 * Read @path. Returns 0 or a negative enum sim_exit: a file that is no such trace, has no steps,
 * or kernels of several GPUs. Then nothing is owned.
 */
int torch_trace_read(const char *path, struct torch_trace *trace, struct sim_error *err);

void torch_trace_destroy(struct torch_trace *trace);

/* The kernels of a call, *@ret_count of them. */
const struct torch_kernel *torch_trace_kernels(const struct torch_trace *trace,
					       const struct torch_call *call,
					       size_t *ret_count);

#endif
