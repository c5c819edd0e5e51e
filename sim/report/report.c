// SPDX-License-Identifier: MIT OR GPL-2.0
/* See report.h. */
#include "report/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/paths.h"
#include "engine/error.h"
#include "figures/all.h"
#include "figures/make.h"
#include "figures/numbers.h"
#include "figures/papers.h"
#include "figures/published.h"
#include "figures/run_cache.h"
#include "gvm/port.h"
#include "report/page.h"
#include "report/report_read.h"
#include "results/writer.h"

#define TEMPLATE "report.html" /* in plots */

/* What may stand in the template. */
static const struct part {
	const char *name;
	int (*print)(FILE *out, const struct page *page);
} parts[] = {
	{ "title", page_print_title },
	{ "lead", page_print_lead },
	{ "contents", page_print_contents },
	{ "headlines", page_print_headlines },
	{ "figures", page_print_figures },
	{ "scores", page_print_scores },
	{ "deviations", page_print_deviations },
	{ "version", page_print_version },
	{ "runs", page_print_runs },
};

static int print_part(FILE *out, const struct page *page, const char *file, const char *name,
		      size_t length, struct sim_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strlen(parts[i].name) == length && !strncmp(parts[i].name, name, length))
			return parts[i].print(out, page) ?
				       sim_runtime_error(err, "out of memory") :
				       0;
	return sim_user_error(err,
			      "%s: unknown part '{{%.*s}}', allowed are title, lead, contents, "
			      "headlines, figures, scores, deviations, version, runs",
			      file, (int)(length < 40 ? length : 40), name);
}

/* Copy the template, with the parts in their places. */
static int print_page(FILE *out, const struct page *page, struct sim_error *err)
{
	char file[PATH_MAX], *line = NULL;
	size_t size = 0;
	FILE *template;
	int status = config_find_data("plots", TEMPLATE, file, sizeof(file), err);

	if (status)
		return status;
	template = fopen(file, "r");
	if (!template)
		return sim_user_error(err, "%s: %s", file, strerror(errno));
	while (!status && getline(&line, &size, template) > 0) {
		char *rest = line, *begin, *end;

		while (!status && (begin = strstr(rest, "{{")) && (end = strstr(begin, "}}"))) {
			fprintf(out, "%.*s", (int)(begin - rest), rest);
			status = print_part(out, page, file, begin + 2,
					    (size_t)(end - begin) - 2, err);
			rest = end + 2;
		}
		fputs(rest, out);
	}
	free(line);
	if (!status && !feof(template))
		status =
			sim_runtime_error(err, "%s: cannot be read: %s", file, strerror(errno));
	fclose(template);
	return status;
}

/* Rows of all published values in the page. */
static int take_rows(struct page *page, struct sim_error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < page->figures->count; i++)
		count += page->figures->data[i].cell_count;
	page->rows = calloc(count + 1, sizeof(*page->rows));
	if (!page->rows)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < page->figures->count; i++) {
		const struct figure_data *data = &page->figures->data[i];

		for (size_t k = 0; k < data->cell_count; k++)
			if (!isnan(data->cells[k].pair.published))
				published_row(data, &data->cells[k],
					      &page->rows[page->row_count++]);
	}
	return 0;
}

static int write_page(struct page *page, const char *folder, struct sim_error *err)
{
	struct writer writer;
	int status = take_rows(page, err);

	if (!status)
		status = writer_open(&writer, folder, err);
	if (status)
		return status;
	status = writer_begin(&writer, REPORT_FILE, err);
	if (!status)
		status = print_page(writer.stream, page, err);
	if (!status)
		status = writer_end(&writer, err);
	if (!status)
		status = writer_commit(&writer, err);
	if (status)
		writer_abort(&writer);
	return status;
}

/* Has the figure a published value? */
static bool is_published(const struct figure_data *data)
{
	for (size_t i = 0; i < data->cell_count; i++)
		if (!isnan(data->cells[i].pair.published))
			return true;
	return false;
}

/*
 * Make the runs of all published values with seeds. Their rows come in the
 * order of take_rows().
 */
static int take_spread(struct page *page, struct published *published, size_t seeds,
		       struct sim_error *err)
{
	const struct figures *figures = page->figures;
	const char **names = calloc(figures->count + 1, sizeof(*names));
	struct run_cache_use use = page->request->use;
	size_t count = 0;
	int status;

	if (!names)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < figures->count; i++)
		if (is_published(&figures->data[i]))
			names[count++] = page->report->figures[i];
	use.held += figures->run_count;
	status = count ? published_open(published, names, count, seeds, page->request, err) : 0;
	if (!status && count)
		status = published_predict(published, &use, err);
	free(names);
	page->seeds = count ? seeds : 0;
	page->draws = published->draws;
	return status;
}

int report_make(const char *path, const struct figure_request *request, size_t seeds,
		const char *hardware, struct sim_error *err)
{
	struct published published = { 0 };
	struct figures figures = { 0 };
	struct papers papers = { 0 };
	struct report report;
	char program[CFG_HASH_MAX];
	struct page page = { .report = &report,
			     .figures = &figures,
			     .papers = &papers,
			     .request = request,
			     .hardware = hardware,
			     .program = program };
	int status = report_read(&report, path, err);

	if (status)
		return status;
	status = papers_read(&papers, err);
	if (!status)
		status = run_cache_hash_program(program, err);
	if (!status)
		status = figures_open(&figures, report.figures, report.figure_count, request,
				      err);
	if (!status)
		status = page_check(&page, err);
	if (!status)
		status = figures_get_runs(&figures, &request->use, err);
	for (size_t i = 0; !status && i < figures.count; i++)
		status = figure_data_take(&figures.data[i], err);
	if (!status && seeds)
		status = take_spread(&page, &published, seeds, err);
	if (!status)
		status = write_page(&page, request->out, err);
	free(page.rows);
	published_destroy(&published);
	figures_destroy(&figures);
	papers_destroy(&papers);
	report_destroy(&report);
	return status;
}
