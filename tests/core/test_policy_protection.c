// SPDX-License-Identifier: MIT OR GPL-2.0
/* The dual CLOCK: which containers it spares, and what it takes when all are spared. */
#include "core_world.h"

static struct gvm_device *const device = &world.device;

/* D24 */
START_TEST(containers_at_or_under_low_are_spared)
{
	struct gvm_container *a = world_attach(1), *b = world_attach(2);
	u32 i;

	world_charge_many(a, 4);
	world_charge_many(b, 4);
	gvm_limit_set_low(a, 4 * GVM_CHUNK_BYTES);
	for (i = 4; i < 8; i++) {
		ck_assert_uint_eq(gvm_clock_pick_global(device), i);
		world_check();
	}
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	/* Its own limit still evicts its chunks. */
	ck_assert_uint_eq(gvm_clock_pick_own(a), 0);
	world_check();
	world_detach(a);
	world_detach(b);
}
END_TEST

START_TEST(one_chunk_above_low_is_not_spared)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 4);
	gvm_limit_set_low(container, 3 * GVM_CHUNK_BYTES);
	ck_assert(!container->is_protected);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 0);
	gvm_uncharge(device, 0);
	ck_assert(container->is_protected);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	world_detach(container);
}
END_TEST

/* Two evictions at once take no more than the excess over the low limit. */
START_TEST(what_is_picked_counts_as_gone_for_protection)
{
	struct gvm_container *container = world_attach(1);

	world_charge_many(container, 5);
	gvm_limit_set_low(container, 3 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 0);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 1);
	ck_assert_uint_eq(gvm_charged_bytes(container), 5 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	/* One victim was put back, so one more may go. */
	gvm_clock_putback(device, 0);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 2);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	world_detach(container);
}
END_TEST

START_TEST(a_protected_container_that_grows_loses_its_protection)
{
	struct gvm_container *container = world_attach(1);

	gvm_limit_set_low(container, 2 * GVM_CHUNK_BYTES);
	world_charge_many(container, 2);
	ck_assert_uint_eq(device->global.hand, GVM_NO_CHUNK); /* they were never on the ring */
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	world_charge(container);
	world_check();
	ck_assert_uint_eq(gvm_clock_pick_global(device), 0);
	world_detach(container);
}
END_TEST

START_TEST(hovering_around_low_keeps_the_order_and_the_books)
{
	struct gvm_container *hovering = world_attach(1), *other = world_attach(2);
	u32 last = GVM_NO_CHUNK, i;

	world_charge_many(hovering, 4);
	world_charge_many(other, 4);
	gvm_limit_set_low(hovering, 4 * GVM_CHUNK_BYTES);
	for (i = 0; i < 100; i++) {
		u32 chunk = world_charge(hovering); /* above the low limit */
		u32 victim;

		world_check();
		ck_assert(!hovering->is_protected);
		gvm_uncharge(device, chunk); /* at the low limit */
		ck_assert(hovering->is_protected);
		victim = gvm_clock_pick_global(device);
		ck_assert_ptr_eq(device->chunks[victim].owner, other);
		gvm_clock_putback(device, victim);
		world_check();
	}
	/*
	 * The other container decides where the hand stands. The chunks of @hovering still go
	 * in turn.
	 */
	gvm_limit_set_low(hovering, 0);
	for (i = 0; i < 8; i++) {
		u32 victim = gvm_clock_pick_global(device);

		if (device->chunks[victim].owner != hovering)
			continue;
		ck_assert(last == GVM_NO_CHUNK || victim == (last + 1) % 4);
		last = victim;
	}
	world_detach(hovering);
	world_detach(other);
}
END_TEST

START_TEST(unprotected_chunks_come_back_where_the_hand_has_passed)
{
	struct gvm_container *a = world_attach(1), *b = world_attach(2);

	world_charge_many(a, 2);
	world_charge_many(b, 2);
	gvm_limit_set_low(a, GVM_NO_LIMIT);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 2);
	gvm_limit_set_low(a, 0);
	world_check();
	ck_assert_uint_eq(gvm_clock_pick_global(device), 3);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 0);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 1);
	world_detach(a);
	world_detach(b);
}
END_TEST

START_TEST(a_victim_is_found_behind_a_wall_of_protected_chunks)
{
	struct gvm_container *wall = world_attach(1), *small = world_attach(2);
	u32 i;

	world_charge_many(wall, 950);
	world_charge_many(small, 50);
	world_touch_many(0, 1000);
	gvm_limit_set_low(wall, GVM_NO_LIMIT);
	for (i = 0; i < 50; i++) {
		u32 victim = gvm_clock_pick_global(device);

		ck_assert_uint_ge(victim, 950);
		ck_assert_uint_lt(victim, 1000);
		gvm_uncharge(device, victim);
	}
	ck_assert_uint_eq(world_pick_global(100), GVM_NO_CHUNK);
	world_detach(wall);
	world_detach(small);
}
END_TEST

