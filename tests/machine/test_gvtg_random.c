// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * GVT-g's scheduler with drawn weights, lengths of workloads, and idle vGPUs. What holds in
 * each case: one workload is in flight, and it is the owner's; it is never split; a vGPU has at
 * most its share of ten seconds and what long workloads let it take; a busy one with short
 * workloads never starves.
 */
#include "runner.h"
#include "systems/gvtg_policy.h"

#define MS	   1000000ull
#define SECOND	   (1000 * MS)
#define VGPUS_MAX  8u
#define SHORT_NS   (10 * MS)
#define LEAST_NS   (MS / 10) /* of a workload: ten seconds have 100,000 of these at most */
#define DURATION_S 10u

static struct gvtg_policy policy;
static struct gvtg_vgpu vgpus[VGPUS_MAX];
static u64 workload_ns[VGPUS_MAX];
static u64 busy_ns[VGPUS_MAX];
static u64 longest_wait_ns[VGPUS_MAX], ended_ns[VGPUS_MAX];
static u32 count;
static u64 state;

static u64 draw(u64 bound)
{
	return (u64)((unsigned __int128)gvm_port_draw(&state) * bound >> 64);
}

static void begin(bool only_short)
{
	gvtg_policy_init(&policy, 100 * MS, 10, 0);
	count = 1 + (u32)draw(VGPUS_MAX);
	for (u32 i = 0; i < count; i++) {
		vgpus[i] =
			(struct gvtg_vgpu){ .weight = 2u << draw(4), .queued = draw(4) != 0 };
		workload_ns[i] =
			LEAST_NS + draw((only_short ? SHORT_NS : 2 * SECOND) - LEAST_NS);
		busy_ns[i] = longest_wait_ns[i] = ended_ns[i] = 0;
		gvtg_policy_add(&policy, &vgpus[i], 0);
	}
}

/* Returns the time in which a workload was in flight. */
static u64 run(void)
{
	u64 tick = MS, end = ~0ull, start = 0, total = 0;
	struct gvtg_vgpu *flying = NULL;

	while (min(tick, end) < DURATION_S * SECOND) {
		u64 now = min(tick, end);

		if (now == tick) {
			gvtg_policy_schedule(&policy, now, true);
			tick += MS;
		} else {
			u32 i = (u32)(flying - vgpus);

			ck_assert_ptr_eq(policy.owner, flying);
			busy_ns[i] += now - start;
			total += now - start;
			ended_ns[i] = now;
			policy.in_flight = false;
			flying = NULL;
			end = ~0ull;
			if (policy.stops)
				gvtg_policy_schedule(&policy, now, false);
		}
		if (flying) {
			ck_assert(!gvtg_policy_may_dispatch(&policy));
		} else if (gvtg_policy_may_dispatch(&policy)) {
			u32 i = (u32)(policy.owner - vgpus);

			ck_assert_uint_lt(i, count);
			flying = policy.owner;
			policy.in_flight = true;
			start = now;
			end = now + workload_ns[i];
			longest_wait_ns[i] = max(longest_wait_ns[i], now - ended_ns[i]);
		}
	}
	return total;
}

/* Its share of the time by weight, among all vGPUs, busy or not. */
static u64 share_ns(u32 index)
{
	u64 weights = 0;

	for (u32 i = 0; i < count; i++)
		weights += vgpus[i].weight;
	return DURATION_S * SECOND * vgpus[index].weight / weights;
}

/*
 * With short workloads: a cap, and no starvation. In each second a vGPU can take one workload
 * more than its budget, and what all others take so is missing.
 */
START_TEST(short_workloads_get_their_share_and_no_more)
{
	state = runner_seed();
	for (u32 round = 0; round < 60; round++) {
		begin(true);
		run();
		for (u32 i = 0; i < count; i++) {
			u64 share = share_ns(i), over = DURATION_S * SHORT_NS;

			if (!vgpus[i].queued) {
				ck_assert_uint_eq(busy_ns[i], 0);
				continue;
			}
			ck_assert_uint_le(busy_ns[i], share + over + 100 * MS);
			ck_assert_uint_ge(busy_ns[i] + count * over + 200 * MS, share);
			ck_assert_uint_gt(busy_ns[i], 0);
			ck_assert_uint_le(longest_wait_ns[i], SECOND + 100 * MS);
		}
	}
}
END_TEST

/* Whatever the lengths: no more than the time there is, and the idle get nothing. */
START_TEST(long_workloads_are_never_split_or_mixed)
{
	state = runner_seed();
	for (u32 round = 0; round < 60; round++) {
		begin(false);
		ck_assert_uint_le(run(), DURATION_S * SECOND);
		for (u32 i = 0; i < count; i++) {
			ck_assert_uint_eq(busy_ns[i] % workload_ns[i], 0);
			if (!vgpus[i].queued)
				ck_assert_uint_eq(busy_ns[i], 0);
		}
	}
}
END_TEST

TEST_MAIN("gvtg_random", short_workloads_get_their_share_and_no_more,
	  long_workloads_are_never_split_or_mixed)
