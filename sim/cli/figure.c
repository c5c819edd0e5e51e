// SPDX-License-Identifier: MIT OR GPL-2.0
/* What figures have in common, see figure.h. */
#include "cli/figure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/gnuplot.h"
#include "cli/run_cache.h"
#include "terminal/table.h"
#include "engine/error.h"
#include "results/csv.h"
#include "results/writer.h"

/* A figure on its way. */
struct figure_job {
	const struct figure_steps *steps;
	const struct figure_args *args;
	struct cached_run *runs;
	size_t run_count;
	void *data;
	char csv_name[WRITER_NAME_MAX];
};

int figure_flush(struct sim_error *err)
{
	if (fflush(stdout) || ferror(stdout))
		return sim_runtime_error(err, "standard output: cannot write: %s",
					 strerror(errno));
	return 0;
}

int figure_print_pictures(const char *name, const struct writer *writer, struct sim_error *err)
{
	printf("picture     %s/%s.svg\n", writer->folder, name);
	printf("%s/%s.png\n", writer->folder, name);
	return figure_flush(err);
}

void figure_print_failures(const char *prefix, const struct summary *summary)
{
	for (size_t i = 0; i < summary->container_count; i++)
		if (strcmp(summary->containers[i].status, SUMMARY_OK) != 0)
			printf("%s%s: %s\n", prefix, summary->containers[i].name,
			       summary->containers[i].status);
}

void figure_run_init(struct cached_run *run, const struct figure_args *args, const char *label,
		     const char *scenario)
{
	*run = (struct cached_run){
		.label = label,
		.scenario = args->scenario ? args->scenario : scenario,
		.sets = args->sets,
		.set_count = args->set_count,
	};
}

double figure_run_value(const struct cached_run *run, enum cfg_app_type app,
			enum summary_metric_id metric)
{
	size_t index = folder_find_type(&run->folder, app);
	const struct summary_value *value;

	if (index == SIZE_MAX)
		return (double)NAN;
	value = &run->folder.summary.containers[index].values[metric];
	return value->known ? summary_number(value, metric) : (double)NAN;
}

double figure_ratio(const struct figure_pair *pair)
{
	return pair->published > 0 ? pair->ours / pair->published : (double)NAN;
}

void figure_range_take(struct figure_range *range, double value)
{
	if (!(value > 0))
		return;
	range->low = range->low > 0 ? fmin(range->low, value) : value;
	range->high = fmax(range->high, value);
}

void figure_range_add(const struct figure_range *range, size_t number, struct gnuplot *gnuplot)
{
	char name[32];

	snprintf(name, sizeof(name), "low_%zu", number);
	gnuplot_add_real(gnuplot, name, range->low);
	snprintf(name, sizeof(name), "high_%zu", number);
	gnuplot_add_real(gnuplot, name, range->high);
}

void figure_table_head(struct table *table, const char *title)
{
	table_add(table);
	table_set(table, 0, "%s", title);
	table_set(table, 1, "ours");
	table_set(table, 2, "published");
	table_set(table, 3, "ratio");
}

void figure_table_real(struct table *table, size_t column, double value, int digits,
		       const char *unit)
{
	if (isnan(value))
		table_set(table, column, "-");
	else
		table_set(table, column, "%.*f%s", digits, value, unit);
}

void figure_table_pair(struct table *table, size_t column, const struct figure_pair *pair,
		       int digits, const char *unit)
{
	double ratio = figure_ratio(pair);

	figure_table_real(table, column, pair->ours, digits, unit);
	figure_table_real(table, column + 1, pair->published, digits, unit);
	if (isnan(ratio))
		table_set(table, column + 2, "-");
	else
		table_set(table, column + 2, "%.3g", ratio);
}

void figure_write_real(struct writer *writer, double value)
{
	if (isnan(value))
		writer_printf(writer, ",");
	else
		writer_printf(writer, ",%.12g", value);
}

