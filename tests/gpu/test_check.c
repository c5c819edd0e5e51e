// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The check of page tables, against drivers with a defect. Each is the true driver with one
 * call of its gvm_mmu_ops left out or changed. The true driver passes the same run.
 */
#include "gpu/check.h"

#include <signal.h>

#include "gpu/memory.h"
#include "gpu/process.h"
#include "gvm/clock.h"
#include "gvm/device.h"
#include "nvuvm/nvuvm.h"
#include "runner.h"

#define CHUNKS 8u
#define CHUNK  GVM_CHUNK_BYTES
#define US     1000ull

static struct cfg_gpu profile = {
	.memory = CHUNKS * CHUNK,
	.link = { .bandwidth = 1000000000, .bandwidth_both = 2000000000, .setup = 1000 },
	.sched = { .timeslice = 1000 * US, .timeslice_scale = CFG_PPM, .rpc = 100 * US },
	.fault = { .buffer_entries = 256,
		   .outstanding = 256,
		   .per_block = 1,
		   .interrupt = 5 * US,
		   .block = 14 * US,
		   .zero_bandwidth = 1000000000000 },
};

static const struct sim_memory_policy core = { 0 };
static const struct sim_memory_policy clean_drop = { .features = GVM_CLEAN_DROP };
static const struct sim_memory_policy parts = { .sub_chunks = true };
static const struct sim_memory_policy model = { .manager = &sim_manager_nvuvm };

static struct sim_gpu gpu;
static struct sim_process process, other;

/* The driver with its defect. Its other calls are those of sim_gpu_mmu_ops. */
static struct gvm_mmu_ops driver;
static u32 changed; /* calls left out or changed */

static void unmap_nothing(void *data, void *space, u64 va, u32 pages)
{
	(void)data;
	(void)space;
	(void)va;
	(void)pages;
	changed++;
}

/* Unmap all pages but the last. */
static void unmap_too_few(void *data, void *space, u64 va, u32 pages)
{
	changed++;
	sim_gpu_mmu_ops.unmap(data, space, va, pages & GVM_BLOCK_FULL >> 1);
}

static void map_wrong_chunk(void *data, void *space, u64 va, u32 chunk, u32 offset, u32 pages,
			    enum gvm_access access)
{
	changed++;
	sim_gpu_mmu_ops.map(data, space, va, (chunk + 1) % CHUNKS, offset, pages, access);
}

static void map_writable(void *data, void *space, u64 va, u32 chunk, u32 offset, u32 pages,
			 enum gvm_access access)
{
	changed += access < GVM_ACCESS_WRITE;
	sim_gpu_mmu_ops.map(data, space, va, chunk, offset, pages, GVM_ACCESS_WRITE);
}

static void map_one_page_less(void *data, void *space, u64 va, u32 chunk, u32 offset, u32 pages,
			      enum gvm_access access)
{
	changed++;
	sim_gpu_mmu_ops.map(data, space, va, chunk, offset, pages & (pages - 1), access);
}

/* Each page of a part is one further than it should be. */
static void map_wrong_offset(void *data, void *space, u64 va, u32 chunk, u32 offset, u32 pages,
			     enum gvm_access access)
{
	changed++;
	sim_gpu_mmu_ops.map(data, space, va, chunk, offset + 1, pages, access);
}

/* The entry of each part has the pages of the first part of its chunk. */
static void map_neighbour(void *data, void *space, u64 va, u32 chunk, u32 offset, u32 pages,
			  enum gvm_access access)
{
	changed += offset > 0;
	sim_gpu_mmu_ops.map(data, space, va, chunk, 0, pages, access);
}

static bool checks_itself;	 /* the GPU checks, not the test */
static enum sim_pte_error found; /* the first error found */
static struct sim_process *found_in;

static void check(void)
{
	struct sim_pte_finding finding;

	if (found || checks_itself)
		return;
	finding = sim_gpu_check_page_tables(&gpu);
	if (!finding.error)
		return;
	found = finding.error;
	found_in = finding.tsg == process.tsg.id ? &process : &other;
}

/*
 * Touch @count blocks from @first on. A kernel of a mutant may never end: give up after 100 ms.
 */
static void touch(struct sim_process *toucher, u32 first, u32 count, enum gvm_access access)
{
	struct gmmu_touch touch = sim_touch_blocks(&toucher->ranges[0], first, count, access);
	struct fifo_burst burst = {
		.kernels = 1,
		.kernel_ns = 1 * US,
		.touches = &touch,
		.touch_count = 1,
	};
	u64 end = eng_now() + 100000 * US;

	fifo_submit(&toucher->tsg, &burst);
	while (!burst.finished && eng_now() < end) {
		eng_sleep_until(eng_now() + 10 * US);
		check();
	}
	if (!burst.finished)
		fifo_kill(&gpu.fifo, toucher->tsg.id);
}

