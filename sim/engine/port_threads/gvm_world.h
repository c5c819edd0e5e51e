/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The port header (sim/core/include/gvm/port.h) over POSIX threads, with kernel semantics.
 * Nothing is simulated here and nothing is atomic by accident, so ThreadSanitizer can check the
 * core in this world.
 *
 *   - Spinlocks are mutexes of libc: with more threads than cores, a spinner only keeps the
 *     holder from running. In every other way they are spinlocks: to sleep, allocate or take a
 *     mutex under one asserts.
 *   - Waits and workers behave as in the kernel's world. A true condition counts first, even if
 *     the time is up or the worker is being stopped. A worker that is stopped before its
 *     function begins never runs it.
 *   - READ_ONCE() and WRITE_ONCE() are relaxed atomics of C11, as in the kernel's memory model.
 *     ThreadSanitizer accepts these intended races, and reports all others.
 *   - With a gvm_port_yield_seed, a thread sometimes yields where a kernel could preempt.
 */
#ifndef GVM_WORLD_H
#define GVM_WORLD_H

#include <pthread.h>

#include "engine/port/gvm_common.h"
#include "engine/port/gvm_lock_order.h"

struct gvm_port_thread;

/* The running thread. Its struct is made at its first call. */
struct gvm_port_thread *gvm_port_self(void);

/* A lock that knows its owner. */
struct gvm_port_lock {
	pthread_mutex_t mutex;
	u32 class;
	struct gvm_port_thread *owner; /* relaxed; a thread only compares it with itself */
};
bool gvm_port_is_owner(const struct gvm_port_lock *lock);

struct gvm_spinlock {
	struct gvm_port_lock lock;
};
void gvm_spin_init(struct gvm_spinlock *lock, const char *name);
#define gvm_spin_lock(lock) gvm_port_spin_lock((lock), GVM_PLACE)
void gvm_port_spin_lock(struct gvm_spinlock *lock, const char *place);
void gvm_spin_unlock(struct gvm_spinlock *lock);
#define gvm_spin_assert_held(held) GVM_ASSERT(gvm_port_is_owner(&(held)->lock))

struct gvm_mutex {
	struct gvm_port_lock lock;
};
void gvm_mutex_init(struct gvm_mutex *lock, const char *name);
#define gvm_mutex_lock(lock)	      gvm_port_mutex_lock((lock), GVM_PLACE)
#define gvm_mutex_lock_killable(lock) (gvm_mutex_lock(lock), 0) /* no thread is killed here */
#define gvm_mutex_trylock(lock)	      gvm_port_mutex_trylock((lock), GVM_PLACE)
void gvm_port_mutex_lock(struct gvm_mutex *lock, const char *place);
bool gvm_port_mutex_trylock(struct gvm_mutex *lock, const char *place);
void gvm_mutex_unlock(struct gvm_mutex *lock);
#define gvm_mutex_assert_held(held) GVM_ASSERT(gvm_port_is_owner(&(held)->lock))

/* Wait queues; the waits themselves are in gvm_common.h. */
struct gvm_waitqueue {
	pthread_mutex_t mutex;
	pthread_cond_t woken;
	u64 wakes; /* guarded by mutex */
};
void gvm_waitqueue_init(struct gvm_waitqueue *wq);
void gvm_wake_up_all(struct gvm_waitqueue *wq);
void gvm_wake_up_one(struct gvm_waitqueue *wq);

/*
 * A waiter may free it once its wait has returned 0. So gvm_complete_all() works under the
 * queue's mutex only.
 */
struct gvm_completion {
	struct gvm_waitqueue wq;
	bool done; /* guarded by wq.mutex */
};
void gvm_completion_init(struct gvm_completion *completion);
void gvm_complete_all(struct gvm_completion *completion);
int gvm_completion_wait(struct gvm_completion *completion);

/* Threads of the driver. */
struct gvm_worker {
	struct gvm_port_thread *thread;
};
int gvm_worker_start(struct gvm_worker *worker, const char *name, void (*function)(void *data),
		     void *data);
bool gvm_worker_should_stop(void);
static inline void gvm_worker_hurry(void)
{
}
void gvm_worker_stop(struct gvm_worker *worker);

bool gvm_give_way(void);

/* Nothing to do: the time has really passed. */
static inline void gvm_cost(enum gvm_cost kind, u32 n)
{
	(void)kind;
	(void)n;
}

/* There is no recorder. */
static inline void gvm_trace_evict(const struct gvm_container *container, u64 va, u32 chunk,
				   u32 pages)
{
	(void)container;
	(void)va;
	(void)chunk;
	(void)pages;
}

static inline void gvm_trace_batch(const struct gvm_device *device, bool begins, u32 faults)
{
	(void)device;
	(void)begins;
	(void)faults;
}

static inline void gvm_trace_pressure(const struct gvm_container *container, u64 bytes)
{
	(void)container;
	(void)bytes;
}

#endif
