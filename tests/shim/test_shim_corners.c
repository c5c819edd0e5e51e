// SPDX-License-Identifier: MIT OR GPL-2.0
/* The shim and programs that are rare or wrong: what they call, fork, capture, close and end. */
#include <sys/inotify.h>
#include <time.h>

#include "runs.h"

/* A question before cuInit() fails, and is not remembered. */
START_TEST(questions_before_the_start_do_no_harm)
{
	struct program program;

	run(&program, true, "ask", "early", 3, NULL);
	ck_assert_str_eq(program.out, "early 3\n");
	ck_assert_int_eq(last_number("log", "redirected "), 3);
}
END_TEST

/* Ours would read an argument too few, or an argument too many. */
START_TEST(a_call_that_is_newer_than_the_shim_stays_the_drivers)
{
	struct program program;

	run(&program, true, "ask", "newer", 2, NULL);
	ck_assert_str_eq(program.out, "newer 3\nnewer 3\n");
	ck_assert_int_eq(last_number("log", "redirected "), 1);
	ck_assert_int_eq(last_number("log", "peak "), 1 << 20);
	ck_assert_int_eq(last_number("log", "current "), 0); /* the first version is hooked */
	ck_assert_ptr_nonnull(strstr(content("log"), "cuMemAlloc_v3 is newer than this shim"));
	ck_assert_ptr_null(strstr(strstr(content("log"), "is newer") + 1, "is newer"));
}
END_TEST

START_TEST(the_first_version_of_a_call_is_seen_by_its_symbol)
{
	struct program program;

	run(&program, true, "dlsym", "first_version", 3, NULL);
	ck_assert_int_eq(last_number("log", "peak "), 3 << 20);
	ck_assert_int_eq(last_number("log", "current "), 0);
}
END_TEST

/* Nothing else would tell the user why a limit does not hold. */
START_TEST(calls_that_pass_the_shim_are_said)
{
	struct program program;

	run(&program, true, "dlsym", "elsewhere", 0, NULL);
	ck_assert_ptr_nonnull(strstr(content("log"), "libcuda is loaded more than once"));
	ck_assert_int_eq(last_number("log", "redirected "), 1);
	forget_files();
	run(&program, true, "dlsym", "elsewhere", 1, NULL);
	ck_assert_ptr_nonnull(
		strstr(content("log"), "calls the driver's cuMemAlloc_v2 and not"));
	ck_assert_int_eq(last_number("log", "redirected "), 1);
	/* What came past the shim was freed by its calls, and no sum has changed. */
	ck_assert_int_eq(last_number("report", "wrong_frees "), 0);
	ck_assert_int_eq(last_number("report", " live "), 1);
	ck_assert_int_eq(last_number("log", " current "), 1 << 20);
	forget_files();
	run(&program, true, "dlsym", "elsewhere", 2, NULL);
	ck_assert_ptr_null(strstr(content("log"), "calls the driver's"));
	ck_assert_ptr_null(strstr(content("log"), "more than once"));
	ck_assert_int_eq(last_number("log", "redirected "), 2);
}
END_TEST

/* The last allocation is published, also one that comes while the shim publishes. */
/* The shim asks the driver under locks of its own. */
START_TEST(a_child_does_not_wait_for_its_parents_threads)
{
	struct program program;

	run(&program, true, "dlsym", "fork_amid", 0, NULL);
	run(&program, true, "dlsym", "fork_amid", 1, NULL);
}
END_TEST

/* On an H200 a child waited for ever in cuArrayDestroy(). */
START_TEST(a_fork_waits_until_the_shims_thread_is_out_of_the_driver)
{
	struct program program;

	run(&program, true, "dlsym", "fork_beside", 100, NULL);
}
END_TEST

/* It may wait for a GPU that has failed. */
START_TEST(a_fork_does_not_wait_for_ever)
{
	struct program program;

	run(&program, true, "dlsym", "fork_beside", 0, NULL);
}
END_TEST

/* The shim's thread waited for ever for the end of the outer fork. */
START_TEST(a_fork_within_a_fork_leaves_the_shims_thread_at_work)
{
	struct program program;

	start(&program, true, "linked", "fork_in_fork", 2, NULL);
	wait_ready(&program);
	go_on(&program);
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 1\nnr_ended_kernels: 1\nnr_pending_kernels: 0\n");
	go_on(&program);
	finish(&program);
}
END_TEST

START_TEST(a_quick_exit_leaves_nothing)
{
	struct program program;

	start(&program, true, "dlsym", "quick_exit", 3, NULL);
	wait_ready(&program);
	await(&program, "gmem.current", "4000\n");
	go_on(&program);
	finish(&program);
	ck_assert_int_eq(program.status, 0);
	assert_nothing_left();
	ck_assert_int_eq(last_number("log", ": launched "), 3);
}
END_TEST

