// SPDX-License-Identifier: MIT OR GPL-2.0
/* What kernels take of a GPU, by their shapes. */
#include "apps/app_cost.h"

#include "cuda/cuda.h"
#include "runner.h"

static const struct cfg_gpu gpu = {
	.kernel_overhead = 100,
	.kernel_gap = 40,
	.graph_gap = 10,
	.sms = 100,
	.memory_sms = 700000,
};

/* The burst of two kernels that do work of @flops_ns and @bytes_ns in @blocks blocks each. */
static struct cuda_burst_config burst_of(u64 flops_ns, u64 bytes_ns, u64 blocks)
{
	struct cuda_burst_config burst = { .kernels = 2 };
	struct app_work work = { 0 };

	app_work_add(&work, &gpu, flops_ns, bytes_ns, blocks);
	app_work_burst(&work, &gpu, &burst);
	return burst;
}

START_TEST(a_kernel_bound_by_arithmetic_needs_all_sms_that_it_fills)
{
	struct cuda_burst_config burst = burst_of(600, 300, 1000);

	ck_assert_uint_eq(burst.kernel_ns, 400);
	ck_assert_uint_eq(burst.sm_ppm, 1000000);
	ck_assert_uint_eq(burst.sm_need_ppm, 1000000);
	ck_assert_uint_eq(burst.sm_busy_ppm, 900000);
	ck_assert_uint_eq(burst.sm_fixed_ppm, 150000);
	ck_assert_uint_eq(burst.bandwidth_ppm, 375000);
	burst = burst_of(600, 300, 20);
	ck_assert_uint_eq(burst.sm_ppm, 200000);
	ck_assert_uint_eq(burst.sm_need_ppm, 200000);
}
END_TEST

START_TEST(a_kernel_bound_by_memory_fills_more_sms_than_it_needs)
{
	struct cuda_burst_config burst = burst_of(60, 600, 1000);

	ck_assert_uint_eq(burst.kernel_ns, 400);
	ck_assert_uint_eq(burst.sm_ppm, 1000000);
	ck_assert_uint_eq(burst.sm_need_ppm, 700000);
	ck_assert_uint_eq(burst.bandwidth_ppm, 750000);
	/* 60 blocks that memory bounds need 60 SMs. */
	ck_assert_uint_eq(burst_of(60, 600, 60).sm_need_ppm, 600000);
	/* 90 % of the time of the memory is arithmetic's, too. */
	ck_assert_uint_eq(burst_of(540, 600, 1000).sm_need_ppm, 900000);
}
END_TEST

/* With a ridge of 24 %: all of it at equal times, an eighth at half, none without traffic. */
START_TEST(a_product_near_its_ridge_takes_longer_than_either_bound)
{
	struct app_work work = { 0 };

	app_work_add_product(&work, &gpu, 240000, 1000, 1000, 50);
	ck_assert_uint_eq(work.ns, 1240);
	ck_assert_uint_eq(work.memory_ns, 1000);
	ck_assert_uint_eq((u64)work.held_ns, 1240 * 500000);
	ck_assert_uint_eq((u64)work.needed_ns, 1000 * 500000);
	app_work_add_product(&work, &gpu, 240000, 500, 1000, 50);
	ck_assert_uint_eq(work.ns, 1240 + 1030);
	app_work_add_product(&work, &gpu, 240000, 1000, 500, 50);
	ck_assert_uint_eq(work.ns, 1240 + 1030 + 1030);
	app_work_add_product(&work, &gpu, 240000, 1000, 0, 50);
	ck_assert_uint_eq(work.ns, 1240 + 1030 + 1030 + 1000);
	app_work_add_product(&work, &gpu, 240000, 0, 0, 50);
	app_work_add_product(&work, &gpu, 1000000, APP_COST_MAX_NS, APP_COST_MAX_NS, 50);
	ck_assert_uint_eq(work.ns, 1240 + 1030 + 1030 + 1000 + 2 * APP_COST_MAX_NS);
}
END_TEST

