// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The configuration: keys and spellings of a scenario, layers, hash. How files are found is in
 * test_config_files.c, mistakes and their messages are in test_config_mistakes.c
 * and test_config_profile_mistakes.c.
 */
#include <check.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_fixture.h"
#include "config/paths.h"
#include "suite.h"

START_TEST(everything_is_bound)
{
	const struct cfg_container *vllm;

	load(NULL, NULL);
	ck_assert_str_eq(config.name, "small");
	ck_assert_uint_eq(config.duration, 10000000000);
	ck_assert_uint_eq(config.seed, 1);
	ck_assert_str_eq(config.system->name, "stock");
	ck_assert_uint_eq(config.timeline_interval, 100000000);
	ck_assert_str_eq(config.gpu.profile, "tiny");
	ck_assert_uint_eq(config.gpu.memory, 32 << 20);
	ck_assert_uint_eq(config.gpu.flops_bf16, 312000000000000);
	ck_assert_uint_eq(config.gpu.link.bandwidth, 16000000000);
	ck_assert_uint_eq(config.gpu.link.setup, 2500);
	ck_assert_uint_eq(config.gpu.link.piece_in, 700);
	ck_assert_uint_eq(config.gpu.link.piece_out, 800);
	ck_assert_uint_eq(config.gpu.fault.zero_bandwidth, 700000000000);
	ck_assert_uint_eq(config.host.speed, 1230000);
	ck_assert_uint_eq(config.container_count, 1);
	vllm = &config.containers[0];
	ck_assert_str_eq(vllm->name, "vllm");
	ck_assert(vllm->enabled);
	ck_assert_str_eq(vllm->app_type->name, "llm-server");
	ck_assert_str_eq(vllm->app_profile, "llm");
	ck_assert_uint_eq(llm_keys()->gpu_memory_utilization, 800000);
	ck_assert_uint_eq(llm_keys()->kv_bandwidth, 400000);
	ck_assert_uint_eq(llm_keys()->client.trace.divide, CFG_PPM);
	ck_assert_uint_eq(llm_keys()->client.trace.response, TRACE_RESPONSE_GENERATED);
	ck_assert_uint_eq(llm_keys()->client.slo_ttft, 0); /* not set: nothing is promised */
	ck_assert(!llm_keys()->client.drop_in_flight);
	ck_assert_str_eq(control_text("gmem.limit.high"), "16777216");
	ck_assert_str_eq(control_text("gmem.limit.low"), "");
	ck_assert_uint_eq(config.event_count, 0);
}
END_TEST

START_TEST(later_layers_win)
{
	load(NULL, NULL);
	ck_assert_uint_eq(config.gpu.link.setup, 2500);
	ck_assert_uint_eq(config.gpu.link.piece_in, 700);
	load_changed("\"tiny\"", "\"tiny\", \"link\": {\"setup\": \"3us\"}");
	ck_assert_uint_eq(config.gpu.link.setup, 3000);
	ck_assert_uint_eq(config.gpu.link.bandwidth, 16000000000);
	load("gpu.link.setup=4us", NULL);
	ck_assert_uint_eq(config.gpu.link.setup, 4000);
	load("gpu.link.setup=4us", "gpu.link.setup=5us");
	ck_assert_uint_eq(config.gpu.link.setup, 5000);
}
END_TEST

static void assert_unused(size_t count, const char *const *keys)
{
	ck_assert_uint_eq(config.unused_count, count);
	for (size_t i = 0; i < count; i++)
		ck_assert_str_eq(config.unused_keys[i], keys[i]);
}

