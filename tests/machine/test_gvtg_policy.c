// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * GVT-g's scheduler: small schedules worked out by hand, and shares of ten seconds that were
 * derived from the public code by other means. Queues never run empty; dispatch takes no time.
 */
#include "runner.h"
#include "systems/gvtg_policy.h"

#define MS	  1000000ull
#define VGPUS_MAX 4u

static struct gvtg_policy policy;
static struct gvtg_vgpu vgpus[VGPUS_MAX];
static u64 workload_ns[VGPUS_MAX];
static u64 busy_ns[VGPUS_MAX];
/* The first starts of workloads: which vGPU, and when. */
static u32 start_count, started[1024];
static u64 starts_ns[1024];

/* @weights: 0 at the end. */
static void begin(const u32 *weights, u64 start_ns)
{
	gvtg_policy_init(&policy, 100 * MS, 10, start_ns);
	start_count = 0;
	for (u32 i = 0; i < VGPUS_MAX && weights[i]; i++) {
		vgpus[i] = (struct gvtg_vgpu){ .weight = weights[i] };
		gvtg_policy_add(&policy, &vgpus[i], 0);
		busy_ns[i] = 0;
	}
}

/* The owner's next workload starts. Returns when it ends; ~0: there is none. */
static u64 dispatch(u64 now)
{
	u32 index;

	if (!gvtg_policy_may_dispatch(&policy))
		return ~0ull;
	index = (u32)(policy.owner - vgpus);
	policy.in_flight = true;
	if (start_count < ARRAY_SIZE(started)) {
		started[start_count] = index;
		starts_ns[start_count++] = now;
	}
	return now + workload_ns[index];
}

/* Run until @until. A tick comes before an end of the same date. */
static void run(u64 until)
{
	u64 tick = MS, end = ~0ull;

	while (min(tick, end) < until) {
		u64 now = min(tick, end);

		if (now == tick) {
			gvtg_policy_schedule(&policy, now, true);
			tick += MS;
		} else {
			busy_ns[policy.owner - vgpus] += workload_ns[policy.owner - vgpus];
			policy.in_flight = false;
			end = ~0ull;
			if (policy.stops)
				gvtg_policy_schedule(&policy, now, false);
		}
		if (end == ~0ull)
			end = dispatch(now);
	}
}

static void expect_start(u32 number, u32 vgpu, u64 date_ns)
{
	ck_assert_uint_lt(number, start_count);
	ck_assert_uint_eq(started[number], vgpu);
	ck_assert_uint_eq(starts_ns[number], date_ns);
}

/*
 * Budgets at 1 ms: 66,666,666 and 33,333,333 ns. vGPU 1 has run 30 ms by 71 ms and is chosen
 * once more. Then it owes 6,666,667 ns, and vGPU 0 goes on alone.
 */
START_TEST(two_that_are_busy_alternate_until_a_budget_is_spent)
{
	begin((const u32[]){ 4, 2, 0 }, 0);
	for (u32 i = 0; i < 2; i++) {
		vgpus[i].queued = 1;
		workload_ns[i] = 10 * MS;
	}
	run(99 * MS);
	ck_assert_int_eq(vgpus[0].budget_ns, 66666666);
	ck_assert_int_eq(vgpus[1].budget_ns, 33333333);
	for (u32 i = 0; i < 8; i++)
		expect_start(i, i % 2, (1 + 10 * i) * MS);
	expect_start(8, 0, 81 * MS);
	expect_start(9, 0, 91 * MS);
	ck_assert_uint_eq(start_count, 10);
	ck_assert_int_eq(vgpus[1].left_ns, 33333333 - 40 * (s64)MS);
}
END_TEST

/* Weights that add up to more than the period has ns. */
START_TEST(large_weights_share_as_small_ones_do)
{
	begin((const u32[]){ 200000000, 100000000, 0 }, 0);
	vgpus[0].queued = 1;
	workload_ns[0] = 10 * MS;
	run(99 * MS);
	ck_assert_int_eq(vgpus[0].budget_ns, 66666666);
	ck_assert_int_eq(vgpus[1].budget_ns, 33333333);
}
END_TEST

/* Weight 2 of 6, alone: 40, 30, 30 ms of each 100, and 340 of each second. */
START_TEST(a_lone_vgpu_gets_its_share_and_no_more)
{
	static const u64 expected[] = { 40, 70, 100, 140, 170, 200, 240, 270, 300, 340 };

	workload_ns[0] = 10 * MS;
	for (u32 i = 0; i < ARRAY_SIZE(expected); i++) {
		begin((const u32[]){ 2, 4, 0 }, 0);
		vgpus[0].queued = 1;
		run((100 * (i + 1) + 1) * MS);
		ck_assert_uint_eq(busy_ns[0], expected[i] * MS);
	}
}
END_TEST

/* A vGPU that starts gets everything for 2 s. */
START_TEST(one_that_starts_comes_first_for_two_seconds)
{
	begin((const u32[]){ 2, 0 }, 0);
	workload_ns[0] = workload_ns[1] = 10 * MS;
	vgpus[0].queued = 1;
	policy.start_ns = 2000 * MS;
	vgpus[1] = (struct gvtg_vgpu){ .weight = 2, .queued = 1 };
	gvtg_policy_add(&policy, &vgpus[1], 0);
	busy_ns[1] = 0;
	run(2002 * MS);
	ck_assert_uint_eq(busy_ns[1], 2000 * MS);
	ck_assert_uint_eq(busy_ns[0], 0);
}
END_TEST

/* Rows: weights, times of workloads in ms (0: idle), and what each has in 10 s, in ms. */
static const struct {
	u32 weights[VGPUS_MAX + 1];
	u32 workload[VGPUS_MAX];
	u32 busy[VGPUS_MAX];
} rows[] = {
	{ { 4, 2 }, { 10, 10 }, { 6590, 3400 } },
	{ { 4, 2 }, { 1, 1 }, { 6650, 3340 } },
	{ { 8, 4, 2 }, { 5, 5, 5 }, { 5640, 2900, 1450 } },
	{ { 4, 2, 2, 2 }, { 10, 10, 10, 10 }, { 3990, 2000, 2000, 2000 } },
	{ { 2, 4 }, { 10, 0 }, { 3400, 0 } },
	{ { 4, 4 }, { 300, 5 }, { 6000, 3990 } },
	{ { 4, 4 }, { 1500, 5 }, { 7500, 2495 } },
};

/* Within a workload of 10 ms: the last ones have not ended. */
START_TEST(shares_of_ten_seconds_are_those_of_the_public_code)
{
	for (u32 row = 0; row < ARRAY_SIZE(rows); row++) {
		begin(rows[row].weights, 0);
		for (u32 i = 0; i < VGPUS_MAX; i++) {
			vgpus[i].queued = rows[row].workload[i] != 0;
			workload_ns[i] = rows[row].workload[i] * MS;
		}
		run(10000 * MS);
		for (u32 i = 0; i < VGPUS_MAX && rows[row].weights[i]; i++) {
			ck_assert_uint_le(busy_ns[i], (rows[row].busy[i] + 10) * MS);
			ck_assert_uint_ge(busy_ns[i] + 10 * MS, rows[row].busy[i] * MS);
		}
	}
}
END_TEST

TEST_MAIN("gvtg_policy", two_that_are_busy_alternate_until_a_budget_is_spent,
	  large_weights_share_as_small_ones_do, a_lone_vgpu_gets_its_share_and_no_more,
	  one_that_starts_comes_first_for_two_seconds,
	  shares_of_ten_seconds_are_those_of_the_public_code)
