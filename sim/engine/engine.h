/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The engine: simulated time, timers and actors of one node.
 *
 * Hardware is made of timers: state machines whose steps are callbacks at a date. Software is
 * made of actors: threads of the driver and of applications, each with a stack of its own, which
 * block. An actor is a fibre (fibre.h): to let another one run costs a few nanoseconds. Time is a
 * u64 of nanoseconds and moves in one place only, the node's event loop. It lets actors run until
 * all of them wait, goes on to the date of the earliest timer, and fires what is due in the order
 * of (date, sequence in which it was set). So equal dates have a defined order, and no date is
 * ever computed from a floating-point clock.
 *
 * Code between two blocking calls is atomic: nothing else runs. Blocking calls are marked. An
 * actor that is woken runs once the running one blocks or returns; woken actors run in the order
 * of their wakes.
 *
 * One simulation a process. SimGrid carries nodes, each in an actor of its own, and the network
 * between them (simgrid.h). A node alone needs neither.
 */
#ifndef SIM_ENGINE_ENGINE_H
#define SIM_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/timers.h"

struct eng_actor;

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

/* Prepare the one simulation of this process. Returns 0, or -EINVAL if the system refuses. */
int eng_init(void);

/*
 * Let SimGrid run the node, as an actor on a host. After eng_init(), before eng_run(). Results are
 * the same; see simgrid.h for what it costs. Returns 0, or -ENOENT without SimGrid.
 */
int eng_use_simgrid(void);

/*
 * Run until every actor has returned. Calls @poll (may be NULL) between events, about every
 * @poll_events of them, from the clock: it must not block and may call eng_stop().
 */
enum eng_end eng_run(void (*poll)(void *data), void *data, u32 poll_events);

/* Simulated time in ns. */
u64 eng_now(void);

/* Events fired so far: the engine's unit of work. */
u64 eng_events(void);

/*
 * Ask everybody to finish: every interruptible wait returns -EINTR from now on. Time goes on, so
 * that actors can tear down in an orderly way.
 */
void eng_stop(void);

/* Set a timer (again) for a date, now or later, never earlier; or unset it. */
void eng_timer_set(struct eng_timer *timer, u64 date);
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

/*
 * A pointer that the running actor has from the actor that started it, NULL at first; and another
 * one for it and for those that it starts from now on. NULL outside of actors.
 */
const void *eng_inherited(void);
void eng_inherit(const void *pointer);

/* Make one actor's interruptible waits return -EINTR from now on. */
void eng_interrupt(struct eng_actor *actor);
bool eng_interrupted(void);

/* Blocking: sleep until a date; the past is now. Returns 0, or -EINTR if interrupted (also when already so). */
int eng_sleep_until(u64 date);

/*
 * Blocking: wait in @waitq until woken. Returns 0, -ETIMEDOUT at @date, or -EINTR when
 * @interruptible and interrupted. Callers check their condition in a loop.
 */
int eng_wait(struct eng_waitq *waitq, u64 date, bool interruptible);

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
void eng_add_debt(u64 ns);
void eng_pay_debt(void);
u64 eng_now_busy(void);

#endif
