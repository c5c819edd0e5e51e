// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Advice of the application: what a fault does then, what an eviction leaves behind, and
 * how long a kernel takes that accesses host memory. The link moves 1 byte/ns each way, so
 * a block takes 2,097,152 ns.
 */
#include "nvuvm_world.h"

#include "gpu/check.h"
#include "runner.h"

static void advise(struct gvm_range *range, enum gvm_advice advice)
{
	ck_assert_int_eq(sim_process_advise(&world_process, range, advice), 0);
}

/*
 * Run @kernels kernels of @kernel_ns on @count blocks. Returns their end, from the submission.
 */
static u64 run(struct gvm_range *range, u32 first, u32 count, u32 kernels, u64 kernel_ns,
	       enum gvm_access access)
{
	struct gmmu_touch touch = sim_touch_blocks(range, first, count, access);
	struct fifo_burst burst = {
		.kernels = kernels,
		.kernel_ns = kernel_ns,
		.touches = &touch,
		.touch_count = 1,
	};
	u64 start = eng_now();

	fifo_submit(&world_process.tsg, &burst);
	ck_assert_int_eq(fifo_wait(&burst), 0);
	world_check();
	ck_assert_int_eq(sim_gpu_check_page_tables(&world_gpu).error, SIM_PTE_OK);
	return burst.finished_ns - start;
}

/* Let the driver's kernel thread do what it has. */
static void settle(void)
{
	eng_sleep_until(eng_now() + 100 * MS);
}

/* Preferred location CPU. */

static void cpu_is_preferred(void)
{
	struct gvm_range *range = world_map(&world_process, 2, true);
	const struct gvm_block *block = &range->blocks[0];

	advise(range, GVM_ADVICE_PREFER_CPU);
	ck_assert_uint_eq(range->remote_pages, 0);
	ck_assert_int_eq(world_fault(range, 0, 3), 0);
	ck_assert_uint_eq(block->remote, 1u << 3);
	ck_assert_uint_eq(block->resident, 0);
	ck_assert_uint_eq(block->chunk, GVM_NO_CHUNK);
	/* The same page once more: it is mapped already. */
	ck_assert_int_eq(world_fault(range, 0, 3), 0);
	ck_assert_uint_eq(world_nvuvm()->stats.mapped_remote, 1);
	run(range, 0, 2, 1, 1 * US, GVM_ACCESS_READ);
	ck_assert_uint_eq(range->remote_pages, 2 * GVM_PAGES_PER_BLOCK);
	ck_assert_uint_eq(world_gpu.device.bound_chunks, 0);
	ck_assert_uint_eq(world_process.stats.bytes_h2d, 0);
}

START_TEST(a_page_stays_where_its_preferred_location_is)
{
	world_run(8, &world_stock, cpu_is_preferred);
}
END_TEST

static void cpu_is_preferred_at_first_touch(void)
{
	struct gvm_range *range = world_map(&world_process, 2, false);

	advise(range, GVM_ADVICE_PREFER_CPU);
	ck_assert_int_eq(world_fault(range, 1, 3), 0);
	ck_assert_uint_eq(range->blocks[0].remote, 0);
	ck_assert_uint_eq(range->blocks[1].remote, GVM_BLOCK_FULL);
	ck_assert_uint_eq(range->blocks[1].on_host, GVM_BLOCK_FULL);
	ck_assert_uint_eq(nvuvm_host_bytes(world_nvuvm(), world_process.container), CHUNK);
}

START_TEST(the_first_touch_populates_a_block_at_its_preferred_location)
{
	world_run(8, &world_stock, cpu_is_preferred_at_first_touch);
}
END_TEST

static void gpu_is_preferred(void)
{
	struct gvm_range *range = world_map(&world_process, 2, false);

	ck_assert_int_eq(world_fault(range, 0, 3), 0);
	advise(range, GVM_ADVICE_PREFER_GPU);
	ck_assert_int_eq(world_fault(range, 1, 3), 0);
	ck_assert_uint_eq(range->blocks[0].resident, 1u << 3);
	ck_assert_uint_eq(range->blocks[1].resident, GVM_BLOCK_FULL);
}

START_TEST(the_first_touch_brings_a_block_to_a_preferred_gpu)
{
	world_run(8, &world_stock, gpu_is_preferred);
}
END_TEST

/* Accessed by the GPU. */

