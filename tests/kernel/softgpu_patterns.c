// SPDX-License-Identifier: MIT OR GPL-2.0
/* The patterns: softgpu_patterns.h. */
#include "softgpu_patterns.h"

#define ROUNDS 3u

static size_t pattern_blocks(const struct pattern_world *world, const struct pattern *pattern)
{
	return pattern->percent ? (world->chunks * pattern->percent + 99) / 100 : 2;
}

/* Pages of a whole block, as far apart as the pattern says. */
static void touch_block(const struct pattern_world *world, const struct pattern *pattern,
			unsigned int range, size_t block)
{
	struct pattern_walk walk = { range, block * PATTERN_BLOCK_PAGES,
				     (PATTERN_BLOCK_PAGES + pattern->step - 1) / pattern->step,
				     pattern->step };

	world->gpu(&walk, pattern->write, pattern->window);
}

static void touch_blocks(const struct pattern_world *world, const struct pattern *pattern,
			 unsigned int range, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		touch_block(world, pattern, range, i);
}

static void map_range(const struct pattern_world *world, const struct pattern *pattern,
		      unsigned int range, unsigned int process, size_t blocks)
{
	world->map(range, process, blocks, !pattern->gpu_first);
	if (pattern->advice)
		world->advise(range, pattern->advice);
}

static uint64_t next_random(uint64_t *x)
{
	*x = *x * 6364136223846793005ull + 1442695040888963407ull;
	return *x >> 33;
}

/* One walk over all of it, of which accesses to neighbouring blocks may wait at once. */
static void walk_once(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	struct pattern_walk walk = { 0, 0, blocks * PATTERN_BLOCK_PAGES / pattern->step,
				     pattern->step };

	map_range(world, pattern, 0, 0, blocks);
	world->gpu(&walk, pattern->write, pattern->window);
}

static void walk_cyclic(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < ROUNDS * blocks; i++)
		touch_block(world, pattern, 0, i % blocks);
}

/* A window that does not end at a block. */
static void walk_rounds(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	struct pattern_walk walk = { 0, 0, blocks * PATTERN_BLOCK_PAGES / pattern->step,
				     pattern->step };

	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < ROUNDS; i++)
		world->gpu(&walk, pattern->write, pattern->window);
}

/* Random pages, one at a time. As many as the memory has pages of 128 KB, or all. */
static void walk_random_pages(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	size_t pages = blocks * PATTERN_BLOCK_PAGES;
	size_t count = pattern->percent ? world->chunks * 16 : pages;
	uint64_t x = 1;

	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < count; i++) {
		struct pattern_walk walk = { 0, next_random(&x) % pages, 1, 1 };

		world->gpu(&walk, pattern->write, 1);
	}
}

static void walk_random_blocks(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	uint64_t x = 1;

	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < ROUNDS * blocks; i++)
		touch_block(world, pattern, 0, next_random(&x) % blocks);
}

/* Four blocks are touched after each other block. They fault only when they were evicted. */
static void walk_hot(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < ROUNDS * (blocks - 4); i++) {
		touch_block(world, pattern, 0, 4 + i % (blocks - 4));
		for (size_t hot = 0; hot < 4; hot++)
			touch_block(world, pattern, 0, hot);
	}
}

/* The same, but of the hot blocks another 64 KB are touched each time: they fault for long. */
static void walk_hot_that_faults(const struct pattern_world *world,
				 const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < ROUNDS * (blocks - 2); i++) {
		struct pattern_walk walk = { 0, i % 32 * 16, 1, 1 };

		touch_block(world, pattern, 0, 2 + i % (blocks - 2));
		world->gpu(&walk, pattern->write, pattern->window);
		walk.first += PATTERN_BLOCK_PAGES;
		world->gpu(&walk, pattern->write, pattern->window);
	}
}

static void walk_to_and_fro(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	touch_blocks(world, pattern, 0, 0, blocks);
	for (size_t i = blocks; i-- > 0;)
		touch_block(world, pattern, 0, i);
	touch_blocks(world, pattern, 0, 0, blocks);
}

/* Two processes take turns, each with a working set of that size. */
static void walk_two(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	map_range(world, pattern, 1, 1, blocks);
	for (size_t i = 0; i < ROUNDS * blocks; i++) {
		touch_block(world, pattern, 0, i % blocks);
		touch_block(world, pattern, 1, i % blocks);
	}
}