/* Between two kernels of a graph the GPU pauses for less. */
START_TEST(no_block_runs_in_the_gap_between_two_kernels)
{
	struct cuda_burst_config burst = { .kernels = 2, .graph = true };
	struct app_work work = { 0 };

	app_work_add(&work, &gpu, 600, 300, 1000);
	app_work_burst(&work, &gpu, &burst);
	ck_assert_uint_eq(burst.kernel_ns, 400);
	ck_assert_uint_eq(burst.sm_busy_ppm, 975000);
	ck_assert_uint_eq(burst.sm_fixed_ppm, 225000);
	/* A kernel with an overhead of its own has no longer gap than that. */
	work.overhead_ns = 4;
	app_work_burst(&work, &gpu, &burst);
	ck_assert_uint_eq(burst.kernel_ns, 304);
	ck_assert_uint_eq(burst.sm_busy_ppm, 986843);
	ck_assert_uint_eq(burst.sm_fixed_ppm, 0);
}
END_TEST

START_TEST(products_and_few_blocks_leave_room_for_small_kernels)
{
	struct cuda_burst_config burst = { .kernels = 4 };
	struct app_work work = { 0 };

	app_work_add(&work, &gpu, 300, 100, 1000);
	app_work_burst(&work, &gpu, &burst);
	ck_assert_uint_eq(burst.sm_open_ppm, 1000000);
	app_work_add(&work, &gpu, 0, 600, 1000);
	app_work_add_cycles(&work, &gpu, 100, 100);
	app_work_burst(&work, &gpu, &burst);
	ck_assert_uint_eq(burst.sm_open_ppm, 300000);
	app_work_add_cycles(&work, &gpu, 200, 99);
	app_work_burst(&work, &gpu, &burst);
	ck_assert_uint_eq(burst.sm_open_ppm, 416666);
}
END_TEST

START_TEST(a_kernel_takes_less_of_a_turn_the_fewer_blocks_it_has)
{
	struct cuda_burst_config burst = { .kernels = 4 };
	struct app_work work = { 0 };

	app_work_add(&work, &gpu, 600, 300, 1000);
	app_work_burst(&work, &gpu, &burst);
	ck_assert_uint_eq(burst.sm_turns_ppm, 1000000);
	/* Four for each of 100 SMs is the most that was measured. */
	app_work_count(&work, &gpu, 2, 401);
	app_work_burst(&work, &gpu, &burst);
	ck_assert_uint_eq(burst.sm_turns_ppm, 1000000);
	app_work_count(&work, &gpu, 2, 400);
	app_work_burst(&work, &gpu, &burst);
	ck_assert_uint_eq(burst.sm_turns_ppm, 780000);
	ck_assert_uint_eq(app_small_turns(&gpu, 101), 560000);
	ck_assert_uint_eq(app_small_turns(&gpu, 100), 360000);
	ck_assert_uint_eq(app_small_turns(&gpu, 26), 360000);
	ck_assert_uint_eq(app_small_turns(&gpu, 25), 190000);
	ck_assert_uint_eq(app_small_turns(&gpu, 7), 190000);
	ck_assert_uint_eq(app_small_turns(&gpu, 6), 50000);
}
END_TEST

START_TEST(a_kernel_without_work_takes_nothing_but_its_turn)
{
	struct cuda_burst_config burst = burst_of(0, 0, 0);

	/* It comes after blocks that fill all SMs, though it needs none to speak of. */
	ck_assert_uint_eq(burst.sm_ppm, 1000000);
	ck_assert_uint_eq(burst.sm_need_ppm, 1);

	ck_assert_uint_eq(burst.kernel_ns, 100);
	ck_assert_uint_eq(burst.sm_busy_ppm, 600000);
	ck_assert_uint_eq(burst.sm_fixed_ppm, 600000);
	ck_assert_uint_eq(burst.bandwidth_ppm, 1);
}
END_TEST

/* 0 would be "all of the time". */
START_TEST(an_empty_kernel_whose_overhead_is_its_gap_is_hardly_ever_on_the_sms)
{
	struct cuda_burst_config burst = { .kernels = 2 };
	struct app_work work = { .overhead_ns = 40 };

	app_work_burst(&work, &gpu, &burst);
	ck_assert_uint_eq(burst.kernel_ns, 40);
	ck_assert_uint_eq(burst.sm_busy_ppm, 1);
	ck_assert_uint_eq(burst.sm_fixed_ppm, 0);
}
END_TEST

