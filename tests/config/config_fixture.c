// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config_fixture.h"

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/machine.h"
#include "suite.h"

const char config_gpu_profile[] =
	"{\"gpu\": {"
	"  \"memory\": {\"value\": \"32M\", \"source\": \"16 chunks\"},"
	"  \"memory_total\": {\"value\": \"34M\", \"source\": \"test\"},"
	"  \"context\": {\"value\": \"3M\", \"source\": \"test\"},"
	"  \"memory_bandwidth\": {\"value\": \"1555e9\", \"source\": \"test\"},"
	"  \"flops_bf16\": {\"value\": \"312e12\", \"source\": \"test\"},"
	"  \"kernel_overhead\": {\"value\": \"3us\", \"source\": \"test\"},"
	"  \"link\": {"
	"    \"bandwidth\": {\"value\": 16e9, \"source\": \"test\"},"
	"    \"bandwidth_both\": {\"value\": 32e9, \"source\": \"test\"},"
	"    \"setup\": {\"value\": \"2.5us\", \"source\": \"test\"},"
	"    \"piece_in\": {\"value\": \"700ns\", \"source\": \"test\"},"
	"    \"piece_out\": {\"value\": \"800ns\", \"source\": \"test\"}},"
	"  \"sched\": {"
	"    \"timeslice\": {\"value\": \"1024us\", \"source\": \"test\"},"
	"    \"timeslice_scale\": {\"value\": 1, \"source\": \"test\"},"
	"    \"context_switch\": {\"value\": \"59us\", \"source\": \"test\"},"
	"    \"context_state\": {\"value\": \"6us\", \"source\": \"test\"},"
	"    \"rpc\": {\"value\": \"104us\", \"source\": \"test\"}},"
	"  \"fault\": {"
	"    \"buffer_entries\": {\"value\": 64, \"source\": \"test\"},"
	"    \"outstanding\": {\"value\": 16, \"source\": \"test\"},"
	"    \"per_block\": {\"value\": 1, \"source\": \"test\"},"
	"    \"front\": {\"value\": 4, \"source\": \"test\"},"
	"    \"interrupt\": {\"value\": \"5us\", \"source\": \"test\"},"
	"    \"linger\": {\"value\": \"1us\", \"source\": \"test\"},"
	"    \"cold_wake\": {\"value\": \"2us\", \"source\": \"test\"},"
	"    \"cold_after\": {\"value\": \"3us\", \"source\": \"test\"},"
	"    \"page\": {\"value\": \"4us\", \"source\": \"test\"},"
	"    \"batch\": {\"value\": \"3us\", \"source\": \"test\"},"
	"    \"entry\": {\"value\": \"1us\", \"source\": \"test\"},"
	"    \"block\": {\"value\": \"14us\", \"source\": \"test\"},"
	"    \"replay\": {\"value\": \"2us\", \"source\": \"test\"},"
	"    \"evict\": {\"value\": \"32us\", \"source\": \"test\"},"
	"    \"walk\": {\"value\": \"38ns\", \"source\": \"test\"},"
	"    \"push\": {\"value\": \"57us\", \"source\": \"test\"},"
	"    \"zero_bandwidth\": {\"value\": \"700e9\", \"source\": \"test\"}}},"
	" \"host\": {"
	"  \"memory\": {\"value\": \"85e9\", \"source\": \"test\"},"
	"  \"cores\": {\"value\": 12, \"source\": \"test\"},"
	"  \"speed\": {\"value\": 1.23, \"source\": \"test\"}}}";

static const char app_profile[] =
	"{\"app\": {"
	"  \"weights\": {\"value\": \"6M\", \"source\": \"test\"},"
	"  \"kv_bytes_per_token\": {\"value\": 114688, \"source\": \"test\"},"
	"  \"workspace\": {\"value\": \"2M\", \"source\": \"test\"},"
	"  \"gpu_memory_utilization\": {\"value\": 0.8, \"source\": \"test\"},"
	"  \"block_tokens\": {\"value\": 16, \"source\": \"test\"},"
	"  \"max_batched_tokens\": {\"value\": 2048, \"source\": \"test\"},"
	"  \"max_sequences\": {\"value\": 256, \"source\": \"test\"},"
	"  \"max_model_len\": {\"value\": 8192, \"source\": \"test\"},"
	"  \"flops_per_token\": {\"value\": \"6.43e9\", \"source\": \"test\"},"
	"  \"attention_flops\": {\"value\": 344064, \"source\": \"test\"},"
	"  \"head_flops\": {\"value\": \"0.79e9\", \"source\": \"test\"},"
	"  \"traffic_per_token\": {\"value\": \"3.6e6\", \"source\": \"test\"},"
	"  \"efficiency\": {\"value\": 0.49, \"source\": \"test\"},"
	"  \"attention_efficiency\": {\"value\": 0.2, \"source\": \"test\"},"
	"  \"memory_efficiency\": {\"value\": 0.9, \"source\": \"test\"},"
	"  \"kernel_launch\": {\"value\": \"82us\", \"source\": \"test\"},"
	"  \"kernels_per_step\": {\"value\": 300, \"source\": \"test\"},"
	"  \"kv_bandwidth\": {\"value\": 0.4, \"source\": \"test\"}}}";