void figure_write_pair(struct writer *writer, const struct figure_pair *pair)
{
	figure_write_real(writer, pair->ours);
	figure_write_real(writer, pair->published);
	figure_write_real(writer, figure_ratio(pair));
}

static int read_published(const struct figure_job *job, struct sim_error *err)
{
	const struct figure_steps *steps = job->steps;
	char name[WRITER_NAME_MAX + 16], file[PATH_MAX];
	struct csv csv;
	int rc;

	snprintf(name, sizeof(name), "reference/%s", job->csv_name);
	rc = config_find_data("plots", name, file, sizeof(file), err);
	if (!rc)
		rc = csv_open(&csv, file, steps->reference_columns,
			      steps->reference_column_count, err);
	if (rc)
		return rc;
	while ((rc = csv_next(&csv, err)) == 1) {
		rc = steps->read_row(job->data, &csv, err);
		if (rc)
			break;
	}
	csv_close(&csv);
	return rc;
}

static int write_csv(const struct figure_job *job, struct writer *writer, struct sim_error *err)
{
	int rc = writer_begin(writer, job->csv_name, err);

	if (rc)
		return rc;
	job->steps->write(job->data, writer);
	rc = writer_end(writer, err);
	return rc ? rc : writer_commit(writer, err);
}

static int draw_pictures(const struct figure_job *job, struct writer *writer,
			 struct sim_error *err)
{
	const struct folder *folder = &job->runs[0].folder;
	struct gnuplot gnuplot = { 0 };
	int rc;

	gnuplot_add_file(&gnuplot, "numbers_csv", writer, job->csv_name);
	gnuplot_add_string(&gnuplot, "scenario", folder->summary.name);
	gnuplot_add_string(&gnuplot, "gpu", *folder->gpu ? folder->gpu : "custom GPU");
	gnuplot_add_count(&gnuplot, "changed", job->args->set_count || job->args->scenario);
	job->steps->add_variables(job->data, &gnuplot);
	rc = gnuplot_draw(&gnuplot, job->steps->script ? job->steps->script : job->steps->name,
			  job->steps->name, &job->args->signals, writer, err);
	gnuplot_destroy(&gnuplot);
	return rc;
}

/* The data are kept also if they cannot be drawn. */
static int show(const struct figure_job *job, struct writer *writer, struct sim_error *err)
{
	int rc;

	job->steps->print(job->data);
	rc = figure_flush(err);
	if (!rc)
		rc = write_csv(job, writer, err);
	if (!rc)
		rc = draw_pictures(job, writer, err);
	if (rc)
		return rc;
	printf("numbers     %s/%s\n", writer->folder, job->csv_name);
	return figure_print_pictures(job->steps->name, writer, err);
}

/* Nothing is run before it is sure that the figure can be kept. */
static int make(struct figure_job *job, struct sim_error *err)
{
	struct writer writer;
	int rc = 0;

	if (job->steps->read_row)
		rc = read_published(job, err);
	if (!rc)
		rc = writer_open(&writer, job->args->out, err);
	if (rc)
		return rc;
	rc = run_cache_get(job->runs, job->run_count, job->args->fresh, &job->args->signals,
			   err);
	if (!rc)
		rc = job->steps->read_runs(job->data, err);
	if (!rc)
		rc = show(job, &writer, err);
	if (rc)
		writer_abort(&writer);
	return rc;
}

int figure_make(const struct figure_steps *steps, const struct figure_args *args,
		struct cached_run *runs, size_t run_count, void *data, struct sim_error *err)
{
	struct figure_job job = {
		.steps = steps, .args = args, .runs = runs, .run_count = run_count, .data = data
	};
	int rc;

	snprintf(job.csv_name, sizeof(job.csv_name), "%s.csv", steps->name);
	rc = make(&job, err);
	run_cache_destroy(runs, run_count);
	return rc;
}
