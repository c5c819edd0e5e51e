// SPDX-License-Identifier: MIT OR GPL-2.0
/* See page.h. page_validation.c has scores, deviations and runs. */
#include "report/page.h"

#include <math.h>
#include <string.h>

#include "engine/error.h"
#include "figures/all.h"
#include "figures/papers.h"
#include "report/html.h"
#include "report/panel.h"
#include "report/panel_key.h"
#include "report/report_read.h"
#include "results/estimate.h"

/* The figure that the report names so; NULL: it is not in the page. */
static const struct figure_data *find_figure(const struct page *page, const char *name)
{
	for (size_t i = 0; i < page->report->figure_count; i++)
		if (!strcmp(page->report->figures[i], name))
			return &page->figures->data[i];
	return NULL;
}

/* The value of the first part of a panel for a run; NULL: there is no such panel or run. */
static const struct figure_pair *find_pair(const struct figure_data *data, const char *panel,
					   const char *run)
{
	for (size_t i = 0; i < data->cell_count; i++)
		if (!strcmp(data->figure->panels[data->cells[i].panel].key, panel) &&
		    !strcmp(data->figure->runs[data->cells[i].run].label, run))
			return &data->cells[i].pair;
	return NULL;
}

int page_check(const struct page *page, struct sim_error *err)
{
	for (size_t i = 0; i < page->report->headline_count; i++) {
		const struct report_headline *headline = &page->report->headlines[i];
		const struct figure_data *data = find_figure(page, headline->figure);
		const char *file = page->report->file;

		if (!data)
			return sim_user_error(
				err,
				"%s:headline[%zu].figure: '%.40s' is in no "
				"section, allowed: a figure as a section names it",
				file, i, headline->figure);
		if (!find_pair(data, headline->panel, headline->run))
			return sim_user_error(
				err,
				"%s:headline[%zu]: figure %s has no panel '%.40s' "
				"with a run '%.40s'",
				file, i, headline->figure, headline->panel, headline->run);
		if (headline->over && !find_pair(data, headline->panel, headline->over))
			return sim_user_error(err,
					      "%s:headline[%zu].over: figure %s has no run "
					      "'%.40s' in panel '%.40s'",
					      file, i, headline->figure, headline->over,
					      headline->panel);
	}
	return 0;
}

static const char *unit_of(const struct figure_data *data, const char *panel)
{
	for (size_t i = 0; i < data->figure->panel_count; i++)
		if (!strcmp(data->figure->panels[i].key, panel))
			return data->figure->panels[i].unit;
	return "x";
}

static void print_tile(FILE *out, const char *number, const char *label, const char *published,
		       const char *claim)
{
	fprintf(out, "<li><strong>");
	html_text(out, number);
	fprintf(out, "</strong> <span>");
	html_text(out, label);
	fprintf(out, "</span>");
	if (published) {
		fprintf(out, " <small>published: ");
		html_text(out, published);
		fprintf(out, "</small>");
	}
	if (claim) {
		fprintf(out, " <small>the papers' text: ");
		html_text(out, claim);
		fprintf(out, "</small>");
	}
	fprintf(out, "</li>\n");
}

int page_print_headlines(FILE *out, const struct page *page)
{
	char number[HTML_NUMBER_MAX], published[HTML_NUMBER_MAX];
	struct score all;
	int status = score_rows(page->rows, page->row_count, NULL, &all);

	if (status)
		return status;
	fprintf(out, "<ul class=\"tiles\">\n");
	for (size_t i = 0; i < page->report->headline_count; i++) {
		const struct report_headline *headline = &page->report->headlines[i];
		const struct figure_data *data = find_figure(page, headline->figure);
		struct figure_pair value = *find_pair(data, headline->panel, headline->run);
		const char *unit = headline->over ? "x" : unit_of(data, headline->panel);

		if (headline->over) {
			const struct figure_pair *over =
				find_pair(data, headline->panel, headline->over);

			value.ours = over->ours > 0 ? value.ours / over->ours : (double)NAN;
			value.published = over->published > 0 ?
						  value.published / over->published :
						  (double)NAN;
		}
		html_number(value.ours, unit, number);
		html_number(value.published, unit, published);
		print_tile(out, number, headline->label,
			   isnan(value.published) ? NULL : published, headline->claim);
	}
	if (all.rows) {
		snprintf(number, sizeof(number), "%.0f %%", 100 * all.near);
		print_tile(out, number, "of published values are predicted within 25 %", NULL,
			   NULL);
		snprintf(number, sizeof(number), "%.0f %%", 100 * expm1(all.median));
		print_tile(out, number, "is the median error of all of them", NULL, NULL);
	}
	fprintf(out, "</ul>\n");
	return 0;
}

