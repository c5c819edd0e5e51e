// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The link and its copy engines as two coupled state machines; see link.h.
 *
 * The directions affect each other only while both have a copy at work and the link cannot
 * carry both at full rate. A copy starts "alone" if the link carries both at full rate, or if
 * the other direction has no copy, and if no kernel uses the link. The end of such a copy is
 * known at once and is its only event. When the other direction starts a copy, or a kernel
 * comes, the lone copy enters the phase that it has reached. A copy that is not alone has one
 * more event, at the end of its set-up, where the rates of both directions change.
 */
#include "pcie/link.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define NS_PER_S   1000000000ull
#define FIRST_ROOM 64u /* copies */

static bool engine_is_at_work(const struct pcie_engine *engine)
{
	return engine->phase == PCIE_SETUP || engine->phase == PCIE_MOVING;
}

/* Bring either_ns up to date. Call it before a copy starts or ends. */
static void link_book(struct pcie_link *link)
{
	u64 now = eng_now();
	u64 start = now;

	for (int direction = 0; direction < PCIE_DIRECTIONS; direction++) {
		const struct pcie_engine *engine = &link->engines[direction];

		if (engine_is_at_work(engine) && engine->start_ns < start)
			start = engine->start_ns;
	}
	link->either_ns += now - (start > link->booked_ns ? start : link->booked_ns);
	link->booked_ns = now;
}

/* Bring bytes_left up to date. The remainder of the division is kept: no drift. */
static void engine_advance(struct pcie_engine *engine)
{
	u64 elapsed = eng_now() - engine->updated_ns;
	u64 moved, work;

	/*
	 * 64 bits hold the product in nearly all cases. A division of 128 bits takes 20 times
	 * as long.
	 */
	if (__builtin_mul_overflow(elapsed, engine->rate, &work) ||
	    __builtin_add_overflow(work, engine->fraction, &work)) {
		unsigned __int128 wide =
			(unsigned __int128)elapsed * engine->rate + engine->fraction;

		engine->fraction = (u64)(wide % NS_PER_S);
		wide /= NS_PER_S;
		moved = wide < engine->bytes_left ? (u64)wide : engine->bytes_left;
	} else {
		engine->fraction = work % NS_PER_S;
		moved = work / NS_PER_S;
		moved = moved < engine->bytes_left ? moved : engine->bytes_left;
	}
	engine->bytes_left -= moved;
	engine->updated_ns = eng_now();
}

/* Set the timer to the date at which the last byte has moved at the present rate. */
static void engine_expect_end(struct pcie_engine *engine)
{
	u64 work, ns;

	if (__builtin_mul_overflow(engine->bytes_left, NS_PER_S, &work) ||
	    work > U64_MAX - engine->rate) {
		unsigned __int128 wide = (unsigned __int128)engine->bytes_left * NS_PER_S;

		wide -= engine->fraction;
		ns = (u64)((wide + engine->rate - 1) / engine->rate);
	} else {
		work = work > engine->fraction ? work - engine->fraction : 0;
		ns = (work + engine->rate - 1) / engine->rate;
	}
	eng_timer_set(&engine->timer, engine->updated_ns + ns);
}

static bool link_has_kernels(const struct pcie_link *link)
{
	return link->kernels.wants[PCIE_H2D] || link->kernels.wants[PCIE_D2H];
}

static u64 engine_wants(const struct pcie_engine *engine)
{
	return engine->link->kernels.wants[engine - engine->link->engines];
}

/* What a direction carries, copies and kernels together. */
static u64 engine_capacity(const struct pcie_engine *engine)
{
	const struct pcie_link *link = engine->link;
	u64 shared = link->shared_rate, other = engine_wants(engine->other);

	if (engine->other->phase == PCIE_MOVING)
		return shared;
	other = other < shared ? other : shared;
	return 2 * shared - other < link->config.bandwidth ? 2 * shared - other :
							     link->config.bandwidth;
}

