// SPDX-License-Identifier: MIT OR GPL-2.0
/* Memory of the CUDA runtime: copies, frees, prefetches. */
#include "cuda_fixture.h"

/* 32 KB in 1 us, whichever way. */
#define BYTES_PER_US 32768ull
#define SETUP	     (5 * US)

static void slow_link(void)
{
	profile.link.bandwidth = BYTES_PER_US * 1000000;
	profile.link.bandwidth_both = 2 * profile.link.bandwidth;
	profile.link.setup = SETUP;
}

static void copy_some_sizes(void)
{
	const u64 sizes[] = { 1, 4096, 65536, CHUNK, 3 * CHUNK };
	struct cuda_memory memory = resident(4);
	u64 total = 0;

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (int to = CUDA_DEVICE; to <= CUDA_HOST; to++) {
			u64 start = eng_now();
			u64 ns = (sizes[i] * US + BYTES_PER_US - 1) / BYTES_PER_US;

			ck_assert_int_eq(cuda_memcpy(&memory, CHUNK - 1, sizes[i],
						     (enum cuda_location)to),
					 0);
			ck_assert_uint_eq(eng_now() - start, SETUP + ns);
		}
		total += sizes[i];
	}
	ck_assert_uint_eq(cuda.copied_bytes[PCIE_H2D], total);
	ck_assert_uint_eq(cuda.copied_bytes[PCIE_D2H], total);
	ck_assert_int_eq(cuda_memcpy(&memory, 0, 4 * CHUNK + 1, CUDA_HOST), -EINVAL);
	ck_assert_int_eq(cuda_memcpy(&memory, 5 * CHUNK, 0, CUDA_HOST), -EINVAL);
	ck_assert_int_eq(cuda_memcpy(&memory, 4 * CHUNK, 0, CUDA_HOST), 0);
	/* None of it is paging. */
	ck_assert_uint_eq(process.stats.bytes_h2d + process.stats.bytes_d2h, 0);
}

START_TEST(a_copy_takes_its_bytes_over_the_bandwidth_and_the_set_up)
{
	slow_link();
	simulate(copy_some_sizes);
}
END_TEST

