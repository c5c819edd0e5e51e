// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Does gvm_world.h keep what gvm/port.h promises? The core leans on it: a fault handler whose
 * wait cannot be interrupted would hang the removal of its device.
 */
#include "gvm/port.h"

#include <linux/delay.h>

#include "selftest.h"

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
	if (gvm_worker_start(&waiter.worker, "gvm_selftest", selftest_waiter_run, &waiter))
		return -ENOMEM;
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

/* A wait that nobody ends takes its time, and says so. */
static bool selftest_timeout(void)
{
	struct gvm_waitqueue wq;
	u64 begin_ns = gvm_ktime_ns();
	int status;

	gvm_waitqueue_init(&wq);
	status = gvm_wait_event_timeout_ns(&wq, false, SELFTEST_TIMEOUT_NS);
	return status == -ETIMEDOUT && gvm_ktime_ns() - begin_ns >= SELFTEST_TIMEOUT_NS;
}

const char *selftest_world(void)
{
	u32 i;

	if (!selftest_timeout())
		return "timeout";
	for (i = 0; i < ARRAY_SIZE(selftest_waits); i++) {
		if (selftest_run_waiter(selftest_waits[i].wait, selftest_waits[i].ready) !=
		    selftest_waits[i].status)
			return selftest_waits[i].name;
	}
	return NULL;
}
