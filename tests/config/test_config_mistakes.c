// SPDX-License-Identifier: MIT OR GPL-2.0
/* The exact message for each mistake in a scenario or a --set. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "config_fixture.h"
#include "machine/machine.h"
#include "suite.h"

START_TEST(set_mistakes_are_named)
{
	char message[256];

	assert_bad_set("duration", "--set: \"duration\" sets nothing, allowed: PATH=VALUE");
	assert_bad_set("=5s", "--set: \"=5s\" sets nothing, allowed: PATH=VALUE");
	assert_bad_set("duration=5",
		       "--set:duration: 5 has no unit, " DURATION_ALLOWED("1ns to 2678400s"));
	assert_bad_set("gpu.lnik.setup=5us",
		       "--set:gpu.lnik.setup: unknown key, did you mean \"gpu.link.setup\"?");
	assert_bad_set("gpu.cycles.chekc=7",
		       "--set:gpu.cycles.chekc: unknown key, did you mean "
		       "\"gpu.cycles.check\"?");
	assert_bad_set("containers.vllm.app.tensors.weights.bytes=1",
		       "--set:containers.vllm.app.tensors.weights.bytes: unknown key, allowed: "
		       "containers.vllm.app.tensors as a whole, as JSON");
	assert_bad_set("containers.vllm.gmem.limit.hihg=1",
		       "--set:containers.vllm.gmem.limit.hihg: unknown key, did you mean "
		       "\"containers.vllm.gmem.limit.high\"?");
	assert_bad_set("containers.vlm.enabled=false",
		       "--set:containers.vlm: no such container, did you mean \"vllm\"? "
		       "(A new one has its app.type.)");
	assert_bad_set("gpu.link=5",
		       "--set:gpu.link: is not an object, allowed: an object with bandwidth, "
		       "bandwidth_both, setup, piece_in, piece_out");
	assert_bad_set("gpu.link={\"setup\": }",
		       "--set:gpu.link: unexpected token near '}', allowed: an object with "
		       "bandwidth, bandwidth_both, setup, piece_in, piece_out");
	assert_bad_set("name=caf\xe9", "--set:name: is not UTF-8, allowed: UTF-8 text");
	snprintf(message, sizeof(message),
		 "--set:system.name: \"vmware\" is not known, allowed: ");
	for (size_t i = 0; sim_systems[i]; i++)
		snprintf(message + strlen(message), sizeof(message) - strlen(message),
			 "%s\"%s\"", i ? ", " : "", sim_systems[i]->name);
	assert_bad_set("system.name=vmware", message);
}
END_TEST

START_TEST(unused_keys_are_checked)
{
	assert_bad_set("system.scheduler=fair",
		       "--set:system.scheduler: \"fair\" is not known, allowed: "
		       "\"timeslices\", \"priority\", \"weighted\"");
	assert_bad_set("system.mechanisms.block=amd",
		       "--set:system.mechanisms.block: \"amd\" is not known, allowed: "
		       "\"core\", \"nvidia\"");
	assert_bad_set("system.mechanisms.fast_paging=1",
		       "--set:system.mechanisms.fast_paging: 1 is not a truth value, allowed: "
		       "true or false");
	assert_bad_set(
		"system.mechanisms=all",
		"--set:system.mechanisms: invalid token near 'all', allowed: an object with "
		"sub_chunks, *, lirs, *block*");
	assert_bad_set("host.cores=0", "--set:host.cores: 0 is out of range, allowed: an "
				       "integer from 1 to 4096");
}
END_TEST

START_TEST(keys_given_twice_in_one_set_are_named)
{
	assert_bad_set(
		"containers.vllm={\"gmem.limit.high\": \"6e9\", \"memory.limit\": 3}",
		"--set:containers.vllm.gmem.limit.high: is given as \"containers.vllm > "
		"gmem.limit.high\" and as \"containers.vllm > memory.limit\", allowed: one "
		"of them");
	assert_bad_set("gpu={\"link\": {\"setup\": \"1us\"}, \"link.setup\": \"2us\"}",
		       "--set:gpu.link.setup: is given as \"gpu > link > setup\" and as "
		       "\"gpu > link.setup\", allowed: one of them");
	assert_bad_set("gpu.link={\"setup\": \"1us\", \"setup\": \"2us\"}",
		       "--set:gpu.link: setup is given twice, allowed: once");
}
END_TEST

START_TEST(what_cannot_be_typed_is_not_suggested)
{
	assert_bad_set("events.#.at=1s",
		       "--set:events.#.at: unknown key, allowed: an index into the list");
	assert_bad_set("events.at=1s",
		       "--set:events.at: unknown key, allowed: an index into the list");
	assert_bad_set("evnets.0.at=1s",
		       "--set:evnets.0.at: unknown key, did you mean \"events.0.at\"?");
	assert_bad_set("container.vllm.start=1s",
		       "--set:container.vllm.start: unknown key, did you mean "
		       "\"containers.vllm.start\"?");
	assert_bad_set("contaners={}",
		       "--set:contaners: unknown key, did you mean \"containers\"?");
	assert_bad_set("containers.=1",
		       "--set:containers: \"\" is not a valid container name, allowed: 1 to 63 "
		       "lower-case letters, digits, \"_\" and \"-\"");
}
END_TEST

START_TEST(keys_of_another_application_are_named)
{
	assert_bad_set(
		"containers.two={\"app\": {\"type\": \"diffusion\", \"trace.file\": \"x\"}}",
		"--set:containers.two.app.trace.file: no key of this app.type, allowed: type, "
		"profile, memory, read_mostly, pressure, text_weights, clip_weights, "
		"denoiser_weights, "
		"decoder_weights, denoiser_activation, denoiser_layers, decoder_activation, "
		"steps, passes_per_step, text_passes, text_flops, denoiser_flops, "
		"denoiser_traffic, "
		"decoder_flops, decoder_traffic, denoiser_cycles, decoder_cycles, "
		"denoiser_traffic_beside, decoder_traffic_beside, decoder_blocks, "
		"efficiency, memory_efficiency, kernel_launch, "
		"graph, kernels_per_pass, kernels_text, kernels_decoder, pool, "
		"text_embeddings, clip_embeddings, text_matrices, clip_matrices, "
		"host_per_image, warmup, boot, warm_images, load_bandwidth, offload");
}
END_TEST

START_TEST(unreadable_files_are_named)
{
	char message[256];

	assert_bad("\"duration\"", "\"duration\" 5,", "s.json:3:12: ':' expected near '5'");
	assert_bad("\"duration\"", "\"name\"",
		   "s.json:name: is given twice (line 3, column 6), allowed: once");
	assert_bad("\"duration\"", "\"a_key_that_is_too_long\": 1, \"a_key_that_is_too_long\"",
		   "s.json:3:53: a key is given twice, allowed: once");
	write_file("s.json", "{\"name\": \"x\\u0000\"}");
	assert_failed(load_path("s.json", NULL, NULL),
		      "s.json:1:18: \\u0000 is not allowed near '\"x\\u0000\"'");
	write_file("s.json", "{\"name\": \"x\"");
	assert_failed(load_path("s.json", NULL, NULL),
		      "s.json:1:12: '}' expected near end of file");
	write_file("s.json", "[]");
	assert_failed(load_path("s.json", NULL, NULL),
		      "s.json: is not an object, allowed: an object with name, description, "
		      "duration, seed, jitter, system, gpu, host, gpus, containers, events, "
		      "policy, output");
	assert_failed(load_path("gpus", NULL, NULL),
		      "gpus: is a folder, allowed: a scenario file");
	ck_assert_int_eq(load_path("none.json", NULL, NULL), -SIM_EXIT_USER);
	snprintf(message, sizeof(message),
		 "none.json: no such scenario, allowed: a file in the current folder");
	ck_assert_msg(!strncmp(error.text, message, strlen(message)), "%s", error.text);
}
END_TEST

START_TEST(unknown_keys_are_named)
{
	assert_bad("\"duration\"", "\"durations\": 1, \"duration\"",
		   "s.json:durations: unknown key, did you mean \"duration\"?");
	assert_bad(
		"\"profile\": \"tiny\"", "\"profile\": \"tiny\", \"colour\": 1",
		"s.json:gpu.colour: unknown key, allowed: profile, memory, *, link, *, fault*");
	assert_bad(
		"\"events\": []", "\"\": {}",
		"s.json: holds a key that is empty or far too long, allowed: the keys of the "
		"schema");
	assert_bad("\"profile\": \"llm\"", "\"profile\": \"llm\", \"steps\": 20",
		   "s.json:containers.vllm.app.steps: no key of this app.type, allowed: type, "
		   "profile, *, weights, *, max_sequences, *, trace, *client*");
	/* Another type has it. */
	ck_assert_ptr_null(strstr(error.text, ", steps"));
}
END_TEST

