// SPDX-License-Identifier: MIT OR GPL-2.0
#include "sweep/sweep_draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/message.h"
#include "engine/error.h"
#include "figures/gnuplot.h"
#include "figures/picture.h"
#include "results/writer.h"
#include "sweep/sweep_print.h"

#define PAGE_WIDTH  1200
#define PAGE_HEIGHT 760
#define TICKS_MAX   14

/* The different texts of a key, in ascending order if all are numbers. */
struct ticks {
	const char **texts;
	size_t count;
	bool numbers;
};

static int compare_numbers(const void *a, const void *b)
{
	double x = sweep_number(*(const char *const *)a);
	double y = sweep_number(*(const char *const *)b);

	return x < y ? -1 : x > y;
}

static size_t tick_find(const struct ticks *ticks, const char *text)
{
	for (size_t i = 0; text && i < ticks->count; i++)
		if (!strcmp(ticks->texts[i], text))
			return i;
	return SIZE_MAX;
}

/* Returns 0 or -1: out of memory. The caller frees ticks->texts. */
static int ticks_collect(struct ticks *ticks, const struct sweep *sweep, size_t axis)
{
	*ticks = (struct ticks){ .numbers = true };
	ticks->texts = calloc(sweep->point_count + 1, sizeof(*ticks->texts));
	if (!ticks->texts)
		return -1;
	for (size_t point = 0; point < sweep->point_count; point++) {
		const char *text = sweep_text(sweep, point, axis);

		if (!text || tick_find(ticks, text) != SIZE_MAX)
			continue;
		ticks->texts[ticks->count++] = text;
		ticks->numbers = ticks->numbers && !isnan(sweep_number(text));
	}
	if (ticks->numbers)
		qsort(ticks->texts, ticks->count, sizeof(*ticks->texts), compare_numbers);
	return 0;
}

/* Do two points have the same text, or both none? */
static bool same_text(const struct sweep *sweep, size_t a, size_t b, const char *key)
{
	size_t axis = key ? sweep_axis_find(sweep, key) : SIZE_MAX;
	const char *x, *y;

	if (axis == SIZE_MAX)
		return true;
	x = sweep_text(sweep, a, axis);
	y = sweep_text(sweep, b, axis);
	return x && y ? !strcmp(x, y) : x == y;
}

int sweep_check_plots(const struct sweep *sweep, struct sim_error *err)
{
	for (size_t i = 0; i < sweep->plot_count; i++) {
		const struct sweep_plot *plot = &sweep->plots[i];
		const char *second = plot->kind == SWEEP_HEAT ? plot->y : plot->series;

		if (plot->kind == SWEEP_PARETO)
			continue;
		for (size_t a = 0; a < sweep->point_count; a++)
			for (size_t b = 0; b < a; b++)
				if (same_text(sweep, a, b, plot->x) &&
				    same_text(sweep, a, b, second))
					return sim_user_error(
						err,
						"%s:plots[%zu]: points %zu and %zu are at the "
						"same place, allowed: %s",
						sweep->file, i, b + 1, a + 1,
						plot->kind == SWEEP_HEAT ?
							"x and y that tell all points apart" :
							"x and series that tell all points "
							"apart");
	}
	return 0;
}

void sweep_plot_name(const struct sweep *sweep, size_t index, char *text, size_t size)
{
	snprintf(text, size, "%.40s-%zu", sweep->name, index + 1);
}

/* Can a value be drawn? A bound is not the value. */
static bool is_drawn(const struct run_estimate *estimate)
{
	return estimate->value.known && !estimate->value.bound;
}

/* Number fields of a CSV file: empty if the value is not known. */
static void put_estimate(struct writer *writer, const struct run_estimate *estimate)
{
	if (!is_drawn(estimate)) {
		writer_printf(writer, ",,");
		return;
	}
	writer_printf(writer, "%.12g,", estimate->value.number);
	if (estimate->interval && isfinite(estimate->high))
		writer_printf(writer, "%.12g,%.12g", estimate->low, estimate->high);
	else
		writer_printf(writer, "%.12g,%.12g", estimate->value.number,
			      estimate->value.number);
}

