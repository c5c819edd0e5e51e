// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The model of NVIDIA's driver on the simulated GPU: faults, copies, victims and dates, worked
 * out by hand with the numbers of nvuvm_world.h.
 */
#include "nvuvm_world.h"
#include "runner.h"

#include <sys/wait.h>
#include <unistd.h>

static const struct nvuvm_stats *stats(void)
{
	return nvuvm_stats(world_nvuvm());
}

/* Faults that make a block resident, one after the other: 1, 1, 2, 4, 8 and 16 pages. */
static const u32 walk_pages[] = { 0, 1, 2, 4, 8, 16 };

/* A burst of one kernel for each block. */
static struct fifo_burst walk_burst(const struct gmmu_touch *touch)
{
	return (struct fifo_burst){
		.kernels = touch->block_count,
		.kernel_ns = 1 * US,
		.touches = touch,
		.touch_count = 1,
	};
}

static void fill_block(struct gvm_range *range, u32 block)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(walk_pages); i++)
		ck_assert_int_eq(world_fault(range, block, walk_pages[i]), 0);
	ck_assert_uint_eq(range->blocks[block].resident, GVM_BLOCK_FULL);
}

/*
 * One fault a batch: 10 + 1 + 20 us of CPU, 1 us of set-up, and the link time of the pages. The
 * replay's 2 us hide behind the copy. The next fault follows a replay at once, so there is one
 * interrupt.
 */
static void sequential_walk(void)
{
	struct gvm_range *range = world_map(&world_process, 1, true);

	ck_assert_uint_eq(world_touch(&world_process, range, 0, 1),
			  INTERRUPT_NS + 6 * (BATCH_NS + ENTRY_NS + BLOCK_NS + 1 * US) +
				  32 * PAGE_NS + 1 * US);
	ck_assert_uint_eq(world_process.stats.faults, 6);
	ck_assert_uint_eq(world_process.stats.fault_batches, 6);
	ck_assert_uint_eq(stats()->rounds, 6);
	ck_assert_uint_eq(stats()->restarts, 0);
	ck_assert_uint_eq(stats()->pages_prefetched, 26);
	ck_assert_uint_eq(stats()->copies_in, 6);
	ck_assert_uint_eq(world_process.stats.bytes_h2d, CHUNK);
}

START_TEST(a_sequential_walker_takes_six_rounds_a_block)
{
	world_profile.fault.outstanding = 1;
	world_run(16, &world_stock, sequential_walk);
}
END_TEST

static void rounds_of_a_block(void)
{
	static const u32 resident[] = { 0x1, 0x3, 0xf, 0xff, 0xffff, GVM_BLOCK_FULL };
	struct gvm_range *range = world_map(&world_process, 2, false);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(walk_pages); i++) {
		ck_assert_int_eq(world_fault(range, 0, walk_pages[i]), 0);
		ck_assert_uint_eq(range->blocks[0].resident, resident[i]);
		ck_assert_uint_eq(world_gpu.device.bound_chunks, 1);
	}
	/* New pages, without a copy anywhere, take the same rounds. They are cleared. */
	ck_assert_uint_eq(world_process.stats.block.pages_cleared, 32);
	ck_assert_uint_eq(world_process.stats.bytes_h2d, 0);
	ck_assert_int_eq(world_fault(range, 0, 7), 0);
	ck_assert_uint_eq(stats()->rounds, 6);
	ck_assert_uint_eq(stats()->refills, 1);
}

START_TEST(rounds_grow_by_powers_of_two_and_the_chunk_is_whole)
{
	world_run(80, &world_stock, rounds_of_a_block);
}
END_TEST

/*
 * Advice moves 3 blocks whole, and back. The CPU's 20 us of each block but the first hide
 * behind the copy before it. On the way back the CPU maps 96 pages, 5 us each, when all have
 * come.
 */
