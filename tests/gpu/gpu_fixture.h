/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A simulated GPU for a test. One simulation per test. */
#ifndef GPU_FIXTURE_H
#define GPU_FIXTURE_H

#include "gpu/process.h"
#include "runner.h"

/*
 * The profile of a GPU of @chunks_ chunks on which only copies and clears take time, 1 byte/ns
 * each way. A timeslice is 1 ms.
 */
#define GPU_WITHOUT_COSTS(chunks_)                                                        \
	{                                                                                 \
		.memory = (chunks_)*GVM_CHUNK_BYTES,                                      \
		.link = { .bandwidth = 1000000000, .bandwidth_both = 2000000000 },        \
		.sched = { .timeslice = 1000000, .timeslice_scale = CFG_PPM }, .fault = { \
			.buffer_entries = 256,                                            \
			.outstanding = 256,                                               \
			.per_block = 32,                                                  \
			.zero_bandwidth = 1000000000                                      \
		}                                                                         \
	}

extern struct sim_gpu gpu;

/*
 * Run @body in an actor on a started GPU. Then all running processes exit, the GPU stops, and
 * the books are checked: no chunk and no container is left.
 */
void run_gpu(const struct cfg_gpu *profile, const struct sim_memory_policy *policy,
	     void (*body)(void));

#endif
