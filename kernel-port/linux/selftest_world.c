// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Does gvm_world.h keep what gvm/port.h promises? The core leans on it: a fault handler whose
 * wait cannot be interrupted would hang the removal of its device.
 */
#include "gvm/port.h"

#include <check.h>
#include <stdlib.h>

#include <linux/delay.h>

#define SELFTEST_TIMEOUT_NS (20 * NSEC_PER_MSEC)

/* A worker and what it waits for. */
struct selftest_waiter {
	struct gvm_worker worker;
	struct gvm_waitqueue wq;
	struct gvm_completion started; /* it is about to wait */
	struct gvm_completion never;   /* nobody completes it */
	bool ready;		       /* what the wait queue is for */
	int (*wait)(struct selftest_waiter *waiter);
	int status; /* what the wait returned */
};

static int selftest_wait_event(struct selftest_waiter *waiter)
{
	return gvm_wait_event_interruptible(&waiter->wq, READ_ONCE(waiter->ready));
}

static int selftest_wait_timeout(struct selftest_waiter *waiter)
{
	return gvm_wait_event_timeout_ns(&waiter->wq, READ_ONCE(waiter->ready), U64_MAX);
}

static int selftest_wait_completion(struct selftest_waiter *waiter)
{
	return gvm_completion_wait(&waiter->never);
}

/* Stopped already, but the condition is true: the condition counts. */
static int selftest_wait_true(struct selftest_waiter *waiter)
{
	gvm_wait_event(&waiter->wq, gvm_worker_should_stop());
	return gvm_wait_event_interruptible(&waiter->wq, true);
}

/* Returns at once, long before it is stopped. */
static int selftest_wait_nothing(struct selftest_waiter *waiter)
{
	return 0;
}

static void selftest_waiter_run(void *data)
{
	struct selftest_waiter *waiter = data;

	gvm_complete_all(&waiter->started);
	waiter->status = waiter->wait(waiter);
}

/* Start a worker in @wait, wake it if @ready, stop it. Returns what its wait returned. */
static int selftest_run_waiter(int (*wait)(struct selftest_waiter *waiter), bool ready)
{
	struct selftest_waiter waiter = { .wait = wait, .status = -EINPROGRESS };

	gvm_waitqueue_init(&waiter.wq);
	gvm_completion_init(&waiter.started);
	gvm_completion_init(&waiter.never);
	ck_assert_int_eq(gvm_worker_start(&waiter.worker, "gvm_selftest", selftest_waiter_run,
					  &waiter),
			 0);
	gvm_completion_wait(&waiter.started);
	if (ready) {
		WRITE_ONCE(waiter.ready, true);
		gvm_wake_up_all(&waiter.wq);
	}
	msleep(20);
	gvm_worker_stop(&waiter.worker);
	return waiter.status;
}

/* Each way to wait, and what it must return when the worker is stopped. */
static const struct {
	const char *name;
	int (*wait)(struct selftest_waiter *waiter);
	bool ready;
	int status;
} selftest_waits[] = {
	{ "stop during an interruptible wait", selftest_wait_event, false, -EINTR },
	{ "wake-up of an interruptible wait", selftest_wait_event, true, 0 },
	{ "stop during a wait without end", selftest_wait_timeout, false, -EINTR },
	{ "wake-up of a wait without end", selftest_wait_timeout, true, 0 },
	{ "stop during a completion wait", selftest_wait_completion, false, -EINTR },
	{ "a true condition after stop", selftest_wait_true, false, 0 },
	{ "stop of a worker that has ended", selftest_wait_nothing, false, 0 },
};

START_TEST(a_wait_ends_with_a_wake_up_or_with_its_worker)
{
	int status = selftest_run_waiter(selftest_waits[_i].wait, selftest_waits[_i].ready);

	ck_assert_msg(status == selftest_waits[_i].status, "%s: %d", selftest_waits[_i].name,
		      status);
}
END_TEST

START_TEST(a_wait_that_nobody_ends_takes_its_time_and_says_so)
{
	struct gvm_waitqueue wq;
	u64 begin_ns = gvm_ktime_ns();

	gvm_waitqueue_init(&wq);
	ck_assert_int_eq(gvm_wait_event_timeout_ns(&wq, false, SELFTEST_TIMEOUT_NS),
			 -ETIMEDOUT);
	ck_assert_uint_ge(gvm_ktime_ns() - begin_ns, SELFTEST_TIMEOUT_NS);
}
END_TEST

/* Lockdep compares classes, not locks: two ranges' locks are one, whoever made them. */
START_TEST(locks_of_one_name_are_one_class)
{
	char name[] = "selftest a";
	struct gvm_lock_class *a = gvm_lock_class("selftest a");

	ck_assert_ptr_eq(gvm_lock_class(name), a);
	ck_assert_ptr_ne(gvm_lock_class("selftest b"), a);
	name[0] = '\0';
	ck_assert_str_eq(a->name, "selftest a");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernel half of the port");
	TCase *waits = tcase_create("waits");
	TCase *locks = tcase_create("locks");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(waits, a_wait_ends_with_a_wake_up_or_with_its_worker, 0,
			    ARRAY_SIZE(selftest_waits));
	tcase_add_test(waits, a_wait_that_nobody_ends_takes_its_time_and_says_so);
	tcase_add_test(locks, locks_of_one_name_are_one_class);
	suite_add_tcase(suite, waits);
	suite_add_tcase(suite, locks);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
