// SPDX-License-Identifier: MIT OR GPL-2.0
/* Applications that are declared by tensors and phases. */
#include <stdio.h>
#include <string.h>

#include "apps/phases.h"
#include "apps_fixture.h"
#include "suite.h"

static struct cfg_phases phases;
static struct trace_request rows[4];
static struct trace trace = { .requests = rows };

static void init_phases(const char *tensors, const char *list)
{
	init_machine(&phases_app, &phases);
	phases = (struct cfg_phases){
		.efficiency = CFG_PPM / 2,
		.memory_efficiency = CFG_PPM,
		.overlap = true,
		.trace.divide = CFG_PPM,
	};
	snprintf(phases.tensors, sizeof(phases.tensors), "%s", tensors);
	snprintf(phases.phases, sizeof(phases.phases), "%s", list);
}

static void add_row(u64 at_ns, u32 prompt, u32 response)
{
	rows[trace.count++] =
		(struct trace_request){ .arrival_ns = at_ns,
					.prompt_tokens = prompt,
					.response_tokens = { response, response } };
	prepared = &trace;
}

/* Two times 10 kernels of 100 (traffic is less), then 500 of host work at half: 2250 each. */
START_TEST(an_iteration_goes_through_its_phases)
{
	init_phases("{}",
		    "[{\"name\": \"a\", \"repeat\": 2, \"phases\": ["
		    "{\"name\": \"b\", \"kernels\": 10, \"flops\": 1000, \"traffic\": 900}]},"
		    "{\"name\": \"c\", \"host\": \"500ns\"}]");
	interrupt_ns = 5000;
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_log.record_count, 3);
	expect_record(0, APP_COMPLETED, 0, 0, 2250);
	expect_record(1, APP_COMPLETED, 2250, 0, 2250);
	expect_record(2, APP_DROPPED, 4500, 0, 0);
}
END_TEST

/*
 * Without overlap 1000 + 900; a launch of 300 at half for each of 10 kernels: the last at 1500.
 */
START_TEST(times_add_up_and_launches_take_the_host)
{
	init_phases("{}",
		    "[{\"name\": \"b\", \"kernels\": 10, \"flops\": 1000, \"traffic\": 900}]");
	phases.overlap = false;
	phases.kernel_launch = 300;
	interrupt_ns = 3000;
	simulate();
	/* 10 kernels of 190, the first at 150. */
	expect_record(0, APP_COMPLETED, 0, 0, 2050);
}
END_TEST

/*
 * Each iteration draws 2 or 3 times its host times: 500 of work at half are 500 or 750, and 10
 * launches of 300 at half are 3000 or 4500, which is longer than the kernels. Both are drawn.
 */
START_TEST(an_iteration_draws_how_long_its_host_takes)
{
	u64 short_count = 0, long_count = 0;

	init_phases("{}", "[{\"name\": \"a\", \"host\": \"500ns\"},"
			  "{\"name\": \"b\", \"kernels\": 10, \"flops\": 1000}]");
	phases.kernel_launch = 300;
	snprintf(phases.host_times, sizeof(phases.host_times), "[2, 3]");
	interrupt_ns = 400000;
	simulate();
	ck_assert_int_eq(app_status, 0);
	for (size_t i = 0; i + 1 < app_log.record_count; i++) {
		const struct app_record *record = &app_log.records[i];
		u64 took_ns = record->finish_ns - record->arrival_ns;

		short_count += took_ns == 2 * 1750 + 100;
		long_count += took_ns == 3 * 1750 + 100;
	}
	ck_assert_uint_eq(short_count + long_count, app_log.record_count - 1);
	ck_assert_uint_gt(short_count, 20);
	ck_assert_uint_gt(long_count, 20);
}
END_TEST

/* A graph has one launch of 300 at half, which is 15 a kernel. */
START_TEST(a_graph_is_launched_once)
{
	init_phases("{}",
		    "[{\"name\": \"b\", \"kernels\": 10, \"flops\": 1000, \"graph\": true}]");
	phases.kernel_launch = 300;
	interrupt_ns = 1100;
	simulate();
	expect_record(0, APP_COMPLETED, 0, 0, 1015);
}
END_TEST

/* A phase's own launches of 300 at half are longer than its kernels. */
START_TEST(a_phase_has_launches_of_its_own)
{
	init_phases("{}", "[{\"name\": \"b\", \"kernels\": 10, \"flops\": 1000,"
			  "\"launch\": \"300ns\"}]");
	phases.kernel_launch = 1;
	interrupt_ns = 3000;
	simulate();
	/* 10 kernels of 100, the last at 1500. */
	expect_record(0, APP_COMPLETED, 0, 0, 1600);
}
END_TEST