/* The profile sets host.memory and host.cores, too. */
START_TEST(keys_that_nothing_honours_are_listed)
{
	static const char *const expected[] = {
		"system.mechanisms.block",
		"host.memory",
		"host.cores",
	};
	const json_t *resolved;

	load(NULL, NULL);
	assert_unused(0, NULL);
	resolved = json_object_get(config.resolved, "system");
	resolved = json_object_get(resolved, "mechanisms");
	ck_assert_ptr_nonnull(json_object_get(resolved, "clean_drop"));
	ck_assert_ptr_null(json_object_get(resolved, "block"));
	write_file("s.json", replace(config_scenario, "\"duration\"",
				     "\"system\": {\"mechanisms\": {\"block\": \"nvidia\"}, "
				     "\"scheduler\": \"priority\"}, "
				     "\"host.memory\": \"1G\", \"duration\""));
	load("host.cores=3", "system.scheduler=weighted");
	assert_unused(3, expected);
	resolved = json_object_get(config.resolved, "system");
	ck_assert_str_eq(json_string_value(json_object_get(resolved, "scheduler")), "weighted");
	resolved = json_object_get(resolved, "mechanisms");
	ck_assert_uint_eq(json_object_size(resolved), 11);
	ck_assert(json_is_false(json_object_get(resolved, "clean_drop")));
	ck_assert_str_eq(json_string_value(json_object_get(resolved, "block")), "nvidia");
}
END_TEST

/* Keys that were set and that the system does not have are listed. */
START_TEST(mechanisms_of_papers_are_switched_off_and_ideas_on)
{
	load(NULL, NULL);
	ck_assert(system_flag("memory_isolation"));
	ck_assert(system_flag("compute_isolation"));
	ck_assert(system_flag("fast_paging"));
	ck_assert(!system_flag("clean_drop"));
	ck_assert(!system_flag("priority_batches"));
	ck_assert(!system_flag("hint_faults"));
	ck_assert(!system_flag("lirs"));
	ck_assert(!system_flag("owner_prefetch"));
	ck_assert_uint_eq(config.foreign_count, 0);
	load("system.mechanisms={\"clean_drop\": true, \"hint_faults\": true}",
	     "system.mechanisms.priority_batches=true");
	ck_assert(system_flag("clean_drop"));
	ck_assert(system_flag("priority_batches"));
	ck_assert(system_flag("hint_faults"));
	ck_assert_uint_eq(config.foreign_count, 3);
	load("system.mechanisms={\"compute_isolation\": false}",
	     "system.mechanisms.fast_paging=true");
	ck_assert(system_flag("memory_isolation"));
	ck_assert(!system_flag("compute_isolation"));
	ck_assert(system_flag("fast_paging"));
	ck_assert_uint_eq(config.foreign_count, 2);
	ck_assert_str_eq(config.foreign_keys[0], "system.mechanisms.compute_isolation");
	ck_assert_str_eq(config.foreign_keys[1], "system.mechanisms.fast_paging");
	assert_unused(0, NULL);
}
END_TEST

/* Containers have keys that one or two systems read. A container that is disabled does not count. */
START_TEST(container_keys_of_other_systems_are_listed)
{
	load("containers.vllm.vgpu={\"type\": \"V5_2\", \"weight\": 3}",
	     "containers.vllm.guardian.l1=0.5");
	ck_assert_uint_eq(config.foreign_count, 3);
	ck_assert_str_eq(config.foreign_keys[0], "containers.vllm.vgpu.type");
	ck_assert_str_eq(config.foreign_keys[1], "containers.vllm.vgpu.weight");
	ck_assert_str_eq(config.foreign_keys[2], "containers.vllm.guardian.l1");
	load("system.name=gvtg", "containers.vllm.vgpu={\"type\": \"V5_2\", \"weight\": 3}");
	ck_assert_uint_eq(config.foreign_count, 0);
	load("system.name=gvtg", "containers.vllm.mig.start=0");
	ck_assert_uint_eq(config.foreign_count, 1);
	ck_assert_str_eq(config.foreign_keys[0], "containers.vllm.mig.start");
	load("containers.off={\"enabled\": false, \"vgpu\": {\"weight\": 3}, "
	     "\"app\": {\"type\": \"pages\", \"bytes\": 1}}",
	     NULL);
	ck_assert_uint_eq(config.foreign_count, 0);
}
END_TEST