/* What kernels get of a direction. */
static u64 engine_kernels_rate(const struct pcie_engine *engine)
{
	u64 capacity = engine_capacity(engine), wants = engine_wants(engine);

	if (engine->phase == PCIE_MOVING)
		capacity /= 2;
	return wants < capacity ? wants : capacity;
}

/*
 * A direction has begun or ended to move bytes, or kernels have: set the rate of this one anew.
 */
static void engine_set_rate(struct pcie_engine *engine)
{
	if (engine->phase != PCIE_MOVING)
		return;
	engine_advance(engine);
	engine->rate = engine_capacity(engine) - engine_kernels_rate(engine);
	engine_expect_end(engine);
}

/* Copies have begun or ended to move bytes. */
static void link_tell_kernels(const struct pcie_link *link)
{
	if (link_has_kernels(link))
		link->kernels.changed(link->kernels.data);
}

/* The other direction starts a copy: put this one into the phase that it has reached. */
static void engine_not_alone(struct pcie_engine *engine)
{
	if (!engine->alone)
		return;
	engine->alone = false;
	if (eng_now() < engine->setup_end_ns)
		eng_timer_set(&engine->timer, engine->setup_end_ns);
	else
		engine->phase = PCIE_MOVING;
}

static void engine_start_first(struct pcie_engine *engine)
{
	const struct pcie_copy *copy = &engine->queue[engine->first];
	struct pcie_link *link = engine->link;
	u64 piece_ns = link->config.piece_ns[engine - link->engines];
	bool kernels = link_has_kernels(link);
	bool shares = kernels || link->shared_rate < link->config.bandwidth;

	if (engine->other->completed < copy->after) {
		engine->phase = PCIE_HELD;
		return;
	}
	link_book(link);
	engine->phase = PCIE_SETUP;
	engine->start_ns = copy->doorbell_ns > eng_now() ? copy->doorbell_ns : eng_now();
	engine->setup_end_ns =
		engine->start_ns + link->config.setup_ns + (copy->pieces - 1) * piece_ns;
	engine->bytes_left = copy->bytes;
	engine->fraction = 0;
	engine->updated_ns = engine->setup_end_ns;
	engine->rate = link->config.bandwidth;
	engine->alone = !shares || (!kernels && !engine_is_at_work(engine->other));
	if (engine->alone)
		engine_expect_end(engine);
	else
		eng_timer_set(&engine->timer, engine->setup_end_ns);
	if (shares)
		engine_not_alone(engine->other);
}

/*
 * End the first copy. Wakes the waiters only if one of them waits for this copy or an earlier
 * one.
 */
static void engine_finish_first(struct pcie_engine *engine)
{
	const struct pcie_copy copy = engine->queue[engine->first];

	if (copy.ret_bytes)
		*copy.ret_bytes += copy.bytes;
	engine->first = (engine->first + 1) & (engine->room - 1);
	engine->count--;
	engine->completed++;
	link_book(engine->link);
	engine->busy_ns += eng_now() - engine->start_ns;
	if (engine->link->observer.copied)
		engine->link->observer.copied(
			engine->link->observer.data, engine->link,
			engine == &engine->link->engines[PCIE_H2D] ? PCIE_H2D : PCIE_D2H,
			engine->start_ns, copy.bytes);
	engine->phase = PCIE_IDLE;
	engine->alone = false;
	engine_set_rate(engine->other);
	if (engine->other->phase == PCIE_HELD)
		engine_start_first(engine->other);
	if (engine->count)
		engine_start_first(engine);
	if (engine->wanted && engine->completed >= engine->wanted) {
		engine->wanted = 0;
		eng_wake_all(&engine->waitq);
	}
	link_tell_kernels(engine->link);
	if (copy.on_end)
		copy.on_end(copy.data);
}

static void engine_fire(struct eng_timer *timer)
{
	struct pcie_engine *engine =
		(struct pcie_engine *)(void *)((char *)timer -
					       offsetof(struct pcie_engine, timer));

	if (engine->phase == PCIE_MOVING || engine->alone) {
		engine_finish_first(engine);
		return;
	}
	engine->phase = PCIE_MOVING;
	engine_set_rate(engine);
	engine_set_rate(engine->other);
	link_tell_kernels(engine->link);
}

