/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A binary heap of timers, earliest first, equal dates in the order in which they were set. */
#ifndef SIM_ENGINE_TIMERS_H
#define SIM_ENGINE_TIMERS_H

#include "engine/engine.h"

/* All-zero is empty. Owns its array, for the life of the process, and not the timers. */
struct eng_timers {
	struct eng_timer **heap;
	uint32_t count;
	uint32_t room;
	uint64_t next_sequence;
};

void eng_timers_set(struct eng_timers *timers, struct eng_timer *timer, uint64_t date);
void eng_timers_cancel(struct eng_timers *timers, struct eng_timer *timer);

/* The earliest timer's date; ENG_NEVER if there is none. */
uint64_t eng_timers_next(const struct eng_timers *timers);

/* Unset and return the earliest timer if it is due at @now, else NULL. */
struct eng_timer *eng_timers_pop_due(struct eng_timers *timers, uint64_t now);

#endif
