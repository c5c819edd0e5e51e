/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The part of libcheck that the tests of the core use. gvm_coretest.ko compiles the files of
 * the tests unchanged. It differs from libcheck:
 *
 *   - libcheck forks for each test. A kernel cannot. Here a test and its fixtures have a thread
 *     of their own, and a failed assertion ends that thread. As in a forked test, there is no
 *     tear-down then: objects on the test's stack are gone, and lists may still hold them.
 *     Memory from calloc() is freed after each test.
 *   - Static data keep the values that the test before has left. So each test makes its own
 *     world.
 *   - A test must not assert under a spinlock, and must not fail while one of its workers runs.
 *   - A broken invariant aborts a program, but a kernel only warns. So tests that expect a
 *     signal are reported as skipped.
 */
#ifndef GVM_CORETEST_CHECK_H
#define GVM_CORETEST_CHECK_H

#include <linux/compiler.h>
#include <linux/kthread.h>
#include <linux/string.h>
#include <linux/types.h>

/* A test, as START_TEST() makes it. */
typedef struct TTest {
	const char *name;
	void (*fn)(int _i);
	const char *file;
} TTest;

typedef struct TCase TCase;
typedef struct Suite Suite;
typedef struct SRunner SRunner;

#define START_TEST(NAME)                                                         \
	static void NAME##_fn(int _i);                                           \
	static const TTest NAME##_ttest = { #NAME, NAME##_fn, KBUILD_BASENAME }; \
	static const TTest *const NAME = &NAME##_ttest;                          \
	static void NAME##_fn(int _i)
#define END_TEST

/* Accepted and ignored: srunner_run_all() reports in one way only. */
enum print_output { CK_NORMAL, CK_ENV };

Suite *suite_create(const char *name);
TCase *tcase_create(const char *name);
void suite_add_tcase(Suite *suite, TCase *tcase);

/* @setup and @teardown may be NULL. */
void tcase_add_checked_fixture(TCase *tcase, void (*setup)(void), void (*teardown)(void));

/* Ignored: one timeout, of the virtual machine, holds for all tests together. */
static inline void tcase_set_timeout(TCase *tcase, int seconds)
{
}

/* Add @test for each _i from @start to @end - 1. @skip: the reason to skip it, or NULL. */
void coretest_add(TCase *tcase, const TTest *test, int start, int end, const char *skip);

#define tcase_add_test(tcase, test) coretest_add((tcase), (test), 0, 1, NULL)
#define tcase_add_loop_test(tcase, test, from, to) \
	coretest_add((tcase), (test), (from), (to), NULL)
#define tcase_add_test_raise_signal(tcase, test, signal) \
	coretest_add((tcase), (test), 0, 1, "a broken invariant only warns here")

/* A runner runs one suite. srunner_free() also frees the suite. */
SRunner *srunner_create(Suite *suite);
void srunner_run_all(SRunner *runner, enum print_output output);
int srunner_ntests_failed(const SRunner *runner);
void srunner_free(SRunner *runner);

/*
 * Record that the test has failed, and the reason. Returns the completion for the exit of the
 * calling thread, which must exit now; NULL: there is none.
 */
struct completion *__printf(3, 4)
	coretest_failed(const char *file, int line, const char *fmt, ...);

/* Are the texts equal? NULL differs from every text. Two NULLs are equal if @may_be_null. */
static inline bool coretest_same_text(const char *a, const char *b, bool may_be_null)
{
	return a && b ? !strcmp(a, b) : may_be_null && a == b;
}

/*
 * objtool knows that kthread_complete_and_exit() does not return, so it is called right here.
 */
#define ck_abort_msg(fmt, ...)     \
	kthread_complete_and_exit( \
		coretest_failed(KBUILD_BASENAME, __LINE__, fmt, ##__VA_ARGS__), 0)
#define ck_assert_msg(condition, fmt, ...)                \
	do {                                              \
		if (!(condition))                         \
			ck_abort_msg(fmt, ##__VA_ARGS__); \
	} while (0)
#define ck_assert(condition) ck_assert_msg(condition, "%s", #condition)

/* @a_text and @b_text come from the callers, which have them before macros are expanded. */
#define coretest_assert_number(type, format, a, op, b, a_text, b_text)                    \
	do {                                                                              \
		const type ck_a = (a);                                                    \
		const type ck_b = (b);                                                    \
		ck_assert_msg(ck_a op ck_b,                                               \
			      "%s " #op " %s: " format " is not " #op " " format, a_text, \
			      b_text, ck_a, ck_b);                                        \
	} while (0)
#define ck_assert_int_eq(a, b)	 coretest_assert_number(s64, "%lld", a, ==, b, #a, #b)
#define ck_assert_int_gt(a, b)	 coretest_assert_number(s64, "%lld", a, >, b, #a, #b)
#define ck_assert_uint_eq(a, b)	 coretest_assert_number(u64, "%llu", a, ==, b, #a, #b)
#define ck_assert_uint_lt(a, b)	 coretest_assert_number(u64, "%llu", a, <, b, #a, #b)
#define ck_assert_uint_le(a, b)	 coretest_assert_number(u64, "%llu", a, <=, b, #a, #b)
#define ck_assert_uint_gt(a, b)	 coretest_assert_number(u64, "%llu", a, >, b, #a, #b)
#define ck_assert_uint_ge(a, b)	 coretest_assert_number(u64, "%llu", a, >=, b, #a, #b)

#define ck_assert_ptr_eq(a, b)	 ck_assert_msg((a) == (b), "%s", #a " == " #b)
#define ck_assert_ptr_ne(a, b)	 ck_assert_msg((a) != (b), "%s", #a " != " #b)
#define ck_assert_ptr_null(a)	 ck_assert_msg(!(a), "%s", #a " is NULL")
#define ck_assert_ptr_nonnull(a) ck_assert_msg((a), "%s", #a " is not NULL")

#define coretest_assert_text(a, b, a_text, may_be_null)                        \
	do {                                                                   \
		const char *ck_a = (a);                                        \
		const char *ck_b = (b);                                        \
		ck_assert_msg(coretest_same_text(ck_a, ck_b, may_be_null),     \
			      "%s: \"%s\" is not \"%s\"", a_text, ck_a, ck_b); \
	} while (0)
#define ck_assert_str_eq(a, b)	coretest_assert_text(a, b, #a, false)
#define ck_assert_pstr_eq(a, b) coretest_assert_text(a, b, #a, true)

#endif
