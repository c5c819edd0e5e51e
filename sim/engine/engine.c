// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The event loop of a node, and the fibres it lets run; see engine.h for the idea.
 *
 * A blocking call suspends its fibre and resumes the loop. The loop runs all woken actors in
 * the order of their wakes. When none is left, time moves to the date of the next timer. A wake
 * only appends an actor to the list, so nothing else runs between two blocking calls.
 */
#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/fibre.h"
#include "engine/simgrid.h"
#include "engine/timers.h"

#define ACTOR_NAME_MAX 48

/* One thread of software. */
struct eng_actor {
	char name[ACTOR_NAME_MAX];
	struct fibre fibre;
	void (*function)(void *data);
	void *data;
	const void *inherited; /* eng_inherited() */

	struct eng_waitq *waitq; /* where it waits, or NULL */
	struct eng_actor *next;	 /* neighbours in that queue */
	struct eng_actor *prev;
	struct eng_timer timeout;
	bool parked;
	bool interruptible; /* the present wait can be interrupted */
	bool interrupted;   /* sticky */
	int wake_status;    /* what the present wait returns */
	u64 debt_ns;
	bool returned;
	struct eng_waitq joiners;
	u64 local[ENG_LOCAL_BYTES / sizeof(u64)];
	struct eng_actor *next_woken; /* in node.woken */
	struct eng_actor *next_live;  /* in node.live */
	struct eng_actor *prev_live;
};

/* A simulated machine. Its actors share one clock and one memory. */
struct eng_node {
	struct eng_timers timers;
	u64 now_ns;
	u64 events;
	struct fibre loop;	       /* the stack of the event loop */
	struct eng_actor *current;     /* NULL: the loop itself runs */
	struct eng_actor *woken_first; /* to be started or resumed, in this order */
	struct eng_actor *woken_last;
	struct eng_actor *live; /* actors that have not returned */
	bool stopping;
	void (*poll)(void *data);
	void *poll_data;
	u32 poll_events;
	u32 until_poll; /* events until the next poll */
};

/* There is one node so far. With several, this will be the node whose SimGrid actor runs. */
static struct eng_node node;
static bool under_simgrid;

int eng_init(void)
{
	return fibre_watch_stacks();
}

int eng_use_simgrid(void)
{
	int status = eng_simgrid_init(1);

	/* SimGrid installs a handler of its own for bad accesses: install ours again. */
	if (!status)
		status = fibre_watch_stacks();
	under_simgrid = !status;
	return status;
}

u64 eng_now(void)
{
	return node.now_ns;
}

u64 eng_events(void)
{
	return node.events;
}

struct eng_actor *eng_self(void)
{
	return node.current;
}

void *eng_local(void)
{
	static u64 local[ENG_LOCAL_BYTES / sizeof(u64)];

	return node.current ? node.current->local : local;
}

const void *eng_inherited(void)
{
	return node.current ? node.current->inherited : NULL;
}

void eng_inherit(const void *pointer)
{
	if (node.current)
		node.current->inherited = pointer;
}

const char *eng_actor_name(const struct eng_actor *actor)
{
	return actor ? actor->name : "hardware";
}

static void woken_append(struct eng_actor *actor)
{
	actor->next_woken = NULL;
	if (node.woken_last)
		node.woken_last->next_woken = actor;
	else
		node.woken_first = actor;
	node.woken_last = actor;
}

void eng_timer_set(struct eng_timer *timer, u64 date)
{
	assert(date >= node.now_ns && "hardware does not act in the past");
	eng_timers_set(&node.timers, timer, date);
}

void eng_timer_cancel(struct eng_timer *timer)
{
	eng_timers_cancel(&node.timers, timer);
}

static void waitq_append(struct eng_waitq *waitq, struct eng_actor *actor)
{
	actor->waitq = waitq;
	actor->next = NULL;
	actor->prev = waitq->last;
	if (waitq->last)
		waitq->last->next = actor;
	else
		waitq->first = actor;
	waitq->last = actor;
}

static void waitq_remove(struct eng_actor *actor)
{
	struct eng_waitq *waitq = actor->waitq;

	if (!waitq)
		return;
	if (actor->prev)
		actor->prev->next = actor->next;
	else
		waitq->first = actor->next;
	if (actor->next)
		actor->next->prev = actor->prev;
	else
		waitq->last = actor->prev;
	actor->waitq = NULL;
}

static void actor_wake(struct eng_actor *actor, int status)
{
	waitq_remove(actor);
	eng_timers_cancel(&node.timers, &actor->timeout);
	actor->wake_status = status;
	actor->parked = false;
	woken_append(actor);
}

static void actor_timeout(struct eng_timer *timer)
{
	struct eng_actor *actor =
		(struct eng_actor *)(void *)((char *)timer -
					     offsetof(struct eng_actor, timeout));

	actor_wake(actor, -ETIMEDOUT);
}

/* Park the running actor until actor_wake(). */
static int actor_park(struct eng_waitq *waitq, u64 date, bool interruptible)
{
	struct eng_actor *self = node.current;

	assert(self && "only actors can wait");
	if (interruptible && eng_interrupted())
		return -EINTR;
	self->interruptible = interruptible;
	self->parked = true;
	if (waitq)
		waitq_append(waitq, self);
	if (date != ENG_NEVER)
		eng_timer_set(&self->timeout, date > node.now_ns ? date : node.now_ns);
	fibre_suspend(&self->fibre);
	return self->wake_status;
}