const char config_scenario[] = "{\n"
			       "\"name\": \"small\",\n"
			       "\"duration\": \"10s\",\n"
			       "\"gpu\": {\"profile\": \"tiny\"},\n"
			       "\"containers\": {\n"
			       "\"vllm\": {\n"
			       "\"app\": {\"type\": \"llm-server\", \"profile\": \"llm\",\n"
			       "\"trace\": {\"file\": \"head.trace\"}},\n"
			       "\"gmem.limit.high\": \"16M\"\n"
			       "}},\n"
			       "\"events\": []\n"
			       "}\n";

char folder[64];
struct config config;
struct sim_error error;

void write_file(const char *name, const char *text)
{
	suite_put_file(name, text);
}

void fixture_setup(void)
{
	suite_make_folder(folder, sizeof(folder));
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_ptr_nonnull(getcwd(folder, sizeof(folder)));
	ck_assert_int_eq(mkdir("gpus", 0700) | mkdir("apps", 0700), 0);
	write_file("gpus/tiny.json", config_gpu_profile);
	write_file("apps/llm.json", app_profile);
	write_file("head.trace", "a trace");
	write_file("s.json", config_scenario);
}

void fixture_teardown(void)
{
	config_destroy(&config);
	ck_assert_int_eq(chdir("/"), 0);
	suite_remove_folder(folder);
}

const char *replace(const char *text, const char *from, const char *to)
{
	static char changed[8192];
	const char *at = strstr(text, from);
	int length;

	ck_assert_msg(at != NULL, "no %s to replace", from);
	length = snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, to,
			  at + strlen(from));
	ck_assert_int_lt(length, (int)sizeof(changed));
	return changed;
}

int load_path(const char *path, const char *first, const char *second)
{
	const struct cfg_override overrides[] = { { .path_and_value = first },
						  { .path_and_value = second } };

	config_destroy(&config);
	error.text[0] = '\0';
	return config_load(&machine_registry, path, overrides, first ? second ? 2 : 1 : 0,
			   &config, &error);
}

void load(const char *first, const char *second)
{
	ck_assert_msg(load_path("s.json", first, second) == 0, "%s", error.text);
}

void load_changed(const char *from, const char *to)
{
	write_file("s.json", replace(config_scenario, from, to));
	load(NULL, NULL);
}

void assert_failed(int status, const char *message)
{
	ck_assert_int_eq(status, -SIM_EXIT_USER);
	ck_assert_msg(suite_is_like(error.text, message), "says \"%s\", expected \"%s\"",
		      error.text, message);
	ck_assert_ptr_null(config.containers);
	ck_assert_ptr_null(config.resolved);
}

void assert_bad(const char *from, const char *to, const char *message)
{
	write_file("s.json", replace(config_scenario, from, to));
	assert_failed(load_path("s.json", NULL, NULL), message);
}

void assert_bad_set(const char *set, const char *message)
{
	assert_failed(load_path("s.json", set, NULL), message);
}

void assert_bad_event(const char *event, const char *message)
{
	char events[256];

	snprintf(events, sizeof(events), "\"events\": [%s]", event);
	assert_bad("\"events\": []", events, message);
}

void assert_bad_profile(const char *file, const char *text, const char *message)
{
	char full[512];

	write_file(file, text);
	snprintf(full, sizeof(full), "%s/%s", folder, message);
	assert_failed(load_path("s.json", NULL, NULL), full);
}

void keep_hash(char hash[33], const char *set)
{
	load(set, NULL);
	memcpy(hash, config.hash, 33);
}

const struct cfg_llm *llm_keys(void)
{
	return config.containers[0].app;
}

bool system_flag(const char *mechanism)
{
	json_t *system = json_object_get(config.resolved, "system");

	return json_is_true(json_object_get(json_object_get(system, "mechanisms"), mechanism));
}

const char *control_text(const char *file)
{
	const struct cfg_container *container = &config.containers[0];

	for (size_t i = 0; i < container->control_count; i++) {
		if (!strcmp(container->controls[i].file, file))
			return container->controls[i].text;
	}
	ck_abort_msg("no control file %s", file);
}