/* "GVM Figure 12a, Ghost Figure 11b", and what differs or is contradicted there. */
static void print_papers(FILE *out, const struct page *page, const char *name)
{
	for (size_t i = 0; i < page->papers->count; i++) {
		const struct paper_figure *figure = &page->papers->figures[i];
		const char **ours = figure->ours;

		while (ours && *ours &&
		       (papers_name_length(*ours) != strlen(name) ||
			strncmp(*ours, name, strlen(name)) != 0))
			ours++;
		if (!ours || !*ours)
			continue;
		fprintf(out, "<p class=\"paper\">");
		if (figure->gvm)
			fprintf(out, "GVM Figure %s", figure->gvm);
		if (figure->ghost)
			fprintf(out, "%sGhost Figure %s", figure->gvm ? ", " : "",
				figure->ghost);
		if (figure->differs) {
			fprintf(out, ". Ours: ");
			html_text(out, figure->differs);
		}
		if (figure->contradicted) {
			fprintf(out, ". <b>Contradicted by the papers' own data:</b> ");
			html_text(out, figure->contradicted);
		}
		fprintf(out, ".</p>\n");
	}
}

/* All values of a figure as a table, for people who read no picture. */
static void print_numbers(FILE *out, const struct figure_data *data)
{
	char name[128], number[3 * HTML_NUMBER_MAX];

	if (!data->cell_count)
		return;
	fprintf(out, "<details><summary>Numbers</summary><div class=\"wide\" tabindex=\"0\" "
		     "role=\"region\" aria-label=\"Numbers of ");
	html_text(out, data->figure->name);
	fprintf(out, "\"><table><thead><tr><th scope=\"col\">panel</th>"
		     "<th scope=\"col\">run</th><th scope=\"col\">ours</th>"
		     "<th scope=\"col\">published</th><th scope=\"col\">ours over "
		     "published</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < data->cell_count; i++) {
		const struct figure_cell *cell = &data->cells[i];
		const struct figure_panel *panel = &data->figure->panels[cell->panel];

		fprintf(out, "<tr><td>");
		html_text(out, panel->label);
		fprintf(out, "</td><th scope=\"row\">");
		panel_cell_name(data, cell, name, sizeof(name));
		html_text(out, name);
		panel_cell_number(data, cell, number, sizeof(number));
		fprintf(out, "</th><td>");
		html_text(out, number);
		fprintf(out, "</td><td>");
		if (!isnan(cell->pair.published)) {
			html_number(cell->pair.published, panel->unit, number);
			html_text(out, number);
			html_number(figure_ratio(&cell->pair), "x", number);
			fprintf(out, "</td><td>%s", number);
		} else {
			fprintf(out, "</td><td>");
		}
		fprintf(out, "</td></tr>\n");
	}
	fprintf(out, "</tbody></table></div></details>\n");
}

