/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The runs of figures, towards the user: progress, a line when they are there, and signals. */
#ifndef SIM_CLI_FIGURE_RUNS_H
#define SIM_CLI_FIGURE_RUNS_H

struct run_cache_use;
struct signals;

/* Take @signals and draw progress until figure_runs_end(). Fills @use, except for fresh. */
void figure_runs_begin(struct run_cache_use *use, struct signals *signals);
void figure_runs_end(struct signals *signals);

#endif