/*
 * One container reads 4 blocks and writes 2 of them. The other one writes 7, and takes three of
 * the first one's four chunks. Then the first one reads again, and takes chunks of the other.
 */
static void body(void *data)
{
	(void)data;
	ck_assert_int_eq(sim_gpu_start(&gpu), 0);
	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	ck_assert_int_eq(sim_process_start(&other, &gpu, 2), 0);
	ck_assert_ptr_nonnull(sim_process_map(&process, 4 * CHUNK, true));
	ck_assert_ptr_nonnull(sim_process_map(&other, 7 * CHUNK, true));
	touch(&process, 0, 4, GVM_ACCESS_READ);
	touch(&process, 0, 2, GVM_ACCESS_WRITE);
	touch(&other, 0, 7, GVM_ACCESS_WRITE);
	touch(&process, 0, 4, GVM_ACCESS_READ);
	sim_process_exit(&process);
	sim_process_exit(&other);
	sim_gpu_stop(&gpu);
}

/*
 * Two processes of one container have a small range each, in parts of one chunk. Then the chunk
 * is evicted, and the second process comes back alone.
 */
static void parts_body(void *data)
{
	struct gvm_eviction eviction = { 0 };
	struct gvm_block *blocks[2];
	u32 chunk;

	(void)data;
	ck_assert_int_eq(sim_gpu_start(&gpu), 0);
	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	ck_assert_int_eq(sim_process_start(&other, &gpu, 1), 0);
	ck_assert_ptr_nonnull(sim_process_map(&process, 8 * GVM_PAGE_BYTES, true));
	ck_assert_ptr_nonnull(sim_process_map(&other, 8 * GVM_PAGE_BYTES, true));
	blocks[0] = &process.ranges[0].blocks[0];
	blocks[1] = &other.ranges[0].blocks[0];
	touch(&process, 0, 1, GVM_ACCESS_WRITE);
	touch(&other, 0, 1, GVM_ACCESS_WRITE);
	chunk = blocks[0]->chunk;
	ck_assert_uint_eq(blocks[1]->chunk, chunk);
	ck_assert_uint_eq(blocks[1]->offset_pages, 8);
	ck_assert(gvm_clock_take(&gpu.device, chunk));
	ck_assert_int_eq(gpu.device.memory_ops->evict(gpu.device.memory, chunk, &eviction), 0);
	check();
	touch(&other, 0, 1, GVM_ACCESS_WRITE);
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
	sim_process_exit(&process);
	sim_process_exit(&other);
	sim_gpu_stop(&gpu);
}