/*
 * 6 cycles of 3 SMs at 1 MHz are 2000 ns, beside 1000 of arithmetic. An overhead of its own of 7
 * replaces the GPU's.
 */
START_TEST(cycles_and_overhead_of_a_phase_add_to_its_work)
{
	init_phases("{}", "[{\"name\": \"b\", \"kernels\": 10, \"flops\": 1000,"
			  "\"cycles\": 6, \"kernel_overhead\": \"7ns\"}]");
	config.gpu.sms = 3;
	config.gpu.clock = 1000000;
	config.gpu.kernel_overhead = 1000;
	interrupt_ns = 4000;
	simulate();
	expect_record(0, APP_COMPLETED, 0, 0, 3070);
}
END_TEST

/* The first iteration does "once" as well. */
START_TEST(once_is_in_the_first_iteration)
{
	init_phases("{}", "[{\"name\": \"load\", \"once\": true, \"host\": \"4us\"},"
			  "{\"name\": \"b\", \"kernels\": 1, \"flops\": 1000}]");
	interrupt_ns = 4500;
	simulate();
	expect_record(0, APP_COMPLETED, 0, 0, 3000);
	expect_record(1, APP_COMPLETED, 3000, 0, 1000);
}
END_TEST

/*
 * Two samples a repetition, the trace begins again: (3 + 1, 5 + 2) and (7 + 3, 3 + 1). Padded 2
 * * 7 and 2 * 10, prompts 8 and 10, responses 3 and 4.
 */
START_TEST(phases_count_the_tokens_of_their_samples)
{
	init_phases("{}",
		    "[{\"name\": \"a\", \"repeat\": 2, \"samples\": 2, \"phases\": ["
		    "{\"name\": \"b\", \"kernels\": 1, \"flops_per_token\": 100, \"tokens\": "
		    "\"padded\"},"
		    "{\"name\": \"c\", \"kernels\": 1, \"flops_per_token\": 1000, \"tokens\": "
		    "\"prompt\"},"
		    "{\"name\": \"d\", \"repeat\": \"response\", \"kernels\": 1, \"flops\": "
		    "10000}]}]");
	add_row(0, 3, 1);
	add_row(0, 5, 2);
	add_row(0, 7, 3);
	interrupt_ns = 93000;
	simulate();
	expect_record(0, APP_COMPLETED, 0, 0, 3400 + 18000 + 70000);
}
END_TEST

/* Requests come at 0, 100 and 5000 and take 1000 each; the last is in the queue at the end. */
START_TEST(an_open_loop_follows_the_dates_of_the_trace)
{
	init_phases("{}", "[{\"name\": \"b\", \"kernels\": 1, \"flops_per_token\": 100}]");
	phases.open_loop = true;
	add_row(0, 9, 1);
	add_row(100, 9, 1);
	add_row(5000, 99, 1);
	add_row(6000, 9, 1);
	interrupt_ns = 7000;
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_log.record_count, 4);
	expect_record(0, APP_COMPLETED, 0, 0, 1000);
	expect_record(1, APP_COMPLETED, 100, 0, 1900);
	expect_record(2, APP_DROPPED, 5000, 0, 0);
	expect_record(3, APP_DROPPED, 6000, 0, 0);
}
END_TEST

/* It has booted at 6000. The run ends at 3000, before most of the requests come. */
START_TEST(a_run_that_ends_during_a_boot_has_no_later_requests)
{
	init_phases("{}", "[{\"name\": \"b\", \"kernels\": 1, \"flops_per_token\": 100}]");
	phases.open_loop = true;
	reopen_ns = 6000;
	for (u64 date = 0; date < 10000; date += 2500)
		add_row(date, 9, 1);
	interrupt_ns = 3000;
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_end_ns, 3000);
	ck_assert_uint_eq(app_log.record_count, 2);
	for (size_t i = 0; i < app_log.record_count; i++) {
		ck_assert_int_eq(app_log.records[i].outcome, APP_FAILED);
		ck_assert_int_eq(app_log.records[i].reason, APP_STOPPED);
		ck_assert_uint_eq(app_log.records[i].arrival_ns, 2500 * i);
		ck_assert_uint_eq(app_log.records[i].finish_ns, 2500 * i);
	}
}
END_TEST