/* A position on an axis: the number of the text, or its place among the texts. */
static double position(const struct ticks *ticks, const char *text, bool by_place)
{
	size_t place = tick_find(ticks, text);

	if (place == SIZE_MAX)
		return (double)NAN;
	return ticks->numbers && !by_place ? sweep_number(text) : (double)place;
}

/* Is a point beaten by another one in both values of a Pareto plot? */
static bool is_beaten(const struct sweep_numbers *numbers, const struct sweep_plot *plot,
		      size_t point)
{
	double x = sweep_estimate_named(numbers, point, plot->x).value.number;
	double y = sweep_estimate_named(numbers, point, plot->y).value.number;

	for (size_t i = 0; i < numbers->runs->sweep->point_count; i++) {
		struct run_estimate ex = sweep_estimate_named(numbers, i, plot->x);
		struct run_estimate ey = sweep_estimate_named(numbers, i, plot->y);
		double dx = plot->more_x ? ex.value.number - x : x - ex.value.number;
		double dy = plot->more_y ? ey.value.number - y : y - ey.value.number;

		if (is_drawn(&ex) && is_drawn(&ey) && dx >= 0 && dy >= 0 && (dx > 0 || dy > 0))
			return true;
	}
	return false;
}

/* "9.86 GiB ghost": what is different at a point, for a label. */
static void describe_point(const struct sweep *sweep, size_t point, char *text, size_t size)
{
	char words[256];

	*text = '\0';
	for (size_t axis = 0; axis < sweep->axis_count; axis++) {
		const char *value = sweep_text(sweep, point, axis);

		if (!value)
			continue;
		sweep_print_value(sweep->axes[axis].key, value, words, sizeof(words));
		cfg_append(text, size, "%s%s", *text ? " " : "", words);
	}
}

/* Begin the CSV file of plot @index. */
static int begin_rows(const struct sweep *sweep, size_t index, struct writer *writer,
		      struct sim_error *err)
{
	char name[WRITER_NAME_MAX];

	sweep_plot_name(sweep, index, name, sizeof(name));
	cfg_append(name, sizeof(name), ".csv");
	return writer_begin(writer, name, err);
}

/* Write a row per point of a line plot or a heat map. */
static int write_rows(const struct sweep_numbers *numbers, size_t index,
		      const struct ticks ticks[2], struct writer *writer, struct sim_error *err)
{
	const struct sweep *sweep = numbers->runs->sweep;
	const struct sweep_plot *plot = &sweep->plots[index];
	const char *second = plot->kind == SWEEP_HEAT ? plot->y : plot->series;
	const char *value = plot->kind == SWEEP_HEAT ? plot->value : plot->y;
	size_t x = sweep_axis_find(sweep, plot->x);
	size_t other = second ? sweep_axis_find(sweep, second) : SIZE_MAX;
	int status = begin_rows(sweep, index, writer, err);

	if (status)
		return status;
	writer_printf(writer, "point,x,second,y,low,high\n");
	for (size_t point = 0; point < sweep->point_count; point++) {
		struct run_estimate estimate = sweep_estimate_named(numbers, point, value);
		double at = position(&ticks[0], sweep_text(sweep, point, x),
				     plot->kind == SWEEP_HEAT);
		double line =
			other == SIZE_MAX ?
				0 :
				position(&ticks[1], sweep_text(sweep, point, other), true);

		writer_printf(writer, "%zu,%.12g,%.12g,", point + 1, at, line);
		put_estimate(writer, &estimate);
		writer_printf(writer, "\n");
	}
	return writer_end(writer, err);
}

/* Where the name of a point is; the numbers are in the file that gnuplot reads. */
enum name_place { NAME_NONE, NAME_ABOVE, NAME_BELOW };

/* A point of a Pareto plot. */
struct spot {
	size_t point;
	struct run_estimate x, y;
	double right, up; /* its place in the picture, as parts of the axes */
	bool front;
	enum name_place name;
};

/* The front first, from left to right; then the others. */
static int compare_spots(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	if (x->front != y->front)
		return x->front ? -1 : 1;
	if (x->x.value.number != y->x.value.number)
		return x->x.value.number < y->x.value.number ? -1 : 1;
	return x->point < y->point ? -1 : 1;
}

