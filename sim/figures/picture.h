/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Pictures, and those that were drawn before: in results/pictures. They are kept only where
 * runs are kept, too, in results/cache (run_cache.h).
 *
 * An entry's name is a hash of everything that a picture depends on: the variables of its
 * script, the files that the script reads, all scripts, this program and the gnuplot that
 * draws. Fonts are not in it: "--fresh" draws again. The folder may be removed at any time.
 */
#ifndef SIM_FIGURES_PICTURE_H
#define SIM_FIGURES_PICTURE_H

#include <stdbool.h>

struct gnuplot;
struct signals;
struct sim_error;
struct writer;

/*
 * Put @figure.png and @figure.svg into the writer's folder and commit them. They are copied if
 * the same were drawn before and are not to be @fresh; else gnuplot_draw() draws them. Returns
 * 0 or a negative enum sim_exit; then neither picture is there and the writer is aborted.
 */
int picture_draw(struct gnuplot *gnuplot, const char *script, const char *figure, bool fresh,
		 const struct signals *signals, struct writer *writer, struct sim_error *err);

#endif
