// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The engine over SimGrid; see engine.h for the idea.
 *
 * Why timers of our own on top of a simulator that has them: SimGrid wakes sleepers of one date
 * in reverse order and keeps its clock in a double, a sleep costs it 1 us of wall time, and a
 * handoff to an actor about 2. Here hardware needs no actor at all, and dates stay integers from end
 * to end. Each actor parks on a semaphore of its own. When all are parked, the clock actor goes on
 * to the date of the next timer; SimGrid's own clock stands still.
 *
 * Every simcall lets other actors run, also those that only wake somebody. So wakes are put on a
 * list and made when the running actor blocks or returns: between two blocking calls nothing else
 * runs, as engine.h promises.
 */
#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>

#include "engine/timers.h"

#define ACTOR_NAME_MAX	48
#define ACTOR_STACK_KIB 64
#define ENG_HOST	"host"

/* One thread of software. */
struct eng_actor {
	char name[ACTOR_NAME_MAX];
	void (*function)(void *data);
	void *data;
	sg_sem_t wakeup;

	struct eng_waitq *waitq; /* where it waits, or NULL */
	struct eng_actor *next;	 /* neighbours in that queue */
	struct eng_actor *prev;
	struct eng_timer timeout;
	bool parked;
	bool interruptible; /* the present wait is */
	bool interrupted;   /* sticky */
	int wake_status;    /* what the present wait returns */
	uint64_t debt_ns;
	bool started;
	bool returned;
	struct eng_waitq joiners;
	uint64_t local[ENG_LOCAL_BYTES / sizeof(uint64_t)];
	struct eng_actor *next_woken; /* in engine.woken */
	struct eng_actor *next_live;  /* in engine.live */
	struct eng_actor *prev_live;
};

static struct {
	struct eng_timers timers;
	uint64_t now_ns;
	uint64_t events;
	sg_host_t host;
	uint32_t running; /* actors that were started or woken and have not parked */
	struct eng_actor *woken_first; /* to be started or woken, in this order */
	struct eng_actor *woken_last;
	bool stopping;
	struct eng_actor *live; /* actors that have not returned */
	struct eng_actor *current;
	void (*poll)(void *data);
	void *poll_data;
	uint32_t poll_events;
} engine;

static const char platform_xml[] =
	"<?xml version='1.0'?>\n"
	"<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
	"<platform version=\"4.1\"><zone id=\"node\" routing=\"Full\">\n"
	"<host id=\"" ENG_HOST "\" speed=\"1Gf\"/>\n"
	"</zone></platform>\n";

