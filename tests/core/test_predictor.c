// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Prefetch before the turn on a small GPU: what is predicted, what comes in, what it costs, and
 * that limits hold. A container reads a loop of 8 blocks through 4 chunks, so each access
 * misses.
 */
#include "gvm/block.h"
#include "gvm/predictor.h"
#include "gvm/tsg.h"
#include "runner.h"
#include "toy_gpu.h"

#define CHUNK GVM_CHUNK_BYTES

enum { LOOP = 8 };

static struct gvm_container *one, *two;

static void fill_host(u32 space)
{
	for (u32 i = 0; i < LOOP; i++)
		for (u32 page = 0; page < GVM_PAGES_PER_BLOCK; page++)
			toy.spaces[space].host[i][page] = 1000 * (space + 1) + i;
}

static void begin(u32 chunks)
{
	toy_init_with(chunks, GVM_OWNER_PREFETCH);
	one = toy_attach(1);
	two = toy_attach(2);
	toy_map_range(0, one, LOOP * CHUNK, true);
	toy_map_range(1, two, LOOP * CHUNK, true);
	fill_host(0);
	fill_host(1);
}

static void end(void)
{
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	toy_unmap_range(0);
	toy_unmap_range(1);
	gvm_container_detach(one);
	gvm_container_detach(two);
	toy_destroy();
}

/* Read the loop of a space until its order is known and trusted; its turn is over then. */
static void learn(u32 space, struct gvm_container *container)
{
	for (u32 i = 0; i < 3; i++)
		toy_load_blocks(space, 0, LOOP);
	gvm_predictor_end_turn(container);
}

static int bring(struct gvm_container *container, struct gvm_prefetch *blocks, u32 count)
{
	int status = toy.device.memory_ops->prefetch(&toy.memory, container, blocks, count);

	gvm_predictor_expect(container, blocks, count);
	return status;
}

/* The number of a predicted block in its range. */
static u32 number(const struct gvm_prefetch *block)
{
	return (u32)((block->va - TOY_VA) >> GVM_CHUNK_SHIFT);
}

/*
 * The first round has no order yet. The second begins with a jump from block 7 to 0, the only
 * wrong prediction. Then each block follows the one of the round before: 7 right, and 8 in the
 * third round.
 */
START_TEST(what_followed_last_time_is_predicted)
{
	struct gvm_prefetch blocks[GVM_PREFETCH_BATCH];

	begin(4);
	learn(0, one);
	ck_assert_uint_eq(one->turn.right, 15);
	ck_assert_uint_eq(one->turn.wrong, 1);
	ck_assert_uint_eq(one->turn.budget, 16);
	ck_assert_uint_eq(gvm_predictor_next(one, 3, blocks, GVM_PREFETCH_BATCH), 3);
	for (u32 i = 0; i < 3; i++)
		ck_assert_uint_eq(number(&blocks[i]), i);
	/* Blocks 4 to 7 are on the GPU, and 7 is the last one: nothing else is left. */
	ck_assert_uint_eq(gvm_predictor_next(one, 8, blocks, GVM_PREFETCH_BATCH), 1);
	ck_assert_uint_eq(number(&blocks[0]), 3);
	ck_assert_uint_eq(gvm_predictor_next(one, 8, blocks, GVM_PREFETCH_BATCH), 0);
	end();
}
END_TEST

/* 15 predictions are too few. Of 16, at least two in three have to be right. */
START_TEST(nothing_comes_before_the_predictions_are_trusted)
{
	struct gvm_prefetch blocks[GVM_PREFETCH_BATCH];

	begin(4);
	toy_load_blocks(0, 0, LOOP);
	toy_load_blocks(0, 0, LOOP);
	toy_load_blocks(0, 0, LOOP - 1);
	gvm_predictor_end_turn(one);
	ck_assert_uint_eq(gvm_predictor_next(one, 8, blocks, GVM_PREFETCH_BATCH), 0);
	toy_load_blocks(0, LOOP - 1, 1);
	gvm_predictor_end_turn(one);
	one->turn.right = 10;
	one->turn.wrong = 6;
	ck_assert_uint_eq(gvm_predictor_next(one, 8, blocks, 1), 0);
	one->turn.right = 11;
	one->turn.wrong = 5;
	ck_assert_uint_eq(gvm_predictor_next(one, 8, blocks, 1), 1);
	end();
}
END_TEST

