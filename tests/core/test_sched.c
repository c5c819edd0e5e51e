// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The compute scheduler in the core: decisions worked out by hand. test_sched_random.c has its
 * invariants and failing RPCs, test_scheduling.c the effects on a GPU.
 */
#include "gvm/activity.h"
#include "gvm/control.h"
#include "sched_world.h"

static struct gvm_device *const device = &world.device;

static void expect_credits(s64 a, s64 b, s64 c, s64 d)
{
	const s64 credits[TENANTS] = { a, b, c, d };
	u32 i;

	for (i = 0; i < TENANTS; i++)
		ck_assert_int_eq(tenants[i]->share.credit_ns, credits[i]);
}

static void decide(enum gvm_sched_policy policy, u64 now_ns)
{
	gvm_mutex_lock(&device->tsg_mutex);
	gvm_sched_decide_locked(device, policy, now_ns);
	gvm_mutex_unlock(&device->tsg_mutex);
}

/* The held tenants, a letter each. */
static const char *held(void)
{
	static char text[TENANTS + 1];
	u32 i, n = 0;

	for (i = 0; i < TENANTS; i++)
		if (tenants[i]->share.held)
			text[n++] = (char)('a' + i);
	text[n] = '\0';
	return text;
}

/* Priority. */

START_TEST(while_one_has_work_all_that_come_after_it_are_held)
{
	set_priorities(2, 5, 5, 10);
	tenants[1]->share.work = true;
	decide(GVM_SCHED_PRIORITY, 100 * MS);
	ck_assert_str_eq(held(), "d");
	tenants[0]->share.work = true;
	decide(GVM_SCHED_PRIORITY, 101 * MS);
	ck_assert_str_eq(held(), "bcd");
}
END_TEST

START_TEST(the_others_are_let_go_when_it_has_been_quiet_for_long_enough)
{
	set_priorities(2, 10, 10, 10);
	tenants[0]->share.work = true;
	decide(GVM_SCHED_PRIORITY, 100 * MS);
	tenants[0]->share.work = false;
	decide(GVM_SCHED_PRIORITY, 100 * MS + GVM_SCHED_QUIET_NS - 1);
	ck_assert_str_eq(held(), "bcd");
	decide(GVM_SCHED_PRIORITY, 100 * MS + GVM_SCHED_QUIET_NS);
	ck_assert_str_eq(held(), "");
}
END_TEST

START_TEST(who_is_frozen_holds_nobody)
{
	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	set_busy(0, true);
	round_ok();
	ck_assert_str_eq(held(), "bcd");
	ck_assert_int_eq(gvm_compute_freeze(tenants[0]), 0);
	round_ok();
	ck_assert_str_eq(held(), "");
	ck_assert_int_eq(gvm_compute_thaw(tenants[0]), 0);
	round_ok();
	ck_assert_str_eq(held(), "bcd");
}
END_TEST

START_TEST(all_are_held_and_leave_the_gpu_with_one_call)
{
	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	set_busy(0, true);
	round_ok();
	ck_assert_uint_eq(world.call_count, 1);
	expect_call(0, WORLD_TAKE_OFF, 11, 3);
	ck_assert(!tsgs[0].preempted && tsgs[1].preempted && tsgs[2].preempted &&
		  tsgs[3].preempted);
	round_ok();
	ck_assert_uint_eq(world.call_count, 1);
}
END_TEST

START_TEST(in_a_gap_they_are_let_go_with_one_call)
{
	struct gvm_waitqueue never;

	gvm_waitqueue_init(&never);
	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	set_busy(0, true);
	round_ok();
	set_busy(0, false);
	gvm_wait_event_timeout_ns(&never, false, GVM_SCHED_QUIET_NS);
	round_ok();
	ck_assert_uint_eq(world.call_count, 2);
	expect_call(1, WORLD_ENABLE, 11, 3);
}
END_TEST

static bool take_kick(void)
{
	bool kicked = scheduler.kicked;

	scheduler.kicked = false;
	return kicked;
}