/* The machine's host comes from the profile of "gpu", not from those of further GPUs. */
START_TEST(a_machine_may_have_gpus_of_different_profiles)
{
	write_file("gpus/other.json", replace(config_gpu_profile, "1.23", "4.56"));
	load("gpus.second={\"profile\": \"other\", \"link.setup\": \"9us\"}",
	     "containers.vllm.gpu=second");
	ck_assert_uint_eq(config.gpu_count, 1);
	ck_assert_str_eq(config.gpu.name, "gpu0");
	ck_assert_str_eq(config.gpus[0].name, "second");
	ck_assert_str_eq(config.gpus[0].profile, "other");
	ck_assert_uint_eq(config.gpu.link.setup, 2500);
	ck_assert_uint_eq(config.gpus[0].link.setup, 9000);
	ck_assert_uint_eq(config.gpus[0].link.piece_in, 700);
	ck_assert_uint_eq(config.host.speed, 1230000);
	ck_assert_ptr_eq(config_gpu(&config, &config.containers[0]), &config.gpus[0]);
	load("gpus.second.profile=tiny", "containers.vllm.gpu=gpu0");
	ck_assert_ptr_eq(config_gpu(&config, &config.containers[0]), &config.gpu);
	load(NULL, NULL);
	ck_assert_ptr_eq(config_gpu(&config, &config.containers[0]), &config.gpu);
	ck_assert_ptr_null(json_object_get(config.resolved, "gpus"));
}
END_TEST

START_TEST(set_chooses_the_profile)
{
	write_file("gpus/other.json", replace(config_gpu_profile, "\"32M\"", "\"30M\""));
	load("gpu.profile=other", NULL);
	ck_assert_uint_eq(config.gpu.memory, 30 << 20);
}
END_TEST

/* Three profiles: each says what differs. The scenario still wins. */
START_TEST(a_profile_says_what_differs_from_another)
{
	write_file("gpus/near.json", "{\"extends\": \"tiny\", \"gpu\": {\"link\": {\"setup\": "
				     "{\"value\": \"9us\", \"source\": \"test\"}}}}");
	write_file("gpus/far.json",
		   "{\"extends\": \"near\", \"gpu.link.piece_in\": {\"value\": "
		   "\"8us\", \"source\": \"test\"}, \"host\": {\"cores\": "
		   "{\"value\": 3, \"source\": \"test\"}}}");
	load("gpu.profile=near", NULL);
	ck_assert_uint_eq(config.gpu.link.setup, 9000);
	ck_assert_uint_eq(config.gpu.link.piece_in, 700);
	ck_assert_uint_eq(config.host.cores, 12);
	load("gpu.profile=far", NULL);
	ck_assert_uint_eq(config.gpu.link.setup, 9000);
	ck_assert_uint_eq(config.gpu.link.piece_in, 8000);
	ck_assert_uint_eq(config.gpu.link.piece_out, 800);
	ck_assert_uint_eq(config.host.cores, 3);
	load("gpu.profile=far", "gpu.link.setup=1us");
	ck_assert_uint_eq(config.gpu.link.setup, 1000);
	/* A further GPU has no host. */
	load("gpus.second.profile=far", NULL);
	ck_assert_uint_eq(config.gpus[0].link.setup, 9000);
	ck_assert_uint_eq(config.gpus[0].link.piece_in, 8000);
	ck_assert_uint_eq(config.gpu.link.setup, 2500);
	ck_assert_uint_eq(config.host.cores, 12);
}
END_TEST

/*
 * A profile of ours is extended from beside the scenario, and extends ours even if one there
 * has its name.
 */
START_TEST(a_profile_of_ours_can_be_extended)
{
	write_file("gpus/mine.json",
		   "{\"extends\": \"h200-141g\", \"gpu.link.setup\": {\"value\": "
		   "\"9us\", \"source\": \"test\"}}");
	write_file("gpus/a100-80g.json", "{\"extends\": \"tiny\"}");
	load("gpu.profile=mine", NULL);
	ck_assert_uint_eq(config.gpu.link.setup, 9000);
	ck_assert_uint_eq(config.gpu.flops_bf16, 989000000000000);
	load("gpu.profile=a100-80g", NULL);
	ck_assert_uint_eq(config.gpu.memory, 32 << 20);
	load("gpu.profile=a100-pcie-80g", NULL);
	ck_assert_uint_eq(config.gpu.memory_bandwidth, 1752000000000);
	ck_assert_uint_gt(config.gpu.memory, 32 << 20);
}
END_TEST

