/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A world for tests of the driver core. Its GPU has a few chunks and does nothing: it records
 * the calls of the core, and refuses on demand. Its memory is counted, and fails on demand.
 *
 * There is one world per test process. A test calls world_init() in the set-up and
 * world_destroy() in the tear-down. world_destroy() fails the test if memory leaked or the
 * books do not balance.
 */
#ifndef TESTS_CORE_WORLD_H
#define TESTS_CORE_WORLD_H

#include "gvm/charge.h"
#include "gvm/clock.h"
#include "gvm/sched.h"
#include "gvm/tsg.h"

#include <check.h>

#ifndef __KERNEL__
#include "engine_null.h"
#endif

#define WORLD_CHUNKS	 16u
#define WORLD_CHUNKS_MAX 4096u
#define WORLD_CALLS_MAX	 256u
#define WORLD_TSGS	 128u

/* The timeslice and priority of a fresh TSG on this GPU. No priority maps to this timeslice. */
#define WORLD_TIMESLICE_US 1000ull
#define WORLD_PRIORITY	   9u /* 1024 us */

/* An RPC that the core made. */
enum world_rpc {
	WORLD_TIMESLICE,
	WORLD_DISABLE,
	WORLD_TAKE_OFF, /* disable and preempt at once */
	WORLD_ENABLE,
	WORLD_PREEMPT,
};

struct world_call {
	enum world_rpc rpc;
	u32 tsg;
	u64 value; /* TIMESLICE: us; PREEMPT: 0; others: count of TSGs */
};

struct world {
	struct gvm_device device;

	bool pinned[WORLD_CHUNKS_MAX]; /* evictable returns false */
	u32 asks;		       /* calls of evictable */
	u32 asked[WORLD_CHUNKS_MAX];   /* the same per chunk */

	struct world_call calls[WORLD_CALLS_MAX];
	u32 call_count;
	bool off[WORLD_TSGS]; /* off the runlist, after the last move */
	u32 idle_moves;	      /* moves that changed nothing, except TAKE_OFF */
	struct gvm_tsg_sample samples[WORLD_TSGS]; /* results of tsg_sample, by TSG id */
	u32 looks;				   /* calls of tsg_sample */
	u64 accesses[WORLD_TSGS];		   /* that each TSG has finished */
	u32 fail_call; /* index of the call that fails; U32_MAX: none */
	int fail_error;

	u32 allocations;	     /* made so far */
	u32 live;		     /* not freed yet */
	u32 fail_allocation;	     /* index of the one that fails; U32_MAX: none */
	bool fail_from_there;	     /* all later ones fail, too */
	void (*on_allocation)(void); /* called before each, unless NULL */
};

extern struct world world;

void world_init(u32 chunk_count);
void world_init_with(u32 chunk_count, bool sub_chunks);	 /* parts of chunks can be charged */
void world_init_features(u32 chunk_count, u32 features); /* set of enum gvm_feature */
void world_destroy(void);

/*
 * Wait for a round of a started scheduler. A kernel has the scheduler's thread, and
 * rounds are for one thread at a time. These tests have no other thread in user space:
 * the caller makes the round.
 */
void world_await_round(struct gvm_scheduler *scheduler);

/* Fail the test unless gvm_check() is content. */
void world_check(void);

/* Attach a process and expect success. */
struct gvm_container *world_attach(u32 tgid);

/* Uncharge all of a container's chunks, and detach one process. */
void world_detach(struct gvm_container *container);

/* Charge a free chunk; or the lowest one that is free, and return it. */
void world_charge_chunk(struct gvm_container *container, u32 chunk);
u32 world_charge(struct gvm_container *container);

/* Charge @count chunks. */
void world_charge_many(struct gvm_container *container, u32 count);

/* Pick by either order until there is a victim, at most @calls times. */
u32 world_pick_own(struct gvm_container *container, u32 calls);
u32 world_pick_global(u32 calls);

/* Is the chunk's reference bit of @order set? */
bool world_is_referenced(u32 chunk, enum gvm_order order);

/* @count chunks, from chunk @first on, are used, or stay where they are. */
void world_touch_many(u32 first, u32 count);
void world_pin_many(u32 first, u32 count);

/* How many chunks have their bit set in @order. */
u32 world_count_referenced(enum gvm_order order);

/* Forget the recorded RPCs; from now on, call @index (from 0) fails with @error. */
void world_expect_calls(u32 index, int error);

/* Add a test case to a suite; set_up and tear_down, which may be NULL, surround each test. */
void world_add_case(Suite *suite, const char *name, void (*set_up)(void),
		    void (*tear_down)(void), void (*add_tests)(TCase *tests));

/* Run a suite and free it. Returns an exit status. */
int world_run(Suite *suite);

#endif