/* Three chunks of a tensor of 8: its beginning, and one more chunk a token for two tokens. */
START_TEST(a_phase_touches_the_beginning_of_a_tensor)
{
	char list[512];

	snprintf(list, sizeof(list),
		 "[{\"name\": \"b\", \"samples\": 1, \"kernels\": 1, \"flops\": 1000000, "
		 "\"writes\": [{\"tensor\": \"t\", \"bytes\": %llu, \"bytes_per_token\": "
		 "%llu}]}]",
		 CHUNK, CHUNK);
	init_phases("{\"t\": {\"bytes\": \"16M\"}}", list);
	add_row(0, 1, 1);
	interrupt_ns = 500000;
	simulate();
	ck_assert_uint_eq(blocks_at_end, 7);
}
END_TEST

/* Chunks that are brought in for an iteration, as a mean of thousands. */
static u64 misses_an_iteration(const char *layers)
{
	char list[512];

	snprintf(list, sizeof(list),
		 "[{\"name\": \"b\", \"kernels\": 10, \"flops\": 1000, %s"
		 "\"reads\": [\"w\"], "
		 "\"writes\": [{\"tensor\": \"a\", \"every_layer\": true}]}]",
		 layers);
	init_phases("{\"w\": {\"bytes\": \"8M\", \"on_host\": true}, "
		    "\"a\": {\"bytes\": \"2M\", \"on_host\": true}}",
		    list);
	limit_bytes = 2 * CHUNK;
	interrupt_ns = 20 * MS;
	simulate();
	ck_assert_uint_gt(app_log.record_count, 2000);
	return (process.stats.block.pages_copied_in / 32 + app_log.record_count / 2) /
	       app_log.record_count;
}

/*
 * Weights of 4 chunks and activations A of one, of which 2 chunks fit, and the oldest one goes.
 * Four layers: 0 A 1 A 2 A 3 A. A is there after 1 and after 3, so there are 6 misses.
 */
START_TEST(layers_have_parts_and_share_what_is_of_every_layer)
{
	ck_assert_uint_eq(misses_an_iteration("\"layers\": 4, "), 6);
}
END_TEST

/* The same without layers: 0 1 2 3 A, which are 5 misses. */
START_TEST(without_layers_a_tensor_is_touched_once)
{
	ck_assert_uint_eq(misses_an_iteration(""), 5);
}
END_TEST

/* What an iteration leaves in a tensor of its life is given back, and cleared memory again. */
START_TEST(memory_of_an_iteration_goes_back)
{
	init_phases(
		"{\"t\": {\"bytes\": \"4M\", \"life\": \"iteration\"}, \"u\": {\"bytes\": "
		"\"2M\"}}",
		"[{\"name\": \"b\", \"kernels\": 1, \"flops\": 1000000, \"writes\": [\"t\", "
		"\"u\"]},"
		"{\"name\": \"c\", \"host\": \"1ms\"}]");
	interrupt_ns = 2 * MS;
	simulate();
	ck_assert_uint_eq(app_log.records[0].outcome, APP_COMPLETED);
	ck_assert_uint_eq(process.stats.block.pages_cleared, (2 * 2 + 1) * 32);
	ck_assert_uint_eq(process.stats.bytes_d2h, 0);
}
END_TEST

/*
 * Told at 0.5 ms that memory is wanted: the second iteration gives back all of t and needs half
 * of it, in two kernels instead of one. The third is as the first.
 */
START_TEST(an_iteration_after_pressure_is_a_small_one)
{
	init_phases(
		"{\"t\": {\"bytes\": \"8M\", \"life\": \"recomputed\"}}",
		"[{\"name\": \"b\", \"kernels\": 1, \"flops\": 1000000, \"writes\": [\"t\"], "
		"\"small\": {\"repeat\": 2, \"flops\": 600000, \"writes\": [{\"tensor\": "
		"\"t\", "
		"\"bytes\": \"4M\"}]}}]");
	listens = true;
	post_ns = MS / 2;
	post_bytes = CHUNK;
	interrupt_ns = 2 * MS;
	simulate();
	ck_assert_uint_ge(app_log.record_count, 2);
	ck_assert_uint_eq(blocks_at_end, 3);
	ck_assert_uint_eq(process.stats.block.pages_cleared, (4 + 2) * 32);
	ck_assert_uint_eq(process.stats.bytes_d2h, 0);
}
END_TEST

static const char *const idle[] = {
	"[{\"name\": \"b\", \"repeat\": 0, \"kernels\": 1}]",
	"[{\"name\": \"b\", \"once\": true, \"kernels\": 1}]",
	("[{\"name\": \"a\", \"repeat\": 1000000000, \"phases\": ["
	 "{\"name\": \"b\", \"repeat\": 0, \"kernels\": 1}]}]"),
};

