/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Making a figure: its runs, table, CSV files and pictures. */
#ifndef SIM_FIGURES_MAKE_H
#define SIM_FIGURES_MAKE_H

#include "figures/request.h"

struct cached_run;
struct figure;
struct figure_data;
struct sim_error;

/*
 * Describe the runs of a figure in @runs, figure_made_runs() of them: runs for the cache to make,
 * or the folders that the user names, which are read. Returns 0 or a negative enum sim_exit; the
 * caller calls run_cache_destroy() in any case.
 */
int figure_prepare_runs(const struct figure *figure, const struct figure_request *request,
			struct cached_run *runs, struct sim_error *err);

/*
 * Read the numbers off the runs of @data, which are read, and write and draw the figure into
 * request->out. Returns 0 or a negative enum sim_exit; then no file is half written.
 */
int figure_show(struct figure_data *data, const struct figure_request *request,
		struct sim_error *err);

/*
 * Make a figure. The table and the paths of the files go to stdout, the path of the PNG file
 * last. The output folder is prepared before anything runs. If drawing fails, the numbers are
 * kept. Returns 0 or a negative enum sim_exit; then no file is half written.
 */
int figure_make(const struct figure *figure, const struct figure_request *request,
		struct sim_error *err);

#endif