/* Each of @count processes has a range of that size. */
static void map_ranges(const struct pattern_world *world, const struct pattern *pattern,
		       unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		map_range(world, pattern, i, i, pattern_blocks(world, pattern));
}

/* Three processes take turns, a block each. */
static void walk_three(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_ranges(world, pattern, 3);
	for (size_t i = 0; i < ROUNDS * blocks; i++)
		for (unsigned int range = 0; range < 3; range++)
			touch_block(world, pattern, range, i % blocks);
}

/*
 * Four processes, one after the other, walk through all they have. Then the first one comes
 * back, then a random one of them with a random block.
 */
static void walk_four(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	uint64_t x = 1;

	map_ranges(world, pattern, 4);
	for (unsigned int i = 0; i < 5; i++)
		touch_blocks(world, pattern, i % 4, 0, blocks);
	for (size_t i = 0; i < 4 * blocks; i++) {
		unsigned int range = (unsigned int)(next_random(&x) % 4);

		touch_block(world, pattern, range, next_random(&x) % blocks);
	}
}

/* Two of four processes end their memory while it is full; the others go on. */
static void walk_four_of_which_two_go(const struct pattern_world *world,
				      const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_ranges(world, pattern, 4);
	for (unsigned int i = 0; i < 4; i++)
		touch_blocks(world, pattern, i, 0, blocks);
	world->unmap(3);
	world->unmap(1);
	for (size_t i = 0; i < ROUNDS * blocks; i++) {
		touch_block(world, pattern, 0, i % blocks);
		touch_block(world, pattern, 2, i % blocks);
	}
}

/* A thread of the driver has its time after each block: it maps what was evicted. */
static void walk_settled(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < ROUNDS * blocks; i++) {
		touch_block(world, pattern, 0, i % blocks);
		world->settle();
	}
}

/* The GPU writes first, then all is read twice. */
static void walk_reread(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	struct pattern reads = *pattern;

	reads.write = false;
	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < ROUNDS * blocks; i++)
		touch_block(world, i < blocks ? pattern : &reads, 0, i % blocks);
}

/* Memory is full; the CPU takes some blocks back, whole or in part; then others come. */
static void walk_cpu_takes(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	struct pattern_walk whole = { 0, 5 * PATTERN_BLOCK_PAGES, 3 * PATTERN_BLOCK_PAGES, 1 };
	struct pattern_walk part = { 0, 2 * PATTERN_BLOCK_PAGES, 16, 1 };

	map_range(world, pattern, 0, 0, blocks);
	touch_blocks(world, pattern, 0, 0, world->chunks);
	world->cpu(&whole);
	world->cpu(&part);
	touch_blocks(world, pattern, 0, world->chunks, blocks);
}

/* A range is unmapped while memory is full. */
static void walk_unmapped(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t half = world->chunks / 2;

	for (unsigned int range = 0; range < 3; range++)
		map_range(world, pattern, range, 0, half);
	touch_blocks(world, pattern, 0, 0, half);
	touch_blocks(world, pattern, 1, 0, half);
	world->unmap(0);
	map_range(world, pattern, 3, 0, half);
	touch_blocks(world, pattern, 2, 0, half);
	touch_blocks(world, pattern, 3, 0, half);
}

/* The application prefetches to the GPU more than fits, to the CPU, and to the GPU again. */
static void walk_migrated(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	map_range(world, pattern, 1, 0, 4);
	world->migrate(0, true);
	touch_blocks(world, pattern, 0, 0, blocks);
	world->migrate(1, true);
	world->migrate(0, false);
	touch_blocks(world, pattern, 0, 0, blocks);
	world->migrate(1, true);
}

/* A range that is there is prefetched once more. Then others come. */
static void walk_prefetched_again(const struct pattern_world *world,
				  const struct pattern *pattern)
{
	size_t half = world->chunks / 2;

	for (unsigned int range = 0; range < 3; range++) {
		map_range(world, pattern, range, 0, half);
		world->migrate(range == 2 ? 0 : range, true);
	}
	touch_blocks(world, pattern, 2, 0, half);
	touch_blocks(world, pattern, 0, 0, half);
}

static void walk_backwards(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	struct pattern_walk walk = { 0, blocks * PATTERN_BLOCK_PAGES - 1,
				     blocks * PATTERN_BLOCK_PAGES / pattern->step,
				     -(size_t)pattern->step };

	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < 2; i++)
		world->gpu(&walk, pattern->write, pattern->window);
}

