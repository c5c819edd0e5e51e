// SPDX-License-Identifier: MIT OR GPL-2.0
/* See score.h. */
#include "figures/score.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/bootstrap.h"

double score_error(const struct score_row *row)
{
	return row->predicted > 0 ? fabs(log(row->predicted / row->published)) :
				    (double)INFINITY;
}

bool score_counts(const struct score_row *row)
{
	return !*row->unscored && row->published > 0;
}

static int compare_reals(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Does a row before @index that counts have the same id? */
static bool is_repeated(const struct score_row *rows, size_t index)
{
	for (size_t i = 0; *rows[index].id && i < index; i++)
		if (score_counts(&rows[i]) && !strcmp(rows[i].id, rows[index].id))
			return true;
	return false;
}

int score_rows(const struct score_row *rows, size_t count, const char *figure,
	       struct score *ret_score)
{
	double *errors = calloc(count + 1, sizeof(*errors));
	struct score score = { .median = NAN };

	if (!errors)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!score_counts(&rows[i]) ||
		    (figure ? strcmp(rows[i].figure, figure) != 0 : is_repeated(rows, i)))
			continue;
		errors[score.rows] = score_error(&rows[i]);
		score.near += errors[score.rows] <= log(SCORE_NEAR);
		score.factor += errors[score.rows] <= log(SCORE_FACTOR);
		score.rows++;
	}
	if (score.rows) {
		double middle[2];

		qsort(errors, score.rows, sizeof(*errors), compare_reals);
		middle[0] = errors[(score.rows - 1) / 2];
		middle[1] = errors[score.rows / 2];
		score.median = (middle[0] + middle[1]) / 2;
		score.near /= (double)score.rows;
		score.factor /= (double)score.rows;
	}
	free(errors);
	*ret_score = score;
	return 0;
}

int score_spread(const double *draws, size_t count, double published,
		 struct score_spread *ret_spread)
{
	double *sorted = calloc(count + 1, sizeof(*sorted));
	struct score_spread spread = { NAN, NAN, NAN, 0, false };
	size_t known = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!isnan(draws[i]))
			sorted[known++] = draws[i];
	spread.missing = count - known;
	if (known) {
		spread.low = bootstrap_percentile(sorted, known, 0.1);
		spread.median = bootstrap_percentile(sorted, known, 0.5);
		spread.high = bootstrap_percentile(sorted, known, 0.9);
		spread.within = spread.low <= published && published <= spread.high;
	}
	free(sorted);
	*ret_spread = spread;
	return 0;
}

static bool is_of_panel(const struct score_row *row, const char *figure, const char *panel)
{
	return !strcmp(row->figure, figure) && !strcmp(row->panel, panel) &&
	       row->published > 0 && !isnan(row->predicted);
}

struct score_order score_order(const struct score_row *rows, size_t count, const char *figure,
			       const char *panel)
{
	struct score_order order = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (!is_of_panel(&rows[i], figure, panel))
			continue;
		for (size_t k = i + 1; k < count; k++) {
			double published = rows[i].published / rows[k].published;
			bool less = rows[i].predicted < rows[k].predicted;
			bool more = rows[i].predicted > rows[k].predicted;

			if (!is_of_panel(&rows[k], figure, panel) ||
			    strcmp(rows[i].part, rows[k].part) != 0 ||
			    (published < SCORE_APART && published > 1 / SCORE_APART))
				continue;
			order.pairs++;
			order.kept += published > 1 ? more : less;
		}
	}
	return order;
}