void pcie_link_init(struct pcie_link *link, const struct pcie_config *config)
{
	u64 half = config->bandwidth_both / 2;

	*link = (struct pcie_link){
		.config = *config,
		.shared_rate = half < config->bandwidth ? half : config->bandwidth,
	};
	for (int direction = 0; direction < PCIE_DIRECTIONS; direction++) {
		struct pcie_engine *engine = &link->engines[direction];

		engine->link = link;
		engine->other = &link->engines[!direction];
		engine->timer.fire = engine_fire;
	}
}

void pcie_link_destroy(struct pcie_link *link)
{
	for (int direction = 0; direction < PCIE_DIRECTIONS; direction++) {
		eng_timer_cancel(&link->engines[direction].timer);
		free(link->engines[direction].queue);
	}
}

/* Double the ring if it is full, and move its first copy to the start. Returns 0 or -ENOMEM. */
static int engine_make_room(struct pcie_engine *engine)
{
	u32 room = engine->room ? 2 * engine->room : FIRST_ROOM;
	struct pcie_copy *queue;

	if (engine->count < engine->room)
		return 0;
	queue = malloc(room * sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	for (u32 i = 0; i < engine->count; i++)
		queue[i] = engine->queue[(engine->first + i) & (engine->room - 1)];
	free(engine->queue);
	engine->queue = queue;
	engine->room = room;
	engine->first = 0;
	return 0;
}

int pcie_copy(struct pcie_link *link, enum pcie_direction direction,
	      const struct pcie_copy *copy, u64 *ret_sequence)
{
	struct pcie_engine *engine = &link->engines[direction];
	int status = engine_make_room(engine);
	struct pcie_copy *last;

	if (status)
		return status;
	last = &engine->queue[(engine->first + engine->count++) & (engine->room - 1)];
	*last = *copy;
	if (!last->pieces)
		last->pieces = 1;
	if (engine->count == 1)
		engine_start_first(engine);
	engine->submitted++;
	if (ret_sequence)
		*ret_sequence = engine->submitted;
	return 0;
}

void pcie_claim(struct pcie_link *link, const u64 *wants, u64 *ret_gets)
{
	for (int direction = 0; direction < PCIE_DIRECTIONS; direction++) {
		link->kernels.wants[direction] = wants[direction];
		engine_not_alone(&link->engines[direction]);
	}
	for (int direction = 0; direction < PCIE_DIRECTIONS; direction++) {
		engine_set_rate(&link->engines[direction]);
		ret_gets[direction] = engine_kernels_rate(&link->engines[direction]);
	}
}

bool pcie_is_done(const struct pcie_link *link, enum pcie_direction direction, u64 sequence)
{
	return link->engines[direction].completed >= sequence;
}

static u64 engine_busy_ns(const struct pcie_engine *engine)
{
	bool at_work = engine_is_at_work(engine) && engine->start_ns < eng_now();

	return engine->busy_ns + (at_work ? eng_now() - engine->start_ns : 0);
}

struct pcie_use pcie_use(struct pcie_link *link)
{
	link_book(link);
	return (struct pcie_use){
		.in_ns = engine_busy_ns(&link->engines[PCIE_H2D]),
		.out_ns = engine_busy_ns(&link->engines[PCIE_D2H]),
		.either_ns = link->either_ns,
	};
}

/* Wait until this copy is done, or an earlier one that another actor waits for. */
static int engine_wait(struct pcie_engine *engine, u64 sequence, bool interruptible)
{
	if (!engine->wanted || sequence < engine->wanted)
		engine->wanted = sequence;
	return eng_wait(&engine->waitq, ENG_NEVER, interruptible);
}

int pcie_wait(struct pcie_link *link, enum pcie_direction direction, u64 sequence)
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
	u64 last = engine->submitted;

	while (engine->completed < last)
		engine_wait(engine, last, false);
}