START_TEST(a_profile_of_an_application_can_extend_another)
{
	write_file("apps/more.json", "{\"extends\": \"llm\", \"app\": {\"block_tokens\": "
				     "{\"value\": 32, \"source\": \"test\"}}}");
	load("containers.vllm.app.profile=more", NULL);
	ck_assert_uint_eq(llm_keys()->block_tokens, 32);
	ck_assert_uint_eq(llm_keys()->weights, 6 << 20);
}
END_TEST

/* By file for an application, by key for a container; without either lenet's. */
START_TEST(a_profile_of_an_application_has_what_its_fence_costs)
{
	write_file(
		"apps/fenced.json",
		"{\"extends\": \"llm\", \"guardian.offsets\": {\"value\": 0.5, \"source\": "
		"\"test\"}, \"guardian\": {\"l1\": {\"value\": 0.9, \"source\": \"test\"}}}");
	load("containers.vllm.app.profile=fenced", NULL);
	ck_assert_uint_eq(config.containers[0].guardian.l1, 900000);
	ck_assert_uint_eq(config.containers[0].guardian.l2, 720000);
	ck_assert_uint_eq(config.containers[0].guardian.offsets, 500000);
	load("containers.vllm.app.profile=fenced", "containers.vllm.guardian.l1=0.1");
	ck_assert_uint_eq(config.containers[0].guardian.l1, 100000);
	ck_assert_uint_eq(config.containers[0].guardian.offsets, 500000);
}
END_TEST

START_TEST(dotted_and_nested_are_one_spelling)
{
	char hash[33];

	keep_hash(hash, NULL);
	load_changed("\"gpu\": {\"profile\": \"tiny\"}", "\"gpu.profile\": \"tiny\"");
	ck_assert_str_eq(config.hash, hash);
	load_changed("\"trace\": {\"file\": \"head.trace\"}", "\"trace.file\": \"head.trace\"");
	ck_assert_str_eq(config.hash, hash);
	load_changed("\"gmem.limit.high\": \"16M\"",
		     "\"gmem\": {\"limit\": {\"high\": 16777216}}");
	ck_assert_str_eq(config.hash, hash);
	load_changed("\"gmem.limit.high\"", "\"memory.limit\"");
	ck_assert_str_eq(config.hash, hash);
}
END_TEST

START_TEST(one_key_in_two_spellings_is_wrong)
{
	assert_bad("\"gpu\": {", "\"gpu.profile\": \"x\", \"gpu\": {",
		   "s.json:gpu.profile: is given as \"gpu.profile\" and as \"gpu > profile\", "
		   "allowed: one of them");
	assert_bad(
		"\"gmem.limit.high\": \"16M\"", "\"gmem.limit.high\": 1, \"memory.limit\": 1",
		"s.json:containers.vllm.gmem.limit.high: is given as \"containers > vllm > "
		"gmem.limit.high\" and as \"containers > vllm > memory.limit\", allowed: one "
		"of them");
}
END_TEST

START_TEST(numbers_may_be_numbers_or_texts)
{
	load("containers.vllm.app.trace.divide=198.9", NULL);
	ck_assert_uint_eq(llm_keys()->client.trace.divide, 198900000);
	load("containers.vllm.app.trace.divide=\"198.9\"", NULL);
	ck_assert_uint_eq(llm_keys()->client.trace.divide, 198900000);
	load("gpu.memory_total=6e9", NULL);
	ck_assert_uint_eq(config.gpu.memory_total, 6000000000);
	load("gpu.flops_bf16=312e12", "containers.vllm.app.efficiency=0.1");
	ck_assert_uint_eq(config.gpu.flops_bf16, 312000000000000);
	ck_assert_uint_eq(llm_keys()->efficiency, 100000);
}
END_TEST