/*
 * Regression: each launch caused a round. Now a container's launch kicks only once until the
 * container could have gone quiet, and does not use up another container's kick.
 */
START_TEST(launches_kick_once_until_their_container_could_have_gone_quiet)
{
	use_policy(GVM_SCHED_PRIORITY);
	gvm_waitqueue_init(&scheduler.wait);
	world.device.scheduler = &scheduler;
	gvm_scheduler_kick_launch(tenants[0]);
	ck_assert(take_kick());
	ck_assert_uint_ge(tenants[0]->kick_ns, GVM_SCHED_QUIET_NS);
	tenants[0]->kick_ns = U64_MAX; /* a kernel's time goes on by itself */
	for (u32 i = 0; i < 1000; i++)
		gvm_scheduler_kick_launch(tenants[0]);
	ck_assert(!take_kick());
	gvm_scheduler_kick_launch(tenants[1]);
	ck_assert(take_kick());
	tenants[0]->kick_ns = gvm_ktime_ns();
	gvm_scheduler_kick_launch(tenants[0]);
	ck_assert(take_kick());
	world.device.scheduler = NULL;
}
END_TEST

START_TEST(by_events_launches_that_have_not_ended_are_work)
{
	use_policy(GVM_SCHED_PRIORITY);
	scheduler.config.tracking = GVM_TRACK_EVENTS;
	set_priorities(2, 10, 10, 10);
	set_busy(0, true);
	round_ok();
	ck_assert_str_eq(held(), "");
	gvm_container_count_kernels(tenants[0], 3, 2);
	round_ok();
	ck_assert_str_eq(held(), "bcd");
}
END_TEST

START_TEST(a_new_tsg_of_a_held_container_is_held)
{
	struct gvm_tsg late;

	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	set_busy(0, true);
	round_ok();
	world_expect_calls(U32_MAX, 0);
	ck_assert_int_eq(gvm_tsg_attach(tenants[3], &late, 20), 0);
	expect_call(0, WORLD_DISABLE, 20, 1);
	expect_call(1, WORLD_TIMESLICE, 20, 512);
	round_ok();
	expect_call(2, WORLD_TAKE_OFF, 20, 1);
	round_ok();
	ck_assert_uint_eq(world.call_count, 3);
	gvm_tsg_detach(&late);
}
END_TEST

/* The first character of compute.freeze. */
static char frozen(u32 tenant)
{
	char text[GVM_CONTROL_TEXT_MAX];

	ck_assert_int_gt(
		gvm_control_read(tenants[tenant], "compute.freeze", text, sizeof(text)), 0);
	return text[0];
}

/*
 * After half a freeze, the TSG is off the runlist but may stay on the GPU for its whole
 * timeslice.
 */
START_TEST(who_is_half_frozen_is_taken_off_the_gpu_when_he_is_held)
{
	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	world_expect_calls(1, -EIO);
	ck_assert_int_eq(gvm_compute_freeze(tenants[1]), -EIO);
	ck_assert(tsgs[1].disabled && !tsgs[1].preempted);
	world_expect_calls(U32_MAX, 0);
	set_busy(0, true);
	round_ok();
	expect_call(0, WORLD_TAKE_OFF, 11, 3);
	ck_assert(tsgs[1].preempted && frozen(1) == '1');
}
END_TEST

/* D18 */
START_TEST(more_tsgs_than_one_rpc_takes_need_two)
{
	static struct gvm_tsg many[GVM_SCHED_BATCH];
	u32 i;

	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	for (i = 0; i < GVM_SCHED_BATCH; i++)
		ck_assert_int_eq(gvm_tsg_attach(tenants[3], &many[i], 20 + i), 0);
	world_expect_calls(U32_MAX, 0);
	set_busy(0, true);
	round_ok();
	ck_assert_uint_eq(world.call_count, 2);
	expect_call(0, WORLD_TAKE_OFF, 11, GVM_SCHED_BATCH);
	expect_call(1, WORLD_TAKE_OFF, 20 + GVM_SCHED_BATCH - 3, 3);
	for (i = 0; i < GVM_SCHED_BATCH; i++)
		gvm_tsg_detach(&many[i]);
}
END_TEST

