// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Charges: usage never exceeds the limit, everything is uncharged once and from the right
 * account, and an error that breaks the books is noticed. The huge-page plan is here as well.
 */
#include "core_world.h"
#include "gvm/block.h"
#include "gvm/swap.h"

#include <signal.h>
#include <stdlib.h>

static struct gvm_device *const device = &world.device;
static struct gvm_container *container;

static u64 chunks(u64 count)
{
	return count * GVM_CHUNK_BYTES;
}

static u64 events(enum gvm_event event)
{
	return container->events[event];
}

/* Limits on and next to whole numbers of chunks. */
static const struct {
	u64 bytes;
	u32 chunks;
} limits[] = {
	{ 0, 0 },
	{ 1, 0 },
	{ GVM_CHUNK_BYTES - 1, 0 },
	{ GVM_CHUNK_BYTES, 1 },
	{ GVM_CHUNK_BYTES + 1, 1 },
	{ 5 * GVM_CHUNK_BYTES - 1, 4 },
	{ 5 * GVM_CHUNK_BYTES, 5 },
};

START_TEST(a_charge_stops_at_the_limit_rounded_down_to_chunks)
{
	u32 i;

	gvm_limit_set_high(container, limits[_i].bytes);
	for (i = 0; i < limits[_i].chunks; i++)
		ck_assert_int_eq(gvm_charge_reserve(container), 0);
	ck_assert_uint_eq(events(GVM_EVENT_HIGH), 0);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(gvm_charge_reserve(container), -EDQUOT);
	ck_assert_uint_eq(gvm_charged_bytes(container), chunks(limits[_i].chunks));
	ck_assert_uint_eq(events(GVM_EVENT_HIGH), 3);
	world_check();
	for (i = 0; i < limits[_i].chunks; i++)
		gvm_charge_cancel(container);
}
END_TEST

START_TEST(a_limit_above_the_device_is_legal)
{
	gvm_limit_set_high(container, U64_MAX - 1);
	world_charge_many(container, WORLD_CHUNKS);
	/* The reservation exceeds the device: the allocation will fail and be cancelled. */
	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	world_check();
	gvm_charge_cancel(container);
	ck_assert_uint_eq(gvm_charged_bytes(container), chunks(WORLD_CHUNKS));
}
END_TEST

START_TEST(a_lowered_limit_holds_at_once_and_current_reports_reality)
{
	world_charge_many(container, 6);
	gvm_limit_set_high(container, chunks(4));
	ck_assert_uint_eq(gvm_charged_bytes(container), chunks(6));
	world_check();
	ck_assert_int_eq(gvm_charge_reserve(container), -EDQUOT);
	gvm_uncharge(device, 0);
	gvm_uncharge(device, 1);
	ck_assert_int_eq(gvm_charge_reserve(container), -EDQUOT);
	gvm_uncharge(device, 2);
	ck_assert_uint_eq(world_charge(container), 0);
}
END_TEST

/* D1 */
START_TEST(concurrent_promises_never_add_up_to_more_than_the_limit)
{
	u32 promised = 0;

	/* The order of 64 threads that all reserve before any of them allocates. */
	gvm_limit_set_high(container, chunks(3));
	for (u32 thread = 0; thread < 64; thread++)
		promised += gvm_charge_reserve(container) == 0;
	ck_assert_uint_eq(promised, 3);
	ck_assert_uint_eq(gvm_charged_bytes(container), chunks(3));
	while (promised--)
		gvm_charge_cancel(container);
}
END_TEST

/* F3 */
START_TEST(usage_counts_promises_and_chunks_and_peak_remembers)
{
	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	ck_assert_uint_eq(gvm_charged_bytes(container), chunks(2));
	gvm_charge_bind(container, 7);
	gvm_charge_cancel(container);
	ck_assert_uint_eq(gvm_charged_bytes(container), chunks(1));
	ck_assert_uint_eq(device->bound_chunks, 1);
	gvm_uncharge(device, 7);
	ck_assert_uint_eq(gvm_charged_bytes(container), 0);
	ck_assert_uint_eq(gvm_peak_bytes(container), chunks(2));
	ck_assert_uint_eq(container->evicted_chunks, 0);
}
END_TEST

/* D15 */
START_TEST(the_owner_on_record_is_uncharged)
{
	struct gvm_container *other = world_attach(2);

	world_charge_many(container, 2);
	world_charge_many(other, 2);
	gvm_uncharge(device, 3);
	ck_assert_uint_eq(gvm_charged_bytes(container), chunks(2));
	ck_assert_uint_eq(gvm_charged_bytes(other), chunks(1));
	world_detach(other);
}
END_TEST

/* Memory goes in chunks: without one chunk more the container would have less than low. */
START_TEST(a_low_within_a_chunk_protects_all_of_that_chunk)
{
	gvm_limit_set_low(container, chunks(1) + 1);
	world_charge_many(container, 2);
	ck_assert(container->is_protected);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	world_charge(container);
	ck_assert(!container->is_protected);
	ck_assert(gvm_clock_pick_global(device) != GVM_NO_CHUNK);
	ck_assert(container->is_protected);
	ck_assert_uint_eq(gvm_clock_pick_global(device), GVM_NO_CHUNK);
	gvm_limit_set_low(container, 1);
	ck_assert(!container->is_protected);
}
END_TEST