/* The message names the new key: a host's launch became each application's, cycles the GPU's. */
START_TEST(keys_of_earlier_versions_are_named_with_the_new_ones)
{
	const char *const now = "unknown key, a launch is the application's now: "
				"containers.<name>.app.kernel_launch, on a host of speed 1";
	char message[512];

	assert_bad_set("system.l2=193",
		       "--set:system.l2: unknown key, cycles are the GPU's now: gpu.cycles.l2");
	assert_bad_set("system={\"name\": \"guardian\", \"alu\": 4}",
		       "--set:system.alu: unknown key, cycles of a fence are the GPU's now: "
		       "gpu.cycles.<mode>");
	snprintf(message, sizeof(message), "s.json:host.kernel_launch: %s", now);
	assert_bad("\"events\": []", "\"host\": {\"kernel_launch\": \"59us\"}", message);
}
END_TEST

START_TEST(wrong_types_are_named)
{
	assert_bad("\"10s\"", "10",
		   "s.json:duration: 10 has no unit, " DURATION_ALLOWED("1ns to 2678400s"));
	assert_bad(
		"\"10s\"", "true",
		"s.json:duration: true is not a number, " DURATION_ALLOWED("1ns to 2678400s"));
	assert_bad("\"10s\"", "{}",
		   "s.json:duration: an object is not a number, " //
		   DURATION_ALLOWED("1ns to 2678400s"));
	assert_bad("\"small\"", "null", "s.json:name: null is not a text, " NAME_ALLOWED);
	assert_bad("\"small\"", "\"a/b\"", "s.json:name: \"a/b\" is not a name, " NAME_ALLOWED);
	assert_bad("\"app\"", "\"enabled\": \"no\", \"app\"",
		   "s.json:containers.vllm.enabled: \"no\" is not a truth value, allowed: true "
		   "or false");
	assert_bad("[]", "{}",
		   "s.json:events: is not a list, allowed: a list of objects with "
		   "at, container, file, value, touch, exit, load, sleep, wake, stop, restart");
	assert_bad(
		"{\"file\": \"head.trace\"}", "\"head.trace\"",
		"s.json:containers.vllm.app.trace: is not an object, allowed: an object with "
		"file, divide, rate, arrivals, cv, response");
}
END_TEST

