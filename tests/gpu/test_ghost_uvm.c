// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Ghost's policy at the hooks of NVIDIA's driver: limits are exact, and protection holds, also
 * when RM takes memory.
 */
#include "gpu_fixture.h"
#include "gvm/control.h"

#define CHUNK  GVM_CHUNK_BYTES
#define CHUNKS 64u

static struct cfg_gpu profile = GPU_WITHOUT_COSTS(CHUNKS);

static struct sim_process one, two, three;

static void simulate(void (*body)(void), bool evictors)
{
	const struct sim_memory_policy policy = { .manager = &sim_manager_ghost_uvm,
						  .evictors = evictors };

	run_gpu(&profile, &policy, body);
}

static struct gvm_range *start(struct sim_process *process, u32 tgid, u32 blocks)
{
	ck_assert_int_eq(sim_process_start(process, &gpu, tgid), 0);
	return sim_process_map(process, blocks * CHUNK, true);
}

static void write_file(const struct sim_process *process, const char *file, u64 chunks)
{
	char text[32];

	scnprintf(text, sizeof(text), "%llu", chunks * CHUNK);
	ck_assert_int_eq(gvm_control_write(process->container, file, text, strlen(text)), 0);
}

/* Kernels walk through a range, one block each. Returns 0 or -EIO. */
static int walk(struct sim_process *process, const struct gvm_range *range)
{
	struct gmmu_touch touch = sim_touch_all(range, GVM_ACCESS_WRITE);
	struct fifo_burst burst = { .kernels = range->block_count,
				    .kernel_ns = 1000,
				    .touches = &touch,
				    .touch_count = 1 };

	fifo_submit(&process->tsg, &burst);
	return fifo_wait(&burst);
}

static void walk_within_a_limit(void)
{
	struct gvm_range *range = start(&one, 1, 20);

	write_file(&one, "gmem.limit.high", 8);
	for (u32 round = 0; round < 3; round++)
		ck_assert_int_eq(walk(&one, range), 0);
	ck_assert_uint_eq(gvm_peak_bytes(one.container), 8 * CHUNK);
	ck_assert_uint_ge(one.stats.block.evictions, 3 * 20 - 8);
	ck_assert_uint_eq(one.container->swapped_bytes + range->resident_pages * GVM_PAGE_BYTES,
			  20 * CHUNK);
}

START_TEST(usage_never_passes_the_limit_that_the_published_driver_overshoots)
{
	simulate(walk_within_a_limit, _i);
}
END_TEST

static void crowd_a_protected_container(void)
{
	struct gvm_range *big = start(&one, 1, 100);
	struct gvm_range *small = start(&two, 2, 20);

	write_file(&two, "gmem.limit.low", 20);
	ck_assert_int_eq(walk(&two, small), 0);
	ck_assert_int_eq(walk(&one, big), 0);
	ck_assert_int_eq(walk(&one, big), 0);
	ck_assert_uint_eq(two.stats.block.evictions, 0);
	ck_assert_uint_eq(gvm_charged_bytes(two.container), 20 * CHUNK);
	ck_assert_uint_ge(one.stats.block.evictions, 2 * 100 - (CHUNKS - 20));
}

START_TEST(a_protected_container_keeps_its_chunks)
{
	simulate(crowd_a_protected_container, _i);
}
END_TEST

/*
 * On a full device a third process starts. Its context of 10 chunks is charged to no container.
 */
static void take_a_context(void)
{
	crowd_a_protected_container();
	profile.context = 10 * CHUNK - gvm_page_table_space_bytes();
	ck_assert_int_eq(sim_process_start(&three, &gpu, 3), 0);
	ck_assert(!three.killed);
	ck_assert_uint_eq(three.context.chunks, 10);
	ck_assert_uint_eq(gvm_charged_bytes(three.container), 0);
	ck_assert_uint_eq(two.stats.block.evictions, 0);
	ck_assert_uint_le(gpu.device.bound_chunks, CHUNKS - 10);
	ck_assert_uint_eq(gpu.device.memory_ops->free_chunks(gpu.device.memory),
			  CHUNKS - 10 - gpu.device.bound_chunks);
}

START_TEST(rm_takes_memory_from_the_core_s_victims_and_spares_the_protected)
{
	simulate(take_a_context, _i);
}
END_TEST

/* 8 chunks on the device and 4 on the host hold 12 of 20 blocks. */
static void run_out_of_host_memory(void)
{
	struct gvm_range *range = start(&one, 1, 20);
	struct gvm_range *other = start(&two, 2, 20);

	write_file(&one, "gmem.limit.high", 8);
	write_file(&one, "hmem.limit", 4);
	ck_assert_int_eq(walk(&one, range), -EIO);
	ck_assert(one.killed);
	ck_assert_uint_eq(one.container->swapped_bytes, 4 * CHUNK);
	ck_assert_uint_gt(one.container->events[GVM_EVENT_HMEM], 0);
	ck_assert_uint_eq(one.container->events[GVM_EVENT_OOM], 1);
	ck_assert_int_eq(walk(&two, other), 0);
}

START_TEST(hmem_limit_ends_who_exceeds_it_and_no_other)
{
	simulate(run_out_of_host_memory, _i);
}
END_TEST

static void fill_by_faults(void)
{
	struct gvm_range *range = start(&one, 1, 200);

	ck_assert_int_eq(walk(&one, range), 0);
	/* Each block came in whole, by one fault. The evictor kept ahead. */
	ck_assert_uint_eq(one.stats.block.pages_copied_in, 200 * GVM_PAGES_PER_BLOCK);
	ck_assert_int_eq(eng_sleep_until(eng_now() + 100000000), 0);
	ck_assert_uint_ge(gpu.device.memory_ops->free_chunks(gpu.device.memory), 2);
}

START_TEST(blocks_come_in_whole_and_the_evictor_keeps_some_chunks_free)
{
	simulate(fill_by_faults, true);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ghost_uvm");
	TCase *tcase = tcase_create("ghost_uvm");
	SRunner *runner = srunner_create(suite);
	int failed;

	/* Without evictors, and with them. */
	tcase_add_loop_test(
		tcase, usage_never_passes_the_limit_that_the_published_driver_overshoots, 0, 2);
	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, a_protected_container_keeps_its_chunks, 0, 2);
	tcase_add_loop_test(
		tcase, rm_takes_memory_from_the_core_s_victims_and_spares_the_protected, 0, 2);
	tcase_add_loop_test(tcase, hmem_limit_ends_who_exceeds_it_and_no_other, 0, 2);
	tcase_add_test(tcase, blocks_come_in_whole_and_the_evictor_keeps_some_chunks_free);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
