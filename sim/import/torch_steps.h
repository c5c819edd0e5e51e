/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How long the steps of a program took, alone and without the profiler
 * ====================================================================
 *
 * A profile has one step. But the host is not equally fast in all: its clock, its caches and its
 * other users change, and a step whose launches bound it takes 0.8 to 2 times as long as the
 * median one. So the host's time of a step is not a number but a distribution, and the steps of
 * the program alone say which: the step of the profile, played again, takes as long as it says,
 * and another step takes this many times as long.
 *
 *     factor = step / the profile's step
 *
 * It is that of the host's times where these bound the step. Where the GPU bounds it, all steps
 * are equally long, the factors are near 1, and the host's times do not show. A step that is now
 * bound by the one and now by the other has factors that are too small where the host was fast;
 * there they do not show either.
 */
#ifndef SIM_IMPORT_TORCH_STEPS_H
#define SIM_IMPORT_TORCH_STEPS_H

#include <stddef.h>

#include "engine/types.h"

struct sim_error;

/* Of a step, and of its time on the GPU. */
#define TORCH_STEP_MAX_NS 100000000000ull

/* Zeros are an empty list. */
struct torch_steps {
	u64 *ns; /* owned */
	size_t count;
	size_t room;
};

/* Add a step. Returns 0, or -1 if there is no memory. */
int torch_steps_add(struct torch_steps *steps, u64 ns);

/*
 * Read the column "step_us" of the CSV file @path into the empty @steps. Returns 0 or a negative
 * enum sim_exit; then @steps is empty.
 */
int torch_steps_read(const char *path, struct torch_steps *steps, struct sim_error *err);

void torch_steps_destroy(struct torch_steps *steps);

/*
 * Factors of the host's times, in ppm, for a profile whose step takes @usual_ns: up to @most of
 * them, each of the middle step of an equal part of the steps by length. They are from @least_ppm
 * to @most_ppm. Sorts @steps. Returns their number.
 */
size_t torch_steps_factors(struct torch_steps *steps, u64 usual_ns, u32 least_ppm, u32 most_ppm,
			   u32 *factors, size_t most);

#endif
