// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The compute scheduler in the core: its invariants under random use and on the worst possible
 * GPU, an RPC that fails at every call, and its start and stop.
 */
#include "runner.h"
#include "draw.h"
#include "sched_world.h"

static struct gvm_device *const device = &world.device;
static u64 random_state;

static u32 draw(u32 below)
{
	return draw_below(&random_state, below);
}

static void random_step(void)
{
	u32 who = draw(TENANTS);

	switch (draw(6)) {
	case 0:
		gvm_compute_set_weight(tenants[who], 1 + draw(draw(2) ? 10 : 10000));
		break;
	case 1:
		set_busy(who, draw(4));
		break;
	case 2:
		if (draw(4))
			gvm_compute_thaw(tenants[who]);
		else
			gvm_compute_freeze(tenants[who]);
		break;
	default:
		if (!world.off[FIRST_ID + who] && world.samples[FIRST_ID + who].busy)
			let_run(who, draw(2) ? draw(1000000000) : draw(100));
	}
}

static void expect_invariants(u32 step)
{
	bool owed = false, any_held = false;
	s64 sum = 0;
	u32 i;

	for (i = 0; i < TENANTS; i++) {
		const struct gvm_share *share = &tenants[i]->share;

		sum += share->credit_ns;
		any_held |= share->held;
		owed |= share->work && !share->held && !tenants[i]->frozen;
		ck_assert_msg(tsgs[i].disabled == world.off[FIRST_ID + i], "step %u", step);
		ck_assert_msg(world.off[FIRST_ID + i] == (share->held || tenants[i]->frozen),
			      "step %u: %u", step, i);
	}
	ck_assert_msg(sum == 0, "step %u: credits add up to %lld", step, (long long)sum);
	ck_assert_msg(!any_held || owed, "step %u: idle, and a tenant is held", step);
}

START_TEST(credits_add_up_to_nothing_and_a_hold_leaves_somebody_to_run)
{
	u32 step;

	random_state = runner_seed();
	use_policy(GVM_SCHED_WEIGHTED);
	for (step = 0; step < 100000; step++) {
		random_step();
		if (draw(2))
			continue;
		round_ok();
		expect_invariants(step);
		world_expect_calls(U32_MAX, 0);
	}
	ck_assert_uint_eq(world.idle_moves, 0);
}
END_TEST

/*
 * The worst possible GPU: the first TSG that may run does so for a whole millisecond, as if it
 * waited for page faults. No timeslice has an effect, and only credit is left.
 */
START_TEST(who_always_overstays_gets_no_more_than_his_share)
{
	const u32 weights[TENANTS] = { 1, 2, 4, 3 };
	u64 ran[TENANTS] = { 0 };
	u32 ms, i;

	use_policy(GVM_SCHED_WEIGHTED);
	set_weights(weights[0], weights[1], weights[2], weights[3]);
	for (i = 0; i < TENANTS; i++)
		set_busy(i, true);
	for (ms = 0; ms < 100000; ms++) {
		for (i = 0; world.off[FIRST_ID + i];)
			i++;
		ck_assert_uint_lt(i, TENANTS);
		let_run(i, MS);
		ran[i] += MS;
		round_ok();
		world_expect_calls(U32_MAX, 0);
	}
	for (i = 0; i < TENANTS; i++) {
		s64 off = (s64)ran[i] - (s64)(weights[i] * 10000 * MS);

		ck_assert(off <= TENANTS * GVM_SCHED_OVERDRAFT_NS);
		ck_assert(off >= -(s64)TENANTS * GVM_SCHED_OVERDRAFT_NS);
	}
	ck_assert_uint_eq(world.idle_moves, 0);
}
END_TEST

/* RPCs that fail. */

/* The record of each TSG equals the effect of the calls that succeeded. */
static void expect_records_to_be_true(void)
{
	u32 i;

	for (i = 0; i < TENANTS; i++)
		ck_assert_int_eq(tsgs[i].disabled, world.off[FIRST_ID + i]);
}

/*
 * A round in which call @fail fails, and a round that makes up for it. Returns the calls of the
 * first.
 */
static u32 round_with_failure(u32 fail)
{
	u32 calls;

	world_expect_calls(fail, -EIO);
	ck_assert_int_eq(gvm_scheduler_round(&scheduler), fail < world.call_count ? -EIO : 0);
	calls = world.call_count;
	expect_records_to_be_true();
	world_expect_calls(U32_MAX, 0);
	round_ok();
	expect_records_to_be_true();
	ck_assert_uint_eq(world.call_count > 0, fail < calls);
	world_expect_calls(U32_MAX, 0);
	round_ok();
	ck_assert_uint_eq(world.call_count, 0);
	return calls;
}