/* Where a value is on its axis between the least and the greatest one. */
static double part_of_axis(double value, double low, double high, bool is_log)
{
	if (high <= low)
		return 0;
	return is_log && low > 0 ? log(value / low) / log(high / low) :
				   (value - low) / (high - low);
}

static void place_spots(struct spot *spots, size_t count, bool log_y)
{
	double low[2] = { INFINITY, INFINITY }, high[2] = { -INFINITY, -INFINITY };

	for (size_t i = 0; i < count; i++) {
		low[0] = fmin(low[0], spots[i].x.value.number);
		high[0] = fmax(high[0], spots[i].x.value.number);
		low[1] = fmin(low[1], spots[i].y.value.number);
		high[1] = fmax(high[1], spots[i].y.value.number);
	}
	for (size_t i = 0; i < count; i++) {
		spots[i].right = part_of_axis(spots[i].x.value.number, low[0], high[0], false);
		spots[i].up = part_of_axis(spots[i].y.value.number, low[1], high[1], log_y);
	}
}

/* How high the middle of a name is: one line of text above its point, or below it. */
static double height_of_name(const struct spot *spot, enum name_place place)
{
	return spot->up + (place == NAME_ABOVE ? 0.025 : -0.025);
}

/* Would the name of spot @i lie over the name of an earlier one? */
static bool is_name_free(const struct spot *spots, size_t i, enum name_place place)
{
	for (size_t k = 0; k < i; k++)
		if (spots[k].name != NAME_NONE && fabs(spots[k].right - spots[i].right) < 0.2 &&
		    fabs(height_of_name(&spots[k], spots[k].name) -
			 height_of_name(&spots[i], place)) < 0.035)
			return false;
	return true;
}

/* Name spots in order. One whose name would lie over another one has none. */
static void name_spots(struct spot *spots, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is_name_free(spots, i, NAME_ABOVE))
			spots[i].name = NAME_ABOVE;
		else if (is_name_free(spots, i, NAME_BELOW))
			spots[i].name = NAME_BELOW;
	}
}

/* Write the points of a Pareto plot whose two values are known. */
static int write_spots(const struct sweep_numbers *numbers, size_t index, struct writer *writer,
		       struct sim_error *err)
{
	const struct sweep *sweep = numbers->runs->sweep;
	const struct sweep_plot *plot = &sweep->plots[index];
	struct spot *spots = calloc(sweep->point_count, sizeof(*spots));
	size_t count = 0;
	int status = begin_rows(sweep, index, writer, err);

	if (status || !spots) {
		free(spots);
		return status ? status : sim_runtime_error(err, "out of memory");
	}
	for (size_t point = 0; point < sweep->point_count; point++) {
		struct spot spot = {
			.point = point,
			.x = sweep_estimate_named(numbers, point, plot->x),
			.y = sweep_estimate_named(numbers, point, plot->y),
			.front = !is_beaten(numbers, plot, point),
		};

		if (is_drawn(&spot.x) && is_drawn(&spot.y))
			spots[count++] = spot;
	}
	qsort(spots, count, sizeof(*spots), compare_spots);
	place_spots(spots, count, plot->log);
	name_spots(spots, count);
	writer_printf(writer, "point,x,x_low,x_high,y,low,high,front,name\n");
	for (size_t i = 0; i < count; i++) {
		writer_printf(writer, "%zu,", spots[i].point + 1);
		put_estimate(writer, &spots[i].x);
		writer_printf(writer, ",");
		put_estimate(writer, &spots[i].y);
		writer_printf(writer, ",%d,%d\n", spots[i].front, spots[i].name);
	}
	free(spots);
	return writer_end(writer, err);
}

/* The number of points that a plot shows. */
static size_t count_drawn(const struct sweep_numbers *numbers, const struct sweep_plot *plot)
{
	const char *value = plot->kind == SWEEP_HEAT ? plot->value : plot->y;
	size_t drawn = 0;

	for (size_t point = 0; point < numbers->runs->sweep->point_count; point++) {
		struct run_estimate x = sweep_estimate_named(numbers, point, plot->x);
		struct run_estimate y = sweep_estimate_named(numbers, point, value);

		drawn += is_drawn(&y) && (plot->kind != SWEEP_PARETO || is_drawn(&x));
	}
	return drawn;
}

