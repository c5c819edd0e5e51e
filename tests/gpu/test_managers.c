// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * One contract, every memory manager: the calls of struct gvm_memory_ops on a simulated GPU of
 * eight chunks, made by hand as the service layer makes them. The books are exact after each
 * step.
 */
#include "gpu_fixture.h"
#include "gvm/clock.h"
#include "gvm/control.h"

#define CHUNK  GVM_CHUNK_BYTES
#define CHUNKS 8u

static struct cfg_gpu profile = GPU_WITHOUT_COSTS(CHUNKS);

/*
 * A manager, and its differences that the contract allows: does it charge before use, does it
 * charge the memory that RM takes, has it hints, do small blocks share a chunk?
 */
static const struct managed {
	struct sim_memory_policy policy;
	bool strict;
	bool charges_unevictable;
	bool hints;
	bool parts;
	bool whole_batches; /* a limit write evicts by batches of 256 blocks */
} managers[] = {
	{ .policy = { 0 }, .strict = true, .charges_unevictable = true, .hints = true },
	{ .policy = { .sub_chunks = true },
	  .strict = true,
	  .charges_unevictable = true,
	  .hints = true,
	  .parts = true },
	{ .policy = { .manager = &sim_manager_nvuvm } },
	{ .policy = { .manager = &sim_manager_nvuvm, .limits = true, .fast_path = true },
	  .whole_batches = true },
	{ .policy = { .manager = &sim_manager_ghost_uvm }, .strict = true },
	{ .policy = { .manager = &sim_manager_nvuvm, .sub_chunks = true }, .parts = true },
	{ .policy = { .manager = &sim_manager_ghost_uvm, .sub_chunks = true },
	  .strict = true,
	  .parts = true },
};

static const struct managed *managed;
static struct sim_process one;
static struct gvm_range *range;
static const struct gvm_memory_ops *ops;
static void *memory;

static u64 charged(void)
{
	return one.container->charged_bytes / CHUNK;
}

static void (*managed_body)(void);

static void run_body(void)
{
	ops = gpu.device.memory_ops;
	memory = gpu.device.memory;
	ck_assert_int_eq(sim_process_start(&one, &gpu, 1), 0);
	range = sim_process_map(&one, 6 * CHUNK, true);
	ck_assert_ptr_nonnull(range);
	managed_body();
}

static void run_with(int which, void (*body)(void))
{
	managed = &managers[which];
	managed_body = body;
	run_gpu(&profile, &managed->policy, run_body);
}

/*
 * Service a batch with a fault on page 0 of @count blocks from @first on. Returns how many
 * succeeded.
 */
static u32 fault_in(u32 first, u32 count)
{
	struct gvm_fault faults[8] = { 0 };
	struct gvm_fence fence = { 0 };
	u32 well = 0;

	ck_assert_uint_le(count, ARRAY_SIZE(faults));
	for (u32 i = 0; i < count; i++) {
		faults[i].space = &one;
		faults[i].va = range->va + (first + i) * CHUNK;
		faults[i].access = GVM_ACCESS_WRITE;
	}
	ops->service(memory, &one, faults, count, &fence);
	if (ops->batch_end)
		ops->batch_end(memory);
	ck_assert_int_eq(gpu.device.ops->flush_and_replay(&gpu, &fence), 0);
	for (u32 i = 0; i < count; i++)
		well += faults[i].status == 0;
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
	return well;
}

static int fault_status(u64 va)
{
	struct gvm_fault fault = { .space = &one, .va = va, .access = GVM_ACCESS_WRITE };
	struct gvm_fence fence = { 0 };

	ops->service(memory, &one, &fault, 1, &fence);
	ck_assert_int_eq(gpu.device.ops->flush_and_replay(&gpu, &fence), 0);
	return fault.status;
}

