// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Tests that gvm_world.h keeps the promises of gvm/port.h. The core relies on them. For
 * example, if the wait of a fault handler could not be interrupted, its device could not be
 * removed.
 */
#include "gvm/port.h"

#include <check.h>
#include <stdlib.h>

#include <linux/delay.h>

#define CORETEST_TIMEOUT_NS (20 * NSEC_PER_MSEC)

/* A worker and the objects that it waits for. */
struct coretest_waiter {
	struct gvm_worker worker;
	struct gvm_waitqueue wq;
	struct gvm_completion started; /* it is about to wait */
	struct gvm_completion never;   /* is never completed */
	bool ready;		       /* the condition of the wait queue */
	int (*wait)(struct coretest_waiter *waiter);
	int status; /* result of the wait */
};

static int coretest_wait_event(struct coretest_waiter *waiter)
{
	return gvm_wait_event_interruptible(&waiter->wq, READ_ONCE(waiter->ready));
}

static int coretest_wait_timeout(struct coretest_waiter *waiter)
{
	return gvm_wait_event_timeout_ns(&waiter->wq, READ_ONCE(waiter->ready), U64_MAX);
}

static int coretest_wait_completion(struct coretest_waiter *waiter)
{
	return gvm_completion_wait(&waiter->never);
}

/* The worker is stopped already, but the condition is true. The condition counts. */
static int coretest_wait_true(struct coretest_waiter *waiter)
{
	gvm_wait_event(&waiter->wq, gvm_worker_should_stop());
	return gvm_wait_event_interruptible(&waiter->wq, true);
}

/* Return at once, long before the worker is stopped. */
static int coretest_wait_nothing(struct coretest_waiter *waiter)
{
	return 0;
}

static void coretest_waiter_run(void *data)
{
	struct coretest_waiter *waiter = data;

	gvm_complete_all(&waiter->started);
	waiter->status = waiter->wait(waiter);
}

/*
 * Start a worker that calls @wait, wake it if @ready, and stop it. Returns the result of @wait.
 */
static int coretest_run_waiter(int (*wait)(struct coretest_waiter *waiter), bool ready)
{
	struct coretest_waiter waiter = { .wait = wait, .status = -EINPROGRESS };

	gvm_waitqueue_init(&waiter.wq);
	gvm_completion_init(&waiter.started);
	gvm_completion_init(&waiter.never);
	ck_assert_int_eq(gvm_worker_start(&waiter.worker, "gvm_coretest", coretest_waiter_run,
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

/* Each kind of wait, and its result when the worker is stopped. */
static const struct {
	const char *name;
	int (*wait)(struct coretest_waiter *waiter);
	bool ready;
	int status;
} coretest_waits[] = {
	{ "stop during an interruptible wait", coretest_wait_event, false, -EINTR },
	{ "wake-up of an interruptible wait", coretest_wait_event, true, 0 },
	{ "stop during a wait without end", coretest_wait_timeout, false, -EINTR },
	{ "wake-up of a wait without end", coretest_wait_timeout, true, 0 },
	{ "stop during a completion wait", coretest_wait_completion, false, -EINTR },
	{ "a true condition after stop", coretest_wait_true, false, 0 },
	{ "stop of a worker that has ended", coretest_wait_nothing, false, 0 },
};

START_TEST(a_wait_ends_with_a_wake_up_or_with_its_worker)
{
	int status = coretest_run_waiter(coretest_waits[_i].wait, coretest_waits[_i].ready);

	ck_assert_msg(status == coretest_waits[_i].status, "%s: %d", coretest_waits[_i].name,
		      status);
}
END_TEST

START_TEST(a_wait_that_is_never_woken_times_out)
{
	struct gvm_waitqueue wq;
	u64 begin_ns = gvm_ktime_ns();

	gvm_waitqueue_init(&wq);
	ck_assert_int_eq(gvm_wait_event_timeout_ns(&wq, false, CORETEST_TIMEOUT_NS),
			 -ETIMEDOUT);
	ck_assert_uint_ge(gvm_ktime_ns() - begin_ns, CORETEST_TIMEOUT_NS);
}
END_TEST

/* Lockdep compares classes, not locks: the locks of two ranges are of one class. */
START_TEST(locks_of_one_name_are_one_class)
{
	char name[] = "coretest a";
	struct gvm_lock_class *a = gvm_lock_class("coretest a");

	ck_assert_ptr_eq(gvm_lock_class(name), a);
	ck_assert_ptr_ne(gvm_lock_class("coretest b"), a);
	name[0] = '\0';
	ck_assert_str_eq(a->name, "coretest a");
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
			    ARRAY_SIZE(coretest_waits));
	tcase_add_test(waits, a_wait_that_is_never_woken_times_out);
	tcase_add_test(locks, locks_of_one_name_are_one_class);
	suite_add_tcase(suite, waits);
	suite_add_tcase(suite, locks);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
