// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The model of the published GVM driver on the simulated GPU: writes of a limit, and random
 * limits with their overshoot. Numbers are worked out by hand, see nvuvm_world.h.
 */
#include "gvm/control.h"
#include "nvuvm_world.h"
#include "runner.h"

/* Limit writes. */

/*
 * Two ranges of 10 blocks, of which the second one is used first. 8 chunks have to go, and all
 * 10 of the first range do, in one batch.
 */
static void address_order(void)
{
	struct gvm_range *low = world_map(&world_process, 10, true);
	struct gvm_range *high = world_map(&world_process, 10, true);
	u64 start;
	u32 i;

	world_fault_each(high, 0, 10);
	for (i = 10; i-- > 0;)
		ck_assert_int_eq(world_fault(low, i, 0), 0);
	start = eng_now();
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 12 * CHUNK),
			 0);
	ck_assert_uint_eq(eng_now() - start, EVICT_NS + 10 * COPY_NS);
	for (i = 0; i < 10; i++) {
		ck_assert_uint_eq(world_chunk(low, i), GVM_NO_CHUNK);
		ck_assert_uint_ne(world_chunk(high, i), GVM_NO_CHUNK);
	}
	ck_assert_uint_eq(world_stats()->evictions_limit, 10);
	/* The limit itself has not changed, so a fault gets a chunk. */
	ck_assert_int_eq(world_fault(low, 0, 0), 0);
	ck_assert_uint_eq(world_charged(&world_process), 11);
	/* Usage is below the new limit: nothing to do. */
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 11 * CHUNK),
			 0);
	ck_assert_uint_eq(world_stats()->evictions_limit, 10);
}

START_TEST(a_limit_write_evicts_by_address)
{
	world_run(64, &world_gvm, address_order);
}
END_TEST

/*
 * Through the control file, under both of its names: the evictions come first, then the limit.
 */
static void control_file(void)
{
	struct gvm_range *ranges[] = { world_map(&world_process, 4, true),
				       world_map(&world_process, 1, true),
				       world_map(&world_process, 15, true) };
	struct gvm_container *container = world_process.container;

	world_fault_each(ranges[0], 0, 4);
	world_fault_each(ranges[1], 0, 1);
	world_fault_each(ranges[2], 0, 15);
	ck_assert_int_ge(gvm_control_write(container, "gmem.limit.high", "33554432", 8), 0);
	ck_assert_uint_eq(world_stats()->evictions_limit, 4);
	ck_assert_uint_eq(container->gmem_high_bytes, 16 * CHUNK);
	ck_assert_int_ge(gvm_control_write(container, "memory.limit", "31457280", 8), 0);
	ck_assert_uint_eq(world_stats()->evictions_limit, 5);
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", "some", 4), -EINVAL);
	ck_assert_int_ge(gvm_control_write(container, "gmem.limit.low", "0", 1), 0);
	ck_assert_uint_eq(world_stats()->evictions, 5);
	ck_assert_uint_eq(world_charged(&world_process), 15);
}

START_TEST(the_control_file_evicts_before_it_limits)
{
	world_run(64, &world_gvm, control_file);
}
END_TEST

/*
 * 300 blocks have had a chunk in turn, under a limit of 8. Blocks 249 to 299 have one now. The
 * first 256 blocks count as evicted, so the write ends after them, with 7 evictions. The limit
 * holds although usage is above it. A second write counts what it evicts.
 */
static void counted_twice(void)
{
	struct gvm_range *range = world_map(&world_process, 300, true);
	struct gvm_container *container = world_process.container;

	world_set_limit(&world_process, 8);
	world_fault_each(range, 0, 300);
	ck_assert_uint_eq(world_charged(&world_process), 51);
	ck_assert_int_ge(gvm_control_write(container, "gmem.limit.high", "8388608", 7), 0);
	ck_assert_uint_eq(world_stats()->evictions_limit, 7);
	ck_assert_uint_eq(world_charged(&world_process), 44);
	ck_assert_uint_eq(container->gmem_high_bytes, 4 * CHUNK);
	ck_assert_int_ge(gvm_control_write(container, "gmem.limit.high", "8388608", 7), 0);
	ck_assert_uint_eq(world_charged(&world_process), 0);
}

START_TEST(a_limit_write_counts_what_was_evicted_before)
{
	world_run(320, &world_gvm, counted_twice);
}
END_TEST

/* 300 blocks: 256 are evicted and waited for, then 44. */
static void in_batches(void)
{
	struct gvm_range *range = world_map(&world_process, 300, true);
	u64 start;

	world_fault_each(range, 0, 300);
	start = eng_now();
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
	ck_assert_uint_eq(eng_now() - start,
			  EVICT_NS + 256 * COPY_NS + EVICT_NS + 44 * COPY_NS);
	ck_assert_uint_eq(world_charged(&world_process), 0);
}

