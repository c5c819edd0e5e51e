// SPDX-License-Identifier: MIT OR GPL-2.0
/* See papers.h. */
#include "figures/papers.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/paths.h"
#include "engine/error.h"
#include "figures/figure_read.h"
#include "figures/place.h"
#include "results/summary.h"

#define PAPERS_FILE "papers.json" /* in plots */

size_t papers_name_length(const char *ours)
{
	return strcspn(ours, " ");
}

/* Is @ours a figure of plots/figures, and its second word a panel of it? Reports a mistake. */
static void check_ours(const struct place *place, const char *ours)
{
	size_t length = papers_name_length(ours);
	const char *panel = ours[length] ? ours + length + 1 : NULL;
	struct sim_error ignored = { 0 };
	char name[FIGURE_NAME_MAX];
	struct figure figure;
	bool found = !panel;

	snprintf(name, sizeof(name), "%.*s", (int)length, ours);
	if (figure_read(&figure, name, &ignored)) {
		place_fail(place, "'%.40s' is no figure, allowed: names in plots/figures",
			   name);
		return;
	}
	for (size_t i = 0; panel && i < figure.panel_count; i++)
		found = found || !strcmp(figure.panels[i].key, panel);
	figure_destroy(&figure);
	if (!found)
		place_fail(place, "'%.40s' is no panel of figure %s", panel, name);
}

static void read_ours(const struct place *entry, struct paper_figure *figure)
{
	struct place array = place_member(entry, "ours");
	size_t count = json_array_size(array.json);

	figure->why = place_text(entry, "why", NULL);
	if (!array.json && figure->why)
		return;
	if (figure->why) {
		place_fail(entry, "has \"ours\" and \"why\", allowed: one of them");
		return;
	}
	if (!place_is_array(&array))
		return;
	figure->ours = calloc(count + 1, sizeof(*figure->ours));
	if (!figure->ours) {
		place_fail(entry, "out of memory");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct place element = place_element(&array, i);

		figure->ours[i] = json_string_value(element.json);
		if (!figure->ours[i]) {
			place_fail(&element, "is not a text, allowed: a text");
			return;
		}
		check_ours(&element, figure->ours[i]);
	}
}

static void read_entry(const struct place *entry, struct paper_figure *figure)
{
	static const char *const keys[] = { "gvm",     "ghost",	       "shows", "ours",
					    "differs", "contradicted", "why",	NULL };

	if (!place_is_object(entry, keys))
		return;
	figure->gvm = place_text(entry, "gvm", NULL);
	figure->ghost = place_text(entry, "ghost", NULL);
	figure->shows = place_text(entry, "shows", PLACE_NEEDED);
	figure->differs = place_text(entry, "differs", NULL);
	figure->contradicted = place_text(entry, "contradicted", NULL);
	if (!figure->gvm && !figure->ghost)
		place_fail(entry, "has no number, allowed: \"gvm\", \"ghost\"");
	read_ours(entry, figure);
}

int papers_read(struct papers *papers, struct sim_error *err)
{
	static const char *const keys[] = { "figures", NULL };
	char file[PATH_MAX];
	struct place_reader reader = { .file = file, .err = err };
	struct place root = { .reader = &reader }, array;

	*papers = (struct papers){ 0 };
	reader.status = config_find_data("plots", PAPERS_FILE, file, sizeof(file), err);
	if (!reader.status)
		reader.status = results_load_json(file, "the list of the papers' figures",
						  &papers->root, err);
	if (reader.status)
		return reader.status;
	root.json = papers->root;
	array = place_member(&root, "figures");
	if (place_is_object(&root, keys) && place_is_array(&array)) {
		papers->figures = calloc(json_array_size(array.json), sizeof(*papers->figures));
		if (!papers->figures)
			reader.status = sim_runtime_error(err, "out of memory");
	}
	for (size_t i = 0; papers->figures && i < json_array_size(array.json); i++) {
		struct place entry = place_element(&array, i);

		read_entry(&entry, &papers->figures[papers->count++]);
	}
	if (reader.status)
		papers_destroy(papers);
	return reader.status;
}

void papers_destroy(struct papers *papers)
{
	for (size_t i = 0; i < papers->count; i++)
		free(papers->figures[i].ours);
	free(papers->figures);
	json_decref(papers->root);
	*papers = (struct papers){ 0 };
}
