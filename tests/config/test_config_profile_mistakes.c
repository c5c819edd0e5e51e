// SPDX-License-Identifier: MIT OR GPL-2.0
/* The exact message for each mistake in a profile. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "config_fixture.h"
#include "suite.h"

/* Give the machine a second GPU. The file of its profile is @text, and has a mistake. */
static void assert_bad_second(const char *text, const char *message)
{
	char whole[1024];

	write_file("gpus/other.json", text);
	snprintf(whole, sizeof(whole), "%s/gpus/other.json:%s", folder, message);
	assert_bad_set("gpus.second={\"profile\": \"other\"}", whole);
}

START_TEST(mistakes_in_the_profile_of_a_further_gpu_are_named_as_its_file_has_them)
{
	assert_bad_second(
		replace(config_gpu_profile, "\"32M\"", "\"32Q\""),
		"gpu.memory: \"32Q\" has an unknown suffix " SIZE_SUFFIXES SIZE_ALLOWED(
			"2M to 16384G"));
	assert_bad_second(replace(config_gpu_profile, "\"32M\"", "\"36M\""),
			  "gpu.memory: 37748736 is too much, allowed: at most "
			  "gpus.second.memory_total, 35651584");
	assert_bad_second(replace(config_gpu_profile, "\"setup\"", "\"set_up\""),
			  "gpu.link.set_up: unknown key, did you mean \"gpu.link.setup\"?");
	assert_bad_second(
		replace(config_gpu_profile, "{\"value\": \"2.5us\", \"source\": \"test\"}",
			"\"2.5us\""),
		"gpu.link.setup: has no source, allowed: {\"value\": ..., \"source\": "
		"\"...\"}");
	assert_bad_second("{\"gpu\": 5}",
			  "gpu: is not an object, allowed: an object with profile, memory, *, "
			  "link, *, fault*");
}
END_TEST

START_TEST(a_missing_key_of_a_further_gpu_is_named_as_its_profile_has_it)
{
	assert_bad_second(replace(config_gpu_profile,
				  "\"setup\": {\"value\": \"2.5us\", \"source\": \"test\"},",
				  ""),
			  "gpu.link.setup: is missing, " DURATION_ALLOWED("0s to 1s"));
}
END_TEST

START_TEST(profiles_must_say_where_numbers_come_from)
{
	static const char message[] = "gpus/tiny.json:gpu.memory: has no source, "
				      "allowed: {\"value\": ..., \"source\": \"...\"}";

	assert_bad_profile("gpus/tiny.json", "{\"gpu\": {\"memory\": 5}}", message);
	assert_bad_profile("gpus/tiny.json", "{\"gpu\": {\"memory\": {\"value\": 5}}}",
			   message);
	assert_bad_profile("gpus/tiny.json",
			   "{\"gpu\": {\"memory\": {\"value\": 5, \"source\": \"\"}}}",
			   message);
	assert_bad_profile(
		"gpus/tiny.json",
		"{\"gpu\": {\"memory\": {\"value\": 5, \"source\": \"x\", \"n\": 1}}}",
		"gpus/tiny.json:gpu.memory: has more than a value and its source, allowed: "
		"{\"value\": ..., \"source\": \"...\"}");
}
END_TEST

START_TEST(bad_profiles_are_named)
{
	assert_bad_profile("gpus/tiny.json", "{\"gpu\": {\"mem\": {}}}",
			   "gpus/tiny.json:gpu.mem: unknown key, allowed: profile, memory, *, "
			   "link, *, fault*");
	assert_bad_profile("gpus/tiny.json", "{\"seed\": 1}",
			   "gpus/tiny.json:seed: unknown key, allowed: extends, gpu, host");
	assert_bad_profile("gpus/tiny.json", "[1]",
			   "gpus/tiny.json: is not an object, allowed: an object with extends, "
			   "gpu, host");
	assert_bad_profile("gpus/tiny.json", "{",
			   "gpus/tiny.json:1:1: string or '}' expected near end of file");
	write_file("gpus/tiny.json", config_gpu_profile);
	assert_bad_profile(
		"apps/llm.json",
		"{\"app\": {\"weights\": {\"value\": \"6X\", \"source\": \"t\"}}}",
		"apps/llm.json:app.weights: \"6X\" has an unknown suffix " SIZE_SUFFIXES
			SIZE_ALLOWED("1 to 16384G"));
	assert_bad_profile("apps/llm.json", "{\"start\": 1}",
			   "apps/llm.json:start: unknown key, allowed: extends, app, guardian");
	assert_bad_profile(
		"apps/llm.json",
		"{\"guardian\": {\"wild\": {\"value\": 0.1, \"source\": \"t\"}}}",
		"apps/llm.json:guardian.wild: is a container's key, allowed: l1, l2, "
		"offsets");
	assert_bad_profile(
		"apps/llm.json",
		"{\"guardian.partition\": {\"value\": \"1G\", \"source\": \"t\"}}",
		"apps/llm.json:guardian.partition: is a container's key, allowed: l1, "
		"l2, offsets");
	assert_bad_profile("apps/llm.json", "{\"guardian\": 5}",
			   "apps/llm.json:guardian: has no key, allowed: l1, l2, offsets");
	assert_bad_profile(
		"apps/llm.json", "{\"guardian\": {\"l1\": {\"value\": 2, \"source\": \"t\"}}}",
		"apps/llm.json:guardian.l1: 2 is out of range, allowed: a number from 0 to 1 "
		"of at most 6 decimals");
	assert_bad_profile(
		"apps/llm.json",
		"{\"app\": {\"profile\": {\"value\": \"x\", \"source\": \"t\"}}}",
		"apps/llm.json:app.profile: unknown key, allowed: constants, a profile "
		"names no other profile");
}
END_TEST

