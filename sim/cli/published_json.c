// SPDX-License-Identifier: MIT OR GPL-2.0
/* See published_json.h. */
#include "cli/published_json.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/error.h"
#include "engine/whole_file.h"
#include "figures/published.h"

/* A number; null if it is not known or infinite. */
static json_t *json_of(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *json_of_spread(const struct published *published, size_t index)
{
	const double *draws = &published->draws[index * published->seeds];
	json_t *list = json_array();
	struct score_spread spread;

	for (size_t i = 0; i < published->seeds; i++)
		json_array_append_new(list, json_of(draws[i]));
	if (score_spread(draws, published->seeds, published->rows[index].published, &spread)) {
		json_decref(list);
		return NULL;
	}
	return json_pack("{s:o, s:o, s:o, s:b, s:o}", "p10", json_of(spread.low), "p50",
			 json_of(spread.median), "p90", json_of(spread.high), "within",
			 (int)spread.within, "seeds", list);
}

static json_t *json_of_row(const struct published *published, size_t index)
{
	const struct score_row *row = &published->rows[index];
	json_t *json =
		json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:b}", "panel",
			  row->panel, "run", row->run, "x", json_of(row->x), "part", row->part,
			  "unit", row->unit, "id", row->id, "published",
			  json_of(row->published), "predicted", json_of(row->predicted),
			  "error", json_of(score_error(row)), "scored", (int)score_counts(row));

	if (json && published->seeds)
		json_object_set_new(json, "spread", json_of_spread(published, index));
	if (json && *row->unscored)
		json_object_set_new(json, "unscored", json_string(row->unscored));
	return json;
}

static json_t *json_of_score(const struct score *score, const struct score_order *order)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:I, s:I}", "rows", (json_int_t)score->rows,
			 "median_error", json_of(score->median), "within_25_percent",
			 json_of(score->near), "within_2_times", json_of(score->factor),
			 "order_pairs", (json_int_t)order->pairs, "order_kept",
			 (json_int_t)order->kept);
}

/* The order of each panel of a figure; @sum grows by all of them. */
static json_t *json_of_orders(const struct published *published, const struct figure *figure,
			      struct score_order *sum)
{
	json_t *orders = json_array();

	for (size_t i = 0; i < figure->panel_count; i++) {
		const char *panel = figure->panels[i].key;
		struct score_order order =
			score_order(published->rows, published->row_count, figure->name, panel);

		if (order.pairs)
			json_array_append_new(orders,
					      json_pack("{s:s, s:I, s:I}", "panel", panel,
							"pairs", (json_int_t)order.pairs,
							"kept", (json_int_t)order.kept));
		score_order_add(sum, &order);
	}
	return orders;
}

/* All of a figure; @sum grows by its order. NULL: out of memory. */
static json_t *json_of_figure(const struct published *published, const struct figure *figure,
			      struct score_order *sum)
{
	struct score_order all_panels = { 0 };
	json_t *rows = json_array(), *orders;
	struct score score = { 0 };

	for (size_t i = 0; i < published->row_count; i++)
		if (!strcmp(published->rows[i].figure, figure->name))
			json_array_append_new(rows, json_of_row(published, i));
	orders = json_of_orders(published, figure, &all_panels);
	score_order_add(sum, &all_panels);
	if (score_rows(published->rows, published->row_count, figure->name, &score)) {
		json_decref(rows);
		json_decref(orders);
		return NULL;
	}
	return json_pack("{s:s, s:o, s:o, s:o}", "figure", figure->name, "rows", rows, "order",
			 orders, "score", json_of_score(&score, &all_panels));
}

int published_write_json(const struct published *published, const char *path,
			 struct sim_error *err)
{
	json_t *figures = json_array(), *root;
	struct score_order order = { 0 };
	struct whole_file file;
	struct score score;
	int status;

	for (size_t i = 0; i < published->count; i++)
		json_array_append_new(figures, json_of_figure(published, &published->figures[i],
							      &order));
	if (score_rows(published->rows, published->row_count, NULL, &score)) {
		json_decref(figures);
		return sim_runtime_error(err, "out of memory");
	}
	root = json_pack("{s:s, s:I, s:o, s:o}", "version", GVMSIM_VERSION, "seeds",
			 (json_int_t)published->seeds, "figures", figures, "score",
			 json_of_score(&score, &order));
	if (!root)
		return sim_runtime_error(err, "out of memory");
	status = whole_file_open(&file, path, err);
	if (!status) {
		/* A failed write is an error of the stream, too, which the commit reports. */
		json_dumpf(root, file.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
		status = whole_file_commit(&file, err);
	}
	json_decref(root);
	return status;
}