START_TEST(bad_suffixes_are_named)
{
	/* A time slice has the units of its control file, and the message no other. */
	assert_bad_set(
		"containers.vllm.compute.timeslice=1s",
		"--set:containers.vllm.compute.timeslice: \"1s\" has an unknown suffix "
		"(there are us, ms), allowed: a time slice from 1us to 16000ms such as 2 "
		"(ms), \"2ms\" or \"512us\"");
	assert_bad("\"16M\"", "\"16Q\"",
		   "s.json:containers.vllm.gmem.limit.high: \"16Q\" has an unknown "
		   "suffix " SIZE_SUFFIXES SIZE_ALLOWED("0 to max"));
	assert_bad("\"10s\"", "\"10 sec\"",
		   "s.json:duration: \"10 sec\" has an unknown suffix " DURATION_SUFFIXES
			   DURATION_ALLOWED("1ns to 2678400s"));
	assert_bad("\"profile\": \"tiny\"", "\"profile\": \"tiny\", \"memory\": 0.5",
		   "s.json:gpu.memory: 0.5 is finer than can be represented, " SIZE_ALLOWED(
			   "2M to 16384G"));
}
END_TEST

START_TEST(ranges_are_kept)
{
	assert_bad_set("duration=0s", "--set:duration: \"0s\" is out of range, " //
		       DURATION_ALLOWED("1ns to 2678400s"));
	assert_bad_set("duration=745h", "--set:duration: \"745h\" is out of range, " //
		       DURATION_ALLOWED("1ns to 2678400s"));
	assert_bad_set(
		"gpu.memory=max",
		"--set:gpu.memory: \"max\" is out of range, " SIZE_ALLOWED("2M to 16384G"));
	assert_bad_set("seed=-1", "--set:seed: -1 is negative, allowed: an integer from 0 to "
				  "9223372036854775807");
	assert_bad_set("containers.vllm.app.gpu_memory_utilization=0",
		       "--set:containers.vllm.app.gpu_memory_utilization: 0 is out of range, "
		       "allowed: a number from 0.000001 to 1 of at most 6 decimals");
	assert_bad_set("containers.vllm.app.gpu_memory_utilization=1.1",
		       "--set:containers.vllm.app.gpu_memory_utilization: 1.1 is out of range, "
		       "allowed: a number from 0.000001 to 1 of at most 6 decimals");
	assert_bad_set("gpu.cycles.l1=0.5", "--set:gpu.cycles.l1: 0.5 is out of range, "
					    "allowed: a number from 1 to 1000000 of at most 6 "
					    "decimals");
	assert_bad_set("gpu.cycles.check_offset=1000001",
		       "--set:gpu.cycles.check_offset: 1000001 is out of range, allowed: a "
		       "number from 0 to 1000000 of at most 6 decimals");
	/* More kernels could take longer than dates of 64 bits. */
	assert_bad_set("containers.vllm.app.kernels_per_step=1000001",
		       "--set:containers.vllm.app.kernels_per_step: 1000001 is out of range, "
		       "allowed: an integer from 1 to 1000000");
	assert_bad_set(
		"containers.vllm.compute.priority=17",
		"--set:containers.vllm.compute.priority: 17 is out of range, allowed: an "
		"integer from 0 to 16");
	assert_bad_set(
		"containers.vllm.compute.timeslice=17000",
		"--set:containers.vllm.compute.timeslice: 17000 is out of range, allowed: "
		"a time slice from 1us to 16000ms such as 2 (ms), \"2ms\" or \"512us\"");
}
END_TEST

