// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The compute scheduler in the core: decisions worked out by hand, its invariants under random
 * use, and an RPC that fails at every call. What comes of it on a GPU is in test_scheduling.c.
 */
#include "core_world.h"
#include "gvm/control.h"
#include "gvm/sched.h"
#include "runner.h"

#define TENANTS	 4u
#define MS	 1000000ull
#define FIRST_ID 10u

static struct gvm_device *const device = &world.device;
static struct gvm_scheduler scheduler;
static struct gvm_container *tenants[TENANTS];
static struct gvm_tsg tsgs[TENANTS]; /* one each, with the ids 10, 11, ... */
static u64 random_state;

/* splitmix64 */
static u32 draw(u32 below)
{
	u64 z = random_state += 0x9E3779B97F4A7C15ull;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return (u32)((z ^ z >> 31) % below);
}

/* A scheduler without its thread: tests make its rounds. */
static void use_policy(enum gvm_sched_policy policy)
{
	memset(&scheduler, 0, sizeof(scheduler));
	scheduler.device = device;
	scheduler.config.policy = policy;
	scheduler.config.tracking = GVM_TRACK_BUSY_BITS;
	scheduler.config.interval_ns = MS;
}

static void set_weights(u32 a, u32 b, u32 c, u32 d)
{
	const u32 weights[TENANTS] = { a, b, c, d };
	u32 i;

	for (i = 0; i < TENANTS; i++)
		ck_assert_int_eq(gvm_compute_set_weight(tenants[i], weights[i]), 0);
}

static void set_priorities(u32 a, u32 b, u32 c, u32 d)
{
	const u32 priorities[TENANTS] = { a, b, c, d };
	u32 i;

	for (i = 0; i < TENANTS; i++)
		ck_assert_int_eq(gvm_compute_set_priority(tenants[i], priorities[i]), 0);
	world_expect_calls(U32_MAX, 0);
}

/* What the device will say of a tenant's TSG. */
static void set_busy(u32 tenant, bool busy)
{
	world.samples[FIRST_ID + tenant].busy = busy;
}

static void let_run(u32 tenant, u64 ns)
{
	world.samples[FIRST_ID + tenant].runtime_ns += ns;
}

static void round_ok(void)
{
	ck_assert_int_eq(gvm_scheduler_round(&scheduler), 0);
}

static void expect_call(u32 index, enum world_rpc rpc, u32 tsg, u64 value)
{
	ck_assert_uint_lt(index, world.call_count);
	ck_assert_int_eq(world.calls[index].rpc, rpc);
	ck_assert_uint_eq(world.calls[index].tsg, tsg);
	ck_assert_uint_eq(world.calls[index].value, value);
}

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

/* Who is held: a letter each. */
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

START_TEST(all_are_held_with_one_call_and_who_is_on_the_gpu_leaves_it)
{
	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	set_busy(0, true);
	world.samples[12].on_gpu = true;
	round_ok();
	ck_assert_uint_eq(world.call_count, 2);
	expect_call(0, WORLD_DISABLE, 11, 3);
	expect_call(1, WORLD_PREEMPT, 12, 0);
	round_ok();
	ck_assert_uint_eq(world.call_count, 2);
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
	gvm_tsg_detach(&late);
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
	expect_call(0, WORLD_DISABLE, 11, GVM_SCHED_BATCH);
	expect_call(1, WORLD_DISABLE, 20 + GVM_SCHED_BATCH - 3, 3);
	for (i = 0; i < GVM_SCHED_BATCH; i++)
		gvm_tsg_detach(&many[i]);
}
END_TEST

/* What compute.freeze reads, as a number. */
static char frozen(u32 tenant)
{
	char text[GVM_CONTROL_TEXT_MAX];

	ck_assert_int_gt(
		gvm_control_read(tenants[tenant], "compute.freeze", text, sizeof(text)), 0);
	return text[0];
}

