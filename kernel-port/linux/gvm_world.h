/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The kernel half of the port header (sim/core/include/gvm/port.h), for gvm.ko and for modules
 * that drive it. The names are the port's, the work is Linux's; what differs is said here.
 *
 *   - Locks of one name are one lockdep class, wherever they are initialised, as they are for
 *     the checker of the user-space worlds. Spinlocks leave interrupts alone: nothing in the
 *     core runs in one.
 *   - A wait that the port calls interruptible ends with -EINTR when a signal is pending, or,
 *     in a worker, when gvm_worker_stop() was called. The condition counts first: a wait whose
 *     condition is true returns 0 even then. Conditions may be evaluated more than once.
 *   - GVM_HOLDS and GVM_ASSERT are WARN_ON_ONCE(). The core asserts what keeps references,
 *     rings and owners right: going on would free memory in use, or give one container's memory
 *     to another. So the core leaves the work undone and marks the device dead (gvm_is_broken()
 *     in gvm/device.h): its entry points answer -EIO, its memory is never reused, other GPUs
 *     and the machine go on. The dead alternative, BUG_ON(), left the device's spinlock held,
 *     and other threads spun on it for ever.
 */
#ifndef GVM_WORLD_H
#define GVM_WORLD_H

#include <linux/bits.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#include <linux/wait.h>

/*
 * Linux expects pr_fmt before its first include. The core knows no Linux, so it cannot define
 * it there.
 */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

/*
 * Allocation. By the hook the tests of the core count allocations and let them fail, here as in
 * the simulator. Set it only while gvm.ko has no other user, since memory has to be freed by the
 * hook that allocated it.
 */
struct gvm_port_alloc_hook {
	void *(*alloc)(size_t bytes); /* zeroed memory or NULL */
	void (*release)(void *memory);
};
extern const struct gvm_port_alloc_hook *gvm_port_alloc_hook;

/* Zeroed memory, contiguous only in virtual address space; NULL when there is none. Sleeps. */
void *gvm_alloc(size_t bytes);

/* Give back what gvm_alloc() returned; NULL is fine. */
void gvm_free(void *memory);

/* A leaf lock. */
struct gvm_spinlock {
	spinlock_t spin;
};

/* All locks that were initialised with one name. */
struct gvm_lock_class {
	char name[32]; /* kept for lockdep, which outlives the module that gave it */
	struct lock_class_key key;
};

/* The class called @name, made when it is asked for first. CONTEXT: atomic. */
struct gvm_lock_class *gvm_lock_class(const char *name);

/* CONTEXT: atomic. */
static inline void gvm_spin_init(struct gvm_spinlock *lock, const char *name)
{
	struct gvm_lock_class *lock_class = gvm_lock_class(name);

	spin_lock_init(&lock->spin);
	lockdep_set_class_and_name(&lock->spin, &lock_class->key, lock_class->name);
}

/* Take and release. CONTEXT: process, atomic; not from interrupts. */
static inline void gvm_spin_lock(struct gvm_spinlock *lock) __acquires(lock)
{
	spin_lock(&lock->spin);
}

static inline void gvm_spin_unlock(struct gvm_spinlock *lock) __releases(lock)
{
	spin_unlock(&lock->spin);
}

/* With lockdep: this thread holds the lock. Without it: some thread does. */
static inline void gvm_spin_assert_held(const struct gvm_spinlock *lock)
{
	lockdep_assert_held(&lock->spin);
	WARN_ON_ONCE(IS_ENABLED(CONFIG_SMP) && !spin_is_locked((spinlock_t *)&lock->spin));
}

/*
 * Tracepoints gvm:gvm_lock and gvm:gvm_wait: which thread waits for which. A test reads them
 * and fails if a thread waits for a mutex whose holder waits for the GPU. The names are kept as
 * text. CONTEXT: atomic.
 */
void gvm_trace_lock(const char *lock, const char *step, int holder);
void gvm_trace_wait(const char *what, bool begins);

/* A sleeping lock. */
struct gvm_mutex {
	struct mutex mutex;
	const char *name;
	int holder; /* the pid of the thread that has it, for the trace; 0: none */
};