START_TEST(missing_keys_are_named)
{
	assert_bad("\"duration\": \"10s\",", "",
		   "s.json:duration: is missing, " DURATION_ALLOWED("1ns to 2678400s"));
	assert_bad("\"type\": \"llm-server\",", "",
		   "s.json:containers.vllm.app.type: is missing, allowed: \"llm-server\", "
		   "*\"diffusion\", *\"phases\"*");
	assert_bad("\"file\": \"head.trace\"", "",
		   "s.json:containers.vllm.app.trace.file: is missing, allowed: a text of 1 to "
		   "511 bytes");
	write_file("s.json",
		   "{\"name\": \"n\", \"duration\": \"1s\", \"gpu.profile\": \"tiny\"}");
	assert_failed(load_path("s.json", NULL, NULL),
		      "s.json:containers: is missing, allowed: at least one container");
}
END_TEST

/*
 * All of a file at once; of a profile in its own spelling. What the scenario says is not
 * missing.
 */
START_TEST(missing_keys_of_a_file_are_named_together)
{
	char text[8192];
	char message[256];

	snprintf(text, sizeof(text), "%s",
		 replace(config_gpu_profile,
			 "\"setup\": {\"value\": \"2.5us\", \"source\": \"test\"},", ""));
	snprintf(text, sizeof(text), "%s",
		 replace(text, "\"memory\": {\"value\": \"32M\", \"source\": \"16 chunks\"},",
			 ""));
	assert_bad_profile("gpus/tiny.json", text,
			   "gpus/tiny.json:gpu.memory: is missing, and so are gpu.link.setup");
	snprintf(message, sizeof(message), "%s/gpus/tiny.json:gpu.link.setup: is missing, %s",
		 folder, DURATION_ALLOWED("0s to 1s"));
	assert_bad_set("gpu.memory=32M", message);
}
END_TEST

