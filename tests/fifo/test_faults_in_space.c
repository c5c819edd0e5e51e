// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Three TSGs that run side by side fault at random, and lose their pages at random. Their
 * kernels wait for each other's faults to end. Each wait ends, and all work is done.
 */
#include "draw.h"
#include "fifo_world.h"
#include "runner.h"

#define BLOCKS 12u
#define ROOM   4u /* of them are mapped at most */
#define TSGS   3u
#define BURSTS 600u
#define STEPS  1000000u

static u64 random_state;
static struct fifo_tsg tsgs[TSGS];
static struct fifo_channel channels[TSGS];
static struct fifo_burst bursts[BURSTS];
static struct gmmu_touch touches[BURSTS];
static bool mapped[BLOCKS];

static u32 draw(u32 below)
{
	return draw_below(&random_state, below);
}

static void draw_burst(u32 i)
{
	u32 first = draw(BLOCKS);

	touches[i] = (struct gmmu_touch){
		.va = first * GVM_CHUNK_BYTES,
		.block_count = 1 + draw(min(BLOCKS - first, 3u)),
	};
	bursts[i] = (struct fifo_burst){
		.kernels = 1 + draw(12),
		.kernel_ns = 1 + draw(40),
		.launch_ns = draw(2) * draw(50),
		.sm_ppm = draw(2) ? FIFO_ALL_PPM / 3 : 0,
		.touches = &touches[i],
		.touch_count = draw(3) != 0,
	};
}

static void evict(u32 block)
{
	mapped[block] = false;
	page_table_unmap(&table, block * GVM_CHUNK_BYTES, GVM_BLOCK_FULL);
	for (u32 i = 0; i < TSGS; i++)
		fifo_unmapped(&tsgs[i], block * GVM_CHUNK_BYTES);
}

static void evict_one(void)
{
	u32 block = draw(BLOCKS);

	while (!mapped[block])
		block = (block + 1) % BLOCKS;
	evict(block);
}

/* The driver: evict others for the blocks that faulted, map them, and let all go on. */
static void serve(void)
{
	struct gvm_fault fault;
	u32 count = 0;

	while (gmmu_fetch(&gmmu, &fault, 1)) {
		u32 block = (u32)(fault.va >> GVM_CHUNK_SHIFT);

		if (!mapped[block])
			page_table_map(&table, block * GVM_CHUNK_BYTES, block, 0,
				       GVM_BLOCK_FULL, true);
		mapped[block] = true;
	}
	fifo_replay(&fifo);
	for (u32 i = 0; i < BLOCKS; i++)
		count += mapped[i];
	for (; count > ROOM; count--)
		evict_one();
}

/* Returns how long, in all, kernels had to wait for the faults of others. */
static u64 all_work(void)
{
	u32 submitted = 0, finished = 0;
	u64 work = 0;

	for (u32 step = 0; finished < BURSTS; step++) {
		ck_assert_uint_lt(step, STEPS);
		if (submitted < BURSTS && submitted - finished < 20 && !draw(20)) {
			u32 who = draw(TSGS);

			draw_burst(submitted);
			work += bursts[submitted].kernels * bursts[submitted].kernel_ns;
			fifo_submit_to(draw(2) ? &channels[who] : &tsgs[who].main,
				       &bursts[submitted++]);
		}
		if (gmmu_pending(&gmmu) && !draw(30))
			serve();
		if (!draw(10))
			evict(draw(BLOCKS));
		eng_sleep_until(eng_now() + 1 + draw(5));
		finished = 0;
		for (u32 i = 0; i < submitted; i++)
			finished += bursts[i].finished;
	}
	for (u32 i = 0; i < BURSTS; i++)
		ck_assert_uint_eq(bursts[i].done_ns, bursts[i].kernels * bursts[i].kernel_ns);
	ck_assert_uint_eq(tsgs[0].busy_ns + tsgs[1].busy_ns + tsgs[2].busy_ns, work);
	return tsgs[0].blocked_ns + tsgs[1].blocked_ns + tsgs[2].blocked_ns;
}

static void faults_everywhere(void)
{
	u64 blocked;

	for (u32 i = 0; i < TSGS; i++) {
		ck_assert_int_eq(fifo_tsg_init(&fifo, &tsgs[i], &table), 0);
		fifo_channel_init(&channels[i], &tsgs[i]);
	}
	blocked = all_work();
	/* The run was hard enough. */
	ck_assert_uint_gt(blocked, eng_now() / 10);
	for (u32 i = 0; i < TSGS; i++) {
		fifo_channel_destroy(&channels[i]);
		fifo_tsg_destroy(&tsgs[i]);
	}
}

START_TEST(kernels_that_wait_for_each_others_faults_all_end)
{
	struct fifo_config config = small_config;

	random_state = runner_seed();
	config.partition_count = 1;
	config.partitions[0] = (struct fifo_share){ FIFO_ALL_PPM, FIFO_ALL_PPM, true };
	world_run(&config, 64, 0, BLOCKS, faults_everywhere);
}
END_TEST

TEST_MAIN("faults in space", kernels_that_wait_for_each_others_faults_all_end)
