// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * TSGs: which RPCs a setting makes, in which order, and that only the effects of successful
 * calls are recorded, whichever call fails.
 */
#include "core_world.h"
#include "gvm/control.h"

#include <signal.h>
#include <stdlib.h>

#define TSGS 3u

static struct gvm_device *const device = &world.device;
static struct gvm_container *container;
static struct gvm_tsg tsgs[TSGS]; /* with the ids 10, 11, 12 */

static void attach_all(void)
{
	u32 i;

	for (i = 0; i < TSGS; i++)
		ck_assert_int_eq(gvm_tsg_attach(container, &tsgs[i], 10 + i), 0);
	world_expect_calls(U32_MAX, 0);
}

static void detach_all(void)
{
	u32 i;

	for (i = 0; i < TSGS; i++)
		gvm_tsg_detach(&tsgs[i]);
}

/* Forget the calls so far. From now on, call @fail fails with @error. */
static void expect_failure(u32 fail, int error)
{
	world_expect_calls(fail, error);
}

static void expect_call(u32 index, enum world_rpc rpc, u32 tsg)
{
	ck_assert_uint_lt(index, world.call_count);
	ck_assert_int_eq(world.calls[index].rpc, rpc);
	ck_assert_uint_eq(world.calls[index].tsg, tsg);
}

static void expect_timeslice_call(u32 index, u32 tsg, u64 timeslice_us)
{
	expect_call(index, WORLD_TIMESLICE, tsg);
	ck_assert_uint_eq(world.calls[index].value, timeslice_us);
}

static bool is_frozen(void)
{
	bool frozen;

	gvm_mutex_lock(&device->tsg_mutex);
	frozen = gvm_tsgs_frozen_locked(container);
	gvm_mutex_unlock(&device->tsg_mutex);
	return frozen;
}

START_TEST(priorities_map_to_the_published_timeslices)
{
	/* NVIDIA open-gpu-kernel-modules 575 as patched by GVM: 524288 us >> p. */
	static const u64 published_us[] = { 524288, 262144, 131072, 65536, 32768, 16384,
					    8192,   4096,   2048,   1024,  512,	  256,
					    128,    64,	    32,	    16,	   8 };
	u32 p;

	ck_assert_uint_eq(ARRAY_SIZE(published_us), GVM_PRIORITY_MAX + 1);
	for (p = 0; p <= GVM_PRIORITY_MAX; p++)
		ck_assert_uint_eq(gvm_priority_to_timeslice_us(p), published_us[p]);
}
END_TEST

START_TEST(an_untouched_container_programs_nothing)
{
	attach_all();
	ck_assert_int_eq(gvm_compute_thaw(container), 0);
	ck_assert_uint_eq(world.call_count, 0);
	ck_assert_uint_eq(tsgs[0].timeslice_us, WORLD_TIMESLICE_US);
	detach_all();
	ck_assert_uint_eq(world.call_count, 0);
}
END_TEST

START_TEST(a_priority_programs_every_tsg_once)
{
	u32 i;

	attach_all();
	ck_assert_int_eq(gvm_compute_set_priority(container, 2), 0);
	ck_assert_uint_eq(world.call_count, TSGS);
	for (i = 0; i < TSGS; i++) {
		expect_timeslice_call(i, 10 + i, 131072);
		ck_assert_uint_eq(tsgs[i].timeslice_us, 131072);
	}
	ck_assert_int_eq(gvm_compute_set_priority(container, 2), 0);
	ck_assert_int_eq(gvm_compute_set_timeslice_us(container, 131072), 0);
	ck_assert_uint_eq(world.call_count, TSGS);
	ck_assert_uint_eq(container->priority, 2);
	detach_all();
}
END_TEST

/*
 * A priority is found from its timeslice, and from timeslices that are nearer to it than to
 * another's.
 */
START_TEST(priorities_and_timeslices_are_each_others_inverse)
{
	u32 p;

	for (p = 0; p <= GVM_PRIORITY_MAX; p++) {
		u64 us = gvm_priority_to_timeslice_us(p);

		ck_assert_uint_eq(gvm_timeslice_us_to_priority(us), p);
		ck_assert_uint_eq(gvm_timeslice_us_to_priority(us * 3 / 4), p);
		ck_assert_uint_eq(gvm_timeslice_us_to_priority(us * 5 / 4), p);
	}
	ck_assert_uint_eq(gvm_timeslice_us_to_priority(0), GVM_PRIORITY_MAX);
	ck_assert_uint_eq(gvm_timeslice_us_to_priority(GVM_TIMESLICE_MAX_US), 0);
}
END_TEST

