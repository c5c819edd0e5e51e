/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Shared by libcheck programs of user space: a suite whose tests have a set-up, and the fresh
 * folder that each test works in. core/runner.h is for programs that a kernel runs, too.
 */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Run the tests that @add_tests adds, each in a process of its own between @setup and @teardown
 * (NULL: none). Returns an exit status. The time limit is for thousands of files under
 * sanitizers.
 */
static inline int suite_run(const char *name, void (*setup)(void), void (*teardown)(void),
			    void (*add_tests)(TCase *tests))
{
	Suite *suite = suite_create(name);
	TCase *tests = tcase_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	if (setup)
		tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 600); /* a guard against hangs: a busy machine is slow */
	add_tests(tests);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * Make a fresh folder and write its path. It is in memory if possible: a busy disk takes a
 * minute.
 */
static inline void suite_make_folder(char *ret_path, size_t size)
{
	snprintf(ret_path, size, "%s/test.XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	ck_assert_ptr_nonnull(mkdtemp(ret_path));
}

/* Remove a folder with all that is in it. */
static inline void suite_remove_folder(const char *path)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	ck_assert_int_eq(system(command), 0);
}

/*
 * Is @text like @pattern, in which each "*" stands for any text? For messages that list all keys
 * or names: what matters are some of them, and the list grows.
 */
static inline bool suite_is_like(const char *text, const char *pattern)
{
	for (; *pattern != '*'; pattern++, text++) {
		if (*pattern != *text)
			return false;
		if (!*pattern)
			return true;
	}
	for (; !suite_is_like(text, pattern + 1); text++)
		if (!*text)
			return false;
	return true;
}

/* Write @text into a file. */
static inline void suite_put_file(const char *path, const char *text)
{
	FILE *stream = fopen(path, "w");

	ck_assert_msg(stream, "cannot write %s", path);
	ck_assert_int_ge(fputs(text, stream), 0);
	ck_assert_int_eq(fclose(stream), 0);
}

#endif