static void accessed_with_contents(void)
{
	struct gvm_range *range = world_map(&world_process, 2, true);

	advise(range, GVM_ADVICE_ACCESSED_BY_GPU);
	ck_assert_uint_eq(range->remote_pages, 2 * GVM_PAGES_PER_BLOCK);
	/*
	 * No fault. The link is the longer of the two for the first kernel, not for the second.
	 */
	ck_assert_uint_eq(run(range, 0, 2, 1, CHUNK / 4, GVM_ACCESS_READ), 2 * CHUNK);
	ck_assert_uint_eq(run(range, 0, 2, 1, 5 * MS, GVM_ACCESS_READ), 5 * MS);
	ck_assert_uint_eq(run(range, 0, 1, 1, CHUNK / 4, GVM_ACCESS_WRITE), CHUNK);
	ck_assert_uint_eq(world_process.stats.faults, 0);
	/* A prefetch of the application brings it to the GPU. */
	ck_assert_int_eq(nvuvm_migrate(world_nvuvm(), range, NVUVM_GPU), 0);
	ck_assert_uint_eq(range->remote_pages, 0);
	ck_assert_uint_eq(range->resident_pages, 2 * GVM_PAGES_PER_BLOCK);
	ck_assert_uint_eq(run(range, 0, 2, 1, 1 * US, GVM_ACCESS_READ), 1 * US);
	/* The CPU takes it back: it is mapped again at once. */
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, 0, GVM_BLOCK_FULL), 0);
	ck_assert_uint_eq(range->blocks[0].remote, GVM_BLOCK_FULL);
	ck_assert_int_eq(nvuvm_migrate(world_nvuvm(), range, NVUVM_CPU), 0);
	ck_assert_uint_eq(range->blocks[1].remote, GVM_BLOCK_FULL);
	ck_assert_uint_eq(run(range, 0, 2, 1, CHUNK / 4, GVM_ACCESS_READ), 2 * CHUNK);
	ck_assert_uint_eq(world_process.stats.faults, 0);
}

START_TEST(memory_that_is_accessed_by_the_gpu_never_faults)
{
	world_run(8, &world_stock, accessed_with_contents);
}
END_TEST

/* Two chunks for three blocks. */
static void evicted_is_mapped(void)
{
	struct gvm_range *range = world_map(&world_process, 3, true);
	u64 faults;

	advise(range, GVM_ADVICE_ACCESSED_BY_GPU_EARLY);
	ck_assert_uint_eq(range->remote_pages, 0);
	for (u32 i = 0; i < 3; i++)
		run(range, i, 1, 1, 1 * US, GVM_ACCESS_WRITE);
	settle();
	ck_assert_uint_eq(world_nvuvm()->stats.evictions, 1);
	ck_assert_uint_eq(range->blocks[0].remote, GVM_BLOCK_FULL);
	ck_assert_uint_eq(range->resident_pages, 2 * GVM_PAGES_PER_BLOCK);
	faults = world_process.stats.faults;
	ck_assert_uint_eq(run(range, 0, 1, 1, CHUNK / 4, GVM_ACCESS_WRITE), CHUNK);
	/* A third of the work beside a block in host memory, two thirds without. */
	ck_assert_uint_eq(run(range, 0, 3, 3, CHUNK / 4, GVM_ACCESS_READ),
			  CHUNK + 2 * CHUNK / 4);
	/* One kernel for all of it: the block hides in its 3 ms. */
	ck_assert_uint_eq(run(range, 0, 3, 1, 3 * MS, GVM_ACCESS_READ), 3 * MS);
	ck_assert_uint_eq(world_process.stats.faults, faults);
	ck_assert_uint_eq(world_nvuvm()->stats.evictions, 1);
}

START_TEST(an_evicted_block_is_mapped_where_it_is)
{
	world_run(2, &world_stock, evicted_is_mapped);
}
END_TEST

/* The access comes before the kernel thread. */
static void fault_before_the_thread(void)
{
	struct gvm_range *range = world_map(&world_process, 2, true);
	u64 start;

	advise(range, GVM_ADVICE_ACCESSED_BY_GPU_EARLY);
	run(range, 0, 1, 1, 1 * US, GVM_ACCESS_WRITE);
	ck_assert_int_eq(nvuvm_evict_range(world_nvuvm(), world_chunk(range, 0), 1,
					   &(struct gvm_fence){ 0 }),
			 0);
	start = eng_now();
	ck_assert_uint_eq(range->blocks[0].remote, 0);
	ck_assert_int_eq(world_fault(range, 0, 5), 0);
	/* All that was evicted, after its copy. */
	ck_assert_uint_eq(range->blocks[0].remote, GVM_BLOCK_FULL);
	ck_assert_uint_ge(eng_now() - start, COPY_NS);
	settle();
	ck_assert_uint_eq(world_nvuvm()->stats.mapped_remote, GVM_PAGES_PER_BLOCK);
}

START_TEST(a_fault_before_the_thread_maps_the_block_behind_its_copy)
{
	world_run(2, &world_stock, fault_before_the_thread);
}
END_TEST

