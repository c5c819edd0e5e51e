/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A heap of timers: the earliest first, equal dates in the order in which they were set.
 *
 * It is a pairing heap (Fredman, Sedgewick, Sleator and Tarjan, 1986) whose links lie in the
 * timers: setting a timer is one comparison, allocates nothing and cannot fail. Dates and
 * sequence numbers together are a total order, so the order of events never depends on the
 * shape of the heap.
 */
#ifndef SIM_ENGINE_TIMERS_H
#define SIM_ENGINE_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/types.h"

/* A date that never comes. */
#define ENG_NEVER U64_MAX

/* A callback at a date. Memory belongs to the caller and is zeroed before first use. */
struct eng_timer {
	void (*fire)(struct eng_timer *timer); /* must not block */
	u64 date;			       /* ns */
	u64 sequence;			       /* order among equal dates */
	bool set;
	struct eng_timer *child;    /* links of the heap, set by the engine */
	struct eng_timer *sibling;  /* next child of the same timer */
	struct eng_timer *previous; /* child of the same timer; of the first: the parent */
};

/* All-zero is empty. Owns none of its timers. */
struct eng_timers {
	struct eng_timer *first;
	u64 next_sequence;
};

void eng_timers_set(struct eng_timers *timers, struct eng_timer *timer, u64 date);

/* Unset a timer. Does nothing to a timer that is not set. */
void eng_timers_cancel(struct eng_timers *timers, struct eng_timer *timer);

/* The earliest timer's date; ENG_NEVER if there is none. */
u64 eng_timers_next(const struct eng_timers *timers);

/* Unset and return the earliest timer if it is due at @now, else NULL. */
struct eng_timer *eng_timers_pop_due(struct eng_timers *timers, u64 now);

#endif