/* Eight blocks are walked three times, then eight of which four are new, and so on. */
static void walk_sliding(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	for (size_t first = 0; first + 8 <= blocks; first += 4)
		for (size_t i = 0; i < ROUNDS * 8; i++)
			touch_block(world, pattern, 0, first + i % 8);
}

/*
 * One range is streamed once; of another, a small one, a block is touched after each of its
 * blocks.
 */
static void walk_stream_beside_small(const struct pattern_world *world,
				     const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	map_range(world, pattern, 1, 0, 6);
	for (size_t i = 0; i < blocks; i++) {
		touch_block(world, pattern, 0, i);
		touch_block(world, pattern, 1, i % 6);
	}
}

/* The CPU reads back all of it between the rounds of the GPU. */
static void walk_with_cpu(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	struct pattern_walk all = { 0, 0, blocks * PATTERN_BLOCK_PAGES, 1 };

	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < 2 * blocks; i++) {
		if (i == blocks)
			world->cpu(&all);
		touch_block(world, pattern, 0, i % blocks);
	}
}

/*
 * The CPU has touched every second 64 KB of the first half of each block; the GPU touches all.
 */
static void walk_partly_on_host(const struct pattern_world *world,
				const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < blocks * 8; i++) {
		struct pattern_walk page = { 0, i / 8 * PATTERN_BLOCK_PAGES + i % 8 * 32, 16,
					     1 };

		world->cpu(&page);
	}
	for (size_t i = 0; i < ROUNDS * blocks; i++)
		touch_block(world, pattern, 0, i % blocks);
}

/* RM takes eight chunks while memory is full, and gives them back. */
static void walk_beside_rm(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	touch_blocks(world, pattern, 0, 0, blocks);
	world->rm_take(8);
	touch_blocks(world, pattern, 0, 0, blocks);
	world->rm_give();
	touch_blocks(world, pattern, 0, 0, blocks);
}

/* RM takes a chunk after each four blocks, until four are left, and gives them back. */
static void walk_beside_greedy_rm(const struct pattern_world *world,
				  const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < 4 * (world->chunks - 4); i++) {
		touch_block(world, pattern, 0, i % blocks);
		if (i % 4 == 3)
			world->rm_take(1);
	}
	world->rm_give();
	touch_blocks(world, pattern, 0, 0, blocks);
}

/* RM takes eight chunks and gives them back, time and again, beside two processes. */
static void walk_beside_restless_rm(const struct pattern_world *world,
				    const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	map_range(world, pattern, 1, 1, blocks);
	for (size_t i = 0; i < ROUNDS * blocks; i++) {
		if (i % 5 == 0)
			world->rm_take(8);
		touch_block(world, pattern, 0, i % blocks);
		touch_block(world, pattern, 1, i % blocks);
		if (i % 5 == 3)
			world->rm_give();
	}
	world->rm_give();
}

/* CPU and GPU take turns on one page, and now and then the GPU touches another one. */
static void walk_ping_pong(const struct pattern_world *world, const struct pattern *pattern)
{
	struct pattern_walk page = { 0, 0, 1, 1 };
	struct pattern_walk other = { 0, PATTERN_BLOCK_PAGES, 1, 1 };

	map_range(world, pattern, 0, 0, pattern_blocks(world, pattern));
	for (size_t i = 0; i < 12; i++) {
		world->gpu(&page, pattern->write, pattern->window);
		world->cpu(&page);
		if (i % 4 == 3)
			world->gpu(&other, pattern->write, pattern->window);
		other.first += 16;
	}
}

/* The GPU touches twice as many pages as the CPU takes back. */
static void walk_ping_pong_of_two(const struct pattern_world *world,
				  const struct pattern *pattern)
{
	struct pattern_walk two = { 0, 0, 2, 32 };
	struct pattern_walk one = { 0, 0, 1, 1 };

	map_range(world, pattern, 0, 0, pattern_blocks(world, pattern));
	for (size_t i = 0; i < 8; i++) {
		world->gpu(&two, pattern->write, pattern->window);
		one.first = i % 2 * 32;
		world->cpu(&one);
	}
}

