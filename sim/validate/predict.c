// SPDX-License-Identifier: MIT OR GPL-2.0
/* Every row's loop, one after the other in one simulation; see hardware.h. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu/gpu.h"
#include "validate/loops.h"

#define WALK_LENGTH 64u

struct prediction {
	const struct config *config;
	struct hw_rows *rows;
	int status;
};

void hw_out_of_memory(void)
{
	fputs("gvmsim: out of memory\n", stderr);
	exit(SIM_EXIT_RUNTIME);
}

static double *row_predicted(struct hw_rows *rows, enum hw_loop loop, u64 size)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].loop == loop && rows->rows[i].size == size)
			return &rows->rows[i].predicted;
	return NULL;
}

static void set(struct hw_rows *rows, enum hw_loop loop, u64 size, double value)
{
	double *predicted = row_predicted(rows, loop, size);

	if (predicted)
		*predicted = value;
}

static int predict_walk(const struct config *config, struct hw_rows *rows)
{
	u64 ns[WALK_LENGTH];
	int status = hw_run_walk(config, ns, WALK_LENGTH);
	u32 i;

	for (i = 0; i < rows->walk_length; i++) {
		if (ns[i] > (u64)HW_MISS_NS)
			rows->walk_predicted |= 1ull << i;
		set(rows, HW_WALK, i, (double)ns[i]);
	}
	return status;
}

static void predict_slices(const struct config *config, struct hw_rows *rows, u64 threads)
{
	struct hw_slices slices = hw_run_slices(config, threads);

	set(rows, HW_SLICE_ON, threads, slices.on_ns);
	set(rows, HW_SLICE_OFF, threads, slices.off_ns);
	set(rows, HW_SLICE_GAP, threads, slices.gap_ns);
}

static void predict_gap(const struct config *config, struct hw_rows *rows, u32 index)
{
	struct hw_gap_times times = hw_run_gap(config, &rows->gaps[index]);

	set(rows, HW_GAP_ALONE, index, times.alone_ns);
	set(rows, HW_GAP_STEP, index, times.step_ns);
	set(rows, HW_GAP_SPEED, index, times.speed);
}

static int predict_row(const struct config *config, struct hw_rows *rows, struct hw_row *row)
{
	/* Loops with several results run for the first of these. */
	if (row->loop == HW_WALK || row->loop > HW_SLICE_ON)
		return 0;
	if (row->loop == HW_SLICE_ON) {
		predict_slices(config, rows, row->size);
		return 0;
	}
	return hw_run_memory_loop(config, row->loop, row->size, &row->predicted);
}

static void predict_main(void *data)
{
	struct prediction *prediction = data;
	struct hw_rows *rows = prediction->rows;
	u32 gap;
	size_t i;

	for (i = 0; i < rows->count && !prediction->status; i++)
		prediction->status = predict_row(prediction->config, rows, &rows->rows[i]);
	if (rows->walk_length && !prediction->status)
		prediction->status = predict_walk(prediction->config, rows);
	for (gap = 0; gap < rows->gap_count && !prediction->status; gap++)
		predict_gap(prediction->config, rows, gap);
}

int hw_predict(const struct config *config, struct hw_rows *rows, struct sim_error *err)
{
	struct prediction prediction = { .config = config, .rows = rows };

	if (eng_init())
		return sim_runtime_error(err, "the simulation cannot be started");
	eng_spawn("loops", predict_main, &prediction);
	if (eng_run(NULL, NULL, 1) != ENG_END_DONE || prediction.status)
		return sim_runtime_error(err, "the loops did not come to their end");
	return 0;
}
