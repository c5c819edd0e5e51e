// SPDX-License-Identifier: MIT OR GPL-2.0
/* The port over POSIX threads; see gvm_world.h. */
#include "gvm/port.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_SEC	   1000000000ull
#define THREAD_STACK_BYTES (512u << 10)
#define THREAD_NAME_MAX	   16 /* as in a kernel's task and for pthread_setname_np() */

/*
 * A thread yields once in YIELD_CHANCE places. One yield in YIELD_SLEEP_SHARE is a sleep, of
 * less than YIELD_SLEEP_NS.
 */
#define YIELD_CHANCE	  8u
#define YIELD_SLEEP_NS	  20000u
#define YIELD_SLEEP_SHARE 4u

/* The data of a thread that a kernel keeps in its task. */
struct gvm_port_thread {
	struct gvm_locks locks;
	u32 atomic_depth; /* spinlocks held */
	u64 random;	  /* state of its random yields */
	/* For workers only, but for the last two. */
	pthread_t handle;
	char name[THREAD_NAME_MAX];
	void (*function)(void *data);
	void *data;
	bool stop;			 /* relaxed; set once */
	pthread_mutex_t mutex;		 /* guards sleeps_in */
	struct gvm_waitqueue *sleeps_in; /* gvm_worker_stop() wakes it there */
};

static u64 port_threads_made; /* atomic; makes each thread's random numbers different */

static __thread struct gvm_port_thread *port_self;

static void thread_init(struct gvm_port_thread *thread)
{
	u64 number = __atomic_add_fetch(&port_threads_made, 1, __ATOMIC_RELAXED);

	thread->random = gvm_port_yield_seed * 0x9E3779B97F4A7C15ull + number;
	pthread_mutex_init(&thread->mutex, NULL);
}

/* A thread that is no worker, such as main(), has a thread-local struct. */
struct gvm_port_thread *gvm_port_self(void)
{
	static __thread struct gvm_port_thread stranger;

	if (!port_self) {
		port_self = &stranger;
		thread_init(port_self);
	}
	return port_self;
}

void gvm_port_assert_may_sleep(void)
{
	GVM_ASSERT(gvm_port_self()->atomic_depth == 0);
}

/*
 * A preemptive kernel would do this anywhere. Most yields let any ready thread run; the others
 * sleep.
 */
static void maybe_yield(struct gvm_port_thread *self)
{
	u64 chance;

	if (!gvm_port_yield_seed || self->atomic_depth)
		return;
	chance = gvm_port_draw(&self->random);
	if (chance % YIELD_CHANCE)
		return;
	chance /= YIELD_CHANCE;
	if (chance % YIELD_SLEEP_SHARE) {
		sched_yield();
	} else {
		struct timespec pause = { .tv_nsec = (long)((chance >> 8) % YIELD_SLEEP_NS) };

		nanosleep(&pause, NULL);
	}
}

/* Locks. */

static void lock_init(struct gvm_port_lock *lock, const char *name)
{
	pthread_mutex_init(&lock->mutex, NULL);
	lock->class = gvm_lock_class(name);
	lock->owner = NULL;
}

static void lock_take(struct gvm_port_lock *lock, const char *place)
{
	struct gvm_port_thread *self = gvm_port_self();

	gvm_locks_add(&self->locks, lock, lock->class, place);
	pthread_mutex_lock(&lock->mutex);
	WRITE_ONCE(lock->owner, self);
}

static void lock_give(struct gvm_port_lock *lock)
{
	GVM_ASSERT(gvm_port_is_owner(lock));
	gvm_locks_remove(&gvm_port_self()->locks, lock);
	WRITE_ONCE(lock->owner, NULL);
	pthread_mutex_unlock(&lock->mutex);
}

bool gvm_port_is_owner(const struct gvm_port_lock *lock)
{
	return READ_ONCE(lock->owner) == gvm_port_self();
}

void gvm_spin_init(struct gvm_spinlock *lock, const char *name)
{
	lock_init(&lock->lock, name);
}

void gvm_port_spin_lock(struct gvm_spinlock *lock, const char *place)
{
	maybe_yield(gvm_port_self());
	lock_take(&lock->lock, place);
	gvm_port_self()->atomic_depth++;
}

void gvm_spin_unlock(struct gvm_spinlock *lock)
{
	lock_give(&lock->lock);
	gvm_port_self()->atomic_depth--;
	maybe_yield(gvm_port_self());
}

void gvm_mutex_init(struct gvm_mutex *lock, const char *name)
{
	lock_init(&lock->lock, name);
}

void gvm_port_mutex_lock(struct gvm_mutex *lock, const char *place)
{
	gvm_port_assert_may_sleep();
	maybe_yield(gvm_port_self());
	lock_take(&lock->lock, place);
}

bool gvm_port_mutex_trylock(struct gvm_mutex *lock, const char *place)
{
	struct gvm_port_thread *self = gvm_port_self();

	if (pthread_mutex_trylock(&lock->lock.mutex))
		return false;
	gvm_locks_add(&self->locks, &lock->lock, lock->lock.class, place);
	WRITE_ONCE(lock->lock.owner, self);
	return true;
}

void gvm_mutex_unlock(struct gvm_mutex *lock)
{
	lock_give(&lock->lock);
	maybe_yield(gvm_port_self());
}

/* Waits. */

void gvm_waitqueue_init(struct gvm_waitqueue *wq)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&wq->woken, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&wq->mutex, NULL);
	wq->wakes = 0;
}

