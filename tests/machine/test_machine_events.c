// SPDX-License-Identifier: MIT OR GPL-2.0
/* Events of a scenario: control files in time, and containers that stop and restart. */
#include "machine_fixture.h"

/* The last interval ends with the run, at half of its length. */
START_TEST(controls_are_recorded_up_to_the_end_of_the_run)
{
	struct cfg_event writes[] = {
		{ .at = 1500 * MS,
		  .container = "one",
		  .file = "gmem.limit.high",
		  .value = "8388608" },
		{ .at = 2200 * MS,
		  .container = "one",
		  .file = "gmem.limit.high",
		  .value = "16777216" },
	};
	struct config config = toy_config("ghost");
	struct sim_error err = { 0 };
	struct machine machine;
	const struct record_control *last = NULL;

	config.duration = 2500 * MS;
	config.record_controls = true;
	config.events = writes;
	config.event_count = ARRAY_SIZE(writes);
	ck_assert_int_eq(run_toy(&machine, &config, touch_four_chunks, &err), 0);
	for (size_t i = 0; i < machine.record.control_count; i++) {
		const struct record_control *row = &machine.record.controls[i];

		ck_assert_uint_le(row->time_ns, config.duration);
		if (!strcmp(row->file, "gmem.limit.high"))
			last = row;
	}
	ck_assert_ptr_nonnull(last);
	ck_assert_str_eq(last->text, "16777216");
	ck_assert_uint_eq(last->time_ns, config.duration);
	machine_destroy(&machine);
}
END_TEST

START_TEST(events_of_a_container_that_does_not_run_are_missed)
{
	struct cfg_event told[] = {
		{ .at = 1000 * MS, .container = "one", .touch = "0-7" },
		{ .at = 6000 * MS, .container = "late", .touch = "3" },
		{ .at = 7000 * MS, .container = "late", .touch = "4" },
		{ .at = 8000 * MS, .container = "off", .touch = "5" },
		{ .at = 9000 * MS, .container = "off", .exit = true },
	};
	const bool missed[] = { false, true, false, true, true };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.events = told;
	config.event_count = ARRAY_SIZE(told);
	ck_assert_int_eq(run_toy(&machine, &config, touch_four_chunks, &err), 0);
	ck_assert_mem_eq(machine.missed, missed, sizeof(missed));
	machine_destroy(&machine);
}
END_TEST

/* It exits at 3 s: its timer is set before that of the events. */
static int exit_at_its_event(const struct app_env *env)
{
	eng_sleep_until(3000 * MS);
	cuda_process_exit(env->cuda);
	return 0;
}

START_TEST(an_event_that_an_application_follows_first_is_not_missed)
{
	struct cfg_event told[] = {
		{ .at = 1000 * MS, .container = "off", .exit = true },
		{ .at = 3000 * MS, .container = "one", .exit = true },
		{ .at = 4000 * MS, .container = "one", .exit = true },
	};
	const bool missed[] = { true, false, true };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.events = told;
	config.event_count = ARRAY_SIZE(told);
	ck_assert_int_eq(run_toy(&machine, &config, exit_at_its_event, &err), 0);
	ck_assert_mem_eq(machine.missed, missed, sizeof(missed));
	machine_destroy(&machine);
}
END_TEST

