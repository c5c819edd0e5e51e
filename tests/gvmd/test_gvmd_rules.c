// SPDX-License-Identifier: MIT OR GPL-2.0
/* The policy "rules": when its rules fire, exactly, and mistakes in its file. */
#include "gvmd_fixture.h"

#define RULE(when, more)                                                                       \
	"{\"policy\": \"rules\", \"rules\": [{\"when\": {\"container\": \"vllm\", " when "}, " \
	"\"then\": [{\"container\": \"diffusion\", \"file\": \"compute.freeze\", "             \
	"\"value\": 1}]" more "}]}"

#define FIRES "diffusion compute.freeze 1"

START_TEST(a_rule_fires_when_the_mean_of_a_full_window_crosses_its_bound)
{
	load(RULE("\"metric\": \"gcgroup.stat.pending\", \"over\": \"300ms\", \"above\": 10",
		  ""));
	set(vllm, GVMD_PENDING, 30);
	expect(100, "");
	expect(200, "");
	expect(300, FIRES);
	expect(400, "");
	/* The mean is 10: not above. It is armed again. */
	set(vllm, GVMD_PENDING, 0);
	expect(500, "");
	expect(600, "");
	set(vllm, GVMD_PENDING, 33);
	expect(700, FIRES);
	unload();
}
END_TEST

START_TEST(until_keeps_a_rule_from_firing_again_near_its_bound)
{
	load(RULE("\"metric\": \"gcgroup.stat.pending\", \"above\": 10, \"until\": 4", ""));
	set(vllm, GVMD_PENDING, 11);
	expect(100, FIRES);
	set(vllm, GVMD_PENDING, 5);
	expect(200, "");
	set(vllm, GVMD_PENDING, 11);
	expect(300, "");
	set(vllm, GVMD_PENDING, 4);
	expect(400, "");
	set(vllm, GVMD_PENDING, 11);
	expect(500, FIRES);
	unload();
}
END_TEST

START_TEST(a_cooldown_delays_the_next_firing_and_repeat_fires_while_the_condition_holds)
{
	load(RULE("\"metric\": \"gmem.current\", \"below\": \"2G\", \"statistic\": \"last\"",
		  ", \"cooldown\": \"250ms\", \"repeat\": true"));
	set(vllm, GVMD_GMEM_CURRENT, 2147483648);
	expect(100, "");
	set(vllm, GVMD_GMEM_CURRENT, 2147483647);
	expect(200, FIRES);
	expect(300, "");
	expect(400, "");
	expect(500, FIRES);
	unload();
}
END_TEST

START_TEST(a_rule_that_was_ready_in_its_cooldown_fires_at_its_end)
{
	load(RULE("\"metric\": \"gcgroup.stat.pending\", \"above\": 10",
		  ", \"cooldown\": \"300ms\""));
	set(vllm, GVMD_PENDING, 11);
	expect(100, FIRES);
	set(vllm, GVMD_PENDING, 0);
	expect(200, "");
	set(vllm, GVMD_PENDING, 11);
	expect(300, "");
	expect(400, FIRES);
	unload();
}
END_TEST

START_TEST(change_compares_a_counter_with_its_value_a_window_ago)
{
	load(RULE("\"metric\": \"gcgroup.stat.submitted\", \"statistic\": \"change\", "
		  "\"over\": \"200ms\", \"below\": 1",
		  ""));
	set(vllm, GVMD_SUBMITTED, 70);
	expect(100, "");
	set(vllm, GVMD_SUBMITTED, 71);
	expect(200, "");
	expect(300, "");
	expect(400, FIRES);
	unload();
}
END_TEST

START_TEST(a_rule_waits_for_the_containers_that_it_writes_to_and_forgets_one_that_is_gone)
{
	load(RULE("\"metric\": \"gcgroup.stat.pending\", \"over\": \"200ms\", \"above\": 10",
		  ""));
	set(vllm, GVMD_PENDING, 11);
	diffusion->running = false;
	expect(100, "");
	expect(200, "");
	diffusion->running = true;
	expect(300, FIRES);
	vllm->running = false;
	expect(400, "");
	vllm->running = true;
	/* The window fills anew. The rule is not armed: its condition was never seen to end. */
	expect(500, "");
	expect(600, "");
	unload();
}
END_TEST