START_TEST(held_is_not_frozen_and_both_have_to_end)
{
	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	set_busy(0, true);
	round_ok();
	ck_assert(frozen(1) == '0' && tsgs[1].disabled && tsgs[1].preempted);
	ck_assert_int_eq(gvm_compute_freeze(tenants[1]), 0);
	ck_assert_int_eq(gvm_compute_freeze(tenants[2]), 0);
	ck_assert(frozen(1) == '1' && frozen(2) == '1' && frozen(3) == '0');
	ck_assert_int_eq(gvm_compute_thaw(tenants[1]), 0);
	ck_assert(frozen(1) == '0' && world.off[11]);
	ck_assert_int_eq(gvm_compute_freeze(tenants[0]), 0);
	round_ok();
	ck_assert(!world.off[11] && world.off[12] && !world.off[13]);
	ck_assert_uint_eq(world.idle_moves, 0);
}
END_TEST

/* Weighted. */

START_TEST(slices_are_in_proportion_to_weights_and_bounded)
{
	use_policy(GVM_SCHED_WEIGHTED);
	set_weights(100, 250, 400, 10000);
	round_ok();
	/* The smallest weight keeps the device's default slice, 1000 us. */
	ck_assert_uint_eq(world.call_count, 3);
	expect_call(0, WORLD_TIMESLICE, 11, 2500);
	expect_call(1, WORLD_TIMESLICE, 12, 4000);
	expect_call(2, WORLD_TIMESLICE, 13, GVM_SCHED_SLICE_MAX_US);
	round_ok();
	ck_assert_uint_eq(world.call_count, 3);
}
END_TEST

START_TEST(time_is_paid_out_by_weight_and_paid_for_by_who_used_it)
{
	use_policy(GVM_SCHED_WEIGHTED);
	set_weights(100, 200, 400, 100);
	set_busy(0, true);
	set_busy(1, true);
	set_busy(2, true);
	let_run(0, 7000);
	round_ok();
	expect_credits(-6000, 2000, 4000, 0);
	let_run(2, 7000);
	round_ok();
	expect_credits(-5000, 4000, 1000, 0);
	/* 10 ns are divided into 7 parts, and no nanosecond is lost. */
	let_run(1, 10);
	round_ok();
	expect_credits(-4999, 3993, 1006, 0);
}
END_TEST

START_TEST(credit_that_is_not_wanted_lapses_and_as_much_of_debts)
{
	use_policy(GVM_SCHED_WEIGHTED);
	set_weights(100, 200, 400, 100);
	set_busy(0, true);
	set_busy(1, true);
	set_busy(2, true);
	let_run(0, 7000);
	round_ok();
	set_busy(2, false);
	round_ok();
	expect_credits(-2000, 2000, 0, 0);
	/* Sleep does not lower a debt. Time that others use does: here by 100 parts of 300. */
	set_busy(0, false);
	round_ok();
	expect_credits(-2000, 2000, 0, 0);
	let_run(1, 3000);
	round_ok();
	expect_credits(-1000, 1000, 0, 0);
	let_run(1, 9000);
	round_ok();
	expect_credits(0, 0, 0, 0);
}
END_TEST

START_TEST(who_is_alone_owes_nothing)
{
	use_policy(GVM_SCHED_WEIGHTED);
	set_busy(1, true);
	let_run(1, 5000 * MS);
	round_ok();
	expect_credits(0, 0, 0, 0);
}
END_TEST