/* CONTEXT: atomic. */
static inline void gvm_mutex_init(struct gvm_mutex *lock, const char *name)
{
	struct gvm_lock_class *lock_class = gvm_lock_class(name);

	__mutex_init(&lock->mutex, lock_class->name, &lock_class->key);
	lock->name = lock_class->name;
	lock->holder = 0;
}

/* Take and release. trylock: false: another thread has it. CONTEXT: process. */
void gvm_mutex_lock(struct gvm_mutex *lock);
int __must_check gvm_mutex_lock_killable(struct gvm_mutex *lock);
bool __must_check gvm_mutex_trylock(struct gvm_mutex *lock);
void gvm_mutex_unlock(struct gvm_mutex *lock);

/* As gvm_spin_assert_held(). */
static inline void gvm_mutex_assert_held(const struct gvm_mutex *lock)
{
	lockdep_assert_held(&lock->mutex);
	WARN_ON_ONCE(!mutex_is_locked((struct mutex *)&lock->mutex));
}

/* Sleepers; each looks at its condition again at every wake-up. */
struct gvm_waitqueue {
	wait_queue_head_t head;
};

#define gvm_waitqueue_init(wq) init_waitqueue_head(&(wq)->head)

/*
 * Wake every sleeper; what its condition reads must have been written before. Linux gives up
 * the queue's own lock every 64 sleepers, so that interrupts and preemption are not off for
 * long; under a spinlock that would be in vain. CONTEXT: process, no spinlock held.
 */
static inline void gvm_wake_up_all(struct gvm_waitqueue *wq)
{
	WARN_ON_ONCE(IS_ENABLED(CONFIG_PREEMPT_COUNT) && in_atomic());
	wake_up_all(&wq->head);
}

/* The same for a queue on which one thread waits at most. CONTEXT: atomic. */
static inline void gvm_wake_up_one(struct gvm_waitqueue *wq)
{
	wake_up(&wq->head);
}

/*
 * Has gvm_worker_stop() been called for the running thread? False in a thread that is not the
 * kernel's own, such as one that writes a control file: those have signals.
 */
static inline bool gvm_worker_should_stop(void)
{
	return (current->flags & PF_KTHREAD) && kthread_should_stop();
}

