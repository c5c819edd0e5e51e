// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Fault service and VA blocks over a GPU of 16 chunks that is a few arrays: which calls are made,
 * in which order, with exact counts.
 */
#include "gvm/block.h"
#include "gvm/control.h"
#include "gvm/fault.h"
#include "runner.h"

#define TOY_CHUNKS 16
#define VA	   0x700000000000ull

enum toy_call_kind {
	TOY_COPY,
	TOY_CLEAR,
	TOY_MAP,
	TOY_UNMAP,
	TOY_FREE,
	TOY_REPLAY,
	TOY_CANCEL,
};

struct toy_call {
	enum toy_call_kind kind;
	u32 chunk;
	u32 first;
	u32 count;
};

/* The GPU: a script of faults, a stack of chunks, a log of calls. */
static struct {
	struct gvm_device device;
	struct gvm_fault_handler handler;
	struct gvm_fault script[8192];
	u32 script_length;
	u32 script_next;
	struct gvm_range *ranges[2]; /* found by the cookie of their space */
	u32 free[TOY_CHUNKS];
	u32 free_count;
	struct toy_call calls[1024];
	u32 call_count;
	u32 services;
	u32 fail_copy; /* the copy call that fails, counted from 1 */
	u32 copies;
	int replay_error;
	struct gvm_block_stats stats;
	struct gvm_fence fence;
} toy;

static void toy_log(enum toy_call_kind kind, u32 chunk, u32 first, u32 count)
{
	if (toy.call_count < ARRAY_SIZE(toy.calls))
		toy.calls[toy.call_count++] = (struct toy_call){ kind, chunk, first, count };
}

static u32 toy_fetch(void *gpu, struct gvm_fault *faults, u32 most)
{
	u32 count = min(most, toy.script_length - toy.script_next);

	(void)gpu;
	memcpy(faults, toy.script + toy.script_next, count * sizeof(*faults));
	toy.script_next += count;
	return count;
}

static void toy_service(void *gpu, void *space, struct gvm_fault *faults, u32 count)
{
	u32 i;

	(void)gpu;
	toy.services++;
	for (i = 1; i < count; i++)
		ck_assert(faults[i - 1].va < faults[i].va);
	gvm_range_service(*(struct gvm_range **)space, faults, count, &toy.stats, &toy.fence);
}

static void toy_cancel(void *gpu, const struct gvm_fault *fault)
{
	(void)gpu;
	toy_log(TOY_CANCEL, (u32)((fault->va - VA) >> GVM_PAGE_SHIFT), 0, 0);
}

static int toy_replay(void *gpu)
{
	(void)gpu;
	toy_log(TOY_REPLAY, 0, 0, 0);
	return toy.replay_error;
}

static const struct gvm_gpu_ops toy_gpu_ops = {
	.fetch_faults = toy_fetch,
	.service_faults = toy_service,
	.cancel_fault = toy_cancel,
	.flush_and_replay = toy_replay,
};

static int toy_chunk_alloc(void *gpu, u32 *ret_chunk)
{
	(void)gpu;
	if (!toy.free_count)
		return -ENOMEM;
	*ret_chunk = toy.free[--toy.free_count];
	return 0;
}

static void toy_chunk_free(void *gpu, u32 chunk)
{
	(void)gpu;
	toy_log(TOY_FREE, chunk, 0, 0);
	toy.free[toy.free_count++] = chunk;
}

static int toy_copy_in(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	(void)gpu;
	if (++toy.copies == toy.fail_copy)
		return -EIO;
	fence->sequence[GVM_ENGINE_IN]++;
	toy_log(TOY_COPY, run->chunk, run->first_page, run->page_count);
	return 0;
}

static int toy_clear(void *gpu, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	(void)gpu;
	fence->sequence[GVM_ENGINE_CLEAR]++;
	toy_log(TOY_CLEAR, run->chunk, run->first_page, run->page_count);
	return 0;
}

static void toy_map(void *gpu, void *space, u64 va, u32 chunk, u32 page_mask)
{
	(void)gpu;
	(void)space;
	(void)va;
	toy_log(TOY_MAP, chunk, 0, hweight32(page_mask));
}

static void toy_unmap(void *gpu, void *space, u64 va, u32 page_mask)
{
	(void)gpu;
	(void)space;
	(void)va;
	toy_log(TOY_UNMAP, 0, 0, hweight32(page_mask));
}

