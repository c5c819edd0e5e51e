// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reading the file of a figure, see figure_read.h. */
#include "figures/figure_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "figures/figure_find.h"
#include "figures/figure_panels.h"
#include "figures/figure_seeds.h"
#include "figures/place.h"
#include "gvm/port.h"
#include "results/results.h"

#define SIDE_MAX  4096 /* pixels */
#define NAMES_MAX 8192 /* of all figures in plots/figures */

/* Append "PATH=VALUE" for each member of the object @key. */
static void append_sets(const struct place *object, const char *key, char ***texts)
{
	struct place sets = place_member(object, key);
	size_t count = 0;
	const char *path;
	json_t *value;
	char **grown;

	if (!sets.json)
		return;
	if (!json_is_object(sets.json)) {
		place_fail(&sets, "is not an object, allowed: an object of keys and values");
		return;
	}
	while (*texts && (*texts)[count])
		count++;
	grown = realloc(*texts, (count + json_object_size(sets.json) + 1) * sizeof(**texts));
	if (!grown) {
		place_out_of_memory(object->reader);
		return;
	}
	*texts = grown;
	grown[count] = NULL;
	json_object_foreach(sets.json, path, value) {
		const char *text = json_string_value(value);
		char *dumped = text ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

		if ((!text && !dumped) ||
		    asprintf(&grown[count], "%s=%s", path, text ? text : dumped) < 0) {
			grown[count] = NULL;
			place_out_of_memory(object->reader);
		} else {
			grown[++count] = NULL;
		}
		free(dumped);
	}
}

/* Read one run, or one point of a series if @point is not NULL. */
static void read_run(const struct place *root, const struct place *entry,
		     const struct place *point, struct figure_run *run)
{
	json_t *system_set = NULL;
	const char *system;

	run->label = place_field(entry, "label", PLACE_NEEDED);
	run->tick = place_text(entry, "tick", run->label);
	run->folder = place_text(entry, "folder", NULL);
	run->scenario = place_text(entry, "scenario", NULL);
	run->x = point ? place_real(point, "x", (double)NAN) : (double)NAN;
	run->x_tick = point ? place_text(point, "tick", NULL) : NULL;
	if (isnan(run->x))
		snprintf(run->name, sizeof(run->name), "%s", run->label);
	else if (run->x_tick)
		snprintf(run->name, sizeof(run->name), "%s, %s", run->label, run->x_tick);
	else
		snprintf(run->name, sizeof(run->name), "%s, %g", run->label, run->x);
	append_sets(root, "defaults", &run->defaults);
	append_sets(entry, "defaults", &run->defaults);
	append_sets(root, "set", &run->sets);
	/* "system": "gvm" is short for "set": { "system.name": "gvm" }. */
	system = place_text(entry, "system", NULL);
	if (system)
		system_set = json_pack("{s{ss}}", "set", "system.name", system);
	if (system_set) {
		struct place set = *entry;

		set.json = system_set;
		append_sets(&set, "set", &run->sets);
	}
	json_decref(system_set);
	append_sets(entry, "set", &run->sets);
	if (point)
		append_sets(point, "set", &run->sets);
}

/* Is a label that is given twice a mistake: are both runs at the same place? */
static void check_label(const struct place *entry, const struct figure *figure)
{
	const struct figure_run *run = &figure->runs[figure->run_count - 1];
	struct place label = place_member(entry, "label");

	for (size_t i = 0; i + 1 < figure->run_count; i++)
		if (!strcmp(figure->runs[i].label, run->label) &&
		    (isnan(run->x) ? isnan(figure->runs[i].x) : figure->runs[i].x == run->x))
			place_fail(&label, "\"%.60s\" is the name of two runs, allowed: of one",
				   run->name);
}

/* The number of runs of an entry: one, or one for each point. */
static size_t count_points(const struct place *entry)
{
	struct place points = place_member(entry, "points");

	if (!points.json)
		return 1;
	return place_is_array(&points) ? json_array_size(points.json) : 0;
}

static void read_runs(const struct place *root, struct figure *figure)
{
	static const char *const run_keys[] = { "label",    "tick",   "system",
						"scenario", "folder", "defaults",
						"set",	    "points", NULL };
	static const char *const point_keys[] = { "x", "tick", "set", NULL };
	struct place runs = place_member(root, "runs");
	size_t count = 0;

	if (!place_is_array(&runs))
		return;
	for (size_t i = 0; i < json_array_size(runs.json); i++) {
		struct place entry = place_element(&runs, i);

		if (!place_is_object(&entry, run_keys))
			return;
		count += count_points(&entry);
	}
	figure->runs = place_allocate(root->reader, count, sizeof(*figure->runs));
	for (size_t i = 0; figure->runs && i < json_array_size(runs.json); i++) {
		struct place entry = place_element(&runs, i);
		struct place points = place_member(&entry, "points");

		for (size_t k = 0; k < count_points(&entry); k++) {
			struct place point = place_element(&points, k);
			struct figure_run *run;

			if (points.json && !place_is_object(&point, point_keys))
				return;
			run = &figure->runs[figure->run_count++];
			read_run(root, &entry, points.json ? &point : NULL, run);
			if (!run->folder && !run->scenario && !figure->scenario)
				place_fail(&entry, "has no scenario, allowed: a scenario here "
						   "or for the whole figure");
			check_label(&entry, figure);
			figure->folder_count += run->folder != NULL;
		}
	}
}