static void run(const struct sim_memory_policy *policy, const struct gvm_mmu_ops *mmu)
{
	driver = *mmu;
	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu0", &profile, policy), 0);
	if (!checks_itself)
		gpu.check_interval = 0;
	if (gpu.manager == &sim_manager_nvuvm)
		((struct nvuvm *)gpu.device.memory)->config.mmu = &driver;
	else
		((struct gvm_memory *)gpu.device.memory)->mmu = &driver;
	eng_spawn("body", policy == &parts ? parts_body : body, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	sim_gpu_destroy(&gpu);
}

/* The driver with its unmap or its map replaced. */
static struct gvm_mmu_ops with_unmap(void (*unmap)(void *, void *, u64, u32))
{
	struct gvm_mmu_ops ops = sim_gpu_mmu_ops;

	ops.unmap = unmap;
	return ops;
}

static struct gvm_mmu_ops with_map(void (*map)(void *, void *, u64, u32, u32, u32,
					       enum gvm_access))
{
	struct gvm_mmu_ops ops = sim_gpu_mmu_ops;

	ops.map = map;
	return ops;
}

/* Run a defective driver: its first error is @error, in an entry of @in. */
static void expect_found(const struct sim_memory_policy *policy, struct gvm_mmu_ops mutant,
			 enum sim_pte_error error, const struct sim_process *in)
{
	run(policy, &mutant);
	ck_assert_uint_gt(changed, 0);
	ck_assert_int_eq(found, error);
	ck_assert_ptr_eq(found_in, in);
}

/* The policies by number, for tests that loop over them. */
static const struct sim_memory_policy *const policies[] = { &core, &clean_drop, &model };

START_TEST(the_true_driver_passes)
{
	run(policies[_i], &sim_gpu_mmu_ops);
	ck_assert_int_eq(found, SIM_PTE_OK);
	ck_assert_uint_gt(process.stats.block.evictions, 2);
}
END_TEST

/* The chunk goes to the other container, and its former owner can still reach it. */
START_TEST(a_forgotten_unmap_at_eviction_is_found)
{
	expect_found(policies[_i], with_unmap(unmap_nothing), SIM_PTE_FOREIGN, &process);
}
END_TEST

START_TEST(an_unmap_of_too_few_pages_is_found)
{
	expect_found(policies[_i], with_unmap(unmap_too_few), SIM_PTE_FOREIGN, &process);
}
END_TEST

START_TEST(a_wrong_chunk_in_a_map_is_found)
{
	struct gvm_mmu_ops mutant = with_map(map_wrong_chunk);

	run(policies[_i], &mutant);
	ck_assert_uint_gt(changed, 0);
	ck_assert_int_ne(found, SIM_PTE_OK);
	ck_assert_ptr_eq(found_in, &process);
}
END_TEST

/* Only a driver that maps clean pages read-only can have this defect. */
START_TEST(an_entry_that_permits_writes_to_a_clean_page_is_found)
{
	expect_found(&clean_drop, with_map(map_writable), SIM_PTE_WRITABLE, &process);
}
END_TEST

START_TEST(a_map_of_too_few_pages_is_found)
{
	expect_found(policies[_i], with_map(map_one_page_less), SIM_PTE_MISSING, &process);
}
END_TEST

START_TEST(parts_of_two_address_spaces_in_one_chunk_pass)
{
	run(&parts, &sim_gpu_mmu_ops);
	ck_assert_int_eq(found, SIM_PTE_OK);
	ck_assert_uint_eq(other.stats.block.evictions, 1);
}
END_TEST

/* The last page is after the part, where no container pays. */
START_TEST(a_wrong_offset_of_a_part_is_found)
{
	expect_found(&parts, with_map(map_wrong_offset), SIM_PTE_FOREIGN, &process);
}
END_TEST

START_TEST(an_entry_with_the_neighbours_part_is_found)
{
	expect_found(&parts, with_map(map_neighbour), SIM_PTE_SHARED, &other);
}
END_TEST

/* A part that was evicted is still reached, and its pages are free. */
START_TEST(a_forgotten_unmap_of_a_part_is_found)
{
	struct gvm_mmu_ops mutant = with_unmap(unmap_nothing);

	run(&parts, &mutant);
	ck_assert_uint_gt(changed, 0);
	ck_assert_int_eq(found, SIM_PTE_FOREIGN);
}
END_TEST

/* GVMSIM_CHECK makes the GPU check itself, as in every test that runs one. */
START_TEST(the_program_stops_when_a_gpu_that_checks_itself_finds_an_error)
{
	struct gvm_mmu_ops mutant = with_unmap(unmap_nothing);

	ck_assert_int_eq(setenv("GVMSIM_CHECK", "1", 1), 0);
	checks_itself = true;
	run(&core, &mutant);
}
END_TEST

START_TEST(a_gpu_checks_itself_only_if_it_is_told_to)
{
	struct gvm_mmu_ops mutant = with_unmap(unmap_nothing);

	ck_assert_int_eq(unsetenv("GVMSIM_CHECK"), 0);
	checks_itself = true;
	run(&core, &mutant);
	ck_assert_uint_gt(changed, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("check");
	TCase *tcase = tcase_create("check");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, the_true_driver_passes, 0, 3);
	tcase_add_loop_test(tcase, a_forgotten_unmap_at_eviction_is_found, 0, 3);
	tcase_add_loop_test(tcase, an_unmap_of_too_few_pages_is_found, 0, 3);
	tcase_add_loop_test(tcase, a_wrong_chunk_in_a_map_is_found, 0, 3);
	tcase_add_test(tcase, an_entry_that_permits_writes_to_a_clean_page_is_found);
	tcase_add_loop_test(tcase, a_map_of_too_few_pages_is_found, 0, 3);
	tcase_add_test(tcase, parts_of_two_address_spaces_in_one_chunk_pass);
	tcase_add_test(tcase, a_wrong_offset_of_a_part_is_found);
	tcase_add_test(tcase, an_entry_with_the_neighbours_part_is_found);
	tcase_add_test(tcase, a_forgotten_unmap_of_a_part_is_found);
	tcase_add_test_raise_signal(
		tcase, the_program_stops_when_a_gpu_that_checks_itself_finds_an_error, SIGABRT);
	tcase_add_test(tcase, a_gpu_checks_itself_only_if_it_is_told_to);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