/* The ticks of an axis of the picture, or the titles of its lines. */
static void add_ticks(struct gnuplot *gnuplot, const char *prefix, const struct ticks *ticks,
		      bool by_place)
{
	char name[32], text[256];

	snprintf(name, sizeof(name), "%s_count", prefix);
	gnuplot_add_count(gnuplot, name, ticks->count);
	for (size_t i = 0; i < ticks->count; i++) {
		snprintf(name, sizeof(name), "%s_text_%zu", prefix, i + 1);
		sweep_short_value(ticks->texts[i], text, sizeof(text));
		gnuplot_add_string(gnuplot, name, text);
		snprintf(name, sizeof(name), "%s_at_%zu", prefix, i + 1);
		gnuplot_add_real(gnuplot, name, position(ticks, ticks->texts[i], by_place));
	}
}

/* How many points each line of a plot shows. gnuplot warns of a line without any. */
static void add_drawn(struct gnuplot *gnuplot, const struct sweep_numbers *numbers,
		      const struct sweep_plot *plot, const struct ticks *lines)
{
	const struct sweep *sweep = numbers->runs->sweep;
	size_t axis = plot->series ? sweep_axis_find(sweep, plot->series) : SIZE_MAX;
	char name[32];

	for (size_t line = 0; line < lines->count; line++) {
		size_t drawn = 0;

		for (size_t point = 0; point < sweep->point_count; point++) {
			struct run_estimate y = sweep_estimate_named(numbers, point, plot->y);

			drawn += is_drawn(&y) &&
				 tick_find(lines, sweep_text(sweep, point, axis)) == line;
		}
		snprintf(name, sizeof(name), "drawn_%zu", line + 1);
		gnuplot_add_count(gnuplot, name, drawn);
	}
}

/* A name with its unit, for an axis of the picture. */
static void describe_name(const struct sweep_numbers *numbers, const char *name, char *text,
			  size_t size)
{
	static const char *const units[METRIC_UNITS] = {
		[METRIC_COUNT] = "", [METRIC_BYTES] = "bytes", [METRIC_MS] = "ms",
		[METRIC_S] = "s",    [METRIC_SHARE] = "share", [METRIC_PER_S] = "1/s",
	};
	size_t metric = sweep_metric_find(numbers, name);

	if (metric == SIZE_MAX)
		snprintf(text, size, "%s", sweep_short_key(name));
	else if (*units[numbers->metrics[metric].unit])
		snprintf(text, size, "%s (%s)", name, units[numbers->metrics[metric].unit]);
	else
		snprintf(text, size, "%s", name);
}

/* "diffusion-limit: 12 points of scenario vllm-diffusion-80g", or "of 3 scenarios" */
static void describe_sweep(const struct sweep *sweep, char *text, size_t size)
{
	size_t axis = sweep_axis_find(sweep, SWEEP_SCENARIO), scenarios = 0;
	const char *base = strrchr(sweep->scenario, '/');

	snprintf(text, size, "%s: %zu points of ", sweep->name, sweep->point_count);
	if (axis == SIZE_MAX) {
		cfg_append(text, size, "scenario %.100s", base ? base + 1 : sweep->scenario);
		return;
	}
	for (size_t point = 0; point < sweep->point_count; point++) {
		size_t first = 0;

		while (!same_text(sweep, first, point, SWEEP_SCENARIO))
			first++;
		scenarios += first == point;
	}
	cfg_append(text, size, "%zu scenario%s", scenarios, scenarios == 1 ? "" : "s");
}

