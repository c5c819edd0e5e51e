// SPDX-License-Identifier: MIT OR GPL-2.0
/* See row_value.h. */
#include "figures/row_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "figures/value_check.h"
#include "gvm/port.h"
#include "results/asked.h"
#include "results/csv.h"

#define NS_PER_S 1e9

/* The share of a row's time that lies between @from and @to. 1: all of the row's time. */
static double row_share(const struct csv *csv, double from, double to)
{
	struct sim_error ignored = { 0 };
	double begin = 0, end = 0;

	if (!csv_has(csv, 2) || !csv_has(csv, 3) || csv_real(csv, 2, &begin, &ignored) ||
	    csv_real(csv, 3, &end, &ignored))
		return 0;
	return begin >= to || end <= from || end <= begin ?
		       0 :
		       (fmin(end, to) - fmax(begin, from)) / (end - begin);
}

double row_value_covered(const char *file, const char *container, const json_t *covered,
			 double from_s, double to_s)
{
	const char *names[] = { "container", "outcome",
				json_string_value(json_object_get(covered, "begin")),
				json_string_value(json_object_get(covered, "end")) };
	const char *outcome = json_string_value(json_object_get(covered, "outcome"));
	struct sim_error ignored = { 0 };
	double sum = 0;
	struct csv csv;

	if (csv_open(&csv, file, names, ARRAY_SIZE(names), &ignored))
		return (double)NAN;
	while (csv_next(&csv, &ignored) == 1)
		if (!strcmp(csv_text(&csv, 0), container) &&
		    !strcmp(csv_text(&csv, 1), outcome))
			sum += row_share(&csv, from_s * NS_PER_S, to_s * NS_PER_S);
	csv_close(&csv);
	return sum;
}

/* The values of the rows of a statistic, and their abscissas. */
struct row_values {
	double *ys, *xs;
	size_t count, room;
};

/* Make room for one more. Returns false: out of memory. */
static bool grow(struct row_values *values)
{
	double *ys, *xs;

	if (values->count < values->room)
		return true;
	values->room = values->room ? 2 * values->room : 256;
	ys = realloc(values->ys, values->room * sizeof(*ys));
	if (ys)
		values->ys = ys;
	xs = realloc(values->xs, values->room * sizeof(*xs));
	if (xs)
		values->xs = xs;
	return ys && xs;
}

/* Columns of a statistic, in the order of the names that are given to csv_open(). */
enum {
	ROW_CONTAINER,
	ROW_OUTCOME,
	ROW_ID,
	ROW_VALUE,
	ROW_MINUS,
	ROW_OVER,
	ROW_BY,
	ROW_COLUMNS
};

/* The number in a column; 0 where the statistic has no such column. */
static bool read_number(const struct csv *csv, int column, bool wanted, double *ret_number)
{
	struct sim_error ignored = { 0 };

	*ret_number = 0;
	return !wanted || (csv_has(csv, (size_t)column) &&
			   !csv_real(csv, (size_t)column, ret_number, &ignored));
}

/* Take the value of the current row, if it has one. Returns false: out of memory. */
static bool take_row(struct row_values *values, const struct csv *csv, const json_t *rows)
{
	double over_minus = json_number_value(json_object_get(rows, "over_minus"));
	const json_t *last = json_object_get(rows, "last");
	double id, y, minus, over, x;

	if (!read_number(csv, ROW_ID, true, &id) || !read_number(csv, ROW_VALUE, true, &y) ||
	    !read_number(csv, ROW_MINUS, json_object_get(rows, "minus"), &minus) ||
	    !read_number(csv, ROW_OVER, json_object_get(rows, "over"), &over) ||
	    !read_number(csv, ROW_BY, json_object_get(rows, "by"), &x) ||
	    id < json_number_value(json_object_get(rows, "first")) ||
	    (last && id > json_number_value(last)))
		return true;
	y -= minus;
	if (json_object_get(rows, "over")) {
		if (!(over > over_minus))
			return true;
		y /= over - over_minus;
	}
	if (!grow(values))
		return false;
	values->ys[values->count] = y;
	values->xs[values->count++] = x;
	return true;
}

