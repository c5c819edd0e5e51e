// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * hmem.limit in the books: a pick reserves room on the host first, and a container without room
 * for one more chunk has no victim. Unevictable memory is charged and is never a victim.
 */
#include "core_world.h"
#include "gvm/block.h"
#include "gvm/swap.h"

#include <signal.h>

#define CHUNK GVM_CHUNK_BYTES

static struct gvm_device *const device = &world.device;
static struct gvm_container *a, *b;

START_TEST(picks_in_flight_never_add_up_to_more_than_the_limit)
{
	world_charge_many(a, 6);
	gvm_limit_set_hmem(a, 2 * CHUNK);
	ck_assert_uint_eq(world_pick_own(a, 1), 0);
	ck_assert_uint_eq(world_pick_own(a, 1), 1);
	ck_assert(a->is_swap_full);
	ck_assert_uint_eq(world_pick_own(a, 8), GVM_NO_CHUNK);
	ck_assert_uint_eq(world_pick_global(8), GVM_NO_CHUNK);
	ck_assert_uint_eq(gvm_clock_pick_protected(device), GVM_NO_CHUNK);
	ck_assert(!gvm_clock_take(device, 5));
	world_check();
	/*
	 * One eviction ended with half of its pages swapped, the other chunk was put back: 1.5
	 * chunks of room.
	 */
	gvm_swap_charge(a, CHUNK / 2);
	gvm_uncharge(device, 0);
	gvm_clock_putback(device, 1);
	world_check();
	ck_assert(gvm_clock_take(device, 5));
	ck_assert(a->is_swap_full);
	ck_assert(!gvm_clock_take(device, 4));
	gvm_clock_putback(device, 5);
	gvm_swap_uncharge(a, CHUNK / 2);
}
END_TEST

START_TEST(less_than_a_chunk_of_room_is_none)
{
	world_charge(a);
	gvm_limit_set_hmem(a, CHUNK - 1);
	ck_assert_uint_eq(world_pick_own(a, 4), GVM_NO_CHUNK);
	gvm_limit_set_hmem(a, CHUNK);
	ck_assert_uint_eq(world_pick_own(a, 1), 0);
	gvm_clock_putback(device, 0);
	gvm_limit_set_hmem(a, 3 * CHUNK);
	gvm_swap_charge(a, 2 * CHUNK + 1);
	ck_assert(!gvm_clock_take(device, 0));
	gvm_swap_uncharge(a, 1);
	ck_assert(gvm_clock_take(device, 0));
	gvm_clock_putback(device, 0);
	gvm_swap_uncharge(a, 2 * CHUNK);
}
END_TEST

START_TEST(what_is_swapped_when_the_limit_is_lowered_stays_and_nothing_follows_it)
{
	world_charge_many(a, 2);
	gvm_swap_charge(a, 5 * CHUNK);
	gvm_limit_set_hmem(a, CHUNK);
	ck_assert_uint_eq(a->swapped_bytes, 5 * CHUNK);
	ck_assert_uint_eq(world_pick_global(4), GVM_NO_CHUNK);
	gvm_swap_uncharge(a, 4 * CHUNK);
	ck_assert_uint_eq(world_pick_global(4), GVM_NO_CHUNK);
	gvm_swap_uncharge(a, CHUNK);
	ck_assert(world_pick_global(4) != GVM_NO_CHUNK);
	world_check();
}
END_TEST

/*
 * Like a wall of protected chunks: the pick asks the device about no chunk of the full
 * container.
 */
START_TEST(a_global_pick_passes_over_the_full_and_costs_no_more)
{
	world_charge_many(a, 12);
	world_charge_many(b, 4);
	gvm_limit_set_hmem(a, 0);
	world.asks = 0;
	ck_assert_uint_eq(world_pick_global(1), 12);
	ck_assert_uint_eq(world.asks, 1);
	ck_assert_uint_eq(device->exposed_chunks, 4);
	ck_assert_uint_eq(device->stuck_chunks, 12);
	world_check();
	/*
	 * Room again: its chunks stand where they would stand if the hand had passed over them.
	 */
	gvm_limit_set_hmem(a, GVM_NO_LIMIT);
	ck_assert_uint_eq(device->exposed_chunks, 16);
	ck_assert_uint_eq(device->stuck_chunks, 0);
	ck_assert_uint_eq(world_pick_global(1), 13);
	world_check();
}
END_TEST

START_TEST(the_stash_does_not_give_what_may_not_go)
{
	world_charge_many(a, 4);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 16), 4);
	gvm_limit_set_hmem(a, CHUNK);
	ck_assert_uint_eq(world_pick_global(1), 0);
	/*
	 * Three chunks are still stashed, but the room reserved for the first uses up the
	 * limit.
	 */
	ck_assert_uint_eq(world_pick_global(4), GVM_NO_CHUNK);
	world_check();
}
END_TEST