START_TEST(real_numbers_keep_every_decimal)
{
	for (unsigned int i = 1; i <= 100000; i += 701) {
		char set[64];

		snprintf(set, sizeof(set), "containers.vllm.app.trace.divide=%u.%06u", i, i);
		load(set, NULL);
		ck_assert_uint_eq(llm_keys()->client.trace.divide, i * (UINT64_C(1000000) + 1));
	}
}
END_TEST

START_TEST(control_files_get_one_spelling)
{
	load("containers.vllm.gmem.limit.high=1.5G", "containers.vllm.compute.timeslice=2");
	ck_assert_str_eq(control_text("gmem.limit.high"), "1610612736");
	ck_assert_str_eq(control_text("compute.timeslice"), "2000us");
	load("containers.vllm.gmem.limit.low=max", "containers.vllm.compute.priority=2");
	ck_assert_str_eq(control_text("gmem.limit.low"), "max");
	ck_assert_str_eq(control_text("compute.priority"), "2");
}
END_TEST

START_TEST(set_means_the_longest_known_key)
{
	load("containers.vllm.gmem.limit.high=6e9", "containers.vllm.enabled=true");
	ck_assert_str_eq(control_text("gmem.limit.high"), "6000000000");
	load("containers.vllm.memory.limit=7e9", NULL);
	ck_assert_str_eq(control_text("gmem.limit.high"), "7000000000");
	load("containers.vllm.app.client.max_open=1012", NULL);
	ck_assert_uint_eq(llm_keys()->client.max_open, 1012);
}
END_TEST

START_TEST(set_takes_json_or_text)
{
	load("name=other", "description={not json");
	ck_assert_str_eq(config.name, "other");
}
END_TEST

START_TEST(set_takes_objects_and_lists)
{
	load("gpu.link={\"setup\": \"9us\", \"bandwidth\": 8e9}",
	     "events=[{\"at\": \"2s\", \"container\": \"vllm\", \"file\": \"compute.freeze\", "
	     "\"value\": 1}]");
	ck_assert_uint_eq(config.gpu.link.setup, 9000);
	ck_assert_uint_eq(config.gpu.link.bandwidth, 8000000000);
	ck_assert_uint_eq(config.event_count, 1);
	ck_assert_str_eq(config.events[0].value, "1");
}
END_TEST

/* What a figure or a sweep sets for its runs may not be set by a user in other words. */
START_TEST(settings_of_one_key_are_known_in_all_spellings)
{
	static const struct {
		const char *set, *other;
		bool meet;
	} pairs[] = {
		{ "seed=1", "seed=2", true },
		{ "seed=1", "seeds=2", false },
		{ "system.name=gvm", "system={\"name\": \"ghost\"}", true },
		{ "system={\"name\": \"gvm\"}", "system.name=ghost", true },
		{ "jitter.start=5s", "jitter={\"arrivals\": \"gaps\"}", false },
		{ "jitter={\"start\": \"1s\"}", "jitter={\"arrivals\": \"gaps\"}", true },
		{ "containers.a.memory.limit=1G", "containers.a.gmem.limit.high=2G", true },
		{ "containers.a.memory.limit=1G", "containers.b.gmem.limit.high=2G", false },
		{ "containers.a.gmem.limit.high=1G",
		  "containers={\"a\": {\"gmem\": {\"limit.high\": 5}}}", true },
		{ "containers.a.app={\"steps\": 5}", "containers={\"a\": {\"app.steps\": 6}}",
		  true },
		{ "containers.a.app={\"steps\": 5}", "containers={\"a\": {\"app.seed\": 6}}",
		  false },
		{ "duration", "duration=1s", false },
		{ "system={\"name\"", "system.name=gvm", false },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		ck_assert_msg(cfg_sets_meet(pairs[i].set, pairs[i].other) == pairs[i].meet,
			      "%s and %s", pairs[i].set, pairs[i].other);
		ck_assert_msg(cfg_sets_meet(pairs[i].other, pairs[i].set) == pairs[i].meet,
			      "%s and %s", pairs[i].other, pairs[i].set);
	}
}
END_TEST