START_TEST(mistakes_name_the_file_and_the_key)
{
	assert_bad("{}", "policy: is missing, allowed: \"rules\", \"dyn\", \"ac\", \"slo\", "
			 "\"timeshare\", \"debt\", \"detect\", or \"plugin\"");
	assert_bad("{\"policy\": \"rules\"}", "rules: missing, and without a default");
	assert_bad("{\"policy\": \"rules\", \"rule\": []}",
		   "rule: is no setting of \"rules\", did you mean \"rules\"?");
	assert_bad("{\"policy\": \"rules\", \"description\": [\"a\", 7], \"rules\": []}",
		   "description: is no text, allowed: what the policy is for");
	assert_bad("{\"policy\": \"rules\", \"description\": null, \"rules\": []}",
		   "description: is no text, allowed: what the policy is for");
	assert_bad("{\"policy\": \"rules\", \"rules\": []}",
		   "rules: allowed: a list of 1 to 64 rules");
	assert_bad("{\"policy\": \"rules\", \"period\": \"1us\", \"rules\": []}",
		   "period: is out of range or no such value, allowed: a duration such as "
		   "\"100ms\" from 1ms to 3600s");
	assert_bad(RULE("\"metric\": \"pending\", \"above\": 1", ""),
		   "rules.0.when.metric: no metric \"pending\"; \"gvmd policies\" has all");
	assert_bad(RULE("\"metric\": \"gmem.current\", \"above\": 1, \"below\": 1", ""),
		   "rules.0.when.above: allowed: one of above, below");
	assert_bad(RULE("\"metric\": \"gmem.current\", \"above\": 1, \"until\": 2", ""),
		   "rules.0.when.until: is on the wrong side of \"above\"");
	assert_bad(RULE("\"metric\": \"gmem.current\", \"above\": 1, \"often\": 2", ""),
		   "rules.0.when.often: unknown key");
	assert_bad(RULE("\"metric\": \"gmem.current\", \"above\": 1, \"untill\": 2", ""),
		   "rules.0.when.untill: unknown key, did you mean \"until\"?");
	assert_bad(RULE("\"metric\": \"gmem.curent\", \"above\": 1", ""),
		   "rules.0.when.metric: no metric \"gmem.curent\", did you mean "
		   "\"gmem.current\"?");
	/* There is no change within one sample. */
	assert_bad(RULE("\"metric\": \"gmem.current\", \"above\": 1, \"statistic\": \"change\"",
			""),
		   "rules.0.when.over: is less than a period, allowed: for a change a period "
		   "or more");
	assert_bad(
		RULE("\"metric\": \"gmem.current\", \"above\": 1, \"statistic\": \"change\", "
		     "\"over\": \"99ms\"",
		     ""),
		"rules.0.when.over: is less than a period, allowed: for a change a period "
		"or more");
	assert_bad(RULE("\"metric\": \"gmem.current\", \"above\": 1", ", \"cooldown\": 3"),
		   "rules.0.cooldown: allowed: a duration up to 24h such as \"3s\"");
}
END_TEST

/* A rule that writes @value_ to @file_. */
#define WRITES(file_, value_)                                                       \
	"{\"policy\": \"rules\", \"rules\": [{\"when\": {\"container\": \"vllm\", " \
	"\"metric\": \"gmem.current\", \"above\": 1}, \"then\": [{\"container\": "  \
	"\"diffusion\", \"file\": \"" file_ "\", \"value\": \"" value_ "\"}]}]}"

START_TEST(a_write_that_no_file_takes_is_a_mistake)
{
	static const char files[] = "allowed: gmem.limit.high, gmem.limit.low, hmem.limit, "
				    "compute.timeslice, compute.priority, compute.weight, "
				    "compute.freeze";
	char text[256];

	snprintf(text, sizeof(text), "rules.0.then.0.file: %s", files);
	assert_bad(WRITES("gmem.current", "1"), text);
	assert_bad(WRITES("nothing-like-it", "1"), text);
	assert_bad(WRITES("gmem.limit.hihg", "1"),
		   "rules.0.then.0.file: \"gmem.limit.hihg\" is no control file to write, did "
		   "you mean \"gmem.limit.high\"?");
	assert_bad(WRITES("compute.freeze", "2"),
		   "rules.0.then.0.value: \"2\" is not for this file, allowed: 0 to 1");
	assert_bad(WRITES("compute.timeslice", "20s"),
		   "rules.0.then.0.value: \"20s\" is not for this file, allowed: 1 to 16000000 "
		   "us, such as \"2ms\"");
	assert_bad(
		WRITES("gmem.limit.high", "lots"),
		"rules.0.then.0.value: \"lots\" is not for this file, allowed: bytes such as "
		"\"6e9\", or \"max\"");
}
END_TEST

START_TEST(a_rule_over_no_container_is_a_mistake)
{
	assert_no_container(
		"{\"policy\": \"rules\", \"rules\": [{\"when\": {\"container\": \"vlm\", "
		"\"metric\": \"gmem.current\", \"above\": 1}, \"then\": [{\"container\": "
		"\"diffusion\", \"file\": \"compute.freeze\", \"value\": 1}]}]}",
		"rules.0.when.container: no container \"vlm\", did you mean \"vllm\"?");
	assert_no_container(
		"{\"policy\": \"rules\", \"rules\": [{\"when\": {\"container\": \"vllm\", "
		"\"metric\": \"gmem.current\", \"above\": 1}, \"then\": [{\"container\": "
		"\"vllm\", \"file\": \"compute.freeze\", \"value\": 1}, {\"container\": "
		"\"sd\", \"file\": \"compute.freeze\", \"value\": 1}]}]}",
		"rules.0.then.1.container: no container \"sd\", allowed: vllm, diffusion");
}
END_TEST

TEST_MAIN("gvmd_rules", a_rule_fires_when_the_mean_of_a_full_window_crosses_its_bound,
	  until_keeps_a_rule_from_firing_again_near_its_bound,
	  a_cooldown_delays_the_next_firing_and_repeat_fires_while_the_condition_holds,
	  a_rule_that_was_ready_in_its_cooldown_fires_at_its_end,
	  change_compares_a_counter_with_its_value_a_window_ago,
	  a_rule_waits_for_the_containers_that_it_writes_to_and_forgets_one_that_is_gone,
	  mistakes_name_the_file_and_the_key, a_write_that_no_file_takes_is_a_mistake,
	  a_rule_over_no_container_is_a_mistake)
