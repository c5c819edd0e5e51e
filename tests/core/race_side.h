/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The threads of the race tests, in user space and in a kernel: their random numbers, start and
 * end.
 */
#ifndef TESTS_RACE_SIDE_H
#define TESTS_RACE_SIDE_H

#include "gvm/port.h"
#include "runner.h"
#include "draw.h"

/*
 * Steps of a thread. A kernel under emulation is slow and its threads meet more often, so it
 * makes fewer steps.
 */
#ifdef __KERNEL__
#define RACE_STEPS(user, kernel) (kernel)
#else
#define RACE_STEPS(user, kernel) (user)
#endif

/* The random numbers of one thread. */
struct race_dice {
	u64 state;
};

static inline u32 race_roll(struct race_dice *dice, u32 below)
{
	return draw_below(&dice->state, below);
}

/*
 * A thread of a race. It makes a fixed number of steps, or it runs until the threads with a
 * fixed number of steps are done.
 */
struct race_side {
	struct gvm_worker worker;
	struct race_dice dice;
	u32 index;
	u64 count; /* how far it got; read after it has stopped */
	struct gvm_completion done;
};

/* Start the thread. Its random numbers follow from the seed and its index. */
static inline void race_side_start(struct race_side *side, u32 index, u64 seed,
				   void (*function)(void *data))
{
	side->dice.state = seed + 1000003ull * index;
	side->index = index;
	side->count = 0;
	gvm_completion_init(&side->done);
	GVM_ASSERT(gvm_worker_start(&side->worker, "gvm race", function, side) == 0);
}

/* Wait until the thread has made its steps. */
static inline void race_side_finish(struct race_side *side)
{
	GVM_ASSERT(gvm_completion_wait(&side->done) == 0);
	gvm_worker_stop(&side->worker);
}

/* The seed of a race. In user space, threads also give way at random, by the same seed. */
static inline u64 race_begin(void)
{
	u64 seed = runner_seed_or(20250801);

#ifndef __KERNEL__
	gvm_port_yield_seed = seed;
#endif
	return seed;
}

#endif
