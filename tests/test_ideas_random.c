// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Random lives of three address spaces on a GPU that is too small for them, with clean drop and hint
 * faults: every byte compared, and PTEs and books after each step.
 */
#include "gvm/hint.h"
#include "runner.h"
#include "toy_gpu.h"

#define CHUNK GVM_CHUNK_BYTES
#define PAGE  GVM_PAGE_BYTES

enum { SPACES = 3, BLOCKS = 10, STEPS = 20000 };

static u64 random_state;
static struct gvm_container *one;
static u64 hints;
static u32 tags[SPACES][BLOCKS * 32];

/* splitmix64 */
static u32 draw(u32 below)
{
	u64 z = random_state += 0x9E3779B97F4A7C15ull;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return (u32)((z ^ z >> 31) % below);
}

static void map_space(u32 space)
{
	u32 page;

	toy_map_range(space, one, BLOCKS * CHUNK, true);
	for (page = 0; page < BLOCKS * 32; page++) {
		tags[space][page] = draw(U32_MAX);
		toy.spaces[space].host[page / 32][page % 32] = tags[space][page];
	}
}

/* The counters are what the masks add up to, and PTEs permit no write that would be lost. */
static void check_books(void)
{
	u64 clean = 0, hinted = 0, swapped = 0;
	u32 space, i;

	for (space = 0; space < SPACES; space++) {
		const struct toy_space *me = &toy.spaces[space];
		u64 before = clean, hinted_before = hinted;

		for (i = 0; i < BLOCKS; i++) {
			const struct gvm_block *block = &me->range.blocks[i];

			ck_assert_uint_eq(block->clean, block->resident & block->on_host);
			ck_assert_uint_eq(block->hinted & ~block->resident, 0);
			ck_assert_uint_eq(me->readable[i], block->resident & ~block->hinted);
			ck_assert_uint_eq(me->writable[i], me->readable[i] & ~block->clean);
			clean += hweight32(block->clean);
			hinted += hweight32(block->hinted);
			swapped += hweight32(block->swapped);
		}
		ck_assert_uint_eq(me->range.clean_pages, clean - before);
		ck_assert_uint_eq(me->range.hinted_pages, hinted - hinted_before);
	}
	ck_assert_uint_eq(one->clean_bytes, clean * PAGE);
	ck_assert_uint_eq(one->swapped_bytes, swapped * PAGE);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
}

/* As an evictor does, which has no thread here. */
static void hint(struct gvm_container *container)
{
	u32 chunk = gvm_hint_next(&toy.device, container);

	if (chunk != GVM_NO_CHUNK)
		ck_assert_int_eq(toy.device.ops->hint_chunk(NULL, chunk), 0);
	hints += chunk != GVM_NO_CHUNK;
}

static void random_step(void)
{
	u32 space = draw(SPACES), page = draw(BLOCKS * 32);

	switch (draw(40)) {
	case 0:
		toy_unmap_range(space);
		map_space(space);
		break;
	case 1:
		toy.fail_out = (u32)toy.kinds[TOY_OUT] + 1 + draw(3);
		break;
	case 2:
		gvm_limit_set_high(one, (1 + draw(16)) * CHUNK);
		gvm_reclaim(one);
		break;
	case 3 ... 8:
		hint(draw(2) ? one : NULL);
		break;
	case 9 ... 14:
		tags[space][page] = draw(U32_MAX);
		while (!toy_store(space, page, tags[space][page]))
			; /* an eviction failed, and the fault with it */
		break;
	default:
		while (!toy_load(space, page, tags[space][page]))
			;
	}
}

START_TEST(no_byte_is_lost_in_random_runs)
{
	u32 space, step;

	random_state = runner_seed();
	toy_init_with(12, GVM_CLEAN_DROP | GVM_HINT_FAULTS);
	one = toy_attach(1);
	for (space = 0; space < SPACES; space++)
		map_space(space);
	for (step = 0; step < STEPS; step++) {
		random_step();
		check_books();
	}
	/* It was a real test: both ways out were taken often, and hints given. */
	ck_assert_uint_gt(hints, 500);
	ck_assert_uint_gt(toy.pages[TOY_OUT], 1000);
	ck_assert_uint_gt(one->evicted_chunks * 32, toy.pages[TOY_OUT] + 1000);
	for (space = 0; space < SPACES; space++)
		toy_unmap_range(space);
	ck_assert_uint_eq(one->swapped_bytes, 0);
	ck_assert_uint_eq(one->clean_bytes, 0);
	gvm_container_detach(one);
	toy_destroy();
}
END_TEST

TEST_MAIN("ideas random", no_byte_is_lost_in_random_runs)
