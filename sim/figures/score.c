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

bool score_is_pair(const struct score_row *a, const struct score_row *b)
{
	double published = a->published / b->published;

	return a->published > 0 && b->published > 0 && !strcmp(a->figure, b->figure) &&
	       !strcmp(a->panel, b->panel) && !strcmp(a->part, b->part) &&
	       (published >= SCORE_APART || published <= 1 / SCORE_APART);
}

bool score_keeps_order(const struct score_row *a, const struct score_row *b, double of_a,
		       double of_b)
{
	return a->published > b->published ? of_a > of_b : of_a < of_b;
}

struct score_order score_order(const struct score_row *rows, size_t count, const char *figure,
			       const char *panel)
{
	struct score_order order = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (strcmp(rows[i].figure, figure) != 0 || strcmp(rows[i].panel, panel) != 0)
			continue;
		for (size_t k = i + 1; k < count; k++) {
			if (!score_is_pair(&rows[i], &rows[k]) || isnan(rows[i].predicted) ||
			    isnan(rows[k].predicted))
				continue;
			order.pairs++;
			order.kept += score_keeps_order(&rows[i], &rows[k], rows[i].predicted,
							rows[k].predicted);
		}
	}
	return order;
}
