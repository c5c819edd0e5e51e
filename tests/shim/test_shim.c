// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * libgvm_shim.so between unmodified programs and a driver library over host memory: what they
 * compute, what is counted, what is charged, and what is left behind.
 */
#include <dirent.h>

#include "runs.h"

static const char *const ways[] = { "linked", "dlsym", "ask" };

START_TEST(programs_compute_the_same)
{
	static const struct {
		const char *task;
		int number;
	} tasks[] = { { "launches", 50 }, { "memory", 3 }, { "symbols", 1 }, { "fork", 4 } };
	struct program plain, shim;

	for (size_t w = 0; w < 3; w++)
		for (size_t t = 0; t < sizeof(tasks) / sizeof(tasks[0]); t++) {
			run(&plain, false, ways[w], tasks[t].task, tasks[t].number, NULL);
			run(&shim, true, ways[w], tasks[t].task, tasks[t].number, NULL);
			ck_assert_str_eq(shim.out, plain.out);
		}
	assert_nothing_left();
}
END_TEST

/* The driver counts, too: by every way to find its calls, and by every way to launch. */
START_TEST(launches_are_counted_exactly)
{
	struct program program;

	for (size_t w = 0; w < 3; w++) {
		forget_files();
		run(&program, true, ways[w], "launches", 100, NULL);
		ck_assert_int_eq(last_number("report", " launches "), 300 + 5 + 29);
		ck_assert_int_eq(last_number("log", ": launched "), 300 + 5 + 29);
		ck_assert_int_eq(last_number("log", " ended "), 300 + 5 + 29);
	}
}
END_TEST

START_TEST(sixty_four_streams_of_eight_threads_are_counted)
{
	struct program program;

	run(&program, true, "ask", "streams", 200, NULL);
	ck_assert_int_eq(last_number("log", ": launched "), 64 * 200);
	ck_assert_int_eq(last_number("log", " ended "), 64 * 200);
	ck_assert_int_eq(last_number("log", " streams "), 64);
	/* The shim asks for the device where it does not know the stream any more. */
	ck_assert_int_le(last_number("report", " device_asks "), 64 * 200 / 20);
}
END_TEST

START_TEST(pending_launches_are_seen_and_end)
{
	struct program program;

	start(&program, true, "ask", "pending", 7, NULL);
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 7\nnr_ended_kernels: 0\nnr_pending_kernels: 7\n");
	go_on(&program);
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 7\nnr_ended_kernels: 7\nnr_pending_kernels: 0\n");
	go_on(&program);
	finish(&program);
	assert_nothing_left();
}
END_TEST

/* The first line of a file in /proc; empty if there is none. */
static void first_line(const char *path, char *line, int size)
{
	FILE *file = fopen(path, "r");

	*line = '\0';
	if (!file)
		return;
	if (!fgets(line, size, file))
		*line = '\0';
	fclose(file);
}

/* Nanoseconds that the shim's thread of a process has computed; 0: there is no such thread. */
static long long shims_thread_ns(pid_t pid)
{
	char path[512], line[64];
	const struct dirent *entry;
	long long time_ns = 0;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", (int)pid, entry->d_name);
		first_line(path, line, sizeof(line));
		if (strcmp(line, "gvm-shim\n") != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid,
			 entry->d_name);
		first_line(path, line, sizeof(line));
		time_ns = strtoll(line, NULL, 10);
	}
	if (threads)
		closedir(threads);
	return time_ns;
}

/* A look of 1 ms, made 2 ms after the last one, would be a third of a processor. */
START_TEST(the_shims_thread_looks_less_often_if_a_look_takes_long)
{
	struct program program;
	long long used_ns;

	start(&program, true, "ask", "pending", 7, "FAKE_QUERY=1000");
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 7\nnr_ended_kernels: 0\nnr_pending_kernels: 7\n");
	used_ns = shims_thread_ns(program.pid);
	sleep(2);
	used_ns = shims_thread_ns(program.pid) - used_ns;
	ck_assert_int_gt(used_ns, 0);
	ck_assert_int_lt(used_ns, 2000000000 / 10);
	go_to_end(&program);
}
END_TEST

/* A queue that never runs empty: what has ended of it is not known a whole queue later. */
START_TEST(the_end_of_a_part_of_a_queue_is_seen)
{
	struct program program;

	start(&program, true, "ask", "queue", 4, NULL);
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 4\nnr_ended_kernels: 0\nnr_pending_kernels: 4\n");
	go_on(&program);
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 8\nnr_ended_kernels: 0\nnr_pending_kernels: 8\n");
	go_on(&program);
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 12\nnr_ended_kernels: 0\nnr_pending_kernels: 12\n");
	go_on(&program);
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 12\nnr_ended_kernels: 8\nnr_pending_kernels: 4\n");
	go_on(&program);
	finish(&program);
	assert_nothing_left();
}
END_TEST

