/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The key "seeds" of a sweep or a figure. */
#ifndef SIM_FIGURES_SEEDS_H
#define SIM_FIGURES_SEEDS_H

#include <stddef.h>

#include "engine/types.h"

struct place;

/*
 * Read "seeds" of @root: a number N, for the seeds 1 to N, or a list of up to @most seeds. A
 * mistake goes to the place's reader. The caller frees *ret_seeds, which is NULL without memory
 * only; without the key there are 0.
 */
void seeds_read(const struct place *root, size_t most, u64 **ret_seeds, size_t *ret_count);

#endif
