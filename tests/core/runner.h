/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* TEST_MAIN("suite", test, test, ...) ends each libcheck program here. */
#ifndef TESTS_RUNNER_H
#define TESTS_RUNNER_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Run the tests, each in a process of its own unless CK_FORK=no. Returns an exit status. */
static inline int run_suite(const char *name, const TTest *const *tests, size_t count)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;
	size_t i;

	tcase_set_timeout(tcase, 600); /* a guard against hangs: a busy machine is slow */
	for (i = 0; i < count; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The seed of a random test: GVM_TEST_SEED, or @usual. It is printed. */
static inline unsigned long long runner_seed_or(unsigned long long usual)
{
	const char *given = getenv("GVM_TEST_SEED");
	unsigned long long seed = given ? strtoull(given, NULL, 0) : usual;

	printf("GVM_TEST_SEED=%llu\n", seed);
	fflush(stdout);
	return seed;
}

/* The same, with a new seed each time. */
static inline unsigned long long runner_seed(void)
{
	return runner_seed_or((unsigned long long)time(NULL) * 1000003u);
}

#define TEST_MAIN(name, ...)                                                     \
	int main(void)                                                           \
	{                                                                        \
		const TTest *const tests[] = { __VA_ARGS__ };                    \
		return run_suite(name, tests, sizeof(tests) / sizeof(tests[0])); \
	}

#endif