START_TEST(protected_and_full_is_shielded_until_both_have_gone)
{
	world_charge_many(a, 2);
	gvm_limit_set_low(a, 2 * CHUNK);
	gvm_limit_set_hmem(a, 0);
	ck_assert_uint_eq(world_pick_global(1), GVM_NO_CHUNK);
	gvm_limit_set_low(a, 0);
	ck_assert_uint_eq(world_pick_global(1), GVM_NO_CHUNK);
	world_check();
	gvm_limit_set_low(a, 2 * CHUNK);
	gvm_limit_set_hmem(a, GVM_NO_LIMIT);
	ck_assert_uint_eq(world_pick_global(1), GVM_NO_CHUNK);
	ck_assert(gvm_clock_pick_protected(device) != GVM_NO_CHUNK);
	world_check();
}
END_TEST

static void pin(struct gvm_container *container, u32 count)
{
	while (count--) {
		ck_assert_int_eq(gvm_charge_reserve(container), 0);
		gvm_charge_bind_unevictable(container, GVM_CHUNK_BYTES);
	}
}

START_TEST(pinned_memory_is_usage_and_no_victim)
{
	gvm_limit_set_high(a, 4 * CHUNK);
	pin(a, 3);
	ck_assert_uint_eq(gvm_charged_bytes(a), 3 * CHUNK);
	ck_assert_uint_eq(gvm_peak_bytes(a), 3 * CHUNK);
	ck_assert_uint_eq((device->unevictable_bytes >> GVM_CHUNK_SHIFT), 3);
	ck_assert_uint_eq(device->bound_chunks, 0);
	world_check();
	ck_assert_uint_eq(world_charge(a), 0);
	ck_assert_int_eq(gvm_charge_reserve(a), -EDQUOT);
	ck_assert_uint_eq(world_pick_own(a, 4), 0);
	ck_assert_uint_eq(world_pick_own(a, 4), GVM_NO_CHUNK);
	gvm_uncharge(device, 0);
	ck_assert_uint_eq(gvm_charged_bytes(a), 3 * CHUNK);
	while ((a->unevictable_bytes >> GVM_CHUNK_SHIFT))
		gvm_uncharge_unevictable(a, GVM_CHUNK_BYTES);
	ck_assert_uint_eq(gvm_charged_bytes(a), 0);
	ck_assert_uint_eq(gvm_peak_bytes(a), 4 * CHUNK);
}
END_TEST

START_TEST(pinned_memory_counts_for_protection)
{
	gvm_limit_set_low(a, 2 * CHUNK);
	world_charge_many(a, 2);
	ck_assert(a->is_protected);
	pin(a, 1);
	ck_assert(!a->is_protected);
	ck_assert_uint_eq(device->exposed_chunks, 2);
	gvm_uncharge_unevictable(a, GVM_CHUNK_BYTES);
	ck_assert(a->is_protected);
	world_check();
}
END_TEST

START_TEST(to_pin_without_a_reservation_is_a_broken_invariant)
{
	gvm_charge_bind_unevictable(a, GVM_CHUNK_BYTES);
}
END_TEST

START_TEST(to_unpin_what_was_not_pinned_is_a_broken_invariant)
{
	world_charge(a);
	gvm_uncharge_unevictable(a, GVM_CHUNK_BYTES);
}
END_TEST

/* The expected numbers follow from the format: see block/unevictable.c. */
START_TEST(page_tables_take_what_their_format_says)
{
	ck_assert_uint_eq(gvm_page_table_space_bytes(), 12288);
	ck_assert_uint_eq(gvm_page_table_range_bytes(1), 2 * 4096 + 256);
	ck_assert_uint_eq(gvm_page_table_range_bytes(CHUNK), 2 * 4096 + 256);
	ck_assert_uint_eq(gvm_page_table_range_bytes(512 << 20), 2 * 4096 + 256 * 256);
	ck_assert_uint_eq(gvm_page_table_range_bytes((512 << 20) + 1), 3 * 4096 + 257 * 256);
	/* 30 GiB: 60 PDE0 tables and one more, and 15360 blocks. */
	ck_assert_uint_eq(gvm_page_table_range_bytes(30ull << 30), 61 * 4096 + 15360 * 256);
}
END_TEST

static void setup(void)
{
	world_init(WORLD_CHUNKS);
	a = world_attach(1);
	b = world_attach(2);
}

static void teardown(void)
{
	world_detach(a);
	world_detach(b);
	world_destroy();
}

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, picks_in_flight_never_add_up_to_more_than_the_limit);
	tcase_add_test(tests, less_than_a_chunk_of_room_is_none);
	tcase_add_test(tests,
		       what_is_swapped_when_the_limit_is_lowered_stays_and_nothing_follows_it);
	tcase_add_test(tests, a_global_pick_passes_over_the_full_and_costs_no_more);
	tcase_add_test(tests, the_stash_does_not_give_what_may_not_go);
	tcase_add_test(tests, protected_and_full_is_shielded_until_both_have_gone);
	tcase_add_test(tests, pinned_memory_is_usage_and_no_victim);
	tcase_add_test(tests, pinned_memory_counts_for_protection);
	tcase_add_test_raise_signal(tests, to_pin_without_a_reservation_is_a_broken_invariant,
				    SIGABRT);
	tcase_add_test_raise_signal(tests, to_unpin_what_was_not_pinned_is_a_broken_invariant,
				    SIGABRT);
	tcase_add_test(tests, page_tables_take_what_their_format_says);
}

int main(void)
{
	Suite *suite = suite_create("hmem limit and pinned memory");

	world_add_case(suite, "hmem", setup, teardown, add_tests);
	return world_run(suite);
}
