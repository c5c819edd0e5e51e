// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reading the file of a figure, see figure_read.h. */
#include "figures/figure_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/message.h"
#include "engine/error.h"
#include "engine/guess.h"
#include "figures/figure_find.h"
#include "figures/figure_seeds.h"
#include "figures/place.h"
#include "figures/value_check.h"
#include "gvm/port.h"
#include "results/results.h"

#define SIDE_MAX	4096 /* pixels */
#define NAMES_MAX	8192 /* of all figures in plots/figures */
#define STACK_PARTS_MAX 6    /* colours of parts in plots/style.gp */

static const char *const curve_kinds[] = { "values", "rate", "open", "share", NULL };
static const char *const curve_draws[] = { "line", "points", "bars", "area", "marks", NULL };
/* Without ".csv". */
static const char *const curve_files[] = { "timeline", "requests", NULL };

static void out_of_memory(struct place_reader *reader)
{
	if (!reader->status)
		reader->status = sim_runtime_error(reader->err, "out of memory");
}

/*
 * Zeroed memory for @count elements and one more. NULL, and an error in the reader: out of
 * memory.
 */
static void *allocate(struct place_reader *reader, size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);

	if (!memory)
		out_of_memory(reader);
	return memory;
}

/* A text for a field of a CSV file and for the table: no commas, quotes or line ends. */
static const char *read_field(const struct place *object, const char *key, const char *standard)
{
	const char *text = place_text(object, key, standard);
	struct place member = place_member(object, key);

	if (text && strpbrk(text, ",\"\r\n"))
		place_fail(&member, "has a comma, a quote or a line end, allowed: a text "
				    "without them");
	return text;
}

/*
 * Read a whole number from @least to @most. Returns @standard: it is none,
 * and the reader knows.
 */
static int read_whole(const struct place *object, const char *key, int standard, int least,
		      int most)
{
	double number = place_real(object, key, standard);
	struct place member = place_member(object, key);

	if (!(number >= least && number <= most))
		place_fail(&member, "is out of range, allowed: %d to %d", least, most);
	else if (number != (int)number)
		place_fail(&member, "is not a whole number, allowed: %d to %d", least, most);
	else
		return (int)number;
	return standard;
}

/* An array of texts, ended by NULL; NULL: there is no such member. */
static const char **read_texts(const struct place *object, const char *key, size_t *ret_count)
{
	struct place array = place_member(object, key);
	const char **texts;

	*ret_count = 0;
	if (!array.json || !place_is_array(&array))
		return NULL;
	texts = allocate(object->reader, json_array_size(array.json), sizeof(*texts));
	for (size_t i = 0; texts && i < json_array_size(array.json); i++) {
		struct place element = place_element(&array, i);

		texts[i] = json_string_value(element.json);
		if (!texts[i]) {
			place_fail(&element, "is not a text, allowed: a text");
			break;
		}
		++*ret_count;
	}
	return texts;
}

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
		out_of_memory(object->reader);
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
			out_of_memory(object->reader);
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

	run->label = read_field(entry, "label", PLACE_NEEDED);
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
	figure->runs = allocate(root->reader, count, sizeof(*figure->runs));
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

static bool has_label(const struct figure *figure, const char *label)
{
	for (size_t i = 0; i < figure->run_count; i++)
		if (!strcmp(figure->runs[i].label, label))
			return true;
	return false;
}

/* A text that is the label of a run, or NULL. */
static const char *read_label(const struct place *object, const char *key,
			      const struct figure *figure)
{
	const char *label = place_text(object, key, NULL);
	struct place member = place_member(object, key);
	char known[256] = "", right[300];

	if (label && !has_label(figure, label)) {
		for (size_t i = 0; i < figure->run_count; i++)
			cfg_append(known, sizeof(known), "%s%s", i ? ", " : "",
				   figure->runs[i].label);
		guess_describe(label, known, right, sizeof(right));
		place_fail(&member, "no run has the label \"%.40s\", %s", label, right);
	}
	return label;
}

/* Read and check an expression; NULL: there is none. */
static json_t *read_value(const struct place *object, const char *key,
			  const struct figure *figure)
{
	struct place value = place_member(object, key);

	if (value.json)
		value_check(&value, figure);
	return value.json;
}

/* The key of panel or part @index of @list tells it from those before it. */
static void check_key(const struct place *list, size_t index, const char *what)
{
	struct place entry = place_element(list, index), member = place_member(&entry, "key");

	for (size_t i = 0; i < index; i++)
		if (json_equal(json_object_get(json_array_get(list->json, i), "key"),
			       member.json))
			place_fail(&member, "\"%.60s\" is the key of two %s, allowed: of one",
				   json_string_value(member.json), what);
}

