/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The measured loops, for predict.c. All of them block: called from an actor. */
#ifndef SIM_VALIDATE_LOOPS_H
#define SIM_VALIDATE_LOOPS_H

#include "gvm/port.h"
#include "validate/hardware.h"

/* Loops of copies, faults and prefetches: memory_loops.c. Returns 0 or a negative enum sim_exit. */
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
struct hw_slices hw_run_slices(const struct config *config, u64 threads);

/* HW_GAP_*: a launch-bound process, alone and beside a busy one. */
struct hw_gap_times {
	double alone_ns;
	double step_ns;
	double speed;
};
struct hw_gap_times hw_run_gap(const struct config *config, const struct hw_gap *gap);

/* What a failed allocation leaves is not worth cleaning up: the program ends. */
void hw_out_of_memory(void) __attribute__((noreturn));

#endif