START_TEST(held_is_not_frozen_and_both_have_to_end)
{
	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	set_busy(0, true);
	world.samples[11].on_gpu = true;
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
	/* The smallest keeps what the device gives to everybody, 1000 us. */
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
	/* 10 ns for 7 parts: every nanosecond goes somewhere. */
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
	/* Nor does a debt go by sleeping, but by what is left to others: here 100 parts of 300. */
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
	/* No preemption, one call for each. */
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
	ck_assert_msg(!any_held || owed, "step %u: idle, and somebody is held", step);
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
 * The worst GPU there is: the first that may run does, for all of a millisecond, as if it waited
 * for page faults. So nobody's timeslice means anything, and only credit is left.
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

/* What is recorded of TSGs is what calls that succeeded have made of them. */
static void expect_records_to_be_true(void)
{
	u32 i;

	for (i = 0; i < TENANTS; i++)
		ck_assert_int_eq(tsgs[i].disabled, world.off[FIRST_ID + i]);
}

/* A round whose call of index @fail fails, and the one that makes up for it. Returns its calls. */
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

START_TEST(a_hold_that_failed_anywhere_is_not_recorded_and_is_completed)
{
	use_policy(GVM_SCHED_PRIORITY);
	set_priorities(2, 10, 10, 10);
	set_busy(0, true);
	world.samples[13].on_gpu = true;
	round_with_failure((u32)_i);
	ck_assert(world.off[11] && world.off[12] && world.off[13] &&
		  tsgs[13 - FIRST_ID].preempted);
	ck_assert_int_eq(gvm_compute_freeze(tenants[0]), 0);
	round_with_failure((u32)_i);
	ck_assert(!world.off[11] && !world.off[12] && !world.off[13]);
	ck_assert_uint_eq(scheduler.failures, _i < 1 ? 2 : _i < 2 ? 1 : 0);
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
	/* A disable, and three slices. */
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
	ck_assert_int_eq(gvm_scheduler_start(&scheduler, device, &config), 0);
	let_run(0, 100000 * MS);
	round_ok();
	ck_assert(world.off[10]);
	gvm_scheduler_stop(&scheduler);
	ck_assert(!world.off[10]);
	for (i = 0; i < 3; i++)
		ck_assert_uint_eq(tsgs[i].timeslice_us, WORLD_TIMESLICE_US);
	ck_assert_uint_eq(tsgs[3].timeslice_us, 7777);
}
END_TEST

static void setup(void)
{
	u32 i;

	world_init(WORLD_CHUNKS);
	for (i = 0; i < TENANTS; i++) {
		tenants[i] = world_attach(1 + i);
		ck_assert_int_eq(gvm_tsg_attach(tenants[i], &tsgs[i], FIRST_ID + i), 0);
	}
}

static void teardown(void)
{
	u32 i;

	for (i = 0; i < TENANTS; i++) {
		gvm_tsg_detach(&tsgs[i]);
		world_detach(tenants[i]);
	}
	world_destroy();
}

static void add_priority_tests(TCase *tests)
{
	tcase_add_test(tests, while_one_has_work_all_that_come_after_it_are_held);
	tcase_add_test(tests, the_others_are_let_go_when_it_has_been_quiet_for_long_enough);
	tcase_add_test(tests, who_is_frozen_holds_nobody);
	tcase_add_test(tests, all_are_held_with_one_call_and_who_is_on_the_gpu_leaves_it);
	tcase_add_test(tests, in_a_gap_they_are_let_go_with_one_call);
	tcase_add_test(tests, by_events_launches_that_have_not_ended_are_work);
	tcase_add_test(tests, a_new_tsg_of_a_held_container_is_held);
	tcase_add_test(tests, more_tsgs_than_one_rpc_takes_need_two);
	tcase_add_test(tests, held_is_not_frozen_and_both_have_to_end);
}

static void add_weighted_tests(TCase *tests)
{
	tcase_add_test(tests, slices_are_in_proportion_to_weights_and_bounded);
	tcase_add_test(tests, time_is_paid_out_by_weight_and_paid_for_by_who_used_it);
	tcase_add_test(tests, credit_that_is_not_wanted_lapses_and_as_much_of_debts);
	tcase_add_test(tests, who_is_alone_owes_nothing);
	tcase_add_test(tests, who_owes_too_much_is_held_until_he_owes_nothing);
	tcase_add_test(tests, what_is_long_ago_is_forgotten);
	tcase_add_test(tests, a_container_without_tsgs_has_no_share);
	tcase_add_test(tests, credits_add_up_to_nothing_and_a_hold_leaves_somebody_to_run);
	tcase_add_test(tests, who_always_overstays_gets_no_more_than_his_share);
}

static void add_failure_tests(TCase *tests)
{
	tcase_add_loop_test(tests, a_hold_that_failed_anywhere_is_not_recorded_and_is_completed,
			    0, 3);
	tcase_add_loop_test(tests, slices_and_holds_that_failed_are_completed, 0, 4);
	tcase_add_test(tests, a_tsg_that_is_gone_is_no_failure);
	tcase_add_test(tests,
		       a_scheduler_is_started_once_and_only_where_there_is_something_to_do);
	tcase_add_test(tests, when_it_stops_everybody_has_what_his_files_say);
}

int main(void)
{
	Suite *suite = suite_create("sched");

	world_add_case(suite, "priority", setup, teardown, add_priority_tests);
	world_add_case(suite, "weighted", setup, teardown, add_weighted_tests);
	world_add_case(suite, "failures", setup, teardown, add_failure_tests);
	return world_run(suite);
}