static void add_variables(struct gnuplot *gnuplot, const struct sweep_numbers *numbers,
			  const struct sweep_plot *plot, const struct ticks ticks[2])
{
	static const char *const kinds[] = { "line", "heat", "pareto" };
	const struct sweep *sweep = numbers->runs->sweep;
	const char *value = plot->kind == SWEEP_HEAT ? plot->value : plot->y;
	size_t drawn = count_drawn(numbers, plot);
	char text[512], interval[96], label[32];

	gnuplot_add_count(gnuplot, "page_width", PAGE_WIDTH);
	gnuplot_add_count(gnuplot, "page_height", PAGE_HEIGHT);
	gnuplot_add_string(gnuplot, "kind", kinds[plot->kind]);
	gnuplot_add_count(gnuplot, "is_log", plot->log);
	snprintf(text, sizeof(text), "%s over %s", value, sweep_short_key(plot->x));
	gnuplot_add_string(gnuplot, "headline", plot->title ? plot->title : text);
	sweep_describe_interval(sweep, interval, sizeof(interval));
	describe_sweep(sweep, text, sizeof(text));
	cfg_append(text, sizeof(text), ", simulated by gvmsim %s%s%s", GVMSIM_VERSION,
		   *interval ? "; bars: " : "", interval);
	if (drawn < sweep->point_count)
		cfg_append(text, sizeof(text), "; left out, of unknown value: %zu",
			   sweep->point_count - drawn);
	gnuplot_add_string(gnuplot, "subline", text);
	describe_name(numbers, plot->x, text, sizeof(text));
	gnuplot_add_string(gnuplot, "label_x", text);
	describe_name(numbers, plot->y, text, sizeof(text));
	gnuplot_add_string(gnuplot, "label_y", text);
	describe_name(numbers, value, text, sizeof(text));
	gnuplot_add_string(gnuplot, "label_value", text);
	gnuplot_add_string(gnuplot, "label_series",
			   plot->series ? sweep_short_key(plot->series) : "");
	gnuplot_add_count(gnuplot, "many_ticks",
			  ticks[0].numbers && ticks[0].count > TICKS_MAX);
	add_ticks(gnuplot, "x", &ticks[0], plot->kind == SWEEP_HEAT);
	add_ticks(gnuplot, "second", &ticks[1], true);
	if (plot->kind == SWEEP_LINE)
		add_drawn(gnuplot, numbers, plot, &ticks[1]);
	gnuplot_add_count(gnuplot, "points", sweep->point_count);
	for (size_t point = 0; plot->kind == SWEEP_PARETO && point < sweep->point_count;
	     point++) {
		snprintf(label, sizeof(label), "point_%zu", point + 1);
		describe_point(sweep, point, text, sizeof(text));
		gnuplot_add_string(gnuplot, label, text);
	}
}

int sweep_draw(const struct sweep_numbers *numbers, size_t index, const struct signals *signals,
	       struct writer *writer, size_t *ret_drawn, struct sim_error *err)
{
	const struct sweep *sweep = numbers->runs->sweep;
	const struct sweep_plot *plot = &sweep->plots[index];
	const char *second = plot->kind == SWEEP_HEAT ? plot->y : plot->series;
	struct ticks ticks[2] = { 0 };
	struct gnuplot gnuplot = { 0 };
	char name[WRITER_NAME_MAX], csv[WRITER_NAME_MAX + 4];
	int status = 0;

	if (plot->kind != SWEEP_PARETO) {
		status = ticks_collect(&ticks[0], sweep, sweep_axis_find(sweep, plot->x));
		if (!status && second)
			status =
				ticks_collect(&ticks[1], sweep, sweep_axis_find(sweep, second));
		if (status)
			status = sim_runtime_error(err, "out of memory");
	}
	sweep_plot_name(sweep, index, name, sizeof(name));
	snprintf(csv, sizeof(csv), "%s.csv", name);
	if (!status && plot->kind == SWEEP_PARETO)
		status = write_spots(numbers, index, writer, err);
	else if (!status)
		status = write_rows(numbers, index, ticks, writer, err);
	if (!status)
		status = writer_commit(writer, err);
	*ret_drawn = count_drawn(numbers, plot);
	if (!status && *ret_drawn) {
		gnuplot_add_file(&gnuplot, "numbers_csv", writer, csv);
		add_variables(&gnuplot, numbers, plot, ticks);
		status = picture_draw(&gnuplot, "sweep.gp", name, false, signals, writer, err);
	}
	gnuplot_destroy(&gnuplot);
	free(ticks[0].texts);
	free(ticks[1].texts);
	return status;
}
