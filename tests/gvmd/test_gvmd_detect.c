// SPDX-License-Identifier: MIT OR GPL-2.0
/* The policy "detect": which share of launches is counted, by what was found. */
#include "gvmd_fixture.h"

#define DETECT "{\"policy\": \"detect\", \"every\": 500, \"alarm\": 5, \"hold\": \"2s\"}"

START_TEST(a_container_with_wild_accesses_is_counted_more_often)
{
	load(DETECT);
	/* The pipeline is not fenced: it has no such file. */
	set(vllm, GVMD_FENCE_SAMPLE, 0);
	set(vllm, GVMD_FENCE_FOUND, 0);
	expect(100, "vllm fence.sample 500");
	set(vllm, GVMD_FENCE_SAMPLE, 500);
	expect(200, "");
	set(vllm, GVMD_FENCE_FOUND, 1);
	expect(300, "vllm fence.sample 5");
	set(vllm, GVMD_FENCE_SAMPLE, 5);
	expect(2299, "");
	/* The alarm ends 2 s after the last find. */
	expect(2300, "vllm fence.sample 500");
	set(vllm, GVMD_FENCE_SAMPLE, 500);
	set(vllm, GVMD_FENCE_FOUND, 7);
	expect(2400, "vllm fence.sample 5");
	set(vllm, GVMD_FENCE_SAMPLE, 5);
	set(vllm, GVMD_FENCE_FOUND, 8);
	expect(4300, "");
	expect(6299, "");
	expect(6300, "vllm fence.sample 500");
	unload();
}
END_TEST

START_TEST(each_container_has_an_alarm_of_its_own_and_a_new_process_begins_anew)
{
	load(DETECT);
	set(vllm, GVMD_FENCE_SAMPLE, 500);
	set(vllm, GVMD_FENCE_FOUND, 9);
	set(diffusion, GVMD_FENCE_SAMPLE, 500);
	set(diffusion, GVMD_FENCE_FOUND, 0);
	expect(100, "vllm fence.sample 5");
	set(vllm, GVMD_FENCE_SAMPLE, 5);
	/* The next process of this name has found nothing yet. */
	set(vllm, GVMD_FENCE_FOUND, 0);
	set(vllm, GVMD_FENCE_SAMPLE, 0);
	expect(2200, "vllm fence.sample 500");
	set(vllm, GVMD_FENCE_SAMPLE, 500);
	set(vllm, GVMD_FENCE_FOUND, 1);
	expect(2300, "vllm fence.sample 5");
	set(vllm, GVMD_FENCE_SAMPLE, 5);
	set(vllm, GVMD_FENCE_FOUND, 40);
	expect(2400, "");
	/* The one after that has found something by the first look at it. */
	set(vllm, GVMD_FENCE_FOUND, 3);
	set(vllm, GVMD_FENCE_SAMPLE, 500);
	expect(5000, "vllm fence.sample 5");
	unload();
}
END_TEST

START_TEST(mistakes_are_named)
{
	assert_bad("{\"policy\": \"detect\", \"every\": -1}",
		   "every: is out of range or no such value, allowed: a number from 0 to "
		   "1000000000");
}
END_TEST

TEST_MAIN("gvmd_detect", a_container_with_wild_accesses_is_counted_more_often,
	  each_container_has_an_alarm_of_its_own_and_a_new_process_begins_anew,
	  mistakes_are_named)
