/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * One step of a profiled program, as launches in the order of the host
 * ====================================================================
 *
 * Of the recorded steps, the one of median length counts. Its launches have what they give the
 * GPU to do, and what the host does before each of them. Both are taken from the trace:
 *
 *     host     from the moment when the GPU could begin the launch before, to the moment when it
 *              can begin this one. If the host has waited for the GPU in between, from the end of
 *              all work: then the time is no longer hidden by the GPU's. A pause of the host of
 *              100 ms counts as such a wait.
 *     GPU      of each kernel the time in which no earlier one runs, and the gap that the GPU
 *              leaves behind it, which is the median of those before queued kernels. Of that
 *              gpu.kernel_overhead counts as overhead, in which it holds no SM.
 *
 * The profiler makes launches slower. So all host times are multiplied with one factor, up to 1:
 * the largest with which the step takes no longer than one without the profiler. The step is
 * played for that: kernels one after the other, none before its launch. Kernels are hardly
 * slower under the profiler. Where the GPU's work alone takes longer than a plain step, as in
 * a graph of many short kernels, GPU times are multiplied with a factor of their own.
 *
 * What a kernel's time depends on
 * -------------------------------
 *
 *     products   matrix products, convolutions and attention: on the peak of the tensor cores
 *     memory     kernels that move the bytes of their tensors at half of the memory's speed or
 *                more, products with few rows among them: on that speed
 *     SMs        slower ones, and those whose tensors fit into the L2, which has their clock: on
 *                the number and the clock of the SMs. Copies over the link count as such, on one
 *                SM
 *
 * A kernel whose tensors are not known counts as its name says, and others as memory. What
 * kernels of products and of SMs move takes no time of its own, and counts where others want the
 * memory.
 *
 * No kernel moves more than the memory can in the kernel's time. One whose tensors have more has
 * not read all of them: a gather reads some rows of its table, and an operator of several kernels
 * reads its operands in one of them. Such a kernel counts as products if that is its name, and
 * else as SMs, and how much it moves is not known: none counts. But the size of the result is a
 * guess of the profile, that of the largest operand. So a kernel that is no gather can have twice
 * as many bytes: products with few rows do, which read all their weights and write little.
 */
#ifndef SIM_IMPORT_TORCH_STEP_H
#define SIM_IMPORT_TORCH_STEP_H

#include "import/torch_trace.h"

struct cfg_gpu;

/* GPU time by what it depends on. */
enum torch_bound { TORCH_BY_PRODUCTS, TORCH_BY_MEMORY, TORCH_BY_SMS, TORCH_BOUNDS };

struct torch_launch {
	u64 host_ns;		  /* before it */
	u64 overhead_ns;	  /* GPU time of kernels that is gpu.kernel_overhead's */
	u64 gpu_ns[TORCH_BOUNDS]; /* the rest */
	u64 sm_ns;		  /* GPU time, by the SMs that thread blocks fill: ns x SMs */
	u64 beside_bytes;	  /* that kernels move which the memory does not bound */
	u64 kernels;
	u64 turns;   /* that these take beside kernels that leave room, in ppm: app_cost.h */
	bool waited; /* the host has waited for the GPU before */
	bool graph;
};

/* Owned by the caller: torch_step_init(), torch_step_destroy(). */
struct torch_step {
	struct torch_launch *launches;
	size_t count;
	u64 gap_ns;	   /* after each kernel */
	u64 graph_gap_ns;  /* likewise in a graph */
	u64 profiled_ns;   /* under the profiler */
	u64 plain_ns;	   /* without; 0: not measured */
	u64 host_ppm;	   /* factor that host times have been multiplied with */
	u64 gpu_ppm;	   /* likewise of GPU times */
	u64 reproduced_ns; /* what it takes if it is played so */
};

/*
 * Take the step of median length of @trace, measured on @gpu. Returns 0 or a negative enum
 * sim_exit: no step has kernels, or there is no memory. Then nothing is owned.
 */
int torch_step_init(struct torch_step *step, const struct torch_trace *trace,
		    const struct cfg_gpu *gpu, const char *path, struct sim_error *err);

void torch_step_destroy(struct torch_step *step);

/* GPU time of a launch. */
u64 torch_launch_gpu_ns(const struct torch_launch *launch);

#endif
