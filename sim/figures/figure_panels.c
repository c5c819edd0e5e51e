// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reading the panels of a figure's file: values, parts, curves, levels. See figure_panels.h. */
#include "figures/figure_panels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/message.h"
#include "engine/guess.h"
#include "figures/place.h"
#include "figures/value_check.h"
#include "results/results.h"

#define STACK_PARTS_MAX 6 /* colours of parts in plots/style.gp */

static const char *const curve_kinds[] = { "values", "rate", "open", "share", NULL };
static const char *const curve_draws[] = { "line", "points", "bars", "area", "marks", NULL };
/* Without ".csv". */
static const char *const curve_files[] = { "timeline", "requests", NULL };

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
		panel->parts = place_allocate(object->reader, 1, sizeof(*panel->parts));
		if (panel->parts)
			panel->parts[panel->part_count++] =
				(struct figure_part){ "", panel->label,
						      read_value(object, "value", figure) };
		return;
	}
	if (!place_is_array(&parts))
		return;
	panel->parts = place_allocate(object->reader, json_array_size(parts.json),
				      sizeof(*panel->parts));
	for (size_t i = 0; panel->parts && i < json_array_size(parts.json); i++) {
		struct place entry = place_element(&parts, i);
		struct figure_part *part = &panel->parts[panel->part_count];

		if (!place_is_object(&entry, part_keys))
			return;
		part->key = place_field(&entry, "key", PLACE_NEEDED);
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
	curve->label = place_field(entry, "label", "");
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
	panel->curves = place_allocate(object->reader, json_array_size(curves.json),
				       sizeof(*panel->curves));
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

struct figure_mark *figure_read_marks(const struct place *object, const char *key,
				      const struct figure *figure, size_t *ret_count)
{
	static const char *const keys[] = { "label", "at", NULL };
	struct place marks = place_member(object, key);
	struct figure_mark *list;

	*ret_count = 0;
	if (!marks.json || !place_is_array(&marks))
		return NULL;
	list = place_allocate(object->reader, json_array_size(marks.json), sizeof(*list));
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
	panel->key = place_field(entry, "key", PLACE_NEEDED);
	panel->label = place_text(entry, "label", panel->key);
	panel->title = place_text(entry, "title", panel->label);
	panel->unit = place_field(entry, "unit", "x");
	panel->x_label = place_text(entry, "x_label", "");
	panel->x_unit = place_text(entry, "x_unit", "");
	panel->y_label = place_text(entry, "y_label", "");
	panel->y2_label = place_text(entry, "y2_label", "");
	panel->over = read_label(entry, "over", figure);
	panel->layout =
		(enum figure_layout)place_choice(entry, "layout", figure_layouts, FIGURE_BARS);
	panel->digits = place_whole(entry, "digits", 3, 0, 9);
	panel->log_y = place_bool(entry, "log", false);
	panel->log_x = place_bool(entry, "log_x", false);
	panel->total = place_bool(entry, "total", false);
	panel->colour_by_run = place_bool(entry, "colour_by_run", false);
	panel->errors_without_x = place_real(entry, "errors_without_x", (double)NAN);
	panel->runs = place_texts(entry, "runs", &panel->run_count);
	for (size_t i = 0; i < panel->run_count; i++)
		if (!has_label(figure, panel->runs[i]))
			place_fail(&runs, "no run has the label \"%.40s\"", panel->runs[i]);
	panel->y_max = read_value(entry, "y_max", figure);
	panel->levels = figure_read_marks(entry, "levels", figure, &panel->level_count);
	if (panel->layout == FIGURE_TIME)
		read_curves(entry, figure, panel);
	else
		read_parts(entry, figure, panel);
	if (panel->layout == FIGURE_STACKED)
		check_stack(entry, figure, panel);
}

void figure_read_panels(const struct place *root, struct figure *figure)
{
	struct place panels = place_member(root, "panels");

	if (place_is_array(&panels))
		figure->panels = place_allocate(root->reader, json_array_size(panels.json),
						sizeof(*figure->panels));
	for (size_t i = 0; figure->panels && i < json_array_size(panels.json); i++) {
		struct place entry = place_element(&panels, i);

		read_panel(&entry, figure, &figure->panels[figure->panel_count++]);
		check_key(&panels, i, "panels");
	}
}