static void advised(void)
{
	struct gvm_range *range = world_map(&world_process, 3, true);
	u64 start = eng_now();

	ck_assert_int_eq(sim_process_prefetch(&world_process, range, GVM_PROCESSOR_GPU), 0);
	ck_assert_uint_eq(eng_now() - start, BLOCK_NS + 3 * COPY_NS);
	ck_assert_uint_eq(range->resident_pages, 96);
	ck_assert_uint_eq(stats()->rounds, 3);
	ck_assert_uint_eq(stats()->pages_prefetched, 0);
	ck_assert_uint_eq(world_process.stats.faults, 0);
	start = eng_now();
	ck_assert_int_eq(sim_process_prefetch(&world_process, range, GVM_PROCESSOR_CPU), 0);
	ck_assert_uint_eq(eng_now() - start, BLOCK_NS + 3 * COPY_NS + 96 * 5 * US);
	ck_assert_uint_eq(range->resident_pages, 0);
	ck_assert_uint_eq(range->blocks[2].on_host, GVM_BLOCK_FULL);
	ck_assert_uint_eq(world_process.container->swapped_bytes, 0);
	ck_assert_uint_eq(world_process.stats.bytes_h2d, 3 * CHUNK);
	ck_assert_uint_eq(world_process.stats.bytes_d2h, 3 * CHUNK);
	/* Advice for memory that is already there costs nothing. */
	start = eng_now();
	ck_assert_int_eq(sim_process_prefetch(&world_process, range, GVM_PROCESSOR_GPU), 0);
	ck_assert_int_eq(sim_process_prefetch(&world_process, range, GVM_PROCESSOR_GPU), 0);
	ck_assert_uint_eq(eng_now() - start, BLOCK_NS + 3 * COPY_NS);
}

START_TEST(advice_moves_whole_blocks_back_to_back_and_maps_the_cpu_last)
{
	world_profile.fault.page = 5 * US;
	world_run(16, &world_stock, advised);
}
END_TEST

/*
 * Advice for 20 blocks on 16 chunks. The first pass evicts blocks 0 to 3, and the second then
 * misses each block: all 20 come again, and as many go. Seen of the real driver:
 * tests/kernel/judge.sh.
 */
static void advised_too_much(void)
{
	struct gvm_range *range = world_map(&world_process, 20, true);
	u32 i;

	ck_assert_int_eq(sim_process_prefetch(&world_process, range, GVM_PROCESSOR_GPU), 0);
	ck_assert_uint_eq(world_process.stats.bytes_h2d, 2 * 20 * CHUNK);
	ck_assert_uint_eq(world_process.stats.bytes_d2h, (4 + 20) * CHUNK);
	for (i = 0; i < 20; i++)
		ck_assert_uint_eq(range->blocks[i].resident, i < 4 ? 0 : GVM_BLOCK_FULL);
}

START_TEST(advice_for_more_than_memory_moves_it_twice)
{
	world_run(16, &world_stock, advised_too_much);
}
END_TEST

/* Advice for a block that is there puts its chunk at the end of the queue. */
static void advised_again(void)
{
	struct gvm_range *old = world_map(&world_process, 8, true);
	struct gvm_range *young = world_map(&world_process, 8, true);
	struct gvm_range *fresh = world_map(&world_process, 8, true);
	u32 i;

	ck_assert_int_eq(sim_process_prefetch(&world_process, old, GVM_PROCESSOR_GPU), 0);
	ck_assert_int_eq(sim_process_prefetch(&world_process, young, GVM_PROCESSOR_GPU), 0);
	ck_assert_int_eq(sim_process_prefetch(&world_process, old, GVM_PROCESSOR_GPU), 0);
	ck_assert_int_eq(sim_process_prefetch(&world_process, fresh, GVM_PROCESSOR_GPU), 0);
	for (i = 0; i < 8; i++) {
		ck_assert_uint_eq(old->blocks[i].resident, GVM_BLOCK_FULL);
		ck_assert_uint_eq(young->blocks[i].resident, 0);
	}
	ck_assert_uint_eq(world_process.stats.bytes_h2d, 24 * CHUNK);
}

START_TEST(advice_for_what_is_there_counts_as_a_use)
{
	world_run(16, &world_stock, advised_again);
}
END_TEST