static void wake_locked(struct gvm_waitqueue *wq)
{
	wq->wakes++;
	pthread_cond_broadcast(&wq->woken);
}

void gvm_wake_up_all(struct gvm_waitqueue *wq)
{
	gvm_port_assert_may_sleep(); /* waking many takes long: not under a spinlock */
	gvm_wake_up_one(wq);
}

void gvm_wake_up_one(struct gvm_waitqueue *wq)
{
	pthread_mutex_lock(&wq->mutex);
	wake_locked(wq);
	pthread_mutex_unlock(&wq->mutex);
}

u64 gvm_port_wakes(struct gvm_waitqueue *wq)
{
	u64 wakes;

	gvm_port_assert_may_sleep();
	pthread_mutex_lock(&wq->mutex);
	wakes = wq->wakes;
	pthread_mutex_unlock(&wq->mutex);
	return wakes;
}

static void thread_sleeps_in(struct gvm_port_thread *thread, struct gvm_waitqueue *wq)
{
	pthread_mutex_lock(&thread->mutex);
	thread->sleeps_in = wq;
	pthread_mutex_unlock(&thread->mutex);
}

/* Sleep until a wake-up. A sleep may end early, for no reason: then it is repeated. */
static int sleep_locked(struct gvm_waitqueue *wq, u64 wakes, u64 date, bool interruptible)
{
	const struct timespec until = {
		.tv_sec = (time_t)(date / NS_PER_SEC),
		.tv_nsec = (long)(date % NS_PER_SEC),
	};

	while (wq->wakes == wakes) {
		if (interruptible && gvm_worker_should_stop())
			return -EINTR;
		if (date == U64_MAX)
			pthread_cond_wait(&wq->woken, &wq->mutex);
		else if (pthread_cond_timedwait(&wq->woken, &wq->mutex, &until) == ETIMEDOUT)
			return -ETIMEDOUT;
	}
	return 0;
}

/*
 * gvm_worker_stop() sets a worker's stop flag, then wakes the worker in the queue where it
 * sleeps.
 */
int gvm_port_wait(struct gvm_waitqueue *wq, u64 wakes, u64 date, bool interruptible)
{
	struct gvm_port_thread *self = gvm_port_self();
	int status;

	thread_sleeps_in(self, wq);
	pthread_mutex_lock(&wq->mutex);
	status = sleep_locked(wq, wakes, date, interruptible);
	pthread_mutex_unlock(&wq->mutex);
	thread_sleeps_in(self, NULL);
	return status;
}

void gvm_completion_init(struct gvm_completion *completion)
{
	gvm_waitqueue_init(&completion->wq);
	completion->done = false;
}

void gvm_complete_all(struct gvm_completion *completion)
{
	pthread_mutex_lock(&completion->wq.mutex);
	completion->done = true;
	wake_locked(&completion->wq);
	pthread_mutex_unlock(&completion->wq.mutex);
}

static bool completion_is_done(struct gvm_completion *completion)
{
	bool done;

	pthread_mutex_lock(&completion->wq.mutex);
	done = completion->done;
	pthread_mutex_unlock(&completion->wq.mutex);
	return done;
}

int gvm_completion_wait(struct gvm_completion *completion)
{
	return gvm_wait_event_interruptible(&completion->wq, completion_is_done(completion));
}

/* Threads. */

static void *worker_main(void *data)
{
	port_self = data;
	pthread_setname_np(pthread_self(), port_self->name);
	if (!gvm_worker_should_stop())
		port_self->function(port_self->data);
	GVM_ASSERT(port_self->locks.count == 0);
	return NULL;
}

static int worker_create(struct gvm_port_thread *thread)
{
	pthread_attr_t attributes;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	error = pthread_create(&thread->handle, &attributes, worker_main, thread);
	pthread_attr_destroy(&attributes);
	return error;
}

int gvm_worker_start(struct gvm_worker *worker, const char *name, void (*function)(void *data),
		     void *data)
{
	struct gvm_port_thread *thread;

	gvm_port_assert_may_sleep();
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	thread_init(thread);
	snprintf(thread->name, sizeof(thread->name), "%s", name);
	thread->function = function;
	thread->data = data;
	if (worker_create(thread)) {
		free(thread);
		return -ENOMEM;
	}
	worker->thread = thread;
	return 0;
}

bool gvm_worker_should_stop(void)
{
	return READ_ONCE(gvm_port_self()->stop);
}

/*
 * A worker checks its stop flag under the queue's mutex before it sleeps, so no stop is lost.
 */
void gvm_worker_stop(struct gvm_worker *worker)
{
	struct gvm_port_thread *thread = worker->thread;

	gvm_port_assert_may_sleep();
	WRITE_ONCE(thread->stop, true);
	pthread_mutex_lock(&thread->mutex);
	if (thread->sleeps_in)
		gvm_wake_up_all(thread->sleeps_in);
	pthread_mutex_unlock(&thread->mutex);
	pthread_join(thread->handle, NULL);
	pthread_mutex_destroy(&thread->mutex);
	free(thread);
	worker->thread = NULL;
}

bool gvm_give_way(void)
{
	gvm_port_assert_may_sleep();
	maybe_yield(gvm_port_self());
	return gvm_worker_should_stop();
}

u64 gvm_ktime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * NS_PER_SEC + (u64)now.tv_nsec;
}
