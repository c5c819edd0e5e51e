/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The world of core_world.h with four containers of one TSG each, and a scheduler without its
 * thread: the tests call its rounds.
 */
#ifndef TESTS_SCHED_WORLD_H
#define TESTS_SCHED_WORLD_H

#include "core_world.h"
#include "gvm/sched.h"

#define TENANTS	 4u
#define MS	 1000000ull
#define FIRST_ID 10u

extern struct gvm_scheduler scheduler;
extern struct gvm_container *tenants[TENANTS];
extern struct gvm_tsg tsgs[TENANTS]; /* with the ids 10, 11, ... */

/* For world_add_case(). */
void sched_world_setup(void);
void sched_world_teardown(void);

/* A new scheduler that tracks work by busy bits. */
void use_policy(enum gvm_sched_policy policy);
void set_weights(u32 a, u32 b, u32 c, u32 d);
void set_priorities(u32 a, u32 b, u32 c, u32 d);

/* What tsg_sample tells of a tenant's TSG. */
void set_busy(u32 tenant, bool busy);
void let_run(u32 tenant, u64 ns);

/* A round without an error. */
void round_ok(void);

/* Expect the RPC with that index since the last world_expect_calls(). */
void expect_call(u32 index, enum world_rpc rpc, u32 tsg, u64 value);

#endif