START_TEST(who_owes_too_much_is_held_until_he_owes_nothing)
{
	const u64 limit = GVM_SCHED_OVERDRAFT_NS;

	use_policy(GVM_SCHED_WEIGHTED);
	set_busy(0, true);
	set_busy(1, true);
	let_run(0, 2 * limit);
	round_ok();
	expect_credits(-(s64)limit, (s64)limit, 0, 0);
	ck_assert_str_eq(held(), "");
	let_run(0, 2);
	round_ok();
	ck_assert_str_eq(held(), "a");
	let_run(1, 2 * limit);
	round_ok();
	expect_credits(-1, 1, 0, 0);
	ck_assert_str_eq(held(), "a");
	let_run(1, 2);
	round_ok();
	ck_assert_str_eq(held(), "");
	/* No preemption: one RPC for the hold, one for its end. */
	ck_assert_uint_eq(world.call_count, 2);
	expect_call(0, WORLD_DISABLE, 10, 1);
	expect_call(1, WORLD_ENABLE, 10, 1);
}
END_TEST

START_TEST(what_is_long_ago_is_forgotten)
{
	use_policy(GVM_SCHED_WEIGHTED);
	set_busy(0, true);
	set_busy(1, true);
	let_run(0, 100000 * MS);
	round_ok();
	expect_credits(-GVM_SCHED_CREDIT_MAX_NS, GVM_SCHED_CREDIT_MAX_NS, 0, 0);
}
END_TEST

START_TEST(a_container_without_tsgs_has_no_share)
{
	use_policy(GVM_SCHED_WEIGHTED);
	set_weights(1, 100, 100, 100);
	set_busy(0, true);
	set_busy(1, true);
	let_run(0, 1000 * MS);
	round_ok();
	ck_assert_str_eq(held(), "a");
	gvm_tsg_detach(&tsgs[0]);
	world.samples[10].runtime_ns = 0;
	round_ok();
	expect_credits(0, 0, 0, 0);
	ck_assert_uint_eq(tenants[1]->share.slice_us, WORLD_TIMESLICE_US);
	ck_assert_int_eq(gvm_tsg_attach(tenants[0], &tsgs[0], 10), 0);
	ck_assert(!tsgs[0].disabled);
}
END_TEST

static void add_priority_tests(TCase *tests)
{
	tcase_add_test(tests, while_one_has_work_all_that_come_after_it_are_held);
	tcase_add_test(tests, the_others_are_let_go_when_it_has_been_quiet_for_long_enough);
	tcase_add_test(tests, who_is_frozen_holds_nobody);
	tcase_add_test(tests, all_are_held_and_leave_the_gpu_with_one_call);
	tcase_add_test(tests, who_is_half_frozen_is_taken_off_the_gpu_when_he_is_held);
	tcase_add_test(tests, in_a_gap_they_are_let_go_with_one_call);
	tcase_add_test(tests, launches_kick_once_until_their_container_could_have_gone_quiet);
	tcase_add_test(tests, by_events_launches_that_have_not_ended_are_work);
	tcase_add_test(tests, a_new_tsg_of_a_held_container_is_held);
	tcase_add_test(tests, more_tsgs_than_one_rpc_takes_need_two);
	tcase_add_test(tests, held_is_not_frozen_and_both_have_to_end);
}

/* Regression: after a reset the device counts from 0 again, and the difference wrapped round. */
START_TEST(time_that_goes_backwards_is_no_time)
{
	use_policy(GVM_SCHED_WEIGHTED);
	set_busy(0, true);
	set_busy(1, true);
	let_run(0, 4 * MS);
	let_run(1, 4 * MS);
	round_ok();
	world.samples[FIRST_ID].runtime_ns = 0;
	let_run(1, 2 * MS);
	round_ok();
	ck_assert_int_eq(tenants[0]->share.credit_ns, (s64)MS);
	ck_assert_int_eq(tenants[1]->share.credit_ns, -(s64)MS);
	let_run(0, 2 * MS);
	round_ok();
	ck_assert_int_eq(tenants[0]->share.credit_ns, 0);
}
END_TEST

