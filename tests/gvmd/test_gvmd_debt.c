// SPDX-License-Identifier: MIT OR GPL-2.0
/* The policy "debt": accounts by hand. A step is 100 ms. */
#include "gvmd_fixture.h"

#define DEBT(more) "{\"policy\": \"debt\"" more "}"

static u64 busy_us[2], stalled_us[2], now_ms;

static void begin(const char *json)
{
	load(json);
	for (u32 i = 0; i < 2; i++) {
		busy_us[i] = stalled_us[i] = 0;
		set(&step.containers[i], GVMD_BUSY_US, 0);
		set(&step.containers[i], GVMD_STALLED_US, 0);
		set(&step.containers[i], GVMD_PENDING, 3);
	}
	now_ms = 100;
	expect(now_ms, "");
}

/* In 100 ms the server had @server ms, and diffusion @kernels ms and @faults ms of faults. */
static void passes(u64 server, u64 kernels, u64 faults, const char *writes)
{
	busy_us[0] += server * 1000;
	busy_us[1] += kernels * 1000;
	stalled_us[1] += faults * 1000;
	set(vllm, GVMD_BUSY_US, busy_us[0]);
	set(diffusion, GVMD_BUSY_US, busy_us[1]);
	set(diffusion, GVMD_STALLED_US, stalled_us[1]);
	now_ms += 100;
	expect(now_ms, writes);
}

/*
 * Diffusion costs 80 of 100 ms, 50 of them by faults, so its debt grows by 30 a step: 210 after
 * seven. The server alone then costs 100 a step, and gains half of it as debt: after five steps
 * diffusion has 40 of credit.
 */
START_TEST(faults_cost_and_a_debtor_is_frozen_until_it_has_paid)
{
	begin(DEBT(""));
	for (u32 i = 0; i < 6; i++)
		passes(20, 30, 50, "");
	passes(20, 30, 50, "diffusion compute.freeze 1");
	for (u32 i = 0; i < 4; i++)
		passes(100, 0, 0, "");
	passes(100, 0, 0, "diffusion compute.freeze 0");
	unload();
}
END_TEST

/* Kernels alone: 20 against 30, a debt of 5 a step; 41 steps make 205. */
START_TEST(without_faults_only_kernels_cost)
{
	begin(DEBT(", \"faults\": false"));
	for (u32 i = 0; i < 40; i++)
		passes(20, 30, 50, "");
	passes(20, 30, 50, "diffusion compute.freeze 1");
	unload();
}
END_TEST

/* With a weight of 4 to 1 the server may cost 80 of 100. */
START_TEST(weights_are_shares_of_what_all_cost)
{
	begin(DEBT(", \"weights\": {\"vllm\": 4}"));
	for (u32 i = 0; i < 20; i++)
		passes(80, 20, 0, "");
	/* 30 above its share a step. */
	for (u32 i = 0; i < 6; i++)
		passes(50, 30, 20, "");
	passes(50, 30, 20, "diffusion compute.freeze 1");
	unload();
}
END_TEST

/* It pages against itself while the server has nothing to do, and owes nothing for it. */
START_TEST(a_debtor_runs_while_no_other_has_work)
{
	begin(DEBT(""));
	set(vllm, GVMD_PENDING, 0);
	for (u32 i = 0; i < 20; i++)
		passes(0, 40, 60, "");
	set(vllm, GVMD_PENDING, 3);
	for (u32 i = 0; i < 6; i++)
		passes(20, 30, 50, "");
	passes(20, 30, 50, "diffusion compute.freeze 1");
	set(vllm, GVMD_PENDING, 0);
	passes(0, 0, 0, "diffusion compute.freeze 0");
	unload();
}
END_TEST

/*
 * Each time that the server ends its work, it loses 30 ms of credit. Diffusion owes them to no
 * container then: short bursts of the server never add up to a debt.
 */
