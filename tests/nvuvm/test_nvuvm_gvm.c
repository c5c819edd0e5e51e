// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The model of the published GVM driver on the simulated GPU: promotion, limits with their
 * overshoot, lazy freeing, limit writes. Numbers are worked out by hand, see nvuvm_world.h.
 */
#include "gvm/control.h"
#include "nvuvm_world.h"
#include "runner.h"

/*
 * What a container alone exceeds its limit by, once it has been enforced: 63 chunks of a refill.
 * Before, it can be 64: see first_refill().
 */
#define OVERSHOOT 63u

static const struct nvuvm_stats *stats(void)
{
	return nvuvm_stats(world_nvuvm());
}

static u32 charged(const struct sim_process *process)
{
	return (u32)(process->container->charged_bytes >> GVM_CHUNK_SHIFT);
}

static void set_limit(struct sim_process *process, u32 chunks)
{
	gvm_limit_set_high(process->container, chunks * CHUNK);
}

static void fault_blocks(struct gvm_range *range, u32 first, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		ck_assert_int_eq(world_fault(range, first + i, 0), 0);
}

/* Promotion. */

static void evict_and_return(u32 expected)
{
	struct gvm_range *range = world_map(&world_process, 1, false);
	static const u32 pages[] = { 0, 1, 2, 4, 8, 16 };
	size_t i;

	/* Memory that exists nowhere is never promoted. */
	for (i = 0; i < ARRAY_SIZE(pages); i++)
		ck_assert_int_eq(world_fault(range, 0, pages[i]), 0);
	ck_assert_uint_eq(stats()->rounds, 6);
	ck_assert_uint_eq(stats()->promoted, 0);
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
	ck_assert_uint_eq(charged(&world_process), 0);
	ck_assert_int_eq(world_fault(range, 0, 13), 0);
	ck_assert_uint_eq(range->blocks[0].resident, expected);
	ck_assert_uint_eq(stats()->promoted, expected == GVM_BLOCK_FULL);
	ck_assert_uint_eq(stats()->copies_in, 1);
}

static void promoted(void)
{
	evict_and_return(GVM_BLOCK_FULL);
}

static void not_promoted(void)
{
	evict_and_return(1u << 13);
}

/* The CPU's work for a fault on a block that was evicted as a whole, with 5 us for each page. */
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
	ck_assert_uint_eq(stats()->promoted, 1);
}

/* One page comes, and is looked at. */
static void other_pages_cost(void)
{
	ck_assert_uint_eq(return_ns(), BLOCK_NS + 5 * US + 1 * US + PAGE_NS);
	ck_assert_uint_eq(stats()->promoted, 0);
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
	ck_assert_uint_le(stats()->copies_in, 6);
	in = stats()->copies_in;
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
	copies_of_block = stats()->copies_out;
	ck_assert_int_eq(world_fault(range, 0, 0), 0);
	copies_of_page = stats()->copies_in - in;
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
	/* The CPU's first touch of a block gives it 2 MB on the host, of which it fills a part. */
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
	ck_assert_uint_eq(stats()->promoted, 2);
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

	set_limit(&world_process, 8);
	fault_blocks(range, 0, 64);
	ck_assert_uint_eq(charged(&world_process), 64);
	ck_assert_uint_eq(stats()->evictions, 0);
	/* Above the limit each block was begun twice, although there was a free chunk. */
	ck_assert_uint_eq(stats()->restarts, 64 - 9);
	fault_blocks(range, 64, 1);
	ck_assert_uint_eq(charged(&world_process), 8);
	ck_assert_uint_eq(stats()->evictions_own, 57);
	ck_assert_uint_eq(stats()->lazy_given, 57);
	fault_blocks(range, 65, 63);
	ck_assert_uint_eq(charged(&world_process), 8 + OVERSHOOT);
	ck_assert_uint_eq(stats()->refills, 2);
	fault_blocks(range, 128, 1);
	ck_assert_uint_eq(charged(&world_process), 8);
	ck_assert_uint_eq(stats()->evictions_own, 57 + 64);
	ck_assert_uint_eq(gvm_peak_bytes(world_process.container), (8 + OVERSHOOT) * CHUNK);
	/* The first blocks in were the first out. */
	ck_assert_uint_eq(world_chunk(range, 120), GVM_NO_CHUNK);
	ck_assert_uint_ne(world_chunk(range, 121), GVM_NO_CHUNK);
}

START_TEST(the_limit_holds_once_in_64_chunks)
{
	world_run(256, &world_gvm, sawtooth);
}
END_TEST

