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

static json_t *json_of_score(const struct score *score, size_t pairs, size_t kept)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:I, s:I}", "rows", (json_int_t)score->rows,
			 "median_error", json_of(score->median), "within_25_percent",
			 json_of(score->near), "within_2_times", json_of(score->factor),
			 "order_pairs", (json_int_t)pairs, "order_kept", (json_int_t)kept);
}

static void add_order(void *data, const char *panel, size_t pairs, size_t kept)
{
	json_array_append_new(data, json_pack("{s:s, s:I, s:I}", "panel", panel, "pairs",
					      (json_int_t)pairs, "kept", (json_int_t)kept));
}

/* All of a figure; *ret_pairs and *ret_kept grow by its own. NULL: out of memory. */
static json_t *json_of_figure(const struct published *published, const struct figure *figure,
			      size_t *ret_pairs, size_t *ret_kept)
{
	json_t *rows = json_array(), *order = json_array();
	size_t pairs = 0, kept = 0;
	struct score score = { 0 };

	for (size_t i = 0; i < published->row_count; i++)
		if (!strcmp(published->rows[i].figure, figure->name))
			json_array_append_new(rows, json_of_row(published, i));
	published_count_order(published, figure, add_order, order, &pairs, &kept);
	*ret_pairs += pairs;
	*ret_kept += kept;
	if (score_rows(published->rows, published->row_count, figure->name, &score)) {
		json_decref(rows);
		json_decref(order);
		return NULL;
	}
	return json_pack("{s:s, s:o, s:o, s:o}", "figure", figure->name, "rows", rows, "order",
			 order, "score", json_of_score(&score, pairs, kept));
}

int published_write_json(const struct published *published, const char *path,
			 struct sim_error *err)
{
	json_t *figures = json_array(), *root;
	size_t pairs = 0, kept = 0;
	struct whole_file file;
	struct score score;
	int status;

	for (size_t i = 0; i < published->count; i++)
		json_array_append_new(figures, json_of_figure(published, &published->figures[i],
							      &pairs, &kept));
	if (score_rows(published->rows, published->row_count, NULL, &score)) {
		json_decref(figures);
		return sim_runtime_error(err, "out of memory");
	}
	root = json_pack("{s:s, s:I, s:o, s:o}", "version", GVMSIM_VERSION, "seeds",
			 (json_int_t)published->seeds, "figures", figures, "score",
			 json_of_score(&score, pairs, kept));
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
