// SPDX-License-Identifier: MIT OR GPL-2.0
/* "gvmsim figure alone-vs-shared": two results folders side by side. */
#include <stdio.h>
#include <string.h>

#include "cli/figure.h"
#include "cli/gnuplot.h"
#include "terminal/table.h"
#include "engine/error.h"
#include "results/compare.h"
#include "results/series.h"
#include "results/summary_text.h"

#define FIGURE_NAME   "alone-vs-shared"
#define FIGURE_CSV    FIGURE_NAME ".csv"
#define FIGURE_LOAD   FIGURE_NAME "-load.csv"
#define FIGURE_TTFT   FIGURE_NAME "-ttft.csv"
#define FIGURE_SHARE  FIGURE_NAME "-share.csv"
#define FIGURE_IMAGES FIGURE_NAME "-images.csv"

/* What the two runs are called. */
struct run_words {
	const char *of[SERIES_RUNS];
};

/* Where one is real and the other is not, that is what tells them apart. */
static struct run_words name_runs(const struct folder folders[SERIES_RUNS])
{
	struct run_words words = { .of = { "alone", "shared" } };

	for (int run = 0; run < SERIES_RUNS; run++)
		if (folders[SERIES_ALONE].summary.measured !=
		    folders[SERIES_SHARED].summary.measured)
			words.of[run] =
				folders[run].summary.measured ? "measured" : "simulated";
	return words;
}

/* The table being printed, and whose rows are at its end. */
struct figure_table {
	struct table table;
	struct run_words words;
	const struct summary_container *container;
};

static void table_begin_container(struct figure_table *figure,
				  const struct summary_container *container)
{
	if (figure->container)
		table_add(&figure->table);
	figure->container = container;
	table_add(&figure->table);
	table_set(&figure->table, 0, "%s (%s)", container->name,
		  summary_type_name(container->type));
	table_set(&figure->table, 1, "%s", figure->words.of[SERIES_ALONE]);
	table_set(&figure->table, 2, "%s", figure->words.of[SERIES_SHARED]);
	table_set(&figure->table, 3, "%s/%s", figure->words.of[SERIES_SHARED],
		  figure->words.of[SERIES_ALONE]);
}

static void add_table_row(void *data, const struct compare_row *row)
{
	struct figure_table *figure = data;
	char text[TABLE_CELL_MAX];

	if (row->container != figure->container)
		table_begin_container(figure, row->container);
	table_add(&figure->table);
	table_set(&figure->table, 0, "  %s", summary_metrics[row->metric].label);
	for (int run = 0; run < SERIES_RUNS; run++) {
		summary_format(&row->values[run], row->metric, text, sizeof(text));
		table_set(&figure->table, (size_t)run + 1, "%s", text);
	}
	if (row->ratio.known)
		table_set(&figure->table, 3, "%.2f", row->ratio.real);
	else
		table_set(&figure->table, 3, "-");
}

/* "vllm-diffusion-80g on a100-80g: system exclusive, 640.0 s" */
static void print_run(const char *word, const struct folder *folder)
{
	const struct summary *summary = &folder->summary;

	printf("%-9s %s on %s, system %s, %.1f s%s\n", word, summary->name,
	       *folder->gpu ? folder->gpu : "a GPU of its own description", summary->system,
	       summary->sim_seconds, summary->complete ? "" : " (INCOMPLETE: interrupted)");
	figure_print_failures("          ", summary);
}

static void print_comparison(const struct folder folders[SERIES_RUNS])
{
	struct figure_table figure = { .words = name_runs(folders) };

	for (int run = 0; run < SERIES_RUNS; run++)
		print_run(figure.words.of[run], &folders[run]);
	putchar('\n');
	compare_runs(&folders[SERIES_ALONE].summary, &folders[SERIES_SHARED].summary,
		     add_table_row, &figure);
	table_print(&figure.table, stdout);
	putchar('\n');
}

/* The comparison and the curves, all or none. */
static int write_data(const struct folder folders[SERIES_RUNS], const struct series *series,
		      struct writer *writer, struct sim_error *err)
{
	int rc = compare_write(&folders[SERIES_ALONE].summary, &folders[SERIES_SHARED].summary,
			       writer, FIGURE_CSV, err);

	if (!rc)
		rc = series_write_load(series, writer, FIGURE_LOAD, err);
	if (!rc)
		rc = series_write_ttft(series, writer, FIGURE_TTFT, err);
	if (!rc)
		rc = series_write_share(series, writer, FIGURE_SHARE, err);
	if (!rc)
		rc = series_write_images(series, writer, FIGURE_IMAGES, err);
	if (!rc)
		rc = writer_commit(writer, err);
	return rc;
}

static const char *container_name(const struct folder *folder, size_t container)
{
	return container == SIZE_MAX ? "" : folder->summary.containers[container].name;
}

/* What the picture's title says of the two runs. */
static void add_title(struct gnuplot *gnuplot, const struct folder folders[SERIES_RUNS])
{
	const struct folder *alone = &folders[SERIES_ALONE], *shared = &folders[SERIES_SHARED];

	const struct run_words words = name_runs(folders);

	gnuplot_add_string(gnuplot, "word_alone", words.of[SERIES_ALONE]);
	gnuplot_add_string(gnuplot, "word_shared", words.of[SERIES_SHARED]);
	gnuplot_add_string(gnuplot, "scenario", shared->summary.name);
	gnuplot_add_string(gnuplot, "system_alone", alone->summary.system);
	gnuplot_add_string(gnuplot, "system_shared", shared->summary.system);
	gnuplot_add_string(gnuplot, "gpu", *shared->gpu ? shared->gpu : "custom GPU");
	/* Runs of different things can be compared, but the title has to say so. */
	gnuplot_add_string(gnuplot, "scenario_alone",
			   strcmp(alone->summary.name, shared->summary.name) != 0 ?
				   alone->summary.name :
				   "");
	gnuplot_add_string(gnuplot, "gpu_alone",
			   strcmp(alone->gpu, shared->gpu) != 0 ? alone->gpu : "");
	gnuplot_add_count(gnuplot, "incomplete",
			  !alone->summary.complete || !shared->summary.complete);
}