/* Each life of container "one" touches its four chunks again. Its second life is cut short. */
START_TEST(events_stop_and_restart_a_container)
{
	struct cfg_event lives[] = {
		{ .at = 1000 * MS, .container = "late", .stop = true },
		{ .at = 1500 * MS, .container = "one", .stop = true },
		{ .at = 2500 * MS, .container = "one", .stop = true },
		{ .at = 3500 * MS, .container = "one", .restart = true },
		{ .at = 4500 * MS, .container = "off", .restart = true },
		{ .at = 5500 * MS, .container = "one", .restart = true },
		{ .at = 8500 * MS, .container = "late", .stop = true },
	};
	const bool missed[] = { true, false, true, false, true, false, false };
	/* Chunks at each full second. */
	const u64 chunks[][2] = { { 4, 0 }, { 0, 0 }, { 0, 0 }, { 4, 0 }, { 4, 0 },
				  { 4, 0 }, { 4, 0 }, { 4, 4 }, { 4, 0 }, { 4, 0 } };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.events = lives;
	config.event_count = ARRAY_SIZE(lives);
	ck_assert_int_eq(run_toy(&machine, &config, touch_four_chunks, &err), 0);
	ck_assert_mem_eq(machine.missed, missed, sizeof(missed));
	ck_assert_uint_eq(machine.row_count, 2 * ARRAY_SIZE(chunks));
	for (size_t i = 0; i < machine.row_count; i++)
		ck_assert_uint_eq(machine.timeline[i].resident_bytes,
				  chunks[i / 2][i % 2] * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(machine.containers[0].stats.faults,
			  3 * machine.containers[1].stats.faults);
	ck_assert_uint_eq(machine.containers[0].usage.busy_ns,
			  3 * machine.containers[1].usage.busy_ns);
	ck_assert_uint_eq(machine.containers[0].gmem_current, 4 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(machine.containers[1].gmem_current, 0);
	ck_assert_uint_eq(machine.containers[1].gmem_peak, 4 * GVM_CHUNK_BYTES);
	check_usage(&machine, 0);
	check_usage(&machine, 1);
	machine_destroy(&machine);
}
END_TEST

static void stop_at_begin_and_end(bool record_controls)
{
	struct cfg_event stops[] = {
		{ .at = 0, .container = "one", .stop = true },
		{ .at = 10000 * MS, .container = "late", .stop = true },
	};
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.record_controls = record_controls;
	config.events = stops;
	config.event_count = ARRAY_SIZE(stops);
	ck_assert_int_eq(run_toy(&machine, &config, touch_four_chunks, &err), 0);
	ck_assert(!machine.missed[0]);
	ck_assert(machine.containers[0].stopped);
	ck_assert_uint_eq(machine.containers[0].gmem_current, 0);
	ck_assert(!machine.containers[1].stopped);
	ck_assert_uint_eq(machine.containers[1].gmem_current, 4 * GVM_CHUNK_BYTES);
	machine_destroy(&machine);
}

START_TEST(a_container_may_stop_when_the_run_begins_and_not_when_it_ends)
{
	stop_at_begin_and_end(false);
}
END_TEST

/* The recorder's last sample has the date of the second stop. */
START_TEST(a_container_does_not_stop_at_the_end_of_a_recorded_run)
{
	stop_at_begin_and_end(true);
}
END_TEST

static u64 late_ended_ns;

/* "one" takes 5 s to end, as under a long copy, which nothing interrupts. */
static int end_slowly(const struct app_env *env)
{
	struct eng_waitq nothing = { 0 };

	eng_sleep_until(ENG_NEVER);
	if (!strcmp(env->container->name, "late"))
		late_ended_ns = eng_now();
	else
		eng_wait(&nothing, eng_now() + 5000 * MS, false);
	return 0;
}

/* The stop at 8 s lasts until 13 s, and the run ends at 10 s for all. */
START_TEST(a_stop_does_not_prolong_the_run)
{
	struct cfg_event stop = { .at = 8000 * MS, .container = "one", .stop = true };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.events = &stop;
	config.event_count = 1;
	ck_assert_int_eq(run_toy(&machine, &config, end_slowly, &err), 0);
	ck_assert_uint_eq(machine.end_ns, 10000 * MS);
	ck_assert_uint_eq(machine.row_count, 2 * 10);
	ck_assert_uint_eq(late_ended_ns, 10000 * MS);
	ck_assert(machine.containers[0].stopped);
	ck_assert_uint_eq(machine.containers[0].stopped_ns, 10000 * MS);
	machine_destroy(&machine);
}
END_TEST

/* A context dies at 12 s, in what nothing interrupts. */
static int fail_late(const struct app_env *env)
{
	struct eng_waitq nothing = { 0 };

	eng_wait(&nothing, 12000 * MS, false);
	ck_assert_uint_eq(env->end_ns, 10000 * MS);
	return -EIO;
}

START_TEST(a_context_that_dies_behind_the_end_has_not_died)
{
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	ck_assert_int_eq(run_toy(&machine, &config, fail_late, &err), 0);
	ck_assert_uint_eq(machine.end_ns, 10000 * MS);
	ck_assert_int_eq(machine.containers[0].status, 0);
	ck_assert_uint_eq(machine.containers[0].failed_ns, 0);
	machine_destroy(&machine);
}
END_TEST

static int fail_at_once(const struct app_env *env)
{
	(void)env;
	return -EIO;
}

START_TEST(a_dead_container_is_not_stopped_but_restarts)
{
	struct cfg_event lives[] = {
		{ .at = 1000 * MS, .container = "one", .stop = true },
		{ .at = 2000 * MS, .container = "one", .restart = true },
		{ .at = 3000 * MS, .container = "one", .stop = true },
	};
	const bool missed[] = { true, false, true };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.events = lives;
	config.event_count = ARRAY_SIZE(lives);
	ck_assert_int_eq(run_toy(&machine, &config, fail_at_once, &err), 0);
	ck_assert_mem_eq(machine.missed, missed, sizeof(missed));
	ck_assert_int_eq(machine.containers[0].status, -EIO);
	ck_assert(!machine.containers[0].stopped);
	ck_assert_uint_eq(machine.containers[0].restarts, 1);
	machine_destroy(&machine);
}
END_TEST

START_TEST(a_run_waits_for_its_last_restart)
{
	struct cfg_event again[] = { { .at = 8000 * MS, .container = "one", .restart = true } };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.events = again;
	config.event_count = ARRAY_SIZE(again);
	ck_assert_int_eq(run_toy(&machine, &config, return_at_once, &err), 0);
	ck_assert_uint_eq(machine.end_ns, 8000000000);
	ck_assert_uint_eq(machine.containers[0].restarts, 1);
	machine_destroy(&machine);
}
END_TEST

static u64 rounds_ended_ns;

static int play_rounds(const struct app_env *env)
{
	const struct cuda_burst_config round = { .kernels = 1, .kernel_ns = MS };
	int status;

	while (!(status = cuda_run(env->cuda, &round)))
		rounds_ended_ns = eng_now();
	return status;
}

/* A write waits half a second for the GPU's firmware. The run ends before. */
static void write_beyond_the_end(bool record_controls)
{
	struct cfg_event write = {
		.at = 9800 * MS, .container = "one", .file = "compute.timeslice", .value = "4"
	};
	struct config config = toy_config("ghost");
	struct sim_error err = { 0 };
	struct machine machine;

	config.timeline_interval = 100 * MS;
	config.record_activity = true;
	config.record_controls = record_controls;
	config.gpu.sched.rpc = 500 * MS;
	config.events = &write;
	config.event_count = 1;
	ck_assert_int_eq(run_toy(&machine, &config, play_rounds, &err), 0);
	ck_assert_uint_eq(machine.end_ns, config.duration);
	ck_assert_uint_gt(rounds_ended_ns, 9900 * MS);
	ck_assert_uint_le(rounds_ended_ns, config.duration);
	ck_assert_uint_eq(machine.row_count, 2 * 100);
	ck_assert_uint_eq(machine.timeline[machine.row_count - 1].time_ns, config.duration);
	for (size_t i = 0; i < machine.record.activity_count; i++)
		ck_assert_uint_le(machine.record.activities[i].to_ns, config.duration);
	ck_assert_uint_le(machine.containers[0].usage.busy_ns +
				  machine.containers[0].usage.waited_ns,
			  config.duration);
	machine_destroy(&machine);
}

START_TEST(nothing_counts_behind_the_end_of_a_run_that_an_event_outlasts)
{
	write_beyond_the_end(false);
}
END_TEST

/* The write has the mutex under which the recorder reads compute.* files. */
START_TEST(nothing_counts_behind_the_end_while_the_recorder_cannot_read)
{
	write_beyond_the_end(true);
}
END_TEST

TEST_MAIN("machine_events", controls_are_recorded_up_to_the_end_of_the_run,
	  events_of_a_container_that_does_not_run_are_missed,
	  an_event_that_an_application_follows_first_is_not_missed,
	  events_stop_and_restart_a_container, a_stop_does_not_prolong_the_run,
	  a_container_may_stop_when_the_run_begins_and_not_when_it_ends,
	  a_container_does_not_stop_at_the_end_of_a_recorded_run,
	  a_context_that_dies_behind_the_end_has_not_died,
	  a_dead_container_is_not_stopped_but_restarts, a_run_waits_for_its_last_restart,
	  nothing_counts_behind_the_end_of_a_run_that_an_event_outlasts,
	  nothing_counts_behind_the_end_while_the_recorder_cannot_read)