START_TEST(signals_do_not_spoil_the_books_of_a_container)
{
	static const char *const variables = "GVM_LIMIT=20M GVM_CONTAINER=llm";
	struct program programs[2];

	for (int i = 0; i < 2; i++)
		start(&programs[i], true, "ask", "signals", 300, variables);
	for (int i = 0; i < 2; i++)
		finish(&programs[i]);
	ck_assert_ptr_nonnull(strstr(programs[0].out, " of 20971520\n"));
	ck_assert_ptr_nonnull(strstr(programs[1].out, " of 20971520\n"));
	run(&programs[0], true, "ask", "signals", 1, variables);
	ck_assert_str_eq(programs[0].out, "free 20971520 of 20971520\n");
}
END_TEST

/* Without a descriptor no process can be found dead. */
START_TEST(a_container_holds_without_a_descriptor)
{
	struct program first, second;

	start(&first, true, "ask", "fill", 6, "GVM_LIMIT=10M GVM_CONTAINER=llm");
	wait_ready(&first);
	run(&second, true, "ask", "descriptors", 100, "GVM_LIMIT=10M GVM_CONTAINER=llm");
	ck_assert_str_eq(second.out, "allocated 3, free 0\n");
	go_on(&first);
	wait_ready(&first);
	ck_assert_ptr_nonnull(strstr(first.out, "freed, free 10485760\n"));
	go_on(&first);
	finish(&first);
}
END_TEST

/* Each GPU has its own launch, which is pending until it ends. */
START_TEST(a_launch_on_both_gpus_is_counted_on_each)
{
	struct program program;

	start(&program, true, "ask", "both_gpus", 3, NULL);
	wait_ready(&program);
	for (int gpu = 0; gpu < 2; gpu++)
		await_gpu(&program, gpu, "gcgroup.stat",
			  "nr_submitted_kernels: 3\nnr_ended_kernels: 0\n"
			  "nr_pending_kernels: 3\n");
	go_on(&program);
	wait_ready(&program);
	for (int gpu = 0; gpu < 2; gpu++)
		await_gpu(&program, gpu, "gcgroup.stat",
			  "nr_submitted_kernels: 3\nnr_ended_kernels: 3\n"
			  "nr_pending_kernels: 0\n");
	go_on(&program);
	finish(&program);
}
END_TEST

START_TEST(launches_of_a_context_that_is_lost_do_not_stay_pending)
{
	struct program program;

	start(&program, true, "ask", "lost_context", 3, NULL);
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 3\nnr_ended_kernels: 3\nnr_pending_kernels: 0\n");
	go_on(&program);
	finish(&program);
}
END_TEST

/* Five launches are captured, and one runs. */
START_TEST(a_capture_goes_on_if_its_end_is_refused)
{
	struct program program;

	run(&program, true, "ask", "wrong_end", 5, NULL);
	ck_assert_ptr_nonnull(strstr(program.out, "end 908\n"));
	ck_assert_int_eq(last_number("report", " launches "), 1);
	ck_assert_int_eq(last_number("log", ": launched "), 1);
}
END_TEST

START_TEST(a_launch_without_a_list_is_the_drivers_error)
{
	struct program program;

	run(&program, true, "ask", "no_list", 2, NULL);
	ck_assert_str_eq(program.out, "launch 1\n");
}
END_TEST

/* The default stream of a thread goes with it: its place is used again. */
START_TEST(streams_of_ended_threads_make_room)
{
	struct program program;

	start(&program, true, "ask", "threads", 6000, NULL);
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 6000\nnr_ended_kernels: 5999\nnr_pending_kernels: 1\n");
	go_on(&program);
	finish(&program);
	ck_assert_int_eq(last_number("log", ": launched "), 6000);
	ck_assert_int_eq(last_number("log", " ended "), 6000);
}
END_TEST

/*
 * The shim loses its own descriptors, and does not take the program's for
 * them. The limit holds.
 */
START_TEST(a_program_may_close_all_descriptors)
{
	static const char *const variables[] = { "GVM_LIMIT=10M GVM_CONTAINER=llm",
						 "GVM_LIMIT=10M" };
	struct program program;

	for (int i = 0; i < 4; i++) {
		forget_files();
		run(&program, true, "ask", "closes", 100 + i % 2, variables[i / 2]);
		ck_assert_msg(!strncmp(program.out, "20 bytes are in the pipe\nallocated 9\n",
				       37),
			      "%s", program.out);
		ck_assert_msg(strstr(content("log"), "has closed the shim's descriptors"), "%s",
			      content("log"));
		assert_nothing_left();
	}
}
END_TEST

START_TEST(counters_of_a_program_that_closes_all_stay_as_they_are)
{
	struct program program;

	run(&program, true, "ask", "closes_counters", 40, "GVM_LIMIT=10M GVM_CONTAINER=llm");
	ck_assert_str_eq(program.out, "done\n");
	ck_assert_msg(strstr(content("log"), "has closed the shim's descriptors"), "%s",
		      content("log"));
	assert_nothing_left();
}
END_TEST

