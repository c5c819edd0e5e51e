// SPDX-License-Identifier: MIT OR GPL-2.0
/* How well the report's numbers agree with published ones, and what made them; see page.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures/all.h"
#include "figures/cached_run.h"
#include "figures/make.h"
#include "gvm/port.h"
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

/* The spread of row @index. Returns 0 or a negative errno: out of memory. */
static int row_spread(const struct page *page, size_t index, struct score_spread *ret_spread)
{
	return score_spread(&page->draws[index * page->seeds], page->seeds,
			    page->rows[index].published, ret_spread);
}

/* "12 of 14" values of @figure (NULL: of all) that count lie within their spread. */
static int print_within(FILE *out, const struct page *page, const char *figure)
{
	size_t within = 0, counted = 0;
	struct score_spread spread;
	int status = 0;

	for (size_t i = 0; !status && i < page->row_count; i++) {
		if (!score_counts(&page->rows[i]) ||
		    (figure && strcmp(page->rows[i].figure, figure) != 0))
			continue;
		status = row_spread(page, i, &spread);
		counted++;
		within += !status && spread.within;
	}
	fprintf(out, "<td>%zu of %zu</td>", within, counted);
	return status;
}

/* Add the pairs of all panels of a figure. */
static void add_order(const struct page *page, const struct figure *figure,
		      struct score_order *order)
{
	for (size_t i = 0; i < figure->panel_count; i++) {
		struct score_order panel = score_order(page->rows, page->row_count,
						       figure->name, figure->panels[i].key);

		score_order_add(order, &panel);
	}
}

/* Scores of a figure, or of all if it is NULL. A figure of which nothing counts has no line. */
static int print_score(FILE *out, const struct page *page, const struct figure *only)
{
	const char *figure = only ? only->name : NULL;
	struct score_order order = { 0 };
	struct score score;
	int status = score_rows(page->rows, page->row_count, figure, &score);

	if (status || !score.rows)
		return status;
	for (size_t i = 0; i < page->figures->count; i++)
		if (!only || only == &page->figures->figures[i])
			add_order(page, &page->figures->figures[i], &order);
	fprintf(out, "<tr%s><th scope=\"row\">", figure ? "" : " class=\"all\"");
	html_text(out, figure ? figure : "all, each value once");
	fprintf(out, "</th><td>%zu</td><td>%.2f</td><td>%.0f %%</td><td>%.0f %%</td>",
		score.rows, score.median, 100 * score.near, 100 * score.factor);
	if (order.pairs)
		fprintf(out, "<td>%zu of %zu</td>", order.kept, order.pairs);
	else
		fprintf(out, "<td>no pairs</td>");
	if (page->seeds)
		status = print_within(out, page, figure);
	fprintf(out, "</tr>\n");
	return status;
}

/* Each published value beside ours and the spread of ours. */
static int print_spreads(FILE *out, const struct page *page)
{
	static const char *const columns[] = { "figure",
					       "panel",
					       "run",
					       "part",
					       "published",
					       "ours",
					       "10th percentile",
					       "median",
					       "90th percentile",
					       "published is",
					       NULL };
	char number[HTML_NUMBER_MAX];
	int status = 0;

	fprintf(out, "<details><summary>The spread of each value over %zu seeds</summary>\n",
		page->seeds);
	begin_table(out, "Spread", columns);
	for (size_t i = 0; !status && i < page->row_count; i++) {
		const struct score_row *row = &page->rows[i];
		const char *texts[] = { row->figure, row->panel, row->run, row->part };
		struct score_spread spread;
		double values[5];

		status = row_spread(page, i, &spread);
		if (status)
			break;
		values[0] = row->published;
		values[1] = row->predicted;
		values[2] = spread.low;
		values[3] = spread.median;
		values[4] = spread.high;
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
			fprintf(out, k ? "<td>" : "<tr><th scope=\"row\">");
			html_text(out, texts[k]);
			fprintf(out, k ? "</td>" : "</th>");
		}
		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			html_number(values[k], row->unit, number);
			fprintf(out, "<td>");
			html_text(out, number);
			fprintf(out, "</td>");
		}
		fprintf(out, "<td>%s</td></tr>\n",
			isnan(spread.median) ? "without ours" :
			spread.within	     ? "within" :
					       "outside");
	}
	end_table(out);
	fprintf(out, "</details>\n");
	return status;
}

static void print_hardware(FILE *out, const struct page *page)
{
	if (!page->hardware)
		return;
	fprintf(out, "<p>Loops that were measured on real GPUs, beside the simulated one:</p>\n"
		     "<pre>");
	html_text(out, page->hardware);
	fprintf(out, "</pre>\n");
}

int page_print_scores(FILE *out, const struct page *page)
{
	const char *const columns[] = { "figure",
					"values",
					"median error",
					"within 25 %",
					"within 2 times",
					"pairs in the published order",
					page->seeds ? "within the spread of ours" : NULL,
					NULL };
	int status = 0;

	if (!page->row_count) {
		fprintf(out, "<p>The figures of this page have no published values.</p>\n");
		print_hardware(out, page);
		return 0;
	}
	begin_table(out, "Scores", columns);
	for (size_t i = 0; !status && i < page->figures->count; i++)
		status = print_score(out, page, &page->figures->figures[i]);
	if (!status)
		status = print_score(out, page, NULL);
	end_table(out);
	if (!page->seeds)
		fprintf(out, "<p>Ours is one run each. <code>gvmsim report --seeds 10</code> "
			     "adds how far one run is from another.</p>\n");
	else if (!status)
		status = print_spreads(out, page);
	print_hardware(out, page);
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
		fprintf(out, page->row_count ? "<p>None.</p>\n" :
					       "<p>There are no published values.</p>\n");
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

		for (size_t k = 0; k < figure_made_runs(figure); k++, run++) {
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