static void fault_and_charge(void)
{
	ck_assert_uint_eq(fault_in(0, 4), 4);
	ck_assert_uint_eq(charged(), 4);
	ck_assert_uint_eq(gpu.device.bound_chunks, 4);
	/* A resident block is not charged again. */
	ck_assert_uint_eq(fault_in(0, 4), 4);
	ck_assert_uint_eq(charged(), 4);
	ck_assert_int_eq(fault_status(range->va + 7 * CHUNK), -EFAULT);
	ck_assert_int_eq(fault_status(range->va - CHUNK), -EFAULT);
	ck_assert_uint_eq(charged(), 4);
}

START_TEST(a_fault_is_serviced_and_charged_once_or_finds_no_range)
{
	run_with(_i, fault_and_charge);
}
END_TEST

static u32 take_chunk_of(u32 block)
{
	u32 chunk = range->blocks[block].chunk;

	ck_assert(ops->evictable(memory, chunk));
	ck_assert(gvm_clock_take(&gpu.device, chunk));
	return chunk;
}

static void evict_free_and_keep(void)
{
	struct gvm_eviction gone = { 0 }, kept = { .keep = true }, late = { .keep = true };
	u64 swapped;
	u32 chunk;

	ck_assert_uint_eq(fault_in(0, 4), 4);
	swapped = (u64)hweight32(range->blocks[0].resident) << GVM_PAGE_SHIFT;
	ck_assert_int_eq(ops->evict(memory, take_chunk_of(0), &gone), 0);
	ck_assert_uint_eq(gone.left_bytes, 0);
	ck_assert_uint_eq(charged(), 3);
	ck_assert_uint_eq(one.container->swapped_bytes, swapped);
	ck_assert_uint_gt(gone.fence.sequence[GVM_ENGINE_OUT], 0);

	chunk = take_chunk_of(1);
	ck_assert_int_eq(ops->evict(memory, chunk, &kept), 0);
	ck_assert_uint_eq(charged(), 2);
	ck_assert_uint_eq(range->blocks[1].chunk, GVM_NO_CHUNK);
	ck_assert_int_eq(gpu.device.chunks[chunk].state, GVM_CHUNK_FREE);
	/* No block gets the chunk until it is released. */
	ck_assert_uint_eq(fault_in(0, 2), 2);
	ck_assert_uint_ne(range->blocks[0].chunk, chunk);
	ck_assert_uint_ne(range->blocks[1].chunk, chunk);
	ops->release(memory, chunk);
	ck_assert_uint_eq(charged(), 4);
	ck_assert_uint_eq(one.container->swapped_bytes,
			  managed->hints || managed->strict ? 0 : one.container->swapped_bytes);

	/* The owner discards the block before the eviction. */
	chunk = take_chunk_of(2);
	ck_assert_uint_eq(ops->discard(memory, range, 2 * CHUNK, CHUNK), CHUNK);
	ck_assert_int_eq(ops->evict(memory, chunk, &late), -ENOENT);
	ck_assert_uint_eq(charged(), 3);
	ck_assert_uint_eq(one.stats.block.evictions, 2);
}

START_TEST(a_victim_leaves_is_handed_over_or_was_given_back_already)
{
	run_with(_i, evict_free_and_keep);
}
END_TEST

static void hint_or_refuse(void)
{
	ck_assert_uint_eq(fault_in(0, 1), 1);
	ck_assert_int_eq(ops->hint != NULL, managed->hints);
	if (!ops->hint)
		return;
	ck_assert_int_eq(ops->hint(memory, range->blocks[0].chunk), 0);
	ck_assert_uint_eq(range->hinted_pages, GVM_PAGES_PER_BLOCK);
	ck_assert_uint_eq(charged(), 1);
	ck_assert_uint_eq(fault_in(0, 1), 1);
	ck_assert_uint_eq(range->hinted_pages, 0);
}

START_TEST(a_hint_leaves_the_data_or_the_call_is_not_there)
{
	run_with(_i, hint_or_refuse);
}
END_TEST