START_TEST(graphs_in_graphs_are_counted)
{
	struct program program;

	run(&program, true, "ask", "deep_graphs", 20, NULL);
	ck_assert_int_eq(last_number("log", ": launched "), 20);
	ck_assert_int_eq(last_number("report", " launches "), 20);
}
END_TEST

/*
 * The driver of the tests keeps each graph for ever: what it grows by without the shim counts
 * for nothing. 4096: 20 bytes a start.
 */
START_TEST(starts_and_ends_leave_no_memory_thread_or_descriptor)
{
	static const char nothing[] = "threads 0, descriptors 0, bytes ";
	struct program program;
	long grown[2];

	for (int shim = 0; shim < 2; shim++) {
		run(&program, shim, "ask", "cycles", 200, NULL);
		ck_assert_msg(!strncmp(program.out, nothing, strlen(nothing)), "%s",
			      program.out);
		grown[shim] = atol(program.out + strlen(nothing));
	}
	ck_assert_msg(grown[1] - grown[0] < 4096, "%ld bytes and %ld bytes", grown[0],
		      grown[1]);
	ck_assert_int_eq(last_number("log", " current "), 0);
	ck_assert_int_eq(last_number("log", " streams "), 8);
	ck_assert_int_eq(last_number("report", " events "), 0);
	assert_nothing_left();
}
END_TEST

/*
 * How often gcgroup.stat is replaced until it has @text. @watch: of its folder. It has to be read
 * all the time: inotify makes one event of equal ones.
 */
static int replacements(const struct program *program, int watch, const char *text)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	int count = 0;
	ssize_t length;

	for (int i = 0; i < 20000 && strcmp(control(program, "gcgroup.stat"), text) != 0; i++) {
		usleep(500);
		length = read(watch, events, sizeof(events));
		for (ssize_t at = 0; at < length;) {
			const struct inotify_event *event = (const void *)(events + at);

			count += !strcmp(event->name, "gcgroup.stat");
			at += (ssize_t)sizeof(*event) + event->len;
		}
	}
	return count;
}

/* A program that is idle between any two launches does not have its files written for each. */
START_TEST(files_are_replaced_at_most_every_10_ms)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), replaced;
	struct timespec began, ended;
	struct program program;
	char path[256];
	long ms;

	start(&program, true, "ask", "beats", 100, NULL);
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 1\nnr_ended_kernels: 1\nnr_pending_kernels: 0\n");
	control_path_of(&program, 0, "", path);
	ck_assert_int_ge(inotify_add_watch(watch, path, IN_MOVED_TO), 0);
	clock_gettime(CLOCK_MONOTONIC, &began);
	go_on(&program);
	replaced = replacements(
		&program, watch,
		"nr_submitted_kernels: 100\nnr_ended_kernels: 100\nnr_pending_kernels: 0\n");
	clock_gettime(CLOCK_MONOTONIC, &ended);
	ms = (ended.tv_sec - began.tv_sec) * 1000 + (ended.tv_nsec - began.tv_nsec) / 1000000;
	ck_assert_int_ge(replaced, 3);
	ck_assert_msg(replaced <= ms / 10 + 2, "%d times in %ld ms", replaced, ms);
	close(watch);
	wait_ready(&program);
	go_on(&program);
	finish(&program);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, questions_before_the_start_do_no_harm);
	tcase_add_test(tests, a_call_that_is_newer_than_the_shim_stays_the_drivers);
	tcase_add_test(tests, the_first_version_of_a_call_is_seen_by_its_symbol);
	tcase_add_test(tests, calls_that_pass_the_shim_are_said);
	tcase_add_test(tests, a_child_does_not_wait_for_its_parents_threads);
	tcase_add_test(tests, a_fork_waits_until_the_shims_thread_is_out_of_the_driver);
	tcase_add_test(tests, a_fork_does_not_wait_for_ever);
	tcase_add_test(tests, a_quick_exit_leaves_nothing);
	tcase_add_test(tests, a_fork_within_a_fork_leaves_the_shims_thread_at_work);
	tcase_add_test(tests, signals_do_not_spoil_the_books_of_a_container);
	tcase_add_test(tests, a_container_holds_without_a_descriptor);
	tcase_add_test(tests, a_launch_on_both_gpus_is_counted_on_each);
	tcase_add_test(tests, launches_of_a_context_that_is_lost_do_not_stay_pending);
	tcase_add_test(tests, a_capture_goes_on_if_its_end_is_refused);
	tcase_add_test(tests, a_launch_without_a_list_is_the_drivers_error);
	tcase_add_test(tests, streams_of_ended_threads_make_room);
	tcase_add_test(tests, files_are_replaced_at_most_every_10_ms);
	tcase_add_test(tests, a_program_may_close_all_descriptors);
	tcase_add_test(tests, counters_of_a_program_that_closes_all_stay_as_they_are);
	tcase_add_test(tests, graphs_in_graphs_are_counted);
	tcase_add_test(tests, starts_and_ends_leave_no_memory_thread_or_descriptor);
}

int main(void)
{
	return suite_run("shim_corners", setup, teardown, add_tests);
}
