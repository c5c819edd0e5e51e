/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A figure is data: one JSON file describes its runs, the values to take from them, the
 * published numbers, and the layout. plots/figures/README.md has all keys.
 *
 * A figure has runs and panels. A cell of a panel is one value of one run, ours beside the
 * published one. Bars, stacks and lines are three ways of drawing the same cells. A panel over
 * time has curves in place of cells.
 */
#ifndef SIM_FIGURES_FIGURE_H
#define SIM_FIGURES_FIGURE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/types.h"
#include "results/estimate.h"

struct sim_error;

#define FIGURE_NAME_MAX	 48		 /* WRITER_NAME_MAX less an ending */
#define FIGURE_FILE_MAX	 (PATH_MAX + 32) /* a file in a folder */
#define FIGURE_SEEDS_MAX 100

/* How a panel is drawn: an index into figure_layouts[]. */
enum figure_layout {
	FIGURE_BARS,	/* a bar for each run and part, ours beside published */
	FIGURE_STACKED, /* two bars, ours and published, of the parts of one run */
	FIGURE_LINES,	/* a line for each series of runs, over their x */
	FIGURE_TIME,	/* curves over simulated time */
	FIGURE_TABLE,	/* not in the picture: table and CSV file only */
};

extern const char *const figure_layouts[]; /* NULL ends them */

/* A run, or one point of a series of runs. Texts are borrowed from the file. */
struct figure_run {
	const char *label; /* of the run or its series, as in the reference file */
	const char
		*tick; /* below its bar, lines separated by "\n"; a series' name in the key */
	const char *folder; /* word for its folder on the command line; NULL: it is simulated */
	const char *scenario;	    /* NULL: the figure's, which the user may replace */
	double x;		    /* position in a series; NAN: the run is in no series */
	const char *x_tick;	    /* name of this point of the series; NULL: x is its name */
	char name[FIGURE_NAME_MAX]; /* for people: "stock, 10" */
	char **defaults;	    /* PATH=VALUE, applied before the user's; NULL ends them */
	char **sets;		    /* PATH=VALUE that the user cannot change; NULL ends them */
};

/* A value of a panel. A panel of a single "value" has one part without a key. */
struct figure_part {
	const char *key;   /* as in the reference file */
	const char *label; /* for people */
	json_t *value;	   /* see value.h; checked */
};

/* How rows of a results file become points of a curve. */
enum figure_curve_kind {
	FIGURE_CURVE_VALUES, /* each row is a point */
	FIGURE_CURVE_RATE,   /* rows per second in each bin */
	FIGURE_CURVE_OPEN, /* mean number of rows in progress, from begin to end, in each bin */
	FIGURE_CURVE_SHARE, /* sum of the values over the length of the bin */
};

enum figure_curve_draw {
	FIGURE_DRAW_LINE,
	FIGURE_DRAW_POINTS,
	FIGURE_DRAW_BARS,
	FIGURE_DRAW_AREA,
	FIGURE_DRAW_MARKS
};

/* A curve of a panel over time. Each run that it applies to has one. */
struct figure_curve {
	const char *label; /* in the key; the run's label is added where there are several */
	const char *run;   /* label of the run; NULL: all */
	const char *file;  /* "timeline" or "requests" */
	const char *container; /* a name or type; "*": a curve for each container */
	const char *outcome;   /* only rows of this outcome; NULL: all */
	const char *x;	       /* column, ns */
	const char *y;	       /* column; NULL: none */
	const char *minus;     /* column to subtract from y; NULL: none */
	double scale;	       /* factor */
	enum figure_curve_kind kind;
	enum figure_curve_draw draw;
	bool right; /* on the axis to the right */
};

/* The file and columns of a published curve. */
struct figure_published_curve {
	const char *file; /* NULL: nothing is published */
	const char *x, *y;
	const char *column, *text; /* only rows with this text in this column */
};

/* A moment in all panels over time, or a level in one of them: a dashed line. */
struct figure_mark {
	const char *label;
	json_t *value; /* seconds, or the panel's unit, in the first run; see value.h */
};

struct figure_panel {
	const char *key; /* in the CSV file and the reference file */
	const char *label, *title;
	const char *unit; /* "ms", "GiB", ...; "x": a ratio */
	const char *x_label, *y_label, *y2_label;
	const char *x_unit; /* follows numbers of x: " %" */
	const char *over;   /* label of the run that the table compares with; NULL: none */
	enum figure_layout layout;
	int digits; /* in the table */
	bool log_x, log_y, total, colour_by_run;
	double errors_without_x; /* median errors leave out this x; NAN: no median errors */
	const char **runs;	 /* labels; NULL: all of the figure */
	size_t run_count;
	struct figure_part *parts;
	size_t part_count;
	struct figure_curve *curves;
	size_t curve_count;
	struct figure_published_curve published;
	struct figure_mark *levels;
	size_t level_count;
	json_t *y_max; /* top of the axis, of the first run; NULL: the curves' maximum */
};

/* The reference file and its columns; NULL: it has no such column. */
struct figure_reference {
	const char *file; /* for figure_find_reference(); NULL: nothing is published */
	const char *panel, *run, *x, *part, *published;
	const char *id;	      /* name of the published value: two rows of one name count once */
	const char *unscored; /* why a row counts in no score; an empty field: it counts */
	const char **panels;  /* keys of the panels that the file is about; NULL: all */
	size_t panel_count;
};

/* A figure as its file describes it. Owned by the caller: figure_read(), figure_destroy(). */
struct figure {
	json_t *root;
	char file[PATH_MAX];
	/* the file's name without ".json"; prefix of output files */
	char name[FIGURE_NAME_MAX];
	const char *title, *summary, *help;
	const char *subtitle;	     /* about the runs: "diffusion alone"; NULL: none */
	const char *source;	     /* of the published numbers; NULL: none are published */
	const char *published_label; /* "published" or "measured" */
	const char *notes;	     /* printed on the picture; NULL: none */
	const char *scenario;	     /* NULL: all runs have their own */
	bool comparison;	     /* the table compares all statistics of two folders */
	bool across;		     /* panels go row by row; else column by column */
	unsigned int columns, width, height;
	struct figure_run *runs;
	size_t run_count;
	size_t folder_count; /* runs whose folders the command line names */
	/* Each run is made once for each seed. Without seeds it has the scenario's. */
	u64 *seeds;
	char **seed_sets; /* "seed=1" */
	size_t seed_count;
	enum estimate_kind interval_of; /* over seeds */
	struct figure_panel *panels;
	size_t panel_count;
	struct figure_mark *marks;
	size_t mark_count;
	struct figure_reference reference;
	const char **examples; /* NULL ends them */
	bool no_table;	       /* the caller prints one */
	bool ours_alone; /* the published numbers are of another scenario: leave them out */
};

/*
 * The number of runs that the figure makes: its runs under the first seed, under the second
 * one, and so on.
 */
size_t figure_made_runs(const struct figure *figure);

/* Make each run once, with the seed of its scenario. */
void figure_forget_seeds(struct figure *figure);

/* Free all and leave *figure empty. */
void figure_destroy(struct figure *figure);

#endif