/* The same fault with and without work for each page: 1 + 1 + 2 + 4 + 8 + 16 pages. */
static void pages_looked_at(void)
{
	struct gvm_range *range = world_map(&world_process, 1, true);
	struct gvm_range *fresh;

	ck_assert_uint_eq(world_touch(&world_process, range, 0, 1),
			  INTERRUPT_NS + 6 * (BATCH_NS + ENTRY_NS + BLOCK_NS + 1 * US) +
				  32 * (PAGE_NS + 5 * US) + 1 * US);
	fresh = world_map(&world_other, 1, false);
	ck_assert_uint_lt(world_touch(&world_other, fresh, 0, 1),
			  INTERRUPT_NS + 6 * (BATCH_NS + ENTRY_NS + BLOCK_NS) + 32 * 5 * US);
}

START_TEST(each_page_that_comes_from_the_host_is_looked_at)
{
	world_profile.fault.outstanding = 1;
	world_profile.fault.page = 5 * US;
	world_run(16, &world_stock, pages_looked_at);
}
END_TEST

/*
 * 17 blocks in a ring through 16 chunks: each block takes a kernel and a batch of 32 faults.
 * While there is room, a block takes 10 + 32 + 20 us of CPU and a copy. On a full device it
 * takes 30 us for its victim. Its copy follows the victim's, and its own 20 us hide behind that
 * one. FIFO is the worst order for a ring: all of the second walk misses.
 */
static u64 ring_touch(struct gvm_range *range)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < range->block_count; i++)
		sum += world_touch(&world_process, range, i, 1);
	return sum;
}

static void ring_walk(void)
{
	struct gvm_range *range = world_map(&world_process, 17, true);
	u64 batch_ns = INTERRUPT_NS + BATCH_NS + 32 * ENTRY_NS + 1 * US;
	u64 room_ns = batch_ns + BLOCK_NS + COPY_NS;
	u64 full_ns = batch_ns + EVICT_NS + 2 * COPY_NS;

	ck_assert_uint_eq(ring_touch(range), 16 * room_ns + full_ns);
	ck_assert_uint_eq(ring_touch(range), 17 * full_ns);
	ck_assert_uint_eq(world_process.stats.faults, 34 * 32);
	ck_assert_uint_eq(world_process.stats.fault_batches, 34);
	ck_assert_uint_eq(world_process.stats.block.evictions, 18);
	ck_assert_uint_eq(world_process.container->evicted_chunks, 18);
	ck_assert_uint_eq(stats()->evictions, 18);
	ck_assert_uint_eq(stats()->restarts, 18);
	ck_assert_uint_eq(stats()->rounds, 34 + 18);
	ck_assert_uint_eq(stats()->copies_in, 34);
	ck_assert_uint_eq(stats()->copies_out, 18);
	ck_assert_uint_eq(world_process.stats.bytes_h2d, 34 * CHUNK);
	ck_assert_uint_eq(world_process.stats.bytes_d2h, 18 * CHUNK);
	/* All 17 blocks still have their host memory, and it has not grown. */
	ck_assert_uint_eq(nvuvm_host_bytes(world_nvuvm(), world_process.container), 17 * CHUNK);
	ck_assert_uint_eq(world_process.container->swapped_bytes, CHUNK);
}

START_TEST(a_ring_one_block_too_large_misses_everything)
{
	world_profile.fault.per_block = 32;
	world_profile.fault.outstanding = 32;
	world_run(16, &world_stock, ring_walk);
}
END_TEST

/* The copies of different chunks overlap: two blocks in one batch, two victims. */
static void two_victims(void)
{
	struct gvm_range *range = world_map(&world_process, 18, true);
	u64 second_ns;

	world_touch(&world_process, range, 0, 16);
	/*
	 * CPU: 5 + 10 + 64, then (30 + 20) twice. Out: two copies, from 109 us on. In: the
	 * first copy starts when the first victim is out. The second starts when the first is
	 * in; by then the second victim is out.
	 */
	second_ns = INTERRUPT_NS + BATCH_NS + 64 * ENTRY_NS + EVICT_NS + 3 * COPY_NS;
	ck_assert_uint_eq(world_touch(&world_process, range, 16, 2), second_ns + 1 * US);
}

