/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The engine: simulated time, timers and actors, over SimGrid.
 *
 * Hardware is made of timers: state machines whose steps are callbacks at a date. Software is
 * made of actors: threads of the driver and of applications, each with a stack of its own, which
 * block. Time is a u64 of nanoseconds and moves in one place only, the clock actor, which lets the
 * others run until all of them wait, goes on to the date of the earliest timer, and fires what is
 * due in the order of (date, sequence in which it was set). So equal dates have a defined order, no
 * date is ever computed from a floating-point clock, and hardware costs no simcall at all.
 *
 * Code between two blocking calls is atomic: nothing else runs. Blocking calls are marked.
 * One simulation a process (SimGrid's own limit).
 */
#ifndef SIM_ENGINE_ENGINE_H
#define SIM_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/types.h"

/* A date that never comes. */
#define ENG_NEVER UINT64_MAX

struct eng_actor;

/* A callback at a date. Memory belongs to the caller and is zeroed before first use. */
struct eng_timer {
	void (*fire)(struct eng_timer *timer); /* must not block */
	uint64_t date;			       /* ns */
	uint64_t sequence;		       /* order among equal dates */
	uint32_t slot;			       /* place in the heap plus one; 0: not set */
};

/* Actors waiting for something, in order of arrival. All-zero is empty. */
struct eng_waitq {
	struct eng_actor *first;
	struct eng_actor *last;
};

/* How a run ended. */
enum eng_end {
	ENG_END_DONE,	  /* every actor returned */
	ENG_END_DEADLOCK, /* actors were left that nothing could wake */
};

/* Prepare the one simulation of this process. Returns 0, or -1 if SimGrid refuses. */
int eng_init(void);

/*
 * Run until every actor has returned. Calls @poll (may be NULL) between events, about every
 * @poll_events of them, from the clock: it must not block and may call eng_stop().
 */
enum eng_end eng_run(void (*poll)(void *data), void *data, uint32_t poll_events);

/* Simulated time in ns. */
uint64_t eng_now(void);

/* Events fired so far: the engine's unit of work. */
uint64_t eng_events(void);

/*
 * Ask everybody to finish: every interruptible wait returns -EINTR from now on. Time goes on, so
 * that actors can tear down in an orderly way.
 */
void eng_stop(void);

/* Set a timer (again) for a date, now or later, never earlier; or unset it. */
void eng_timer_set(struct eng_timer *timer, uint64_t date);
void eng_timer_cancel(struct eng_timer *timer);

/*
 * Start an actor; it runs when its creator blocks or returns. @name is copied. Returns NULL when
 * there is no memory.
 */
struct eng_actor *eng_spawn(const char *name, void (*function)(void *data), void *data);

/* The actor that runs now; NULL inside a timer callback or before eng_run(). */
struct eng_actor *eng_self(void);
const char *eng_actor_name(const struct eng_actor *actor);

/*
 * So many bytes that belong to the running actor, zeroed when it was made; all that runs outside
 * of actors shares one place. For the port of the driver, which keeps there what a kernel keeps
 * in its task.
 */
#define ENG_LOCAL_BYTES 256
void *eng_local(void);

/* Make one actor's interruptible waits return -EINTR from now on. */
void eng_interrupt(struct eng_actor *actor);
bool eng_interrupted(void);

/* Blocking: sleep until a date; the past is now. Returns 0, or -EINTR if interrupted (also when already so). */
int eng_sleep_until(uint64_t date);

/*
 * Blocking: wait in @waitq until woken. Returns 0, -ETIMEDOUT at @date, or -EINTR when
 * @interruptible and interrupted. Callers check their condition in a loop.
 */
int eng_wait(struct eng_waitq *waitq, uint64_t date, bool interruptible);

/* Wake the first waiter, or all. Cheap when there is none. */
void eng_wake_one(struct eng_waitq *waitq);
void eng_wake_all(struct eng_waitq *waitq);

/* Blocking: wait until an actor has returned, and free it. */
void eng_join(struct eng_actor *actor);

/*
 * CPU time that the running actor has spent without sleeping yet ("debt"). It is paid in one
 * sleep by eng_pay_debt(), which everything that others can see calls first. eng_now_busy() is
 * the date at which the actor's work so far is really done.
 */
void eng_add_debt(uint64_t ns);
void eng_pay_debt(void);
uint64_t eng_now_busy(void);

#endif