static void add_variables(struct gnuplot *gnuplot, const struct series *series,
			  const struct folder folders[SERIES_RUNS], const struct writer *writer)
{
	const struct folder *shared = &folders[SERIES_SHARED];
	size_t llm = series->llm[SERIES_SHARED];

	add_title(gnuplot, folders);
	gnuplot_add_file(gnuplot, "load_csv", writer, FIGURE_LOAD);
	gnuplot_add_file(gnuplot, "ttft_csv", writer, FIGURE_TTFT);
	gnuplot_add_file(gnuplot, "share_csv", writer, FIGURE_SHARE);
	gnuplot_add_file(gnuplot, "images_csv", writer, FIGURE_IMAGES);
	gnuplot_add_string(gnuplot, "llm", container_name(shared, llm));
	gnuplot_add_string(gnuplot, "diffusion",
			   container_name(shared, series->diffusion[SERIES_SHARED]));
	gnuplot_add_count(gnuplot, "llm_alone", series->llm[SERIES_ALONE] != SIZE_MAX);
	gnuplot_add_count(gnuplot, "ttft_alone", series_count_ttft(series, SERIES_ALONE));
	gnuplot_add_count(gnuplot, "ttft_shared", series_count_ttft(series, SERIES_SHARED));
	gnuplot_add_count(gnuplot, "failed_alone", series_count_failed(series, SERIES_ALONE));
	gnuplot_add_count(gnuplot, "failed_shared", series_count_failed(series, SERIES_SHARED));
	gnuplot_add_count(gnuplot, "images_alone", series_count_images(series, SERIES_ALONE));
	gnuplot_add_count(gnuplot, "images_shared", series_count_images(series, SERIES_SHARED));
	gnuplot_add_count(gnuplot, "containers", shared->summary.container_count);
	gnuplot_add_count(gnuplot, "share_known", series_knows_share(series));
	gnuplot_add_seconds(gnuplot, "end_s", series->end_ns);
	gnuplot_add_seconds(gnuplot, "bin_s", series->bin_ns);
	gnuplot_add_seconds(gnuplot, "slo_s", llm == SIZE_MAX ? 0 : shared->slo_ns[llm]);
}

static int draw_pictures(const struct folder folders[SERIES_RUNS], const struct series *series,
			 const struct signals *signals, struct writer *writer,
			 struct sim_error *err)
{
	struct gnuplot gnuplot = { 0 };
	int rc;

	add_variables(&gnuplot, series, folders, writer);
	rc = gnuplot_draw(&gnuplot, FIGURE_NAME, FIGURE_NAME, signals, writer, err);
	gnuplot_destroy(&gnuplot);
	return rc;
}

/* The data are kept also if they cannot be drawn. */
static int draw(const struct folder folders[SERIES_RUNS], const struct figure_args *args,
		struct sim_error *err)
{
	struct writer writer;
	struct series series;
	int rc = writer_open(&writer, args->out, err);

	if (rc)
		return rc;
	series_init(&series, &folders[SERIES_ALONE], &folders[SERIES_SHARED]);
	rc = write_data(folders, &series, &writer, err);
	if (!rc)
		rc = draw_pictures(folders, &series, &args->signals, &writer, err);
	if (rc) {
		writer_abort(&writer);
		return rc;
	}
	printf("comparison  %s/" FIGURE_CSV "\n", writer.folder);
	return figure_print_pictures(FIGURE_NAME, &writer, err);
}

static int compare(const struct figure_args *args, struct sim_error *err)
{
	struct folder folders[SERIES_RUNS];
	int rc = folder_load(&folders[SERIES_ALONE], args->folders[SERIES_ALONE], err);

	if (rc)
		return rc;
	rc = folder_load(&folders[SERIES_SHARED], args->folders[SERIES_SHARED], err);
	if (!rc) {
		print_comparison(folders);
		rc = figure_flush(err);
		if (!rc)
			rc = draw(folders, args, err);
		folder_destroy(&folders[SERIES_SHARED]);
	}
	folder_destroy(&folders[SERIES_ALONE]);
	return rc;
}

const struct figure figure_alone_vs_shared = {
	.name = FIGURE_NAME,
	.usage = "ALONE_DIR SHARED_DIR [--out DIR]",
	.summary = "two results folders side by side, over time",
	.help = "Compares two results folders of \"gvmsim run\": what the applications of a "
		"scenario saw\n"
		"when each had a GPU of its own, and when they shared one. Draws load, time to "
		"first\n"
		"token, GPU shares and image latency over time. A folder that gvmcollect wrote "
		"on real\n"
		"hardware can stand in either place; what it does not know is \"-\".\n",
	.example = "    gvmsim run vllm-diffusion-80g --system exclusive --out results/alone\n"
		   "    gvmsim run vllm-diffusion-80g --system stock --out results/shared\n"
		   "    gvmsim figure " FIGURE_NAME " results/alone results/shared\n",
	.folder_count = SERIES_RUNS,
	.draw = compare,
};