/*
 * Device memory is managed, and the program is told that it is not. All is
 * freed, by the call that fits.
 */
START_TEST(memory_is_redirected_and_freed)
{
	struct program program;

	run(&program, true, "ask", "memory", 5, NULL);
	ck_assert_ptr_nonnull(strstr(program.out, "as before"));
	ck_assert_int_eq(last_number("report", " live "), 0);
	ck_assert_int_eq(last_number("report", " wrong_frees "),
			 1); /* of nothing, on purpose */
	ck_assert_int_eq(last_number("report", " managed "), 5 * 5);
	ck_assert_int_eq(last_number("log", "redirected "), 5 * 2);
	ck_assert_int_eq(last_number("log", " pool "), 5 * 2);
	ck_assert_int_eq(last_number("log", " current "), 0);
	forget_files();
	run(&program, true, "ask", "memory", 5, "GVM_SHIM_MANAGED=0");
	ck_assert_int_eq(last_number("report", " managed "), 5);
	ck_assert_int_eq(last_number("report", " live "), 0);
	ck_assert_int_eq(last_number("log", " current "), 0);
	/* A driver of CUDA 12 has no pools of managed memory. */
	forget_files();
	run(&program, true, "ask", "memory", 5, "FAKE_NO_MANAGED_POOLS=1");
	ck_assert_int_eq(last_number("report", " managed "), 5 * 3);
	ck_assert_int_eq(last_number("log", " current "), 0);
	ck_assert_ptr_nonnull(strstr(content("log"), "no pool of managed memory"));
}
END_TEST

START_TEST(a_limit_holds_to_the_byte)
{
	struct program program;

	start(&program, true, "ask", "fill", 100, "GVM_LIMIT=10M");
	wait_ready(&program);
	ck_assert_str_eq(program.out, "free 10485760 of 10485760, device 10485760\n"
				      "allocated 10, free 0\n");
	await(&program, "gmem.current", "10485760\n");
	await(&program, "gmem.limit.high", "10485760\n");
	go_on(&program);
	wait_ready(&program);
	ck_assert_ptr_nonnull(strstr(program.out, "freed, free 10485760\n"));
	await(&program, "gmem.current", "0\n");
	await(&program, "gmem.peak", "10485760\n");
	go_on(&program);
	finish(&program);
	/*
	 * One byte less is one allocation less; a share of the device; and
	 * no limit is the device.
	 */
	start(&program, true, "dlsym", "fill", 100, "GVM_LIMIT=10485759");
	wait_ready(&program);
	ck_assert_ptr_nonnull(strstr(program.out, "allocated 9, free 1048575\n"));
	kill(program.pid, SIGKILL);
	finish(&program);
	start(&program, true, "dlsym", "fill", 2000, "GVM_LIMIT=50% FAKE_MEMORY=209715200");
	wait_ready(&program);
	ck_assert_ptr_nonnull(strstr(program.out, "allocated 100, free 0\n"));
	kill(program.pid, SIGKILL);
	finish(&program);
	start(&program, true, "dlsym", "fill", 2000, "FAKE_MEMORY=209715200");
	wait_ready(&program);
	ck_assert_ptr_nonnull(strstr(program.out, "allocated 200, free 0\n"));
	kill(program.pid, SIGKILL);
	finish(&program);
}
END_TEST

/*
 * Shares as KAI's annotation has them, and what the plug-ins of HAMi and KAI put into a
 * container. GVM_LIMIT is stronger.
 */
START_TEST(limits_of_plug_ins_hold)
{
	static const struct {
		const char *variables, *out;
	} runs[] = {
		{ "GVM_LIMIT=0.25", "allocated 50, free 0\n" },
		{ "GVM_LIMIT=12.5%", "allocated 25, free 0\n" },
		{ "CUDA_DEVICE_MEMORY_LIMIT_0=20m", "allocated 20, free 0\n" },
		{ "CUDA_DEVICE_MEMORY_LIMIT=10240k GPU_PORTION=0.5", "allocated 10, free 0\n" },
		{ "CUDA_DEVICE_MEMORY_LIMIT_0=0m GPU_PORTION=0.5", "allocated 100, free 0\n" },
		{ "GVM_LIMIT=5M CUDA_DEVICE_MEMORY_LIMIT_0=20m", "allocated 5, free 0\n" },
		{ "GPU_PORTION=1", "allocated 200, free 0\n" },
	};
	struct program program;
	char variables[256];

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		snprintf(variables, sizeof(variables), "FAKE_MEMORY=209715200 %s",
			 runs[i].variables);
		start(&program, true, "dlsym", "fill", 2000, variables);
		wait_ready(&program);
		ck_assert_msg(strstr(program.out, runs[i].out), "%s: %s", variables,
			      program.out);
		kill(program.pid, SIGKILL);
		finish(&program);
	}
}
END_TEST

