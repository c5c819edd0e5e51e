// SPDX-License-Identifier: MIT OR GPL-2.0
/* The shim reports launches to gvm.ko: module.c stands in for it. */
#include "runs.h"

/* The environment of a program with the stand-in: where that reports to, and @more. */
static const char *beside(const char *more)
{
	static char variables[256];
	char path[128];

	path_of("module", path, sizeof(path));
	snprintf(variables, sizeof(variables), "MODULE_REPORT=%s%s", path, more);
	return variables;
}

static void await_report(const char *line)
{
	for (int i = 0; i < 1000 && !strstr(content("module"), line); i++)
		usleep(10000);
	ck_assert_msg(strstr(content("module"), line), "no '%s' in '%s'", line,
		      content("module"));
}

/* It is told while they are pending, and when they have ended. */
START_TEST(the_module_hears_of_each_launch)
{
	struct program program;

	start(&program, true, "ask", "pending", 7, beside(""));
	wait_ready(&program);
	await_report("gpu 0 submitted 7 ended 0 behind 0 of ");
	go_on(&program);
	wait_ready(&program);
	await_report("gpu 0 submitted 7 ended 7 behind 0 of ");
	go_on(&program);
	finish(&program);
	ck_assert_int_eq(last_number("module", "submitted "), 7);
	ck_assert_int_eq(last_number("module", "ended "), 7);
}
END_TEST

/* A process has no container before it has managed memory. What it launched is not lost. */
START_TEST(what_the_module_refused_is_told_again)
{
	struct program program;

	start(&program, true, "ask", "pending", 7, beside(" MODULE_REFUSES=5"));
	wait_ready(&program);
	await_report("gpu 0 submitted 7 ended 0 behind 5 of ");
	go_on(&program);
	wait_ready(&program);
	await_report("gpu 0 submitted 7 ended 7 behind 5 of ");
	go_on(&program);
	finish(&program);
}
END_TEST

/* An open file is of one GPU. */
START_TEST(the_module_hears_of_each_gpu)
{
	struct program program;

	start(&program, true, "ask", "both_gpus", 3, beside(""));
	wait_ready(&program);
	await_report("gpu 0 submitted 3 ended 0 behind 0 of ");
	await_report("gpu 1 submitted 3 ended 0 behind 0 of ");
	go_on(&program);
	wait_ready(&program);
	await_report("gpu 0 submitted 3 ended 3 behind 0 of ");
	await_report("gpu 1 submitted 3 ended 3 behind 0 of ");
	go_on(&program);
	finish(&program);
}
END_TEST

/* Counted between two looks, or not yet looked at: the end of the process tells all. */
START_TEST(the_module_hears_of_the_last_launches)
{
	struct program program;

	run(&program, true, "ask", "launches", 100, beside(""));
	ck_assert_int_eq(last_number("module", "submitted "), 300 + 5 + 29);
	ck_assert_int_eq(last_number("module", "ended "), 300 + 5 + 29);
}
END_TEST

/* A program that has no control files: the folder cannot be made. */
START_TEST(the_module_hears_without_control_files)
{
	struct program program;

	start(&program, true, "ask", "pending", 7, beside(" GVM_SHIM_DIR=/proc/nowhere"));
	wait_ready(&program);
	await_report("gpu 0 submitted 7 ended 0 behind 0 of ");
	go_on(&program);
	wait_ready(&program);
	await_report("gpu 0 submitted 7 ended 7 behind 0 of ");
	go_on(&program);
	finish(&program);
	ck_assert_ptr_nonnull(strstr(content("log"), "there are no control files"));
}
END_TEST

/* Children of a fork, with a launch each, end by exit() and by _exit(); and their parent. */
START_TEST(the_module_hears_of_children)
{
	struct program program;
	char seen[1024] = "", word[16];
	const char *text;
	int processes = 0;

	run(&program, true, "dlsym", "fork", 6, beside(""));
	ck_assert_ptr_null(strstr(content("module"), "submitted 2"));
	for (text = content("module"); (text = strstr(text, " of ")); text++) {
		snprintf(word, sizeof(word), "<%d>", atoi(text + 4));
		if (strstr(seen, word))
			continue;
		strcat(seen, word);
		processes++;
	}
	ck_assert_int_eq(processes, 7);
}
END_TEST

/* A child that no handler of fork() knows of tells nothing again: the file is its parent's. */
START_TEST(the_module_hears_nothing_of_bare_children)
{
	struct program program;
	char parent[32];
	const char *text;

	run(&program, true, "dlsym", "bare_fork", 20, beside(""));
	snprintf(parent, sizeof(parent), " of %d\n", (int)program.pid);
	for (text = content("module"); (text = strstr(text, " of ")); text++)
		ck_assert_msg(!strncmp(text, parent, strlen(parent)), "%s", content("module"));
	ck_assert_int_eq(last_number("module", "submitted "), 20);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, the_module_hears_of_each_launch);
	tcase_add_test(tests, what_the_module_refused_is_told_again);
	tcase_add_test(tests, the_module_hears_of_each_gpu);
	tcase_add_test(tests, the_module_hears_of_the_last_launches);
	tcase_add_test(tests, the_module_hears_without_control_files);
	tcase_add_test(tests, the_module_hears_of_children);
	tcase_add_test(tests, the_module_hears_nothing_of_bare_children);
}

int main(void)
{
	return suite_run("shim_module", setup, teardown, add_tests);
}