START_TEST(a_fetch_waits_for_its_own_chunk_and_no_other)
{
	world_profile.fault.per_block = 32;
	world_profile.fault.outstanding = 64;
	world_run(16, &world_stock, two_victims);
}
END_TEST

static void victim_order(void)
{
	struct gvm_range *range = world_map(&world_process, 16, false);
	struct gvm_range *other = world_map(&world_other, 4, false);
	u32 chunk[16];
	u32 i;

	for (i = 0; i < 16; i++) {
		fill_block(range, i);
		chunk[i] = world_chunk(range, i);
	}
	/*
	 * A migration counts as use, however small its part. A hit does not, and neither does a
	 * migration to the CPU.
	 */
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, 0, 1u << 3), 0);
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, 2, 1u << 3), 0);
	ck_assert_int_eq(world_fault(range, 0, 3), 0);
	ck_assert_uint_eq(world_touch(&world_process, range, 1, 1), 1 * US);
	ck_assert_int_eq(world_fault(other, 0, 0), 0);
	ck_assert_uint_eq(world_chunk(other, 0), chunk[1]);
	/*
	 * A block without pages goes first, before block 2, whose last migration is the oldest.
	 */
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, 9, GVM_BLOCK_FULL), 0);
	ck_assert_int_eq(world_fault(other, 1, 0), 0);
	ck_assert_uint_eq(world_chunk(other, 1), chunk[9]);
	ck_assert_int_eq(world_fault(other, 2, 0), 0);
	ck_assert_uint_eq(world_chunk(other, 2), chunk[2]);
	ck_assert_uint_eq(world_chunk(range, 0), chunk[0]);
	ck_assert_uint_eq(world_process.stats.block.evictions, 3);
	ck_assert_uint_eq(world_other.stats.block.evictions, 0);
	/* 31 pages of block 2 were on the device, none of block 9, all of block 1. */
	ck_assert_uint_eq(world_process.container->swapped_bytes, 63 * GVM_PAGE_BYTES);
}

START_TEST(victims_go_by_the_last_migration_and_unused_ones_first)
{
	world_run(16, &world_stock, victim_order);
}
END_TEST

/* Host memory that the CPU wrote in 4 KB pages: 512 copies, 511 of which cost 100 ns each. */
static void small_host_pages(void)
{
	struct gvm_range_config config = {
		.container = NULL,
		.space = &world_process,
		.bytes = CHUNK,
		.on_host = true,
	};
	struct gvm_range *range;
	u64 bytes;

	world_map(&world_process, 1, false);
	range = &world_process.ranges[world_process.range_count++];
	config.container = world_process.container;
	config.va = world_process.next_va;
	ck_assert_int_eq(page_table_reserve(&world_process.page_table, config.va, config.bytes),
			 0);
	ck_assert_int_eq(nvuvm_range_init(world_nvuvm(), range, &config, true), 0);
	ck_assert_uint_eq(world_touch(&world_process, range, 0, 1),
			  INTERRUPT_NS + BATCH_NS + 32 * ENTRY_NS + BLOCK_NS + COPY_NS +
				  511 * 100 + 1 * US);
	ck_assert_uint_eq(stats()->copies_in, 512);
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
	ck_assert_uint_eq(stats()->copies_out, 512);
	ck_assert_uint_eq(nvuvm_host_bytes(world_nvuvm(), world_process.container), CHUNK);

	/*
	 * One page of memory that exists nowhere: an eviction gives the block 2 MB on the host
	 * for life.
	 */
	range = &world_process.ranges[0];
	ck_assert_int_eq(world_fault(range, 0, 0), 0);
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
	ck_assert_uint_eq(stats()->copies_out, 513);
	bytes = nvuvm_host_bytes(world_nvuvm(), world_process.container);
	ck_assert_uint_eq(bytes, 2 * CHUNK);
	ck_assert_uint_eq(
		world_process.container->swapped_bytes,
		CHUNK + GVM_PAGE_BYTES); /* page of the first range, block of the other */
	ck_assert_int_eq(world_fault(range, 0, 0), 0);
	ck_assert_uint_eq(stats()->copies_in, 513);
	ck_assert_uint_eq(world_process.container->swapped_bytes, CHUNK);
	ck_assert_uint_eq(nvuvm_host_bytes(world_nvuvm(), world_process.container), bytes);
}