static void read_reference(const struct place *root, struct figure *figure)
{
	static const char *const keys[] = { "file",	 "panel",  "run", "x",	      "part",
					    "published", "panels", "id",  "unscored", NULL };
	struct place entry = place_member(root, "reference");
	struct figure_reference *reference = &figure->reference;

	if (!entry.json || !place_is_object(&entry, keys))
		return;
	reference->file = place_text(&entry, "file", PLACE_NEEDED);
	reference->panel = place_text(&entry, "panel", NULL);
	reference->run = place_text(&entry, "run", NULL);
	reference->x = place_text(&entry, "x", NULL);
	reference->part = place_text(&entry, "part", NULL);
	reference->published = place_text(&entry, "published", PLACE_NEEDED);
	reference->id = place_text(&entry, "id", NULL);
	reference->unscored = place_text(&entry, "unscored", NULL);
	reference->panels = place_texts(&entry, "panels", &reference->panel_count);
}

static void read_layout(const struct place *root, struct figure *figure)
{
	static const char *const keys[] = { "columns", "width", "height", "across", NULL };
	struct place layout = place_member(root, "layout");

	if (layout.json && !place_is_object(&layout, keys))
		return;
	figure->columns = (u32)place_whole(&layout, "columns", 3, 1, 8);
	figure->width = (u32)place_whole(&layout, "width", 1720, 1, SIDE_MAX);
	figure->height = (u32)place_whole(&layout, "height", 1000, 1, SIDE_MAX);
	figure->across = place_bool(&layout, "across", true);
}

/*
 * Read a text that may be an array of lines in the file. Returns the joined lines, borrowed
 * from @root.
 */
static const char *read_lines(const struct place *root, const char *key)
{
	struct place member = place_member(root, key);
	size_t count, length = 0;
	const char **lines = NULL;
	json_t *joined;
	char *text;

	if (!json_is_array(member.json))
		return place_text(root, key, NULL);
	lines = place_texts(root, key, &count);
	for (size_t i = 0; i < count; i++)
		length += strlen(lines[i]) + 1;
	text = place_allocate(root->reader, length, 1);
	for (size_t i = 0; text && i < count; i++)
		sprintf(text + strlen(text), "%s%s", lines[i], i + 1 < count ? "\n" : "");
	free(lines);
	joined = text ? json_string(text) : NULL;
	free(text);
	if (!joined || json_object_set_new(root->json, key, joined)) {
		place_fail(&member, "is not a text, allowed: a text or lines of one");
		return NULL;
	}
	return json_string_value(joined);
}

/* Read the whole file. Mistakes go to the reader. */
static void read_root(const struct place *root, struct figure *figure)
{
	static const char *const keys[] = {
		"title", "subtitle", "summary",	  "help",     "examples", "source", "published",
		"notes", "scenario", "table",	  "defaults", "set",	  "seeds",  "interval",
		"runs",	 "panels",   "reference", "layout",   "marks",	  NULL,
	};
	static const char *const tables[] = { "values", "comparison", NULL };
	struct place runs = place_member(root, "runs");
	size_t count;

	if (!place_is_object(root, keys))
		return;
	figure->title = place_text(root, "title", PLACE_NEEDED);
	figure->subtitle = place_text(root, "subtitle", NULL);
	figure->summary = place_text(root, "summary", figure->title);
	figure->help = read_lines(root, "help");
	figure->source = place_text(root, "source", NULL);
	figure->published_label = place_text(root, "published", "published");
	figure->notes = read_lines(root, "notes");
	figure->scenario = place_text(root, "scenario", NULL);
	figure->comparison = place_choice(root, "table", tables, 0);
	figure->examples = place_texts(root, "examples", &count);
	read_layout(root, figure);
	read_runs(root, figure);
	figure_read_seeds(root, figure);
	figure_read_panels(root, figure);
	figure->marks = figure_read_marks(root, "marks", figure, &figure->mark_count);
	read_reference(root, figure);
	/* Either all runs have a folder, or none. Only two folders can be compared. */
	if (figure->folder_count && figure->folder_count != figure->run_count)
		place_fail(&runs, "only some have a folder, allowed: all or none");
	else if (figure->comparison && (figure->run_count != 2 || figure->folder_count != 2))
		place_fail(&runs, "cannot be compared, allowed: two runs that have a folder");
}

int figure_read(struct figure *figure, const char *name, struct sim_error *err)
{
	struct place_reader reader = { .err = err };
	struct place root = { .reader = &reader };

	*figure = (struct figure){ 0 };
	reader.status = figure_find(figure, name, err);
	reader.file = figure->file;
	if (!reader.status)
		reader.status =
			results_load_json(figure->file,
					  "a figure file, or a name of \"gvmsim figure list\"",
					  &figure->root, err);
	if (!reader.status) {
		root.json = figure->root;
		read_root(&root, figure);
	}
	if (reader.status)
		figure_destroy(figure);
	return reader.status;
}

int figure_read_made(struct figure *figure, json_t *root, const char *name,
		     struct sim_error *err)
{
	struct place_reader reader = { .file = name, .err = err };
	struct place place = { .reader = &reader, .json = root };

	*figure = (struct figure){ .root = root };
	snprintf(figure->name, sizeof(figure->name), "%s", name);
	if (root)
		read_root(&place, figure);
	else
		place_out_of_memory(&reader);
	if (reader.status)
		figure_destroy(figure);
	return reader.status;
}

int figure_each(int (*use)(void *data, const struct figure *figure, struct sim_error *err),
		void *data, struct sim_error *err)
{
	char names[NAMES_MAX], *end;
	int status = 0;

	figure_list_names(names, sizeof(names));
	for (char *name = names; !status && name && *name; name = end) {
		struct figure figure;

		end = strstr(name, ", ");
		if (end) {
			*end = '\0';
			end += 2;
		}
		status = figure_read(&figure, name, err);
		if (status)
			break;
		status = use(data, &figure, err);
		figure_destroy(&figure);
	}
	return status;
}