/* Managed memory may exceed the device where the user says so. */
START_TEST(a_limit_above_the_device_is_allowed)
{
	struct program program;

	start(&program, true, "ask", "fill", 300, "GVM_LIMIT=250M FAKE_MEMORY=209715200");
	wait_ready(&program);
	ck_assert_ptr_nonnull(strstr(program.out, "free 209715200 of 209715200"));
	ck_assert_ptr_nonnull(strstr(program.out, "allocated 250, free 0\n"));
	kill(program.pid, SIGKILL);
	finish(&program);
}
END_TEST

START_TEST(a_container_of_two_processes_has_one_limit)
{
	struct program first, second;

	start(&first, true, "ask", "fill", 6, "GVM_LIMIT=10M GVM_CONTAINER=llm");
	wait_ready(&first);
	start(&second, true, "ask", "fill", 100, "GVM_LIMIT=10M GVM_CONTAINER=llm");
	wait_ready(&second);
	ck_assert_ptr_nonnull(strstr(first.out, "allocated 6, free 4194304\n"));
	ck_assert_ptr_nonnull(strstr(second.out, "free 4194304 of 10485760"));
	ck_assert_ptr_nonnull(strstr(second.out, "allocated 4, free 0\n"));
	/* What a killed process had is free again when another one needs it. */
	kill(first.pid, SIGKILL);
	finish(&first);
	go_on(&second);
	wait_ready(&second);
	start(&first, true, "ask", "fill", 100, "GVM_LIMIT=10M GVM_CONTAINER=llm");
	wait_ready(&first);
	ck_assert_ptr_nonnull(strstr(first.out, "allocated 10, free 0\n"));
	go_on(&second);
	finish(&second);
	go_on(&first);
	wait_ready(&first);
	go_on(&first);
	finish(&first);
	ck_assert_str_eq(content("shim/containers/llm"), "");
}
END_TEST

/*
 * As with gvm.ko: a write into a control file is in force, and is read back in the usual form.
 */
START_TEST(control_files_can_be_written)
{
	struct program program;
	char path[256];

	start(&program, true, "ask", "fill", 3, "GVM_LIMIT=10M GVM_TIMESLICE=2");
	wait_ready(&program);
	await(&program, "compute.timeslice", "2000us\n");
	control_path_of(&program, 0, "gmem.limit.high", path);
	suite_put_file(path, "12M\n");
	await(&program, "gmem.limit.high", "12582912\n");
	suite_put_file(path, "twelve\n");
	await(&program, "gmem.limit.high", "12582912\n");
	control_path_of(&program, 0, "compute.priority", path);
	suite_put_file(path, "3\n");
	await(&program, "compute.timeslice", "65536us\n");
	go_on(&program);
	wait_ready(&program);
	ck_assert_ptr_nonnull(strstr(program.out, "freed, free 12582912\n"));
	go_on(&program);
	finish(&program);
}
END_TEST

/*
 * Children of fork() and vfork(), _exit() and exit(): each leaves nothing, and none
 * takes the parent's files.
 */
START_TEST(forks_leave_nothing)
{
	struct program program;

	run(&program, true, "dlsym", "fork", 6, NULL);
	assert_nothing_left();
	start(&program, true, "dlsym", "fork_late", 3, NULL);
	wait_ready(&program);
	await(&program, "gcgroup.stat",
	      "nr_submitted_kernels: 2\nnr_ended_kernels: 2\nnr_pending_kernels: 0\n");
	go_on(&program);
	finish(&program);
	assert_nothing_left();
}
END_TEST