START_TEST(what_is_owed_to_a_container_without_work_is_forgiven)
{
	begin(DEBT(""));
	for (u32 i = 0; i < 20; i++) {
		set(vllm, GVMD_PENDING, 3);
		passes(20, 30, 50, "");
		set(vllm, GVMD_PENDING, 0);
		passes(0, 40, 60, "");
	}
	unload();
}
END_TEST

/*
 * On two GPUs neither costs the other anything, and none is frozen, whatever they cost. The same
 * on one GPU is the first test.
 */
START_TEST(each_gpu_has_accounts_of_its_own)
{
	begin(DEBT(""));
	diffusion->gpu = 1;
	for (u32 i = 0; i < 50; i++)
		passes(20, 30, 50, "");
	unload();
	diffusion->gpu = 0;
}
END_TEST

/* A user has frozen the server with kernels pending: it does not run, so it is no other. */
START_TEST(a_debtor_runs_while_a_user_has_frozen_all_others)
{
	begin(DEBT(""));
	for (u32 i = 0; i < 6; i++)
		passes(20, 30, 50, "");
	passes(20, 30, 50, "diffusion compute.freeze 1");
	set(diffusion, GVMD_FREEZE, 1);
	set(vllm, GVMD_FREEZE, 1);
	passes(10, 0, 0, "diffusion compute.freeze 0");
	set(diffusion, GVMD_FREEZE, 0);
	for (u32 i = 0; i < 20; i++)
		passes(0, 40, 60, "");
	unload();
}
END_TEST

/* A process that has started anew counts from 0: it costs nothing, and owes nothing. */
START_TEST(a_new_process_has_a_new_account)
{
	begin(DEBT(""));
	for (u32 i = 0; i < 5; i++)
		passes(20, 30, 50, "");
	diffusion->running = false;
	expect(now_ms += 100, "");
	diffusion->running = true;
	busy_us[1] = stalled_us[1] = 0;
	passes(0, 0, 0, "");
	for (u32 i = 0; i < 6; i++)
		passes(20, 30, 50, "");
	passes(20, 30, 50, "diffusion compute.freeze 1");
	unload();
}
END_TEST

/* It starts within a step, so that none is seen without a process. It is not frozen. */
START_TEST(a_process_that_restarts_while_frozen_can_be_frozen_again)
{
	begin(DEBT(""));
	for (u32 i = 0; i < 6; i++)
		passes(20, 30, 50, "");
	passes(20, 30, 50, "diffusion compute.freeze 1");
	busy_us[1] = stalled_us[1] = 0;
	passes(50, 50, 0, "");
	for (u32 i = 0; i < 6; i++)
		passes(20, 30, 50, "");
	passes(20, 30, 50, "diffusion compute.freeze 1");
	unload();
}
END_TEST

START_TEST(a_driver_that_does_not_count_ends_the_policy)
{
	load(DEBT(""));
	ck_assert_int_lt(plan.policy->step(plan.state, &step), 0);
	ck_assert_str_eq(step.why, "vllm has no gpu.stat: this driver does not count what "
				   "containers cost");
	unload();
}
END_TEST

START_TEST(mistakes_name_the_file_and_the_key)
{
	assert_bad(DEBT(", \"weights\": [1]"), "weights: allowed: an object of numbers");
	assert_bad(DEBT(", \"weights\": {\"vllm\": 0}"),
		   "weights.vllm: allowed: a number from 1 to 10000");
}
END_TEST

TEST_MAIN("gvmd_debt", faults_cost_and_a_debtor_is_frozen_until_it_has_paid,
	  without_faults_only_kernels_cost, weights_are_shares_of_what_all_cost,
	  a_debtor_runs_while_no_other_has_work,
	  what_is_owed_to_a_container_without_work_is_forgiven,
	  each_gpu_has_accounts_of_its_own, a_debtor_runs_while_a_user_has_frozen_all_others,
	  a_new_process_has_a_new_account,
	  a_process_that_restarts_while_frozen_can_be_frozen_again,
	  a_driver_that_does_not_count_ends_the_policy, mistakes_name_the_file_and_the_key)