START_TEST(set_can_add_a_whole_container)
{
	load("containers.two={\"app\": {\"type\": \"llm-server\", \"profile\": \"llm\", "
	     "\"trace.file\": \"head.trace\"}}",
	     "containers.two.start=1s");
	ck_assert_uint_eq(config.container_count, 2);
	ck_assert_str_eq(config.containers[1].name, "two");
	ck_assert_uint_eq(config.containers[1].start, 1000000000);
}
END_TEST

START_TEST(events_are_in_time_order)
{
	load_changed(
		"\"events\": []",
		"\"events\": [{\"at\": \"3s\", \"container\": \"vllm\", \"file\": "
		"\"memory.limit\", \"value\": \"1.5G\"}, {\"at\": \"1s\", \"container\": "
		"\"vllm\", \"file\": \"compute.timeslice\", \"value\": \"512us\"}, {\"at\": "
		"\"3s\", \"container\": \"vllm\", \"file\": \"gmem.limit.high\", \"value\": "
		"\"max\"}]");
	ck_assert_uint_eq(config.event_count, 3);
	ck_assert_uint_eq(config.events[0].at, 1000000000);
	ck_assert_str_eq(config.events[0].value, "512us");
	ck_assert_str_eq(config.events[1].file, "gmem.limit.high");
	ck_assert_str_eq(config.events[1].value, "1610612736");
	ck_assert_str_eq(config.events[2].value, "max");
}
END_TEST

START_TEST(events_tell_page_players_what_to_do)
{
	json_t *events;

	load("containers.p={\"app\": {\"type\": \"pages\", \"bytes\": \"6M\", \"pattern\": "
	     "\"events\"}}",
	     "events=[{\"at\": \"1s\", \"container\": \"p\", \"touch\": 2}, {\"at\": \"2s\", "
	     "\"container\": \"p\", \"touch\": \"2-0\"}, {\"at\": \"3s\", \"container\": "
	     "\"p\", "
	     "\"exit\": true}]");
	ck_assert_uint_eq(config.event_count, 3);
	ck_assert_uint_eq(config.events[0].first_block, 2);
	ck_assert_uint_eq(config.events[0].last_block, 2);
	ck_assert_uint_eq(config.events[1].first_block, 2);
	ck_assert_uint_eq(config.events[1].last_block, 0);
	ck_assert(config.events[2].exit && !config.events[1].exit);
	/* An event is dumped with its own keys only, so that it can be loaded again. */
	events = json_object_get(config.resolved, "events");
	ck_assert_uint_eq(json_object_size(json_array_get(events, 0)), 3);
	ck_assert_uint_eq(json_object_size(json_array_get(events, 2)), 3);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(events, 0), "touch")),
			 "2");
}
END_TEST

START_TEST(hash_does_not_see_order_or_spelling)
{
	char hash[33];

	keep_hash(hash, NULL);
	ck_assert_uint_eq(strlen(hash), 32);
	load_changed("\"name\": \"small\",\n\"duration\": \"10s\",",
		     "\"duration\": \"1e4ms\", \"name\": \"small\",");
	ck_assert_str_eq(config.hash, hash);
	write_file("s.json", config_scenario);
	load("containers.vllm.app.trace.divide=1.0", "gpu.memory=33554432");
	ck_assert_str_eq(config.hash, hash);
}
END_TEST