/* A turn without misses is followed by no prefetch, though blocks of the loop are missing. */
START_TEST(not_more_comes_than_the_last_turn_missed)
{
	struct gvm_prefetch blocks[GVM_PREFETCH_BATCH];

	begin(4);
	learn(0, one);
	gvm_predictor_end_turn(one);
	ck_assert_uint_eq(gvm_predictor_next(one, 8, blocks, GVM_PREFETCH_BATCH), 0);
	toy_load_blocks(0, 0, 2);
	gvm_predictor_end_turn(one);
	ck_assert_uint_eq(gvm_predictor_next(one, 8, blocks, GVM_PREFETCH_BATCH), 2);
	end();
}
END_TEST

/*
 * Three blocks come, for three copies out and three in. The first two are used without a fault.
 * The third is the probe: its use costs a fault and no copy, and proves all three.
 */
START_TEST(a_probe_tells_that_the_blocks_before_it_were_used)
{
	struct gvm_prefetch blocks[GVM_PREFETCH_BATCH];
	u64 in, faults;

	begin(4);
	learn(0, one);
	in = toy.pages[TOY_COPY];
	faults = toy.handler.stats.faults;
	ck_assert_uint_eq(gvm_predictor_next(one, 3, blocks, GVM_PREFETCH_BATCH), 3);
	blocks[2].probe = true;
	ck_assert_int_eq(bring(one, blocks, 3), 0);
	ck_assert_uint_eq(toy.pages[TOY_COPY] - in, 96);
	ck_assert_uint_eq(one->turn.expected, 3);
	ck_assert_uint_eq(one->turn.budget, 13);
	toy_load_blocks(0, 0, 2);
	ck_assert_uint_eq(toy.handler.stats.faults, faults);
	ck_assert_uint_eq(toy.device.predictor->used, 0);
	toy_load_blocks(0, 2, 1);
	ck_assert_uint_eq(toy.handler.stats.faults, faults + 1);
	ck_assert_uint_eq(toy.pages[TOY_COPY] - in, 96);
	ck_assert_uint_eq(toy.device.predictor->prefetched, 3);
	ck_assert_uint_eq(toy.device.predictor->used, 3);
	ck_assert_uint_eq(toy.device.predictor->wasted, 0);
	ck_assert_uint_eq(one->turn.right, 19); /* 15, the fault, and what it proved */
	end();
}
END_TEST

/* The container does not get its turn, and its neighbour takes all chunks. */
START_TEST(what_is_evicted_unused_is_wasted)
{
	struct gvm_prefetch blocks[GVM_PREFETCH_BATCH];

	begin(4);
	learn(0, one);
	ck_assert_uint_eq(gvm_predictor_next(one, 3, blocks, GVM_PREFETCH_BATCH), 3);
	ck_assert_int_eq(bring(one, blocks, 3), 0);
	learn(1, two);
	ck_assert_uint_eq(toy.device.predictor->used, 0);
	ck_assert_uint_eq(toy.device.predictor->wasted, 3);
	ck_assert_uint_eq(one->turn.expected, 0);
	end();
}
END_TEST