/* F15 */
START_TEST(settings_out_of_range_change_nothing)
{
	attach_all();
	ck_assert_int_eq(gvm_control_write(container, "compute.priority", "17", 2), -EINVAL);
	ck_assert_int_eq(gvm_control_write(container, "compute.timeslice", "0us", 3), -EINVAL);
	ck_assert_int_eq(gvm_control_write(container, "compute.timeslice", "16000001us", 10),
			 -EINVAL);
	ck_assert_uint_eq(world.call_count, 0);
	ck_assert_uint_eq(container->timeslice_us, WORLD_TIMESLICE_US);
	ck_assert_uint_eq(container->priority, WORLD_PRIORITY);
	ck_assert_int_eq(gvm_compute_set_timeslice_us(container, GVM_TIMESLICE_MIN_US), 0);
	ck_assert_int_eq(gvm_compute_set_timeslice_us(container, GVM_TIMESLICE_MAX_US), 0);
	ck_assert_uint_eq(world.call_count, 2 * TSGS);
	detach_all();
}
END_TEST

/* F14: each RPC is made under tsg_mutex, as world_record() asserts. */
START_TEST(freeze_disables_then_preempts_and_thaw_enables)
{
	u32 i;

	attach_all();
	ck_assert(!is_frozen());
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert_uint_eq(world.call_count, 2 * TSGS);
	for (i = 0; i < TSGS; i++) {
		expect_call(2 * i, WORLD_DISABLE, 10 + i);
		expect_call(2 * i + 1, WORLD_PREEMPT, 10 + i);
	}
	ck_assert(is_frozen());
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert_uint_eq(world.call_count, 2 * TSGS);

	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_compute_thaw(container), 0);
	ck_assert_uint_eq(world.call_count, TSGS);
	for (i = 0; i < TSGS; i++)
		expect_call(i, WORLD_ENABLE, 10 + i);
	ck_assert(!is_frozen());
	detach_all();
}
END_TEST

/* D19 */
START_TEST(a_new_tsg_inherits_timeslice_and_freeze)
{
	ck_assert_int_eq(gvm_compute_set_timeslice_us(container, 5000), 0);
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert_uint_eq(world.call_count, 0);
	ck_assert_int_eq(gvm_tsg_attach(container, &tsgs[0], 10), 0);
	ck_assert_uint_eq(world.call_count, 3);
	expect_call(0, WORLD_DISABLE, 10);
	expect_call(1, WORLD_PREEMPT, 10);
	expect_timeslice_call(2, 10, 5000);

	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_compute_thaw(container), 0);
	expect_call(0, WORLD_ENABLE, 10);
	gvm_tsg_detach(&tsgs[0]);
}
END_TEST

START_TEST(a_tsg_born_with_what_is_wished_needs_no_call)
{
	ck_assert_int_eq(gvm_compute_set_timeslice_us(container, WORLD_TIMESLICE_US), 0);
	attach_all();
	ck_assert_uint_eq(world.call_count, 0);
	detach_all();
}
END_TEST

/* D9 */
START_TEST(a_detached_tsg_is_left_alone)
{
	attach_all();
	gvm_tsg_detach(&tsgs[1]);
	ck_assert_int_eq(gvm_compute_set_priority(container, 0), 0);
	ck_assert_uint_eq(world.call_count, 2);
	expect_timeslice_call(0, 10, 524288);
	expect_timeslice_call(1, 12, 524288);
	gvm_tsg_detach(&tsgs[0]);
	gvm_tsg_detach(&tsgs[2]);
}
END_TEST

/* D20: a frozen TSG ends without an RPC and without a wait. */
START_TEST(a_frozen_tsg_goes_without_a_call_or_a_wait)
{
	attach_all();
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	world_expect_calls(U32_MAX, 0);
	detach_all();
	ck_assert_uint_eq(world.call_count, 0);
	ck_assert(is_frozen());
}
END_TEST

