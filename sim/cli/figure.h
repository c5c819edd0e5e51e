/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Figures: a table that is printed, CSV files of what is in it, and a picture. One file each
 * (figure_*.c), a row each in the table of cmd_figure.c, and a script in plots/ each.
 */
#ifndef SIM_CLI_FIGURE_H
#define SIM_CLI_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

#include "terminal/signals.h"
#include "results/summary.h"

struct cached_run;
struct csv;
struct gnuplot;
struct sim_error;
struct table;
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
	struct signals signals; /* taken while it is made */
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
extern const struct figure figure_compute;
extern const struct figure figure_fault_breakdown;
extern const struct figure figure_ideas;
extern const struct figure figure_interference;
extern const struct figure figure_isolation;
extern const struct figure figure_memory_contention;
extern const struct figure figure_throughput_vs_memory;

/*
 * What is special about a figure that makes its runs itself; figure_make() does the rest, which
 * is the same for all of them. @data is the figure's own.
 */
struct figure_steps {
	const char *name;   /* of the figure, its files and plots/reference/NAME.csv */
	const char *script; /* plots/SCRIPT.gp draws it; NULL: NAME.gp */
	/* What is published of it; all NULL and 0: nothing is. */
	const char *const *reference_columns;
	size_t reference_column_count;
	/* Take a row of the reference file: the reader's present one. */
	int (*read_row)(void *data, const struct csv *csv, struct sim_error *err);
	/* The runs are there: take from them what is shown. */
	int (*read_runs)(void *data, struct sim_error *err);
	void (*print)(const void *data);			/* the table, to stdout */
	void (*write)(const void *data, struct writer *writer); /* NAME.csv */
	/* What the script needs beside the CSV file and what is written on all pictures. */
	void (*add_variables)(const void *data, struct gnuplot *gnuplot);
};

/* Prepare a run: @scenario, or the user's, with the user's changes. */
void figure_run_init(struct cached_run *run, const struct figure_args *args, const char *label,
		     const char *scenario);

/*
 * Make a figure of @runs, @run_count of them and all prepared: published values, runs, table, CSV
 * file, pictures. Nothing is run before it is sure that the figure can be kept, and numbers are
 * kept also if they cannot be drawn. Destroys the runs. Returns 0 or a negative enum sim_exit.
 */
int figure_make(const struct figure_steps *steps, const struct figure_args *args,
		struct cached_run *runs, size_t run_count, void *data, struct sim_error *err);

/* A statistic of the first container of a type; NAN: there is none. */
double figure_run_value(const struct cached_run *run, enum cfg_app_type app,
			enum summary_metric_id metric);

/* A value of both worlds; NAN: there is none. */
struct figure_pair {
	double ours;
	double published;
};

/* Ours over published; NAN: there are not both. */
double figure_ratio(const struct figure_pair *pair);

/* What an axis has to show, all above 0; 0 and 0, as it begins: there is nothing. */
struct figure_range {
	double low;
	double high;
};

/* Widen it for a value, unless that is NAN or 0. */
void figure_range_take(struct figure_range *range, double value);
/* Tell gnuplot of it, as low_NUMBER and high_NUMBER. */
void figure_range_add(const struct figure_range *range, size_t number, struct gnuplot *gnuplot);

/* Add a row that heads columns of pairs. */
void figure_table_head(struct table *table, const char *title);

/* Set a cell, "1.250 GiB" with @digits 3 and @unit " GiB", or "-" for NAN. */
void figure_table_real(struct table *table, size_t column, double value, int digits,
		       const char *unit);

/* Set three cells from @column on: ours, published and their ratio. */
void figure_table_pair(struct table *table, size_t column, const struct figure_pair *pair,
		       int digits, const char *unit);

/* A comma and the number, or nothing behind the comma for NAN. */
void figure_write_real(struct writer *writer, double value);
/* The three of a pair. */
void figure_write_pair(struct writer *writer, const struct figure_pair *pair);

/* End stdout's present part. What did not reach the user is an error. */
int figure_flush(struct sim_error *err);

/* A line for each container of a run that something happened to, @prefix before its name. */
void figure_print_failures(const char *prefix, const struct summary *summary);

/* The last lines of a figure: where the pictures of @name are. */
int figure_print_pictures(const char *name, const struct writer *writer, struct sim_error *err);

#endif