/* Of the variables that no other test sets to a good value. */
START_TEST(places_and_priorities_are_as_asked_for)
{
	static const struct {
		const char *variables;
		long to_gpu;
	} places[] = { { "GVM_SHIM_PLACE=none", 0 },
		       { "GVM_SHIM_PLACE=advise", 0 },
		       { "GVM_SHIM_PLACE=prefetch", 3 },
		       { "GVM_SHIM_PLACE=prefetch GVM_SHIM_MANAGED=0", 0 } };
	struct program program;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		start(&program, true, "ask", "fill", 3, places[i].variables);
		wait_ready(&program);
		go_to_end(&program);
		ck_assert_int_eq(last_number("report", "to_gpu "), places[i].to_gpu);
	}
	start(&program, true, "ask", "fill", 3, "GVM_PRIORITY=3 GVM_SHIM_PERIOD=500us");
	wait_ready(&program);
	await(&program, "compute.priority", "3\n");
	await(&program, "compute.timeslice", "65536us\n");
	ck_assert_ptr_null(strstr(content("log"), "ignored"));
	kill(program.pid, SIGKILL);
	finish(&program);
	/* The bare timeslice is stronger than the priority's. */
	start(&program, true, "ask", "fill", 3, "GVM_PRIORITY=3 GVM_TIMESLICE=512us");
	wait_ready(&program);
	await(&program, "compute.timeslice", "512us\n");
	kill(program.pid, SIGKILL);
	finish(&program);
}
END_TEST

START_TEST(exec_starts_over)
{
	struct program program;

	run(&program, true, "linked", "exec", 10, NULL);
	ck_assert_int_eq(last_number("log", ": launched "), 30 + 5 + 29);
	assert_nothing_left();
}
END_TEST

START_TEST(threads_that_launch_at_exit_do_no_harm)
{
	struct program program;

	for (int i = 0; i < 10; i++) {
		run(&program, true, ways[i % 3], "exit_launching", 3, NULL);
		assert_nothing_left();
	}
}
END_TEST

START_TEST(a_signal_handler_may_end_the_process)
{
	struct program program;

	for (int i = 0; i < 60; i++) {
		run(&program, true, "dlsym", "exit_in_handler", 2000 + 97 * i, NULL);
		assert_nothing_left();
	}
}
END_TEST

START_TEST(a_reset_context_takes_its_memory_along)
{
	struct program program;

	start(&program, true, "ask", "reset", 5, NULL);
	wait_ready(&program);
	await(&program, "gmem.current", "0\n");
	await(&program, "gmem.peak", "5242880\n");
	go_on(&program);
	finish(&program);
}
END_TEST

START_TEST(memory_that_cannot_be_exported_is_said)
{
	static const char *const calls[] = { "cuIpcGetMemHandle: ", "cuPointerSetAttribute: " };
	struct program program;

	run(&program, true, "ask", "export", 3, "FAKE_NO_DEVICES=1");
	ck_assert_str_eq(program.out, "exported 0, for devices 0\n");
	for (int i = 0; i < 2; i++) {
		const char *line = strstr(content("log"), calls[i]);

		ck_assert_msg(line && strstr(line, "GVM_SHIM_MANAGED=0"), "%s", content("log"));
		ck_assert_ptr_null(strstr(line + 1, calls[i])); /* once */
	}
	forget_files();
	run(&program, true, "ask", "export", 3, "GVM_SHIM_MANAGED=0");
	ck_assert_str_eq(program.out, "exported 3, for devices 3\n");
	ck_assert_ptr_null(strstr(content("log"), "exported"));
	forget_files();
	run(&program, true, "ask", "export", 0, NULL);
	ck_assert_ptr_null(strstr(content("log"), "exported"));
}
END_TEST

