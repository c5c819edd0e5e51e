// SPDX-License-Identifier: MIT OR GPL-2.0
/* The policy "slo": which rung follows from which report, and the writes of each rung. */
#include "gvmd_fixture.h"

#define SLO                                                                                 \
	"{\"policy\": \"slo\", \"high\": \"vllm\", \"low\": \"diffusion\", \"objective\": " \
	"\"1s\", \"rungs\": 3, \"least\": 4000, \"calm_for\": \"2s\""

#define HIGH "diffusion gmem.limit.high "
#define PRIO "diffusion compute.priority "
#define STOP "diffusion compute.freeze 1"
#define RUN  "diffusion compute.freeze 0"

/* The writes of rung 0. */
#define BEGIN HIGH "max; " PRIO "4"

START_TEST(late_tokens_move_the_other_container_up_and_calm_brings_it_down)
{
	load(SLO "}");
	set(diffusion, GVMD_GMEM_PEAK, 10000);
	set(vllm, GVMD_TTFT_US, 800000);
	expect(50, BEGIN);
	expect(100, "");
	/* Above 80 %: one rung. Then a pause of 1 s. */
	set(vllm, GVMD_TTFT_US, 800001);
	expect(200, HIGH "7000; " PRIO "5");
	expect(1100, "");
	/* Above the objective: two rungs, to the last one. */
	set(vllm, GVMD_TTFT_US, 1000001);
	expect(1200, STOP "; " HIGH "4000; " PRIO "7");
	expect(2200, "");
	/* Calm for 2 s, without a break: one rung down. */
	set(vllm, GVMD_TTFT_US, 499999);
	expect(3000, "");
	set(vllm, GVMD_TTFT_US, 500000);
	expect(4000, "");
	set(vllm, GVMD_TTFT_US, 0);
	expect(5000, "");
	expect(6900, "");
	expect(7000, PRIO "6; " RUN);
	expect(8900, "");
	expect(9000, HIGH "7000; " PRIO "5");
	expect(11000, BEGIN);
	expect(19000, "");
	unload();
}
END_TEST

/* Five hours and more: 64 bits do not hold these in ns times ppm, nor the last one in ns. */
START_TEST(hours_without_a_token_are_not_calm)
{
	load(SLO "}");
	set(diffusion, GVMD_GMEM_PEAK, 10000);
	set(vllm, GVMD_TTFT_US, 0);
	expect(50, BEGIN);
	set(vllm, GVMD_TTFT_US, 18446744074);
	expect(200, HIGH "4000; " PRIO "6");
	expect(1200, STOP "; " PRIO "7");
	set(vllm, GVMD_TTFT_US, 18446744073709552);
	expect(5000, "");
	set(vllm, GVMD_TTFT_US, 0);
	expect(6000, "");
	expect(7900, "");
	expect(8000, PRIO "6; " RUN);
	unload();
}
END_TEST

START_TEST(a_server_without_a_report_moves_nothing_and_one_that_is_gone_needs_no_room)
{
	load(SLO "}");
	set(diffusion, GVMD_GMEM_PEAK, 10000);
	set(vllm, GVMD_TTFT_US, 900000);
	expect(50, BEGIN);
	expect(100, HIGH "7000; " PRIO "5");
	vllm->known = 0;
	expect(5000, "");
	vllm->running = false;
	expect(6000, "");
	expect(8000, BEGIN);
	unload();
}
END_TEST

START_TEST(each_control_can_be_switched)
{
	load(SLO ", \"limits\": false, \"priorities\": false, \"weights\": true, \"stop\": "
		 "false}");
	set(vllm, GVMD_TTFT_US, 1100000);
	expect(50, "diffusion compute.weight 100");
	expect(100, "diffusion compute.weight 25");
	expect(1100, "diffusion compute.weight 12");
	expect(9100, "");
	unload();
}
END_TEST

START_TEST(a_limit_of_one_s_own_bounds_the_first_rung)
{
	load(SLO ", \"most\": 8000, \"priorities\": false}");
	set(diffusion, GVMD_GMEM_PEAK, 20000);
	set(vllm, GVMD_TTFT_US, 900000);
	expect(50, HIGH "8000");
	expect(100, HIGH "6000");
	set(vllm, GVMD_TTFT_US, 0);
	expect(200, "");
	expect(2200, HIGH "8000");
	unload();
}
END_TEST

START_TEST(the_first_rung_is_written_to_each_container_of_the_name_also_without_a_report)
{
	/* All rungs have one limit. */
	load(SLO ", \"most\": 4000}");
	expect(100, HIGH "4000; " PRIO "4");
	expect(200, "");
	set(vllm, GVMD_TTFT_US, 900000);
	expect(300, PRIO "5");
	diffusion->running = false;
	expect(400, "");
	set(vllm, GVMD_TTFT_US, 0);
	diffusion->running = true;
	expect(500, HIGH "4000; " PRIO "4");
	expect(600, "");
	unload();
}
END_TEST

START_TEST(mistakes_name_the_file_and_the_key)
{
	assert_bad("{\"policy\": \"slo\", \"high\": \"vllm\", \"low\": \"diffusion\"}",
		   "objective: missing, and without a default");
	assert_bad(
		"{\"policy\": \"slo\", \"high\": \"a\", \"low\": \"a\", \"objective\": \"1s\"}",
		"low: \"a\" is \"high\", too, allowed: another container");
	assert_bad(SLO ", \"calm\": 0.9}", "calm: is above \"raise\"");
	assert_bad(SLO ", \"most\": 3999}", "least: is above \"most\"");
	assert_bad(SLO ", \"stop\": 1}",
		   "stop: is out of range or no such value, allowed: true "
		   "or false");
}
END_TEST

TEST_MAIN("gvmd_slo", late_tokens_move_the_other_container_up_and_calm_brings_it_down,
	  hours_without_a_token_are_not_calm,
	  a_server_without_a_report_moves_nothing_and_one_that_is_gone_needs_no_room,
	  each_control_can_be_switched, a_limit_of_one_s_own_bounds_the_first_rung,
	  the_first_rung_is_written_to_each_container_of_the_name_also_without_a_report,
	  mistakes_name_the_file_and_the_key)
