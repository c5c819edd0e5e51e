/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the core's clock is measured against: CLOCK as a textbook has it, on a plain array of
 * reference bytes, with one hand, no owners, no limits, no lock and no books.
 */
#ifndef BENCH_ARRAY_CLOCK_H
#define BENCH_ARRAY_CLOCK_H

#include <stdint.h>

/* Objects that are in no slot, slots that hold no object. */
#define ARRAY_CLOCK_NONE UINT32_MAX

struct array_clock {
	uint8_t *referenced; /* per slot */
	uint32_t *object_in; /* per slot */
	uint32_t *slot_of;   /* per object */
	uint32_t objects;
	uint32_t slots;
	uint32_t used;
	uint32_t hand;
};

/* Returns 0 or -ENOMEM. */
int array_clock_init(struct array_clock *clock, uint32_t objects, uint32_t slots);
void array_clock_destroy(struct array_clock *clock);

/* Forget all that is cached. */
void array_clock_reset(struct array_clock *clock);

/* Replay requests, each the number of an object; returns how many of them missed. */
uint32_t array_clock_replay(struct array_clock *clock, const uint32_t *requests,
			    uint32_t count);

#endif
