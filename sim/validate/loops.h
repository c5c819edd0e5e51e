/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The measured loops, for predict.c. All of them block, and are called from an actor. They
 * return 0 or a negative errno: -ENOMEM, or -EIO when a context died.
 */
#ifndef SIM_VALIDATE_LOOPS_H
#define SIM_VALIDATE_LOOPS_H

#include "validate/hardware.h"

/* Loops of copies, faults and prefetches: memory_loops.c. */
int hw_run_memory_loop(const struct config *config, enum hw_loop loop, u64 size,
		       double *ret_ns);

/* HW_WALK: how long each of the first @count accesses takes. */
int hw_run_walk(const struct config *config, u64 *ret_ns, u32 count);

/* Loops of two processes: sharing_loops.c. */

/* HW_SLICE_*: two endless kernels of @threads threads each. */
struct hw_slices {
	double on_ns;
	double off_ns;
	double gap_ns;
};
int hw_run_slices(const struct config *config, u64 threads, struct hw_slices *ret_slices);

/* HW_GAP_*: a launch-bound process, alone and beside a busy one. */
struct hw_gap_times {
	double alone_ns;
	double step_ns;
	double speed;
};
int hw_run_gap(const struct config *config, const struct hw_gap *gap,
	       struct hw_gap_times *ret_times);

#endif
