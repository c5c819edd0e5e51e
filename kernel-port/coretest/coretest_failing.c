// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Tests that fail on purpose, each in its own way, and one that passes. They prove that the
 * runner reports failures, goes on after them, and lets the module be unloaded.
 * tests/kernel/guest_tests.c has the expected report.
 */
#include "core_world.h"

#include <stdlib.h>

static struct gvm_container *container;

/*
 * Leaves memory, an attached TSG on its stack, and a locked mutex behind. With lockdep it does
 * not take the mutex: lockdep reports a thread that ends with a lock held, and switches itself
 * off.
 */
START_TEST(an_assertion_that_fails_ends_the_test)
{
	struct gvm_tsg tsg;

	ck_assert_int_eq(gvm_tsg_attach(container, &tsg, 1), 0);
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		gvm_mutex_lock(&world.device.tsg_mutex);
	ck_assert_uint_lt(world.device.chunk_count, 1);
	gvm_warn("this is never reached");
}
END_TEST

START_TEST(the_next_test_passes)
{
	world_charge(container);
}
END_TEST

START_TEST(a_leak_fails_the_tear_down)
{
	ck_assert_ptr_nonnull(gvm_port_alloc_hook->alloc(1));
}
END_TEST

static void fail_in_worker(void *data)
{
	gvm_complete_all(data);
	ck_abort_msg("in a worker");
}

/* The worker ends where it fails. The test itself goes on to its end. */
START_TEST(a_failure_in_a_worker_counts)
{
	struct gvm_worker worker;
	struct gvm_completion begun;

	gvm_completion_init(&begun);
	ck_assert_int_eq(gvm_worker_start(&worker, "gvm_coretest", fail_in_worker, &begun), 0);
	gvm_completion_wait(&begun);
	gvm_worker_stop(&worker);
}
END_TEST

START_TEST(a_failed_set_up_fails_the_test)
{
	gvm_warn("this is never reached");
}
END_TEST

START_TEST(a_signal_is_not_waited_for)
{
	gvm_warn("this is never reached");
}
END_TEST

static void setup(void)
{
	world_init(WORLD_CHUNKS);
	container = world_attach(1);
}

static void teardown(void)
{
	world_detach(container);
	world_destroy();
}

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, an_assertion_that_fails_ends_the_test);
	tcase_add_test(tests, the_next_test_passes);
	tcase_add_test(tests, a_leak_fails_the_tear_down);
	tcase_add_test(tests, a_failure_in_a_worker_counts);
	tcase_add_test_raise_signal(tests, a_signal_is_not_waited_for, SIGABRT);
}

static void setup_too_large(void)
{
	world_init(WORLD_CHUNKS_MAX + 1);
}

static void add_set_up_tests(TCase *tests)
{
	tcase_add_test(tests, a_failed_set_up_fails_the_test);
}

int main(void)
{
	Suite *suite = suite_create("failing, on purpose");

	world_add_case(suite, "tests", setup, teardown, add_tests);
	world_add_case(suite, "set-up", setup_too_large, NULL, add_set_up_tests);
	return world_run(suite);
}