/* A kernel faults a chunk in while another chunk is copied to the GPU: one after the other. */
static void copy_beside_paging(void)
{
	struct cuda_memory there = resident(1), away;
	struct cuda_access access;
	struct cuda_stream *stream;
	struct cuda_event copied;
	u64 chunk_ns = SETUP + CHUNK * US / BYTES_PER_US;
	u64 start = eng_now();

	ck_assert_int_eq(cuda_malloc_managed(&cuda, CHUNK, true, &away), 0);
	ck_assert_int_eq(cuda_stream_create(&cuda, &stream), 0);
	ck_assert_int_eq(cuda_memcpy_async(&there, 0, CHUNK, CUDA_DEVICE, stream), 0);
	ck_assert_int_eq(cuda_event_record(&copied, stream), 0);
	ck_assert_int_eq(cuda_stream_create(&cuda, &stream), 0);
	access = cuda_access_all(&away, CUDA_READ);
	ck_assert_int_eq(launch_on(stream, 1, US, &access), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	ck_assert_uint_eq(copied.date_ns - start, chunk_ns);
	ck_assert_uint_eq(eng_now() - start, 2 * chunk_ns + US);
	ck_assert_uint_eq(process.stats.bytes_h2d, CHUNK);
	ck_assert_uint_eq(cuda.copied_bytes[PCIE_H2D], CHUNK);
}

START_TEST(copies_and_paging_share_the_link)
{
	slow_link();
	simulate(copy_beside_paging);
}
END_TEST

/* The second and third chunk of four. */
static void copy_to_new_memory(void)
{
	struct cuda_memory memory;

	ck_assert_int_eq(cuda_malloc_managed(&cuda, 4 * CHUNK, false, &memory), 0);
	ck_assert_int_eq(cuda_memcpy(&memory, 2 * CHUNK - 1, 2, CUDA_DEVICE), 0);
	ck_assert_uint_eq(gvm_charged_bytes(process.container), 2 * CHUNK);
	ck_assert_uint_eq(process.stats.block.pages_cleared, 2 * GVM_PAGES_PER_BLOCK);
}

START_TEST(a_copy_faults_in_the_pages_that_it_accesses)
{
	simulate(copy_to_new_memory);
}
END_TEST

/* A context of 3 MB takes 2 chunks; page tables of 64 chunks fit in the second one. */
static void free_and_allocate(void)
{
	u64 charged = gvm_charged_bytes(process.container);
	u64 tables = process.context.bytes;
	u32 free_chunks = gpu.free_count;

	ck_assert_uint_eq(charged, policy.manager == &sim_manager_nvuvm ? 0 : 2 * CHUNK);
	ck_assert_uint_eq(free_chunks, CHUNKS - 2);
	/* More often than a process has ranges. */
	for (u32 i = 0; i < 40; i++) {
		struct cuda_memory memory = resident(4), other = resident(1);

		ck_assert_uint_eq(gvm_charged_bytes(process.container), charged + 5 * CHUNK);
		ck_assert_uint_eq(process.context.bytes,
				  tables + gvm_page_table_range_bytes(4 * CHUNK) +
					  gvm_page_table_range_bytes(CHUNK));
		ck_assert_int_eq(launch_on(NULL, 1, 10 * US, NULL), 0);
		ck_assert_int_eq(cuda_free(&memory), 0);
		ck_assert(!cuda.unfinished);
		ck_assert_uint_eq(memory.chunks, 0);
		ck_assert_uint_eq(gvm_charged_bytes(process.container), charged + CHUNK);
		ck_assert_int_eq(cuda_free(&memory), 0);
		ck_assert_int_eq(cuda_free(&other), 0);
		ck_assert_uint_eq(gvm_charged_bytes(process.container), charged);
		ck_assert_uint_eq(process.context.bytes, tables);
		ck_assert_uint_eq(process.range_count, 0);
	}
	if (policy.manager != &sim_manager_nvuvm)
		ck_assert_uint_eq(gpu.free_count, free_chunks);
}

/* 20 chunks on a GPU of 16: some are on the host, and their swap is credited, too. */
static void free_what_was_evicted(void)
{
	struct cuda_memory memory = resident(14), other = resident(6);

	ck_assert_uint_gt(process.container->swapped_bytes, 0);
	ck_assert_int_eq(cuda_free(&memory), 0);
	ck_assert_int_eq(cuda_free(&other), 0);
	ck_assert_uint_eq(process.container->swapped_bytes, 0);
	ck_assert_uint_eq(gvm_charged_bytes(process.container), 0);
	other = resident(16);
	ck_assert_uint_eq(gvm_charged_bytes(process.container), 16 * CHUNK);
}

START_TEST(a_free_gives_chunks_tables_and_charge_back)
{
	profile.context = 3 * CHUNK / 2;
	simulate(free_and_allocate);
}
END_TEST

START_TEST(a_free_gives_chunks_tables_and_charge_back_on_nvidias_driver)
{
	profile.context = 3 * CHUNK / 2;
	policy.manager = &sim_manager_nvuvm;
	simulate(free_and_allocate);
}
END_TEST

START_TEST(a_free_credits_what_was_evicted)
{
	simulate(free_what_was_evicted);
}
END_TEST

START_TEST(a_free_credits_what_was_evicted_on_nvidias_driver)
{
	policy.manager = &sim_manager_nvuvm;
	simulate(free_what_was_evicted);
}
END_TEST

START_TEST(a_free_credits_what_was_evicted_ahead_of_need)
{
	policy.evictors = true;
	simulate(free_what_was_evicted);
}
END_TEST

static void free_with_work_queued(void)
{
	struct cuda_memory memory = resident(2), none = { 0 };
	struct cuda_access access = cuda_access_all(&memory, CUDA_READ);
	u64 start = eng_now();

	ck_assert_int_eq(cuda_free(&none), 0);
	ck_assert_int_eq(launch_on(NULL, 1, 100 * US, &access), 0);
	ck_assert_int_eq(cuda_free(&memory), 0);
	ck_assert_uint_eq(eng_now() - start, 100 * US);
	memory = resident(2);
	interrupt_at(eng_now() + 10 * US);
	ck_assert_int_eq(launch_on(NULL, 1, 100 * US, NULL), 0);
	ck_assert_int_eq(cuda_free(&memory), -EINTR);
	ck_assert_uint_eq(memory.chunks, 2);
	ck_assert_uint_eq(gvm_charged_bytes(process.container), 2 * CHUNK);
}

START_TEST(a_free_waits_for_the_work_of_its_context)
{
	simulate(free_with_work_queued);
}
END_TEST

static void allocate_too_often(void)
{
	struct cuda_memory memory, last;

	ck_assert_int_eq(cuda_malloc_managed(&cuda, 1, false, &memory), 0);
	for (u32 i = 1; i < SIM_PROCESS_RANGES_MAX; i++)
		ck_assert_int_eq(cuda_malloc_managed(&cuda, 1, false, &last), 0);
	ck_assert_int_eq(cuda_malloc_managed(&cuda, 1, false, &last), -ENOMEM);
	ck_assert_int_eq(cuda_free(&memory), 0);
	ck_assert_int_eq(cuda_malloc_managed(&cuda, 1, false, &last), 0);
}

START_TEST(too_many_allocations_are_an_error)
{
	simulate(allocate_too_often);
}
END_TEST

static void prefetch_behind_kernels(void)
{
	struct cuda_memory memory = resident(2);
	struct cuda_access access = cuda_access_all(&memory, CUDA_READ);

	ck_assert_int_eq(launch_on(NULL, 1, 100 * US, &access), 0);
	ck_assert_int_eq(cuda_prefetch(&memory, CUDA_HOST), 0);
	ck_assert(!cuda.unfinished);
	ck_assert_uint_eq(memory.range->resident_pages, 0);
	ck_assert_uint_eq(process.stats.bytes_d2h, 2 * CHUNK);
	ck_assert_int_eq(cuda_prefetch(&memory, CUDA_DEVICE), 0);
	ck_assert_uint_eq(memory.range->resident_pages, 2 * GVM_PAGES_PER_BLOCK);
	kill_at(eng_now() + 10 * US);
	ck_assert_int_eq(launch_on(NULL, 1, 100 * US, NULL), 0);
	ck_assert_int_eq(cuda_prefetch(&memory, CUDA_HOST), -EIO);
}

START_TEST(a_prefetch_waits_for_the_work_of_its_context)
{
	policy.manager = &sim_manager_nvuvm;
	simulate(prefetch_behind_kernels);
}
END_TEST

TEST_MAIN("cuda_memory", a_copy_takes_its_bytes_over_the_bandwidth_and_the_set_up,
	  copies_and_paging_share_the_link, a_copy_faults_in_the_pages_that_it_accesses,
	  a_free_gives_chunks_tables_and_charge_back,
	  a_free_gives_chunks_tables_and_charge_back_on_nvidias_driver,
	  a_free_credits_what_was_evicted, a_free_credits_what_was_evicted_on_nvidias_driver,
	  a_free_credits_what_was_evicted_ahead_of_need,
	  a_free_waits_for_the_work_of_its_context, too_many_allocations_are_an_error,
	  a_prefetch_waits_for_the_work_of_its_context)