static const struct gvm_mmu_ops toy_mmu_ops = {
	.chunk_alloc = toy_chunk_alloc,
	.chunk_free = toy_chunk_free,
	.copy_in = toy_copy_in,
	.clear = toy_clear,
	.map = toy_map,
	.unmap = toy_unmap,
};

static struct gvm_container *toy_init(void)
{
	struct gvm_device_config config = { "toy", TOY_CHUNKS, &toy_gpu_ops, NULL, 1024 };
	struct gvm_container *container;

	memset(&toy, 0, sizeof(toy));
	toy.handler.device = &toy.device;
	while (toy.free_count < TOY_CHUNKS) {
		toy.free[toy.free_count] = TOY_CHUNKS - 1 - toy.free_count;
		toy.free_count++;
	}
	ck_assert_int_eq(gvm_device_init(&toy.device, &config), 0);
	ck_assert_int_eq(gvm_container_attach(&toy.device, 1000, &container), 0);
	return container;
}

/* Everything must have come back, and the books must balance. */
static void toy_destroy(struct gvm_container *container)
{
	ck_assert_uint_eq(toy.device.charged_chunks, 0);
	ck_assert_uint_eq(toy.free_count, TOY_CHUNKS);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	gvm_container_detach(container);
	gvm_device_destroy(&toy.device);
}

static void toy_map_range(struct gvm_range *range, u32 space, struct gvm_container *container,
			  u64 bytes, bool on_host)
{
	struct gvm_range_config config = {
		.container = container,
		.mmu = &toy_mmu_ops,
		.space = &toy.ranges[space],
		.va = VA,
		.bytes = bytes,
		.on_host = on_host,
	};

	ck_assert_int_eq(gvm_range_init(range, &config), 0);
	toy.ranges[space] = range;
}

static void toy_fault(u32 space, u64 page, enum gvm_access access)
{
	toy.script[toy.script_length++] = (struct gvm_fault){
		.space = &toy.ranges[space],
		.va = VA + (page << GVM_PAGE_SHIFT),
		.tsg = 1,
		.access = (u8)access,
	};
}

static void expect_call(u32 index, enum toy_call_kind kind, u32 chunk, u32 first, u32 count)
{
	ck_assert_uint_lt(index, toy.call_count);
	ck_assert_int_eq(toy.calls[index].kind, kind);
	ck_assert_uint_eq(toy.calls[index].chunk, chunk);
	ck_assert_uint_eq(toy.calls[index].first, first);
	ck_assert_uint_eq(toy.calls[index].count, count);
}

START_TEST(copies_of_all_blocks_start_before_the_first_map)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;

	/* Two blocks of host data, faulted in reverse: two copies, then two maps, one replay. */
	toy_map_range(&range, 0, container, 2 * GVM_CHUNK_BYTES, true);
	toy_fault(0, 40, GVM_ACCESS_READ);
	toy_fault(0, 3, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.call_count, 5);
	expect_call(0, TOY_COPY, 0, 0, 32);
	expect_call(1, TOY_COPY, 1, 0, 32);
	expect_call(2, TOY_MAP, 0, 0, 32);
	expect_call(3, TOY_MAP, 1, 0, 32);
	expect_call(4, TOY_REPLAY, 0, 0, 0);
	ck_assert_uint_eq(toy.fence.sequence[GVM_ENGINE_IN], 2);
	ck_assert_uint_eq(toy.stats.pages_copied_in, 64);
	ck_assert_uint_eq(range.resident_pages, 64);
	ck_assert_uint_eq(gvm_charged_bytes(container), 2 * GVM_CHUNK_BYTES);
	gvm_range_destroy(&range);
	toy_destroy(container);
}
END_TEST

START_TEST(memory_that_exists_nowhere_is_cleared_and_not_copied)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;

	/* 2 MB and 3 pages: the tail block has 3 valid pages. */
	toy_map_range(&range, 0, container, GVM_CHUNK_BYTES + 2 * GVM_PAGE_BYTES + 1, false);
	ck_assert_uint_eq(range.valid_pages, 35);
	toy_fault(0, 33, GVM_ACCESS_WRITE);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	expect_call(0, TOY_CLEAR, 0, 0, 3);
	expect_call(1, TOY_MAP, 0, 0, 3);
	ck_assert_uint_eq(toy.stats.pages_copied_in, 0);
	ck_assert_uint_eq(toy.stats.pages_cleared, 3);
	gvm_range_destroy(&range);
	toy_destroy(container);
}
END_TEST