/* D17: a TSG counts as held only when its RPC succeeded. */
START_TEST(a_hold_that_failed_anywhere_is_not_recorded_and_is_completed)
{
	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	set_busy(0, true);
	round_with_failure((u32)_i);
	ck_assert(world.off[11] && world.off[12] && world.off[13] &&
		  tsgs[13 - FIRST_ID].preempted);
	ck_assert_int_eq(gvm_compute_freeze(tenants[0]), 0);
	round_with_failure((u32)_i);
	ck_assert(!world.off[11] && !world.off[12] && !world.off[13]);
	ck_assert_uint_eq(scheduler.failures, _i < 1 ? 2 : 0);
	ck_assert_uint_eq(world.idle_moves, 0);
}
END_TEST

START_TEST(slices_and_holds_that_failed_are_completed)
{
	u32 i;

	use_policy(GVM_SCHED_WEIGHTED);
	set_weights(100, 200, 300, 400);
	set_busy(0, true);
	set_busy(1, true);
	let_run(0, 100000 * MS);
	/* One disable and three slices. */
	ck_assert_uint_eq(round_with_failure((u32)_i), 4);
	ck_assert(world.off[10]);
	for (i = 0; i < TENANTS; i++)
		ck_assert_uint_eq(tsgs[i].timeslice_us, (i + 1) * WORLD_TIMESLICE_US);
	ck_assert_uint_eq(world.idle_moves, 0);
}
END_TEST

START_TEST(a_tsg_that_is_gone_is_no_failure)
{
	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	set_busy(0, true);
	world_expect_calls(0, -ENODEV);
	round_ok();
	ck_assert_uint_eq(scheduler.failures, 0);
}
END_TEST

/* Start and stop. */

START_TEST(a_scheduler_is_started_once_and_only_where_there_is_something_to_do)
{
	struct gvm_scheduler_config config = { .policy = GVM_SCHED_TIMESLICES,
					       .interval_ns = MS };
	static struct gvm_scheduler other;

	memset(&scheduler, 0, sizeof(scheduler));
	gvm_scheduler_stop(&scheduler);
	ck_assert_int_eq(gvm_scheduler_start(&scheduler, device, &config), -EINVAL);
	config.policy = GVM_SCHED_WEIGHTED;
	config.interval_ns = 0;
	ck_assert_int_eq(gvm_scheduler_start(&scheduler, device, &config), -EINVAL);
	config.interval_ns = MS;
	ck_assert_int_eq(gvm_scheduler_start(&scheduler, device, &config), 0);
	ck_assert_int_eq(gvm_scheduler_start(&scheduler, device, &config), -EBUSY);
	ck_assert_int_eq(gvm_scheduler_start(&other, device, &config), -EBUSY);
	gvm_scheduler_stop(&other);
	gvm_scheduler_stop(&scheduler);
	ck_assert_ptr_null(device->scheduler);
}
END_TEST

START_TEST(when_it_stops_everybody_has_what_his_files_say)
{
	struct gvm_scheduler_config config = { .policy = GVM_SCHED_WEIGHTED,
					       .tracking = GVM_TRACK_BUSY_BITS,
					       .interval_ns = 1000000 * MS };
	u32 i;

	set_weights(100, 200, 300, 400);
	set_busy(0, true);
	set_busy(1, true);
	ck_assert_int_eq(gvm_compute_set_timeslice_us(tenants[3], 7777), 0);
	let_run(0, 100000 * MS);
	ck_assert_int_eq(gvm_scheduler_start(&scheduler, device, &config), 0);
	world_await_round(&scheduler);
	ck_assert(world.off[10]);
	gvm_scheduler_stop(&scheduler);
	ck_assert(!world.off[10]);
	for (i = 0; i < 3; i++)
		ck_assert_uint_eq(tsgs[i].timeslice_us, WORLD_TIMESLICE_US);
	ck_assert_uint_eq(tsgs[3].timeslice_us, 7777);
}
END_TEST

static void add_invariant_tests(TCase *tests)
{
	tcase_add_test(tests, credits_add_up_to_nothing_and_a_hold_leaves_somebody_to_run);
	tcase_add_test(tests, who_always_overstays_gets_no_more_than_his_share);
}

static void add_failure_tests(TCase *tests)
{
	tcase_add_loop_test(tests, a_hold_that_failed_anywhere_is_not_recorded_and_is_completed,
			    0, 2);
	tcase_add_loop_test(tests, slices_and_holds_that_failed_are_completed, 0, 4);
	tcase_add_test(tests, a_tsg_that_is_gone_is_no_failure);
	tcase_add_test(tests,
		       a_scheduler_is_started_once_and_only_where_there_is_something_to_do);
	tcase_add_test(tests, when_it_stops_everybody_has_what_his_files_say);
}

int main(void)
{
	Suite *suite = suite_create("sched random");

	world_add_case(suite, "invariants", sched_world_setup, sched_world_teardown,
		       add_invariant_tests);
	world_add_case(suite, "failures", sched_world_setup, sched_world_teardown,
		       add_failure_tests);
	return world_run(suite);
}
