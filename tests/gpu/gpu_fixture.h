/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A simulated GPU for a test. One simulation per test. */
#ifndef GPU_FIXTURE_H
#define GPU_FIXTURE_H

#include "gpu/process.h"
#include "runner.h"

extern struct sim_gpu gpu;

/*
 * Run @body in an actor on a started GPU. Then all running processes exit, the GPU stops, and
 * the books are checked: no chunk and no container is left.
 */
void run_gpu(const struct cfg_gpu *profile, const struct sim_memory_policy *policy,
	     void (*body)(void));

#endif