START_TEST(host_memory_in_4_kb_pages_takes_512_copies_a_block)
{
	world_profile.fault.per_block = 32;
	world_run(16, &world_stock, small_host_pages);
}
END_TEST

/* 24 blocks want 16 chunks: blocks that a batch brought in stay for its replay. */
static void too_large_a_batch(void)
{
	struct gvm_range *range = world_map(&world_process, 24, false);
	u32 i;

	ck_assert_uint_eq(world_fault_blocks(range, 0, 24), 16);
	for (i = 0; i < 24; i++)
		ck_assert_uint_eq(range->blocks[i].resident, i < 16);
	ck_assert_uint_eq(stats()->evictions, 0);
	/* While any of these blocks still fault, it is their turn. */
	ck_assert_int_eq(world_fault(range, 3, 1), 0);
	ck_assert_uint_eq(world_fault_blocks(range, 15, 9), 1);
	ck_assert_uint_eq(stats()->evictions, 0);
	/* Then it is the turn of the blocks that waited. */
	ck_assert_uint_eq(world_fault_blocks(range, 16, 8), 8);
	for (i = 0; i < 24; i++)
		ck_assert_int_eq(range->blocks[i].resident != 0, i == 3 || i >= 9);
	ck_assert_uint_eq(stats()->evictions, 8);
	/*
	 * That turn ends after a batch without their faults. Then the first blocks have theirs
	 * again.
	 */
	ck_assert_uint_eq(world_fault_blocks(range, 0, 3), 0);
	ck_assert_uint_eq(world_fault_blocks(range, 0, 3), 3);
	ck_assert_uint_eq(stats()->evictions, 11);
	ck_assert_uint_eq(stats()->deferred, 8 + 8 + 3);
	ck_assert_uint_eq(world_process.container->events[GVM_EVENT_OOM], 0);
}

START_TEST(a_batch_larger_than_memory_takes_turns)
{
	world_run(16, &world_stock, too_large_a_batch);
}
END_TEST

/* A kernel over 8 blocks in a mixed order, with room for 2 or for 1: it ends. */
static void tiny_memory(void)
{
	static const u32 order[] = { 5, 0, 7, 2, 6, 1, 4, 3 };
	struct gvm_range *range = world_map(&world_process, 8, true);
	struct gmmu_touch touches[8];
	struct fifo_burst burst = {
		.kernels = 1,
		.kernel_ns = 1 * US,
		.touches = touches,
		.touch_count = 8,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		touches[i] = sim_touch_blocks(range, order[i], 1, GVM_ACCESS_WRITE);
	fifo_submit(&world_process.tsg, &burst);
	ck_assert_int_eq(fifo_wait(&burst), 0);
	ck_assert_uint_ge(world_process.stats.block.evictions, 6);
	ck_assert_uint_eq(world_gpu.handler.stats.cancelled, 0);
}

START_TEST(two_chunks_are_enough_to_get_on)
{
	world_run(2, &world_stock, tiny_memory);
}
END_TEST

START_TEST(one_chunk_is_enough_to_get_on)
{
	world_run(1, &world_stock, tiny_memory);
}
END_TEST

/* Two processes, each with a range as large as the device: both end. */
static void rivals(void)
{
	struct gvm_range *a = world_map(&world_process, 16, true);
	struct gvm_range *b = world_map(&world_other, 16, true);
	struct gmmu_touch touch_a = sim_touch_all(a, GVM_ACCESS_READ);
	struct gmmu_touch touch_b = sim_touch_all(b, GVM_ACCESS_READ);
	struct fifo_burst burst_a = walk_burst(&touch_a);
	struct fifo_burst burst_b = walk_burst(&touch_b);

	fifo_submit(&world_process.tsg, &burst_a);
	fifo_submit(&world_other.tsg, &burst_b);
	ck_assert_int_eq(fifo_wait(&burst_a), 0);
	ck_assert_int_eq(fifo_wait(&burst_b), 0);
	/* No container is protected: each takes the other's chunks, whichever has its turn. */
	ck_assert_uint_ge(
		world_process.stats.block.evictions + world_other.stats.block.evictions, 16);
	ck_assert_uint_eq(world_gpu.device.bound_chunks, 16);
}

START_TEST(anybody_is_a_victim_in_stock)
{
	world_run(16, &world_stock, rivals);
}
END_TEST

static void cpu_against_gpu(void)
{
	struct gvm_range *range = world_map(&world_process, 1, true);
	u32 rounds = 0;

	while (world_fault(range, 0, 0) == 0 && rounds++ < 50)
		ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, 0, 1), 0);
	/* Faults succeed until the page thrashes and a period belongs to the CPU. */
	ck_assert_uint_lt(rounds, 20);
	ck_assert_uint_eq(stats()->throttled, 1);
	ck_assert_uint_eq(range->blocks[0].resident, 0);
	eng_sleep_until(eng_now() + NVUVM_THRASH_NAP_NS);
	ck_assert_int_eq(world_fault(range, 0, 0), 0);
	ck_assert_uint_eq(range->blocks[0].resident, 1);
}

