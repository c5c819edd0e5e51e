/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The engine: simulated time, timers and actors of one node.
 *
 * Hardware is made of timers: state machines whose steps are callbacks at a date. Software is
 * made of actors: threads of the driver and of applications. An actor has a stack of its own
 * and can block. It is a fibre (fibre.h): a switch to another actor costs a few nanoseconds.
 * Time is a u64 of nanoseconds and moves in one place only, the node's event loop. The loop
 * runs actors until all of them wait. Then it goes on to the date of the earliest timer, and
 * fires the timers that are due, in the order of (date, sequence of setting). So equal dates
 * have a defined order, and no date is ever computed from a floating-point clock.
 *
 * Code between two blocking calls is atomic: nothing else runs. Blocking calls are marked. An
 * actor that is woken runs once the running one blocks or returns; woken actors run in the
 * order of their wakes.
 *
 * A process runs one simulation, of one node. SimGrid could carry several, each in an actor of
 * its own, and the network between them (simgrid.h). A single node needs neither, and no program
 * asks for it; a test shows that results are the same.
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
	ENG_END_DEADLOCK, /* some actors wait, and nothing can wake them */
};

/* Prepare the one simulation of this process. Returns 0, or -EINVAL if the system refuses. */
int eng_init(void);

/*
 * Let SimGrid run the node, as an actor on a host. Call it after eng_init() and before
 * eng_run(). Results are the same; simgrid.h says what it costs. Returns 0, -ENOENT without
 * SimGrid, -EIO if SimGrid does not get its platform, or -EINVAL as eng_init().
 */
int eng_use_simgrid(void);

/*
 * Run until every actor has returned, or none can be woken. After every @poll_events events the
 * loop calls @poll (may be NULL), which must not block and may call eng_stop().
 */
enum eng_end eng_run(void (*poll)(void *data), void *data, u32 poll_events);

/* Simulated time in ns. */
u64 eng_now(void);

/* Events fired so far: the engine's unit of work. */
u64 eng_events(void);

/*
 * Ask all actors to finish: every interruptible wait returns -EINTR from now on. Time goes on,
 * so that actors can tear down in an orderly way.
 */
void eng_stop(void);

/* Set a timer, or set it again, for the present date or a later one. Or unset it. */
void eng_timer_set(struct eng_timer *timer, u64 date);
void eng_timer_cancel(struct eng_timer *timer);

/*
 * Start an actor. It runs when its creator blocks or returns. @name is copied. Returns NULL if
 * there is no memory.
 */
struct eng_actor *eng_spawn(const char *name, void (*function)(void *data), void *data);

/* The actor that runs now; NULL inside a timer callback or before eng_run(). */
struct eng_actor *eng_self(void);
const char *eng_actor_name(const struct eng_actor *actor);

/*
 * ENG_LOCAL_BYTES bytes of the running actor's own, zeroed when the actor is made. All code
 * outside of actors shares one place. The port of the driver keeps here what a kernel keeps in
 * its task.
 */
#define ENG_LOCAL_BYTES 256
void *eng_local(void);

/*
 * The inherited pointer of the running actor. A new actor takes over the pointer of the actor
 * that starts it. eng_inherit() sets the pointer of the running actor, and so of the actors
 * that it starts later. NULL outside of actors, and until an actor sets one.
 */
const void *eng_inherited(void);
void eng_inherit(const void *pointer);

/* Make one actor's interruptible waits return -EINTR from now on. */
void eng_interrupt(struct eng_actor *actor);
bool eng_interrupted(void);

/*
 * Blocking: sleep until a date; a past date is now. Returns 0, or -EINTR if the actor is or
 * gets interrupted.
 */
int eng_sleep_until(u64 date);

/*
 * Blocking: wait in @waitq until woken. Returns 0, -ETIMEDOUT at @date, or -EINTR when
 * @interruptible and interrupted. With a debt it pays the debt and returns 0 without a wait. So
 * callers check their condition in a loop.
 */
int eng_wait(struct eng_waitq *waitq, u64 date, bool interruptible);

/* Wake the first waiter, or all. Cheap when there is none. */
void eng_wake_one(struct eng_waitq *waitq);
void eng_wake_all(struct eng_waitq *waitq);

/* Blocking: wait until an actor has returned, and free it. */
void eng_join(struct eng_actor *actor);

/*
 * CPU time that the running actor has spent without sleeping yet ("debt"). eng_pay_debt() pays
 * it in one sleep. Callers pay before each effect that other actors can see. eng_now_busy() is
 * the date at which the actor's work so far is done.
 */
void eng_add_debt(u64 ns);
void eng_pay_debt(void);
u64 eng_now_busy(void);

#endif
