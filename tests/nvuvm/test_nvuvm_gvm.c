// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The model of the published GVM driver on the simulated GPU: promotion, limits with their
 * overshoot, lazy freeing, limit writes. Numbers are worked out by hand, see nvuvm_world.h.
 */
#include "gvm/control.h"
#include "nvuvm_world.h"
#include "runner.h"

/* Promotion. */

static void evict_and_return(u32 expected)
{
	struct gvm_range *range = world_map(&world_process, 1, false);
	static const u32 pages[] = { 0, 1, 2, 4, 8, 16 };
	size_t i;

	/* Memory that exists nowhere is never promoted. */
	for (i = 0; i < ARRAY_SIZE(pages); i++)
		ck_assert_int_eq(world_fault(range, 0, pages[i]), 0);
	ck_assert_uint_eq(world_stats()->rounds, 6);
	ck_assert_uint_eq(world_stats()->promoted, 0);
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
	ck_assert_uint_eq(world_charged(&world_process), 0);
	ck_assert_int_eq(world_fault(range, 0, 13), 0);
	ck_assert_uint_eq(range->blocks[0].resident, expected);
	ck_assert_uint_eq(world_stats()->promoted, expected == GVM_BLOCK_FULL);
	ck_assert_uint_eq(world_stats()->copies_in, 1);
}

static void promoted(void)
{
	evict_and_return(GVM_BLOCK_FULL);
}

static void not_promoted(void)
{
	evict_and_return(1u << 13);
}

/*
 * The CPU's work for a fault on a block that was evicted as a whole, with 5 us for each page.
 */
static u64 return_ns(void)
{
	struct gvm_range *range = world_map(&world_process, 1, true);
	u64 start;

	ck_assert_int_eq(nvuvm_migrate(world_nvuvm(), range, NVUVM_GPU), 0);
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
	start = eng_now();
	ck_assert_int_eq(world_fault(range, 0, 13), 0);
	return eng_now() - start;
}

/* One copy of 2 MB: no page is looked at. */
static void promoted_pages_cost_nothing(void)
{
	ck_assert_uint_eq(return_ns(), BLOCK_NS + COPY_NS);
	ck_assert_uint_eq(world_stats()->promoted, 1);
}

/* One page comes, and is looked at. */
static void other_pages_cost(void)
{
	ck_assert_uint_eq(return_ns(), BLOCK_NS + 5 * US + 1 * US + PAGE_NS);
	ck_assert_uint_eq(world_stats()->promoted, 0);
}

START_TEST(pages_of_a_promoted_block_cost_nothing)
{
	world_profile.fault.page = 5 * US;
	world_run(16, &world_gvm, promoted_pages_cost_nothing);
}
END_TEST

START_TEST(pages_that_are_not_promoted_cost_each)
{
	world_profile.fault.page = 5 * US;
	world_run(16, &world_limits, other_pages_cost);
}
END_TEST

START_TEST(an_evicted_block_returns_whole_with_fast_path)
{
	world_run(16, &world_gvm, promoted);
}
END_TEST

START_TEST(an_evicted_block_returns_by_pages_without)
{
	world_run(16, &world_limits, not_promoted);
}
END_TEST

/* The CE copies of a whole block on its way out, and of page 0 on its way back. */
static u64 copies_of_block, copies_of_page;

static void out_and_back(void)
{
	struct gvm_range *range = world_map(&world_process, 1, true);
	static const u32 pages[] = { 0, 1, 2, 4, 8, 16 };
	size_t i;
	u64 in;

	/*
	 * Memory that the application staged is one piece, even if the host's memory is
	 * fragmented.
	 */
	for (i = 0; i < ARRAY_SIZE(pages) && range->blocks[0].resident != GVM_BLOCK_FULL; i++)
		ck_assert_int_eq(world_fault(range, 0, pages[i]), 0);
	ck_assert_uint_eq(range->blocks[0].resident, GVM_BLOCK_FULL);
	ck_assert_uint_le(world_stats()->copies_in, 6);
	in = world_stats()->copies_in;
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
	copies_of_block = world_stats()->copies_out;
	ck_assert_int_eq(world_fault(range, 0, 0), 0);
	copies_of_page = world_stats()->copies_in - in;
}

