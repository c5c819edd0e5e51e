// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Hint faults on a GPU of 16 chunks: which chunk the front hand asks about, what a question
 * costs, and that a used chunk stays. Sixteen blocks fill the GPU in order, so a block and its
 * chunk have the same number.
 */
#include "gvm/clock.h"
#include "gvm/hint.h"
#include "gvm/swap.h"
#include "runner.h"
#include "toy_gpu.h"

#define CHUNK GVM_CHUNK_BYTES

static struct gvm_container *one;
static struct gvm_range *range;

static void begin(u32 features)
{
	u32 i;

	toy_init_with(16, features);
	one = toy_attach(1);
	range = toy_map_range(0, one, 16 * CHUNK, true);
	for (i = 0; i < 16 * 32; i++)
		toy.spaces[0].host[i / 32][i % 32] = 5000 + i;
	for (i = 0; i < 16; i++)
		ck_assert(toy_load(0, 32 * i, 5000 + 32 * i));
	ck_assert_uint_eq(range->blocks[15].chunk, 15);
}

static void end(void)
{
	toy_unmap_range(0);
	gvm_container_detach(one);
	toy_destroy();
}

static int unmap(u32 chunk)
{
	return toy.device.memory_ops->hint(&toy.memory, chunk);
}

/*
 * The front hand is a quarter of the ring ahead, 4 of 16 chunks, and does not ask about the 2
 * chunks next to the hand. The pick passes chunks 0 and 1, which were used when they came in.
 * It takes chunk 2, not used since the front hand passed. Then the hand stands on 3 and the
 * front hand on 4, one ahead.
 */
START_TEST(the_front_hand_is_a_quarter_of_the_ring_ahead)
{
	begin(GVM_HINT_FAULTS);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), 2);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), 3);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), GVM_NO_CHUNK);
	ck_assert_uint_eq(one->own.lead, 4);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	ck_assert_uint_eq(gvm_clock_pick_own(one), 2);
	ck_assert_uint_eq(one->own.lead, 1);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), 5);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), 6);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), GVM_NO_CHUNK);
	gvm_clock_putback(&toy.device, 2);
	end();
}
END_TEST

/* The global hand has a front hand of its own, which leaves the own order's bits alone. */
START_TEST(each_order_asks_for_itself)
{
	begin(GVM_HINT_FAULTS);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, NULL), 2);
	ck_assert_uint_eq(toy.device.referenced[2], GVM_REFERENCED(GVM_ORDER_OWN));
	ck_assert_uint_eq(gvm_clock_pick_global(&toy.device), 2);
	gvm_clock_putback(&toy.device, 2);
	end();
}
END_TEST

/* Chunk 2 is touched again, chunk 3 is not: 3 is the victim. */
START_TEST(what_is_used_after_the_front_hand_was_there_stays)
{
	begin(GVM_HINT_FAULTS);
	while (gvm_hint_next(&toy.device, one) != GVM_NO_CHUNK)
		;
	ck_assert_int_eq(unmap(2), 0);
	ck_assert_int_eq(unmap(3), 0);
	ck_assert(toy_load(0, 2 * 32 + 7, 5000 + 2 * 32 + 7));
	ck_assert_uint_eq(gvm_clock_pick_own(one), 3);
	gvm_clock_putback(&toy.device, 3);
	end();
}
END_TEST

START_TEST(a_minor_fault_maps_the_block_again_and_copies_nothing)
{
	begin(GVM_HINT_FAULTS);
	ck_assert_int_eq(unmap(9), 0);
	ck_assert_uint_eq(range->hinted_pages, 32);
	ck_assert_uint_eq(range->resident_pages, 512);
	ck_assert_uint_eq(toy.spaces[0].readable[9], 0);
	ck_assert_uint_eq(toy.pages[TOY_UNMAP], 32);
	ck_assert_int_eq(unmap(9), 0); /* a second hint unmaps nothing */
	ck_assert_uint_eq(toy.pages[TOY_UNMAP], 32);
	ck_assert(toy_store(0, 9 * 32 + 1, 8));
	ck_assert_uint_eq(toy.handler.stats.faults, 17);
	ck_assert_uint_eq(toy.spaces[0].writable[9], GVM_BLOCK_FULL);
	ck_assert_uint_eq(range->hinted_pages, 0);
	ck_assert_uint_eq(toy.pages[TOY_COPY], 512);
	ck_assert_uint_eq(toy.kinds[TOY_OUT], 0);
	ck_assert_uint_eq(toy.kinds[TOY_CLEAR], 0);
	end();
}
END_TEST

START_TEST(what_is_in_service_or_in_no_block_is_left_alone)
{
	begin(GVM_HINT_FAULTS);
	gvm_frame(&toy.memory, 4, 0)->in_service = true;
	ck_assert_int_eq(unmap(4), -EBUSY);
	gvm_frame(&toy.memory, 4, 0)->in_service = false;
	ck_assert_uint_eq(toy.kinds[TOY_UNMAP], 0);
	toy_unmap_range(0);
	ck_assert_int_eq(unmap(4), -ENOENT);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), GVM_NO_CHUNK);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, NULL), GVM_NO_CHUNK);
	gvm_container_detach(one);
	toy_destroy();
}
END_TEST