void eng_add_debt(u64 ns)
{
	if (node.current)
		node.current->debt_ns += ns;
}

u64 eng_now_busy(void)
{
	return node.now_ns + (node.current ? node.current->debt_ns : 0);
}

void eng_pay_debt(void)
{
	struct eng_actor *self = node.current;
	u64 date = eng_now_busy();

	if (!self || !self->debt_ns)
		return;
	self->debt_ns = 0;
	actor_park(NULL, date, false);
}

int eng_sleep_until(u64 date)
{
	int status;

	eng_pay_debt();
	status = actor_park(NULL, date, true);
	return status == -ETIMEDOUT ? 0 : status;
}

int eng_wait(struct eng_waitq *waitq, u64 date, bool interruptible)
{
	/* Time passes while a debt is paid: the caller has to look at its condition again. */
	if (node.current && node.current->debt_ns) {
		eng_pay_debt();
		return 0;
	}
	return actor_park(waitq, date, interruptible);
}

void eng_wake_one(struct eng_waitq *waitq)
{
	if (waitq->first)
		actor_wake(waitq->first, 0);
}

void eng_wake_all(struct eng_waitq *waitq)
{
	while (waitq->first)
		actor_wake(waitq->first, 0);
}

void eng_interrupt(struct eng_actor *actor)
{
	actor->interrupted = true;
	if (actor->parked && actor->interruptible)
		actor_wake(actor, -EINTR);
}

bool eng_interrupted(void)
{
	return node.stopping || (node.current && node.current->interrupted);
}

void eng_stop(void)
{
	struct eng_actor *actor;

	node.stopping = true;
	for (actor = node.live; actor; actor = actor->next_live)
		if (actor->parked && actor->interruptible)
			actor_wake(actor, -EINTR);
}

static void actor_add_live(struct eng_actor *actor)
{
	actor->next_live = node.live;
	if (node.live)
		node.live->prev_live = actor;
	node.live = actor;
}

static void actor_remove_live(struct eng_actor *actor)
{
	if (actor->prev_live)
		actor->prev_live->next_live = actor->next_live;
	else
		node.live = actor->next_live;
	if (actor->next_live)
		actor->next_live->prev_live = actor->prev_live;
}

static void actor_main(void *data)
{
	struct eng_actor *self = data;

	self->function(self->data);
	eng_pay_debt();
	self->returned = true;
	actor_remove_live(self);
	eng_wake_all(&self->joiners);
}

struct eng_actor *eng_spawn(const char *name, void (*function)(void *data), void *data)
{
	struct eng_actor *actor = calloc(1, sizeof(*actor));

	if (!actor)
		return NULL;
	if (fibre_init(&actor->fibre, actor->name, actor_main, actor)) {
		free(actor);
		return NULL;
	}
	snprintf(actor->name, sizeof(actor->name), "%s", name);
	actor->function = function;
	actor->data = data;
	actor->inherited = eng_inherited();
	actor->timeout.fire = actor_timeout;
	actor_add_live(actor);
	woken_append(actor);
	return actor;
}

void eng_join(struct eng_actor *actor)
{
	while (!actor->returned)
		eng_wait(&actor->joiners, ENG_NEVER, false);
	free(actor);
}

/* Run woken actors, in the order of their wakes, until all actors wait. */
static void node_run_woken(void)
{
	while (node.woken_first) {
		node.current = node.woken_first;
		node.woken_first = node.current->next_woken;
		if (!node.woken_first)
			node.woken_last = NULL;
		fibre_resume(&node.loop, &node.current->fibre);
	}
	node.current = NULL;
}

/*
 * Fire the timers that are due. Stop once the poll has woken an actor, so that the actor runs
 * even if timers are set for this date again and again.
 */
static void node_fire_due(void)
{
	struct eng_timer *timer;

	while ((timer = eng_timers_pop_due(&node.timers, node.now_ns))) {
		timer->fire(timer);
		node.events++;
		if (!node.poll || --node.until_poll)
			continue;
		node.until_poll = node.poll_events;
		node.poll(node.poll_data);
		if (node.woken_first)
			break;
	}
}

/*
 * While every actor is parked, nothing happens before the next timer. Without a timer the run
 * is over.
 */
static void node_main(void *data)
{
	u64 date;

	(void)data;
	for (;;) {
		node_run_woken();
		date = eng_timers_next(&node.timers);
		if (!node.live || date == ENG_NEVER)
			return;
		node.now_ns = date;
		node_fire_due();
	}
}

enum eng_end eng_run(void (*poll)(void *data), void *data, u32 poll_events)
{
	void *nodes[] = { &node };

	node.poll = poll;
	node.poll_data = data;
	node.poll_events = poll_events ? poll_events : 1;
	node.until_poll = node.poll_events;
	if (under_simgrid)
		eng_simgrid_run(node_main, nodes, 1);
	else
		node_main(&node);
	return node.live ? ENG_END_DEADLOCK : ENG_END_DONE;
}