/* Sleep until @condition. Always 0. */
#define gvm_wait_event(wq, condition)              \
	({                                         \
		gvm_trace_wait(#condition, true);  \
		wait_event((wq)->head, condition); \
		gvm_trace_wait(#condition, false); \
		0;                                 \
	})

/* Sleep until @condition, at most @ns, in a state that says which signals end it. */
#define gvm_wait_event_state(wq, condition, ns, state)                                       \
	({                                                                                   \
		ktime_t gvm_wait_limit = ns_to_ktime(min_t(u64, (ns), KTIME_MAX));           \
		bool gvm_wait_done = false;                                                  \
		long gvm_wait_ret = 0;                                                       \
		might_sleep();                                                               \
		gvm_trace_wait(#condition, true);                                            \
		if (!((gvm_wait_done = !!(condition)) || gvm_worker_should_stop()))          \
			gvm_wait_ret = __wait_event_hrtimeout(                               \
				(wq)->head,                                                  \
				(gvm_wait_done = !!(condition)) || gvm_worker_should_stop(), \
				gvm_wait_limit, state);                                      \
		gvm_trace_wait(#condition, false);                                           \
		(gvm_wait_done || (condition)) ? 0 :                                         \
		gvm_wait_ret == -ETIME	       ? -ETIMEDOUT :                                \
						 -EINTR;                                             \
	})

/*
 * Sleep until @condition: 0, or -EINTR; with a limit @ns also -ETIMEDOUT. Any signal ends an
 * interruptible wait, only a deadly one ends a killable wait. The condition is looked at once
 * more after the time is up, which Linux does not do by itself.
 */
#define gvm_wait_event_interruptible(wq, condition) \
	gvm_wait_event_state(wq, condition, KTIME_MAX, TASK_INTERRUPTIBLE)
#define gvm_wait_event_timeout_ns(wq, condition, ns) \
	gvm_wait_event_state(wq, condition, ns, TASK_INTERRUPTIBLE)
#define gvm_wait_event_killable(wq, condition) \
	gvm_wait_event_state(wq, condition, KTIME_MAX, TASK_KILLABLE)
#define gvm_wait_event_killable_timeout_ns(wq, condition, ns) \
	gvm_wait_event_state(wq, condition, ns, TASK_KILLABLE)

/* No signal ends it: 0 or -ETIMEDOUT. Not for a worker, whose stop would end it. */
#define gvm_wait_event_uninterruptible_timeout_ns(wq, condition, ns) \
	(gvm_wait_event_state(wq, condition, ns, TASK_UNINTERRUPTIBLE) ? -ETIMEDOUT : 0)

/*
 * Something that happens once. Not <linux/completion.h>: whether kthread_stop() interrupts its
 * waits depends on the kernel. As there, the waiter may free it once its wait has returned 0.
 */
struct gvm_completion {
	wait_queue_head_t head; /* its lock guards done */
	bool done;
};

#define gvm_completion_init(completion)                   \
	do {                                              \
		init_waitqueue_head(&(completion)->head); \
		(completion)->done = false;               \
	} while (0)

/* It has happened: present and future waits return 0. CONTEXT: atomic. */
void gvm_complete_all(struct gvm_completion *completion);

/* Wait until it has happened. Returns 0 or -EINTR. CONTEXT: process. */
int gvm_completion_wait(struct gvm_completion *completion);

/*
 * A kernel thread. The function may return by itself; stop is called exactly once either way.
 */
struct gvm_worker {
	struct task_struct *task; /* a reference */
	void (*function)(void *data);
	void *data;
};

/* Start @function(@data) in a thread called @name. Returns 0 or -ENOMEM. CONTEXT: process. */
int gvm_worker_start(struct gvm_worker *worker, const char *name, void (*function)(void *data),
		     void *data);

/*
 * The running worker serves all tenants. It gets a CPU before their processes, as the threads
 * of WQ_HIGHPRI do. CONTEXT: process.
 */
static inline void gvm_worker_hurry(void)
{
	set_user_nice(current, MIN_NICE);
}

/*
 * Interrupt the worker's waits and wait until its function has returned. A function that had
 * not begun yet never does. CONTEXT: process.
 */
void gvm_worker_stop(struct gvm_worker *worker);

/*
 * Without preemption a loop that only spins and locks would keep its CPU; and a write to a
 * control file must not keep a process alive that is being killed. CONTEXT: process, no lock
 * held.
 */
static inline bool gvm_give_way(void)
{
	cond_resched();
	return fatal_signal_pending(current) || gvm_worker_should_stop();
}

/* Monotonic time. CONTEXT: atomic. */
static inline u64 gvm_ktime_ns(void)
{
	return ktime_get_ns();
}

/* The core's messages carry no newline. */
#define gvm_info(fmt, ...)		   pr_info(fmt "\n", ##__VA_ARGS__)
#define gvm_warn(fmt, ...)		   pr_warn(fmt "\n", ##__VA_ARGS__)

#define GVM_WARN_ONCE(condition, fmt, ...) WARN_ONCE(condition, pr_fmt(fmt) "\n", ##__VA_ARGS__)
#define GVM_HOLDS(condition)		   (!WARN_ON_ONCE(!(condition)))
#define GVM_ASSERT(condition)		   ((void)GVM_HOLDS(condition))

/* Tracepoint gvm:gvm_cost; the time itself has passed already. CONTEXT: atomic. */
void gvm_cost(enum gvm_cost kind, u32 n);

/* Tracepoint gvm:gvm_evict. CONTEXT: atomic. */
void gvm_trace_evict(const struct gvm_container *container, u64 va, u32 chunk, u32 pages);
/* Tracepoints gvm:gvm_batch and gvm:gvm_pressure. CONTEXT: atomic. */
void gvm_trace_batch(const struct gvm_device *device, bool begins, u32 faults);
void gvm_trace_pressure(const struct gvm_container *container, u64 bytes);

#endif
