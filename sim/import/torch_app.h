/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * An application of type "phases" from a step of a profiled program
 * =================================================================
 *
 * An iteration of the application is the step. Consecutive launches become a phase of equal
 * kernels: up to TORCH_PHASES of them in all, and a new one after each wait for the GPU and for
 * each CUDA graph. A phase has as much host time and GPU time as its launches. GPU time is
 * turned into what a GPU has rates for: FLOP of products, bytes of memory, cycles of SMs. On the
 * profiled GPU it takes as long as it did, and on another one the ratio of the rates counts.
 *
 * The profile says how much memory is allocated between steps and how much the allocator holds,
 * but not which kernel touches what. The assumption: a step goes once through all that stays
 * between steps (weights, the state of an optimizer), and once through the rest, in order. It
 * matters when the memory is paged.
 *
 * Where the steps of the program alone are known, the application has their factors of the host's
 * times, and each iteration draws one (torch_steps.h).
 */
#ifndef SIM_IMPORT_TORCH_APP_H
#define SIM_IMPORT_TORCH_APP_H

#include <stdio.h>

#include "import/torch_step.h"

struct cfg_host;

#define TORCH_PHASES	 120u
#define TORCH_PHASES_MAX 240u

/* What an application is made of. Borrowed. */
struct torch_app {
	const char *profile; /* path, for the source of the numbers */
	const struct torch_trace *trace;
	const struct torch_step *step;
	const struct cfg_gpu *gpu;
	const struct cfg_host *host; /* of that GPU */
	const char *steps;	     /* path of what has the steps that follow */
	const u32 *host_times;	     /* factors, ppm: torch_steps.h */
	size_t host_time_count;	     /* 0: the application has none */
};

/* The phases that a step is cut into. */
size_t torch_app_phases(const struct torch_step *step);

/*
 * Write the application's profile to @stream. Returns 0 or a negative enum sim_exit: more
 * phases than TORCH_PHASES_MAX or than a run has room for, numbers that a run would refuse, a
 * name not in UTF-8, or no memory. In these cases nothing has been written.
 */
int torch_app_write(const struct torch_app *app, FILE *stream, struct sim_error *err);

#endif
