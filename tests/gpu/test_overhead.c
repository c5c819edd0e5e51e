// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Contexts and page tables on the simulated GPU, under each driver. All drivers take this
 * memory from the device, and only the core charges it to a container.
 */
#include "gpu_fixture.h"
#include "gvm/swap.h"
#include "nvuvm/nvuvm.h"

#define CHUNK GVM_CHUNK_BYTES

static struct cfg_gpu profile = GPU_WITHOUT_COSTS(16);

static struct sim_process one, two;

/* A context of 2.5 chunks, its upper tables and the tables of a small range: 3 chunks. */
static void simulate(void (*body)(void), const struct sim_memory_policy *policy)
{
	profile.context = 5 * CHUNK / 2;
	run_gpu(&profile, policy, body);
}

static const struct sim_memory_policy core = { 0 }, ghost = { .evictors = true },
				      stock = { .manager = &sim_manager_nvuvm },
				      gvm = { .manager = &sim_manager_nvuvm,
					      .limits = true,
					      .fast_path = true };

/* Start a process with a range of @blocks and touch all of it. */
static int start_and_touch(struct sim_process *process, u32 tgid, u32 blocks)
{
	struct gmmu_touch touch;
	struct fifo_burst burst = {
		.kernels = 1,
		.kernel_ns = 1000,
		.touches = &touch,
		.touch_count = 1,
	};

	ck_assert_int_eq(sim_process_start(process, &gpu, tgid), 0);
	touch = sim_touch_all(sim_process_map(process, blocks * CHUNK, false),
			      GVM_ACCESS_WRITE);
	fifo_submit(&process->tsg, &burst);
	return fifo_wait(&burst);
}

static void take_four_and_count_all(void)
{
	ck_assert_int_eq(start_and_touch(&one, 1, 4), 0);
	ck_assert_uint_eq(gpu.free_count, 16 - 3 - 4);
	ck_assert_uint_eq(gvm_charged_bytes(one.container), 7 * CHUNK);
	ck_assert_uint_eq(gvm_peak_bytes(one.container), 7 * CHUNK);
}

START_TEST(the_core_counts_contexts_and_page_tables)
{
	simulate(take_four_and_count_all, &core);
}
END_TEST

static void take_four_and_count_pages(void)
{
	const struct nvuvm *nvuvm = gpu.device.memory;

	ck_assert_int_eq(start_and_touch(&one, 1, 4), 0);
	ck_assert_uint_eq(gvm_charged_bytes(one.container), 4 * CHUNK);
	/* The rest of UVM's refill is free as well. */
	ck_assert_uint_eq(gpu.free_count + nvuvm->free.count, 16 - 3 - 4);
}

START_TEST(nvidias_driver_takes_them_and_counts_pages_alone)
{
	simulate(take_four_and_count_pages, _i ? &gvm : &stock);
}
END_TEST

/*
 * One has ten of 13 chunks. Two takes 3 for its context and 4 for its range, so one has to give
 * 4.
 */
static void start_beside_another(void)
{
	ck_assert_int_eq(start_and_touch(&one, 1, 10), 0);
	ck_assert_int_eq(start_and_touch(&two, 2, 4), 0);
	ck_assert_uint_ge(one.stats.block.evictions, 4);
	ck_assert_uint_eq(two.stats.block.evictions, 0);
	ck_assert(!two.killed);
}

START_TEST(a_context_on_a_full_gpu_evicts_pages)
{
	static const struct sim_memory_policy *const policies[] = { &core, &ghost, &stock,
								    &gvm };

	simulate(start_beside_another, policies[_i]);
}
END_TEST

static void start_where_nothing_may_go(void)
{
	ck_assert_int_eq(start_and_touch(&one, 1, 13), 0);
	gvm_limit_set_hmem(one.container, 0);
	ck_assert_int_eq(start_and_touch(&two, 2, 1), -EIO);
	ck_assert(two.killed);
	ck_assert_uint_eq(two.container->events[GVM_EVENT_OOM], 1);
	ck_assert(!one.killed);
	ck_assert_uint_eq(one.stats.block.evictions, 0);
}

START_TEST(a_context_that_cannot_be_had_is_dead_and_others_go_on)
{
	simulate(start_where_nothing_may_go, &core);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("overhead");
	TCase *tcase = tcase_create("overhead");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 600);
	tcase_add_test(tcase, the_core_counts_contexts_and_page_tables);
	tcase_add_loop_test(tcase, nvidias_driver_takes_them_and_counts_pages_alone, 0, 2);
	tcase_add_loop_test(tcase, a_context_on_a_full_gpu_evicts_pages, 0, 4);
	tcase_add_test(tcase, a_context_that_cannot_be_had_is_dead_and_others_go_on);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
