// SPDX-License-Identifier: MIT OR GPL-2.0
/* The link and its copy engines as two coupled state machines; see link.h. */
#include "pcie/link.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define NS_PER_S 1000000000ull

static struct pcie_engine *engine_other(struct pcie_engine *engine)
{
	struct pcie_link *link = engine->link;

	return &link->engines[engine == &link->engines[PCIE_H2D] ? PCIE_D2H : PCIE_H2D];
}

/* The rate of an engine whose bytes move, alone or beside the other direction. */
static uint64_t engine_fair_rate(struct pcie_engine *engine)
{
	const struct pcie_config *config = &engine->link->config;
	uint64_t half = config->bandwidth_both / 2;

	if (!engine_other(engine)->moving || half >= config->bandwidth)
		return config->bandwidth;
	return half;
}

/* Bring bytes_left up to date. The remainder of the division is kept: no drift. */
static void engine_advance(struct pcie_engine *engine)
{
	uint64_t now = eng_now();
	unsigned __int128 moved;

	if (engine->moving) {
		moved = (unsigned __int128)(now - engine->updated_ns) * engine->rate +
			engine->fraction;
		engine->fraction = (uint64_t)(moved % NS_PER_S);
		moved /= NS_PER_S;
		engine->bytes_left -=
			moved < engine->bytes_left ? (uint64_t)moved : engine->bytes_left;
	}
	engine->updated_ns = now;
}

/* When the last byte will have moved, at the present rate. */
static uint64_t engine_finish_date(const struct pcie_engine *engine)
{
	unsigned __int128 work = (unsigned __int128)engine->bytes_left * NS_PER_S;

	work = work > engine->fraction ? work - engine->fraction : 0;
	return engine->updated_ns + (uint64_t)((work + engine->rate - 1) / engine->rate);
}

static void engine_set_rate(struct pcie_engine *engine)
{
	uint64_t rate = engine_fair_rate(engine);

	if (!engine->moving)
		return;
	engine_advance(engine);
	/* The remainder is in units of the rate's nanosecond, the same for every rate. */
	engine->rate = rate;
	eng_timer_set(&engine->timer, engine_finish_date(engine));
}

static void engine_start_first(struct pcie_engine *engine)
{
	const struct pcie_copy *copy = &engine->queue[engine->first];
	uint64_t start = copy->doorbell_ns > eng_now() ? copy->doorbell_ns : eng_now();

	engine->held = engine_other(engine)->completed < copy->after;
	if (engine->held)
		return;
	engine->start_ns = start;
	engine->setup_end_ns = start + engine->link->config.setup_ns +
			       (copy->pieces - 1) * engine->link->config.piece_ns;
	engine->bytes_left = copy->bytes;
	engine->fraction = 0;
	eng_timer_set(&engine->timer, engine->setup_end_ns);
}

/* A handoff to an actor costs more than all else here: nobody is woken before it is time. */
static void engine_wake_waiters(struct pcie_engine *engine)
{
	if (!engine->wanted || engine->completed < engine->wanted)
		return;
	engine->wanted = 0;
	eng_wake_all(&engine->waitq);
}

static void engine_finish_first(struct pcie_engine *engine)
{
	const struct pcie_copy *copy = &engine->queue[engine->first];

	if (copy->ret_bytes)
		*copy->ret_bytes += copy->bytes;
	engine->first = (engine->first + 1) % engine->room;
	engine->count--;
	engine->completed++;
	engine->busy_ns += eng_now() - engine->start_ns;
	engine->moving = false;
	engine_set_rate(engine_other(engine));
	if (engine_other(engine)->held)
		engine_start_first(engine_other(engine));
	if (engine->count)
		engine_start_first(engine);
	engine_wake_waiters(engine);
}