START_TEST(hash_sees_every_key)
{
	static const char *const sets[] = {
		"name=x",
		"description=x",
		"duration=9s",
		"seed=2",
		"system.name=exclusive",
		"system.scheduler=weighted",
		"system.tracking=busy_bits",
		"system.tracking_interval=8ms",
		"system.mechanisms.clean_drop=true",
		"system.mechanisms.memory_isolation=false",
		"system.mechanisms.fast_paging=false",
		"gpu.memory=30M",
		"gpu.link.setup=1us",
		"gpu.fault.entry=2us",
		"host.cores=3",
		"containers.vllm.start=1s",
		"containers.vllm.app.efficiency=0.5",
		"containers.vllm.app.trace.response=recorded",
		"containers.vllm.app.client.drop_in_flight=true",
		"containers.vllm.gmem.limit.high=15M",
		"containers.vllm.compute.freeze=0",
		"output.timeline_interval=1s",
		"events=[{\"at\": \"0s\", \"container\": \"vllm\", \"file\": "
		"\"compute.freeze\", "
		"\"value\": 1}]",
	};
	enum { COUNT = sizeof(sets) / sizeof(sets[0]) };
	char hashes[COUNT + 1][33];

	keep_hash(hashes[COUNT], NULL);
	for (size_t i = 0; i < COUNT; i++)
		keep_hash(hashes[i], sets[i]);
	for (size_t i = 0; i <= COUNT; i++) {
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(hashes[i], hashes[j]);
	}
}
END_TEST

START_TEST(hash_sees_the_trace_but_not_its_place)
{
	char hash[33];

	keep_hash(hash, NULL);
	write_file("head.trace", "another");
	load(NULL, NULL);
	ck_assert_str_ne(config.hash, hash);
	write_file("head.trace", "a trace");
	ck_assert_int_eq(chdir("gpus"), 0);
	ck_assert_msg(load_path("../s.json", NULL, NULL) == 0, "%s", error.text);
	ck_assert_str_eq(config.hash, hash);
}
END_TEST

START_TEST(the_resolved_configuration_is_a_scenario)
{
	char hash[33];

	load("containers.vllm.app.trace.divide=198.9", "containers.vllm.compute.timeslice=0.5");
	memcpy(hash, config.hash, sizeof(hash));
	ck_assert_str_eq(json_string_value(json_object_get(config.resolved, "hash")), hash);
	ck_assert_int_eq(json_dump_file(config.resolved, "again.json", JSON_INDENT(1)), 0);
	ck_assert_msg(load_path("again.json", NULL, NULL) == 0, "%s", error.text);
	ck_assert_str_eq(config.hash, hash);
}
END_TEST

static const char *resolved_trace(void)
{
	const json_t *object = config.resolved;

	object = json_object_get(json_object_get(object, "containers"), "vllm");
	object = json_object_get(json_object_get(object, "app"), "trace");
	return json_string_value(json_object_get(object, "file"));
}

/* Load the resolved configuration from a folder that has no traces. */
static void load_elsewhere(const char *set)
{
	static const char again[] = "gpus/again.json";

	ck_assert_int_eq(json_dump_file(config.resolved, again, JSON_INDENT(1)), 0);
	ck_assert_msg(load_path(again, set, NULL) == 0, "%s", error.text);
}

START_TEST(the_resolved_configuration_finds_its_trace_from_elsewhere)
{
	char trace[128];
	char hash[33];

	ck_assert_int_eq(symlink("../gpus", "gpus/gpus") | symlink("../apps", "gpus/apps"), 0);
	snprintf(trace, sizeof(trace), "%s/head.trace", folder);
	keep_hash(hash, NULL);
	ck_assert_str_eq(resolved_trace(), trace);
	load_elsewhere(NULL);
	ck_assert_str_eq(config.hash, hash);
	ck_assert_str_eq(resolved_trace(), trace);
	ck_assert_str_eq(llm_keys()->client.trace.file, trace);
}
END_TEST

START_TEST(a_trace_of_ours_keeps_its_name)
{
	static const char name[] = "burstgpt1_gvm3256_served.trace";
	char hash[33];

	ck_assert_msg(load_path("vllm-diffusion-40g", NULL, NULL) == 0, "%s", error.text);
	memcpy(hash, config.hash, sizeof(hash));
	ck_assert_str_eq(resolved_trace(), name);
	load_elsewhere(NULL);
	ck_assert_str_eq(config.hash, hash);
	ck_assert_str_eq(resolved_trace(), name);
}
END_TEST