static void add_weighted_tests(TCase *tests)
{
	tcase_add_test(tests, slices_are_in_proportion_to_weights_and_bounded);
	tcase_add_test(tests, time_is_paid_out_by_weight_and_paid_for_by_who_used_it);
	tcase_add_test(tests, credit_that_is_not_wanted_lapses_and_as_much_of_debts);
	tcase_add_test(tests, who_is_alone_owes_nothing);
	tcase_add_test(tests, who_owes_too_much_is_held_until_he_owes_nothing);
	tcase_add_test(tests, what_is_long_ago_is_forgotten);
	tcase_add_test(tests, a_container_without_tsgs_has_no_share);
	tcase_add_test(tests, time_that_goes_backwards_is_no_time);
}

#ifndef __KERNEL__
/*
 * Between two holds of tsg_mutex. In a kernel other threads do this; the traces of
 * fakegpu_waits.c show it.
 */

#define MANY 9u

static struct gvm_tsg many[MANY]; /* more TSGs of the last tenant, with the ids 20, 21, ... */
static u32 holds, calls_before;

/* The mutex is free. The hold before had no more RPCs than other threads may wait for. */
static void come_in(void)
{
	holds++;
	ck_assert_uint_le(world.call_count - calls_before, GVM_SCHED_HOLD_RPCS);
	calls_before = world.call_count;
	ck_assert(gvm_mutex_trylock(&device->tsg_mutex));
	gvm_mutex_unlock(&device->tsg_mutex);
}

/* A tenant of weight 4 has MANY TSGs more. The first tenant has run for too long. */
static void owe_and_attach_many(void)
{
	use_policy(GVM_SCHED_WEIGHTED);
	set_weights(100, 100, 100, 400);
	for (u32 i = 0; i < MANY; i++)
		ck_assert_int_eq(gvm_tsg_attach(tenants[3], &many[i], 20 + i), 0);
	world_expect_calls(U32_MAX, 0);
	set_busy(0, true);
	set_busy(1, true);
	let_run(0, 100000 * MS);
}

static void detach_many(void)
{
	for (u32 i = 0; i < MANY; i++)
		if (many[i].container)
			gvm_tsg_detach(&many[i]);
}

static void round_in_holds(void)
{
	null_on_give_way = come_in;
	calls_before = world.call_count;
	holds = 1;
	round_ok();
	null_on_give_way = NULL;
	ck_assert_uint_le(world.call_count - calls_before, GVM_SCHED_HOLD_RPCS);
}

/*
 * Regression: a round set the timeslices of all TSGs in one hold, and a tenant of many TSGs kept
 * other threads waiting.
 */
START_TEST(others_wait_for_three_rpcs_of_a_round)
{
	owe_and_attach_many();
	round_in_holds();
	/* One TSG leaves the runlist, and MANY + 1 get timeslices. */
	ck_assert_uint_eq(world.call_count, 1 + MANY + 1);
	ck_assert_uint_eq(holds, 4);
	expect_call(0, WORLD_DISABLE, 10, 1);
	expect_call(1, WORLD_TIMESLICE, 13, 4 * WORLD_TIMESLICE_US);
	expect_call(10, WORLD_TIMESLICE, 20 + MANY - 1, 4 * WORLD_TIMESLICE_US);
	world_expect_calls(U32_MAX, 0);
	round_in_holds();
	ck_assert_uint_eq(world.call_count, 0);
	ck_assert_uint_eq(holds, 1);
	detach_many();
}
END_TEST

/* A round that has no RPC left does not release the mutex. */
START_TEST(a_round_of_three_rpcs_is_one_hold)
{
	use_policy(GVM_SCHED_WEIGHTED);
	set_weights(100, 200, 300, 400);
	round_in_holds();
	ck_assert_uint_eq(world.call_count, GVM_SCHED_HOLD_RPCS);
	ck_assert_uint_eq(holds, 1);
}
END_TEST

/* Each RPC that fails is tried once in a round, and it counts for its hold. */
START_TEST(rpcs_that_fail_make_no_hold_longer)
{
	owe_and_attach_many();
	world_expect_calls(0, -EIO);
	null_on_give_way = come_in;
	calls_before = 0;
	holds = 1;
	ck_assert_int_eq(gvm_scheduler_round(&scheduler), -EIO);
	ck_assert_uint_eq(world.call_count, 1 + MANY + 1);
	ck_assert_uint_eq(holds, 4);
	null_on_give_way = NULL;
	detach_many();
}
END_TEST