static void engine_fire(struct eng_timer *timer)
{
	struct pcie_engine *engine =
		(struct pcie_engine *)(void *)((char *)timer -
					       offsetof(struct pcie_engine, timer));

	if (engine->moving) {
		engine_finish_first(engine);
		return;
	}
	engine->moving = true;
	engine->updated_ns = eng_now();
	engine_set_rate(engine);
	engine_set_rate(engine_other(engine));
}

void pcie_link_init(struct pcie_link *link, const struct pcie_config *config)
{
	int direction;

	*link = (struct pcie_link){ .config = *config };
	for (direction = 0; direction < PCIE_DIRECTIONS; direction++) {
		link->engines[direction].link = link;
		link->engines[direction].timer.fire = engine_fire;
	}
}

void pcie_link_destroy(struct pcie_link *link)
{
	int direction;

	for (direction = 0; direction < PCIE_DIRECTIONS; direction++) {
		eng_timer_cancel(&link->engines[direction].timer);
		free(link->engines[direction].queue);
	}
}

/* Double the ring, straightening it out. */
static void engine_make_room(struct pcie_engine *engine)
{
	uint32_t room = engine->room ? 2 * engine->room : 64;
	struct pcie_copy *queue;
	uint32_t i;

	if (engine->count < engine->room)
		return;
	queue = malloc(room * sizeof(*queue));
	if (!queue) {
		fputs("gvmsim: out of memory for copies\n", stderr);
		exit(1);
	}
	for (i = 0; i < engine->count; i++)
		queue[i] = engine->queue[(engine->first + i) % engine->room];
	free(engine->queue);
	engine->queue = queue;
	engine->room = room;
	engine->first = 0;
}

uint64_t pcie_copy_pieces(struct pcie_link *link, enum pcie_direction direction, uint64_t bytes,
			  uint64_t pieces, uint64_t doorbell_ns, uint64_t after,
			  uint64_t *ret_bytes)
{
	struct pcie_engine *engine = &link->engines[direction];

	engine_make_room(engine);
	engine->queue[(engine->first + engine->count++) % engine->room] =
		(struct pcie_copy){ bytes, pieces ? pieces : 1, doorbell_ns, after, ret_bytes };
	if (engine->count == 1)
		engine_start_first(engine);
	return ++engine->submitted;
}

uint64_t pcie_copy(struct pcie_link *link, enum pcie_direction direction, uint64_t bytes,
		   uint64_t doorbell_ns, uint64_t after, uint64_t *ret_bytes)
{
	return pcie_copy_pieces(link, direction, bytes, 1, doorbell_ns, after, ret_bytes);
}

bool pcie_is_done(const struct pcie_link *link, enum pcie_direction direction,
		  uint64_t sequence)
{
	return link->engines[direction].completed >= sequence;
}

uint64_t pcie_busy_ns(const struct pcie_link *link, enum pcie_direction direction)
{
	const struct pcie_engine *engine = &link->engines[direction];
	bool at_work = engine->count && !engine->held && engine->start_ns < eng_now();

	return engine->busy_ns + (at_work ? eng_now() - engine->start_ns : 0);
}

/* Wait for a copy, or until somebody else's is done, who wanted one before it. */
static int engine_wait(struct pcie_engine *engine, uint64_t sequence, bool interruptible)
{
	if (!engine->wanted || sequence < engine->wanted)
		engine->wanted = sequence;
	return eng_wait(&engine->waitq, ENG_NEVER, interruptible);
}

int pcie_wait(struct pcie_link *link, enum pcie_direction direction, uint64_t sequence)
{
	struct pcie_engine *engine = &link->engines[direction];
	int status = 0;

	while (engine->completed < sequence && status != -EINTR)
		status = engine_wait(engine, sequence, true);
	return engine->completed < sequence ? status : 0;
}

void pcie_drain(struct pcie_link *link, enum pcie_direction direction)
{
	struct pcie_engine *engine = &link->engines[direction];
	uint64_t last = engine->submitted;

	while (engine->completed < last)
		engine_wait(engine, last, false);
}
