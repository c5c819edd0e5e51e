// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The checker of lock order aborts at each planted mistake, and accepts correct orders. Each
 * test runs in a process of its own, and so starts with no stated orders. The checker's report
 * goes to stderr.
 */
#include "gvm/port.h"
#include "runner.h"

#include <signal.h>
#include <unistd.h>

static struct gvm_mutex a, b, c, other_a;
static struct gvm_spinlock leaf;

static void init_locks(void)
{
	gvm_mutex_init(&a, "class a");
	gvm_mutex_init(&b, "class b");
	gvm_mutex_init(&c, "class c");
	gvm_mutex_init(&other_a, "class a");
	gvm_spin_init(&leaf, "class leaf");
}

static void nest(struct gvm_mutex *outer, struct gvm_mutex *inner)
{
	gvm_mutex_lock(outer);
	gvm_mutex_lock(inner);
	gvm_mutex_unlock(inner);
	gvm_mutex_unlock(outer);
}

START_TEST(an_order_that_is_kept_is_no_mistake)
{
	int i;

	init_locks();
	for (i = 0; i < 3; i++) {
		nest(&a, &b);
		nest(&b, &c);
		nest(&a, &c);
		gvm_mutex_lock(&a);
		gvm_mutex_lock(&b);
		/* Released in the order of taking, and not in reverse. */
		gvm_mutex_unlock(&a);
		gvm_spin_lock(&leaf);
		gvm_spin_unlock(&leaf);
		gvm_mutex_unlock(&b);
		nest(&other_a, &b);
	}
	/* A lock that is released before the next is taken states no order. */
	gvm_mutex_lock(&c);
	gvm_mutex_unlock(&c);
	nest(&a, &b);
}
END_TEST

START_TEST(two_locks_in_both_orders_abort)
{
	init_locks();
	nest(&a, &b);
	nest(&b, &a);
}
END_TEST

/* a comes before b, and b before c. No thread ever holds a and c together. */
START_TEST(an_inversion_at_two_removes_aborts)
{
	init_locks();
	nest(&b, &c);
	nest(&a, &b);
	nest(&c, &a);
}
END_TEST

/* The class counts: another thread could take two locks of it in the other order. */
START_TEST(two_locks_of_a_class_at_once_abort)
{
	init_locks();
	nest(&a, &other_a);
}
END_TEST

START_TEST(a_lock_that_is_taken_twice_aborts)
{
	init_locks();
	gvm_mutex_lock(&a);
	gvm_mutex_lock(&b);
	gvm_mutex_lock(&a);
}
END_TEST

START_TEST(to_give_up_what_is_not_held_aborts)
{
	init_locks();
	gvm_mutex_unlock(&a);
}
END_TEST

/* Read the checker's report of an inversion in a child process. */
static void read_complaint(char *text, size_t size)
{
	size_t length = 0;
	ssize_t got;
	int ends[2];
	pid_t child;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		init_locks();
		nest(&b, &c);
		nest(&a, &b);
		nest(&c, &a);
		_exit(0);
	}
	close(ends[1]);
	while (length < size - 1 && (got = read(ends[0], text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	close(ends[0]);
}

/* The report names the locks of this thread, then the two steps that stated the other order. */
START_TEST(both_chains_are_told_with_their_places)
{
	static const char *const said[] = {
		"locks are taken in two orders", "has   \"class c\" from ",
		"wants \"class a\" at ",	 "had   \"class a\" from ",
		"took  \"class b\" at ",	 "had   \"class b\" from ",
		"took  \"class c\" at ",	 "broken invariant: locks have one order",
	};
	char text[8192];
	char *next = text;
	size_t i;

	read_complaint(text, sizeof(text));
	for (i = 0; i < ARRAY_SIZE(said); i++) {
		next = strstr(next, said[i]);
		ck_assert_msg(next, "\"%s\" is missing, or not in its place: %s", said[i],
			      text);
	}
	ck_assert_ptr_nonnull(strstr(text, "test_lock_order.c:"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lock order");
	TCase *tcase = tcase_create("lock order");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 600);
	tcase_add_test(tcase, an_order_that_is_kept_is_no_mistake);
	tcase_add_test(tcase, both_chains_are_told_with_their_places);
	tcase_add_test_raise_signal(tcase, two_locks_in_both_orders_abort, SIGABRT);
	tcase_add_test_raise_signal(tcase, an_inversion_at_two_removes_aborts, SIGABRT);
	tcase_add_test_raise_signal(tcase, two_locks_of_a_class_at_once_abort, SIGABRT);
	tcase_add_test_raise_signal(tcase, a_lock_that_is_taken_twice_aborts, SIGABRT);
	tcase_add_test_raise_signal(tcase, to_give_up_what_is_not_held_aborts, SIGABRT);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