static int compare_reals(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* A quantile, on a straight line between the two values that are next to it. */
static double quantile(struct row_values *values, double q)
{
	double at = q * (double)(values->count - 1);
	size_t below = (size_t)at;

	qsort(values->ys, values->count, sizeof(*values->ys), compare_reals);
	if (below + 1 == values->count)
		return values->ys[below];
	return values->ys[below] +
	       (at - (double)below) * (values->ys[below + 1] - values->ys[below]);
}

/* The straight line by least squares: its slope, or its value at 0. */
static double fit(const struct row_values *values, bool slope)
{
	double x = 0, y = 0, xx = 0, xy = 0, tilt;
	double count = (double)values->count;

	for (size_t i = 0; i < values->count; i++) {
		x += values->xs[i] / count;
		y += values->ys[i] / count;
	}
	for (size_t i = 0; i < values->count; i++) {
		xx += (values->xs[i] - x) * (values->xs[i] - x);
		xy += (values->xs[i] - x) * (values->ys[i] - y);
	}
	tilt = xy / xx;
	return slope ? tilt : y - tilt * x;
}

/* @share: of a percentile. */
static double take(struct row_values *values, enum value_row_take what, double share)
{
	double sum = 0;

	if (what == VALUE_ROWS_COUNT)
		return (double)values->count;
	if (!values->count)
		return (double)NAN;
	for (size_t i = 0; i < values->count; i++)
		sum += values->ys[i];
	switch (what) {
	case VALUE_ROWS_MEDIAN:
		return quantile(values, 0.5);
	case VALUE_ROWS_PERCENTILE:
		return quantile(values, share);
	case VALUE_ROWS_LEAST:
		return quantile(values, 0);
	case VALUE_ROWS_MOST:
		return quantile(values, 1);
	case VALUE_ROWS_SUM:
		return sum;
	case VALUE_ROWS_SLOPE:
	case VALUE_ROWS_AT_ZERO:
		return fit(values, what == VALUE_ROWS_SLOPE);
	case VALUE_ROWS_MEAN:
	default:
		return sum / (double)values->count;
	}
}

/* The column that @key names; without one, any column of the file stands in. */
static const char *column(const json_t *rows, const char *key)
{
	const char *name = json_string_value(json_object_get(rows, key));

	return name ? name : "id";
}

double row_value_statistic(const char *file, const char *container, const json_t *rows)
{
	const char *names[ROW_COLUMNS] = { "container",
					   "outcome",
					   "id",
					   column(rows, "value"),
					   column(rows, "minus"),
					   column(rows, "over"),
					   column(rows, "by") };
	const char *outcome = json_string_value(json_object_get(rows, "outcome"));
	const char *name = json_string_value(json_object_get(rows, "take"));
	enum value_row_take what = VALUE_ROWS_MEAN;
	struct sim_error ignored = { 0 };
	struct row_values values = { 0 };
	bool room = true;
	double result;
	int rank = 0, of = 1;
	struct csv csv;

	for (size_t i = 0; name && value_row_takes[i]; i++)
		if (!strcmp(name, value_row_takes[i]))
			what = (enum value_row_take)i;
	if (name && asked_rank(name, &rank, &of))
		what = VALUE_ROWS_PERCENTILE;
	if (csv_open(&csv, file, names, ROW_COLUMNS, &ignored))
		return (double)NAN;
	while (room && csv_next(&csv, &ignored) == 1)
		if (!strcmp(csv_text(&csv, ROW_CONTAINER), container) &&
		    !strcmp(csv_text(&csv, ROW_OUTCOME), outcome))
			room = take_row(&values, &csv, rows);
	csv_close(&csv);
	result = room ? take(&values, what, (double)rank / of) : (double)NAN;
	free(values.xs);
	free(values.ys);
	return isfinite(result) ? result : (double)NAN;
}
