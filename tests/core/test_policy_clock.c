// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The dual CLOCK: the order in which chunks leave, and how far a pick may look. The orders here
 * are worked out by hand; test_policy_oracle.c has the long ones.
 */
#include "core_world.h"

#include <signal.h>

static struct gvm_device *const device = &world.device;

/* Free a picked chunk and charge it to @container again, as a fault handler does. */
static void refill(struct gvm_container *container, u32 victim)
{
	gvm_uncharge(device, victim);
	world_charge_chunk(container, victim);
}

/*
 * Worked by hand, with three chunks: A is in chunk 0, B in 1, C in 2. "A*" has its bit set,
 * "^" is the hand:
 *
 *   ^A* B  C     D: A has its second chance, B goes     A  D ^C      (D in chunk 1)
 *    A  D ^C*    E: C has its second chance, A goes     E ^D  C      (E in chunk 0)
 *    E ^D  C     F: D goes                              E  F ^C      (F in chunk 1)
 *    E* F*^C     G: C goes, its chance is spent        ^E* F* G      (G in chunk 2)
 *   ^E* F* G     H: E and F have theirs, G goes        ^E  F  H      (H in chunk 2)
 *   ^E  F  H     I: E goes
 */
static void play_golden(struct gvm_container *container, u32 (*pick)(struct gvm_container *))
{
	static const struct {
		u32 touched[2]; /* before the pick */
		u32 victim;
	} steps[] = {
		{ { 0, GVM_NO_CHUNK }, 1 },
		{ { 2, GVM_NO_CHUNK }, 0 },
		{ { GVM_NO_CHUNK, GVM_NO_CHUNK }, 1 },
		{ { 0, 1 }, 2 },
		{ { GVM_NO_CHUNK, GVM_NO_CHUNK }, 2 },
		{ { GVM_NO_CHUNK, GVM_NO_CHUNK }, 0 },
	};
	u32 i, j;

	world_charge_many(container, 3);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		for (j = 0; j < 2; j++) {
			if (steps[i].touched[j] != GVM_NO_CHUNK)
				gvm_clock_touch(device, steps[i].touched[j]);
		}
		ck_assert_uint_eq(pick(container), steps[i].victim);
		world_check();
		refill(container, steps[i].victim);
	}
}

static u32 pick_global_of(struct gvm_container *container)
{
	return gvm_clock_pick_global(container->device);
}

START_TEST(own_order_matches_a_sequence_worked_by_hand)
{
	struct gvm_container *container = world_attach(1);

	play_golden(container, gvm_clock_pick_own);
	world_detach(container);
}
END_TEST

START_TEST(global_order_matches_a_sequence_worked_by_hand)
{
	struct gvm_container *container = world_attach(1);

	play_golden(container, pick_global_of);
	world_detach(container);
}
END_TEST

/* F8: containers without a limit stand in the global order like all others. */
START_TEST(chunks_go_first_in_first_out_when_nothing_is_touched)
{
	struct gvm_container *a = world_attach(1), *b = world_attach(2);
	u32 i;

	for (i = 0; i < WORLD_CHUNKS; i++)
		world_charge(i % 3 ? a : b);
	for (i = 0; i < WORLD_CHUNKS; i++)
		ck_assert_uint_eq(gvm_clock_pick_global(device), i);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	world_detach(a);
	world_detach(b);
}
END_TEST

START_TEST(sweeping_one_order_leaves_the_other_orders_recency_alone)
{
	struct gvm_container *a = world_attach(1), *b = world_attach(2);

	world_charge_many(a, 2);
	world_charge(b);
	world_touch_many(0, 2);

	/* The own sweep clears the own bits of both chunks, and takes the first. */
	ck_assert_uint_eq(gvm_clock_pick_own(a), 0);
	ck_assert(!world_is_referenced(1, GVM_ORDER_OWN));
	gvm_uncharge(device, 0);

	/* In the global order, chunk 1 is still warmer than b's chunk, which was never used. */
	ck_assert_uint_eq(gvm_clock_pick_global(device), 2);
	world_detach(a);
	world_detach(b);
}
END_TEST

START_TEST(a_pick_takes_only_what_the_device_lets_go)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 4);
	world_pin_many(0, 2);
	ck_assert_uint_eq(gvm_clock_pick_own(container), 2);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 3);
	ck_assert_uint_eq(gvm_clock_pick_own(container), GVM_NO_CHUNK);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	world_detach(container);
}
END_TEST

