// SPDX-License-Identifier: MIT OR GPL-2.0
#include "results/compare.h"

/* Compare @metric of a container that may be missing in one run. */
static struct compare_row compare(const struct summary_container *const both[COMPARE_RUNS],
				  enum summary_metric_id metric)
{
	struct compare_row row = { .metric = metric };
	double numbers[COMPARE_RUNS];

	row.container = both[COMPARE_SHARED] ? both[COMPARE_SHARED] : both[COMPARE_ALONE];
	for (int run = 0; run < COMPARE_RUNS; run++) {
		if (both[run])
			row.values[run] = both[run]->values[metric];
		numbers[run] = summary_number(&row.values[run], metric);
	}
	row.ratio.known = row.values[COMPARE_ALONE].known && row.values[COMPARE_SHARED].known &&
			  numbers[COMPARE_ALONE] > 0;
	if (row.ratio.known)
		row.ratio.real = numbers[COMPARE_SHARED] / numbers[COMPARE_ALONE];
	return row;
}

/* Call @use for every compared metric of one container. */
static void compare_container(const struct summary_container *const both[COMPARE_RUNS],
			      void (*use)(void *data, const struct compare_row *row),
			      void *data)
{
	const struct summary_container *container =
		both[COMPARE_SHARED] ? both[COMPARE_SHARED] : both[COMPARE_ALONE];

	for (int i = 0; i < SUMMARY_METRICS; i++) {
		enum summary_metric_id metric = (enum summary_metric_id)i;
		struct compare_row row;

		if (!summary_metrics[i].compared || !summary_has(container, metric))
			continue;
		row = compare(both, metric);
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

		/* A namesake of another type is somebody else. */
		if (both[COMPARE_ALONE] &&
		    both[COMPARE_ALONE]->type != shared->containers[i].type)
			both[COMPARE_ALONE] = NULL;
		compare_container(both, use, data);
	}
	for (size_t i = 0; i < alone->container_count; i++) {
		const struct summary_container *both[COMPARE_RUNS] = { &alone->containers[i] };

		if (!summary_find(shared, alone->containers[i].name))
			compare_container(both, use, data);
	}
}

static void write_value(struct writer *writer, const struct summary_value *value,
			enum summary_metric_id metric)
{
	if (value->known)
		writer_printf(writer, ",%.12g", summary_number(value, metric));
	else
		writer_printf(writer, ",");
}

static void write_csv_row(void *data, const struct compare_row *row)
{
	static const char *const units[] = {
		[SUMMARY_UNIT_COUNT] = "count", [SUMMARY_UNIT_BYTES] = "bytes",
		[SUMMARY_UNIT_MS] = "ms",	[SUMMARY_UNIT_S] = "s",
		[SUMMARY_UNIT_SHARE] = "share",
	};
	const struct summary_metric *metric = &summary_metrics[row->metric];
	struct writer *writer = data;

	writer_printf(writer, "%s,%s,%s", row->container->name, metric->key,
		      units[metric->unit]);
	write_value(writer, &row->values[COMPARE_ALONE], row->metric);
	write_value(writer, &row->values[COMPARE_SHARED], row->metric);
	if (row->ratio.known)
		writer_printf(writer, ",%.12g\n", row->ratio.real);
	else
		writer_printf(writer, ",\n");
}

int compare_write(const struct summary *alone, const struct summary *shared,
		  struct writer *writer, const char *name, struct sim_error *err)
{
	int rc = writer_begin(writer, name, err);

	if (rc)
		return rc;
	writer_printf(writer, "container,metric,unit,alone,shared,shared_over_alone\n");
	compare_runs(alone, shared, write_csv_row, writer);
	return writer_end(writer, err);
}