/* Usage is at the limit when the first refill is used up. So the next one is within it, and refills. */
static void first_refill(void)
{
	struct gvm_range *range = world_map(&world_process, 200, false);

	set_limit(&world_process, 64);
	fault_blocks(range, 0, 128);
	ck_assert_uint_eq(charged(&world_process), 128);
	fault_blocks(range, 128, 1);
	ck_assert_uint_eq(charged(&world_process), 64);
	fault_blocks(range, 129, 63);
	ck_assert_uint_eq(charged(&world_process), 64 + OVERSHOOT);
	fault_blocks(range, 192, 1);
	ck_assert_uint_eq(charged(&world_process), 64);
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

	set_limit(&world_process, 61);
	fault_blocks(other, 0, 1);
	fault_blocks(range, 0, 63);
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), other, 0, GVM_BLOCK_FULL), 0);
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, 40, GVM_BLOCK_FULL), 0);
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, 30, GVM_BLOCK_FULL), 0);
	fault_blocks(range, 63, 1);
	ck_assert_uint_eq(stats()->evictions_own, 3);
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

	set_limit(&world_process, 8);
	ck_assert_uint_eq(world_fault_blocks(range, 0, 80), 64);
	ck_assert_uint_eq(charged(&world_process), 64);
	ck_assert_uint_eq(world_gpu.free_count, 256 - 64);
	ck_assert_uint_eq(world_fault_blocks(range, 64, 16), 16);
	ck_assert_uint_eq(stats()->evictions_own, 57);
	ck_assert_uint_eq(charged(&world_process), 8 + 15);
}

START_TEST(a_fresh_chunk_is_not_lost_for_want_of_a_victim)
{
	world_run(256, &world_gvm, no_victim);
}
END_TEST

/*
 * A limit below one chunk: all own chunks go, and there is no victim that is one more. In the published
 * driver that fault is fatal. Here it comes again, when usage is within the limit.
 */
static void no_limit_at_all(void)
{
	struct gvm_range *range = world_map(&world_process, 65, false);

	set_limit(&world_process, 0);
	fault_blocks(range, 0, 64);
	ck_assert_int_eq(world_fault(range, 64, 0), -EAGAIN);
	ck_assert_uint_eq(charged(&world_process), 0);
	ck_assert_int_eq(world_fault(range, 64, 0), 0);
	ck_assert_uint_eq(charged(&world_process), 1);
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

	set_limit(&world_process, 8);
	fault_blocks(range, 0, 128);
	ck_assert_uint_eq(charged(&world_process), 8 + OVERSHOOT);
	ck_assert_uint_eq(world_nvuvm()->free.count, 0);
	fault_blocks(other, 0, 1);
	ck_assert_uint_eq(world_nvuvm()->free.count, 63);
	fault_blocks(range, 128, 63);
	ck_assert_uint_eq(charged(&world_process), 8 + OVERSHOOT + 63);
}

START_TEST(a_neighbours_refill_adds_to_the_overshoot)
{
	world_run(512, &world_gvm, neighbours_refill);
}
END_TEST

/*
 * 16 chunks: one refill takes all. The neighbour has 8. This container has 8 and a limit of 4.
 * Its next block finds no free chunk and no refill. It evicts 5 of the container's own, waits for
 * the copies of 4, and takes the last chunk.
 */
static void full_gpu(void)
{
	struct gvm_range *range = world_map(&world_process, 32, false);
	struct gvm_range *other = world_map(&world_other, 32, false);
	u32 last;

	set_limit(&world_process, 4);
	fault_blocks(other, 0, 8);
	fault_blocks(range, 0, 8);
	last = world_chunk(range, 4);
	fault_blocks(range, 8, 1);
	ck_assert_uint_eq(world_chunk(range, 8), last);
	ck_assert_uint_eq(charged(&world_process), 4);
	ck_assert_uint_eq(world_process.stats.block.evictions, 5);
	ck_assert_uint_eq(world_other.stats.block.evictions, 0);
	ck_assert_uint_eq(stats()->lazy_given, 0);
	/*
	 * There is room for 4 more blocks. For the next block, the neighbour, which has no limit,
	 * evicts the chunk that was unused for longest: one of its own.
	 */
	fault_blocks(other, 8, 4);
	fault_blocks(other, 12, 1);
	ck_assert_uint_eq(world_other.stats.block.evictions, 1);
	ck_assert_uint_eq(charged(&world_other), 12);
	/*
	 * The next 7 victims are its own chunks, too. The one after that is a chunk of this
	 * container, which is not above its limit.
	 */
	fault_blocks(other, 13, 7);
	ck_assert_uint_eq(world_process.stats.block.evictions, 5);
	fault_blocks(other, 20, 1);
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

	set_limit(&world_process, 8);
	fault_blocks(range, 0, 64);
	ck_assert_uint_eq(world_touch(&world_process, range, 64, 1),
			  INTERRUPT_NS + BATCH_NS + ENTRY_NS + 57 * EVICT_NS + BLOCK_NS +
				  COPY_NS + 1 * US);
	ck_assert_uint_eq(stats()->lazy_given, 57);
	ck_assert_uint_eq(stats()->lazy_returned, 1);
	eng_sleep_until(eng_now() + 55 * COPY_NS);
	ck_assert_uint_eq(stats()->lazy_returned, 56);
	eng_sleep_until(eng_now() + COPY_NS);
	ck_assert_uint_eq(stats()->lazy_returned, 57);
	ck_assert_uint_eq(world_process.stats.bytes_d2h, 57 * CHUNK);
}

