// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The policy "timeshare": turns of GVT-g's scheduler, by hand. A container is the owner of a
 * slice if its freeze was the last one that ended.
 */
#include "gvmd_fixture.h"

#define SHARE(more) "{\"policy\": \"timeshare\", \"period\": \"10ms\"" more "}"

/* Run @count slices from @from on, as letters: "v", "d", or "-" for an idle GPU. */
static void turns(u64 from, u64 count, const char *wanted)
{
	static char owner = '-';
	char seen[256] = "";

	ck_assert_uint_eq(strlen(wanted), count);
	if (from == 1)
		owner = '-';
	for (u64 i = 0; i < count; i++) {
		step.now_ns = (from + i) * 10000000;
		step.write_count = 0;
		ck_assert_int_eq(plan.policy->step(plan.state, &step), 0);
		for (u32 k = 0; k < step.write_count; k++) {
			const struct gvmd_write *write = &step.writes[k];
			char who = *step.containers[write->container].name;

			ck_assert_str_eq(write->file, "compute.freeze");
			if (*write->text == '0')
				owner = who;
			else if (who == owner)
				owner = '-';
		}
		seen[i] = owner;
	}
	ck_assert_str_eq(seen, wanted);
}

static void both_have_work(void)
{
	set(vllm, GVMD_PENDING, 3);
	set(diffusion, GVMD_PENDING, 3);
}

START_TEST(the_first_slice_freezes_all_and_the_leaver_is_frozen_before_the_next_one_runs)
{
	load(SHARE(""));
	both_have_work();
	expect(10, "vllm compute.freeze 1; diffusion compute.freeze 1; vllm compute.freeze 0");
	expect(20, "vllm compute.freeze 1; diffusion compute.freeze 0");
	set(vllm, GVMD_PENDING, 0);
	expect(30, "");
	set(diffusion, GVMD_PENDING, 0);
	expect(40, "diffusion compute.freeze 1");
	unload();
}
END_TEST

START_TEST(equal_weights_take_turns)
{
	load(SHARE(""));
	both_have_work();
	turns(1, 30, "vdvdvdvdvdvdvdvdvdvdvdvdvdvdvd");
	unload();
}
END_TEST

/* Alone on its GPU a container is the owner all the time, within its own weight. */
START_TEST(each_gpu_has_an_owner)
{
	load(SHARE(", \"weights\": {\"vllm\": 4, \"diffusion\": 1}"));
	both_have_work();
	diffusion->gpu = 3;
	expect(10, "vllm compute.freeze 1; vllm compute.freeze 0; diffusion compute.freeze 1; "
		   "diffusion compute.freeze 0");
	for (u64 slice = 2; slice < 40; slice++)
		expect(10 * slice, "");
	set(vllm, GVMD_PENDING, 0);
	expect(400, "vllm compute.freeze 1");
	expect(410, "");
	unload();
	diffusion->gpu = 0;
}
END_TEST

START_TEST(budgets_follow_weights_within_each_balance)
{
	load(SHARE(", \"weights\": {\"vllm\": 4, \"diffusion\": 1}"));
	both_have_work();
	/* Of ten slices 8 and 2; after a balance the one that waited comes first. */
	turns(1, 30, "vdvdvvvvvvdvdvvvvvvvdvdvvvvvvv");
	unload();
}
END_TEST

START_TEST(a_weight_is_a_hard_cap_also_while_the_other_container_has_no_work)
{
	load(SHARE(", \"weights\": {\"vllm\": 3, \"diffusion\": 7}"));
	both_have_work();
	set(diffusion, GVMD_PENDING, 0);
	turns(1, 20, "vvv-------vvv-------");
	/* A container that does not even run keeps its share, as the weights name it. */
	diffusion->running = false;
	turns(21, 10, "vvv-------");
	unload();
}
END_TEST

START_TEST(a_work_conserving_share_leaves_no_slice_idle)
{
	load(SHARE(
		", \"weights\": {\"vllm\": 3, \"diffusion\": 7}, \"work_conserving\": true"));
	both_have_work();
	set(diffusion, GVMD_PENDING, 0);
	turns(1, 10, "vvvvvvvvvv");
	unload();
}
END_TEST

START_TEST(a_negative_budget_is_carried_to_the_next_balance_and_begins_anew_after_all_stages)
{
	/* A budget of 5 ms each in a slice of 10 ms: one slice leaves -5 ms. */
	load(SHARE(", \"balance\": 1, \"stages\": 4"));
	both_have_work();
	set(diffusion, GVMD_PENDING, 0);
	/* Budgets at the slices: 5, 0, 5, 0, 5 (set anew), 0, ... */
	turns(1, 8, "v-v-v-v-");
	unload();
}
END_TEST

START_TEST(a_new_container_comes_first)
{
	load(SHARE(""));
	both_have_work();
	diffusion->running = false;
	turns(1, 3, "vvv");
	diffusion->running = true;
	turns(4, 3, "dvd");
	unload();
}
END_TEST

START_TEST(the_gpu_is_idle_while_no_container_runs)
{
	load(SHARE(""));
	both_have_work();
	vllm->running = diffusion->running = false;
	/* With two balances. */
	turns(1, 22, "----------------------");
	vllm->running = true;
	turns(23, 2, "vv");
	unload();
}
END_TEST

START_TEST(mistakes_name_the_file_and_the_key)
{
	assert_bad("{\"policy\": \"timeshare\", \"period\": \"9ms\"}",
		   "period: allowed: a slice from 10ms to 100ms");
	assert_bad(SHARE(", \"weights\": {\"vllm\": 0}"),
		   "weights.vllm: allowed: a number from 1 to 10000");
	assert_bad(SHARE(", \"weights\": 3"), "weights: allowed: an object of numbers");
}
END_TEST

START_TEST(a_weight_of_no_container_is_a_mistake)
{
	assert_no_container(
		SHARE(", \"weights\": {\"vllm\": 4, \"difusion\": 1}"),
		"weights.difusion: no container \"difusion\", did you mean \"diffusion\"?");
}
END_TEST

TEST_MAIN("gvmd_timeshare",
	  the_first_slice_freezes_all_and_the_leaver_is_frozen_before_the_next_one_runs,
	  equal_weights_take_turns, each_gpu_has_an_owner,
	  budgets_follow_weights_within_each_balance,
	  a_weight_is_a_hard_cap_also_while_the_other_container_has_no_work,
	  a_work_conserving_share_leaves_no_slice_idle,
	  a_negative_budget_is_carried_to_the_next_balance_and_begins_anew_after_all_stages,
	  a_new_container_comes_first, the_gpu_is_idle_while_no_container_runs,
	  mistakes_name_the_file_and_the_key, a_weight_of_no_container_is_a_mistake)