/* D9 */
START_TEST(a_tsg_keeps_its_container_alive)
{
	ck_assert_int_eq(gvm_tsg_attach(container, &tsgs[0], 10), 0);
	gvm_container_detach(container);
	world_check();
	ck_assert_uint_eq(device->container_count, 1);
	gvm_tsg_detach(&tsgs[0]);
	ck_assert_uint_eq(device->container_count, 0);
	container = world_attach(1);
}
END_TEST

/* Failures. */

/* D17 */
START_TEST(a_timeslice_that_failed_is_tried_again_and_the_others_are_not)
{
	u32 fail = (u32)_i, i;

	attach_all();
	expect_failure(fail, -EIO);
	ck_assert_int_eq(gvm_compute_set_priority(container, 4), -EIO);
	ck_assert_uint_eq(world.call_count, TSGS);
	for (i = 0; i < TSGS; i++)
		ck_assert_uint_eq(tsgs[i].timeslice_us, i == fail ? WORLD_TIMESLICE_US : 32768);

	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_compute_set_priority(container, 4), 0);
	ck_assert_uint_eq(world.call_count, 1);
	expect_timeslice_call(0, 10 + fail, 32768);
	detach_all();
}
END_TEST

/* D17 */
START_TEST(a_freeze_that_failed_anywhere_is_not_a_freeze_and_can_be_completed)
{
	u32 fail = (u32)_i, victim = fail / 2, i;
	bool at_disable = fail % 2 == 0;

	attach_all();
	expect_failure(fail, -EIO);
	ck_assert_int_eq(gvm_compute_freeze(container), -EIO);
	/* A TSG that could not be disabled is not preempted either. All others are frozen. */
	ck_assert_uint_eq(world.call_count, at_disable ? 2 * TSGS - 1 : 2 * TSGS);
	ck_assert(!is_frozen());
	for (i = 0; i < TSGS; i++) {
		ck_assert_int_eq(tsgs[i].disabled, i != victim || !at_disable);
		ck_assert_int_eq(tsgs[i].preempted, i != victim);
	}
	world_check();

	/* The second write makes only the missing calls. */
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert_uint_eq(world.call_count, at_disable ? 2 : 1);
	expect_call(world.call_count - 1, WORLD_PREEMPT, 10 + victim);
	ck_assert(is_frozen());
	detach_all();
}
END_TEST

START_TEST(a_thaw_after_half_a_freeze_enables_what_was_disabled)
{
	attach_all();
	expect_failure(1, -EIO);
	ck_assert_int_eq(gvm_compute_freeze(container), -EIO);
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_compute_thaw(container), 0);
	ck_assert_uint_eq(world.call_count, TSGS);
	expect_call(0, WORLD_ENABLE, 10);
	detach_all();
}
END_TEST

START_TEST(a_thaw_that_failed_leaves_the_tsg_frozen_and_is_tried_again)
{
	u32 fail = (u32)_i, i;

	attach_all();
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	expect_failure(fail, -EIO);
	ck_assert_int_eq(gvm_compute_thaw(container), -EIO);
	ck_assert_uint_eq(world.call_count, TSGS);
	for (i = 0; i < TSGS; i++) {
		ck_assert_int_eq(tsgs[i].disabled, i == fail);
		ck_assert_int_eq(tsgs[i].preempted, i == fail);
	}
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_compute_thaw(container), 0);
	ck_assert_uint_eq(world.call_count, 1);
	expect_call(0, WORLD_ENABLE, 10 + fail);
	detach_all();
}
END_TEST

START_TEST(attach_reports_a_failed_call_and_attaches_all_the_same)
{
	/* Disable, preempt, timeslice. */
	static const enum world_rpc missing[] = { WORLD_DISABLE, WORLD_PREEMPT,
						  WORLD_TIMESLICE };

	ck_assert_int_eq(gvm_compute_set_timeslice_us(container, 5000), 0);
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	expect_failure((u32)_i, -EIO);
	ck_assert_int_eq(gvm_tsg_attach(container, &tsgs[0], 10), -EIO);
	world_check();

	/* Any write that applies settings completes the attach. */
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	expect_call(0, missing[_i], 10);
	ck_assert(is_frozen());
	ck_assert_uint_eq(tsgs[0].timeslice_us, 5000);
	gvm_tsg_detach(&tsgs[0]);
}
END_TEST