START_TEST(a_lazily_freed_victim_is_not_waited_for)
{
	world_run(256, &world_gvm, lazy_fetch);
}
END_TEST

/*
 * The same without the fast path: the driver waits for 56 victims on the spot. The block takes the
 * chunk of the last one, and the fetch begins when that is out.
 */
static void eager_fetch(void)
{
	struct gvm_range *range = world_map(&world_process, 65, true);
	u32 i;

	set_limit(&world_process, 8);
	for (i = 0; i < 64; i++)
		world_touch(&world_process, range, i, 1);
	ck_assert_uint_eq(charged(&world_process), 64);
	ck_assert_uint_eq(world_touch(&world_process, range, 64, 1),
			  INTERRUPT_NS + BATCH_NS + 32 * ENTRY_NS + 57 * (EVICT_NS + COPY_NS) +
				  COPY_NS + 1 * US);
	ck_assert_uint_eq(charged(&world_process), 8);
	ck_assert_uint_eq(stats()->refills, 1);
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
 * at 48 blocks: 41 go, and each search for one passes the neighbour's 16. The neighbour's accesses
 * move nothing in the list. A block that it faults on comes behind all others, and is passed when
 * these are gone. The next search is due when a refill of 64 is used up.
 */
static void walk_over_a_neighbour(void)
{
	struct gvm_range *other = world_map(&world_other, 17, false);
	struct gvm_range *range = world_map(&world_process, 114, true);
	const u64 evict_ns = EVICT_NS + 16 * WALK_NS;

	set_limit(&world_process, 8);
	world_touch(&world_other, other, 0, 16);
	for (u32 i = 0; i < 48; i++)
		world_touch(&world_process, range, i, 1);
	ck_assert_uint_eq(stats()->walked, 0);
	ck_assert_uint_eq(world_touch(&world_process, range, 48, 1),
			  INTERRUPT_NS + BATCH_NS + 32 * ENTRY_NS + 41 * (evict_ns + COPY_NS) +
				  COPY_NS + 1 * US);
	ck_assert_uint_eq(stats()->evictions_own, 41);
	ck_assert_uint_eq(stats()->walked, 41 * 16);
	world_touch(&world_other, other, 0, 16);
	fault_blocks(other, 16, 1);
	fault_blocks(range, 49, 64);
	/* The neighbour has taken one chunk of the refill, so usage is 63 above the limit. */
	ck_assert_uint_eq(stats()->evictions_own, 41 + 64);
	/* The neighbour's last chunk is behind the 8 that this container had then. */
	ck_assert_uint_eq(stats()->walked, (41 + 8) * 16 + 56 * 17);
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

	set_limit(&world_process, 8);
	fault_blocks(other, 0, 16);
	fault_blocks(range, 0, 65);
	ck_assert_uint_gt(stats()->evictions_own, 0);
	ck_assert_uint_eq(stats()->walked, 0);
}

START_TEST(with_fast_path_a_victim_is_found_at_once)
{
	world_run(256, &world_gvm, no_walk);
}
END_TEST

/* Limit writes. */

/*
 * Two ranges of 10 blocks, of which the second one is used first. 8 chunks have to go, and all 10 of
 * the first range do, in one batch.
 */
static void address_order(void)
{
	struct gvm_range *low = world_map(&world_process, 10, true);
	struct gvm_range *high = world_map(&world_process, 10, true);
	u64 start;
	u32 i;

	fault_blocks(high, 0, 10);
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
	ck_assert_uint_eq(stats()->evictions_limit, 10);
	/* The limit itself has not changed, so a fault gets a chunk. */
	ck_assert_int_eq(world_fault(low, 0, 0), 0);
	ck_assert_uint_eq(charged(&world_process), 11);
	/* Usage is below the new limit: nothing to do. */
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 11 * CHUNK),
			 0);
	ck_assert_uint_eq(stats()->evictions_limit, 10);
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

	fault_blocks(ranges[0], 0, 4);
	fault_blocks(ranges[1], 0, 1);
	fault_blocks(ranges[2], 0, 15);
	ck_assert_int_ge(gvm_control_write(container, "gmem.limit.high", "33554432", 8), 0);
	ck_assert_uint_eq(stats()->evictions_limit, 4);
	ck_assert_uint_eq(container->gmem_high_bytes, 16 * CHUNK);
	ck_assert_int_ge(gvm_control_write(container, "memory.limit", "31457280", 8), 0);
	ck_assert_uint_eq(stats()->evictions_limit, 5);
	ck_assert_int_eq(gvm_control_write(container, "gmem.limit.high", "some", 4), -EINVAL);
	ck_assert_int_ge(gvm_control_write(container, "gmem.limit.low", "0", 1), 0);
	ck_assert_uint_eq(stats()->evictions, 5);
	ck_assert_uint_eq(charged(&world_process), 15);
}