static void lower_the_limit(void)
{
	ck_assert_uint_eq(fault_in(0, 6), 6);
	ck_assert_uint_eq(charged(), 6);
	ck_assert_int_eq(gvm_control_write(one.container, "gmem.limit.high", "4194304", 7), 0);
	ck_assert_uint_eq(charged(), managed->whole_batches ? 0 : 2);
	for (u32 i = 0; i < 6; i++)
		ck_assert_uint_eq(fault_in(i, 1), 1);
	if (managed->strict)
		ck_assert_uint_eq(charged(), 2);
	/* A limit of 0: a manager that charges before use cancels the fault. */
	ck_assert_int_eq(gvm_control_write(one.container, "gmem.limit.high", "0", 1), 0);
	ck_assert_uint_eq(charged(), 0);
	if (managed->strict)
		ck_assert_int_ne(fault_status(range->va), 0);
}

START_TEST(a_limit_below_usage_holds_when_the_write_returns)
{
	run_with(_i, lower_the_limit);
}
END_TEST

static void lower_the_limit_in_a_batch(void)
{
	struct gvm_fault faults[4] = { 0 };
	struct gvm_fence fence = { 0 };

	for (u32 i = 0; i < ARRAY_SIZE(faults); i++)
		faults[i] = (struct gvm_fault){ .space = &one,
						.va = range->va + i * CHUNK,
						.access = GVM_ACCESS_WRITE };
	ops->service(memory, &one, faults, ARRAY_SIZE(faults), &fence);
	ck_assert_uint_eq(charged(), 4);
	ck_assert_int_eq(gvm_control_write(one.container, "gmem.limit.high", "2097152", 7), 0);
	if (ops->batch_end)
		ops->batch_end(memory);
	if (managed->strict)
		ck_assert_uint_eq(charged(), 1);
	ck_assert_int_eq(gpu.device.ops->flush_and_replay(&gpu, &fence), 0);
}

START_TEST(a_limit_lowered_in_a_batch_holds_at_its_end)
{
	run_with(_i, lower_the_limit_in_a_batch);
}
END_TEST

static void take_unevictable(void)
{
	struct gvm_unevictable taken;
	u64 own = managed->charges_unevictable ? 4 : 0;

	ck_assert_uint_eq(fault_in(0, 6), 6);
	gvm_unevictable_init(&taken, one.container);
	ck_assert_int_eq(ops->unevictable_add(memory, &taken, 3 * CHUNK + 1), 0);
	ck_assert_uint_eq(taken.chunks, 4);
	/* Two of the six chunks had to go. */
	ck_assert_uint_eq(charged(), 4 + own);
	ck_assert_uint_eq(one.stats.block.evictions, 2);
	ck_assert_int_eq(ops->unevictable_add(memory, &taken, 5 * CHUNK), -ENOMEM);
	ck_assert_uint_eq(gpu.device.bound_chunks, 0);
	ops->unevictable_remove(memory, &taken, taken.bytes);
	ck_assert_uint_eq(charged(), 0);
	ck_assert_uint_eq(fault_in(0, 6), 6);
}

START_TEST(unevictable_memory_takes_room_from_pages_and_gives_it_back)
{
	run_with(_i, take_unevictable);
}
END_TEST

/*
 * RM takes the four chunks of a container that may lose none otherwise: it is protected, and
 * hmem.limit is 0.
 */
