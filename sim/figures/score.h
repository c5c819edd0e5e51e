/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How well predictions agree with published values.
 *
 * The error of a row is |ln(predicted / published)|: too high and too low count the same, and
 * so do a latency and a throughput that are off by the same factor. A row whose prediction is
 * missing (its container failed or completed nothing) is an infinite error.
 */
#ifndef SIM_FIGURES_SCORE_H
#define SIM_FIGURES_SCORE_H

#include <stdbool.h>
#include <stddef.h>

#define SCORE_NEAR \
	1.25 /* "within 25 %": predicted and published differ by this factor at most */
#define SCORE_FACTOR 2.0 /* "within 2 times" */
#define SCORE_APART \
	1.2 /* two published values count for the order if they differ by this factor */

/* A published value beside its prediction. Texts are borrowed. */
struct score_row {
	const char *figure, *panel, *run, *part, *unit;
	double x;		     /* of the run in its series; NAN: none */
	const char *id;		     /* name of the published value; empty: none */
	const char *unscored;	     /* why the row counts in no score; empty: it counts */
	double published, predicted; /* NAN: not known */
};

/* The agreement of several rows. */
struct score {
	size_t rows;
	double median;	     /* of the errors; NAN: there are no rows */
	double near, factor; /* shares of the rows within SCORE_NEAR and SCORE_FACTOR */
};

/* What a prediction is under several seeds. */
struct score_spread {
	double low, median,
		high;	/* 10th, 50th and 90th percentile; NAN: no seed has a prediction */
	size_t missing; /* seeds without a prediction */
	bool within;	/* the published value lies from low to high */
};

/* The error of a row; INFINITY: its prediction is missing or is not positive. */
double score_error(const struct score_row *row);

/* Does the row count? Only positive published values do: the others have no ratio. */
bool score_counts(const struct score_row *row);

/*
 * The score of all rows that count and whose figure is @figure; NULL: of all figures, each
 * published value once, by the first row with its id. Returns 0 or a negative errno: out of
 * memory.
 */
int score_rows(const struct score_row *rows, size_t count, const char *figure,
	       struct score *ret_score);

/*
 * The spread of @count draws (NAN: no prediction) around a published value. 0 or a negative
 * errno.
 */
int score_spread(const double *draws, size_t count, double published,
		 struct score_spread *ret_spread);

/* Pairs of rows whose published values are SCORE_APART. */
struct score_order {
	size_t pairs;
	size_t kept; /* of them, pairs with predictions in the published order */
};

/* Are these two published values of one panel and part, and SCORE_APART? */
bool score_is_pair(const struct score_row *a, const struct score_row *b);

/* Of a pair: are the predictions @of_a and @of_b in the published order? Not if one is NAN. */
bool score_keeps_order(const struct score_row *a, const struct score_row *b, double of_a,
		       double of_b);

/*
 * The order of a panel. Pairs are of different runs. Rows that count in no score count here,
 * too, as long as they have both values.
 */
struct score_order score_order(const struct score_row *rows, size_t count, const char *figure,
			       const char *panel);

static inline void score_order_add(struct score_order *sum, const struct score_order *part)
{
	sum->pairs += part->pairs;
	sum->kept += part->kept;
}

#endif