/* Memory is full; four blocks in the middle are discarded, others come, then all once more. */
static void walk_discarded(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	touch_blocks(world, pattern, 0, 0, world->chunks);
	world->discard(0, 10, 4);
	touch_blocks(world, pattern, 0, world->chunks, blocks);
	touch_blocks(world, pattern, 0, 0, blocks);
}

/* What was discarded is written again before memory is short. */
static void walk_discarded_and_written(const struct pattern_world *world,
				       const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	touch_blocks(world, pattern, 0, 0, world->chunks - 2);
	world->discard(0, 4, 3);
	touch_blocks(world, pattern, 0, 4, 6);
	touch_blocks(world, pattern, 0, world->chunks - 2, blocks);
	touch_blocks(world, pattern, 0, 0, 8);
}

/*
 * A neighbour without a limit fills its memory once, twice as much as the limit,
 * and is idle from then on.
 */
static void walk_beside_idle(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);

	map_range(world, pattern, 0, 0, blocks);
	map_range(world, pattern, 1, 1, 2 * world->chunks);
	touch_blocks(world, pattern, 1, 0, 2 * world->chunks);
	for (size_t i = 0; i < ROUNDS * blocks; i++)
		touch_block(world, pattern, 0, i % blocks);
	touch_blocks(world, pattern, 1, 0, 2 * world->chunks);
}

/* Each of two has a limit, the second one half of the first. */
static void walk_two_limited(const struct pattern_world *world, const struct pattern *pattern)
{
	world->limit(1, world->chunks / 2);
	walk_two(world, pattern);
}

/*
 * The limit is lowered by a chunk, halved, doubled, and gone, each time
 * while the memory is in use.
 */
static void walk_limit_moves(const struct pattern_world *world, const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	const size_t limits[] = { world->chunks - 1, world->chunks / 2, world->chunks * 2,
				  world->chunks / 4, PATTERN_NO_LIMIT };

	map_range(world, pattern, 0, 0, blocks);
	touch_blocks(world, pattern, 0, 0, blocks);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		world->limit(0, limits[i]);
		touch_blocks(world, pattern, 0, 0, blocks);
	}
}

/* The same with the memory in two ranges, the one with the higher address in use first. */
static void walk_limit_moves_over_two(const struct pattern_world *world,
				      const struct pattern *pattern)
{
	size_t half = pattern_blocks(world, pattern) / 2;

	map_range(world, pattern, 0, 0, half);
	map_range(world, pattern, 1, 0, half);
	for (size_t limit = world->chunks; limit > 2; limit /= 2) {
		touch_blocks(world, pattern, 1, 0, half);
		touch_blocks(world, pattern, 0, 0, half);
		world->limit(0, limit);
	}
	touch_blocks(world, pattern, 1, 0, half);
}

/*
 * The first blocks are evicted by later ones, which are more than 256 blocks after them.
 * Then the limit is lowered.
 */
static void walk_limit_moves_far(const struct pattern_world *world,
				 const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	size_t last = blocks - 2 * world->chunks;

	map_range(world, pattern, 0, 0, blocks);
	touch_blocks(world, pattern, 0, 0, 5 * world->chunks);
	for (size_t limit = world->chunks; limit > 2; limit /= 2) {
		touch_blocks(world, pattern, 0, last, blocks);
		world->limit(0, limit);
	}
	touch_blocks(world, pattern, 0, last, blocks);
}

/* The CPU takes a range of the GPU back, which leaves its chunks unused; then others come. */
static void walk_unused_under_limit(const struct pattern_world *world,
				    const struct pattern *pattern)
{
	size_t blocks = pattern_blocks(world, pattern);
	struct pattern_walk back = { 0, 20 * PATTERN_BLOCK_PAGES, 10 * PATTERN_BLOCK_PAGES, 1 };

	map_range(world, pattern, 0, 0, blocks);
	map_range(world, pattern, 1, 0, world->chunks);
	touch_blocks(world, pattern, 0, 0, blocks);
	world->cpu(&back);
	touch_blocks(world, pattern, 1, 0, world->chunks);
}

