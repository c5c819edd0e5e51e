// SPDX-License-Identifier: MIT OR GPL-2.0
/* The shim with applications that are rare or wrong, and on hosts that are in a bad state. */
#include <sys/stat.h>

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

START_TEST(no_allocation_is_missed_by_the_control_files)
{
	struct program program;
	char expected[32];
	int pairs = 100;

	start(&program, true, "dlsym", "pairs", pairs, NULL);
	for (int i = 0; i < pairs; i++) {
		wait_ready(&program);
		snprintf(expected, sizeof(expected), "%d\n", 2 * 4096 * (i + 1));
		await(&program, "gmem.current", expected);
		go_on(&program);
		wait_ready(&program);
		await(&program, "gmem.current", "0\n");
		go_on(&program);
	}
	finish(&program);
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

START_TEST(an_application_keeps_the_pool_that_it_chose)
{
	struct program program;

	run(&program, true, "ask", "own_pool", 4, NULL);
	ck_assert_int_eq(last_number("report", " managed "), 0);
	ck_assert_int_eq(last_number("log", " pool "), 4);
}
END_TEST

/* What it asked for is managed; what the shim redirected looks like device memory. */
START_TEST(an_application_knows_its_own_managed_pools)
{
	struct program program;

	run(&program, true, "ask", "managed_pool", 2, NULL);
	ck_assert_str_eq(program.out, "managed 1 0\nmanaged 1 0\n");
	ck_assert_int_eq(last_number("log", " managed "), 2);
}
END_TEST

/* The driver's answers; and stream-ordered memory is managed all the time. */
START_TEST(an_application_hears_of_pools_what_the_driver_says)
{
	struct program plain, program;

	run(&plain, false, "ask", "pools", 3, NULL);
	ck_assert_str_eq(plain.out,
			 "at first 1\nwith another 0\ntype 2 of it 1048576\n"
			 "without it 1\ntype 2\ndestroyed 1\ndefault again 1\ntype 2\n");
	forget_files();
	run(&program, true, "ask", "pools", 3, NULL);
	ck_assert_str_eq(program.out, plain.out);
	ck_assert_int_eq(last_number("report", " managed "), 5);
	forget_files();
	run(&program, true, "ask", "pools", 3, "FAKE_NO_MANAGED_POOLS=1");
	ck_assert_str_eq(program.out, plain.out);
}
END_TEST

START_TEST(pools_of_the_hosts_memory_are_not_the_gpus)
{
	struct program program;

	run(&program, true, "ask", "host_pool", 8, "GVM_LIMIT=4M");
	ck_assert_str_eq(program.out, "type 1 address 1\n");
	ck_assert_int_eq(last_number("log", " pool "), 0);
	ck_assert_int_eq(last_number("log", ": GPU 0: launched 0 ended 0 streams 0 peak "), -1);
}
END_TEST

START_TEST(memory_of_a_pool_is_charged_to_the_pools_gpu)
{
	struct program program;

	run(&program, true, "ask", "other_pool", 8, "GVM_LIMIT=0:4M,1:16M");
	ck_assert_str_eq(program.out, "0\n");
	run(&program, true, "ask", "other_pool", 8, "GVM_LIMIT=0:16M,1:4M");
	ck_assert_str_eq(program.out, "2\n");
}
END_TEST

START_TEST(memory_of_a_pool_outlives_its_context)
{
	struct program program;

	run(&program, true, "ask", "pool_reset", 3, NULL);
	ck_assert_int_eq(last_number("log", " current "), 3 << 20);
}
END_TEST

/* What the application asked for as managed memory is refused, as without the shim. */
START_TEST(device_memory_is_freed_in_stream_order)
{
	struct program plain, program;

	run(&plain, false, "ask", "free_in_order", 3, NULL);
	ck_assert_str_eq(plain.out, "managed 801\n");
	forget_files();
	run(&program, true, "ask", "free_in_order", 3, NULL);
	ck_assert_str_eq(program.out, plain.out);
	ck_assert_int_eq(last_number("report", " live "), 1);
	ck_assert_int_eq(last_number("log", " redirected "), 3);
	ck_assert_int_eq(last_number("log", " current "), 1 << 20);
}
END_TEST

/* Without a limit it is plain UVM; a limit holds for all memory. */
START_TEST(managed_memory_may_exceed_the_gpu_where_no_limit_is_given)
{
	struct program plain, program;

	run(&plain, false, "ask", "oversubscribe", 20, "FAKE_MEMORY=8388608");
	ck_assert_str_eq(plain.out, "managed 20, free 8388608 of 8388608, device 8\nagain 2\n");
	run(&program, true, "ask", "oversubscribe", 20, "FAKE_MEMORY=8388608");
	ck_assert_str_eq(program.out, plain.out);
	run(&program, true, "ask", "oversubscribe", 20, "FAKE_MEMORY=8388608 GVM_LIMIT=4M");
	ck_assert_str_eq(program.out, "managed 4, free 0 of 4194304, device 0\nagain 0\n");
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

/* Also where the limit is below what is in use by then. */
START_TEST(memory_that_is_not_freed_stays_charged)
{
	struct program program;
	char path[256];

	start(&program, true, "ask", "refused_free", 2, "GVM_LIMIT=10M");
	wait_ready(&program);
	await(&program, "gmem.current", "2097152\n");
	snprintf(path, sizeof(path), "%s/shim/%d/0/gmem.limit.high", folder, (int)program.pid);
	suite_put_file(path, "1M\n");
	await(&program, "gmem.limit.high", "1048576\n");
	go_on(&program);
	wait_ready(&program);
	ck_assert_str_eq(program.out, "free 1\nfree 1\n");
	suite_put_file(path, "10M\n");
	await(&program, "gmem.limit.high", "10485760\n");
	go_on(&program);
	wait_ready(&program);
	ck_assert_ptr_nonnull(strstr(program.out, "free 8388608 of 10485760\n"));
	await(&program, "gmem.current", "0\n");
	go_on(&program);
	finish(&program);
}
END_TEST

/* An empty write is no value: the one in force comes back. */
START_TEST(a_control_file_is_never_empty)
{
	struct program program;
	char path[256];

	start(&program, true, "ask", "fill", 3, "GVM_LIMIT=10M");
	wait_ready(&program);
	await(&program, "gmem.limit.high", "10485760\n");
	snprintf(path, sizeof(path), "%s/shim/%d/0/gmem.limit.high", folder, (int)program.pid);
	suite_put_file(path, "");
	await(&program, "gmem.limit.high", "10485760\n");
	go_on(&program);
	wait_ready(&program);
	go_on(&program);
	finish(&program);
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

START_TEST(folders_that_are_too_long_are_named)
{
	struct program program;
	char variable[512] = "GVM_SHIM_DIR=/";

	memset(variable + strlen(variable), 'a', 400);
	run(&program, true, "ask", "launches", 1, variable);
	ck_assert_ptr_nonnull(strstr(content("log"), "GVM_SHIM_DIR=/aaa"));
}
END_TEST

/* The thread of the shim writes into the log a while after the program has said something. */
static void await_line(const char *line)
{
	for (int i = 0; i < 1000 && !strstr(content("log"), line); i++)
		usleep(10000);
	ck_assert_msg(strstr(content("log"), line), "no '%s' in '%s'", line, content("log"));
}

/* The program works all the same, with its own limit. */
START_TEST(a_folder_that_cannot_be_made_is_named)
{
	struct program program;

	start(&program, true, "ask", "fill", 100,
	      "GVM_SHIM_DIR=/proc/none GVM_LIMIT=10M GVM_CONTAINER=llm");
	wait_ready(&program);
	ck_assert_ptr_nonnull(strstr(program.out, "allocated 10, free 0\n"));
	await_line("the limit holds for this process alone");
	await_line("there are no control files");
	go_on(&program);
	wait_ready(&program);
	ck_assert_ptr_nonnull(strstr(program.out, "freed, free 10485760\n"));
	go_on(&program);
	finish(&program);
}
END_TEST

/* Another user could put links there, and have files of ours overwritten. */
START_TEST(a_folder_of_another_user_is_not_used)
{
	struct program program;
	char path[256];

	path_of("shim", path, sizeof(path));
	ck_assert_int_eq(mkdir(path, 0777), 0);
	if (chown(path, 54321, 54321)) /* without root it cannot be tested */
		return;
	start(&program, true, "ask", "fill", 100, "GVM_LIMIT=10M GVM_CONTAINER=llm");
	wait_ready(&program);
	await_line("it belongs to another user: there are no control files");
	await_line("it belongs to another user; the limit holds for this process alone");
	go_on(&program);
	wait_ready(&program);
	go_on(&program);
	finish(&program);
	ck_assert_int_eq(rmdir(path), 0); /* nothing is in it */
}
END_TEST

/* A control file is one GPU's: the other ones keep what GVM_LIMIT says. */
START_TEST(a_limit_is_moved_on_one_gpu)
{
	struct program program;
	char path[256], second[64];

	start(&program, true, "ask", "two_gpus", 100, "GVM_LIMIT=20M");
	wait_ready(&program);
	await(&program, "gmem.current", "1048576\n");
	snprintf(path, sizeof(path), "%s/shim/%d/0/gmem.limit.high", folder, (int)program.pid);
	suite_put_file(path, "4M\n");
	await(&program, "gmem.limit.high", "4194304\n");
	go_on(&program);
	wait_ready(&program);
	ck_assert_msg(strstr(program.out, "GPU 1: 20\n"), "%s", program.out);
	ck_assert_msg(strstr(program.out, "GPU 0: 3\n"), "%s", program.out);
	snprintf(second, sizeof(second), "shim/%d/1/gmem.limit.high", (int)program.pid);
	for (int i = 0; i < 1000 && strcmp(content(second), "20971520\n") != 0; i++)
		usleep(10000);
	ck_assert_str_eq(content(second), "20971520\n");
	go_on(&program);
	finish(&program);
}
END_TEST

/*
 * Each GPU its own limit, by our words and by HAMi's, whose numbered
 * variable is the stronger one.
 */
START_TEST(each_gpu_has_its_own_limit)
{
	static const struct {
		const char *variables, *first, *second;
	} runs[] = {
		{ "GVM_LIMIT=0:8M,1:4M", "GPU 0: 7\n", "GPU 1: 4\n" },
		{ "GVM_LIMIT=1:4M", "GPU 0: 19\n", "GPU 1: 4\n" },
		{ "GVM_LIMIT=0:8e6,1:5E6", "GPU 0: 6\n", "GPU 1: 4\n" },
		{ "GVM_LIMIT=10M,0:50%", "GPU 0: 9\n", "GPU 1: 10\n" },
		{ "GVM_LIMIT=0:0.25,10M", "GPU 0: 4\n", "GPU 1: 10\n" },
		{ "CUDA_DEVICE_MEMORY_LIMIT_0=8m CUDA_DEVICE_MEMORY_LIMIT_1=4m", "GPU 0: 7\n",
		  "GPU 1: 4\n" },
		{ "CUDA_DEVICE_MEMORY_LIMIT=6m CUDA_DEVICE_MEMORY_LIMIT_1=4m", "GPU 0: 5\n",
		  "GPU 1: 4\n" },
		{ "CUDA_DEVICE_MEMORY_LIMIT=6m CUDA_DEVICE_MEMORY_LIMIT_0=0m", "GPU 0: 5\n",
		  "GPU 1: 6\n" },
	};
	struct program program;
	char variables[256];

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		snprintf(variables, sizeof(variables), "FAKE_MEMORY=20971520 %s",
			 runs[i].variables);
		start(&program, true, "ask", "two_gpus", 100, variables);
		wait_ready(&program);
		go_on(&program);
		wait_ready(&program);
		ck_assert_msg(strstr(program.out, runs[i].first), "%s: %s", variables,
			      program.out);
		ck_assert_msg(strstr(program.out, runs[i].second), "%s: %s", variables,
			      program.out);
		go_on(&program);
		finish(&program);
	}
}
END_TEST

static int lines_of(const char *text)
{
	int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* Without a log that can be written, what the user has to know is on stderr. */
START_TEST(a_log_that_cannot_be_written_is_named)
{
	struct program program;
	char path[256], setting[320];

	run(&program, true, "ask", "launches", 1, "GVM_SHIM_LOG=/none/log GVM_LIMIT=8X");
	ck_assert_msg(strstr(content("stderr"), "GVM_SHIM_LOG=/none/log: No such file"), "%s",
		      content("stderr"));
	ck_assert_ptr_nonnull(strstr(content("stderr"), "GVM_LIMIT=8X is ignored"));
	ck_assert_int_eq(lines_of(content("stderr")), 2);
	forget_files();
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	snprintf(setting, sizeof(setting), "GVM_SHIM_LOG=/%s/%s", path, "b");
	run(&program, true, "ask", "launches", 1, setting);
	ck_assert_msg(strstr(content("stderr"), "GVM_SHIM_LOG=/aaa"), "%s", content("stderr"));
	ck_assert_int_eq(lines_of(content("stderr")), 1);
	/* Nobody reads a FIFO: the program does not wait for it. */
	forget_files();
	path_of("fifo", path, sizeof(path));
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	snprintf(setting, sizeof(setting), "GVM_SHIM_LOG=%s GVM_PRIORITY=low", path);
	run(&program, true, "ask", "launches", 1, setting);
	ck_assert_ptr_nonnull(strstr(content("stderr"), "GVM_SHIM_LOG="));
	ck_assert_ptr_nonnull(strstr(content("stderr"), "GVM_PRIORITY=low is ignored"));
}
END_TEST

START_TEST(a_log_stays_where_it_is_when_the_program_moves)
{
	struct program program;
	char here[256];

	ck_assert_ptr_nonnull(getcwd(here, sizeof(here)));
	ck_assert_int_eq(chdir(folder), 0);
	run(&program, true, "ask", "moves", 3, "GVM_SHIM_LOG=log");
	ck_assert_int_eq(chdir(here), 0);
	ck_assert_int_eq(last_number("log", ": launched "), 3);
}
END_TEST

/*
 * Whatever the environment holds: a line for each wrong value, with what is allowed at its end.
 */
START_TEST(each_wrong_setting_is_one_line)
{
	static const char *const names[] = {
		"GVM_LIMIT",	    "GVM_RESIDENT",   "GVM_PRIORITY",	 "GVM_TIMESLICE",
		"GVM_SHIM_MANAGED", "GVM_SHIM_PLACE", "GVM_SHIM_PERIOD", "GVM_CONTAINER",
		"GVM_SHIM_DIR",	    "GVM_FENCE_SIZE", "GVM_FENCE_ALLOW"
	};
	struct program program;
	char value[2048];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		memset(value, 'a', sizeof(value) - 1);
		memcpy(value, "x/\n\r\033[2J", 8);
		value[sizeof(value) - 1] = '\0';
		setenv(names[i], value, 1);
		if (!strncmp(names[i], "GVM_FENCE_", 10))
			setenv("GVM_FENCE", "fence", 1);
		forget_files();
		run(&program, true, "ask", "symbols", 1, NULL);
		unsetenv(names[i]);
		unsetenv("GVM_FENCE");
		ck_assert_msg(strstr(content("log"), names[i]), "%s: %s", names[i],
			      content("log"));
		ck_assert_ptr_nonnull(strstr(content("log"), "allowed: "));
		ck_assert_ptr_null(strchr(content("log"), '\033'));
		/* That it is loaded is the other one. */
		ck_assert_msg(lines_of(content("log")) == 2, "%s: %s", names[i],
			      content("log"));
	}
}
END_TEST

/* A script writes faster than the shim takes: the last value holds, whatever came before. */
START_TEST(the_last_write_of_a_control_file_holds)
{
	struct program program;
	char path[256], text[32];

	start(&program, true, "ask", "fill", 3, "GVM_LIMIT=10M");
	wait_ready(&program);
	await(&program, "gmem.limit.high", "10485760\n");
	snprintf(path, sizeof(path), "%s/shim/%d/0/gmem.limit.high", folder, (int)program.pid);
	for (int round = 0; round < 20; round++) {
		for (int i = 1; i <= 200; i++) {
			snprintf(text, sizeof(text), "%dM\n", 10 + round + i);
			suite_put_file(path, text);
		}
		snprintf(text, sizeof(text), "%d\n", (10 + round + 200) << 20);
		await(&program, "gmem.limit.high", text);
	}
	ck_assert_ptr_null(strstr(content("log"), "refused"));
	go_on(&program);
	wait_ready(&program);
	go_on(&program);
	finish(&program);
	assert_nothing_left();
}
END_TEST

/* Where many processes start and end, the folder goes between two steps of another one. */
START_TEST(a_folder_that_goes_is_made_again)
{
	struct program program;

	for (int i = 0; i < 2; i++) {
		start(&program, true, "ask", "folder_goes", 3, i ? "GVM_CONTAINER=llm" : NULL);
		wait_ready(&program);
		await(&program, "gmem.current", "3145728\n");
		go_on(&program);
		wait_ready(&program);
		go_on(&program);
		finish(&program);
		ck_assert_ptr_null(strstr(content("log"), "for this process alone"));
		ck_assert_ptr_null(strstr(content("log"), "no control files"));
	}
}
END_TEST

START_TEST(a_child_replaces_what_a_dead_process_of_its_number_left)
{
	struct program program;
	const char *number;

	start(&program, true, "ask", "fork_same_number", 3, NULL);
	wait_ready(&program);
	number = strstr(program.out, "child ");
	ck_assert_ptr_nonnull(number);
	program.pid = (pid_t)atoi(number + strlen("child "));
	await(&program, "gmem.current", "3145728\n");
	go_on(&program);
	wait_ready(&program);
	go_on(&program);
	while (fgets(program.out, sizeof(program.out), program.from))
		;
	ck_assert_int_gt(wait(NULL), 0);
	fclose(program.to);
	fclose(program.from);
	assert_nothing_left();
}
END_TEST

/* Nobody would know why a limit that is written does not hold. */
START_TEST(control_files_that_cannot_be_watched_are_named)
{
	struct program program;

	start(&program, true, "ask", "no_watches", 3, NULL);
	wait_ready(&program);
	await(&program, "gmem.current", "3145728\n");
	ck_assert_msg(strstr(content("log"), "what is written to control files is not seen"),
		      "%s", content("log"));
	go_on(&program);
	wait_ready(&program);
	go_on(&program);
	finish(&program);
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

START_TEST(graphs_in_graphs_are_counted)
{
	struct program program;

	run(&program, true, "ask", "deep_graphs", 20, NULL);
	ck_assert_int_eq(last_number("log", ": launched "), 20);
	ck_assert_int_eq(last_number("report", " launches "), 20);
}
END_TEST

/* There is no timeslice to come back: the file goes. */
START_TEST(a_refused_timeslice_does_not_stay)
{
	struct program program;
	char path[256];

	start(&program, true, "ask", "fill", 3, NULL);
	wait_ready(&program);
	await(&program, "gmem.current", "3145728\n");
	snprintf(path, sizeof(path), "%s/shim/%d/0/compute.timeslice", folder,
		 (int)program.pid);
	suite_put_file(path, "soon\n");
	await(&program, "compute.timeslice", "");
	ck_assert_int_ne(access(path, F_OK), 0);
	await_line("compute.timeslice: soon is refused");
	go_on(&program);
	wait_ready(&program);
	go_on(&program);
	finish(&program);
	assert_nothing_left();
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
 * A container with process numbers of its own has our folder as a volume: it knows
 * nothing of our process, and takes nothing of it. One that has our number goes without
 * control files, and says so.
 */
START_TEST(processes_of_another_pid_namespace_are_left_alone)
{
	static const char script[] =
		"exec unshare --pid --fork env LD_LIBRARY_PATH=%s LD_PRELOAD=%s "
		"GVM_SHIM_DIR=%s/shim "
		"GVM_SHIM_LOG=%s/log2 sh -c 'exec %s ask %s' >%s/out2 2>&1";
	struct program program;
	char command[2048], path[256];

	if (system("unshare --pid --fork true 2>/dev/null"))
		return;
	start(&program, true, "ask", "fill", 3, NULL);
	wait_ready(&program);
	await(&program, "gmem.current", "3145728\n");
	snprintf(command, sizeof(command), script, DRIVER, SHIM, folder, folder, LOADED,
		 "cycles 50", folder);
	ck_assert_int_eq(system(command), 0);
	ck_assert_str_eq(control(&program, "gmem.current"), "3145728\n");
	/* There it has the number 1. */
	path_of("shim/1", path, sizeof(path));
	ck_assert_int_eq(mkdir(path, 0755), 0);
	path_of("shim/1/.namespace", path, sizeof(path));
	suite_put_file(path, "12345\n");
	ck_assert_int_eq(system(command), 0);
	ck_assert_msg(strstr(content("log2"), "shim/1: a process of another PID namespace"),
		      "%s", content("log2"));
	ck_assert_str_eq(content("shim/1/.namespace"), "12345\n");
	unlink(path);
	path_of("shim/1", path, sizeof(path));
	ck_assert_int_eq(rmdir(path), 0);
	go_on(&program);
	wait_ready(&program);
	go_on(&program);
	finish(&program);
	assert_nothing_left();
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, processes_of_another_pid_namespace_are_left_alone);
	tcase_add_test(tests, starts_and_ends_leave_no_memory_thread_or_descriptor);
	tcase_add_test(tests, a_folder_that_goes_is_made_again);
	tcase_add_test(tests, a_child_replaces_what_a_dead_process_of_its_number_left);
	tcase_add_test(tests, control_files_that_cannot_be_watched_are_named);
	tcase_add_test(tests, a_program_may_close_all_descriptors);
	tcase_add_test(tests, graphs_in_graphs_are_counted);
	tcase_add_test(tests, a_refused_timeslice_does_not_stay);
	tcase_add_test(tests, a_log_that_cannot_be_written_is_named);
	tcase_add_test(tests, a_log_stays_where_it_is_when_the_program_moves);
	tcase_add_test(tests, each_wrong_setting_is_one_line);
	tcase_add_test(tests, the_last_write_of_a_control_file_holds);
	tcase_add_test(tests, each_gpu_has_its_own_limit);
	tcase_add_test(tests, a_limit_is_moved_on_one_gpu);
	tcase_add_test(tests, questions_before_the_start_do_no_harm);
	tcase_add_test(tests, a_call_that_is_newer_than_the_shim_stays_the_drivers);
	tcase_add_test(tests, the_first_version_of_a_call_is_seen_by_its_symbol);
	tcase_add_test(tests, calls_that_pass_the_shim_are_said);
	tcase_add_test(tests, a_child_does_not_wait_for_its_parents_threads);
	tcase_add_test(tests, no_allocation_is_missed_by_the_control_files);
	tcase_add_test(tests, signals_do_not_spoil_the_books_of_a_container);
	tcase_add_test(tests, a_container_holds_without_a_descriptor);
	tcase_add_test(tests, an_application_keeps_the_pool_that_it_chose);
	tcase_add_test(tests, an_application_knows_its_own_managed_pools);
	tcase_add_test(tests, an_application_hears_of_pools_what_the_driver_says);
	tcase_add_test(tests, pools_of_the_hosts_memory_are_not_the_gpus);
	tcase_add_test(tests, memory_of_a_pool_is_charged_to_the_pools_gpu);
	tcase_add_test(tests, memory_of_a_pool_outlives_its_context);
	tcase_add_test(tests, device_memory_is_freed_in_stream_order);
	tcase_add_test(tests, managed_memory_may_exceed_the_gpu_where_no_limit_is_given);
	tcase_add_test(tests, a_launch_on_both_gpus_is_counted_on_each);
	tcase_add_test(tests, launches_of_a_context_that_is_lost_do_not_stay_pending);
	tcase_add_test(tests, a_capture_goes_on_if_its_end_is_refused);
	tcase_add_test(tests, a_launch_without_a_list_is_the_drivers_error);
	tcase_add_test(tests, memory_that_is_not_freed_stays_charged);
	tcase_add_test(tests, a_control_file_is_never_empty);
	tcase_add_test(tests, streams_of_ended_threads_make_room);
	tcase_add_test(tests, a_folder_that_cannot_be_made_is_named);
	tcase_add_test(tests, a_folder_of_another_user_is_not_used);
	tcase_add_test(tests, folders_that_are_too_long_are_named);
}

int main(void)
{
	return suite_run("shim_corners", setup, teardown, add_tests);
}
