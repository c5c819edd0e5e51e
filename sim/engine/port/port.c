// SPDX-License-Identifier: MIT OR GPL-2.0
/* The user-space half of the port header; see gvm_world.h. */
#include "gvm/port.h"

#include <stdio.h>
#include <stdlib.h>

const struct gvm_port_alloc_hook *gvm_port_alloc_hook;
u64 gvm_port_cost_ns[GVM_COST_KINDS];
const struct gvm_spinlock *gvm_port_spin_held;

static void port_assert_may_sleep(void)
{
	GVM_ASSERT(!gvm_port_spin_held);
}

int scnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list args;
	int length;

	if (size == 0)
		return 0;
	va_start(args, fmt);
	length = vsnprintf(buf, size, fmt, args);
	va_end(args);
	if (length < 0)
		return 0;
	return (size_t)length < size ? length : (int)(size - 1);
}

void *gvm_alloc(size_t bytes)
{
	port_assert_may_sleep();
	if (gvm_port_alloc_hook)
		return gvm_port_alloc_hook->alloc(bytes);
	return calloc(1, bytes);
}

void gvm_free(void *memory)
{
	if (gvm_port_alloc_hook)
		gvm_port_alloc_hook->release(memory);
	else
		free(memory);
}

void gvm_mutex_init(struct gvm_mutex *lock, const char *name)
{
	*lock = (struct gvm_mutex){ .name = name };
}

void gvm_mutex_lock(struct gvm_mutex *lock)
{
	port_assert_may_sleep();
	GVM_ASSERT(!lock->held || lock->owner != eng_self());
	/* Woken with the lock already ours: an unlock hands it over. */
	while (lock->held && lock->owner != eng_self())
		eng_wait(&lock->waitq, ENG_NEVER, false);
	lock->held = true;
	lock->owner = eng_self();
}

void gvm_mutex_unlock(struct gvm_mutex *lock)
{
	GVM_ASSERT(lock->held && lock->owner == eng_self());
	if (lock->waitq.first)
		eng_pay_debt();
	lock->owner = lock->waitq.first;
	lock->held = lock->owner != NULL;
	eng_wake_one(&lock->waitq);
}

void gvm_waitqueue_init(struct gvm_waitqueue *wq)
{
	*wq = (struct gvm_waitqueue){ 0 };
}

void gvm_wake_up_all(struct gvm_waitqueue *wq)
{
	eng_wake_all(&wq->waitq);
}

int gvm_port_wait(struct gvm_waitqueue *wq, u64 date, bool interruptible)
{
	port_assert_may_sleep();
	return eng_wait(&wq->waitq, date, interruptible);
}

u64 gvm_port_date_in(u64 ns)
{
	u64 now = eng_now();

	return ns > ENG_NEVER - now ? ENG_NEVER : now + ns;
}

void gvm_completion_init(struct gvm_completion *completion)
{
	*completion = (struct gvm_completion){ 0 };
}

void gvm_complete_all(struct gvm_completion *completion)
{
	completion->done = true;
	eng_wake_all(&completion->waitq);
}

int gvm_completion_wait(struct gvm_completion *completion)
{
	int status = 0;

	port_assert_may_sleep();
	while (!completion->done && !status)
		status = eng_wait(&completion->waitq, ENG_NEVER, true);
	return status;
}

int gvm_worker_start(struct gvm_worker *worker, const char *name, void (*function)(void *data),
		     void *data)
{
	port_assert_may_sleep();
	worker->actor = eng_spawn(name, function, data);
	return worker->actor ? 0 : -ENOMEM;
}

bool gvm_worker_should_stop(void)
{
	return eng_interrupted();
}

bool gvm_give_way(void)
{
	port_assert_may_sleep();
	return eng_interrupted();
}

void gvm_worker_stop(struct gvm_worker *worker)
{
	port_assert_may_sleep();
	eng_interrupt(worker->actor);
	eng_join(worker->actor);
	worker->actor = NULL;
}

u64 gvm_ktime_ns(void)
{
	return eng_now();
}

void gvm_port_log(const char *level, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "gvm: %s", level);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void gvm_port_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "gvm: broken invariant: %s (%s:%d, at %llu ns)\n", what, file, line,
		(u64)eng_now());
	abort();
}

void gvm_cost(enum gvm_cost kind, u32 n)
{
	eng_add_debt(gvm_port_cost_ns[kind] * n);
}