START_TEST(the_device_is_asked_only_about_what_would_be_taken)
{
	struct gvm_container *container = world_attach(1);
	struct gvm_container *protected = world_attach(2);

	gvm_limit_set_low(protected, GVM_NO_LIMIT);
	world_charge_many(protected, 2);
	world_charge_many(container, 3);
	ck_assert_uint_eq(gvm_clock_pick_own(container), 2);
	gvm_clock_touch(device, 3);
	world.asks = 0;
	ck_assert_uint_eq(gvm_clock_pick_global(device), 4);
	ck_assert_uint_eq(world.asks, 1);
	ck_assert_uint_eq(world.asked[4], 1);
	world_detach(container);
	world_detach(protected);
}
END_TEST

START_TEST(a_victim_is_charged_until_it_is_gone_and_picked_once)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 2);
	ck_assert_uint_eq(gvm_clock_pick_own(container), 0);
	ck_assert_uint_eq(gvm_charged_bytes(container), 2 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 1);
	ck_assert_uint_eq(gvm_clock_pick_own(container), GVM_NO_CHUNK);
	world_check();
	gvm_uncharge(device, 0);
	gvm_uncharge(device, 1);
	ck_assert_uint_eq(container->evicted_chunks, 2);
	world_detach(container);
}
END_TEST

START_TEST(a_chunk_put_back_counts_as_just_used)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 3);
	ck_assert_uint_eq(gvm_clock_pick_own(container), 0);
	gvm_clock_putback(device, 0);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 1);
	ck_assert_uint_eq(gvm_clock_pick_own(container), 2);
	ck_assert_uint_eq(gvm_clock_pick_own(container), 0);
	gvm_uncharge(device, 1);
	gvm_clock_putback(device, 2);
	world_detach(container);
	ck_assert_uint_eq(world.live, 1);
}
END_TEST

START_TEST(putting_back_what_was_not_picked_is_a_broken_invariant)
{
	gvm_clock_putback(device, world_charge(world_attach(1)));
}
END_TEST

START_TEST(a_new_chunk_is_cold_however_hot_it_was_before)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 2);
	gvm_clock_touch(device, 0);
	gvm_uncharge(device, 0);
	gvm_clock_touch(device, 0); /* lockless: a late touch is possible */
	world_charge_many(container, 2);
	/* In the order of their arrival: 1, 0, 2. */
	ck_assert_uint_eq(gvm_clock_pick_global(device), 1);
	ck_assert(!world_is_referenced(0, GVM_ORDER_OWN));
	ck_assert_uint_eq(gvm_clock_pick_global(device), 0);
	ck_assert_uint_eq(gvm_clock_pick_own(container), 2);
	world_detach(container);
}
END_TEST

/* F7 */
START_TEST(own_picks_never_cross_into_another_container)
{
	struct gvm_container *a = world_attach(1), *b = world_attach(2);

	world_charge_many(a, 1);
	world_charge_many(b, 3);
	ck_assert_uint_eq(gvm_clock_pick_own(a), 0);
	ck_assert_uint_eq(gvm_clock_pick_own(a), GVM_NO_CHUNK);
	world_detach(a);
	world_detach(b);
}
END_TEST

/* F11: a search that finds nothing returns "none", and no pointer left over. */
START_TEST(nothing_charged_means_no_victim)
{
	struct gvm_container *container = world_attach(1);

	ck_assert_uint_eq(gvm_clock_pick_own(container), GVM_NO_CHUNK);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 1000), 0);
	world_detach(container);
}
END_TEST

/* Bounds. Each bit that a sweep clears is a look, and each question to the device is one. */

/* F7: no walk past the end of a list, and no loop without an end. */
START_TEST(an_own_pick_looks_at_no_more_than_its_bound)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 1000);
	world_touch_many(0, 1000);
	ck_assert_uint_eq(gvm_clock_pick_own(container), GVM_NO_CHUNK);
	ck_assert_uint_eq(world_count_referenced(GVM_ORDER_OWN), 1000 - GVM_PICK_LOOKS);
	world_pin_many(0, 1000);
	ck_assert_uint_eq(world.asks, 0);
	ck_assert_uint_eq(world_pick_own(container, 1000 / GVM_PICK_LOOKS), GVM_NO_CHUNK);
	world.asks = 0;
	ck_assert_uint_eq(gvm_clock_pick_own(container), GVM_NO_CHUNK);
	ck_assert_uint_le(world.asks, GVM_PICK_LOOKS);
	ck_assert_uint_gt(world.asks, 0);
	world_detach(container);
}
END_TEST