START_TEST(the_first_of_several_errors_is_reported)
{
	attach_all();
	ck_assert_int_eq(gvm_compute_set_timeslice_us(container, 5000), 0);
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	/* One write makes two calls for one TSG: timeslice and enable. */
	tsgs[0].timeslice_us = 1;
	expect_failure(0, -EIO);
	ck_assert_int_eq(gvm_compute_thaw(container), -EIO);
	expect_timeslice_call(0, 10, 5000);
	expect_call(1, WORLD_ENABLE, 10);
	ck_assert(!tsgs[0].disabled);
	detach_all();
}
END_TEST

START_TEST(a_tsg_that_is_gone_is_no_error)
{
	u32 fail = (u32)_i;

	attach_all();
	expect_failure(fail, -ENODEV);
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert_uint_eq(world.call_count, 2 * TSGS);
	ck_assert(is_frozen());
	expect_failure(fail % TSGS, -ENODEV);
	ck_assert_int_eq(gvm_compute_thaw(container), 0);
	expect_failure(fail % TSGS, -ENODEV);
	ck_assert_int_eq(gvm_compute_set_priority(container, 1), 0);
	world_check();
	detach_all();
}
END_TEST

START_TEST(a_priority_beyond_the_map_is_a_broken_invariant)
{
	gvm_priority_to_timeslice_us(GVM_PRIORITY_MAX + 1);
}
END_TEST

/* D6 */
START_TEST(to_change_a_setting_under_the_leaf_lock_is_a_broken_invariant)
{
	gvm_spin_lock(&device->lock);
	gvm_compute_freeze(container);
}
END_TEST

/* D10 */
START_TEST(to_plan_without_the_mutex_is_a_broken_invariant)
{
	attach_all();
	gvm_tsg_plan_locked(&tsgs[0]);
}
END_TEST

#ifndef __KERNEL__
/*
 * Between two TSGs. In a kernel other threads do this; the traces of fakegpu_waits.c show it.
 */

static u32 times_let_in, calls_before;

/* The mutex is free, and the thread that wants it has waited for the RPCs of one TSG. */
static void come_in(void)
{
	times_let_in++;
	ck_assert_uint_le(world.call_count - calls_before, 3);
	calls_before = world.call_count;
	ck_assert(gvm_mutex_trylock(&device->tsg_mutex));
	gvm_mutex_unlock(&device->tsg_mutex);
}

START_TEST(others_wait_for_the_rpcs_of_one_tsg)
{
	attach_all();
	null_on_give_way = come_in;
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert_uint_eq(times_let_in, TSGS - 1);
	ck_assert_uint_eq(world.call_count, 2 * TSGS);
	ck_assert_int_eq(gvm_compute_set_priority(container, 4), 0);
	ck_assert_uint_eq(times_let_in, 2 * (TSGS - 1));
	ck_assert_uint_eq(world.call_count, 3 * TSGS);
	null_on_give_way = NULL;
	detach_all();
}
END_TEST

static void thaw_meanwhile(void)
{
	null_on_give_way = NULL;
	ck_assert_int_eq(gvm_compute_thaw(container), 0);
}

START_TEST(a_thaw_in_the_middle_of_a_freeze_holds)
{
	attach_all();
	null_on_give_way = thaw_meanwhile;
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert(!is_frozen());
	for (u32 i = 0; i < TSGS; i++)
		ck_assert(!tsgs[i].disabled);
	ck_assert_int_eq(gvm_compute_await_frozen(container), 0);
	detach_all();
}
END_TEST

/* The later writer meets the error of an RPC that the earlier one asked for as well. */
static void set_timeslice_meanwhile(void)
{
	null_on_give_way = NULL;
	expect_failure(0, -EIO); /* the disable of the second TSG */
	ck_assert_int_eq(gvm_compute_set_timeslice_us(container, 5000), -EIO);
}

START_TEST(an_error_is_reported_to_both_of_two_writers)
{
	attach_all();
	null_on_give_way = set_timeslice_meanwhile;
	ck_assert_int_eq(gvm_compute_freeze(container), -EIO);
	ck_assert(!tsgs[1].disabled && tsgs[0].disabled && tsgs[2].disabled);
	for (u32 i = 0; i < TSGS; i++)
		ck_assert_uint_eq(tsgs[i].timeslice_us, 5000);
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert_uint_eq(world.call_count, 2);
	detach_all();
}
END_TEST