/* A container at its limit gives chunks of its own: the neighbour keeps all of its four. */
START_TEST(a_prefetch_obeys_the_limit)
{
	struct gvm_prefetch blocks[GVM_PREFETCH_BATCH];

	begin(12);
	toy_load_blocks(1, 0, 4);
	toy_write_file(one, "gmem.limit.high", "8388608");
	learn(0, one);
	ck_assert_uint_eq(gvm_predictor_next(one, 4, blocks, GVM_PREFETCH_BATCH), 4);
	ck_assert_int_eq(bring(one, blocks, 4), 0);
	ck_assert_uint_eq(one->turn.expected, 4);
	ck_assert_uint_eq(one->charged_bytes, 4 * CHUNK);
	ck_assert_uint_eq(one->peak_bytes, 4 * CHUNK);
	ck_assert_uint_eq(two->charged_bytes, 4 * CHUNK);
	end();
}
END_TEST

/*
 * On a full device, a protected neighbour gives nothing: the prefetch takes the container's own
 * chunks, which are not protected.
 */
START_TEST(a_prefetch_takes_nothing_from_the_protected)
{
	struct gvm_prefetch blocks[GVM_PREFETCH_BATCH];

	begin(8);
	toy_load_blocks(1, 0, 4);
	toy_write_file(two, "gmem.limit.low", "16777216");
	learn(0, one);
	ck_assert_uint_eq(two->bound_chunks, 4);
	ck_assert_uint_eq(gvm_predictor_next(one, 4, blocks, GVM_PREFETCH_BATCH), 4);
	ck_assert_int_eq(bring(one, blocks, 4), 0);
	ck_assert_uint_eq(one->turn.expected, 4);
	ck_assert_uint_eq(two->bound_chunks, 4);
	/* With all chunks protected there is no room, and nothing comes. */
	toy_write_file(one, "gmem.limit.low", "16777216");
	blocks[0].va = TOY_VA + 4 * CHUNK;
	blocks[0].done = false;
	ck_assert_int_eq(toy.device.memory_ops->prefetch(&toy.memory, one, blocks, 1), 0);
	ck_assert(!blocks[0].done);
	ck_assert_uint_eq(one->bound_chunks, 4);
	ck_assert_uint_eq(two->bound_chunks, 4);
	end();
}
END_TEST

/* The wait for the copies fails: nothing is mapped, and the data is still on the host. */
START_TEST(an_interrupted_prefetch_loses_no_byte)
{
	struct gvm_prefetch blocks[GVM_PREFETCH_BATCH];

	begin(4);
	learn(0, one);
	ck_assert_uint_eq(gvm_predictor_next(one, 3, blocks, GVM_PREFETCH_BATCH), 3);
	toy.wait_error = -EINTR;
	ck_assert_int_eq(bring(one, blocks, 3), -EINTR);
	toy.wait_error = 0;
	ck_assert_uint_eq(one->turn.expected, 0);
	ck_assert(!toy_on_device(0, 0));
	toy_load_blocks(0, 0, LOOP);
	end();
}
END_TEST

/* Block 5 of space 0 begins to come, as by the thread, which would now wait for the copy. */
static void let_block_come(void)
{
	struct gvm_range *range = &toy.spaces[0].range;
	struct gvm_block *block = &range->blocks[5];
	struct gvm_fence fence = { 0 };

	gvm_mutex_lock(&range->lock);
	ck_assert_int_eq(gvm_block_populate_locked(range, 5), 0);
	ck_assert_int_eq(gvm_block_fill_locked(range, 5, block->valid, &fence), 0);
	block->coming = true;
	gvm_mutex_unlock(&range->lock);
}

/* The eviction for a fault fails, after the neighbour has gone and its memory is free. */
static void free_memory_and_let_block_come(u32 chunk)
{
	(void)chunk;
	toy.on_evict = NULL;
	toy_unmap_range(1);
	let_block_come();
	toy.fail_out = U32_MAX;
}

/*
 * A fault finds no room, and the thread begins to bring in its block before the fault's service
 * ends: the block is not mapped before its copy has arrived.
 */
