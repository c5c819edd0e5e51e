// SPDX-License-Identifier: MIT OR GPL-2.0
/* The stash of cold victims: how it is filled, and that a chunk taken from it is still cold. */
#include "core_world.h"

static struct gvm_device *const device = &world.device;

static void touch_all(u32 first, u32 count)
{
	while (count--)
		gvm_clock_touch(device, first++);
}

static u32 count_referenced(enum gvm_order order)
{
	u32 count = 0, i;

	for (i = 0; i < device->chunk_count; i++)
		count += world_is_referenced(i, order);
	return count;
}

START_TEST(the_stash_is_filled_and_used_in_the_order_of_the_hand)
{
	struct gvm_container *container = world_attach(1);
	u32 i;

	world_charge_many(container, WORLD_CHUNKS);
	gvm_clock_touch(device, 0);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 5), 4);
	world_check();
	for (i = 1; i < WORLD_CHUNKS; i++)
		ck_assert_uint_eq(gvm_clock_pick_global(device), i);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 0);
	world_detach(container);
}
END_TEST

START_TEST(a_refill_stops_when_the_stash_is_full)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 100);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 1000), GVM_STASH_SIZE);
	world.asks = 0;
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 1000), GVM_STASH_SIZE);
	ck_assert_uint_eq(world.asks, 0);
	ck_assert_uint_eq(device->global.hand, GVM_STASH_SIZE);
	world_check();
	world_detach(container);
}
END_TEST

START_TEST(a_refill_looks_at_no_more_than_it_was_told)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 1000);
	touch_all(0, 1000);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 0), 0);
	ck_assert_uint_eq(count_referenced(GVM_ORDER_GLOBAL), 1000);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 150), 0);
	ck_assert_uint_eq(count_referenced(GVM_ORDER_GLOBAL), 850);
	world_detach(container);
}
END_TEST

START_TEST(a_refill_stashes_no_chunk_twice)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 3);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 100), 3);
	world_check();
	world_detach(container);
	ck_assert_uint_eq(device->stash_count, 0);
}
END_TEST

START_TEST(a_stashed_chunk_that_is_used_is_saved)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 3);
	gvm_clock_refill_stash(device, 2);
	gvm_clock_touch(device, 0);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 1);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 2);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 0);
	world_detach(container);
}
END_TEST

START_TEST(stashed_chunks_are_validated_when_used)
{
	struct gvm_container *a = world_attach(1), *b = world_attach(2);

	world_charge_many(a, 1);
	world_charge_many(b, 4);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 5), 5);
	gvm_limit_set_low(a, GVM_NO_LIMIT);	     /* chunk 0: protected */
	world.pinned[1] = true;			     /* chunk 1: pinned */
	ck_assert_uint_eq(gvm_clock_pick_own(b), 2); /* chunk 2: being evicted */
	gvm_uncharge(device, 3);		     /* chunk 3: another container's */
	ck_assert_uint_eq(world_charge(a), 3);
	world_check();
	ck_assert_uint_eq(gvm_clock_pick_global(device), 4);
	ck_assert_uint_eq(device->stash_count, 0);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	world_detach(a);
	world_detach(b);
}
END_TEST

START_TEST(a_refill_replaces_entries_gone_bad)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 2 * GVM_STASH_SIZE);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, GVM_STASH_SIZE), GVM_STASH_SIZE);
	touch_all(0, GVM_STASH_SIZE);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, GVM_STASH_SIZE), GVM_STASH_SIZE);
	world_check();
	ck_assert_uint_eq(device->stash[0], GVM_STASH_SIZE);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_STASH_SIZE);
	world_detach(container);
}
END_TEST

/* Chunk 0 is used while the device is asked about another chunk. */
static bool evictable_but_zero_is_used(void *memory, u32 chunk)
{
	(void)memory;
	(void)chunk;
	gvm_clock_touch(device, 0);
	return true;
}

START_TEST(a_use_during_a_refill_saves_a_chunk_that_was_stashed_before)
{
	struct gvm_container *container = world_attach(1);
	const struct gvm_memory_ops *ops = device->memory_ops;
	struct gvm_memory_ops touching = *ops;

	world_charge_many(container, 3);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 1), 1);
	touching.evictable = evictable_but_zero_is_used;
	device->memory_ops = &touching;
	/*
	 * The hand stashes 1 and 2, then passes stashed 0. It must leave the bit of 0 set: a
	 * cleared bit would hide the use from the stash.
	 */
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 3), 3);
	device->memory_ops = ops;
	ck_assert_uint_eq(gvm_clock_pick_global(device), 1);
	ck_assert(world_is_referenced(0, GVM_ORDER_GLOBAL));
	world_detach(container);
}
END_TEST

static void setup(void)
{
	world_init(WORLD_CHUNKS);
}

static void setup_large(void)
{
	world_init(1000);
}

static void add_small_tests(TCase *tests)
{
	tcase_add_test(tests, the_stash_is_filled_and_used_in_the_order_of_the_hand);
	tcase_add_test(tests, a_refill_stashes_no_chunk_twice);
	tcase_add_test(tests, a_stashed_chunk_that_is_used_is_saved);
	tcase_add_test(tests, a_use_during_a_refill_saves_a_chunk_that_was_stashed_before);
	tcase_add_test(tests, stashed_chunks_are_validated_when_used);
}

static void add_large_tests(TCase *tests)
{
	tcase_add_test(tests, a_refill_stops_when_the_stash_is_full);
	tcase_add_test(tests, a_refill_looks_at_no_more_than_it_was_told);
	tcase_add_test(tests, a_refill_replaces_entries_gone_bad);
}

int main(void)
{
	Suite *suite = suite_create("policy stash");

	world_add_case(suite, "small", setup, world_destroy, add_small_tests);
	world_add_case(suite, "large", setup_large, world_destroy, add_large_tests);
	return world_run(suite);
}
