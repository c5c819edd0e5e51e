/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Three TSGs on a small machine, in one address space of four blocks. One per process. */
#ifndef TESTS_FIFO_THREE_TSGS_H
#define TESTS_FIFO_THREE_TSGS_H

#include "fifo_world.h"

#define VA 0x700000000000ull

static struct fifo_tsg tsg_a, tsg_b, tsg_c;
static void (*simulated)(void);

static inline void join_and_run(void)
{
	fifo_tsg_init(&fifo, &tsg_a, &table);
	fifo_tsg_init(&fifo, &tsg_b, &table);
	fifo_tsg_init(&fifo, &tsg_c, &table);
	simulated();
}

/* Run @body beside the small machine. */
static inline void simulate(void (*body)(void))
{
	simulated = body;
	world_run(&small_config, 64, VA, 4, join_and_run);
}

static inline void map_block(u32 index)
{
	page_table_map(&table, VA + index * GVM_CHUNK_BYTES, index, 0, GVM_BLOCK_FULL, true);
}

static inline void map_four_blocks(void)
{
	for (u32 i = 0; i < 4; i++)
		map_block(i);
}

static inline void evict_block(struct fifo_tsg *tsg, u32 index)
{
	page_table_unmap(&table, VA + index * GVM_CHUNK_BYTES, GVM_BLOCK_FULL);
	fifo_unmapped(tsg, VA + index * GVM_CHUNK_BYTES);
}

/* A burst whose kernels are all launched at once. */
static inline struct fifo_burst ready_burst(u32 kernels, u64 kernel_ns)
{
	return (struct fifo_burst){ .kernels = kernels, .kernel_ns = kernel_ns };
}

/* Submit a burst whose kernels use what @touch says. Both stay until the burst has ended. */
static inline void submit_touching(struct fifo_tsg *tsg, struct fifo_burst *burst,
				   const struct gmmu_touch *touch)
{
	burst->touches = touch;
	burst->touch_count = 1;
	fifo_submit(tsg, burst);
}

/* What a driver does: drop the faults, map the block, replay. */
static inline void serve_block(u32 index)
{
	gmmu_flush(&gmmu);
	map_block(index);
	fifo_replay(&fifo);
}

/* How the GPU has spent its time up to the last fifo_update(). */
static inline void expect_usage(u64 busy_ns, u64 switching_ns, u64 stalled_ns, u64 switches)
{
	struct fifo_usage usage = fifo_usage(&fifo);

	ck_assert_uint_eq(usage.busy_ns, busy_ns);
	ck_assert_uint_eq(usage.switching_ns, switching_ns);
	ck_assert_uint_eq(usage.stalled_ns, stalled_ns);
	ck_assert_uint_eq(usage.switches, switches);
}

#endif