START_TEST(a_block_resident_in_part_gets_what_was_asked_for_in_runs)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;
	u32 chunk;

	toy_map_range(&range, 0, container, GVM_CHUNK_BYTES, true);
	/* As if a hint had brought page 0 only. */
	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	ck_assert_int_eq(toy_chunk_alloc(NULL, &chunk), 0);
	gvm_charge_bind(container, chunk);
	range.blocks[0].chunk = chunk;
	range.blocks[0].resident = 1;
	range.resident_pages = 1;
	toy_fault(0, 5, GVM_ACCESS_READ);
	toy_fault(0, 6, GVM_ACCESS_READ);
	toy_fault(0, 31, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.call_count, 4);
	expect_call(0, TOY_COPY, chunk, 5, 2);
	expect_call(1, TOY_COPY, chunk, 31, 1);
	expect_call(2, TOY_MAP, chunk, 0, 3);
	ck_assert_uint_eq(range.resident_pages, 4);
	gvm_range_destroy(&range);
	toy_destroy(container);
}
END_TEST

START_TEST(duplicates_are_dropped_and_spaces_are_served_apart)
{
	struct gvm_container *container = toy_init();
	struct gvm_range ranges[2];
	u32 i;

	toy_map_range(&ranges[0], 0, container, GVM_CHUNK_BYTES, true);
	toy_map_range(&ranges[1], 1, container, GVM_CHUNK_BYTES, true);
	/* 100 records, 32 pages of space 0 and 1 page of space 1: 67 duplicates, 2 services. */
	for (i = 0; i < 99; i++)
		toy_fault(i % 3 == 2, i % 3 == 2 ? 7 : (i * 5) % 32, GVM_ACCESS_READ);
	toy_fault(0, 31, GVM_ACCESS_WRITE);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.services, 2);
	ck_assert_uint_eq(toy.handler.stats.faults, 100);
	ck_assert_uint_eq(toy.handler.stats.duplicates, 67);
	ck_assert_uint_eq(toy.stats.pages_copied_in, 64);
	gvm_range_destroy(&ranges[0]);
	gvm_range_destroy(&ranges[1]);
	toy_destroy(container);
}
END_TEST

START_TEST(a_wake_up_services_twenty_batches_of_256_and_no_more)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;
	u32 i;

	toy_map_range(&range, 0, container, 2 * GVM_CHUNK_BYTES, true);
	for (i = 0; i < 21 * 256; i++)
		toy_fault(0, i % 64, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 20);
	ck_assert_uint_eq(toy.handler.stats.faults, 20 * 256);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 0);
	ck_assert_uint_eq(toy.stats.pages_copied_in, 64);
	gvm_range_destroy(&range);
	toy_destroy(container);
}
END_TEST

START_TEST(a_fault_over_the_limit_is_cancelled_and_its_batch_goes_on)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;

	gvm_limit_set_high(container, 2 * GVM_CHUNK_BYTES + 5);
	toy_map_range(&range, 0, container, 3 * GVM_CHUNK_BYTES, true);
	toy_fault(0, 0, GVM_ACCESS_READ);
	toy_fault(0, 32, GVM_ACCESS_READ);
	toy_fault(0, 64, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.call_count, 6);
	expect_call(4, TOY_CANCEL, 64, 0, 0);
	expect_call(5, TOY_REPLAY, 0, 0, 0);
	ck_assert_uint_eq(container->events[GVM_EVENT_HIGH], 1);
	ck_assert_uint_eq(gvm_charged_bytes(container), 2 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	gvm_range_destroy(&range);
	toy_destroy(container);
}
END_TEST

