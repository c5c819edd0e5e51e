/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A simulated GPU for one test. One simulation a test. */
#ifndef GPU_FIXTURE_H
#define GPU_FIXTURE_H

#include "gpu/process.h"
#include "runner.h"

extern struct sim_gpu gpu;

/*
 * Run @body in an actor on a GPU that has started. Afterwards all processes that run exit, the GPU stops,
 * and the books are checked: no chunk and no container is left.
 */
void run_gpu(const struct cfg_gpu *profile, const struct sim_memory_policy *policy,
	     void (*body)(void));

#endif
