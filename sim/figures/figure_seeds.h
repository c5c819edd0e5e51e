/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The seeds under which a figure makes its runs: of its file, or of the command line. */
#ifndef SIM_FIGURES_FIGURE_SEEDS_H
#define SIM_FIGURES_FIGURE_SEEDS_H

#include <stddef.h>

struct figure;
struct place;
struct sim_error;

/* jitter.start of runs under seeds that the command line asks for: about an image. */
#define FIGURE_JITTER_START "5s"

/* Read "seeds" and "interval" of the figure's file. A mistake goes to the place's reader. */
void figure_read_seeds(const struct place *root, struct figure *figure);

/*
 * Make each run with the seeds 1 to @count in place of the file's. If the file has none, jitter
 * is set where the file does not set it, and "interval" is by default of the runs, as the spread
 * of published values is.
 * Returns 0 or a negative enum sim_exit.
 */
int figure_take_seeds(struct figure *figure, size_t count, struct sim_error *err);

#endif