START_TEST(low_follows_every_change_of_usage_and_limit)
{
	gvm_limit_set_low(container, chunks(1));
	ck_assert(container->is_protected);
	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	ck_assert(container->is_protected);
	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	ck_assert(!container->is_protected);
	gvm_charge_cancel(container);
	ck_assert(container->is_protected);
	gvm_limit_set_low(container, 0);
	ck_assert(!container->is_protected);
	gvm_limit_set_low(container, GVM_NO_LIMIT);
	ck_assert(container->is_protected);
	gvm_limit_set_low(container, 0);
	ck_assert(!container->is_protected);
	gvm_charge_cancel(container);
	ck_assert(!container->is_protected);
}
END_TEST

/* F12 */
START_TEST(swap_is_what_went_out_less_what_came_back)
{
	gvm_swap_charge(container, chunks(3));
	gvm_swap_uncharge(container, GVM_PAGE_BYTES);
	ck_assert_uint_eq(container->swapped_bytes, chunks(3) - GVM_PAGE_BYTES);
	gvm_swap_uncharge(container, chunks(3) - GVM_PAGE_BYTES);
	ck_assert_uint_eq(container->swapped_bytes, 0);
}
END_TEST

/* Broken invariants: each of these stops the program. */

/* F3 */
START_TEST(to_uncharge_twice_is_a_broken_invariant)
{
	u32 chunk = world_charge(container);

	gvm_uncharge(device, chunk);
	gvm_uncharge(device, chunk);
}
END_TEST

START_TEST(to_cancel_what_was_bound_is_a_broken_invariant)
{
	world_charge(container);
	gvm_charge_cancel(container);
}
END_TEST

START_TEST(to_bind_without_a_promise_is_a_broken_invariant)
{
	gvm_charge_bind(container, 0);
}
END_TEST

START_TEST(to_bind_a_chunk_in_use_is_a_broken_invariant)
{
	u32 chunk = world_charge(container);

	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	gvm_charge_bind(container, chunk);
}
END_TEST

START_TEST(to_bind_what_the_device_does_not_have_is_a_broken_invariant)
{
	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	gvm_charge_bind(container, WORLD_CHUNKS);
}
END_TEST

/* The huge-page plan. */

START_TEST(the_first_fault_of_a_block_brings_all_of_it)
{
	struct gvm_block block = { .valid = GVM_BLOCK_FULL };

	ck_assert_uint_eq(gvm_hugepage_plan(&block, 0x20), GVM_BLOCK_FULL);
	block.on_host = 0xffff; /* one half is copied, one half cleared */
	ck_assert_uint_eq(gvm_hugepage_plan(&block, 0x80000000), GVM_BLOCK_FULL);
	block.valid = 0x7;
	ck_assert_uint_eq(gvm_hugepage_plan(&block, 0x2), 0x7);
}
END_TEST

START_TEST(a_block_in_part_resident_gets_what_faulted_and_is_missing)
{
	struct gvm_block block = { .valid = 0xff, .resident = 0x0f };

	ck_assert_uint_eq(gvm_hugepage_plan(&block, 0x10), 0x10);
	ck_assert_uint_eq(gvm_hugepage_plan(&block, 0x18), 0x10);
	ck_assert_uint_eq(gvm_hugepage_plan(&block, 0x0f), 0);
}
END_TEST

START_TEST(no_fault_plans_nothing)
{
	struct gvm_block block = { .valid = GVM_BLOCK_FULL };

	ck_assert_uint_eq(gvm_hugepage_plan(&block, 0), 0);
}
END_TEST

static void setup(void)
{
	world_init(WORLD_CHUNKS);
	container = world_attach(1);
}

static void teardown(void)
{
	world_check();
	world_detach(container);
	world_destroy();
}

static void add_charge_tests(TCase *tests)
{
	tcase_add_loop_test(tests, a_charge_stops_at_the_limit_rounded_down_to_chunks, 0,
			    ARRAY_SIZE(limits));
	tcase_add_test(tests, a_limit_above_the_device_is_legal);
	tcase_add_test(tests, a_lowered_limit_holds_at_once_and_current_reports_reality);
	tcase_add_test(tests, concurrent_promises_never_add_up_to_more_than_the_limit);
	tcase_add_test(tests, usage_counts_promises_and_chunks_and_peak_remembers);
	tcase_add_test(tests, the_owner_on_record_is_uncharged);
	tcase_add_test(tests, a_low_within_a_chunk_protects_all_of_that_chunk);
	tcase_add_test(tests, low_follows_every_change_of_usage_and_limit);
	tcase_add_test(tests, swap_is_what_went_out_less_what_came_back);
}

static void add_invariant_tests(TCase *tests)
{
	tcase_add_test_raise_signal(tests, to_uncharge_twice_is_a_broken_invariant, SIGABRT);
	tcase_add_test_raise_signal(tests, to_cancel_what_was_bound_is_a_broken_invariant,
				    SIGABRT);
	tcase_add_test_raise_signal(tests, to_bind_without_a_promise_is_a_broken_invariant,
				    SIGABRT);
	tcase_add_test_raise_signal(tests, to_bind_a_chunk_in_use_is_a_broken_invariant,
				    SIGABRT);
	tcase_add_test_raise_signal(
		tests, to_bind_what_the_device_does_not_have_is_a_broken_invariant, SIGABRT);
}

static void add_hugepage_tests(TCase *tests)
{
	tcase_add_test(tests, the_first_fault_of_a_block_brings_all_of_it);
	tcase_add_test(tests, a_block_in_part_resident_gets_what_faulted_and_is_missing);
	tcase_add_test(tests, no_fault_plans_nothing);
}

int main(void)
{
	Suite *suite = suite_create("policy charge");

	world_add_case(suite, "charge", setup, teardown, add_charge_tests);
	world_add_case(suite, "invariants", setup, teardown, add_invariant_tests);
	world_add_case(suite, "hugepage", setup, teardown, add_hugepage_tests);
	return world_run(suite);
}