static void take_by_force(void)
{
	u32 chunks[4];

	ck_assert_uint_eq(fault_in(0, 4), 4);
	ck_assert_int_eq(gvm_control_write(one.container, "gmem.limit.low", "max", 3), 0);
	ck_assert_int_eq(gvm_control_write(one.container, "hmem.limit", "0", 1), 0);
	for (u32 i = 0; i < 4; i++) {
		chunks[i] = range->blocks[i].chunk;
		ck_assert(!gvm_clock_take(&gpu.device, chunks[i]));
	}
	ck_assert_uint_eq(gvm_clock_take_range(&gpu.device, 0, CHUNKS), 4);
	ck_assert_uint_eq(one.container->events[GVM_EVENT_TAKEN], 4);
	for (u32 i = 0; i < 4; i++) {
		struct gvm_eviction eviction = { .keep = true };

		ck_assert_int_eq(ops->evict(memory, chunks[i], &eviction), 0);
		ck_assert_uint_eq(eviction.left_bytes, 0);
		ck_assert_uint_eq(charged(), 3 - i);
		ck_assert_int_eq(gpu.device.chunks[chunks[i]].state, GVM_CHUNK_FREE);
		ck_assert_int_eq(gvm_check(&gpu.device), 0);
	}
	ck_assert_uint_gt(one.container->swapped_bytes, one.container->hmem_limit_bytes);
	for (u32 i = 0; i < 4; i++)
		ops->release(memory, chunks[i]);
	ck_assert_uint_eq(fault_in(0, 4), 4);
}

START_TEST(a_forced_take_gets_all_chunks_of_a_range_whatever_limits_say)
{
	run_with(_i, take_by_force);
}
END_TEST

static void close_the_space(void)
{
	ck_assert_uint_eq(fault_in(0, 2), 2);
	ops->space_close(memory, &one);
	ck_assert_int_eq(fault_status(range->va + 3 * CHUNK), -EFAULT);
	ck_assert_uint_eq(charged(), 2);
}

START_TEST(a_closed_space_has_no_ranges_for_faults)
{
	run_with(_i, close_the_space);
}
END_TEST

static void unmap_the_range(void)
{
	u64 va = range->va;

	ck_assert_uint_eq(fault_in(0, 6), 6);
	sim_process_unmap(&one, range);
	ck_assert_uint_eq(charged(), 0);
	ck_assert_uint_eq(one.range_count, 0);
	ck_assert_int_eq(fault_status(va), -EFAULT);
	range = sim_process_map(&one, 6 * CHUNK, true);
	ck_assert_uint_gt(range->va, va);
	ck_assert_uint_eq(fault_in(0, 6), 6);
	ck_assert_uint_eq(charged(), 6);
}

START_TEST(a_range_that_is_unmapped_gives_everything_back)
{
	run_with(_i, unmap_the_range);
}
END_TEST

static void move_a_range(void)
{
	int status = sim_process_prefetch(&one, range, GVM_PROCESSOR_GPU);

	if (!ops->migrate) {
		ck_assert_int_eq(status, -EOPNOTSUPP);
		return;
	}
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(charged(), 6);
	ck_assert_uint_eq(range->resident_pages, 6 * GVM_PAGES_PER_BLOCK);
	ck_assert_int_eq(sim_process_prefetch(&one, range, GVM_PROCESSOR_CPU), 0);
	ck_assert_uint_eq(range->resident_pages, 0);
}

START_TEST(a_range_migrates_both_ways_or_the_call_is_not_there)
{
	run_with(_i, move_a_range);
}
END_TEST

/*
 * Two small ranges, and the first one's victim while the second is in service. In one chunk,
 * half of it stays. In two chunks, the first goes as a whole.
 */