START_TEST(scenarios_come_through_pipes)
{
	char hash[33];
	char path[32];
	int ends[2];

	keep_hash(hash, NULL);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], config_scenario, strlen(config_scenario)),
			 (ssize_t)strlen(config_scenario));
	ck_assert_int_eq(close(ends[1]), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	ck_assert_msg(load_path(path, NULL, NULL) == 0, "%s", error.text);
	ck_assert_str_eq(config.hash, hash);
	ck_assert_str_eq(config.file, path);
	close(ends[0]);
}
END_TEST

/* The scenarios that come with gvmsim, with this test's trace. */
START_TEST(shipped_scenarios_are_right)
{
	static const char *const names[] = { "vllm-diffusion-40g", "vllm-diffusion-80g.json" };
	char set[128];

	snprintf(set, sizeof(set), "containers.vllm.app.trace.file=%s/head.trace", folder);
	for (size_t i = 0; i < 2; i++) {
		const struct cfg_llm *llm;

		ck_assert_msg(load_path(names[i], set, NULL) == 0, "%s", error.text);
		ck_assert_uint_eq(config.container_count, 2);
		ck_assert_str_eq(config.containers[1].name, "diffusion");
		llm = llm_keys();
		ck_assert_uint_eq(llm->client.stop, 583750000000);
		ck_assert_uint_eq(llm->client.trace.divide, 200000000);
		ck_assert_uint_eq(llm->gpu_memory_utilization, i ? 700000 : 800000);
		ck_assert_str_eq(control_text("gmem.limit.high"), i ? "" : "40000000000");
	}
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, everything_is_bound);
	tcase_add_test(tests, later_layers_win);
	tcase_add_test(tests, keys_that_nothing_honours_are_listed);
	tcase_add_test(tests, mechanisms_of_papers_are_switched_off_and_ideas_on);
	tcase_add_test(tests, a_machine_may_have_gpus_of_different_profiles);
	tcase_add_test(tests, container_keys_of_other_systems_are_listed);
	tcase_add_test(tests, set_chooses_the_profile);
	tcase_add_test(tests, a_profile_says_what_differs_from_another);
	tcase_add_test(tests, a_profile_of_ours_can_be_extended);
	tcase_add_test(tests, a_profile_of_an_application_can_extend_another);
	tcase_add_test(tests, a_profile_of_an_application_has_what_its_fence_costs);
	tcase_add_test(tests, dotted_and_nested_are_one_spelling);
	tcase_add_test(tests, one_key_in_two_spellings_is_wrong);
	tcase_add_test(tests, numbers_may_be_numbers_or_texts);
	tcase_add_test(tests, real_numbers_keep_every_decimal);
	tcase_add_test(tests, control_files_get_one_spelling);
	tcase_add_test(tests, set_means_the_longest_known_key);
	tcase_add_test(tests, set_takes_json_or_text);
	tcase_add_test(tests, set_takes_objects_and_lists);
	tcase_add_test(tests, settings_of_one_key_are_known_in_all_spellings);
	tcase_add_test(tests, set_can_add_a_whole_container);
	tcase_add_test(tests, events_are_in_time_order);
	tcase_add_test(tests, events_tell_page_players_what_to_do);
	tcase_add_test(tests, hash_does_not_see_order_or_spelling);
	tcase_add_test(tests, hash_sees_every_key);
	tcase_add_test(tests, hash_sees_the_trace_but_not_its_place);
	tcase_add_test(tests, the_resolved_configuration_is_a_scenario);
	tcase_add_test(tests, the_resolved_configuration_finds_its_trace_from_elsewhere);
	tcase_add_test(tests, a_trace_of_ours_keeps_its_name);
	tcase_add_test(tests, scenarios_come_through_pipes);
	tcase_add_test(tests, shipped_scenarios_are_right);
}

int main(void)
{
	return suite_run("config", fixture_setup, fixture_teardown, add_tests);
}