/* F2: the limit is the process's, whichever of its address spaces faults. */
START_TEST(a_limit_holds_over_all_address_spaces_of_a_process)
{
	struct gvm_container *first = toy_init(), *second;
	struct gvm_range ranges[2];

	ck_assert_int_eq(gvm_container_attach(&toy.device, 1000, &second), 0);
	gvm_limit_set_high(first, 2 * GVM_CHUNK_BYTES);
	toy_map_range(&ranges[0], 0, first, 3 * GVM_CHUNK_BYTES, false);
	toy_map_range(&ranges[1], 1, second, 3 * GVM_CHUNK_BYTES, false);
	toy_fault(0, 0, GVM_ACCESS_READ);
	toy_fault(1, 0, GVM_ACCESS_READ);
	toy_fault(1, 32, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	ck_assert_uint_eq(gvm_charged_bytes(first), 2 * GVM_CHUNK_BYTES);
	gvm_range_destroy(&ranges[0]);
	gvm_range_destroy(&ranges[1]);
	gvm_container_detach(second);
	toy_destroy(first);
}
END_TEST

/* D1: what is smaller than a chunk costs a chunk, and does not slip by the limit. */
START_TEST(a_range_of_one_page_is_charged_a_chunk)
{
	struct gvm_container *container = toy_init();
	struct gvm_range ranges[2];

	gvm_limit_set_high(container, 2 * GVM_CHUNK_BYTES - 1);
	toy_map_range(&ranges[0], 0, container, 1, false);
	toy_map_range(&ranges[1], 1, container, 1, false);
	toy_fault(0, 0, GVM_ACCESS_WRITE);
	toy_fault(1, 0, GVM_ACCESS_WRITE);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(gvm_charged_bytes(container), GVM_CHUNK_BYTES);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	gvm_range_destroy(&ranges[0]);
	gvm_range_destroy(&ranges[1]);
	toy_destroy(container);
}
END_TEST

/* F4: whoever gets the chunk next must not be seen through old PTEs. */
START_TEST(a_chunk_is_unmapped_before_it_is_freed)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;

	toy_map_range(&range, 0, container, GVM_CHUNK_BYTES + 1, true);
	toy_fault(0, 0, GVM_ACCESS_READ);
	toy_fault(0, 32, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	toy.call_count = 0;
	gvm_range_destroy(&range);
	ck_assert_uint_eq(toy.call_count, 4);
	expect_call(0, TOY_UNMAP, 0, 0, 32);
	expect_call(1, TOY_FREE, 0, 0, 0);
	expect_call(2, TOY_UNMAP, 0, 0, 1);
	expect_call(3, TOY_FREE, 1, 0, 0);
	toy_destroy(container);
}
END_TEST

/* F10: a shutdown in the middle of the work ends the loop; what was done is booked. */
START_TEST(an_interrupted_replay_ends_the_service_with_the_books_in_order)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;
	u32 i;

	toy_map_range(&range, 0, container, GVM_CHUNK_BYTES, true);
	for (i = 0; i < 2 * GVM_FAULT_BATCH_MAX; i++)
		toy_fault(0, i % 32, GVM_ACCESS_READ);
	toy.replay_error = -EINTR;
	ck_assert_int_eq(gvm_fault_service(&toy.handler), -EINTR);
	ck_assert_uint_eq(toy.handler.stats.batches, 1);
	ck_assert_uint_eq(gvm_charged_bytes(container), GVM_CHUNK_BYTES);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	gvm_range_destroy(&range);
	toy_destroy(container);
}
END_TEST

/* D6, D25: a write that has nothing to reclaim waits for nobody who services faults. */
START_TEST(a_limit_is_written_while_a_block_is_locked)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;

	toy_map_range(&range, 0, container, GVM_CHUNK_BYTES, true);
	/* To wait for this lock would be to wait for ever, and fail: see engine_null.c. */
	gvm_mutex_lock(&range.lock);
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", "2M", 2), 0);
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.low", "2M", 2), 0);
	gvm_mutex_unlock(&range.lock);
	gvm_range_destroy(&range);
	toy_destroy(container);
}
END_TEST

/* D3: nothing that was promised or allocated is left behind. */
START_TEST(a_full_device_cancels_and_returns_the_reservation)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;
	u32 block;

	toy_map_range(&range, 0, container, (TOY_CHUNKS + 1) * GVM_CHUNK_BYTES, false);
	for (block = 0; block <= TOY_CHUNKS; block++)
		toy_fault(0, 32 * block, GVM_ACCESS_WRITE);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	ck_assert_uint_eq(container->events[GVM_EVENT_OOM], 1);
	ck_assert_uint_eq(container->charged_chunks, TOY_CHUNKS);
	ck_assert_uint_eq(container->reserved_chunks, 0);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	gvm_range_destroy(&range);
	toy_destroy(container);
}
END_TEST

