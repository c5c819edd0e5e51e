// SPDX-License-Identifier: MIT OR GPL-2.0
#include "core_world.h"

#include <stdlib.h>

struct world world;

static bool world_allocation_fails(u32 index)
{
	return world.fail_from_there ? index >= world.fail_allocation :
				       index == world.fail_allocation;
}

static void *world_alloc(size_t bytes)
{
	if (world.on_allocation)
		world.on_allocation();
	if (world_allocation_fails(world.allocations++))
		return NULL;
	world.live++;
	return calloc(1, bytes);
}

static void world_release(void *memory)
{
	if (memory)
		world.live--;
	free(memory);
}

static const struct gvm_port_alloc_hook world_alloc_hook = { world_alloc, world_release };

static bool world_evictable(void *memory, u32 chunk)
{
	struct world *me = memory;

	/*
	 * No ck_assert here: each one costs a system call, and the core asks a million times.
	 */
	gvm_spin_assert_held(&me->device.lock);
	GVM_ASSERT(chunk < me->device.chunk_count);
	me->asks++;
	me->asked[chunk]++;
	return !me->pinned[chunk];
}

static int world_record(void *gpu, enum world_rpc rpc, u32 tsg, u64 value)
{
	struct world *me = gpu;
	u32 index = me->call_count++;

	gvm_mutex_assert_held(&me->device.tsg_mutex);
	ck_assert_uint_lt(index, WORLD_CALLS_MAX);
	me->calls[index] = (struct world_call){ rpc, tsg, value };
	return index == me->fail_call ? me->fail_error : 0;
}

static int world_tsg_set_timeslice(void *gpu, u32 tsg, u64 timeslice_us)
{
	return world_record(gpu, WORLD_TIMESLICE, tsg, timeslice_us);
}

/* A move is one RPC for any number of TSGs. The record of the call names the first TSG. */
static int world_move(void *gpu, enum world_rpc rpc, const u32 *tsgs, u32 count)
{
	int status = world_record(gpu, rpc, tsgs[0], count);
	struct world *me = gpu;
	u32 i;

	for (i = 0; i < count && !status; i++) {
		bool off = rpc != WORLD_ENABLE;

		ck_assert_uint_lt(tsgs[i], WORLD_TSGS);
		me->idle_moves += me->off[tsgs[i]] == off && rpc != WORLD_TAKE_OFF;
		me->off[tsgs[i]] = off;
	}
	return status;
}

static int world_tsgs_disable(void *gpu, const u32 *tsgs, u32 count, bool preempt)
{
	return world_move(gpu, preempt ? WORLD_TAKE_OFF : WORLD_DISABLE, tsgs, count);
}

static int world_tsgs_enable(void *gpu, const u32 *tsgs, u32 count)
{
	return world_move(gpu, WORLD_ENABLE, tsgs, count);
}

static int world_tsg_preempt(void *gpu, u32 tsg)
{
	return world_record(gpu, WORLD_PREEMPT, tsg, 0);
}

static void world_tsg_sample(void *gpu, u32 tsg, struct gvm_tsg_sample *ret_sample)
{
	struct world *me = gpu;

	ck_assert_uint_lt(tsg, WORLD_TSGS);
	me->looks++;
	*ret_sample = me->samples[tsg];
}

static u64 world_tsg_accesses(void *gpu, u32 tsg)
{
	struct world *me = gpu;

	ck_assert_uint_lt(tsg, WORLD_TSGS);
	return me->accesses[tsg];
}

static const struct gvm_gpu_ops world_ops = {
	.tsg_accesses = world_tsg_accesses,
	.tsg_set_timeslice = world_tsg_set_timeslice,
	.tsgs_disable = world_tsgs_disable,
	.tsgs_enable = world_tsgs_enable,
	.tsg_preempt = world_tsg_preempt,
	.tsg_sample = world_tsg_sample,
};

static const struct gvm_memory_ops world_memory_ops = { .evictable = world_evictable };

static void world_init_device(u32 chunk_count, bool sub_chunks, u32 features)
{
	struct gvm_device_config config = {
		.name = "test",
		.chunk_count = chunk_count,
		.ops = &world_ops,
		.gpu = &world,
		.memory_ops = &world_memory_ops,
		.memory = &world,
		.default_timeslice_us = WORLD_TIMESLICE_US,
		.sub_chunks = sub_chunks,
		.features = features,
	};

	ck_assert_uint_le(chunk_count, WORLD_CHUNKS_MAX);
	memset(&world, 0, sizeof(world));
	world.fail_call = U32_MAX;
	world.fail_allocation = U32_MAX;
	gvm_port_alloc_hook = &world_alloc_hook;
	ck_assert_int_eq(gvm_device_init(&world.device, &config), 0);
}