static void read_parts(const struct place *object, const struct figure *figure,
		       struct figure_panel *panel)
{
	static const char *const part_keys[] = { "key", "label", "value", NULL };
	struct place parts = place_member(object, "parts");
	struct place value = place_member(object, "value");

	if (value.json && parts.json)
		place_fail(&value, "is given together with parts, allowed: one of them");
	if (!parts.json && !value.json)
		place_fail(&value, "is missing, allowed: a value here or in parts");
	if (!parts.json) {
		panel->parts = allocate(object->reader, 1, sizeof(*panel->parts));
		if (panel->parts)
			panel->parts[panel->part_count++] =
				(struct figure_part){ "", panel->label,
						      read_value(object, "value", figure) };
		return;
	}
	if (!place_is_array(&parts))
		return;
	panel->parts =
		allocate(object->reader, json_array_size(parts.json), sizeof(*panel->parts));
	for (size_t i = 0; panel->parts && i < json_array_size(parts.json); i++) {
		struct place entry = place_element(&parts, i);
		struct figure_part *part = &panel->parts[panel->part_count];

		if (!place_is_object(&entry, part_keys))
			return;
		part->key = read_field(&entry, "key", PLACE_NEEDED);
		check_key(&parts, i, "parts");
		part->label = place_text(&entry, "label", part->key);
		part->value = read_value(&entry, "value", figure);
		if (!part->value)
			place_fail(&entry, "has no value, allowed: an object with key, value");
		panel->part_count++;
	}
}

/* Read one curve of a panel over time. */
static void read_curve(const struct place *entry, const struct figure *figure,
		       struct figure_curve *curve)
{
	static const char *const keys[] = { "label", "run",   "file",  "container", "outcome",
					    "x",     "y",     "minus", "scale",	    "kind",
					    "draw",  "right", NULL };
	char file[sizeof(RESULTS_TIMELINE)];

	if (!place_is_object(entry, keys))
		return;
	curve->label = read_field(entry, "label", "");
	curve->run = read_label(entry, "run", figure);
	curve->file = curve_files[place_choice(entry, "file", curve_files, 0)];
	curve->container = place_text(entry, "container", PLACE_NEEDED);
	curve->outcome = place_text(entry, "outcome", NULL);
	snprintf(file, sizeof(file), "%s.csv", curve->file);
	curve->x = value_column(entry, "x", file, "time_ns");
	curve->y = value_column(entry, "y", file, NULL);
	curve->minus = value_column(entry, "minus", file, NULL);
	curve->scale = place_real(entry, "scale", 1);
	curve->kind = (enum figure_curve_kind)place_choice(entry, "kind", curve_kinds, 0);
	curve->draw = (enum figure_curve_draw)place_choice(entry, "draw", curve_draws, 0);
	curve->right = place_bool(entry, "right", false);
	if (!curve->y && curve->kind != FIGURE_CURVE_RATE && curve->draw != FIGURE_DRAW_MARKS)
		place_fail(entry, "has no y, allowed: a column of %s.csv", curve->file);
}

/* Read the curves of a panel over time, ours and the published one. */
static void read_curves(const struct place *object, const struct figure *figure,
			struct figure_panel *panel)
{
	static const char *const published_keys[] = {
		"file", "x", "y", "column", "text", NULL
	};
	struct place curves = place_member(object, "curves");
	struct place published = place_member(object, "published");

	if (!place_is_array(&curves))
		return;
	panel->curves =
		allocate(object->reader, json_array_size(curves.json), sizeof(*panel->curves));
	for (size_t i = 0; panel->curves && i < json_array_size(curves.json); i++) {
		struct place entry = place_element(&curves, i);

		read_curve(&entry, figure, &panel->curves[panel->curve_count++]);
	}
	if (!published.json || !place_is_object(&published, published_keys))
		return;
	panel->published = (struct figure_published_curve){
		.file = place_text(&published, "file", PLACE_NEEDED),
		.x = place_text(&published, "x", PLACE_NEEDED),
		.y = place_text(&published, "y", PLACE_NEEDED),
		.column = place_text(&published, "column", PLACE_NEEDED),
		.text = place_text(&published, "text", PLACE_NEEDED),
	};
}

/* Read *ret_count moments or levels. NULL: there are none. */
static struct figure_mark *read_marks(const struct place *object, const char *key,
				      const struct figure *figure, size_t *ret_count)
{
	static const char *const keys[] = { "label", "at", NULL };
	struct place marks = place_member(object, key);
	struct figure_mark *list;

	*ret_count = 0;
	if (!marks.json || !place_is_array(&marks))
		return NULL;
	list = allocate(object->reader, json_array_size(marks.json), sizeof(*list));
	for (size_t i = 0; list && i < json_array_size(marks.json); i++) {
		struct place entry = place_element(&marks, i);

		if (!place_is_object(&entry, keys))
			break;
		list[i].label = place_text(&entry, "label", PLACE_NEEDED);
		list[i].value = read_value(&entry, "at", figure);
		if (!list[i].value)
			place_fail(&entry, "has no \"at\", allowed: an object with label, at");
		++*ret_count;
	}
	return list;
}