/* What the colours of bars mean. */
static void print_key(FILE *out, const struct figure_data *data)
{
	const struct figure *figure = data->figure;
	bool bars = false, published = false;

	for (size_t i = 0; i < data->cell_count; i++)
		published = published || !isnan(data->cells[i].pair.published);
	for (size_t i = 0; i < figure->panel_count; i++)
		bars = bars || figure->panels[i].layout == FIGURE_BARS;
	fprintf(out, "<ul class=\"key\">");
	if (bars)
		fprintf(out, "<li><span class=\"swatch ours\"></span>ours, simulated</li>");
	if (bars && published) {
		fprintf(out, "<li><span class=\"swatch pub\"></span>");
		html_text(out, figure->published_label);
		fprintf(out, "</li>");
	}
	fprintf(out, "</ul>\n");
}

static void print_panel(FILE *out, const struct figure_data *data, size_t panel)
{
	const struct figure *figure = data->figure;

	if (figure->panels[panel].layout == FIGURE_TABLE)
		return;
	fprintf(out, "<figure><figcaption>");
	html_text(out, figure->panels[panel].title);
	if (*figure->panels[panel].y_label) {
		fputs(": ", out);
		html_text(out, figure->panels[panel].y_label);
	}
	fprintf(out, "%s</figcaption>\n", figure->panels[panel].log_y ? ", logarithmic" : "");
	panel_print_key(out, data, panel);
	panel_print(out, data, panel);
	fprintf(out, "</figure>\n");
}

/* What the values are, where published ones come from, and the figure's own notes. */
static void print_notes(FILE *out, const struct figure *figure)
{
	if (figure->seed_count > 1) {
		char over[64];

		estimate_describe_seeds(figure->interval_of, figure->seed_count, over,
					sizeof(over));
		fprintf(out, "<p class=\"notes\">Values are the %s with %s.</p>\n",
			estimate_word(figure->interval_of), over);
	}
	if (figure->source) {
		fprintf(out, "<p class=\"notes\">Source of ");
		html_text(out, figure->published_label);
		fprintf(out, " values: ");
		html_text(out, figure->source);
		fprintf(out, ".</p>\n");
	}
	if (figure->notes) {
		fprintf(out, "<p class=\"notes\">");
		html_text(out, figure->notes);
		fprintf(out, "</p>\n");
	}
}

static void print_figure(FILE *out, const struct page *page, const struct figure_data *data)
{
	const struct figure *figure = data->figure;

	fprintf(out, "<article id=\"");
	html_text(out, figure->name);
	fprintf(out, "\">\n<h3>");
	html_text(out, figure->title);
	fprintf(out, "</h3>\n");
	print_papers(out, page, figure->name);
	print_key(out, data);
	fprintf(out, "<div class=\"panels\">\n");
	for (size_t panel = 0; panel < figure->panel_count; panel++)
		print_panel(out, data, panel);
	fprintf(out, "</div>\n");
	print_notes(out, figure);
	print_numbers(out, data);
	fprintf(out, "</article>\n");
}

int page_print_figures(FILE *out, const struct page *page)
{
	for (size_t i = 0; i < page->report->section_count; i++) {
		const struct report_section *section = &page->report->sections[i];

		fprintf(out,
			"<section aria-labelledby=\"section-%zu\">\n<h2 id=\"section-%zu\">", i,
			i);
		html_text(out, section->title);
		fprintf(out, "</h2>\n");
		if (section->text) {
			fprintf(out, "<p>");
			html_text(out, section->text);
			fprintf(out, "</p>\n");
		}
		for (size_t k = 0; k < section->count; k++)
			print_figure(out, page, &page->figures->data[section->first + k]);
		fprintf(out, "</section>\n");
	}
	return 0;
}

int page_print_title(FILE *out, const struct page *page)
{
	html_text(out, page->report->title);
	return 0;
}

int page_print_lead(FILE *out, const struct page *page)
{
	html_text(out, page->report->lead ? page->report->lead : "");
	return 0;
}

int page_print_contents(FILE *out, const struct page *page)
{
	for (size_t i = 0; i < page->report->section_count; i++) {
		fprintf(out, "<li><a href=\"#section-%zu\">", i);
		html_text(out, page->report->sections[i].title);
		fprintf(out, "</a></li>\n");
	}
	return 0;
}