START_TEST(a_failed_copy_maps_nothing_and_leaks_nothing)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;

	toy_map_range(&range, 0, container, 2 * GVM_CHUNK_BYTES, true);
	toy.fail_copy = 1;
	toy_fault(0, 0, GVM_ACCESS_READ);
	toy_fault(0, 32, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	ck_assert_uint_eq(range.blocks[0].resident, 0);
	ck_assert_uint_eq(range.blocks[0].on_host, GVM_BLOCK_FULL);
	ck_assert_uint_eq(range.blocks[1].resident, GVM_BLOCK_FULL);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	gvm_range_destroy(&range);
	toy_destroy(container);
}
END_TEST

START_TEST(a_fault_behind_the_end_of_a_range_is_cancelled)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;

	toy_map_range(&range, 0, container, 3 * GVM_PAGE_BYTES, false);
	toy_fault(0, 5, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	expect_call(0, TOY_CANCEL, 5, 0, 0);
	ck_assert_uint_eq(gvm_charged_bytes(container), 0);
	gvm_range_destroy(&range);
	toy_destroy(container);
}
END_TEST

/*
 * The tail block has three valid pages. One TSG asks for one of them, another one for what is behind
 * the end: only the second one has made a mistake.
 */
START_TEST(a_fault_behind_the_end_takes_no_fault_of_its_block_with_it)
{
	struct gvm_container *container = toy_init();
	struct gvm_range range;

	toy_map_range(&range, 0, container, 3 * GVM_PAGE_BYTES, false);
	toy_fault(0, 1, GVM_ACCESS_READ);
	toy_fault(0, 5, GVM_ACCESS_READ);
	toy.script[1].tsg = 2;
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	expect_call(2, TOY_CANCEL, 5, 0, 0);
	ck_assert_uint_eq(range.resident_pages, 3);
	gvm_range_destroy(&range);
	toy_destroy(container);
}
END_TEST

static void *refuse_memory(size_t bytes)
{
	(void)bytes;
	return NULL;
}

static void never_called(void *memory)
{
	ck_assert_ptr_null(memory);
}

START_TEST(a_range_without_memory_or_size_or_alignment_is_refused)
{
	static const struct gvm_port_alloc_hook no_memory = { refuse_memory, never_called };
	struct gvm_container *container = toy_init();
	struct gvm_range_config config = {
		.container = container, .mmu = &toy_mmu_ops, .va = VA, .bytes = 1
	};
	struct gvm_range range;
	u32 refs = container->refs;

	gvm_port_alloc_hook = &no_memory;
	ck_assert_int_eq(gvm_range_init(&range, &config), -ENOMEM);
	gvm_port_alloc_hook = NULL;
	config.bytes = 0;
	ck_assert_int_eq(gvm_range_init(&range, &config), -EINVAL);
	config.bytes = U64_MAX;
	ck_assert_int_eq(gvm_range_init(&range, &config), -EINVAL);
	config.bytes = 1;
	config.va = VA + GVM_PAGE_BYTES;
	ck_assert_int_eq(gvm_range_init(&range, &config), -EINVAL);
	ck_assert_uint_eq(container->refs, refs);
	toy_destroy(container);
}
END_TEST

TEST_MAIN("fault service", copies_of_all_blocks_start_before_the_first_map,
	  memory_that_exists_nowhere_is_cleared_and_not_copied,
	  a_block_resident_in_part_gets_what_was_asked_for_in_runs,
	  duplicates_are_dropped_and_spaces_are_served_apart,
	  a_wake_up_services_twenty_batches_of_256_and_no_more,
	  a_fault_over_the_limit_is_cancelled_and_its_batch_goes_on,
	  a_limit_holds_over_all_address_spaces_of_a_process,
	  a_range_of_one_page_is_charged_a_chunk, a_chunk_is_unmapped_before_it_is_freed,
	  an_interrupted_replay_ends_the_service_with_the_books_in_order,
	  a_limit_is_written_while_a_block_is_locked,
	  a_full_device_cancels_and_returns_the_reservation,
	  a_failed_copy_maps_nothing_and_leaks_nothing,
	  a_fault_behind_the_end_of_a_range_is_cancelled,
	  a_fault_behind_the_end_takes_no_fault_of_its_block_with_it,
	  a_range_without_memory_or_size_or_alignment_is_refused)
