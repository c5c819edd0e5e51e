// SPDX-License-Identifier: MIT OR GPL-2.0
/* Every row's loop, one after the other in one simulation; see hardware.h. */
#include <errno.h>

#include "engine/engine.h"
#include "validate/loops.h"

#define WALK_LENGTH 64u

struct prediction {
	const struct config *config;
	struct hw_rows *rows;
	int status; /* 0 or a negative errno */
};

/* Set what the loop of a row takes, if there is such a row. */
static void rows_predict(struct hw_rows *rows, enum hw_loop loop, u64 size, double value)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].loop == loop && rows->rows[i].size == size)
			rows->rows[i].predicted = value;
}

static int predict_walk(const struct config *config, struct hw_rows *rows)
{
	u64 ns[WALK_LENGTH];
	int status = hw_run_walk(config, ns, WALK_LENGTH);

	for (u32 i = 0; i < rows->walk_length && !status; i++) {
		if (ns[i] > (u64)HW_MISS_NS)
			rows->walk_predicted |= 1ull << i;
		rows_predict(rows, HW_WALK, i, (double)ns[i]);
	}
	return status;
}

static int predict_slices(const struct config *config, struct hw_rows *rows, u64 threads)
{
	struct hw_slices slices;
	int status = hw_run_slices(config, threads, &slices);

	if (status)
		return status;
	rows_predict(rows, HW_SLICE_ON, threads, slices.on_ns);
	rows_predict(rows, HW_SLICE_OFF, threads, slices.off_ns);
	rows_predict(rows, HW_SLICE_GAP, threads, slices.gap_ns);
	return 0;
}

static int predict_gap(const struct config *config, struct hw_rows *rows, u32 index)
{
	struct hw_gap_times times;
	int status = hw_run_gap(config, &rows->gaps[index], &times);

	if (status)
		return status;
	rows_predict(rows, HW_GAP_ALONE, index, times.alone_ns);
	rows_predict(rows, HW_GAP_STEP, index, times.step_ns);
	rows_predict(rows, HW_GAP_SPEED, index, times.speed);
	return 0;
}

/* Loops with several results run once. */
static void predict_main(void *data)
{
	struct prediction *prediction = data;
	const struct config *config = prediction->config;
	struct hw_rows *rows = prediction->rows;
	int status = 0;

	for (size_t i = 0; i < rows->count && !status; i++) {
		struct hw_row *row = &rows->rows[i];

		if (row->loop == HW_SLICE_ON)
			status = predict_slices(config, rows, row->size);
		else if (row->loop < HW_SLICE_ON && row->loop != HW_WALK)
			status = hw_run_memory_loop(config, row->loop, row->size,
						    &row->predicted);
	}
	if (rows->walk_length && !status)
		status = predict_walk(config, rows);
	for (u32 gap = 0; gap < rows->gap_count && !status; gap++)
		status = predict_gap(config, rows, gap);
	prediction->status = status;
}

int hw_predict(const struct config *config, struct hw_rows *rows, struct sim_error *err)
{
	struct prediction prediction = { .config = config, .rows = rows };
	enum eng_end end;

	if (eng_init())
		return sim_runtime_error(err, "the simulation cannot be started");
	if (!eng_spawn("loops", predict_main, &prediction))
		return sim_runtime_error(err, "out of memory");
	end = eng_run(NULL, NULL, 1);
	if (prediction.status == -ENOMEM)
		return sim_runtime_error(err, "out of memory");
	if (end != ENG_END_DONE || prediction.status)
		return sim_runtime_error(err, "the loops did not come to their end");
	return 0;
}
