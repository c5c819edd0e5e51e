/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The simulator's world of the port header (sim/core/include/gvm/port.h): kernel semantics over
 * the simulation engine. Unit tests use the same file over tests/core/engine_null.c.
 *
 * An actor runs until it blocks, so taking a free lock only sets its fields. The checks of a
 * debug kernel are always on. These things assert: to sleep, allocate or take a mutex under a
 * spinlock; to unlock a lock of another thread; an order of locks that can deadlock
 * (gvm_lock_order.h).
 */
#ifndef GVM_WORLD_H
#define GVM_WORLD_H

#include "engine/engine.h"
#include "engine/port/gvm_common.h"
#include "engine/port/gvm_lock_order.h"

/*
 * With a gvm_port_yield_seed, actors also yield where a spinlock is released, as under a
 * preemptive kernel. Off for models of other drivers: these run in the simulator only, and rely
 * on nothing else running between two waits.
 */
extern bool gvm_port_yield_at_spinlocks;
void gvm_port_yield(void);

/*
 * Spinlocks. They are never contended, because only the holder runs. All are leaves, so the
 * whole program holds at most one. A pointer to it costs next to nothing: unlike a count, the
 * value written does not depend on a read.
 */
struct gvm_spinlock {
	const char *name;
};
extern const struct gvm_spinlock *gvm_port_spin_held;
#define gvm_spin_assert_held(lock) GVM_ASSERT(gvm_port_spin_held == (lock))

static inline void gvm_spin_init(struct gvm_spinlock *lock, const char *name)
{
	*lock = (struct gvm_spinlock){ .name = name };
}

static inline void gvm_spin_lock(const struct gvm_spinlock *lock)
{
	GVM_ASSERT(!gvm_port_spin_held);
	gvm_port_spin_held = lock;
}

static inline void gvm_spin_unlock(const struct gvm_spinlock *lock)
{
	GVM_ASSERT(gvm_port_spin_held == lock);
	gvm_port_spin_held = NULL;
	if (gvm_port_yield_at_spinlocks)
		gvm_port_yield();
}

/* Mutexes, handed over in the order of arrival. */
struct gvm_mutex {
	u32 class;
	bool held;
	struct eng_actor *owner; /* NULL also for code outside of actors */
	struct eng_waitq waitq;
};
void gvm_mutex_init(struct gvm_mutex *lock, const char *name);
#define gvm_mutex_lock(lock)	      gvm_port_mutex_lock((lock), GVM_PLACE)
#define gvm_mutex_lock_killable(lock) (gvm_mutex_lock(lock), 0) /* no actor is killed here */
#define gvm_mutex_trylock(lock)	      gvm_port_mutex_trylock((lock), GVM_PLACE)
void gvm_port_mutex_lock(struct gvm_mutex *lock, const char *place);
bool gvm_port_mutex_trylock(struct gvm_mutex *lock, const char *place);
void gvm_mutex_unlock(struct gvm_mutex *lock);
#define gvm_mutex_assert_held(lock) GVM_ASSERT((lock)->held && (lock)->owner == eng_self())

/* Wait queues; the waits themselves are in gvm_common.h. */
struct gvm_waitqueue {
	struct eng_waitq waitq;
	u64 wakes;
};
void gvm_waitqueue_init(struct gvm_waitqueue *wq);
void gvm_wake_up_all(struct gvm_waitqueue *wq);
void gvm_wake_up_one(struct gvm_waitqueue *wq);

struct gvm_completion {
	bool done;
	struct eng_waitq waitq;
};
void gvm_completion_init(struct gvm_completion *completion);
void gvm_complete_all(struct gvm_completion *completion);
int gvm_completion_wait(struct gvm_completion *completion);

/* Threads of the driver. */
struct gvm_worker {
	struct eng_actor *actor;
};
int gvm_worker_start(struct gvm_worker *worker, const char *name, void (*function)(void *data),
		     void *data);
bool gvm_worker_should_stop(void);
static inline void gvm_worker_hurry(void)
{
}
void gvm_worker_stop(struct gvm_worker *worker);

/*
 * Asks whether the actor should stop. It need not sleep: an actor sleeps for its work's CPU
 * time, and others run meanwhile.
 */
bool gvm_give_way(void);

/*
 * Charge CPU time to the running actor. eng_inherited() is the costs in ns, by kind; NULL: no
 * cost.
 */
void gvm_cost(enum gvm_cost kind, u32 n);

/*
 * Called as gvm/port.h describes gvm_trace_evict(), gvm_trace_batch() and gvm_trace_pressure();
 * each may be NULL. Set before the simulation starts. Must not block.
 */
struct gvm_port_recorder {
	void (*evicted)(void *data, const struct gvm_container *container, u64 va, u32 chunk,
			u32 pages);
	void (*batch)(void *data, const struct gvm_device *device, bool begins, u32 faults);
	void (*pressure)(void *data, const struct gvm_container *container, u64 bytes);
	void *data;
};
extern struct gvm_port_recorder gvm_port_recorder;

static inline void gvm_trace_evict(const struct gvm_container *container, u64 va, u32 chunk,
				   u32 pages)
{
	if (gvm_port_recorder.evicted)
		gvm_port_recorder.evicted(gvm_port_recorder.data, container, va, chunk, pages);
}

static inline void gvm_trace_batch(const struct gvm_device *device, bool begins, u32 faults)
{
	if (gvm_port_recorder.batch)
		gvm_port_recorder.batch(gvm_port_recorder.data, device, begins, faults);
}

static inline void gvm_trace_pressure(const struct gvm_container *container, u64 bytes)
{
	if (gvm_port_recorder.pressure)
		gvm_port_recorder.pressure(gvm_port_recorder.data, container, bytes);
}

#endif