START_TEST(the_cpu_makes_a_page_thrash)
{
	world_run(16, &world_stock, cpu_against_gpu);
}
END_TEST

static void behind_the_end(void)
{
	struct gvm_range *range;

	world_map(&world_process, 1, false);
	range = sim_process_map(&world_process, 3 * GVM_PAGE_BYTES, false);
	ck_assert_int_eq(world_fault(range, 0, 5), -EFAULT);
	ck_assert_uint_eq(world_gpu.device.bound_chunks, 0);
	ck_assert_int_eq(world_fault(range, 0, 0), 0);
	ck_assert_int_eq(world_fault(range, 0, 1), 0);
	/* 2 of 3 pages are there: the prefetcher brings the third. */
	ck_assert_uint_eq(range->blocks[0].resident, 7);
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
	/* A range under 2 MB has no huge page on the host. */
	ck_assert_uint_eq(stats()->copies_out, 48);
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, 0, 1u << 3), -EFAULT);
}

START_TEST(the_end_of_a_range_is_its_end)
{
	world_run(16, &world_stock, behind_the_end);
}
END_TEST

/* Exits. */

#define EXITS 150u

/*
 * One process runs over more than fits, the other over all that is left. After @ns one of them
 * exits, be it in the middle of a batch, of its own eviction or of the other's. Its memory is
 * free at once, but for chunks that the PMM keeps.
 */
static void exit_after(u64 ns, struct sim_process *who)
{
	static struct gmmu_touch touch_a, touch_b;
	static struct fifo_burst burst_a, burst_b;
	struct gvm_range *a = world_map(&world_process, 20, true);
	struct gvm_range *b = world_map(&world_other, 20, false);

	if (world_nvuvm()->config.limits) {
		gvm_limit_set_high(world_process.container, 6 * CHUNK);
		gvm_limit_set_high(world_other.container, 12 * CHUNK);
	}
	touch_a = sim_touch_all(a, GVM_ACCESS_WRITE);
	touch_b = sim_touch_all(b, GVM_ACCESS_WRITE);
	burst_a = walk_burst(&touch_a);
	burst_b = walk_burst(&touch_b);
	fifo_submit(&world_process.tsg, &burst_a);
	fifo_submit(&world_other.tsg, &burst_b);
	eng_sleep_until(eng_now() + ns);
	sim_process_exit(who);
	world_check();
	ck_assert_uint_eq(world_gpu.device.container_count, 1);
	sim_process_exit(&world_process);
	sim_process_exit(&world_other);
	world_check();
	ck_assert_uint_eq(world_gpu.device.bound_chunks, 0);
}

