/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The baseline for the core's clock: textbook CLOCK on a plain array of reference bytes. It has
 * one hand, and no owners, limits, lock or books.
 */
#ifndef BENCH_ARRAY_CLOCK_H
#define BENCH_ARRAY_CLOCK_H

#include "engine/types.h"

/* The slot of an object that is in no slot. */
#define ARRAY_CLOCK_NONE U32_MAX

struct array_clock {
	u8 *referenced; /* per slot */
	u32 *object_in; /* per slot */
	u32 *slot_of;	/* per object */
	u32 objects;
	u32 slots;
	u32 used;
	u32 hand;
};

/* Returns 0 or -ENOMEM. */
int array_clock_init(struct array_clock *clock, u32 objects, u32 slots);
void array_clock_destroy(struct array_clock *clock);

/* Forget all that is cached. */
void array_clock_reset(struct array_clock *clock);

/* Replay requests, each the number of an object; returns how many of them missed. */
u32 array_clock_replay(struct array_clock *clock, const u32 *requests, u32 count);

#endif