/* Without a GPU's profile dozens of its keys are missing: one word stands for them. */
START_TEST(a_missing_profile_of_the_gpu_hides_no_other_missing_key)
{
	write_file("s.json", "{\"name\": \"n\", \"containers\": {\"p\": {\"app\": {\"type\": "
			     "\"pages\"}}}}");
	assert_failed(load_path("s.json", NULL, NULL),
		      "s.json:duration: is missing, and so are gpu.profile, "
		      "containers.p.app.bytes");
	assert_failed(load_path("s.json", "duration=1s", NULL),
		      "s.json:gpu.profile: is missing, and so are containers.p.app.bytes");
	assert_failed(
		load_path("s.json", "duration=1s", "containers.p.app.bytes=2M"),
		"s.json:gpu.profile: is missing, allowed: the name of a GPU, such as "
		"\"a100-40g\"; without one all keys are needed, and gpu.memory is missing");
	/* An empty name is none. */
	assert_failed(load_path("s.json", "gpu.profile=\"\"", NULL),
		      "s.json:duration: is missing, and so are gpu.profile, "
		      "containers.p.app.bytes");
}
END_TEST

START_TEST(misspelt_names_are_recognized)
{
	assert_bad_set("system.name=gosht",
		       "--set:system.name: \"gosht\" is not known, did you mean \"ghost\"?");
	assert_bad_set(
		"containers.vllm.app.type=llm-sever",
		"--set:containers.vllm.app.type: \"llm-sever\" is not known, did you mean "
		"\"llm-server\"?");
	assert_bad_set("gpu.profile=tyni",
		       "--set:gpu.profile: no profile \"tyni\", did you mean \"tiny\"?");
	assert_bad_set("gpu.profile=h200",
		       "--set:gpu.profile: no profile \"h200\", did you mean \"h200-141g\"?");
	/* "a100-80g" is one letter away, too. */
	assert_bad_set(
		"gpu.profile=H100-80G",
		"--set:gpu.profile: no profile \"H100-80G\", did you mean \"h100-80g\"?");
	assert_bad_set("containers.vllm.gpu=gpu1",
		       "--set:containers.vllm.gpu: no GPU \"gpu1\", did you mean \"gpu0\"?");
	assert_bad_event("{\"at\": \"1s\", \"container\": \"vlm\", \"file\": \"x\"}",
			 "s.json:events.0.container: no container \"vlm\", did you mean "
			 "\"vllm\"?");
	assert_bad_event("{\"at\": \"1s\", \"container\": \"vllm\", \"file\": "
			 "\"gmem.limit.hihg\"}",
			 "s.json:events.0.file: no control file \"gmem.limit.hihg\", did you "
			 "mean \"gmem.limit.high\"?");
	assert_failed(load_path("saturatoin", NULL, NULL),
		      "saturatoin: no such scenario, did you mean \"saturation\"?");
}
END_TEST

START_TEST(container_names_are_checked)
{
	static const char allowed[] =
		"allowed: 1 to 63 lower-case letters, digits, \"_\" and \"-\"";
	char message[256];

	snprintf(message, sizeof(message),
		 "s.json:containers: \"vLLM\" is not a valid container name, %s", allowed);
	assert_bad("\"vllm\"", "\"vLLM\"", message);
	assert_bad("\"vllm\"", "\"v.llm\"",
		   "s.json:containers.v.llm: unknown key, allowed: enabled, start, *, app, "
		   "*gmem.limit.high, *compute.priority*");
}
END_TEST