/* The hint unmapped the block, so the eviction has nothing left to unmap. No byte is lost. */
START_TEST(what_is_evicted_while_it_is_asked_about_comes_back_whole)
{
	struct gvm_eviction eviction = { 0 };

	begin(GVM_HINT_FAULTS);
	ck_assert(toy_store(0, 32 * 2, 4));
	while (gvm_hint_next(&toy.device, one) != GVM_NO_CHUNK)
		;
	ck_assert_int_eq(unmap(2), 0);
	ck_assert_uint_eq(gvm_clock_pick_own(one), 2);
	ck_assert_int_eq(toy.device.memory_ops->evict(&toy.memory, 2, &eviction), 0);
	ck_assert_uint_eq(toy.pages[TOY_UNMAP], 32);
	ck_assert_uint_eq(range->hinted_pages, 0);
	ck_assert(toy_load(0, 32 * 2, 4));
	ck_assert(toy_load(0, 32 * 2 + 31, 5000 + 32 * 2 + 31));
	end();
}
END_TEST

/*
 * With clean drop, a read maps the block read-only again, and one write fault makes it
 * writable.
 */
START_TEST(a_clean_block_is_as_clean_after_a_hint_as_before)
{
	begin(GVM_HINT_FAULTS | GVM_CLEAN_DROP);
	ck_assert_int_eq(unmap(9), 0);
	ck_assert_int_eq(unmap(10), 0);
	ck_assert(toy_load(0, 9 * 32, 5000 + 9 * 32));
	ck_assert_uint_eq(range->blocks[9].clean, GVM_BLOCK_FULL);
	ck_assert_uint_eq(toy.spaces[0].writable[9], 0);
	ck_assert(toy_store(0, 10 * 32, 1));
	ck_assert_uint_eq(range->blocks[10].clean, 0);
	ck_assert_uint_eq(toy.handler.stats.faults, 18);
	ck_assert_uint_eq(one->clean_bytes, 15 * CHUNK);
	end();
}
END_TEST

/* Chunks leave under the front hand, before it and behind it. */
START_TEST(the_front_hand_steps_off_what_leaves)
{
	struct gvm_eviction eviction = { 0 };
	u32 i;

	begin(GVM_HINT_FAULTS);
	while (gvm_hint_next(&toy.device, one) != GVM_NO_CHUNK)
		;
	ck_assert_uint_eq(one->own.front, 4);
	for (i = 0; i < 16; i++) {
		u32 chunk = (4 + 3 * i) % 16;

		ck_assert(gvm_clock_take(&toy.device, chunk));
		ck_assert_int_eq(toy.device.memory_ops->evict(&toy.memory, chunk, &eviction),
				 0);
		ck_assert_int_eq(gvm_check(&toy.device), 0);
	}
	ck_assert_uint_eq(one->own.lead, 0);
	end();
}
END_TEST

/* A front hand that the hand overtakes begins anew. */
START_TEST(a_front_hand_that_was_overtaken_begins_anew)
{
	u32 i;

	begin(GVM_HINT_FAULTS);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), 2);
	for (i = 0; i < 16; i++)
		gvm_clock_touch(&toy.device, i);
	ck_assert_uint_eq(gvm_clock_pick_own(one), 0); /* after a full turn */
	ck_assert_uint_eq(one->own.lead, 0);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), 3);
	gvm_clock_putback(&toy.device, 0);
	end();
}
END_TEST

/* A protected container gives no chunk to the global hand, and is not asked for one. */
START_TEST(a_protected_container_is_not_asked_for_others)
{
	begin(GVM_HINT_FAULTS);
	gvm_limit_set_low(one, GVM_NO_LIMIT);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, NULL), GVM_NO_CHUNK);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), 2);
	end();
}
END_TEST

/* A container with a full hmem.limit is not asked either: no chunk of it can go. */
START_TEST(who_can_give_nothing_is_not_asked)
{
	struct gvm_container *two;
	u32 i, chunk;

	begin(GVM_HINT_FAULTS);
	two = toy_attach(2);
	toy_map_range(1, two, 8 * CHUNK, false);
	for (i = 0; i < 8; i++)
		ck_assert(toy_load(1, 32 * i, 0));
	gvm_limit_set_hmem(one, 0);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), GVM_NO_CHUNK);
	chunk = gvm_hint_next(&toy.device, NULL);
	ck_assert(chunk == GVM_NO_CHUNK || toy.device.chunks[chunk].owner == two);
	toy_unmap_range(1);
	gvm_container_detach(two);
	end();
}
END_TEST

/* Half of the device is unevictable. A quarter of the other half is 2. */
START_TEST(pinned_memory_is_no_part_of_the_ring)
{
	struct gvm_unevictable pinned;

	begin(GVM_HINT_FAULTS);
	gvm_range_discard(range, 8 * CHUNK, 8 * CHUNK);
	gvm_unevictable_init(&pinned, one);
	ck_assert_int_eq(gvm_unevictable_add(&toy.memory, &pinned, 8 * CHUNK), 0);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), 1);
	ck_assert_uint_eq(gvm_hint_next(&toy.device, one), GVM_NO_CHUNK);
	ck_assert_uint_eq(one->own.lead, 2);
	gvm_unevictable_release(&toy.memory, &pinned);
	end();
}
END_TEST

TEST_MAIN("hint faults", the_front_hand_is_a_quarter_of_the_ring_ahead,
	  each_order_asks_for_itself, what_is_used_after_the_front_hand_was_there_stays,
	  a_minor_fault_maps_the_block_again_and_copies_nothing,
	  what_is_in_service_or_in_no_block_is_left_alone,
	  what_is_evicted_while_it_is_asked_about_comes_back_whole,
	  a_clean_block_is_as_clean_after_a_hint_as_before,
	  the_front_hand_steps_off_what_leaves, a_front_hand_that_was_overtaken_begins_anew,
	  a_protected_container_is_not_asked_for_others, who_can_give_nothing_is_not_asked,
	  pinned_memory_is_no_part_of_the_ring)
