// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/compare.h"

/*
 * Call @use for every compared metric of one container. One of the runs may lack the container.
 */
static void compare_container(const struct summary_container *const both[COMPARE_RUNS],
			      void (*use)(void *data, const struct compare_row *row),
			      void *data)
{
	const struct summary_container *container =
		both[COMPARE_SHARED] ? both[COMPARE_SHARED] : both[COMPARE_ALONE];
	const struct summary_value *value;
	const struct metric *metric;

	for (size_t i = 0; (metric = summary_metric(container, i, &value)); i++) {
		struct compare_row row = { .container = container, .metric = metric };
		double numbers[COMPARE_RUNS];

		if (!metric->compared || !summary_is_told(container, metric))
			continue;
		for (int run = 0; run < COMPARE_RUNS; run++) {
			if (both[run] && summary_metric(both[run], i, &value))
				row.values[run] = *value;
			numbers[run] = summary_number(&row.values[run], metric);
		}
		if ((metric_is_of_promise(metric) || metric_is_optional(metric)) &&
		    !row.values[COMPARE_ALONE].known && !row.values[COMPARE_SHARED].known)
			continue;
		/* With a bound below the line, the ratio has no bound from below. */
		row.ratio.known =
			row.values[COMPARE_ALONE].known && row.values[COMPARE_SHARED].known &&
			!row.values[COMPARE_ALONE].bound && numbers[COMPARE_ALONE] > 0;
		row.ratio.bound = row.values[COMPARE_SHARED].bound;
		if (row.ratio.known)
			row.ratio.real = numbers[COMPARE_SHARED] / numbers[COMPARE_ALONE];
		use(data, &row);
	}
}

void compare_runs(const struct summary *alone, const struct summary *shared,
		  void (*use)(void *data, const struct compare_row *row), void *data)
{
	for (size_t i = 0; i < shared->container_count; i++) {
		const struct summary_container *both[COMPARE_RUNS] = {
			summary_find(alone, shared->containers[i].name),
			&shared->containers[i],
		};

		/* Containers of one name but of different applications are not compared. */
		if (both[COMPARE_ALONE] &&
		    both[COMPARE_ALONE]->report != shared->containers[i].report)
			both[COMPARE_ALONE] = NULL;
		compare_container(both, use, data);
	}
	for (size_t i = 0; i < alone->container_count; i++) {
		const struct summary_container *both[COMPARE_RUNS] = { &alone->containers[i] };

		if (!summary_find(shared, alone->containers[i].name))
			compare_container(both, use, data);
	}
}

/*
 * Write a field: a number, ">" and a number for a bound, or nothing if the value is not known.
 */
static void write_number(struct writer *writer, const struct summary_value *value,
			 double number)
{
	if (value->known)
		writer_printf(writer, ",%s%.12g", value->bound ? ">" : "", number);
	else
		writer_printf(writer, ",");
}

static void write_csv_row(void *data, const struct compare_row *row)
{
	static const char *const units[] = {
		[METRIC_COUNT] = "count", [METRIC_BYTES] = "bytes", [METRIC_MS] = "ms",
		[METRIC_S] = "s",	  [METRIC_SHARE] = "share", [METRIC_PER_S] = "1/s",
	};
	const struct metric *metric = row->metric;
	struct writer *writer = data;

	writer_printf(writer, "%s,%s,%s", row->container->name, metric->key,
		      units[metric->unit]);
	for (int run = 0; run < COMPARE_RUNS; run++)
		write_number(writer, &row->values[run],
			     summary_number(&row->values[run], metric));
	write_number(writer, &row->ratio, row->ratio.real);
	writer_printf(writer, "\n");
}

int compare_write(const struct summary *alone, const struct summary *shared,
		  struct writer *writer, const char *name, struct sim_error *err)
{
	int status = writer_begin(writer, name, err);

	if (status)
		return status;
	writer_printf(writer, "container,metric,unit,alone,shared,shared_over_alone\n");
	compare_runs(alone, shared, write_csv_row, writer);
	return writer_end(writer, err);
}