START_TEST(gpus_are_checked)
{
	assert_bad_set("gpus=1",
		       "--set:gpus: is not an object, allowed: an object of GPUs by name");
	assert_bad_set(
		"gpus.Big.profile=tiny",
		"--set:gpus: \"Big\" is not a valid GPU name, allowed: 1 to 63 lower-case "
		"letters, digits, \"_\" and \"-\"");
	assert_bad_set("gpus.big.memroy=1G", "--set:gpus.big.memroy: unknown key, did you mean "
					     "\"gpus.big.memory\"?");
	assert_bad_set(
		"gpus.big.memory=1G",
		"--set:gpus.big.profile: is missing, allowed: the name of a GPU, such as "
		"\"a100-40g\"; without one all keys are needed, and "
		"gpus.big.memory_total is missing");
	assert_bad_set("gpus.big={\"profile\": \"tiny\", \"memory\": \"1G\"}",
		       "--set:gpus.big.memory: 1073741824 is too much, allowed: at most "
		       "gpus.big.memory_total, 35651584");
	assert_bad_set("gpus.gpu0.profile=tiny",
		       "s.json:gpus.gpu0: is the GPU of \"gpu\", allowed: another name");
	assert_bad_set("containers.vllm.gpu=big",
		       "--set:containers.vllm.gpu: no GPU \"big\", allowed: \"gpu0\"");
}
END_TEST

START_TEST(relations_are_checked)
{
	assert_bad_set("gpu.memory=1G", "--set:gpu.memory: 1073741824 is too much, allowed: at "
					"most gpu.memory_total, 35651584");
	assert_bad_set(
		"gpu.link.bandwidth_both=1e9",
		"--set:gpu.link.bandwidth_both: 1000000000 is too little, allowed: at least "
		"gpu.link.bandwidth, 16000000000");
	assert_bad_set("gpu.flops_bf16_mma=313e12",
		       "--set:gpu.flops_bf16_mma: 313000000000000 is too much, allowed: at "
		       "most gpu.flops_bf16, 312000000000000");
	assert_bad_set("gpu.kernel_gap=3001ns",
		       "--set:gpu.kernel_gap: 3001 ns is too much, allowed: at most "
		       "gpu.kernel_overhead, 3000 ns");
	assert_bad_set("gpu.graph_gap=4us",
		       "--set:gpu.graph_gap: 4000 ns is too much, allowed: at most "
		       "gpu.kernel_overhead, 3000 ns");
	assert_bad_set(
		"containers.vllm.enabled=false",
		"s.json:containers: all are disabled, allowed: at least one enabled container");
	assert_bad_set("containers.vllm.app.max_sequences=4096",
		       "--set:containers.vllm.app.max_sequences: 4096 is too many, allowed: at "
		       "most max_batched_tokens, 2048");
}
END_TEST

START_TEST(overridden_mistakes_are_still_mistakes)
{
	write_file("s.json", replace(config_scenario, "\"10s\"", "10"));
	assert_failed(load_path("s.json", "duration=5s", NULL),
		      "s.json:duration: 10 has no unit, " DURATION_ALLOWED("1ns to 2678400s"));
}
END_TEST

START_TEST(messages_are_one_line)
{
	assert_bad("\"small\"", "\"a\\nb\"",
		   "s.json:name: \"a\\nb\" is not a name, " NAME_ALLOWED);
	assert_bad("\"name\"", "\"na\\nme\"",
		   "s.json:na?me: unknown key, did you mean \"name\"?");
}
END_TEST

START_TEST(a_timeline_is_sampled_every_millisecond_at_most)
{
	assert_bad_set("output.timeline_interval=999us",
		       "--set:output.timeline_interval: is too short, allowed: 0s, or 1ms to "
		       "3600s");
	load("output.timeline_interval=1ms", NULL);
	ck_assert_uint_eq(config.timeline_interval, 1000000);
}
END_TEST

/* A week has as many samples as an hour. */
START_TEST(a_long_run_is_sampled_less_often)
{
	load("duration=3600s", NULL);
	ck_assert_uint_eq(config.timeline_interval, 100000000);
	load("duration=168h", NULL);
	ck_assert_uint_eq(config.timeline_interval, 16800000000);
	load("duration=168h", "output.timeline_interval=100ms");
	ck_assert_uint_eq(config.timeline_interval, 100000000);
}
END_TEST