static void evict_what_can_go(void)
{
	struct gvm_range *ranges[2];
	struct gvm_eviction eviction = { .keep = true };
	u64 half = CHUNK / 2, each = managed->parts ? half : CHUNK;
	u64 before = one.container->charged_bytes;
	struct gvm_block *stays;
	u32 chunk;

	for (u32 i = 0; i < 2; i++) {
		ranges[i] = sim_process_map(&one, half, true);
		ck_assert_ptr_nonnull(ranges[i]);
		before = one.container->charged_bytes - i * each;
		for (u32 page = 0; page < half / GVM_PAGE_BYTES; page++)
			ck_assert_int_eq(fault_status(ranges[i]->va + page * GVM_PAGE_BYTES),
					 0);
		if (ops->batch_end)
			ops->batch_end(memory);
		ck_assert_uint_eq(one.container->charged_bytes, before + (i + 1) * each);
	}
	stays = &ranges[1]->blocks[0];
	chunk = ranges[0]->blocks[0].chunk;
	ck_assert_int_eq(stays->chunk == chunk, managed->parts);
	gvm_block_set_in_service(ranges[1]->memory, stays, true);
	ck_assert(gvm_clock_take(&gpu.device, chunk));
	ck_assert_int_eq(ops->evict(memory, chunk, &eviction), 0);
	ck_assert_uint_eq(eviction.left_bytes, managed->parts ? half : 0);
	ck_assert_uint_eq(ranges[0]->blocks[0].chunk, GVM_NO_CHUNK);
	ck_assert_uint_ne(stays->chunk, GVM_NO_CHUNK);
	ck_assert_uint_eq(one.container->charged_bytes, before + each);
	ck_assert_uint_eq(one.container->swapped_bytes, half);
	ck_assert_int_eq(gpu.device.chunks[chunk].state,
			 managed->parts ? GVM_CHUNK_BOUND : GVM_CHUNK_FREE);
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
	gvm_block_set_in_service(ranges[1]->memory, stays, false);
	if (!managed->parts)
		ops->release(memory, chunk);
	/*
	 * Now all of it can go, and is handed over: in the next batch, since it counts as used.
	 */
	if (ops->batch_end)
		ops->batch_end(memory);
	chunk = stays->chunk;
	eviction = (struct gvm_eviction){ .keep = true };
	ck_assert(gvm_clock_take(&gpu.device, chunk));
	ck_assert_int_eq(ops->evict(memory, chunk, &eviction), 0);
	ck_assert_uint_eq(eviction.left_bytes, 0);
	ck_assert_int_eq(gpu.device.chunks[chunk].state, GVM_CHUNK_FREE);
	ops->release(memory, chunk);
	ck_assert_uint_eq(one.container->charged_bytes, before);
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
	for (u32 i = 0; i < 2; i++)
		ck_assert_int_eq(fault_status(ranges[i]->va), 0);
}

START_TEST(an_eviction_takes_what_can_go_and_says_what_stays)
{
	run_with(_i, evict_what_can_go);
}
END_TEST

int main(void)
{
	const int count = (int)ARRAY_SIZE(managers);
	Suite *suite = suite_create("managers");
	TCase *tcase = tcase_create("managers");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, a_fault_is_serviced_and_charged_once_or_finds_no_range, 0,
			    count);
	tcase_add_loop_test(tcase, a_victim_leaves_is_handed_over_or_was_given_back_already, 0,
			    count);
	tcase_add_loop_test(tcase, a_hint_leaves_the_data_or_the_call_is_not_there, 0, count);
	tcase_add_loop_test(tcase, a_limit_below_usage_holds_when_the_write_returns, 0, count);
	tcase_add_loop_test(tcase, a_limit_lowered_in_a_batch_holds_at_its_end, 0, count);
	tcase_add_loop_test(tcase, unevictable_memory_takes_room_from_pages_and_gives_it_back,
			    0, count);
	tcase_add_loop_test(tcase, a_forced_take_gets_all_chunks_of_a_range_whatever_limits_say,
			    0, count);
	tcase_add_loop_test(tcase, a_closed_space_has_no_ranges_for_faults, 0, count);
	tcase_add_loop_test(tcase, a_range_that_is_unmapped_gives_everything_back, 0, count);
	tcase_add_loop_test(tcase, a_range_migrates_both_ways_or_the_call_is_not_there, 0,
			    count);
	tcase_add_loop_test(tcase, an_eviction_takes_what_can_go_and_says_what_stays, 0, count);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