void world_init(u32 chunk_count)
{
	world_init_device(chunk_count, false, 0);
}

void world_init_with(u32 chunk_count, bool sub_chunks)
{
	world_init_device(chunk_count, sub_chunks, 0);
}

void world_init_features(u32 chunk_count, u32 features)
{
	world_init_device(chunk_count, false, features);
}

void world_destroy(void)
{
	world_check();
	gvm_device_destroy(&world.device);
	ck_assert_uint_eq(world.live, 0);
}

void world_await_round(struct gvm_scheduler *scheduler)
{
#ifdef __KERNEL__
	u64 rounds;

	do {
		gvm_give_way();
		gvm_mutex_lock(&world.device.tsg_mutex);
		rounds = scheduler->rounds;
		gvm_mutex_unlock(&world.device.tsg_mutex);
	} while (!rounds);
#else
	ck_assert_int_eq(gvm_scheduler_round(scheduler), 0);
#endif
}

void world_check(void)
{
	ck_assert_int_eq(gvm_check(&world.device), 0);
}

struct gvm_container *world_attach(u32 tgid)
{
	struct gvm_container *container;

	ck_assert_int_eq(gvm_container_attach(&world.device, tgid, &container), 0);
	return container;
}

void world_detach(struct gvm_container *container)
{
	u32 i;

	for (i = 0; i < world.device.chunk_count; i++) {
		if (world.device.chunks[i].owner == container)
			gvm_uncharge(&world.device, i);
	}
	gvm_container_detach(container);
}

static u32 world_free_chunk(void)
{
	u32 i;

	for (i = 0; i < world.device.chunk_count; i++) {
		if (world.device.chunks[i].state == GVM_CHUNK_FREE)
			return i;
	}
	ck_abort_msg("no free chunk is left");
	return GVM_NO_CHUNK;
}

void world_charge_chunk(struct gvm_container *container, u32 chunk)
{
	if (gvm_charge_reserve(container))
		ck_abort_msg("a charge was refused");
	gvm_charge_bind(container, chunk);
}

u32 world_charge(struct gvm_container *container)
{
	u32 chunk = world_free_chunk();

	world_charge_chunk(container, chunk);
	return chunk;
}

void world_charge_many(struct gvm_container *container, u32 count)
{
	while (count--)
		world_charge(container);
}

u32 world_pick_own(struct gvm_container *container, u32 calls)
{
	u32 victim = GVM_NO_CHUNK;

	while (calls-- && victim == GVM_NO_CHUNK)
		victim = gvm_clock_pick_own(container);
	return victim;
}

u32 world_pick_global(u32 calls)
{
	u32 victim = GVM_NO_CHUNK;

	while (calls-- && victim == GVM_NO_CHUNK)
		victim = gvm_clock_pick_global(&world.device);
	return victim;
}

bool world_is_referenced(u32 chunk, enum gvm_order order)
{
	return world.device.referenced[chunk] & GVM_REFERENCED(order);
}

void world_touch_many(u32 first, u32 count)
{
	while (count--)
		gvm_clock_touch(&world.device, first++);
}

void world_pin_many(u32 first, u32 count)
{
	while (count--)
		world.pinned[first++] = true;
}

u32 world_count_referenced(enum gvm_order order)
{
	u32 count = 0;

	for (u32 i = 0; i < world.device.chunk_count; i++)
		count += world_is_referenced(i, order);
	return count;
}

void world_expect_calls(u32 index, int error)
{
	world.call_count = 0;
	world.fail_call = index;
	world.fail_error = error;
}

void world_add_case(Suite *suite, const char *name, void (*set_up)(void),
		    void (*tear_down)(void), void (*add_tests)(TCase *tests))
{
	TCase *tests = tcase_create(name);

	tcase_set_timeout(tests, 600); /* a guard against hangs: a busy machine is slow */
	tcase_add_checked_fixture(tests, set_up, tear_down);
	add_tests(tests);
	suite_add_tcase(suite, tests);
}

int world_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
