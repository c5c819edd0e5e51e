// SPDX-License-Identifier: MIT OR GPL-2.0
/* The shim and its user: control files, the folders they are in, settings, the log. */
#include <sys/stat.h>

#include "runs.h"

/* An empty write is no value: the one in force comes back. */
START_TEST(a_control_file_is_never_empty)
{
	struct program program;
	char path[256];

	start(&program, true, "ask", "fill", 3, "GVM_LIMIT=10M");
	wait_ready(&program);
	await(&program, "gmem.limit.high", "10485760\n");
	control_path_of(&program, 0, "gmem.limit.high", path);
	suite_put_file(path, "");
	await(&program, "gmem.limit.high", "10485760\n");
	go_to_end(&program);
}
END_TEST

/* A script writes faster than the shim takes: the last value holds. */
START_TEST(the_last_write_of_a_control_file_holds)
{
	struct program program;
	char path[256], text[32];

	start(&program, true, "ask", "fill", 3, "GVM_LIMIT=10M");
	wait_ready(&program);
	await(&program, "gmem.limit.high", "10485760\n");
	control_path_of(&program, 0, "gmem.limit.high", path);
	for (int round = 0; round < 20; round++) {
		for (int i = 1; i <= 200; i++) {
			snprintf(text, sizeof(text), "%dM\n", 10 + round + i);
			suite_put_file(path, text);
		}
		snprintf(text, sizeof(text), "%d\n", (10 + round + 200) << 20);
		await(&program, "gmem.limit.high", text);
	}
	ck_assert_ptr_null(strstr(content("log"), "refused"));
	go_to_end(&program);
	assert_nothing_left();
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
	control_path_of(&program, 0, "compute.timeslice", path);
	suite_put_file(path, "soon\n");
	await(&program, "compute.timeslice", "");
	ck_assert_int_ne(access(path, F_OK), 0);
	await_line("compute.timeslice: soon is refused");
	go_to_end(&program);
	assert_nothing_left();
}
END_TEST

/* A control file is one GPU's: the other ones keep what GVM_LIMIT says. */
START_TEST(a_limit_is_moved_on_one_gpu)
{
	struct program program;
	char path[256];

	start(&program, true, "ask", "two_gpus", 100, "GVM_LIMIT=20M");
	wait_ready(&program);
	await(&program, "gmem.current", "1048576\n");
	control_path_of(&program, 0, "gmem.limit.high", path);
	suite_put_file(path, "4M\n");
	await(&program, "gmem.limit.high", "4194304\n");
	go_on(&program);
	wait_ready(&program);
	ck_assert_msg(strstr(program.out, "GPU 1: 20\n"), "%s", program.out);
	ck_assert_msg(strstr(program.out, "GPU 0: 3\n"), "%s", program.out);
	await_gpu(&program, 1, "gmem.limit.high", "20971520\n");
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

START_TEST(folders_that_are_too_long_are_named)
{
	struct program program;
	char variable[512] = "GVM_SHIM_DIR=/";

	memset(variable + strlen(variable), 'a', 400);
	run(&program, true, "ask", "launches", 1, variable);
	ck_assert_ptr_nonnull(strstr(content("log"), "GVM_SHIM_DIR=/aaa"));
}
END_TEST

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
	go_to_end(&program);
	ck_assert_int_eq(rmdir(path), 0); /* nothing is in it */
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
		go_to_end(&program);
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
	ck_assert_msg(strstr(content("log"), "writes to control files are not seen"), "%s",
		      content("log"));
	go_to_end(&program);
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
	go_to_end(&program);
	assert_nothing_left();
}
END_TEST

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
	/* Its file system is full. */
	forget_files();
	run(&program, true, "ask", "launches", 1, "GVM_SHIM_LOG=/dev/full GVM_LIMIT=8X");
	ck_assert_ptr_nonnull(strstr(content("stderr"), "GVM_LIMIT=8X is ignored"));
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

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_control_file_is_never_empty);
	tcase_add_test(tests, the_last_write_of_a_control_file_holds);
	tcase_add_test(tests, a_refused_timeslice_does_not_stay);
	tcase_add_test(tests, a_limit_is_moved_on_one_gpu);
	tcase_add_test(tests, each_gpu_has_its_own_limit);
	tcase_add_test(tests, each_wrong_setting_is_one_line);
	tcase_add_test(tests, folders_that_are_too_long_are_named);
	tcase_add_test(tests, a_folder_that_cannot_be_made_is_named);
	tcase_add_test(tests, a_folder_of_another_user_is_not_used);
	tcase_add_test(tests, a_folder_that_goes_is_made_again);
	tcase_add_test(tests, a_child_replaces_what_a_dead_process_of_its_number_left);
	tcase_add_test(tests, control_files_that_cannot_be_watched_are_named);
	tcase_add_test(tests, processes_of_another_pid_namespace_are_left_alone);
	tcase_add_test(tests, a_log_that_cannot_be_written_is_named);
	tcase_add_test(tests, a_log_stays_where_it_is_when_the_program_moves);
}

int main(void)
{
	return suite_run("shim_control", setup, teardown, add_tests);
}