START_TEST(a_fault_without_room_does_not_map_a_block_that_is_coming)
{
	const struct gvm_range *range = &toy.spaces[0].range;

	begin(4);
	toy_write_file(two, "gmem.limit.low", "6291456");
	toy_load_blocks(1, 0, 3);
	ck_assert(toy_store(0, 0, 7));
	toy.on_evict = free_memory_and_let_block_come;
	toy_fault(0, 5 * GVM_PAGES_PER_BLOCK, GVM_ACCESS_READ);
	toy_service_all();
	ck_assert_ptr_null(toy.on_evict);
	ck_assert(!toy_on_device(0, 5));
	ck_assert(range->blocks[5].coming);
	/* The next fault waits for the copy, and maps the block. */
	toy.fail_out = 0;
	ck_assert(toy_load(0, 5 * GVM_PAGES_PER_BLOCK, 1005));
	ck_assert(!range->blocks[5].coming);
	toy_map_range(1, two, LOOP * CHUNK, true);
	end();
}
END_TEST

/* Who has work and who is on the GPU; the timeslices are 1024 us. */
static struct gvm_tsg_sample samples[2];

static void sample(void *gpu, u32 tsg, struct gvm_tsg_sample *ret_sample)
{
	(void)gpu;
	*ret_sample = samples[tsg];
}

static int set_timeslice(void *gpu, u32 tsg, u64 timeslice_us)
{
	(void)gpu;
	(void)tsg;
	(void)timeslice_us;
	return 0;
}

/*
 * Container two is on the GPU, and one has work: its blocks come. Nothing comes for a container
 * without work, nor if a block takes longer than the slice.
 */
START_TEST(the_next_owner_gets_its_blocks_during_the_turn_of_another)
{
	struct gvm_prefetcher prefetcher = { .device = &toy.device };
	struct gvm_gpu_ops ops;
	struct gvm_tsg tsgs[2];

	begin(4);
	learn(0, one);
	ops = *toy.device.ops;
	ops.tsg_sample = sample;
	ops.tsg_set_timeslice = set_timeslice;
	toy.device.ops = &ops;
	gvm_tsg_attach(one, &tsgs[0], 0);
	gvm_tsg_attach(two, &tsgs[1], 1);
	samples[1] = (struct gvm_tsg_sample){ .busy = true, .on_gpu = true };
	ck_assert_uint_eq(gvm_prefetcher_round(&prefetcher), 0);
	samples[0] = (struct gvm_tsg_sample){ .busy = true };
	prefetcher.block_ns = 1024001;
	ck_assert_uint_eq(gvm_prefetcher_round(&prefetcher), 0);
	ck_assert_uint_eq(prefetcher.too_short, 1);
	prefetcher.block_ns = 512000;
	ck_assert_uint_eq(gvm_prefetcher_round(&prefetcher), 2);
	ck_assert_uint_eq(prefetcher.rounds, 1);
	ck_assert(toy_on_device(0, 0) && toy_on_device(0, 1) && !toy_on_device(0, 2));
	/* Regression: on a GPU that is suspended or lost, the thread went on to look. */
	ck_assert(prefetcher.busy);
	WRITE_ONCE(toy.device.stopped[GVM_ACTIVITY_EVICTORS], true);
	ck_assert_uint_eq(gvm_prefetcher_round(&prefetcher), 0);
	ck_assert(!prefetcher.busy);
	WRITE_ONCE(toy.device.stopped[GVM_ACTIVITY_EVICTORS], false);
	gvm_tsg_detach(&tsgs[0]);
	gvm_tsg_detach(&tsgs[1]);
	end();
}
END_TEST

TEST_MAIN("predictor", what_followed_last_time_is_predicted,
	  nothing_comes_before_the_predictions_are_trusted,
	  not_more_comes_than_the_last_turn_missed,
	  a_probe_tells_that_the_blocks_before_it_were_used, what_is_evicted_unused_is_wasted,
	  a_prefetch_obeys_the_limit, a_prefetch_takes_nothing_from_the_protected,
	  an_interrupted_prefetch_loses_no_byte,
	  a_fault_without_room_does_not_map_a_block_that_is_coming,
	  the_next_owner_gets_its_blocks_during_the_turn_of_another)