START_TEST(a_fragmented_host_takes_4_kb_pages)
{
	static const struct sim_memory_policy policy = { .manager = &sim_manager_nvuvm,
							 .limits = true,
							 .host_fragmented = true };

	world_run(16, &policy, out_and_back);
	ck_assert_uint_eq(copies_of_block, 512);
	ck_assert_uint_eq(copies_of_page, 16);
}
END_TEST

START_TEST(fast_path_insists_on_2_mb_of_host_memory)
{
	static const struct sim_memory_policy policy = { .manager = &sim_manager_nvuvm,
							 .limits = true,
							 .fast_path = true,
							 .host_fragmented = true };

	world_run(16, &policy, out_and_back);
	ck_assert_uint_eq(copies_of_block, 1);
	ck_assert_uint_eq(copies_of_page, 1);
}
END_TEST

static void conditions(void)
{
	struct gvm_range *staged = world_map(&world_process, 1, true);
	struct gvm_range *fresh = world_map(&world_process, 2, false);
	struct gvm_range *end = sim_process_map(&world_process, CHUNK / 2, true);

	/* A block staged in huge pages is promoted. */
	ck_assert_int_eq(world_fault(staged, 0, 31), 0);
	ck_assert_uint_eq(staged->blocks[0].resident, GVM_BLOCK_FULL);
	/* A block on the host is not promoted if only a part of it was on the device. */
	ck_assert_int_eq(world_fault(fresh, 0, 0), 0);
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
	ck_assert_int_eq(world_fault(fresh, 0, 0), 0);
	ck_assert_uint_eq(fresh->blocks[0].resident, 1);
	/*
	 * The CPU's first touch of a block gives it 2 MB on the host, of which it fills a part.
	 */
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), fresh, 1, 1), 0);
	ck_assert_int_eq(world_fault(fresh, 1, 0), 0);
	ck_assert_uint_eq(fresh->blocks[1].resident, 1);
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), fresh, 1, GVM_BLOCK_FULL), 0);
	ck_assert_int_eq(world_fault(fresh, 1, 0), 0);
	ck_assert_uint_eq(fresh->blocks[1].resident, GVM_BLOCK_FULL);
	/* Less than a block is not promoted. */
	ck_assert_int_eq(world_fault(end, 0, 0), 0);
	ck_assert_uint_eq(end->blocks[0].resident, 1);
	/* Once a page of the block is resident, it pages as in stock. */
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), staged, 0, 0xffff), 0);
	ck_assert_uint_eq(world_stats()->promoted, 2);
}

START_TEST(promotion_has_its_conditions)
{
	world_run(16, &world_gvm, conditions);
}
END_TEST

/* Limits. */

/*
 * The limit is 8 chunks. The first refill brings 64, and while they last the limit has no
 * effect: 64 blocks have a chunk. The next block has to refill. It evicts 56 to be at 8 and one
 * more, and is the 8th. The other 63 chunks of its refill bring usage to 71, and so on.
 */
static void sawtooth(void)
{
	struct gvm_range *range = world_map(&world_process, 200, false);

	world_set_limit(&world_process, 8);
	world_fault_each(range, 0, 64);
	ck_assert_uint_eq(world_charged(&world_process), 64);
	ck_assert_uint_eq(world_stats()->evictions, 0);
	/* Above the limit each block was begun twice, although there was a free chunk. */
	ck_assert_uint_eq(world_stats()->restarts, 64 - 9);
	world_fault_each(range, 64, 1);
	ck_assert_uint_eq(world_charged(&world_process), 8);
	ck_assert_uint_eq(world_stats()->evictions_own, 57);
	ck_assert_uint_eq(world_stats()->lazy_given, 57);
	world_fault_each(range, 65, 63);
	ck_assert_uint_eq(world_charged(&world_process), 8 + WORLD_OVERSHOOT);
	ck_assert_uint_eq(world_stats()->refills, 2);
	world_fault_each(range, 128, 1);
	ck_assert_uint_eq(world_charged(&world_process), 8);
	ck_assert_uint_eq(world_stats()->evictions_own, 57 + 64);
	ck_assert_uint_eq(gvm_peak_bytes(world_process.container),
			  (8 + WORLD_OVERSHOOT) * CHUNK);
	/* The first blocks in were the first out. */
	ck_assert_uint_eq(world_chunk(range, 120), GVM_NO_CHUNK);
	ck_assert_uint_ne(world_chunk(range, 121), GVM_NO_CHUNK);
}