START_TEST(a_limit_write_waits_after_256_blocks)
{
	world_run(320, &world_gvm, in_batches);
}
END_TEST

static u64 faulted_ns[2];
static struct gvm_range *faulting[2];

static void fault_main(void *data)
{
	size_t which = (size_t)data;

	eng_sleep_until(eng_now() + 100 * US);
	ck_assert_int_eq(world_fault(faulting[which], 1, 0), 0);
	faulted_ns[which] = eng_now();
}

/* During a limit write, the container's own faults wait. A neighbour's do not. */
static void write_blocks_faults(void)
{
	struct eng_actor *actors[2];
	u64 start, end;
	size_t i;

	faulting[0] = world_map(&world_process, 20, true);
	faulting[1] = world_map(&world_other, 2, true);
	world_fault_each(faulting[0], 0, 20);
	/* These faults have no common fault handler, so one does not wait for the other. */
	for (i = 0; i < 2; i++) {
		start = eng_now();
		actors[i] = eng_spawn("faults", fault_main, (void *)i);
		ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0),
				 0);
		end = eng_now();
		eng_join(actors[i]);
		if (i == 0)
			ck_assert_uint_ge(faulted_ns[0], end + COPY_NS);
		else
			ck_assert_uint_lt(faulted_ns[1], start + 100 * US + 2 * COPY_NS);
		world_fault_each(faulting[0], 2, 18);
	}
}

START_TEST(a_limit_write_blocks_the_containers_faults)
{
	world_run(64, &world_gvm, write_blocks_faults);
}
END_TEST

static void limit_zero(void *data)
{
	(void)data;
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
}

/*
 * A limit write holds all chunks and none is charged. A fault then has to wait, and not to die.
 */
static void fault_under_limit_write(void)
{
	struct gvm_range *range = world_map(&world_process, 16, true);
	struct gvm_range *other = world_map(&world_other, 1, true);
	struct eng_actor *writer;

	world_fault_each(range, 0, 16);
	writer = eng_spawn("writer", limit_zero, NULL);
	eng_sleep_until(eng_now() + 100 * US);
	ck_assert_uint_eq(world_gpu.device.bound_chunks, 0);
	ck_assert_int_eq(world_fault(other, 0, 0), -EAGAIN);
	eng_join(writer);
	ck_assert_int_eq(world_fault(other, 0, 0), 0);
}

START_TEST(chunks_in_a_limit_writes_hands_come_back)
{
	world_run(16, &world_limits, fault_under_limit_write);
}
END_TEST

/* Random. */

static u64 random_state;

static u32 draw(u32 below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(random_state >> 33) % below;
}

/*
 * A container alone at its limit, beside an idle one that has its memory: usage never exceeds
 * the limit by more than 64 chunks, and the other container loses none.
 */
static void random_limits(void)
{
	struct gvm_range *range = world_map(&world_process, 150, true);
	struct gvm_range *other = world_map(&world_other, 40, false);
	u32 limit = 100;
	u32 i;

	random_state = runner_seed();
	world_fault_each(other, 0, 40);
	world_set_limit(&world_process, limit);
	for (i = 0; i < 3000; i++) {
		ck_assert_int_eq(world_fault(range, draw(150), draw(32)), 0);
		ck_assert_uint_le(world_charged(&world_process), limit + WORLD_OVERSHOOT + 1);
		ck_assert_uint_eq(world_other.stats.block.evictions, 0);
		ck_assert_uint_eq(world_charged(&world_other), 40);
		if (draw(100))
			continue;
		limit = 1 + draw(129);
		ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container,
						   limit * CHUNK),
				 0);
		ck_assert_uint_le(world_charged(&world_process), limit);
		world_set_limit(&world_process, limit);
	}
	ck_assert_uint_gt(world_stats()->evictions_own, 100);
	ck_assert_uint_eq(world_stats()->evictions,
			  world_stats()->evictions_own + world_stats()->evictions_limit);
}

START_TEST(the_overshoot_is_bounded)
{
	world_run(256, &world_gvm, random_limits);
}
END_TEST

START_TEST(the_overshoot_is_bounded_without_fast_path)
{
	world_run(256, &world_limits, random_limits);
}
END_TEST

TEST_MAIN("nvuvm limits", a_limit_write_evicts_by_address,
	  the_control_file_evicts_before_it_limits,
	  a_limit_write_counts_what_was_evicted_before, a_limit_write_waits_after_256_blocks,
	  a_limit_write_blocks_the_containers_faults, chunks_in_a_limit_writes_hands_come_back,
	  the_overshoot_is_bounded, the_overshoot_is_bounded_without_fast_path);
