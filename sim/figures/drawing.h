/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The variables that plots/figure.gp needs beside the CSV files: texts, ranges and counts. A
 * variable of panel 2 ends in "_2", and one of its third bar or curve in "_2_3".
 */
#ifndef SIM_FIGURES_DRAWING_H
#define SIM_FIGURES_DRAWING_H

#include "figures/data.h"
#include "figures/gnuplot.h"

#define SERIES_MAX 64

/* A series of points as the key has it. Panels may have a series of the same name. */
struct drawn_series {
	const char *name;
	bool ours;
	bool published;
};

/* A curve of a container as the key has it: its name, and the number of its colour from 1. */
struct drawn_container {
	const char *name;
	size_t colour;
};

/* A drawing while its variables are added. */
struct drawing {
	const struct figure_data *data;
	struct gnuplot gnuplot;
	size_t panel;	  /* index in the figure */
	size_t number;	  /* on the page, from 1 */
	size_t key_chars; /* the longest title of a curve */
	struct drawn_series series[SERIES_MAX];
	size_t series_count;
	struct drawn_container containers[SERIES_MAX];
	size_t container_count;
	bool bounded; /* lines lack points of which the run tells a lower bound only */
};

/* Add the variables of panel @drawing->panel, which is number @drawing->number on the page. */
void drawing_add_panel(struct drawing *drawing);

/*
 * Are all curves of panel number @panel of the figure of one run? Then
 * colours tell containers apart.
 */
bool drawing_of_one_run(const struct figure_data *data, size_t panel);

#endif