START_TEST(a_missing_trace_says_where_it_was_sought)
{
	char message[256];

	snprintf(message, sizeof(message),
		 "s.json:containers.vllm.app.trace.file: no file \"none.csv\", allowed: one in "
		 "%s",
		 folder);
	write_file("s.json", replace(config_scenario, "head.trace", "none.csv"));
	ck_assert_int_eq(load_path("s.json", NULL, NULL), -SIM_EXIT_USER);
	ck_assert_msg(!strncmp(error.text, message, strlen(message)), "%s", error.text);
	ck_assert_ptr_nonnull(strstr(error.text, "/traces"));
}
END_TEST

START_TEST(bad_events_are_named)
{
	assert_bad_event(
		"{\"at\": \"11s\", \"container\": \"vllm\", \"file\": \"compute.freeze\", "
		"\"value\": 1}",
		"s.json:events.0.at: 11s is after the end, allowed: at most duration, 10s");
	assert_bad_event("{\"at\": \"1s\", \"container\": \"x\", \"file\": \"compute.freeze\", "
			 "\"value\": 1}",
			 "s.json:events.0.container: no container \"x\", allowed: \"vllm\"");
	assert_bad_event(
		"{\"at\": \"1s\", \"container\": \"vllm\", \"file\": \"gmem.current\", "
		"\"value\": 1}",
		"s.json:events.0.file: no control file \"gmem.current\", allowed: "
		"\"gmem.limit.high\", \"gmem.limit.low\", \"hmem.limit\", "
		"\"compute.timeslice\", \"compute.priority\", \"compute.weight\", "
		"\"compute.freeze\"");
	assert_bad_event(
		"{\"at\": \"1s\", \"container\": \"vllm\", \"file\": \"compute.freeze\", "
		"\"value\": 2}",
		"s.json:events.0.value: \"2\" is out of range, allowed: an integer from 0 "
		"to 1");
	assert_bad_event(
		"{\"at\": \"1s\", \"container\": \"vllm\", \"file\": \"compute.freeze\"}",
		"s.json:events.0.value: is missing, allowed: a number or a text of 1 to 63 "
		"bytes");
	assert_bad_event(
		"5", "s.json:events.0: is not an object, allowed: an object with at, "
		     "container, file, value, touch, exit, load, sleep, wake, stop, restart");
	assert_bad_event("{\"at\": \"1s\", \"container\": \"vllm\", \"value\": 1}",
			 "s.json:events.0.file: is missing, allowed: 1 to 63 letters, digits, "
			 "\"_\", \"-\" and \".\" (not first)");
	assert_bad_event(
		"{\"at\": \"1s\", \"container\": \"vllm\", \"load\": 0}",
		"s.json:events.0.file: is missing, and nothing else says what happens, "
		"allowed: file and value, or touch, exit, a load or sleep above 0, "
		"wake, stop or restart");
	assert_bad_event("{\"at\": \"1s\", \"container\": \"vllm\", \"touch\": 3}",
			 "s.json:events.0.touch: its container listens to load, sleep and wake "
			 "only, allowed: a "
			 "container with app.type \"pages\" and app.pattern \"events\"");
	assert_bad_event("{\"at\": \"1s\", \"container\": \"vllm\", \"sleep\": 3}",
			 "s.json:events.0.sleep: 3 is out of range, allowed: an integer from "
			 "0 to 2");
	assert_bad_event("{\"at\": \"1s\", \"container\": \"vllm\", \"sleep\": 1, "
			 "\"wake\": true}",
			 "s.json:events.0.sleep: does not stand alone, allowed: file and "
			 "value, or touch, exit, load, sleep, wake, stop or restart");
	assert_bad_event("{\"at\": \"1s\", \"container\": \"vllm\", \"exit\": true, "
			 "\"touch\": \"3\"}",
			 "s.json:events.0.touch: does not stand alone, allowed: file and "
			 "value, or touch, exit, load, sleep, wake, stop or restart");
	assert_bad_event("{\"at\": \"1s\", \"container\": \"vllm\", \"stop\": true, "
			 "\"restart\": true}",
			 "s.json:events.0.stop: does not stand alone, allowed: file and "
			 "value, or touch, exit, load, sleep, wake, stop or restart");
}
END_TEST

#define PAGES_SET                                                                       \
	"containers.p={\"app\": {\"type\": \"pages\", \"bytes\": \"5M\", \"pattern\": " \
	"\"events\"}}"