static struct gvm_tsg newcomer;

static void come_and_go_meanwhile(void)
{
	null_on_give_way = NULL;
	gvm_tsg_detach(&many[3]);
	memset(&many[3], 0xff, sizeof(many[3]));
	many[3].container = NULL;
	ck_assert_int_eq(gvm_tsg_attach(tenants[3], &newcomer, 40), 0);
	ck_assert_int_eq(gvm_compute_set_timeslice_us(tenants[0], 5000), 0);
}

/* A TSG that leaves in the middle gets no RPC. A new one has its settings already. */
START_TEST(tsgs_come_and_go_in_the_middle_of_a_round)
{
	owe_and_attach_many();
	null_on_give_way = come_and_go_meanwhile;
	round_ok();
	ck_assert_uint_eq(newcomer.timeslice_us, 4 * WORLD_TIMESLICE_US);
	for (u32 i = 0; i < world.call_count; i++)
		ck_assert_uint_ne(world.calls[i].tsg, 20 + 3);
	world_expect_calls(U32_MAX, 0);
	round_ok();
	ck_assert_uint_eq(world.call_count, 0);
	gvm_tsg_detach(&newcomer);
	detach_many();
}
END_TEST

static void freeze_meanwhile(void)
{
	null_on_give_way = NULL;
	ck_assert_int_eq(gvm_compute_freeze(tenants[3]), 0);
	for (u32 i = 0; i < MANY; i++)
		ck_assert(many[i].preempted);
}

/* The writer's RPCs count. The round repeats none of them and undoes none of them. */
START_TEST(a_freeze_in_the_middle_of_a_round_holds)
{
	owe_and_attach_many();
	null_on_give_way = freeze_meanwhile;
	round_ok();
	/* One disable of the debtor; then disable, preempt and timeslice once for each TSG. */
	ck_assert_uint_eq(world.call_count, 1 + 3 * (MANY + 1));
	for (u32 i = 0; i < MANY; i++) {
		ck_assert(many[i].preempted && world.off[20 + i]);
		ck_assert_uint_eq(many[i].timeslice_us, 4 * WORLD_TIMESLICE_US);
	}
	detach_many();
}
END_TEST

/* The GPU is lost in the middle: no RPC follows. */
static void lose_the_gpu(void)
{
	null_on_give_way = NULL;
	gvm_device_set_lost(device);
}

START_TEST(a_round_ends_when_the_gpu_is_lost)
{
	owe_and_attach_many();
	null_on_give_way = lose_the_gpu;
	round_ok();
	ck_assert_uint_eq(world.call_count, GVM_SCHED_HOLD_RPCS);
	detach_many();
}
END_TEST

static void add_hold_tests(TCase *tests)
{
	tcase_add_test(tests, others_wait_for_three_rpcs_of_a_round);
	tcase_add_test(tests, a_round_of_three_rpcs_is_one_hold);
	tcase_add_test(tests, rpcs_that_fail_make_no_hold_longer);
	tcase_add_test(tests, tsgs_come_and_go_in_the_middle_of_a_round);
	tcase_add_test(tests, a_freeze_in_the_middle_of_a_round_holds);
	tcase_add_test(tests, a_round_ends_when_the_gpu_is_lost);
}
#endif

int main(void)
{
	Suite *suite = suite_create("sched");

	world_add_case(suite, "priority", sched_world_setup, sched_world_teardown,
		       add_priority_tests);
	world_add_case(suite, "weighted", sched_world_setup, sched_world_teardown,
		       add_weighted_tests);
#ifndef __KERNEL__
	world_add_case(suite, "user space only, holds of tsg_mutex", sched_world_setup,
		       sched_world_teardown, add_hold_tests);
#endif
	return world_run(suite);
}