START_TEST(iterations_that_take_no_time_end_it)
{
	init_phases("{}", idle[_i]);
	simulate();
	ck_assert_int_eq(app_status, -ELOOP);
	ck_assert_uint_le(app_log.record_count, 2);
}
END_TEST

/*
 * A billion launches of 1000 each, of which a run of 3 ms needs 3000. With more ahead than the
 * channel holds, they would not fit into memory.
 */
START_TEST(a_channel_bounds_what_is_launched_ahead)
{
	init_phases("{}", "[{\"name\": \"b\", \"repeat\": 1000000000, \"kernels\": 1, "
			  "\"flops\": 1000}]");
	interrupt_ns = 3 * MS;
	simulate();
	ck_assert_int_eq(app_status, 0);
	ck_assert_uint_eq(app_end_ns, 3 * MS);
}
END_TEST

/* The GPU never waits for the host: 3000 launches of 1000 follow one another. */
START_TEST(a_full_channel_costs_no_time)
{
	init_phases("{}", "[{\"name\": \"b\", \"repeat\": 3000, \"kernels\": 1, "
			  "\"flops\": 1000}]");
	phases.kernel_launch = 300;
	interrupt_ns = 4 * MS;
	simulate();
	expect_record(0, APP_COMPLETED, 0, 0, 150 + 3000 * 1000);
}
END_TEST

START_TEST(a_dead_context_ends_it)
{
	init_phases("{}", "[{\"name\": \"b\", \"kernels\": 1, \"flops\": 1000}]");
	kill_ns = 1500;
	simulate();
	ck_assert_int_eq(app_status, -EIO);
	ck_assert_uint_eq(app_log.record_count, 2);
	ck_assert_int_eq(app_log.records[1].outcome, APP_FAILED);
}
END_TEST

#define PHASE "\"name\": \"b\", \"kernels\": 1"

static const struct {
	const char *tensors;
	const char *phases;
	const char *wrong;
} mistakes[] = {
	{ "[]", "[]", "is a list, allowed: an object of tensors" },
	{ "{\"w\": 3}", "[]", "w: is not an object, allowed: an object of fields" },
	{ "{\"w\": {}}", "[]", "w: has no bytes, allowed: a tensor with a size" },
	{ "{\"w\": {\"byts\": 3}}", "[]", "w: no field \"byts\", did you mean \"bytes\"?" },
	{ "{\"w\": {\"bytes\": \"6 s\"}}", "[]",
	  "w.bytes: \"6 s\" has an unknown suffix (there are K, M, G, T, KiB, MiB, GiB, TiB, "
	  "KB, MB, GB, TB), allowed: a size from 1 to 16384G such as "
	  "6000000000, \"6e9\" or \"1.5G\"" },
	{ "{}", "[]", "is no list of phases, allowed: at least one" },
	{ "{}", "[{}]", "0: has no name, allowed: \"name\", 1 to 63 bytes" },
	{ "{}", "[{" PHASE ", \"flop\": 3}]", "b: no field \"flop\", did you mean \"flops\"?" },
	{ "{}", "[{" PHASE ", \"reads\": \"w\"}]",
	  "b.reads: is not a list, allowed: a list of tensors" },
	{ "{\"w\": {\"bytes\": 1}}", "[{" PHASE ", \"reads\": [\"v\"]}]",
	  "b.reads: no tensor \"v\", allowed: w" },
	{ "{}", "[{" PHASE ", \"once\": 1}]",
	  "b: \"once\" is no truth value, allowed: true or false" },
	{ "{}", "[{\"name\": \"b\", \"flops\": 3}]",
	  "b: does nothing, allowed: a phase with kernels or host" },
	{ "{}", "[{" PHASE ", \"small\": {\"name\": \"c\"}}]",
	  "b: no field \"name\", allowed: repeat, reads, *kernels, *flops, *traffic, *" },
	{ "{}", "[{" PHASE ", \"small\": {\"once\": true}}]",
	  "b: no field \"once\", allowed: repeat, reads, *kernels, *flops, *traffic, *" },
	{ "{\"w\": {\"bytes\": 1}}",
	  "[{" PHASE ", \"layers\": 64, \"reads\": [\"w\", \"w\", \"w\", \"w\", \"w\"]}]",
	  "b: touches 5 tensors in each of 64 layers, allowed: up to 256 in all" },
	{ "{}", "[{\"name\": \"a\", \"small\": {\"phases\": []}, \"phases\": [{" PHASE "}]}]",
	  "a: no field \"phases\", allowed: repeat, samples" },
	{ "{}", "[{\"name\": \"a\", \"x\": 1, \"phases\": [{" PHASE "}]}]",
	  "a: no field \"x\", allowed: name, *phases, *repeat*" },
	{ "{}", "[{\"name\": \"a\", \"phases\": [{" PHASE ", \"small\": {\"host\": 3}}]}]",
	  "b.host: 3 has no unit, allowed: a duration from 0s to 3600s such as \"640s\", "
	  "\"24.6ms\" or \"5us\"" },
};