START_TEST(mistakes_in_extends_are_named)
{
	assert_bad_profile(
		"gpus/tiny.json", "{\"extends\": 5}",
		"gpus/tiny.json:extends: is no name, allowed: the name of a profile");
	assert_bad_profile(
		"gpus/tiny.json", "{\"extends\": \"tiny\"}",
		"gpus/tiny.json:extends: \"tiny\" extends this profile, allowed: one "
		"that does not");
	write_file("gpus/other.json", "{\"extends\": \"tiny\"}");
	assert_bad_profile(
		"gpus/tiny.json", "{\"extends\": \"other\"}",
		"gpus/other.json:extends: \"tiny\" extends this profile, allowed: one "
		"that does not");
	assert_bad_profile("gpus/tiny.json", "{\"extends\": \"a100-40\"}",
			   "gpus/tiny.json:extends: no profile \"a100-40\", did you mean "
			   "\"a100-40g\"?");
	write_file("gpus/other.json", replace(config_gpu_profile, "\"2.5us\"", "\"2.5\""));
	assert_bad_profile(
		"gpus/tiny.json", "{\"extends\": \"other\"}",
		"gpus/other.json:gpu.link.setup: \"2.5\" has no unit, " DURATION_ALLOWED(
			"0s to 1s"));
}
END_TEST

START_TEST(unknown_profiles_list_the_known_ones)
{
	write_file("gpus/big.json", config_gpu_profile);
	ck_assert_int_eq(load_path("s.json", "gpu.profile=tpu-v6", NULL), -SIM_EXIT_USER);
	ck_assert_msg(!strncmp(error.text,
			       "--set:gpu.profile: no profile \"tpu-v6\", allowed: big, tiny",
			       58),
		      "%s", error.text);
}
END_TEST

/* A model is no profile. The message says where its name goes. */
START_TEST(a_models_name_for_a_profile_is_told_its_key)
{
	static const char end[] = "; a language model's name goes to app.model";

	assert_bad_set("containers.vllm.app.profile=Llama-3.1-8B",
		       "--set:containers.vllm.app.profile: no profile \"Llama-3.1-8B\", but a "
		       "model \"Llama-3.1-8B\": set containers.vllm.app.model");
	assert_bad_set("containers.vllm.app.profile=llama-3.1-8",
		       "--set:containers.vllm.app.profile: no profile \"llama-3.1-8\", but a "
		       "model \"Llama-3.1-8B\": set containers.vllm.app.model");
	ck_assert_int_eq(load_path("s.json", "containers.vllm.app.profile=nothing", NULL),
			 -SIM_EXIT_USER);
	ck_assert_ptr_nonnull(strstr(error.text, "no profile \"nothing\", allowed: "));
	ck_assert_str_eq(error.text + strlen(error.text) - strlen(end), end);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_models_name_for_a_profile_is_told_its_key);
	tcase_add_test(tests,
		       mistakes_in_the_profile_of_a_further_gpu_are_named_as_its_file_has_them);
	tcase_add_test(tests, a_missing_key_of_a_further_gpu_is_named_as_its_profile_has_it);
	tcase_add_test(tests, profiles_must_say_where_numbers_come_from);
	tcase_add_test(tests, bad_profiles_are_named);
	tcase_add_test(tests, mistakes_in_extends_are_named);
	tcase_add_test(tests, unknown_profiles_list_the_known_ones);
}

int main(void)
{
	return suite_run("config_profile_mistakes", fixture_setup, fixture_teardown, add_tests);
}