/* The region has three blocks. The last one is half a block. */
START_TEST(bad_touches_are_named)
{
	static const char *const bad[] = {
		"3",   "0-3", "4294967296", "-1", "1-",
		"0-x", "1 ",  "0-1-2",	    "+1", "99999999999999999999"
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char set[200], message[300];

		snprintf(set, sizeof(set),
			 "events=[{\"at\": \"1s\", \"container\": \"p\", \"touch\": \"%s\"}]",
			 bad[i]);
		snprintf(message, sizeof(message),
			 "--set:events.0.touch: \"%s\" is no block of its region, nor a run of "
			 "them, allowed: \"0\" to \"2\", or such as \"0-2\"",
			 bad[i]);
		write_file("s.json", config_scenario);
		ck_assert_int_eq(load_path("s.json", PAGES_SET, set), -SIM_EXIT_USER);
		ck_assert_str_eq(error.text, message);
	}
}
END_TEST

START_TEST(a_page_player_does_not_sleep)
{
	write_file("s.json", config_scenario);
	ck_assert_int_eq(load_path("s.json", PAGES_SET,
				   "events=[{\"at\": \"1s\", \"container\": \"p\", "
				   "\"wake\": true}]"),
			 -SIM_EXIT_USER);
	ck_assert_str_eq(error.text,
			 "--set:events.0.wake: its container has no requests, allowed: a "
			 "container with app.type \"llm-server\"");
}
END_TEST

START_TEST(events_without_any_key_are_not_lost)
{
	assert_bad_set("events=[{}]",
		       "--set:events.0.at: is missing, and so are events.0.container");
	assert_bad_event("{}", "s.json:events.0.at: is missing, and so are events.0.container");
	assert_bad_event("{\"at\": \"1s\", \"container\": \"vllm\", \"file\": "
			 "\"compute.freeze\", \"value\": 1}, {}",
			 "s.json:events.1.at: is missing, and so are events.1.container");
	write_file("s.json", replace(config_scenario, "[]", "[{}]"));
	load("events=[]", NULL);
	ck_assert_uint_eq(config.event_count, 0);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, set_mistakes_are_named);
	tcase_add_test(tests, unused_keys_are_checked);
	tcase_add_test(tests, keys_given_twice_in_one_set_are_named);
	tcase_add_test(tests, what_cannot_be_typed_is_not_suggested);
	tcase_add_test(tests, keys_of_another_application_are_named);
	tcase_add_test(tests, unreadable_files_are_named);
	tcase_add_test(tests, unknown_keys_are_named);
	tcase_add_test(tests, keys_of_earlier_versions_are_named_with_the_new_ones);
	tcase_add_test(tests, wrong_types_are_named);
	tcase_add_test(tests, bad_suffixes_are_named);
	tcase_add_test(tests, ranges_are_kept);
	tcase_add_test(tests, missing_keys_are_named);
	tcase_add_test(tests, misspelt_names_are_recognized);
	tcase_add_test(tests, missing_keys_of_a_file_are_named_together);
	tcase_add_test(tests, a_missing_profile_of_the_gpu_hides_no_other_missing_key);
	tcase_add_test(tests, container_names_are_checked);
	tcase_add_test(tests, gpus_are_checked);
	tcase_add_test(tests, relations_are_checked);
	tcase_add_test(tests, overridden_mistakes_are_still_mistakes);
	tcase_add_test(tests, messages_are_one_line);
	tcase_add_test(tests, a_timeline_is_sampled_every_millisecond_at_most);
	tcase_add_test(tests, a_long_run_is_sampled_less_often);
	tcase_add_test(tests, a_missing_trace_says_where_it_was_sought);
	tcase_add_test(tests, bad_events_are_named);
	tcase_add_test(tests, bad_touches_are_named);
	tcase_add_test(tests, a_page_player_does_not_sleep);
	tcase_add_test(tests, events_without_any_key_are_not_lost);
}

int main(void)
{
	return suite_run("config_mistakes", fixture_setup, fixture_teardown, add_tests);
}