/* F9 */
START_TEST(an_own_pick_costs_the_same_however_many_chunks_others_have)
{
	struct gvm_container *crowd = world_attach(1), *container = world_attach(2);

	world_charge_many(crowd, 999);
	world_touch_many(0, 999);
	ck_assert_uint_eq(world_charge(container), 999);
	ck_assert_uint_eq(gvm_clock_pick_own(container), 999);
	ck_assert_uint_eq(world.asks, 1);
	ck_assert_uint_eq(world_count_referenced(GVM_ORDER_OWN), 999);
	world_detach(crowd);
	world_detach(container);
}
END_TEST

START_TEST(a_global_pick_looks_at_no_more_than_its_bound)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 1000);
	ck_assert_uint_eq(gvm_clock_refill_stash(device, 1000), GVM_STASH_SIZE);
	world_pin_many(0, 1000);
	world.asks = 0;
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	ck_assert_uint_le(world.asks, GVM_PICK_LOOKS);
	ck_assert_uint_ge(world.asks, GVM_PICK_LOOKS / 2);

	world_touch_many(0, 1000);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	ck_assert_uint_ge(world_count_referenced(GVM_ORDER_GLOBAL), 1000 - GVM_PICK_LOOKS);
	world_detach(container);
}
END_TEST

START_TEST(a_pick_on_a_tiny_ring_does_not_ask_in_circles)
{
	struct gvm_container *container = world_attach(1);

	world_charge(container);
	world_pin_many(0, 1);
	ck_assert_uint_eq(gvm_clock_pick_own(container), GVM_NO_CHUNK);
	ck_assert_uint_le(world.asks, 2);
	/*
	 * The hand asks twice about the only chunk. The last resort asks at every other of its
	 * 16 looks.
	 */
	world.asks = 0;
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	ck_assert_uint_le(world.asks, 2 + 16 / 2);
	world_detach(container);
}
END_TEST

START_TEST(used_chunks_get_their_second_chance_whatever_the_bound)
{
	struct gvm_container *container = world_attach(1);
	u32 calls = 0;

	world_charge_many(container, 1000);
	world_touch_many(0, 1000);
	while (gvm_clock_pick_global(device) == GVM_NO_CHUNK)
		calls++;
	/* A whole turn at 48 looks a call, then the first chunk, as in CLOCK. */
	ck_assert_uint_eq(calls, 1000 / 48);
	ck_assert_uint_eq(device->chunks[0].state, GVM_CHUNK_EVICTING);
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

static void add_order_tests(TCase *tests)
{
	tcase_add_test(tests, own_order_matches_a_sequence_worked_by_hand);
	tcase_add_test(tests, global_order_matches_a_sequence_worked_by_hand);
	tcase_add_test(tests, chunks_go_first_in_first_out_when_nothing_is_touched);
	tcase_add_test(tests, sweeping_one_order_leaves_the_other_orders_recency_alone);
	tcase_add_test(tests, a_pick_takes_only_what_the_device_lets_go);
	tcase_add_test(tests, the_device_is_asked_only_about_what_would_be_taken);
	tcase_add_test(tests, a_victim_is_charged_until_it_is_gone_and_picked_once);
	tcase_add_test(tests, a_chunk_put_back_counts_as_just_used);
	tcase_add_test_raise_signal(
		tests, putting_back_what_was_not_picked_is_a_broken_invariant, SIGABRT);
	tcase_add_test(tests, a_new_chunk_is_cold_however_hot_it_was_before);
	tcase_add_test(tests, own_picks_never_cross_into_another_container);
	tcase_add_test(tests, nothing_charged_means_no_victim);
	tcase_add_test(tests, a_pick_on_a_tiny_ring_does_not_ask_in_circles);
}

static void add_large_tests(TCase *tests)
{
	tcase_add_test(tests, an_own_pick_looks_at_no_more_than_its_bound);
	tcase_add_test(tests, an_own_pick_costs_the_same_however_many_chunks_others_have);
	tcase_add_test(tests, a_global_pick_looks_at_no_more_than_its_bound);
	tcase_add_test(tests, used_chunks_get_their_second_chance_whatever_the_bound);
}

int main(void)
{
	Suite *suite = suite_create("policy clock");

	world_add_case(suite, "order", setup, world_destroy, add_order_tests);
	world_add_case(suite, "large", setup_large, world_destroy, add_large_tests);
	return world_run(suite);
}
