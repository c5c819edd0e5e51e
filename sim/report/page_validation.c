// SPDX-License-Identifier: MIT OR GPL-2.0
/* How well the report's numbers agree with published ones, and what made them; see page.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures/all.h"
#include "figures/cached_run.h"
#include "figures/make.h"
#include "report/html.h"
#include "report/page.h"
#include "report/report_read.h"

/* The head of a table whose columns are @columns, NULL at the end. */
static void begin_table(FILE *out, const char *name, const char *const *columns)
{
	fprintf(out,
		"<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
		"<table><thead><tr>",
		name);
	for (; *columns; columns++)
		fprintf(out, "<th scope=\"col\">%s</th>", *columns);
	fprintf(out, "</tr></thead><tbody>\n");
}

static void end_table(FILE *out)
{
	fprintf(out, "</tbody></table></div>\n");
}

/* Scores of a figure, or of all if it is NULL. A figure of which nothing counts has no line. */
static int print_score(FILE *out, const struct page *page, const char *figure)
{
	struct score score;
	int status = score_rows(page->rows, page->row_count, figure, &score);

	if (status || !score.rows)
		return status;
	fprintf(out, "<tr%s><th scope=\"row\">", figure ? "" : " class=\"all\"");
	html_text(out, figure ? figure : "all, each value once");
	fprintf(out, "</th><td>%zu</td><td>%.2f</td><td>%.0f %%</td><td>%.0f %%</td></tr>\n",
		score.rows, score.median, 100 * score.near, 100 * score.factor);
	return 0;
}

int page_print_scores(FILE *out, const struct page *page)
{
	static const char *const columns[] = { "figure",      "values",		"median error",
					       "within 25 %", "within 2 times", NULL };
	int status = 0;

	begin_table(out, "Scores", columns);
	for (size_t i = 0; !status && i < page->figures->count; i++)
		status = print_score(out, page, page->figures->figures[i].name);
	if (!status)
		status = print_score(out, page, NULL);
	end_table(out);
	if (page->hardware) {
		fprintf(out, "<p>Loops that were measured on real GPUs, beside the simulated "
			     "one:</p>\n"
			     "<pre>");
		html_text(out, page->hardware);
		fprintf(out, "</pre>\n");
	}
	return status;
}

/* The largest error first. */
static int compare_rows(const void *a, const void *b)
{
	double x = score_error(*(const struct score_row *const *)a);
	double y = score_error(*(const struct score_row *const *)b);

	return x > y ? -1 : x < y;
}

int page_print_deviations(FILE *out, const struct page *page)
{
	static const char *const columns[] = { "figure", "panel",     "run",
					       "ours",	 "published", "ours over published",
					       NULL };
	const struct score_row **far = calloc(page->row_count + 1, sizeof(*far));
	char number[HTML_NUMBER_MAX];
	size_t count = 0;

	if (!far)
		return -ENOMEM;
	for (size_t i = 0; i < page->row_count; i++)
		if (score_counts(&page->rows[i]) &&
		    score_error(&page->rows[i]) > log(SCORE_FACTOR))
			far[count++] = &page->rows[i];
	qsort(far, count, sizeof(*far), compare_rows);
	if (count)
		begin_table(out, "Deviations", columns);
	else
		fprintf(out, "<p>None.</p>\n");
	for (size_t i = 0; i < count; i++) {
		const struct score_row *row = far[i];

		fprintf(out, "<tr><th scope=\"row\"><a href=\"#%s\">", row->figure);
		html_text(out, row->figure);
		fprintf(out, "</a></th><td>");
		html_text(out, row->panel);
		fprintf(out, "</td><td>");
		html_text(out, row->run);
		html_number(row->predicted, row->unit, number);
		fprintf(out, "</td><td>");
		html_text(out, number);
		html_number(row->published, row->unit, number);
		fprintf(out, "</td><td>");
		html_text(out, number);
		html_number(row->predicted / row->published, "x", number);
		fprintf(out, "</td><td>%s</td></tr>\n", number);
	}
	if (count)
		end_table(out);
	free(far);
	return 0;
}

int page_print_version(FILE *out, const struct page *page)
{
	fprintf(out,
		"<dl><dt>program</dt><dd>gvmsim " GVMSIM_VERSION ", hash <code>%s</code></dd>"
		"<dt>report</dt><dd><code>",
		page->program);
	html_text(out, page->report->file);
	fprintf(out, "</code></dd><dt>changed by the user</dt><dd>");
	for (size_t i = 0; i < page->request->set_count; i++) {
		fprintf(out, "%s<code>", i ? ", " : "");
		html_text(out, page->request->sets[i]);
		fprintf(out, "</code>");
	}
	fprintf(out, "%s</dd><dt>runs</dt><dd>%zu</dd></dl>\n",
		page->request->set_count ? "" : "nothing", page->figures->run_count);
	return 0;
}

int page_print_runs(FILE *out, const struct page *page)
{
	static const char *const columns[] = { "figure",
					       "run",
					       "scenario",
					       "GPU",
					       "system",
					       "changed in the scenario",
					       "hash of the configuration",
					       NULL };
	const struct cached_run *run = page->figures->runs;

	fprintf(out, "<details><summary>All %zu runs</summary>\n", page->figures->run_count);
	begin_table(out, "Runs", columns);
	for (size_t i = 0; i < page->figures->count; i++) {
		const struct figure *figure = &page->figures->figures[i];

		for (size_t k = 0; k < figure->run_count; k++, run++) {
			const struct summary *summary = &run->folder.summary;
			const char *set;

			fprintf(out, "<tr><th scope=\"row\">");
			html_text(out, figure->name);
			fprintf(out, "</th><td>");
			html_text(out, run->label);
			fprintf(out, "</td><td>");
			html_text(out, summary->name);
			fprintf(out, "</td><td>");
			html_text(out, *run->folder.gpu ? run->folder.gpu : "custom");
			fprintf(out, "</td><td>");
			html_text(out, summary->system);
			fprintf(out, "</td><td>");
			for (size_t n = 0; (set = cached_run_set(run, n)); n++) {
				fprintf(out, "%s<code>", n ? " " : "");
				html_text(out, set);
				fprintf(out, "</code>");
			}
			fprintf(out, "</td><td><code>%s</code></td></tr>\n",
				summary->config_hash);
		}
	}
	end_table(out);
	fprintf(out, "</details>\n");
	return 0;
}