START_TEST(the_limit_holds_once_in_64_chunks)
{
	world_run(256, &world_gvm, sawtooth);
}
END_TEST

/*
 * Usage is at the limit when the first refill is used up. So the next one
 * is within it, and refills.
 */
static void first_refill(void)
{
	struct gvm_range *range = world_map(&world_process, 200, false);

	world_set_limit(&world_process, 64);
	world_fault_each(range, 0, 128);
	ck_assert_uint_eq(world_charged(&world_process), 128);
	world_fault_each(range, 128, 1);
	ck_assert_uint_eq(world_charged(&world_process), 64);
	world_fault_each(range, 129, 63);
	ck_assert_uint_eq(world_charged(&world_process), 64 + WORLD_OVERSHOOT);
	world_fault_each(range, 192, 1);
	ck_assert_uint_eq(world_charged(&world_process), 64);
}

START_TEST(a_first_refill_at_the_limit_adds_64_chunks)
{
	world_run(256, &world_gvm, first_refill);
}
END_TEST

/*
 * Victims are the container's chunks that the CPU has emptied, in the order in which it did so,
 * and then those that were used last.
 */
static void unused_own(void)
{
	struct gvm_range *other = world_map(&world_other, 1, true);
	struct gvm_range *range = world_map(&world_process, 64, true);

	world_set_limit(&world_process, 61);
	world_fault_each(other, 0, 1);
	world_fault_each(range, 0, 63);
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), other, 0, GVM_BLOCK_FULL), 0);
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, 40, GVM_BLOCK_FULL), 0);
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, 30, GVM_BLOCK_FULL), 0);
	world_fault_each(range, 63, 1);
	ck_assert_uint_eq(world_stats()->evictions_own, 3);
	for (u32 i = 0; i < 64; i++)
		ck_assert_int_eq(world_chunk(range, i) == GVM_NO_CHUNK,
				 i == 0 || i == 30 || i == 40);
	ck_assert_uint_ne(world_chunk(other, 0), GVM_NO_CHUNK);
}

START_TEST(own_unused_chunks_go_first)
{
	world_run(256, &world_gvm, unused_own);
}
END_TEST

/*
 * 80 blocks in one batch: 64 succeed. The next block finds only victims of its own batch, so it
 * has to wait, and so do the rest. Its refill goes back; the published driver loses a chunk of
 * it. In the next batch the 64 blocks can be evicted, down to 8.
 */
static void no_victim(void)
{
	struct gvm_range *range = world_map(&world_process, 80, false);

	world_set_limit(&world_process, 8);
	ck_assert_uint_eq(world_fault_blocks(range, 0, 80), 64);
	ck_assert_uint_eq(world_charged(&world_process), 64);
	ck_assert_uint_eq(world_gpu.free_count, 256 - 64);
	ck_assert_uint_eq(world_fault_blocks(range, 64, 16), 16);
	ck_assert_uint_eq(world_stats()->evictions_own, 57);
	ck_assert_uint_eq(world_charged(&world_process), 8 + 15);
}

START_TEST(a_fresh_chunk_is_not_lost_for_want_of_a_victim)
{
	world_run(256, &world_gvm, no_victim);
}
END_TEST

/*
 * A limit below one chunk: all own chunks go, and there is no victim that is one more. In the
 * published driver that fault is fatal. Here it comes again, when usage is within the limit.
 */
static void no_limit_at_all(void)
{
	struct gvm_range *range = world_map(&world_process, 65, false);

	world_set_limit(&world_process, 0);
	world_fault_each(range, 0, 64);
	ck_assert_int_eq(world_fault(range, 64, 0), -EAGAIN);
	ck_assert_uint_eq(world_charged(&world_process), 0);
	ck_assert_int_eq(world_fault(range, 64, 0), 0);
	ck_assert_uint_eq(world_charged(&world_process), 1);
}

START_TEST(a_limit_of_nothing_defers_a_fault)
{
	world_run(256, &world_gvm, no_limit_at_all);
}
END_TEST

