// SPDX-License-Identifier: MIT OR GPL-2.0
#include "sched_world.h"

struct gvm_scheduler scheduler;
struct gvm_container *tenants[TENANTS];
struct gvm_tsg tsgs[TENANTS];

void sched_world_setup(void)
{
	u32 i;

	world_init(WORLD_CHUNKS);
	for (i = 0; i < TENANTS; i++) {
		tenants[i] = world_attach(1 + i);
		ck_assert_int_eq(gvm_tsg_attach(tenants[i], &tsgs[i], FIRST_ID + i), 0);
	}
}

void sched_world_teardown(void)
{
	u32 i;

	for (i = 0; i < TENANTS; i++) {
		gvm_tsg_detach(&tsgs[i]);
		world_detach(tenants[i]);
	}
	world_destroy();
}

void use_policy(enum gvm_sched_policy policy)
{
	memset(&scheduler, 0, sizeof(scheduler));
	scheduler.device = &world.device;
	scheduler.config.policy = policy;
	scheduler.config.tracking = GVM_TRACK_BUSY_BITS;
	scheduler.config.interval_ns = MS;
}

void set_weights(u32 a, u32 b, u32 c, u32 d)
{
	const u32 weights[TENANTS] = { a, b, c, d };
	u32 i;

	for (i = 0; i < TENANTS; i++)
		ck_assert_int_eq(gvm_compute_set_weight(tenants[i], weights[i]), 0);
}

void set_priorities(u32 a, u32 b, u32 c, u32 d)
{
	const u32 priorities[TENANTS] = { a, b, c, d };
	u32 i;

	for (i = 0; i < TENANTS; i++)
		ck_assert_int_eq(gvm_compute_set_priority(tenants[i], priorities[i]), 0);
	world_expect_calls(U32_MAX, 0);
}

void set_busy(u32 tenant, bool busy)
{
	world.samples[FIRST_ID + tenant].busy = busy;
}

void let_run(u32 tenant, u64 ns)
{
	world.samples[FIRST_ID + tenant].runtime_ns += ns;
}

void round_ok(void)
{
	ck_assert_int_eq(gvm_scheduler_round(&scheduler), 0);
}

void expect_call(u32 index, enum world_rpc rpc, u32 tsg, u64 value)
{
	ck_assert_uint_lt(index, world.call_count);
	ck_assert_int_eq(world.calls[index].rpc, rpc);
	ck_assert_uint_eq(world.calls[index].tsg, tsg);
	ck_assert_uint_eq(world.calls[index].value, value);
}