/* A stack is one bar of ours, and has a colour for each part. */
static void check_stack(const struct place *entry, const struct figure *figure,
			const struct figure_panel *panel)
{
	size_t shown = panel->run_count ? 0 : figure->run_count;

	for (size_t i = 0; i < panel->run_count; i++)
		for (size_t run = 0; run < figure->run_count; run++)
			shown += !strcmp(panel->runs[i], figure->runs[run].label);
	if (shown > 1)
		place_fail(entry, "is a stack of %zu runs, allowed: one, named in runs", shown);
	if (panel->part_count > STACK_PARTS_MAX)
		place_fail(entry, "is a stack of %zu parts, allowed: up to %d",
			   panel->part_count, STACK_PARTS_MAX);
}

static void read_panel(const struct place *entry, const struct figure *figure,
		       struct figure_panel *panel)
{
	static const char *const keys[] = {
		"key",		 "label",    "title",
		"unit",		 "layout",   "digits",
		"log",		 "log_x",    "runs",
		"value",	 "parts",    "total",
		"x_label",	 "x_unit",   "y_label",
		"curves",	 "y2_label", "published",
		"y_max",	 "over",     "errors_without_x",
		"colour_by_run", "levels",   NULL,
	};
	struct place runs = place_member(entry, "runs");

	if (!place_is_object(entry, keys))
		return;
	panel->key = read_field(entry, "key", PLACE_NEEDED);
	panel->label = place_text(entry, "label", panel->key);
	panel->title = place_text(entry, "title", panel->label);
	panel->unit = read_field(entry, "unit", "x");
	panel->x_label = place_text(entry, "x_label", "");
	panel->x_unit = place_text(entry, "x_unit", "");
	panel->y_label = place_text(entry, "y_label", "");
	panel->y2_label = place_text(entry, "y2_label", "");
	panel->over = read_label(entry, "over", figure);
	panel->layout =
		(enum figure_layout)place_choice(entry, "layout", figure_layouts, FIGURE_BARS);
	panel->digits = read_whole(entry, "digits", 3, 0, 9);
	panel->log_y = place_bool(entry, "log", false);
	panel->log_x = place_bool(entry, "log_x", false);
	panel->total = place_bool(entry, "total", false);
	panel->colour_by_run = place_bool(entry, "colour_by_run", false);
	panel->errors_without_x = place_real(entry, "errors_without_x", (double)NAN);
	panel->runs = read_texts(entry, "runs", &panel->run_count);
	for (size_t i = 0; i < panel->run_count; i++)
		if (!has_label(figure, panel->runs[i]))
			place_fail(&runs, "no run has the label \"%.40s\"", panel->runs[i]);
	panel->y_max = read_value(entry, "y_max", figure);
	panel->levels = read_marks(entry, "levels", figure, &panel->level_count);
	if (panel->layout == FIGURE_TIME)
		read_curves(entry, figure, panel);
	else
		read_parts(entry, figure, panel);
	if (panel->layout == FIGURE_STACKED)
		check_stack(entry, figure, panel);
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
	reference->panels = read_texts(&entry, "panels", &reference->panel_count);
}

static void read_layout(const struct place *root, struct figure *figure)
{
	static const char *const keys[] = { "columns", "width", "height", "across", NULL };
	struct place layout = place_member(root, "layout");

	if (layout.json && !place_is_object(&layout, keys))
		return;
	figure->columns = (u32)read_whole(&layout, "columns", 3, 1, 8);
	figure->width = (u32)read_whole(&layout, "width", 1720, 1, SIDE_MAX);
	figure->height = (u32)read_whole(&layout, "height", 1000, 1, SIDE_MAX);
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
	lines = read_texts(root, key, &count);
	for (size_t i = 0; i < count; i++)
		length += strlen(lines[i]) + 1;
	text = allocate(root->reader, length, 1);
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
	struct place panels = place_member(root, "panels");
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
	figure->examples = read_texts(root, "examples", &count);
	read_layout(root, figure);
	read_runs(root, figure);
	figure_read_seeds(root, figure);
	if (place_is_array(&panels))
		figure->panels = allocate(root->reader, json_array_size(panels.json),
					  sizeof(*figure->panels));
	for (size_t i = 0; figure->panels && i < json_array_size(panels.json); i++) {
		struct place entry = place_element(&panels, i);

		read_panel(&entry, figure, &figure->panels[figure->panel_count++]);
		check_key(&panels, i, "panels");
	}
	figure->marks = read_marks(root, "marks", figure, &figure->mark_count);
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
		out_of_memory(&reader);
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