/* The free list is the GPU's. This container can use up a neighbour's refill, too. */
static void neighbours_refill(void)
{
	struct gvm_range *range = world_map(&world_process, 200, false);
	struct gvm_range *other = world_map(&world_other, 1, false);

	world_set_limit(&world_process, 8);
	world_fault_each(range, 0, 128);
	ck_assert_uint_eq(world_charged(&world_process), 8 + WORLD_OVERSHOOT);
	ck_assert_uint_eq(world_nvuvm()->free.count, 0);
	world_fault_each(other, 0, 1);
	ck_assert_uint_eq(world_nvuvm()->free.count, 63);
	world_fault_each(range, 128, 63);
	ck_assert_uint_eq(world_charged(&world_process), 8 + WORLD_OVERSHOOT + 63);
}

START_TEST(a_neighbours_refill_adds_to_the_overshoot)
{
	world_run(512, &world_gvm, neighbours_refill);
}
END_TEST

/*
 * 16 chunks: one refill takes all. The neighbour has 8. This container has 8 and a limit of 4.
 * Its next block finds no free chunk and no refill. It evicts 5 of the container's own, waits
 * for the copies of 4, and takes the last chunk.
 */
static void full_gpu(void)
{
	struct gvm_range *range = world_map(&world_process, 32, false);
	struct gvm_range *other = world_map(&world_other, 32, false);
	u32 last;

	world_set_limit(&world_process, 4);
	world_fault_each(other, 0, 8);
	world_fault_each(range, 0, 8);
	last = world_chunk(range, 4);
	world_fault_each(range, 8, 1);
	ck_assert_uint_eq(world_chunk(range, 8), last);
	ck_assert_uint_eq(world_charged(&world_process), 4);
	ck_assert_uint_eq(world_process.stats.block.evictions, 5);
	ck_assert_uint_eq(world_other.stats.block.evictions, 0);
	ck_assert_uint_eq(world_stats()->lazy_given, 0);
	/*
	 * There is room for 4 more blocks. For the next block, the neighbour, which has no
	 * limit, evicts the chunk that was unused for longest: one of its own.
	 */
	world_fault_each(other, 8, 4);
	world_fault_each(other, 12, 1);
	ck_assert_uint_eq(world_other.stats.block.evictions, 1);
	ck_assert_uint_eq(world_charged(&world_other), 12);
	/*
	 * The next 7 victims are its own chunks, too. The one after that is a chunk of this
	 * container, which is not above its limit.
	 */
	world_fault_each(other, 13, 7);
	ck_assert_uint_eq(world_process.stats.block.evictions, 5);
	world_fault_each(other, 20, 1);
	ck_assert_uint_eq(world_process.stats.block.evictions, 6);
}

START_TEST(own_victims_at_the_limit_and_anybodys_on_a_full_gpu)
{
	world_run(16, &world_gvm, full_gpu);
}
END_TEST

/*
 * 64 staged blocks are in, and the free list is empty. The next block takes a fresh chunk. It
 * costs the CPU time of 57 evictions and waits for none of their copies.
 */
static void lazy_fetch(void)
{
	struct gvm_range *range = world_map(&world_process, 65, true);

	world_set_limit(&world_process, 8);
	world_fault_each(range, 0, 64);
	ck_assert_uint_eq(world_touch(&world_process, range, 64, 1),
			  INTERRUPT_NS + BATCH_NS + ENTRY_NS + 57 * EVICT_NS + BLOCK_NS +
				  COPY_NS + 1 * US);
	ck_assert_uint_eq(world_stats()->lazy_given, 57);
	ck_assert_uint_eq(world_stats()->lazy_returned, 1);
	eng_sleep_until(eng_now() + 55 * COPY_NS);
	ck_assert_uint_eq(world_stats()->lazy_returned, 56);
	eng_sleep_until(eng_now() + COPY_NS);
	ck_assert_uint_eq(world_stats()->lazy_returned, 57);
	ck_assert_uint_eq(world_process.stats.bytes_d2h, 57 * CHUNK);
}

START_TEST(a_lazily_freed_victim_is_not_waited_for)
{
	world_run(256, &world_gvm, lazy_fetch);
}
END_TEST

/*
 * The same without the fast path: the driver waits for 56 victims on the spot. The block takes
 * the chunk of the last one, and the fetch begins when that is out.
 */