/* A block that comes back, or a range that goes, before the kernel thread has looked. */
static void thread_comes_late(void)
{
	struct gvm_range *range = world_map(&world_process, 2, true);
	struct gvm_range *other = world_map(&world_process, 1, true);

	advise(range, GVM_ADVICE_ACCESSED_BY_GPU_EARLY);
	advise(other, GVM_ADVICE_ACCESSED_BY_GPU_EARLY);
	run(range, 0, 1, 1, 1 * US, GVM_ACCESS_WRITE);
	run(other, 0, 1, 1, 1 * US, GVM_ACCESS_WRITE);
	for (u32 i = 0; i < 2; i++)
		ck_assert_int_eq(nvuvm_evict_range(world_nvuvm(),
						   world_chunk(i ? other : range, 0), 1,
						   &(struct gvm_fence){ 0 }),
				 0);
	ck_assert_int_eq(nvuvm_migrate(world_nvuvm(), range, NVUVM_GPU), 0);
	sim_process_unmap(&world_process, other);
	settle();
	ck_assert_uint_eq(range->remote_pages, 0);
	ck_assert_uint_eq(range->resident_pages, 2 * GVM_PAGES_PER_BLOCK);
	ck_assert_uint_eq(world_process.page_table.remote_pages, 0);
}

START_TEST(the_thread_looks_again_before_it_maps)
{
	world_run(4, &world_stock, thread_comes_late);
}
END_TEST

/* Read mostly: two chunks for three blocks, which are read in turn, and then written. */
static void read_mostly(void)
{
	struct gvm_range *range = world_map(&world_process, 3, true);
	const struct gvm_block *block = &range->blocks[0];

	advise(range, GVM_ADVICE_READ_MOSTLY);
	for (u32 i = 0; i < 6; i++)
		run(range, i % 3, 1, 1, 1 * US, GVM_ACCESS_READ);
	ck_assert_uint_eq(world_nvuvm()->stats.evictions, 4);
	ck_assert_uint_eq(world_process.stats.bytes_h2d, 6 * CHUNK);
	ck_assert_uint_eq(world_process.stats.bytes_d2h, 0);
	ck_assert_uint_eq(range->clean_pages, 2 * GVM_PAGES_PER_BLOCK);
	/* A prefetched page has a copy as well. */
	run(range, 0, 1, 1, 1 * US, GVM_ACCESS_READ);
	ck_assert_uint_eq(block->clean, GVM_BLOCK_FULL);
	/* The first write faults, moves nothing, and takes the page's copy away. */
	ck_assert_int_eq(world_fault(range, 0, 3), 0);
	ck_assert_uint_eq(block->clean, GVM_BLOCK_FULL & ~(1u << 3));
	ck_assert_uint_eq(block->on_host, GVM_BLOCK_FULL & ~(1u << 3));
	ck_assert_uint_eq(world_process.stats.bytes_h2d, 7 * CHUNK);
	/* So this page alone is copied out. */
	ck_assert_int_eq(nvuvm_evict_range(world_nvuvm(), world_chunk(range, 0), 1,
					   &(struct gvm_fence){ 0 }),
			 0);
	settle();
	ck_assert_uint_eq(world_process.stats.bytes_d2h, GVM_PAGE_BYTES);
	/* A touch of the CPU takes the pages from the GPU, and copies none. */
	run(range, 2, 1, 1, 1 * US, GVM_ACCESS_READ);
	ck_assert_int_eq(nvuvm_cpu_touch(world_nvuvm(), range, 2, 1u << 5), 0);
	ck_assert_uint_eq(range->blocks[2].resident, GVM_BLOCK_FULL & ~(1u << 5));
	ck_assert_uint_eq(world_process.stats.bytes_d2h, GVM_PAGE_BYTES);
	/* A write brings in a page that no copy is kept of; what is prefetched with it has one. */
	ck_assert_int_eq(world_fault(range, 2, 5), 0);
	ck_assert_uint_eq(range->blocks[2].clean, GVM_BLOCK_FULL & ~(1u << 5));
}

START_TEST(what_is_read_mostly_leaves_without_a_copy)
{
	world_run(2, &world_stock, read_mostly);
}
END_TEST

/* Memory that the GPU wrote first leaves with a copy once, and then without. */
static void written_first(void)
{
	struct gvm_range *range = world_map(&world_process, 3, false);

	advise(range, GVM_ADVICE_READ_MOSTLY);
	run(range, 0, 3, 1, 1 * US, GVM_ACCESS_WRITE);
	ck_assert_uint_eq(world_process.stats.bytes_d2h, CHUNK);
	for (u32 i = 0; i < 6; i++)
		run(range, i % 3, 1, 1, 1 * US, GVM_ACCESS_READ);
	ck_assert_uint_eq(world_process.stats.bytes_d2h, 3 * CHUNK);
}

