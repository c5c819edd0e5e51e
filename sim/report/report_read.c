// SPDX-License-Identifier: MIT OR GPL-2.0
/* See report_read.h. */
#include "report/report_read.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/paths.h"
#include "engine/error.h"
#include "figures/place.h"
#include "results/summary.h"

static void read_headline(const struct place *entry, struct report_headline *headline)
{
	static const char *const keys[] = { "label", "figure", "panel", "run",
					    "over",  "claim",  NULL };

	if (!place_is_object(entry, keys))
		return;
	headline->label = place_text(entry, "label", PLACE_NEEDED);
	headline->figure = place_text(entry, "figure", PLACE_NEEDED);
	headline->panel = place_text(entry, "panel", PLACE_NEEDED);
	headline->run = place_text(entry, "run", PLACE_NEEDED);
	headline->over = place_text(entry, "over", NULL);
	headline->claim = place_text(entry, "claim", NULL);
}

static void read_section(const struct place *entry, struct report *report,
			 struct report_section *section)
{
	static const char *const keys[] = { "title", "text", "figures", NULL };
	struct place figures = place_member(entry, "figures");
	const char **grown;
	size_t count;

	if (!place_is_object(entry, keys) || !place_is_array(&figures))
		return;
	section->title = place_text(entry, "title", PLACE_NEEDED);
	section->text = place_text(entry, "text", NULL);
	section->first = report->figure_count;
	count = json_array_size(figures.json);
	grown = realloc(report->figures, (report->figure_count + count) * sizeof(*grown));
	if (!grown) {
		place_fail(entry, "out of memory");
		return;
	}
	report->figures = grown;
	for (size_t i = 0; i < count; i++) {
		struct place element = place_element(&figures, i);
		const char *name = json_string_value(element.json);

		if (!name) {
			place_fail(&element, "is not a text, allowed: the name of a figure");
			return;
		}
		grown[report->figure_count++] = name;
		section->count++;
	}
}

static void read_root(const struct place *root, struct report *report)
{
	static const char *const keys[] = { "title", "lead", "headline", "sections", NULL };
	struct place headline = place_member(root, "headline");
	struct place sections = place_member(root, "sections");

	if (!place_is_object(root, keys) || !place_is_array(&sections) ||
	    (headline.json && !place_is_array(&headline)))
		return;
	report->title = place_text(root, "title", PLACE_NEEDED);
	report->lead = place_text(root, "lead", NULL);
	report->headlines =
		calloc(json_array_size(headline.json) + 1, sizeof(*report->headlines));
	report->sections = calloc(json_array_size(sections.json), sizeof(*report->sections));
	if (!report->headlines || !report->sections) {
		place_fail(root, "out of memory");
		return;
	}
	for (size_t i = 0; i < json_array_size(headline.json); i++) {
		struct place entry = place_element(&headline, i);

		read_headline(&entry, &report->headlines[report->headline_count++]);
	}
	for (size_t i = 0; i < json_array_size(sections.json); i++) {
		struct place entry = place_element(&sections, i);

		read_section(&entry, report, &report->sections[report->section_count++]);
	}
}

int report_read(struct report *report, const char *path, struct sim_error *err)
{
	struct place_reader reader = { .file = report->file, .err = err };
	struct place root = { .reader = &reader };

	*report = (struct report){ 0 };
	if (path)
		snprintf(report->file, sizeof(report->file), "%s", path);
	else
		reader.status = config_find_data("plots", "report.json", report->file,
						 sizeof(report->file), err);
	if (!reader.status)
		reader.status =
			results_load_json(report->file, "a report file", &report->root, err);
	if (reader.status)
		return reader.status;
	root.json = report->root;
	read_root(&root, report);
	if (reader.status)
		report_destroy(report);
	return reader.status;
}

void report_destroy(struct report *report)
{
	free(report->headlines);
	free(report->sections);
	free(report->figures);
	json_decref(report->root);
	*report = (struct report){ 0 };
}