static void eager_fetch(void)
{
	struct gvm_range *range = world_map(&world_process, 65, true);
	u32 i;

	world_set_limit(&world_process, 8);
	for (i = 0; i < 64; i++)
		world_touch(&world_process, range, i, 1);
	ck_assert_uint_eq(world_charged(&world_process), 64);
	ck_assert_uint_eq(world_touch(&world_process, range, 64, 1),
			  INTERRUPT_NS + BATCH_NS + 32 * ENTRY_NS + 57 * (EVICT_NS + COPY_NS) +
				  COPY_NS + 1 * US);
	ck_assert_uint_eq(world_charged(&world_process), 8);
	ck_assert_uint_eq(world_stats()->refills, 1);
	/* The stall was for these copies. Service and replay hide behind the last one. */
	ck_assert_uint_eq(fifo_stall_out_ns(&world_process.tsg.stall),
			  57 * COPY_NS - BLOCK_NS - REPLAY_NS);
}

START_TEST(without_fast_path_every_victim_is_waited_for)
{
	world_profile.fault.per_block = 32;
	world_run(256, &world_limits, eager_fetch);
}
END_TEST

/*
 * 16 chunks of a neighbour were used first. The limit is looked at when the free list is empty,
 * at 48 blocks: 41 go, and each search for one passes the neighbour's 16. The neighbour's
 * accesses move nothing in the list. A block that it faults on comes after all others, and is
 * passed when these are gone. The next search is due when a refill of 64 is used up.
 */
static void walk_over_a_neighbour(void)
{
	struct gvm_range *other = world_map(&world_other, 17, false);
	struct gvm_range *range = world_map(&world_process, 114, true);
	const u64 evict_ns = EVICT_NS + 16 * WALK_NS;

	world_set_limit(&world_process, 8);
	world_touch(&world_other, other, 0, 16);
	for (u32 i = 0; i < 48; i++)
		world_touch(&world_process, range, i, 1);
	ck_assert_uint_eq(world_stats()->walked, 0);
	ck_assert_uint_eq(world_touch(&world_process, range, 48, 1),
			  INTERRUPT_NS + BATCH_NS + 32 * ENTRY_NS + 41 * (evict_ns + COPY_NS) +
				  COPY_NS + 1 * US);
	ck_assert_uint_eq(world_stats()->evictions_own, 41);
	ck_assert_uint_eq(world_stats()->walked, 41 * 16);
	world_touch(&world_other, other, 0, 16);
	world_fault_each(other, 16, 1);
	world_fault_each(range, 49, 64);
	/* The neighbour has taken one chunk of the refill, so usage is 63 above the limit. */
	ck_assert_uint_eq(world_stats()->evictions_own, 41 + 64);
	/* The neighbour's last chunk is after the 8 that this container had then. */
	ck_assert_uint_eq(world_stats()->walked, (41 + 8) * 16 + 56 * 17);
}

START_TEST(without_fast_path_a_victim_is_found_behind_the_neighbours)
{
	world_profile.fault.per_block = 32;
	world_run(256, &world_limits, walk_over_a_neighbour);
}
END_TEST

/* With the fast path each process has a list of its own. */
static void no_walk(void)
{
	struct gvm_range *other = world_map(&world_other, 16, false);
	struct gvm_range *range = world_map(&world_process, 65, true);

	world_set_limit(&world_process, 8);
	world_fault_each(other, 0, 16);
	world_fault_each(range, 0, 65);
	ck_assert_uint_gt(world_stats()->evictions_own, 0);
	ck_assert_uint_eq(world_stats()->walked, 0);
}

START_TEST(with_fast_path_a_victim_is_found_at_once)
{
	world_run(256, &world_gvm, no_walk);
}
END_TEST

TEST_MAIN("nvuvm gvm", an_evicted_block_returns_whole_with_fast_path,
	  pages_of_a_promoted_block_cost_nothing, pages_that_are_not_promoted_cost_each,
	  an_evicted_block_returns_by_pages_without, a_fragmented_host_takes_4_kb_pages,
	  fast_path_insists_on_2_mb_of_host_memory, promotion_has_its_conditions,
	  the_limit_holds_once_in_64_chunks, a_first_refill_at_the_limit_adds_64_chunks,
	  own_unused_chunks_go_first, a_limit_of_nothing_defers_a_fault,
	  a_fresh_chunk_is_not_lost_for_want_of_a_victim,
	  a_neighbours_refill_adds_to_the_overshoot,
	  own_victims_at_the_limit_and_anybodys_on_a_full_gpu,
	  a_lazily_freed_victim_is_not_waited_for, without_fast_path_every_victim_is_waited_for,
	  without_fast_path_a_victim_is_found_behind_the_neighbours,
	  with_fast_path_a_victim_is_found_at_once);
