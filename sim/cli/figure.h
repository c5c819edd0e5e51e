/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Figures: a table that is printed, CSV files of what is in it, and a picture. One file each
 * (figure_*.c), a row each in the table of cmd_figure.c, and a script in plots/ each.
 */
#ifndef SIM_CLI_FIGURE_H
#define SIM_CLI_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

struct sim_error;
struct summary;
struct writer;

#define FIGURE_FOLDERS_MAX 2

/* A parsed command line. Strings are borrowed from argv. */
struct figure_args {
	const char *folders[FIGURE_FOLDERS_MAX];
	const char *out;
	/* Of figures that make their runs themselves. */
	const char *scenario; /* NULL: the figure's own */
	const char **sets;    /* PATH=VALUE, in order */
	size_t set_count;
	bool fresh; /* run everything again */
	bool help;
};

/* One figure. */
struct figure {
	const char *name;
	const char *usage;   /* what follows its name on the command line */
	const char *summary; /* one line */
	const char *help;
	const char *example;
	size_t folder_count; /* results folders that it wants */
	bool runs;	     /* it makes its runs itself: takes --scenario, --set and --fresh */
	/*
	 * Make it: the table and the paths of what was written go to stdout, the PNG's last.
	 * Returns 0 or a negative enum sim_exit; then no file is half written.
	 */
	int (*draw)(const struct figure_args *args, struct sim_error *err);
};

extern const struct figure figure_ablation;
extern const struct figure figure_alone_vs_shared;
extern const struct figure figure_memory_contention;

/* End stdout's present part. What did not reach the user is an error. */
int figure_flush(struct sim_error *err);

/* A line for each container of a run that something happened to, @prefix before its name. */
void figure_print_failures(const char *prefix, const struct summary *summary);

/* The last lines of a figure: where the pictures of @name are. */
int figure_print_pictures(const char *name, const struct writer *writer, struct sim_error *err);

#endif