/* SimGrid reads platforms from files only; this one has no name on any disk. */
static int engine_load_platform(void)
{
	char path[64];
	int fd = memfd_create("gvmsim-platform.xml", 0);

	if (fd < 0)
		return -1;
	if (write(fd, platform_xml, sizeof(platform_xml) - 1) !=
	    (ssize_t)sizeof(platform_xml) - 1) {
		close(fd);
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	simgrid_load_platform(path);
	close(fd);
	return 0;
}

/*
 * GVMSIM_CONTEXT_FACTORY: "raw" contexts are the fastest; sanitizers and debuggers want "thread".
 * Results are the same with either.
 */
int eng_init(void)
{
	const char *factory = getenv("GVMSIM_CONTEXT_FACTORY");
	char contexts[64];
	char program[] = "gvmsim";
	char quiet[] = "--log=root.threshold:critical";
	char precision[] = "--cfg=surf/precision:1e-12";
	char stack[] = "--cfg=contexts/stack-size:64";
	char threads[] = "--cfg=contexts/nthreads:1";
	char *argv[] = { program, quiet, precision, stack, threads, contexts, NULL };
	int argc = 6;

	snprintf(contexts, sizeof(contexts), "--cfg=contexts/factory:%s",
		 factory ? factory : "raw");
	simgrid_init(&argc, argv);
	if (engine_load_platform() < 0)
		return -1;
	engine.host = sg_host_by_name(ENG_HOST);
	return engine.host ? 0 : -1;
}

uint64_t eng_now(void)
{
	return engine.now_ns;
}

uint64_t eng_events(void)
{
	return engine.events;
}

struct eng_actor *eng_self(void)
{
	return engine.current;
}

void *eng_local(void)
{
	static uint64_t local[ENG_LOCAL_BYTES / sizeof(uint64_t)];

	return engine.current ? engine.current->local : local;
}

const char *eng_actor_name(const struct eng_actor *actor)
{
	return actor ? actor->name : "hardware";
}

static void woken_append(struct eng_actor *actor)
{
	actor->next_woken = NULL;
	if (engine.woken_last)
		engine.woken_last->next_woken = actor;
	else
		engine.woken_first = actor;
	engine.woken_last = actor;
}

static struct eng_actor *woken_pop(void)
{
	struct eng_actor *actor = engine.woken_first;

	if (actor)
		engine.woken_first = actor->next_woken;
	if (!engine.woken_first)
		engine.woken_last = NULL;
	return actor;
}

static void actor_main(int argc, char **argv);

static void actor_start(struct eng_actor *actor)
{
	sg_actor_t handle = sg_actor_init(actor->name, engine.host);

	sg_actor_set_data(handle, actor);
	sg_actor_start_(handle, actor_main, 0, NULL);
}

/*
 * Let those run who were woken since the last time. Only where the caller blocks or returns next:
 * others run inside, and may wake more, also the caller.
 */
static void engine_let_woken_run(void)
{
	struct eng_actor *actor;

	while ((actor = woken_pop())) {
		engine.running++;
		if (actor->started) {
			sg_sem_release(actor->wakeup);
		} else {
			actor->started = true;
			actor_start(actor);
		}
	}
}

void eng_timer_set(struct eng_timer *timer, uint64_t date)
{
	assert(date >= engine.now_ns && "hardware does not act in the past");
	eng_timers_set(&engine.timers, timer, date);
}

void eng_timer_cancel(struct eng_timer *timer)
{
	eng_timers_cancel(&engine.timers, timer);
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
	eng_timers_cancel(&engine.timers, &actor->timeout);
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
static int actor_park(struct eng_waitq *waitq, uint64_t date, bool interruptible)
{
	struct eng_actor *self = engine.current;

	assert(self && "only actors can wait");
	if (interruptible && eng_interrupted())
		return -EINTR;
	self->interruptible = interruptible;
	self->parked = true;
	if (waitq)
		waitq_append(waitq, self);
	if (date != ENG_NEVER)
		eng_timer_set(&self->timeout, date > engine.now_ns ? date : engine.now_ns);
	engine_let_woken_run();
	engine.running--;
	sg_sem_acquire(self->wakeup);
	engine.current = self;
	return self->wake_status;
}

void eng_add_debt(uint64_t ns)
{
	if (engine.current)
		engine.current->debt_ns += ns;
}

uint64_t eng_now_busy(void)
{
	return engine.now_ns + (engine.current ? engine.current->debt_ns : 0);
}

void eng_pay_debt(void)
{
	struct eng_actor *self = engine.current;
	uint64_t date = eng_now_busy();

	if (!self || !self->debt_ns)
		return;
	self->debt_ns = 0;
	actor_park(NULL, date, false);
}

int eng_sleep_until(uint64_t date)
{
	int status;

	eng_pay_debt();
	status = actor_park(NULL, date, true);
	return status == -ETIMEDOUT ? 0 : status;
}

int eng_wait(struct eng_waitq *waitq, uint64_t date, bool interruptible)
{
	/* Time passes while a debt is paid: the caller has to look at its condition again. */
	if (engine.current && engine.current->debt_ns) {
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
	return engine.stopping || (engine.current && engine.current->interrupted);
}

void eng_stop(void)
{
	struct eng_actor *actor;

	engine.stopping = true;
	for (actor = engine.live; actor; actor = actor->next_live)
		if (actor->parked && actor->interruptible)
			actor_wake(actor, -EINTR);
}

static void actor_add_live(struct eng_actor *actor)
{
	actor->next_live = engine.live;
	if (engine.live)
		engine.live->prev_live = actor;
	engine.live = actor;
}

static void actor_remove_live(struct eng_actor *actor)
{
	if (actor->prev_live)
		actor->prev_live->next_live = actor->next_live;
	else
		engine.live = actor->next_live;
	if (actor->next_live)
		actor->next_live->prev_live = actor->prev_live;
}

static void actor_main(int argc, char **argv)
{
	struct eng_actor *self = sg_actor_self_get_data();

	(void)argc;
	(void)argv;
	engine.current = self;
	self->function(self->data);
	eng_pay_debt();
	self->returned = true;
	actor_remove_live(self);
	eng_wake_all(&self->joiners);
	engine_let_woken_run();
	engine.running--;
}

struct eng_actor *eng_spawn(const char *name, void (*function)(void *data), void *data)
{
	struct eng_actor *actor = calloc(1, sizeof(*actor));

	if (!actor)
		return NULL;
	snprintf(actor->name, sizeof(actor->name), "%s", name);
	actor->function = function;
	actor->data = data;
	actor->timeout.fire = actor_timeout;
	actor->wakeup = sg_sem_init(0);
	actor_add_live(actor);
	woken_append(actor);
	return actor;
}

void eng_join(struct eng_actor *actor)
{
	while (!actor->returned)
		eng_wait(&actor->joiners, ENG_NEVER, false);
	sg_sem_destroy(actor->wakeup);
	free(actor);
}

/* Let software run, until all of it waits. */
static void clock_let_actors_run(void)
{
	engine_let_woken_run();
	while (engine.running)
		sg_actor_yield();
	engine.current = NULL;
}

static void clock_fire_due(void)
{
	struct eng_timer *timer;

	while ((timer = eng_timers_pop_due(&engine.timers, engine.now_ns))) {
		timer->fire(timer);
		if (++engine.events % engine.poll_events || !engine.poll)
			continue;
		engine.poll(engine.poll_data);
		/* Whoever is to end the run gets to it, also if this date never ends. */
		if (engine.woken_first)
			break;
	}
}

/* With every actor parked nothing can happen before the next timer, and without one nothing at all. */
static void clock_main(int argc, char **argv)
{
	uint64_t date;

	(void)argc;
	(void)argv;
	for (;;) {
		if (engine.woken_first)
			clock_let_actors_run();
		date = eng_timers_next(&engine.timers);
		if (!engine.live || date == ENG_NEVER)
			return;
		engine.now_ns = date;
		clock_fire_due();
	}
}

enum eng_end eng_run(void (*poll)(void *data), void *data, uint32_t poll_events)
{
	engine.poll = poll;
	engine.poll_data = data;
	engine.poll_events = poll_events ? poll_events : 1;
	sg_actor_start_(sg_actor_init("clock", engine.host), clock_main, 0, NULL);
	simgrid_run();
	return engine.live ? ENG_END_DEADLOCK : ENG_END_DONE;
}
