/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Three TSGs on one GPU that is shared in space, cut into partitions, or after an MPS server.
 */
#ifndef TESTS_PARTITION_WORLD_H
#define TESTS_PARTITION_WORLD_H

#include "draw.h"
#include "fifo_world.h"

#define VA   0x700000000000ull
#define HALF (FIFO_ALL_PPM / 2)

static struct fifo_tsg tsg_a, tsg_b, tsg_c;

static const struct fifo_share everything_in_space = { FIFO_ALL_PPM, FIFO_ALL_PPM, true };
static const struct fifo_share everything_in_time = { FIFO_ALL_PPM, FIFO_ALL_PPM, false };
static const struct fifo_share half_in_time = { HALF, HALF, false };

static inline void simulate(const struct fifo_share *first, const struct fifo_share *second,
			    void (*body)(void))
{
	struct fifo_config config = small_config;

	config.partition_count = second ? 2 : 1;
	config.partitions[0] = *first;
	if (second)
		config.partitions[1] = *second;
	world_run(&config, 64, VA, 1, body);
}

static inline void join(struct fifo_tsg *tsg, u32 partition, u32 limit_ppm)
{
	ck_assert_int_eq(fifo_tsg_init_in(&fifo, tsg, &table, partition, limit_ppm), 0);
}

/* One kernel, launched at once, that can fill @sm_ppm of the SMs. */
static inline struct fifo_burst kernel(u64 kernel_ns, u32 sm_ppm, u32 bandwidth_ppm)
{
	return (struct fifo_burst){ .kernels = 1,
				    .kernel_ns = kernel_ns,
				    .sm_ppm = sm_ppm,
				    .bandwidth_ppm = bandwidth_ppm };
}

static inline void map_page(void)
{
	page_table_map(&table, VA, 0, 0, GVM_BLOCK_FULL, true);
	gmmu_flush(&gmmu);
	fifo_replay(&fifo);
}

/* Run random bursts of a, b and c in turn. All work is done; *ret_work is the work of each. */
static inline void run_random_load(u64 seed, u64 *ret_work)
{
	struct fifo_tsg *tsgs[] = { &tsg_a, &tsg_b, &tsg_c };
	static struct fifo_burst bursts[300];

	for (u32 i = 0; i < ARRAY_SIZE(bursts); i++) {
		bursts[i] = (struct fifo_burst){ .kernels = 1 + draw_below(&seed, 20),
						 .kernel_ns = 1 + draw_below(&seed, 60),
						 .launch_ns = draw_below(&seed, 60) };
		ret_work[i % 3] += bursts[i].kernels * bursts[i].kernel_ns;
		fifo_submit(tsgs[i % 3], &bursts[i]);
		eng_sleep_until(eng_now() + draw_below(&seed, 300));
	}
	for (u32 i = 0; i < ARRAY_SIZE(bursts); i++)
		ck_assert_int_eq(fifo_wait(&bursts[i]), 0);
	for (u32 i = 0; i < 3; i++)
		ck_assert_uint_eq(tsgs[i]->busy_ns, ret_work[i]);
}

#endif