static const struct {
	const char *host_times, *wrong;
} wrong_times[] = {
	{ "{}", "is no list, allowed: a list of numbers" },
	{ "[1, 0]", "number 2: 0 is out of range, allowed: a number from 0.000001 to 1000*" },
	{ "[\"x\"]",
	  "number 1: \"x\" is not a number, allowed: a number from 0.000001 to 1000*" },
	{ "[1001]", "number 1: 1001 is out of range, *" },
};

START_TEST(a_wrong_host_time_is_named)
{
	char wrong[PHASES_WRONG_MAX] = "";
	const char *key = NULL;

	init_phases("{}", "[{" PHASE "}]");
	snprintf(phases.host_times, sizeof(phases.host_times), "%s",
		 wrong_times[_i].host_times);
	ck_assert_ptr_null(phases_program_read(&phases, &key, wrong));
	ck_assert_str_eq(key, "host_times");
	ck_assert_msg(suite_is_like(wrong, wrong_times[_i].wrong), "%s", wrong);
}
END_TEST

START_TEST(more_host_times_than_there_is_room_for_are_refused)
{
	char wrong[PHASES_WRONG_MAX] = "";
	const char *key = NULL;

	init_phases("{}", "[{" PHASE "}]");
	phases.host_times[0] = '[';
	for (u32 i = 0; i <= PHASES_HOST_TIMES_MAX; i++)
		memcpy(&phases.host_times[1 + 2 * i], "1,", 2);
	memcpy(&phases.host_times[2 * (PHASES_HOST_TIMES_MAX + 1)], "]", 2);
	ck_assert_ptr_null(phases_program_read(&phases, &key, wrong));
	ck_assert_str_eq(key, "host_times");
	ck_assert_str_eq(wrong, "has 101 numbers, allowed: up to 100");
}
END_TEST

START_TEST(a_mistake_is_named)
{
	struct phases_program *program;
	char wrong[PHASES_WRONG_MAX] = "";
	const char *key;

	init_phases(mistakes[_i].tensors, mistakes[_i].phases);
	program = phases_program_read(&phases, &key, wrong);
	ck_assert_ptr_null(program);
	ck_assert_ptr_nonnull(key);
	ck_assert_msg(suite_is_like(wrong, mistakes[_i].wrong), "%s", wrong);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, an_iteration_goes_through_its_phases);
	tcase_add_test(tests, times_add_up_and_launches_take_the_host);
	tcase_add_test(tests, an_iteration_draws_how_long_its_host_takes);
	tcase_add_test(tests, a_graph_is_launched_once);
	tcase_add_test(tests, a_phase_has_launches_of_its_own);
	tcase_add_test(tests, cycles_and_overhead_of_a_phase_add_to_its_work);
	tcase_add_test(tests, once_is_in_the_first_iteration);
	tcase_add_test(tests, phases_count_the_tokens_of_their_samples);
	tcase_add_test(tests, an_open_loop_follows_the_dates_of_the_trace);
	tcase_add_test(tests, a_run_that_ends_during_a_boot_has_no_later_requests);
	tcase_add_test(tests, a_phase_touches_the_beginning_of_a_tensor);
	tcase_add_test(tests, layers_have_parts_and_share_what_is_of_every_layer);
	tcase_add_test(tests, without_layers_a_tensor_is_touched_once);
	tcase_add_test(tests, memory_of_an_iteration_goes_back);
	tcase_add_test(tests, an_iteration_after_pressure_is_a_small_one);
	tcase_add_loop_test(tests, iterations_that_take_no_time_end_it, 0,
			    (int)ARRAY_SIZE(idle));
	tcase_add_test(tests, a_channel_bounds_what_is_launched_ahead);
	tcase_add_test(tests, a_full_channel_costs_no_time);
	tcase_add_test(tests, a_dead_context_ends_it);
	tcase_add_loop_test(tests, a_wrong_host_time_is_named, 0, (int)ARRAY_SIZE(wrong_times));
	tcase_add_test(tests, more_host_times_than_there_is_room_for_are_refused);
	tcase_add_loop_test(tests, a_mistake_is_named, 0, (int)ARRAY_SIZE(mistakes));
}

int main(void)
{
	return suite_run("phases", NULL, NULL, add_tests);
}