/* clang-format off */
const struct pattern reference_patterns[] = {
	{ "sequential 4K pages, window 1", walk_once, 0, 1, 1, false, false, PATTERN_NO_ADVICE },
	{ "sequential 4K pages, window 16", walk_once, 0, 1, 16, false, false, PATTERN_NO_ADVICE },
	{ "sequential 4K pages, window 256", walk_once, 0, 1, 256, false, false, PATTERN_NO_ADVICE },
	{ "stride 64K, window 1", walk_once, 0, 16, 1, false, false, PATTERN_NO_ADVICE },
	{ "stride 64K, window 16", walk_once, 0, 16, 16, false, false, PATTERN_NO_ADVICE },
	{ "stride 128K, window 1", walk_once, 0, 32, 1, false, false, PATTERN_NO_ADVICE },
	{ "stride 512K, window 1", walk_once, 0, 128, 1, false, false, PATTERN_NO_ADVICE },
	{ "random 4K pages", walk_random_pages, 0, 1, 1, false, false, PATTERN_NO_ADVICE },
	{ "first touch by the GPU, window 16", walk_once, 0, 1, 16, false, true, PATTERN_NO_ADVICE },
	{ "oversubscribed 192 MB, window 64, reads", walk_once, 174, 1, 64, false, false, PATTERN_NO_ADVICE },
	{ "oversubscribed 192 MB, window 64, writes", walk_once, 174, 1, 64, true, false, PATTERN_NO_ADVICE },
};
const size_t reference_pattern_count = sizeof(reference_patterns) / sizeof(reference_patterns[0]);

const struct pattern judge_patterns[] = {
	{ "cyclic, 105 % of memory, reads", walk_cyclic, 104, 16, 32, false, false, PATTERN_NO_ADVICE },
	{ "cyclic, 110 % of memory, reads", walk_cyclic, 110, 1, 256, false, false, PATTERN_NO_ADVICE },
	{ "cyclic, 125 % of memory, reads", walk_cyclic, 125, 16, 32, false, false, PATTERN_NO_ADVICE },
	{ "cyclic, 150 % of memory, reads", walk_cyclic, 150, 16, 32, false, false, PATTERN_NO_ADVICE },
	{ "cyclic, 200 % of memory, reads", walk_cyclic, 200, 16, 32, false, false, PATTERN_NO_ADVICE },
	{ "cyclic, 110 % of memory, writes", walk_cyclic, 110, 1, 256, true, false, PATTERN_NO_ADVICE },
	{ "cyclic, 110 % of memory, 64K, window 16", walk_cyclic, 110, 16, 16, true, false, PATTERN_NO_ADVICE },
	{ "cyclic, 110 % of memory, 64K, window 1", walk_cyclic, 110, 16, 1, false, false, PATTERN_NO_ADVICE },
	{ "cyclic, 125 % of memory, 512K, window 4", walk_cyclic, 125, 128, 4, true, false, PATTERN_NO_ADVICE },
	{ "cyclic, 125 % of memory, one page of each block", walk_cyclic, 125, 512, 1, false, false, PATTERN_NO_ADVICE },
	{ "cyclic, 125 % of memory, windows over blocks", walk_rounds, 125, 3, 200, true, false, PATTERN_NO_ADVICE },
	{ "to and fro, 125 % of memory", walk_to_and_fro, 125, 16, 32, false, false, PATTERN_NO_ADVICE },
	{ "hot blocks that do not fault, 125 % of memory", walk_hot, 125, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "hot blocks that fault, 125 % of memory", walk_hot_that_faults, 125, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "random blocks, 150 % of memory", walk_random_blocks, 150, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "random pages, 150 % of memory", walk_random_pages, 150, 1, 1, false, false, PATTERN_NO_ADVICE },
	{ "two processes, 75 % of memory each", walk_two, 75, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "first touch by the GPU, then reread, 125 % of memory", walk_reread, 125, 1, 256, true, true, PATTERN_NO_ADVICE },
	{ "the CPU takes blocks back", walk_cpu_takes, 140, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "a range is unmapped", walk_unmapped, 0, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "prefetches of the application, 110 % of memory", walk_migrated, 110, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "a prefetch of what is there", walk_prefetched_again, 0, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "cyclic, 95 % of memory, writes", walk_cyclic, 95, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "cyclic, 100 % of memory, writes", walk_cyclic, 100, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "sequential 4K pages, window 4", walk_once, 0, 1, 4, false, false, PATTERN_NO_ADVICE },
	{ "sequential 4K pages, window 100", walk_once, 0, 1, 100, true, false, PATTERN_NO_ADVICE },
	{ "stride 32K, window 1", walk_once, 0, 8, 1, false, false, PATTERN_NO_ADVICE },
	{ "stride 256K, window 1", walk_once, 0, 64, 1, false, false, PATTERN_NO_ADVICE },
	{ "stride 1M, window 8", walk_once, 50, 256, 8, false, false, PATTERN_NO_ADVICE },
	{ "random 4K pages, written first by the GPU", walk_random_pages, 0, 1, 1, true, true, PATTERN_NO_ADVICE },
	{ "backwards, window 16, 110 % of memory", walk_backwards, 110, 16, 16, true, false, PATTERN_NO_ADVICE },
	{ "backwards, window 1", walk_backwards, 0, 1, 1, false, false, PATTERN_NO_ADVICE },
	{ "eight blocks at a time, 150 % of memory", walk_sliding, 150, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "a stream beside a small range, 125 % of memory", walk_stream_beside_small, 125, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "the CPU reads all back, 110 % of memory", walk_with_cpu, 110, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "partly on the host, 110 % of memory", walk_partly_on_host, 110, 1, 256, true, true, PATTERN_NO_ADVICE },
	{ "one page of each block, written first by the GPU, 150 % of memory", walk_cyclic, 150, 512, 1, true, true, PATTERN_NO_ADVICE },
	{ "RM takes 16 MB, 110 % of memory", walk_beside_rm, 110, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "RM takes all but 8 MB, a chunk at a time, 95 % of memory", walk_beside_greedy_rm, 95, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "RM takes and gives beside two processes, 60 % of memory each", walk_beside_restless_rm, 60, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "preferred location GPU, first touch by the GPU, 125 % of memory", walk_reread, 125, 16, 32, true, true, PATTERN_PREFER_GPU },
	{ "preferred location GPU, 110 % of memory", walk_cyclic, 110, 16, 32, false, false, PATTERN_PREFER_GPU },
	{ "preferred location CPU, 110 % of memory", walk_cyclic, 110, 16, 32, false, false, PATTERN_PREFER_CPU },
	{ "accessed by the GPU, 110 % of memory", walk_cyclic, 110, 16, 32, false, false, PATTERN_ACCESSED_BY_GPU },
	{ "accessed by the GPU before its first touch, 125 % of memory", walk_settled, 125, 16, 32, true, true, PATTERN_ACCESSED_BY_GPU },
	{ "preferred location CPU, first touch by the GPU, 125 % of memory", walk_settled, 125, 16, 32, true, true, PATTERN_PREFER_CPU },
	{ "read duplication, 110 % of memory, reads", walk_cyclic, 110, 16, 32, false, false, PATTERN_READ_DUPLICATION },
	{ "read duplication, 110 % of memory, writes", walk_cyclic, 110, 16, 32, true, false, PATTERN_READ_DUPLICATION },
	{ "a batch of 20 blocks", walk_rounds, 174, 512, 20, true, false, PATTERN_NO_ADVICE },
	{ "a batch larger than memory", walk_rounds, 174, 512, 40, true, false, PATTERN_NO_ADVICE },
};
const size_t judge_pattern_count = sizeof(judge_patterns) / sizeof(judge_patterns[0]);

