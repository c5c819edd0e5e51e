/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The threads of the race tests, in user space and in a kernel: their dice, beginning and end. */
#ifndef TESTS_RACE_SIDE_H
#define TESTS_RACE_SIDE_H

#include "gvm/port.h"
#include "runner.h"
#include "draw.h"

/* A kernel under emulation is slow, and its threads meet more often. */
#ifdef __KERNEL__
#define RACE_STEPS(user, kernel) (kernel)
#else
#define RACE_STEPS(user, kernel) (user)
#endif

/* Random numbers of one thread. */
struct race_dice {
	u64 state;
};

static inline u32 race_roll(struct race_dice *dice, u32 below)
{
	return draw_below(&dice->state, below);
}

/* A thread: one that has so much to do, or one that goes on until those are done. */
struct race_side {
	struct gvm_worker worker;
	struct race_dice dice;
	u32 index;
	u64 count; /* of what is worth counting; its own until it is stopped */
	struct gvm_completion done;
};

/* Start it; it draws its own numbers, which follow from the seed. */
static inline void race_side_start(struct race_side *side, u32 index, u64 seed,
				   void (*function)(void *data))
{
	side->dice.state = seed + 1000003ull * index;
	side->index = index;
	side->count = 0;
	gvm_completion_init(&side->done);
	GVM_ASSERT(gvm_worker_start(&side->worker, "gvm race", function, side) == 0);
}

/* Wait until it has done what it had to do. */
static inline void race_side_finish(struct race_side *side)
{
	GVM_ASSERT(gvm_completion_wait(&side->done) == 0);
	gvm_worker_stop(&side->worker);
}

/* The seed of a race. Nobody is to be lucky: threads give way at random as well. */
static inline u64 race_begin(void)
{
	u64 seed = runner_seed_or(20250801);

#ifndef __KERNEL__
	gvm_port_yield_seed = seed;
#endif
	return seed;
}

#endif