START_TEST(what_was_written_first_is_copied_out_once)
{
	world_run(2, &world_stock, written_first);
}
END_TEST

/* It overrides the other advice, as in block_select_processor_residency(). */
static void overrides(void)
{
	struct gvm_range *range = world_map(&world_process, 1, true);

	advise(range, GVM_ADVICE_PREFER_CPU);
	advise(range, GVM_ADVICE_READ_MOSTLY);
	ck_assert_int_eq(world_fault(range, 0, 3), 0);
	ck_assert_uint_eq(range->remote_pages, 0);
	ck_assert_uint_eq(range->blocks[0].resident, 1u << 3);
}

START_TEST(read_mostly_overrides_a_preferred_location)
{
	world_run(2, &world_stock, overrides);
}
END_TEST

/* A page that is read three times crosses the link three times. */
static void read_three_times(void)
{
	struct gvm_range *range = world_map(&world_process, 1, true);
	struct gmmu_touch touch = sim_touch_all(range, GVM_ACCESS_READ);
	struct fifo_burst burst = {
		.kernels = 1, .kernel_ns = 3 * CHUNK / 4, .touches = &touch, .touch_count = 1
	};
	u64 start;

	touch.remote_reads = 3;
	advise(range, GVM_ADVICE_ACCESSED_BY_GPU);
	start = eng_now();
	fifo_submit(&world_process.tsg, &burst);
	ck_assert_int_eq(fifo_wait(&burst), 0);
	ck_assert_uint_eq(burst.finished_ns - start, 3 * CHUNK);
}

START_TEST(no_cache_keeps_remote_pages)
{
	world_run(4, &world_stock, read_three_times);
}
END_TEST

/* Beside a copy of 4 MB. */
static void kernel_beside_a_copy(void)
{
	struct gvm_range *range = world_map(&world_process, 1, true);
	const struct pcie_copy copy = { .bytes = 2 * CHUNK };
	u64 sequence, start;

	advise(range, GVM_ADVICE_ACCESSED_BY_GPU);
	start = eng_now();
	ck_assert_int_eq(pcie_copy(&world_gpu.link, PCIE_H2D, &copy, &sequence), 0);
	/*
	 * The kernel has the link to itself for the 1 us of the copy's set-up, and half of it
	 * then. The copy gets the other half, and all of it once the kernel has ended.
	 */
	ck_assert_uint_eq(run(range, 0, 1, 1, CHUNK / 4, GVM_ACCESS_READ),
			  1 * US + 2 * (CHUNK - 1 * US));
	ck_assert_int_eq(pcie_wait(&world_gpu.link, PCIE_H2D, sequence), 0);
	ck_assert_uint_eq(eng_now() - start, 1 * US + 3 * CHUNK - 1 * US);
}

START_TEST(kernels_and_copies_share_the_link)
{
	world_run(4, &world_stock, kernel_beside_a_copy);
}
END_TEST

/* Copies the other way, on a link that carries both ways together what it carries one way. */
static void kernel_against_a_copy(void)
{
	struct gvm_range *range = world_map(&world_process, 1, true);
	const struct pcie_copy copy = { .bytes = 2 * CHUNK };
	u64 sequence;

	advise(range, GVM_ADVICE_ACCESSED_BY_GPU);
	ck_assert_int_eq(pcie_copy(&world_gpu.link, PCIE_D2H, &copy, &sequence), 0);
	ck_assert_uint_eq(run(range, 0, 1, 1, CHUNK / 4, GVM_ACCESS_READ),
			  1 * US + 2 * (CHUNK - 1 * US));
	ck_assert_int_eq(pcie_wait(&world_gpu.link, PCIE_D2H, sequence), 0);
}

START_TEST(a_half_duplex_link_is_shared_both_ways)
{
	world_profile.link.bandwidth_both = world_profile.link.bandwidth;
	world_run(4, &world_stock, kernel_against_a_copy);
}
END_TEST

TEST_MAIN("nvuvm advice", a_page_stays_where_its_preferred_location_is,
	  the_first_touch_populates_a_block_at_its_preferred_location,
	  the_first_touch_brings_a_block_to_a_preferred_gpu,
	  memory_that_is_accessed_by_the_gpu_never_faults,
	  an_evicted_block_is_mapped_where_it_is,
	  a_fault_before_the_thread_maps_the_block_behind_its_copy,
	  the_thread_looks_again_before_it_maps, what_is_read_mostly_leaves_without_a_copy,
	  what_was_written_first_is_copied_out_once, read_mostly_overrides_a_preferred_location,
	  no_cache_keeps_remote_pages, kernels_and_copies_share_the_link,
	  a_half_duplex_link_is_shared_both_ways)