const struct pattern crowd_patterns[] = {
	{ "three processes, 50 % of memory each", walk_three, 50, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "three processes, 40 % of memory each, reads", walk_three, 40, 16, 32, false, false, PATTERN_NO_ADVICE },
	{ "four processes, 60 % of memory each", walk_four, 60, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "four processes, written first by the GPU, 35 % of memory each", walk_four, 35, 1, 256, true, true, PATTERN_NO_ADVICE },
	{ "four processes, two of which free all, 55 % of memory each", walk_four_of_which_two_go, 55, 16, 32, true, false, PATTERN_NO_ADVICE },
};
const size_t crowd_pattern_count = sizeof(crowd_patterns) / sizeof(crowd_patterns[0]);

const struct pattern thrash_patterns[] = {
	{ "CPU and GPU take turns on a page", walk_ping_pong, 0, 1, 1, true, false, PATTERN_NO_ADVICE },
	{ "CPU and GPU take turns on two pages", walk_ping_pong_of_two, 0, 1, 2, true, false, PATTERN_NO_ADVICE },
};
const size_t thrash_pattern_count = sizeof(thrash_patterns) / sizeof(thrash_patterns[0]);

const struct pattern discard_patterns[] = {
	{ "discarded blocks, 130 % of memory, writes", walk_discarded, 130, 1, 256, true, false, PATTERN_NO_ADVICE },
	{ "discarded blocks, 130 % of memory, reads", walk_discarded, 130, 16, 32, false, false, PATTERN_NO_ADVICE },
	{ "discarded blocks that are written again, 130 % of memory", walk_discarded_and_written, 130, 1, 256, true, false, PATTERN_NO_ADVICE },
	{ "discarded blocks that are written in part, 130 % of memory", walk_discarded_and_written, 130, 16, 32, true, false, PATTERN_NO_ADVICE },
};
const size_t discard_pattern_count = sizeof(discard_patterns) / sizeof(discard_patterns[0]);
/* Percent of the limit. */
const struct pattern limit_patterns[] = {
	{ "limit: cyclic, 150 %, writes", walk_cyclic, 150, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: cyclic, 410 %, writes", walk_cyclic, 410, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: cyclic, 450 %, writes", walk_cyclic, 450, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: cyclic, 600 %, 4K pages, reads", walk_cyclic, 600, 1, 256, false, false, PATTERN_NO_ADVICE },
	{ "limit: cyclic, 600 %, one page of each block, first by the GPU", walk_cyclic, 600, 512, 1, true, true, PATTERN_NO_ADVICE },
	{ "limit: cyclic, 600 %, window 4, first by the GPU", walk_cyclic, 600, 128, 4, true, true, PATTERN_NO_ADVICE },
	{ "limit: 2 of 512 pages, backwards, 500 %", walk_backwards, 500, 256, 16, true, false, PATTERN_NO_ADVICE },
	{ "limit: to and fro, 500 %", walk_to_and_fro, 500, 16, 32, false, false, PATTERN_NO_ADVICE },
	{ "limit: random blocks, 500 %", walk_random_blocks, 500, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: random pages, 600 %", walk_random_pages, 600, 1, 1, true, false, PATTERN_NO_ADVICE },
	{ "limit: written first by the GPU, then read, 500 %", walk_reread, 500, 16, 32, true, true, PATTERN_NO_ADVICE },
	{ "limit: four hot blocks, 500 %", walk_hot, 500, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: hot blocks that fault, 500 %", walk_hot_that_faults, 500, 16, 32, true, true, PATTERN_NO_ADVICE },
	{ "limit: batches of 15 blocks, 500 %", walk_rounds, 500, 512, 15, true, false, PATTERN_NO_ADVICE },
	{ "limit: batches of 30 blocks, 500 %", walk_rounds, 500, 512, 30, true, false, PATTERN_NO_ADVICE },
	{ "limit: the CPU reads all back, 500 %", walk_with_cpu, 500, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: unused chunks, 400 %", walk_unused_under_limit, 400, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: prefetches of the application, 500 %", walk_migrated, 500, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: beside an idle neighbour, 500 %", walk_beside_idle, 500, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: beside a neighbour without one, 300 % each", walk_two, 300, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: two, 300 % each", walk_two_limited, 300, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: it moves, 500 %", walk_limit_moves, 500, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: it moves over two ranges, 500 %", walk_limit_moves_over_two, 500, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "limit: it moves, 1500 %", walk_limit_moves_far, 1500, 512, 1, true, true, PATTERN_NO_ADVICE },
};
const size_t limit_pattern_count = sizeof(limit_patterns) / sizeof(limit_patterns[0]);

const struct pattern full_limit_patterns[] = {
	{ "full GPU, limit: cyclic, 150 %", walk_cyclic, 150, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "full GPU, limit: cyclic, 300 %", walk_cyclic, 300, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "full GPU, limit: random blocks, 300 %", walk_random_blocks, 300, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "full GPU, limit: beside an idle neighbour, 200 %", walk_beside_idle, 200, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "full GPU, limit: beside a neighbour without one, 200 % each", walk_two, 200, 16, 32, true, false, PATTERN_NO_ADVICE },
	{ "full GPU, limit: it moves, 250 %", walk_limit_moves, 250, 16, 32, true, false, PATTERN_NO_ADVICE },
};
const size_t full_limit_pattern_count = sizeof(full_limit_patterns) / sizeof(full_limit_patterns[0]);
/* clang-format on */

bool pattern_throttles(const struct pattern *pattern)
{
	for (size_t i = 0; i < thrash_pattern_count; i++)
		if (pattern == &thrash_patterns[i])
			return true;
	return false;
}