START_TEST(the_hand_is_not_slowed_by_a_wall_that_it_has_cleared)
{
	struct gvm_container *wall = world_attach(1), *small = world_attach(2);
	u32 i;

	world_charge_many(wall, 950);
	world_charge_many(small, 50);
	gvm_limit_set_low(wall, GVM_NO_LIMIT);
	for (i = 0; i < 950 / 48 + 1; i++)
		gvm_clock_putback(device, gvm_clock_pick_global(device));
	world_touch_many(950, 50);
	for (i = 0; i < 2; i++)
		gvm_clock_pick_global(device);
	/* 50 second chances in two calls: no look was spent on the wall. */
	ck_assert_uint_eq(world_count_referenced(GVM_ORDER_GLOBAL), 0);
	world_detach(wall);
	world_detach(small);
}
END_TEST

START_TEST(the_last_resort_asks_containers_in_turn)
{
	struct gvm_container *a = world_attach(1), *b = world_attach(2), *c = world_attach(3);
	struct gvm_container *givers[4];
	u32 i;

	world_charge_many(c, 4 * 48); /* the wall: obstacles for four calls */
	world_charge_many(a, 4);
	world_charge_many(b, 4);
	gvm_limit_set_low(c, GVM_NO_LIMIT);
	for (i = 0; i < 4; i++)
		givers[i] = device->chunks[gvm_clock_pick_global(device)].owner;
	ck_assert_ptr_eq(givers[0], a);
	ck_assert_ptr_eq(givers[1], b);
	ck_assert_ptr_eq(givers[2], a);
	ck_assert_ptr_eq(givers[3], b);
	world_detach(a);
	world_detach(b);
	world_detach(c);
}
END_TEST

START_TEST(the_last_resort_asks_no_protected_container)
{
	struct gvm_container *protected[40], *last;
	u32 i;

	for (i = 0; i < 40; i++) {
		protected[i] = world_attach(i + 1);
		world_charge_many(protected[i], 20);
		gvm_limit_set_low(protected[i], GVM_NO_LIMIT);
	}
	last = world_attach(100);
	world_charge_many(last, 10);
	/* The hand alone would need 17 calls to the first of its chunks. */
	for (i = 0; i < 10; i++)
		ck_assert_uint_eq(gvm_clock_pick_global(device), 800 + i);
	world_check();
	/* One that loses its protection is asked again. */
	gvm_limit_set_low(protected[7], 0);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 7 * 20);
	world_check();
	world_detach(last);
	for (i = 0; i < 40; i++)
		world_detach(protected[i]);
}
END_TEST

START_TEST(the_last_resort_goes_on_where_it_ran_out_of_looks)
{
	struct gvm_container *pinned[9], *last;
	u32 i;

	for (i = 0; i < 9; i++) {
		pinned[i] = world_attach(i + 1);
		world_charge_many(pinned[i], 100);
	}
	world_pin_many(0, 900);
	last = world_attach(100);
	world_charge(last);
	/* The last resort asks one of them a call. The hand alone would need 19 calls. */
	for (i = 0; i < 9; i++)
		ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	ck_assert_uint_eq(gvm_clock_pick_global(device), 900);
	world_detach(last);
	for (i = 0; i < 9; i++)
		world_detach(pinned[i]);
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

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, containers_at_or_under_low_are_spared);
	tcase_add_test(tests, one_chunk_above_low_is_not_spared);
	tcase_add_test(tests, what_is_picked_counts_as_gone_for_protection);
	tcase_add_test(tests, a_protected_container_that_grows_loses_its_protection);
	tcase_add_test(tests, hovering_around_low_keeps_the_order_and_the_books);
	tcase_add_test(tests, unprotected_chunks_come_back_where_the_hand_has_passed);
}

static void add_large_tests(TCase *tests)
{
	tcase_add_test(tests, a_victim_is_found_behind_a_wall_of_protected_chunks);
	tcase_add_test(tests, the_hand_is_not_slowed_by_a_wall_that_it_has_cleared);
	tcase_add_test(tests, the_last_resort_asks_containers_in_turn);
	tcase_add_test(tests, the_last_resort_asks_no_protected_container);
	tcase_add_test(tests, the_last_resort_goes_on_where_it_ran_out_of_looks);
}

int main(void)
{
	Suite *suite = suite_create("policy protection");

	world_add_case(suite, "small", setup, world_destroy, add_tests);
	world_add_case(suite, "large", setup_large, world_destroy, add_large_tests);
	return world_run(suite);
}