START_TEST(wrong_settings_are_named)
{
	static const struct {
		const char *setting, *message;
	} wrong[] = {
		{ "GVM_LIMIT=8X", "GVM_LIMIT=8X is ignored; allowed: bytes" },
		{ "GVM_LIMIT=0.5G", "GVM_LIMIT=0.5G is ignored; allowed: bytes" },
		{ "GVM_LIMIT=0.0", "GVM_LIMIT=0.0 is ignored; allowed: bytes" },
		{ "GVM_LIMIT=0:8G,1:", "GVM_LIMIT=0:8G,1: is ignored; allowed: bytes" },
		{ "GVM_LIMIT=0:8G,0:9G", "GVM_LIMIT=0:8G,0:9G is ignored; allowed: bytes" },
		{ "GVM_LIMIT=16:8G", "GVM_LIMIT=16:8G is ignored; allowed: bytes" },
		{ "GVM_LIMIT=8G,", "GVM_LIMIT=8G, is ignored; allowed: bytes" },
		{ "GVM_LIMIT=8G,9G", "GVM_LIMIT=8G,9G is ignored; allowed: bytes" },
		{ "GVM_LIMIT=1:20", "GVM_LIMIT=1:20 is less than 1 MiB" },
		{ "GVM_RESIDENT=8", "GVM_RESIDENT=8 is less than 1 MiB" },
		{ "GVM_RESIDENT=1:x", "GVM_RESIDENT=1:x is ignored; allowed: bytes" },
		{ "CUDA_DEVICE_MEMORY_LIMIT_0=5x", "CUDA_DEVICE_MEMORY_LIMIT_0=5x is ignored" },
		{ "GPU_PORTION=half", "GPU_PORTION=half is ignored" },
		{ "GVM_LIMIT=99999999999G", "GVM_LIMIT=" },
		{ "GVM_PRIORITY=17", "GVM_PRIORITY=17 is ignored; allowed: 0 to 16" },
		{ "GVM_TIMESLICE=0", "GVM_TIMESLICE=0 is ignored" },
		{ "GVM_TIMESLICE=17000", "GVM_TIMESLICE=17000 is ignored" },
		{ "GVM_SHIM_MANAGED=yes", "GVM_SHIM_MANAGED=yes is ignored; allowed: 0, 1" },
		{ "GVM_SHIM_PLACE=there", "GVM_SHIM_PLACE=there is ignored" },
		{ "GVM_SHIM_PERIOD=soon", "GVM_SHIM_PERIOD=soon is ignored" },
		{ "GVM_CONTAINER=../a", "GVM_CONTAINER=../a is ignored" },
	};
	struct program program;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		forget_files();
		run(&program, true, "ask", "launches", 1, wrong[i].setting);
		ck_assert_msg(strstr(content("log"), wrong[i].message), "%s", content("log"));
	}
}
END_TEST

/* A process that was killed leaves a directory; the next one removes it. */
START_TEST(directories_of_killed_processes_go)
{
	struct program program;
	char name[64], path[256];

	start(&program, true, "ask", "fill", 3, NULL);
	wait_ready(&program);
	await(&program, "gmem.current", "3145728\n");
	kill(program.pid, SIGKILL);
	finish(&program);
	snprintf(name, sizeof(name), "shim/%d", (int)program.pid);
	path_of(name, path, sizeof(path));
	ck_assert_int_eq(access(path, F_OK), 0);
	run(&program, true, "ask", "launches", 1, NULL);
	assert_nothing_left();
}
END_TEST

/* It was killed, or has called exec(), before its PID namespace was in the file for it. */
START_TEST(directories_that_were_hardly_begun_go)
{
	struct program program;
	char name[64], path[256];
	FILE *file;

	start(&program, true, "ask", "fill", 1, NULL);
	wait_ready(&program);
	await(&program, "gmem.current", "1048576\n");
	kill(program.pid, SIGKILL);
	finish(&program);
	snprintf(name, sizeof(name), "shim/%d/.namespace", (int)program.pid);
	path_of(name, path, sizeof(path));
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fclose(file);
	run(&program, true, "ask", "launches", 1, NULL);
	assert_nothing_left();
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, programs_compute_the_same);
	tcase_add_test(tests, launches_are_counted_exactly);
	tcase_add_test(tests, sixty_four_streams_of_eight_threads_are_counted);
	tcase_add_test(tests, pending_launches_are_seen_and_end);
	tcase_add_test(tests, the_shims_thread_looks_less_often_if_a_look_takes_long);
	tcase_add_test(tests, the_end_of_a_part_of_a_queue_is_seen);
	tcase_add_test(tests, memory_is_redirected_and_freed);
	tcase_add_test(tests, a_limit_holds_to_the_byte);
	tcase_add_test(tests, limits_of_plug_ins_hold);
	tcase_add_test(tests, a_limit_above_the_device_is_allowed);
	tcase_add_test(tests, a_container_of_two_processes_has_one_limit);
	tcase_add_test(tests, control_files_can_be_written);
	tcase_add_test(tests, forks_leave_nothing);
	tcase_add_test(tests, places_and_priorities_are_as_asked_for);
	tcase_add_test(tests, exec_starts_over);
	tcase_add_test(tests, threads_that_launch_at_exit_do_no_harm);
	tcase_add_test(tests, a_signal_handler_may_end_the_process);
	tcase_add_test(tests, a_reset_context_takes_its_memory_along);
	tcase_add_test(tests, memory_that_cannot_be_exported_is_said);
	tcase_add_test(tests, wrong_settings_are_named);
	tcase_add_test(tests, directories_of_killed_processes_go);
	tcase_add_test(tests, directories_that_were_hardly_begun_go);
}

int main(void)
{
	return suite_run("shim", setup, teardown, add_tests);
}