START_TEST(blocks_follow_from_shapes)
{
	/* 256 rows, 256 columns, 1024 deep: 4 tiles, 2 parts of the inner dimension each. */
	ck_assert_uint_eq(app_product_blocks(2ull * 256 * 256 * 1024), 8);
	ck_assert_uint_eq(app_product_blocks(1), 1);
	/* 4096 x 4096 weights of 2 bytes, and 1, 256, 257 and 8,192 rows. */
	ck_assert_uint_eq(app_product_reads(2ull * 4096 * 4096, 2ull * 4096 * 4096), 1);
	ck_assert_uint_eq(app_product_reads(2ull * 4096 * 4096 * 256, 2ull * 4096 * 4096), 1);
	ck_assert_uint_eq(app_product_reads(2ull * 4096 * 4096 * 257, 2ull * 4096 * 4096), 2);
	ck_assert_uint_eq(app_product_reads(2ull * 4096 * 4096 * 8192, 2ull * 4096 * 4096), 32);
	ck_assert_uint_eq(app_product_reads(1000, 0), 1);
	/* 1024 elements in bf16, read and written. */
	ck_assert_uint_eq(app_element_blocks(2ull * 1024 * 2), 1);
	ck_assert_uint_eq(app_element_blocks(4097), 2);
}
END_TEST

/* 340 ZFLOP x 10^15 have 128 bits. */
START_TEST(work_of_any_amount_takes_its_time)
{
	const struct cfg_gpu fastest = { .flops_bf16 = 1000000000000000000,
					 .memory_bandwidth = 1000000000000000 };
	unsigned __int128 most = ~(unsigned __int128)0;

	ck_assert_uint_eq(app_flops_ns(&fastest, CFG_PPM, most / 1000000000000000),
			  340282366920938);
	for (u64 zetta = 340; zetta <= 31536; zetta++)
		ck_assert_uint_eq(
			app_flops_ns(&fastest, CFG_PPM,
				     (unsigned __int128)zetta * 1000000000000000000 * 1000),
			zetta * 1000000000000);
	ck_assert_uint_eq(app_flops_ns(&fastest, CFG_PPM, most), APP_COST_MAX_NS);
	ck_assert_uint_eq(app_flops_ns(&fastest, 1, most), APP_COST_MAX_NS);
	ck_assert_uint_eq(app_bytes_ns(&fastest, CFG_PPM, most / 3), APP_COST_MAX_NS);
}
END_TEST

START_TEST(an_all_reduce_goes_around_a_ring)
{
	struct cfg_gpu peer = gpu;

	/* 4 GPUs send 6 quarters of 4000 bytes, 2 bytes a ns, in 6 steps. */
	peer.peer.bandwidth = 2000000000;
	peer.peer.setup = 500;
	peer.peer.step = 70;
	ck_assert_uint_eq(app_reduce_ns(&peer, 4, 4000), 500 + 6 * 70 + 3000);
	/* 2 GPUs send all of it once. */
	ck_assert_uint_eq(app_reduce_ns(&peer, 2, 4000), 500 + 2 * 70 + 2000);
	/* Without a way of their own they use the link. */
	peer.peer.bandwidth = 0;
	peer.link.bandwidth = 1000000000;
	ck_assert_uint_eq(app_reduce_ns(&peer, 2, 4000), 500 + 2 * 70 + 4000);
}
END_TEST

TEST_MAIN("app_cost", a_kernel_bound_by_arithmetic_needs_all_sms_that_it_fills,
	  a_kernel_bound_by_memory_fills_more_sms_than_it_needs,
	  a_product_near_its_ridge_takes_longer_than_either_bound,
	  no_block_runs_in_the_gap_between_two_kernels,
	  products_and_few_blocks_leave_room_for_small_kernels,
	  a_kernel_takes_less_of_a_turn_the_fewer_blocks_it_has,
	  a_kernel_without_work_takes_nothing_but_its_turn,
	  an_empty_kernel_whose_overhead_is_its_gap_is_hardly_ever_on_the_sms,
	  blocks_follow_from_shapes, work_of_any_amount_takes_its_time,
	  an_all_reduce_goes_around_a_ring)
