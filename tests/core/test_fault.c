// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Fault service and VA blocks on a GPU of 16 chunks that is a few arrays: which calls the core
 * makes, in which order, with exact counts.
 */
#include "gvm/control.h"
#include "gvm/activity.h"
#include "runner.h"
#include "toy_gpu.h"

static struct gvm_container *toy_begin(void)
{
	toy_init(TOY_CHUNKS);
	return toy_attach(1000);
}

static void toy_end(struct gvm_container *container)
{
	gvm_container_detach(container);
	toy_destroy();
}

START_TEST(copies_of_all_blocks_start_before_the_first_map)
{
	struct gvm_container *container = toy_begin();
	struct gvm_range *range;

	/* Two blocks of host data, faulted in reverse: two copies, two maps, one replay. */
	range = toy_map_range(0, container, 2 * GVM_CHUNK_BYTES, true);
	toy_fault(0, 40, GVM_ACCESS_READ);
	toy_fault(0, 3, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.call_count, 5);
	toy_expect_call(0, TOY_COPY, 0, 0, 32);
	toy_expect_call(1, TOY_COPY, 1, 0, 32);
	toy_expect_call(2, TOY_MAP, 0, 0, 32);
	toy_expect_call(3, TOY_MAP, 1, 0, 32);
	toy_expect_call(4, TOY_REPLAY, 0, 0, 0);
	ck_assert_uint_eq(toy.fence.sequence[GVM_ENGINE_IN], 2);
	ck_assert_uint_eq(toy.stats.pages_copied_in, 64);
	ck_assert_uint_eq(range->resident_pages, 64);
	ck_assert_uint_eq(gvm_charged_bytes(container), 2 * GVM_CHUNK_BYTES);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

START_TEST(memory_that_exists_nowhere_is_cleared_and_not_copied)
{
	struct gvm_container *container = toy_begin();
	struct gvm_range *range;

	/* 2 MB and 3 pages: the tail block has 3 valid pages. */
	range = toy_map_range(0, container, GVM_CHUNK_BYTES + 2 * GVM_PAGE_BYTES + 1, false);
	ck_assert_uint_eq(range->valid_pages, 35);
	toy_fault(0, 33, GVM_ACCESS_WRITE);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	toy_expect_call(0, TOY_CLEAR, 0, 0, 3);
	toy_expect_call(1, TOY_MAP, 0, 0, 3);
	ck_assert_uint_eq(toy.stats.pages_copied_in, 0);
	ck_assert_uint_eq(toy.stats.pages_cleared, 3);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

START_TEST(a_block_resident_in_part_gets_what_was_asked_for_in_runs)
{
	struct gvm_container *container = toy_begin();
	struct gvm_range *range;
	u32 chunk;

	range = toy_map_range(0, container, GVM_CHUNK_BYTES, true);
	/* The block has page 0 only, as if a prefetch had brought it. */
	ck_assert_int_eq(gvm_charge_reserve(container), 0);
	ck_assert_int_eq(toy.memory.mmu->chunk_alloc(NULL, &chunk), 0);
	toy.memory.frames[chunk].range = range;
	gvm_charge_bind(container, chunk);
	range->blocks[0].chunk = chunk;
	range->blocks[0].resident = 1;
	range->resident_pages = 1;
	toy_fault(0, 5, GVM_ACCESS_READ);
	toy_fault(0, 6, GVM_ACCESS_READ);
	toy_fault(0, 31, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.call_count, 4);
	toy_expect_call(0, TOY_COPY, chunk, 5, 2);
	toy_expect_call(1, TOY_COPY, chunk, 31, 1);
	toy_expect_call(2, TOY_MAP, chunk, 0, 3);
	ck_assert_uint_eq(range->resident_pages, 4);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

START_TEST(duplicates_are_dropped_and_spaces_are_served_apart)
{
	struct gvm_container *container = toy_begin();
	u32 i;

	toy_map_range(0, container, GVM_CHUNK_BYTES, true);
	toy_map_range(1, container, GVM_CHUNK_BYTES, true);
	/* 100 records, 32 pages of space 0 and 1 page of space 1: 67 duplicates, 2 services. */
	for (i = 0; i < 99; i++)
		toy_fault(i % 3 == 2, i % 3 == 2 ? 7 : (i * 5) % 32, GVM_ACCESS_READ);
	toy_fault(0, 31, GVM_ACCESS_WRITE);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.services, 2);
	ck_assert_uint_eq(toy.handler.stats.faults, 100);
	ck_assert_uint_eq(toy.handler.stats.duplicates, 67);
	ck_assert_uint_eq(toy.stats.pages_copied_in, 64);
	toy_unmap_range(0);
	toy_unmap_range(1);
	toy_end(container);
}
END_TEST

START_TEST(a_wake_up_services_twenty_batches_of_256_and_no_more)
{
	struct gvm_container *container = toy_begin();
	u32 i;

	toy_map_range(0, container, 2 * GVM_CHUNK_BYTES, true);
	for (i = 0; i < 21 * 256; i++)
		toy_fault(0, i % 64, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 20);
	ck_assert_uint_eq(toy.handler.stats.faults, 20 * 256);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 0);
	ck_assert_uint_eq(toy.stats.pages_copied_in, 64);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

START_TEST(a_fault_of_who_may_have_nothing_is_cancelled_and_its_batch_goes_on)
{
	struct gvm_container *container = toy_begin();
	struct gvm_container *other = toy_attach(2000);

	gvm_limit_set_high(container, GVM_CHUNK_BYTES - 1);
	toy_map_range(0, container, GVM_CHUNK_BYTES, true);
	toy_map_range(1, other, GVM_CHUNK_BYTES, true);
	toy_fault(0, 7, GVM_ACCESS_READ);
	toy_fault(1, 0, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.call_count, 4);
	toy_expect_call(0, TOY_COPY, 0, 0, 32);
	toy_expect_call(1, TOY_MAP, 0, 0, 32);
	toy_expect_call(2, TOY_CANCEL, 7, 0, 0);
	toy_expect_call(3, TOY_REPLAY, 0, 0, 0);
	ck_assert_uint_eq(container->events[GVM_EVENT_HIGH], 1);
	ck_assert_uint_eq(container->events[GVM_EVENT_OOM], 1);
	ck_assert_uint_eq(gvm_charged_bytes(container), 0);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	toy_unmap_range(0);
	toy_unmap_range(1);
	gvm_container_detach(other);
	toy_end(container);
}
END_TEST

/* F2: the limit is the process's, for all of its address spaces together. */
START_TEST(a_limit_holds_over_all_address_spaces_of_a_process)
{
	struct gvm_container *first = toy_begin(), *second = toy_attach(1000);

	ck_assert_ptr_eq(first, second);
	gvm_limit_set_high(first, 2 * GVM_CHUNK_BYTES);
	toy_map_range(0, first, 3 * GVM_CHUNK_BYTES, false);
	toy_map_range(1, second, 3 * GVM_CHUNK_BYTES, false);
	ck_assert(toy_store(0, 0, 1) && toy_store(1, 0, 2) && toy_store(1, 32, 3));
	ck_assert_uint_eq(gvm_charged_bytes(first), 2 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(first->evicted_chunks, 1);
	toy_unmap_range(0);
	toy_unmap_range(1);
	gvm_container_detach(second);
	toy_end(first);
}
END_TEST

/*
 * D1: an allocation of less than a chunk is charged a chunk, and does not slip past the limit.
 */
START_TEST(a_range_of_one_page_is_charged_a_chunk)
{
	struct gvm_container *container = toy_begin();

	gvm_limit_set_high(container, 2 * GVM_CHUNK_BYTES - 1);
	toy_map_range(0, container, 1, false);
	toy_map_range(1, container, 1, false);
	ck_assert(toy_store(0, 0, 1) && toy_store(1, 0, 2));
	ck_assert_uint_eq(gvm_charged_bytes(container), GVM_CHUNK_BYTES);
	ck_assert_uint_eq(container->evicted_chunks, 1);
	toy_unmap_range(0);
	toy_unmap_range(1);
	toy_end(container);
}
END_TEST

/* F4: old PTEs must not show the chunk's next owner. */
START_TEST(a_chunk_is_unmapped_before_it_is_freed)
{
	struct gvm_container *container = toy_begin();

	toy_map_range(0, container, GVM_CHUNK_BYTES + 1, true);
	toy_fault(0, 0, GVM_ACCESS_READ);
	toy_fault(0, 32, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	toy.call_count = 0;
	toy_unmap_range(0);
	ck_assert_uint_eq(toy.call_count, 4);
	toy_expect_call(0, TOY_UNMAP, 0, 0, 32);
	toy_expect_call(1, TOY_FREE, 0, 0, 0);
	toy_expect_call(2, TOY_UNMAP, 0, 0, 1);
	toy_expect_call(3, TOY_FREE, 1, 0, 0);
	toy_end(container);
}
END_TEST

/*
 * F10: a shutdown in the middle of the work ends the loop, and the finished work is in the
 * books.
 */
START_TEST(an_interrupted_replay_ends_the_service_with_the_books_in_order)
{
	struct gvm_container *container = toy_begin();
	u32 i;

	toy_map_range(0, container, GVM_CHUNK_BYTES, true);
	for (i = 0; i < 2 * GVM_FAULT_BATCH_MAX; i++)
		toy_fault(0, i % 32, GVM_ACCESS_READ);
	toy.replay_error = -EINTR;
	ck_assert_int_eq(gvm_fault_service(&toy.handler), -EINTR);
	ck_assert_uint_eq(toy.handler.stats.batches, 1);
	ck_assert_uint_eq(gvm_charged_bytes(container), GVM_CHUNK_BYTES);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

/* D6, D25: a write with nothing to reclaim does not wait for fault service. */
START_TEST(a_limit_is_written_while_a_block_is_locked)
{
	struct gvm_container *container = toy_begin();
	struct gvm_range *range;

	range = toy_map_range(0, container, GVM_CHUNK_BYTES, true);
	/* A wait for this lock would never end. engine_null.c aborts on such a wait. */
	gvm_mutex_lock(&range->lock);
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", "2M", 2), 0);
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.low", "2M", 2), 0);
	gvm_mutex_unlock(&range->lock);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

/* D3: no reservation and no chunk leaks. */
START_TEST(what_a_batch_leaves_no_room_for_is_left_to_fault_again)
{
	struct gvm_container *container = toy_begin();

	/* The batch has put all 16 chunks in service when it comes to the 17th block. */
	toy_map_range(0, container, (TOY_CHUNKS + 1) * GVM_CHUNK_BYTES, false);
	for (u32 block = 0; block <= TOY_CHUNKS; block++)
		toy_fault(0, 32 * block, GVM_ACCESS_WRITE);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 0);
	ck_assert_uint_eq(toy.handler.stats.deferred, 1);
	ck_assert_uint_eq(container->events[GVM_EVENT_OOM], 0);
	ck_assert_uint_eq((container->charged_bytes >> GVM_CHUNK_SHIFT), TOY_CHUNKS);
	ck_assert_uint_eq((container->reserved_bytes >> GVM_CHUNK_SHIFT), 0);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	/* In a batch of its own, the 17th block may evict one of the others. */
	toy_fault(0, 32 * TOY_CHUNKS, GVM_ACCESS_WRITE);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.handler.stats.deferred, 1);
	ck_assert_uint_eq(toy.kinds[TOY_OUT], 1);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

START_TEST(a_failed_copy_maps_nothing_and_leaks_nothing)
{
	struct gvm_container *container = toy_begin();
	struct gvm_range *range;

	range = toy_map_range(0, container, 2 * GVM_CHUNK_BYTES, true);
	toy.fail_copy = 1;
	toy_fault(0, 0, GVM_ACCESS_READ);
	toy_fault(0, 32, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	ck_assert_uint_eq(range->blocks[0].resident, 0);
	ck_assert_uint_eq(range->blocks[0].on_host, GVM_BLOCK_FULL);
	ck_assert_uint_eq(range->blocks[1].resident, GVM_BLOCK_FULL);
	ck_assert_int_eq(gvm_check(&toy.device), 0);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

START_TEST(a_fault_behind_the_end_of_a_range_is_cancelled)
{
	struct gvm_container *container = toy_begin();

	toy_map_range(0, container, 3 * GVM_PAGE_BYTES, false);
	toy_fault(0, 5, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	toy_expect_call(0, TOY_CANCEL, 5, 0, 0);
	ck_assert_uint_eq(gvm_charged_bytes(container), 0);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

/*
 * The tail block has three valid pages. One TSG faults on one of them, another TSG on a page
 * after the end. Only the second fault is cancelled.
 */
START_TEST(a_fault_behind_the_end_takes_no_fault_of_its_block_with_it)
{
	struct gvm_container *container = toy_begin();
	struct gvm_range *range;

	range = toy_map_range(0, container, 3 * GVM_PAGE_BYTES, false);
	toy_fault(0, 1, GVM_ACCESS_READ);
	toy_fault(0, 5, GVM_ACCESS_READ);
	toy.script[1].tsg = 2;
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	toy_expect_call(2, TOY_CANCEL, 5, 0, 0);
	ck_assert_uint_eq(range->resident_pages, 3);
	toy_unmap_range(0);
	toy_end(container);
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
	struct gvm_container *container = toy_begin();
	struct gvm_range_config config = { .container = container, .va = TOY_VA, .bytes = 1 };
	struct gvm_range range;
	u32 refs = container->refs;

	gvm_port_alloc_hook = &no_memory;
	ck_assert_int_eq(gvm_range_init(&toy.memory, &range, &config), -ENOMEM);
	gvm_port_alloc_hook = NULL;
	config.bytes = 0;
	ck_assert_int_eq(gvm_range_init(&toy.memory, &range, &config), -EINVAL);
	config.bytes = U64_MAX;
	ck_assert_int_eq(gvm_range_init(&toy.memory, &range, &config), -EINVAL);
	/* Its second block would begin at address 0. */
	config.bytes = GVM_CHUNK_BYTES + 1;
	config.va = 0 - GVM_CHUNK_BYTES;
	ck_assert_int_eq(gvm_range_init(&toy.memory, &range, &config), -EINVAL);
	config.bytes = 1;
	config.va = TOY_VA + GVM_PAGE_BYTES;
	ck_assert_int_eq(gvm_range_init(&toy.memory, &range, &config), -EINVAL);
	ck_assert_uint_eq(container->refs, refs);
	toy_end(container);
}
END_TEST

/*
 * Three address spaces in one batch: spaces 0 and 2 of priority 9, space 1 of priority 2. Each
 * has one block of host data. Each block takes the next free chunk when it is serviced.
 */
static void fault_in_three_spaces(u32 features, struct gvm_container **ret_container)
{
	u32 space;

	toy_init_with(TOY_CHUNKS, features);
	*ret_container = toy_attach(1000);
	for (space = 0; space < 3; space++) {
		toy_map_range(space, *ret_container, GVM_CHUNK_BYTES, true);
		toy.spaces[space].priority = space == 1 ? 2 : 9;
		toy_fault(space, 5, GVM_ACCESS_READ);
	}
}

static void end_three_spaces(struct gvm_container *container)
{
	u32 space;

	for (space = 0; space < 3; space++)
		toy_unmap_range(space);
	toy_end(container);
}

START_TEST(the_most_important_faults_of_a_batch_are_served_and_replayed_first)
{
	struct gvm_container *container;

	fault_in_three_spaces(GVM_PRIORITY_BATCHES, &container);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.spaces[1].range.blocks[0].chunk, 0);
	ck_assert_uint_eq(toy.spaces[0].range.blocks[0].chunk, 1);
	ck_assert_uint_eq(toy.spaces[2].range.blocks[0].chunk, 2);
	ck_assert_uint_eq(toy.call_count, 8);
	toy_expect_call(0, TOY_COPY, 0, 0, 32);
	toy_expect_call(1, TOY_MAP, 0, 0, 32);
	toy_expect_call(2, TOY_REPLAY, 0, 0, 0);
	toy_expect_call(3, TOY_COPY, 1, 0, 32);
	toy_expect_call(4, TOY_MAP, 1, 0, 32);
	toy_expect_call(5, TOY_COPY, 2, 0, 32);
	toy_expect_call(6, TOY_MAP, 2, 0, 32);
	toy_expect_call(7, TOY_REPLAY, 0, 0, 0);
	end_three_spaces(container);
}
END_TEST

START_TEST(without_the_feature_priorities_change_nothing)
{
	struct gvm_container *container;
	u32 space;

	fault_in_three_spaces(0, &container);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	for (space = 0; space < 3; space++)
		ck_assert_uint_eq(toy.spaces[space].range.blocks[0].chunk, space);
	ck_assert_uint_eq(toy.kinds[TOY_REPLAY], 1);
	toy_expect_call(6, TOY_REPLAY, 0, 0, 0);
	end_three_spaces(container);
}
END_TEST

START_TEST(among_equals_a_batch_is_replayed_once)
{
	struct gvm_container *container;

	fault_in_three_spaces(GVM_PRIORITY_BATCHES, &container);
	toy.spaces[1].priority = 9;
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.kinds[TOY_REPLAY], 1);
	ck_assert_uint_eq(toy.spaces[1].range.blocks[0].chunk, 1);
	end_three_spaces(container);
}
END_TEST

/*
 * The first copy is for space 1, and fails. Only its fault is cancelled, before the replay of
 * its round.
 */
START_TEST(what_fails_is_cancelled_in_its_own_round)
{
	struct gvm_container *container;

	fault_in_three_spaces(GVM_PRIORITY_BATCHES, &container);
	toy.fail_copy = 1;
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	toy_expect_call(0, TOY_CANCEL, 5, 0, 0);
	toy_expect_call(1, TOY_REPLAY, 0, 0, 0);
	ck_assert_uint_eq(toy.kinds[TOY_REPLAY], 2);
	ck_assert_uint_eq(toy.handler.stats.cancelled, 1);
	ck_assert_uint_eq(toy.spaces[2].range.resident_pages, 32);
	end_three_spaces(container);
}
END_TEST

START_TEST(an_interrupted_replay_leaves_the_less_important_to_fault_again)
{
	struct gvm_container *container;

	fault_in_three_spaces(GVM_PRIORITY_BATCHES, &container);
	toy.replay_error = -EINTR;
	ck_assert_int_eq(gvm_fault_service(&toy.handler), -EINTR);
	ck_assert_uint_eq(toy.services, 1);
	ck_assert_uint_eq(toy.spaces[1].range.resident_pages, 32);
	ck_assert_uint_eq(toy.spaces[0].range.resident_pages, 0);
	end_three_spaces(container);
}
END_TEST

/*
 * A second instance after the toy's fault buffer. It counts services and replays, fails each
 * fault with -EFAULT, and records the last cancel.
 */
static struct {
	u32 services;
	u32 replays;
	struct gvm_fault cancelled;
} instance;

static void instance_service(void *memory, void *space, struct gvm_fault *faults, u32 count,
			     struct gvm_fence *fence)
{
	(void)memory;
	(void)space;
	(void)fence;
	instance.services++;
	for (u32 i = 0; i < count; i++)
		faults[i].status = -EFAULT;
}

static void instance_cancel(void *gpu, const struct gvm_fault *fault)
{
	(void)gpu;
	instance.cancelled = *fault;
}

static int instance_replay(void *gpu, const struct gvm_fence *fence)
{
	(void)gpu;
	(void)fence;
	instance.replays++;
	return 0;
}

static const struct gvm_gpu_ops instance_ops = {
	.cancel_fault = instance_cancel,
	.flush_and_replay = instance_replay,
};

static const struct gvm_memory_ops instance_memory_ops = {
	.service = instance_service,
};

static struct gvm_device second = {
	.name = "second",
	.ops = &instance_ops,
	.memory_ops = &instance_memory_ops,
};

START_TEST(a_fault_names_its_device_and_keeps_its_packet)
{
	struct gvm_container *container = toy_begin();
	static const char packet[32];

	memset(&instance, 0, sizeof(instance));
	toy_map_range(0, container, GVM_CHUNK_BYTES, true);
	toy_fault(0, 3, GVM_ACCESS_READ);
	toy_fault(1, 9, GVM_ACCESS_WRITE);
	toy.script[1].device = &second;
	toy.script[1].packet = packet;
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(instance.services, 1);
	ck_assert_uint_eq(toy.services, 1);
	ck_assert_ptr_eq(instance.cancelled.packet, packet);
	ck_assert_uint_eq(instance.cancelled.va, TOY_VA + 9 * GVM_PAGE_BYTES);
	ck_assert_int_eq(instance.cancelled.status, -EFAULT);
	ck_assert_uint_eq(toy.kinds[TOY_CANCEL], 0);
	ck_assert_uint_eq(toy.kinds[TOY_REPLAY], 1);
	ck_assert_uint_eq(instance.replays, 1);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

/*
 * Regression: two instances of a GPU, one address space, one address. The second fault was dropped
 * as a duplicate of the first one, and its instance was never replayed.
 */
START_TEST(faults_of_two_devices_on_one_address_are_no_duplicates)
{
	struct gvm_container *container = toy_begin();

	memset(&instance, 0, sizeof(instance));
	toy_map_range(0, container, GVM_CHUNK_BYTES, true);
	toy_fault(0, 3, GVM_ACCESS_READ);
	toy_fault(0, 3, GVM_ACCESS_WRITE);
	toy.script[1].device = &second;
	ck_assert_int_eq(gvm_fault_service(&toy.handler), 1);
	ck_assert_uint_eq(toy.handler.stats.duplicates, 0);
	ck_assert_uint_eq(instance.services, 1);
	ck_assert_uint_eq(instance.replays, 1);
	ck_assert_uint_eq(toy.services, 1);
	ck_assert_uint_eq(toy.kinds[TOY_REPLAY], 1);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

START_TEST(a_replay_can_find_that_the_gpu_is_lost)
{
	struct gvm_container *container = toy_begin();

	toy_map_range(0, container, 2 * GVM_CHUNK_BYTES, true);
	toy_fault(0, 3, GVM_ACCESS_READ);
	toy.replay_error = -ENODEV;
	ck_assert_int_eq(gvm_fault_service(&toy.handler), -ENODEV);
	ck_assert(gvm_device_is_lost(&toy.device));
	/* The handler fetches no more faults. */
	toy_fault(0, 40, GVM_ACCESS_READ);
	ck_assert_int_eq(gvm_fault_service(&toy.handler), -ENODEV);
	ck_assert_uint_eq(toy.script_next, 1);
	ck_assert_uint_eq(toy.services, 1);
	toy_unmap_range(0);
	toy_end(container);
}
END_TEST

#define MANY_RANGES 20000u

/* How many nodes of the tree lead to a range, itself included; 0: not in the tree. */
static u32 range_depth(const struct gvm_range *range)
{
	u32 depth = 0;

	for (const struct rb_node *node = toy.memory.ranges.rb_node; node; depth++) {
		const struct gvm_range *at = rb_entry(node, const struct gvm_range, node);

		if (at == range)
			return depth + 1;
		if (at->space == range->space)
			node = at->va < range->va ? node->rb_right : node->rb_left;
		else
			node = (size_t)at->space < (size_t)range->space ? node->rb_right :
									  node->rb_left;
	}
	return 0;
}

/* A tenant makes ranges of one block, each below the last one. */
START_TEST(a_tenant_with_many_ranges_makes_the_search_of_others_hardly_longer)
{
	struct gvm_container *container = toy_begin();
	struct gvm_range *ranges = gvm_alloc(MANY_RANGES * sizeof(*ranges));
	struct gvm_range *other = toy_map_range(1, container, GVM_CHUNK_BYTES, true);
	static int space;
	u32 deepest = 0;

	ck_assert(ranges);
	for (u32 i = 0; i < MANY_RANGES; i++) {
		ranges[i].memory = &toy.memory;
		ranges[i].space = &space;
		ranges[i].va = TOY_VA + (u64)(MANY_RANGES - i) * GVM_CHUNK_BYTES;
		ranges[i].block_count = 1;
		gvm_waitqueue_init(&ranges[i].idle);
		gvm_range_publish(&ranges[i]);
	}
	/* A red-black tree is at most twice the logarithm deep: 28.6 for 20,002. */
	for (u32 i = 0; i < MANY_RANGES; i++) {
		struct gvm_fault fault = { .va = ranges[i].va + 1 };
		struct gvm_range *found;
		u32 depth = range_depth(&ranges[i]);

		deepest = max(deepest, depth ? depth : MANY_RANGES);
		gvm_memory_enter_run(&toy.memory, &space, &fault, 1, &found);
		if (found != &ranges[i])
			deepest = MANY_RANGES;
		if (found)
			gvm_range_leave(found);
	}
	ck_assert_uint_le(deepest, 28);
	ck_assert_uint_ge(range_depth(other), 1);
	ck_assert_uint_le(range_depth(other), 28);
	gvm_range_hide(&ranges[7]);
	ck_assert_uint_eq(range_depth(&ranges[7]), 0);
	gvm_memory_close_space(&toy.memory, &space);
	ck_assert_uint_eq(range_depth(&ranges[8]), 0);
	ck_assert_uint_eq(range_depth(other), 1);
	gvm_free(ranges);
	toy_unmap_range(1);
	toy_end(container);
}
END_TEST

TEST_MAIN("fault service", copies_of_all_blocks_start_before_the_first_map,
	  memory_that_exists_nowhere_is_cleared_and_not_copied,
	  the_most_important_faults_of_a_batch_are_served_and_replayed_first,
	  without_the_feature_priorities_change_nothing, among_equals_a_batch_is_replayed_once,
	  what_fails_is_cancelled_in_its_own_round,
	  an_interrupted_replay_leaves_the_less_important_to_fault_again,
	  a_block_resident_in_part_gets_what_was_asked_for_in_runs,
	  duplicates_are_dropped_and_spaces_are_served_apart,
	  a_wake_up_services_twenty_batches_of_256_and_no_more,
	  a_fault_of_who_may_have_nothing_is_cancelled_and_its_batch_goes_on,
	  a_limit_holds_over_all_address_spaces_of_a_process,
	  a_range_of_one_page_is_charged_a_chunk, a_chunk_is_unmapped_before_it_is_freed,
	  an_interrupted_replay_ends_the_service_with_the_books_in_order,
	  a_limit_is_written_while_a_block_is_locked,
	  what_a_batch_leaves_no_room_for_is_left_to_fault_again,
	  a_failed_copy_maps_nothing_and_leaks_nothing,
	  a_fault_behind_the_end_of_a_range_is_cancelled,
	  a_fault_behind_the_end_takes_no_fault_of_its_block_with_it,
	  a_range_without_memory_or_size_or_alignment_is_refused,
	  a_tenant_with_many_ranges_makes_the_search_of_others_hardly_longer,
	  a_fault_names_its_device_and_keeps_its_packet,
	  faults_of_two_devices_on_one_address_are_no_duplicates,
	  a_replay_can_find_that_the_gpu_is_lost)