static struct gvm_tsg newcomer;

static void come_and_go_meanwhile(void)
{
	null_on_give_way = NULL;
	gvm_tsg_detach(&tsgs[1]);
	ck_assert_int_eq(gvm_tsg_attach(container, &newcomer, 20), 0);
	ck_assert(newcomer.preempted);
}

START_TEST(tsgs_come_and_go_in_the_middle_of_a_freeze)
{
	attach_all();
	null_on_give_way = come_and_go_meanwhile;
	ck_assert_int_eq(gvm_compute_freeze(container), 0);
	ck_assert(is_frozen());
	ck_assert_uint_eq(world.call_count, 2 * TSGS);
	gvm_tsg_detach(&newcomer);
	gvm_tsg_detach(&tsgs[0]);
	gvm_tsg_detach(&tsgs[2]);
}
END_TEST

static void add_sharing_tests(TCase *tests)
{
	tcase_add_test(tests, others_wait_for_the_rpcs_of_one_tsg);
	tcase_add_test(tests, a_thaw_in_the_middle_of_a_freeze_holds);
	tcase_add_test(tests, an_error_is_reported_to_both_of_two_writers);
	tcase_add_test(tests, tsgs_come_and_go_in_the_middle_of_a_freeze);
}
#endif

static void setup(void)
{
	world_init(WORLD_CHUNKS);
	container = world_attach(1);
}

static void teardown(void)
{
	world_detach(container);
	world_destroy();
}

static void add_setting_tests(TCase *tests)
{
	tcase_add_test(tests, priorities_map_to_the_published_timeslices);
	tcase_add_test(tests, an_untouched_container_programs_nothing);
	tcase_add_test(tests, a_priority_programs_every_tsg_once);
	tcase_add_test(tests, priorities_and_timeslices_are_each_others_inverse);
	tcase_add_test(tests, settings_out_of_range_change_nothing);
	tcase_add_test(tests, freeze_disables_then_preempts_and_thaw_enables);
	tcase_add_test(tests, a_new_tsg_inherits_timeslice_and_freeze);
	tcase_add_test(tests, a_tsg_born_with_what_is_wished_needs_no_call);
	tcase_add_test(tests, a_detached_tsg_is_left_alone);
	tcase_add_test(tests, a_frozen_tsg_goes_without_a_call_or_a_wait);
	tcase_add_test(tests, a_tsg_keeps_its_container_alive);
}

static void add_failure_tests(TCase *tests)
{
	tcase_add_loop_test(
		tests, a_timeslice_that_failed_is_tried_again_and_the_others_are_not, 0, TSGS);
	tcase_add_loop_test(tests,
			    a_freeze_that_failed_anywhere_is_not_a_freeze_and_can_be_completed,
			    0, 2 * TSGS);
	tcase_add_test(tests, a_thaw_after_half_a_freeze_enables_what_was_disabled);
	tcase_add_loop_test(tests, a_thaw_that_failed_leaves_the_tsg_frozen_and_is_tried_again,
			    0, TSGS);
	tcase_add_loop_test(tests, attach_reports_a_failed_call_and_attaches_all_the_same, 0,
			    3);
	tcase_add_test(tests, the_first_of_several_errors_is_reported);
	tcase_add_loop_test(tests, a_tsg_that_is_gone_is_no_error, 0, 2 * TSGS);
	tcase_add_test_raise_signal(tests, a_priority_beyond_the_map_is_a_broken_invariant,
				    SIGABRT);
	tcase_add_test_raise_signal(
		tests, to_change_a_setting_under_the_leaf_lock_is_a_broken_invariant, SIGABRT);
	tcase_add_test_raise_signal(tests, to_plan_without_the_mutex_is_a_broken_invariant,
				    SIGABRT);
}

int main(void)
{
	Suite *suite = suite_create("tsg");

	world_add_case(suite, "settings", setup, teardown, add_setting_tests);
	world_add_case(suite, "failures", setup, teardown, add_failure_tests);
#ifndef __KERNEL__
	world_add_case(suite, "user space only, between two", setup, teardown,
		       add_sharing_tests);
#endif
	return world_run(suite);
}