START_TEST(the_control_file_evicts_before_it_limits)
{
	world_run(64, &world_gvm, control_file);
}
END_TEST

/*
 * 300 blocks have had a chunk in turn, under a limit of 8. Blocks 249 to 299 have one now. The first
 * 256 blocks count as evicted, so the write ends behind them, with 7 evictions. The limit holds
 * although usage is above it. A second write counts what it evicts.
 */
static void counted_twice(void)
{
	struct gvm_range *range = world_map(&world_process, 300, true);
	struct gvm_container *container = world_process.container;

	set_limit(&world_process, 8);
	fault_blocks(range, 0, 300);
	ck_assert_uint_eq(charged(&world_process), 51);
	ck_assert_int_ge(gvm_control_write(container, "gmem.limit.high", "8388608", 7), 0);
	ck_assert_uint_eq(stats()->evictions_limit, 7);
	ck_assert_uint_eq(charged(&world_process), 44);
	ck_assert_uint_eq(container->gmem_high_bytes, 4 * CHUNK);
	ck_assert_int_ge(gvm_control_write(container, "gmem.limit.high", "8388608", 7), 0);
	ck_assert_uint_eq(charged(&world_process), 0);
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

	fault_blocks(range, 0, 300);
	start = eng_now();
	ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container, 0), 0);
	ck_assert_uint_eq(eng_now() - start,
			  EVICT_NS + 256 * COPY_NS + EVICT_NS + 44 * COPY_NS);
	ck_assert_uint_eq(charged(&world_process), 0);
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
	fault_blocks(faulting[0], 0, 20);
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
		fault_blocks(faulting[0], 2, 18);
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

	fault_blocks(range, 0, 16);
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
	fault_blocks(other, 0, 40);
	set_limit(&world_process, limit);
	for (i = 0; i < 3000; i++) {
		ck_assert_int_eq(world_fault(range, draw(150), draw(32)), 0);
		ck_assert_uint_le(charged(&world_process), limit + OVERSHOOT + 1);
		ck_assert_uint_eq(world_other.stats.block.evictions, 0);
		ck_assert_uint_eq(charged(&world_other), 40);
		if (draw(100))
			continue;
		limit = 1 + draw(129);
		ck_assert_int_eq(nvuvm_limit_write(world_nvuvm(), world_process.container,
						   limit * CHUNK),
				 0);
		ck_assert_uint_le(charged(&world_process), limit);
		set_limit(&world_process, limit);
	}
	ck_assert_uint_gt(stats()->evictions_own, 100);
	ck_assert_uint_eq(stats()->evictions,
			  stats()->evictions_own + stats()->evictions_limit);
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
	  with_fast_path_a_victim_is_found_at_once, a_limit_write_evicts_by_address,
	  the_control_file_evicts_before_it_limits,
	  a_limit_write_counts_what_was_evicted_before, a_limit_write_waits_after_256_blocks,
	  a_limit_write_blocks_the_containers_faults, chunks_in_a_limit_writes_hands_come_back,
	  the_overshoot_is_bounded, the_overshoot_is_bounded_without_fast_path)