static void exits(void)
{
	u64 state = runner_seed();
	u32 i;

	for (i = 0; i < EXITS; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		exit_after((state >> 33) % (60 * MS) + 1,
			   state >> 62 & 1 ? &world_process : &world_other);
	}
}

START_TEST(an_exit_leaves_nothing_behind)
{
	static const struct sim_memory_policy *const policies[] = { &world_stock, &world_limits,
								    &world_gvm };
	size_t i;

	/* One simulation per process. */
	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			world_run(16, policies[i], exits);
			exit(0);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
	}
}
END_TEST

/*
 * 12 chunks: a refill took all of them. 5 are in blocks, 7 on the free list. RM takes the
 * chunks 3 to 9.
 */
static void rm_takes_a_range(void)
{
	struct gvm_range *range = world_map(&world_process, 5, true);
	struct gvm_fence fence = { 0 };
	u32 inside = 0;

	ck_assert_uint_eq(world_fault_blocks(range, 0, 5), 5);
	ck_assert_uint_eq(world_nvuvm()->free.count, 7);
	ck_assert_uint_eq(world_gpu.free_count, 0);
	for (u32 i = 0; i < 5; i++)
		inside += world_chunk(range, i) >= 3 && world_chunk(range, i) < 10;
	ck_assert_uint_gt(inside, 0);
	ck_assert_int_eq(nvuvm_evict_range(world_nvuvm(), 3, 7, &fence), 0);
	world_check();
	ck_assert_uint_eq(world_gpu.free_count, 7);
	ck_assert_uint_eq(world_process.container->events[GVM_EVENT_TAKEN], inside);
	ck_assert_uint_eq(world_gpu.device.bound_chunks, 5 - inside);
	ck_assert_uint_gt(fence.sequence[GVM_ENGINE_OUT], 0);
	for (u32 i = 0; i < 5; i++)
		ck_assert(world_chunk(range, i) == GVM_NO_CHUNK || world_chunk(range, i) < 3 ||
			  world_chunk(range, i) > 9);
	/* The second time there is nothing to take. */
	ck_assert_int_eq(nvuvm_evict_range(world_nvuvm(), 3, 7, &fence), 0);
	ck_assert_uint_eq(world_process.container->events[GVM_EVENT_TAKEN], inside);
	/* A chunk that another thread has picked stays with that thread. */
	ck_assert_uint_eq(world_fault_blocks(range, 0, 5), 5);
	ck_assert(gvm_clock_take(&world_gpu.device, world_chunk(range, 0)));
	ck_assert_int_eq(nvuvm_evict_range(world_nvuvm(), 0, 12, &fence), -EBUSY);
	ck_assert_uint_eq(world_gpu.device.bound_chunks, 1);
	gvm_clock_putback(&world_gpu.device, world_chunk(range, 0));
}

START_TEST(rm_takes_a_range_by_force_and_it_is_counted)
{
	world_run(12, &world_stock, rm_takes_a_range);
}
END_TEST

TEST_MAIN("nvuvm", rm_takes_a_range_by_force_and_it_is_counted,
	  a_sequential_walker_takes_six_rounds_a_block,
	  rounds_grow_by_powers_of_two_and_the_chunk_is_whole,
	  advice_moves_whole_blocks_back_to_back_and_maps_the_cpu_last,
	  advice_for_more_than_memory_moves_it_twice, advice_for_what_is_there_counts_as_a_use,
	  each_page_that_comes_from_the_host_is_looked_at,
	  a_ring_one_block_too_large_misses_everything,
	  a_fetch_waits_for_its_own_chunk_and_no_other,
	  victims_go_by_the_last_migration_and_unused_ones_first,
	  host_memory_in_4_kb_pages_takes_512_copies_a_block,
	  a_batch_larger_than_memory_takes_turns, two_chunks_are_enough_to_get_on,
	  one_chunk_is_enough_to_get_on, anybody_is_a_victim_in_stock,
	  the_cpu_makes_a_page_thrash, the_end_of_a_range_is_its_end,
	  an_exit_leaves_nothing_behind)
