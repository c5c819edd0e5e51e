// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The machine around applications of our own making: limits of the run, failed set-ups,
 * deadlock.
 */
#include "machine_fixture.h"

START_TEST(a_run_lasts_its_duration_and_samples_every_interval)
{
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	ck_assert_int_eq(run_toy(&machine, &config, touch_four_chunks, &err), 0);
	ck_assert_uint_eq(machine.end_ns, config.duration);
	ck_assert_uint_eq(machine.container_count, 2);
	ck_assert_uint_eq(machine.gpu_count, 1);
	/* Two containers, samples at 1 to 10 s. */
	ck_assert_uint_eq(machine.row_count, 20);
	ck_assert_uint_eq(machine.timeline[0].resident_bytes, 4 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(machine.timeline[1].resident_bytes, 0);
	ck_assert_uint_eq(machine.timeline[19].resident_bytes, 4 * GVM_CHUNK_BYTES);
	/* 64 pages a report, 4 blocks of 32: each block comes whole, in 2 batches. */
	ck_assert_uint_eq(machine.containers[0].process.stats.faults, 128);
	ck_assert_uint_eq(machine.containers[0].process.stats.fault_batches, 2);
	ck_assert_uint_eq(machine.containers[0].process.stats.block.pages_cleared, 128);
	ck_assert_uint_eq(machine.containers[0].gmem_peak, 4 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(machine.containers[0].usage.busy_ns, 1000);
	ck_assert_uint_eq(machine.containers[0].launched_kernels, 1);
	ck_assert_uint_eq(machine.containers[0].ended_kernels, 1);
	/* Its kernel is older than the first sample, so there is no rate. */
	ck_assert_uint_eq(machine.containers[0].launches.launched, 0);
	/* The late one's is between the samples at 7 and 8 s. */
	ck_assert_uint_eq(machine.containers[1].launched_kernels, 1);
	ck_assert_uint_eq(machine.containers[1].launches.launched, 1);
	ck_assert_uint_eq(machine.containers[1].launches.from_ns, 7000000000);
	ck_assert_uint_eq(machine.containers[1].launches.to_ns, 8000000000);
	check_usage(&machine, 0);
	check_usage(&machine, 1);
	machine_destroy(&machine);
}
END_TEST

START_TEST(exclusive_gives_each_enabled_container_a_gpu)
{
	struct config config = toy_config("exclusive");
	struct sim_error err = { 0 };
	struct machine machine;

	ck_assert_int_eq(run_toy(&machine, &config, touch_four_chunks, &err), 0);
	ck_assert_uint_eq(machine.gpu_count, 2);
	ck_assert_ptr_ne(machine.containers[0].gpu, machine.containers[1].gpu);
	machine_destroy(&machine);
}
END_TEST

/* A limit of 1 MB is less than a chunk. */
START_TEST(a_container_that_may_have_no_memory_dies_and_others_go_on)
{
	static struct cfg_control no_memory = { "gmem.limit.high", "1048576" };
	struct cfg_container forbidden[] = { toy_containers[0], toy_containers[1] };
	struct config config = toy_config("ghost");
	struct sim_error err = { 0 };
	struct machine machine;

	forbidden[1].controls = &no_memory;
	forbidden[1].control_count = 1;
	config.containers = forbidden;
	config.container_count = 2;
	ck_assert_int_eq(run_toy(&machine, &config, touch_ten_chunks, &err), 0);
	ck_assert_int_eq(machine.containers[0].status, 0);
	ck_assert_int_eq(machine.containers[1].status, -EIO);
	ck_assert_uint_ge(machine.containers[1].failed_ns, 7000000000);
	ck_assert_uint_eq(machine.containers[0].gmem_current, 10 * GVM_CHUNK_BYTES);
	check_usage(&machine, 1);
	ck_assert_uint_eq(machine.end_ns, config.duration);
	machine_destroy(&machine);
}
END_TEST

START_TEST(two_containers_that_do_not_fit_share_what_there_is)
{
	struct config config = toy_config("ghost");
	struct sim_error err = { 0 };
	struct machine machine;

	/*
	 * 10 and 10 chunks of 16: the one that comes late takes the older chunks of the other.
	 */
	ck_assert_int_eq(run_toy(&machine, &config, touch_ten_chunks, &err), 0);
	ck_assert_int_eq(machine.containers[0].status, 0);
	ck_assert_int_eq(machine.containers[1].status, 0);
	ck_assert_uint_eq(machine.containers[0].gmem_current, 6 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(machine.containers[0].gmem_swap, 4 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(machine.containers[0].usage.bytes_d2h, 4 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(machine.containers[1].gmem_current, 10 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(machine.containers[1].gmem_swap, 0);
	ck_assert_uint_eq(machine.containers[0].usage.evictions, 4);
	ck_assert_uint_gt(machine.containers[1].usage.stall_ns, 0);
	check_usage(&machine, 0);
	check_usage(&machine, 1);
	machine_destroy(&machine);
}
END_TEST

/*
 * Counters as a GPU would count them, at dates that are its own, also at that of the last
 * sample.
 */
static int count_by_hand(const struct app_env *env)
{
	struct sim_process_stats *stats = &env->cuda->process->stats;
	struct fifo_tsg *tsg = &env->cuda->process->tsg;

	if (env->container->start)
		return 0;
	eng_sleep_until(500 * MS);
	tsg->busy_ns += 300 * MS;
	tsg->stall.ns[FIFO_STALL_CPU] += 50 * MS;
	tsg->stall.ns[FIFO_STALL_IN] += 50 * MS;
	tsg->blocked_ns += 200 * MS;
	stats->block.evictions += 5;
	stats->bytes_h2d += 7;
	stats->bytes_d2h += 9;
	eng_sleep_until(1500 * MS);
	tsg->stall.ns[FIFO_STALL_IN] += 10 * MS;
	eng_sleep_until(2500 * MS);
	tsg->stall.ns[FIFO_STALL_CPU] += 5 * MS;
	tsg->stall.ns[FIFO_STALL_OUT] += 5 * MS;
	tsg->stall.ns[FIFO_STALL_BOTH] += 30 * MS;
	eng_sleep_until(10000 * MS);
	tsg->stall.ns[FIFO_STALL_CPU] += 1 * MS;
	tsg->stall.ns[FIFO_STALL_OUT] += 2 * MS;
	stats->block.evictions++;
	return 0;
}

static void check_row(const struct machine *machine, size_t row, u64 cpu_ms, u64 d2h_ms,
		      u64 h2d_ms)
{
	const struct sim_usage *usage = &machine->timeline[row].usage;

	ck_assert_uint_eq(sim_usage_cpu_ns(usage), cpu_ms * MS);
	ck_assert_uint_eq(usage->stall_d2h_ns, d2h_ms * MS);
	ck_assert_uint_eq(usage->stall_h2d_ns, h2d_ms * MS);
}

START_TEST(time_counts_where_it_passed)
{
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.duration = 20000 * MS;
	ck_assert_int_eq(run_toy(&machine, &config, count_by_hand, &err), 0);
	ck_assert_uint_eq(machine.row_count, 20);
	check_row(&machine, 0, 50, 0, 50);
	check_row(&machine, 2, 0, 0, 10);
	check_row(&machine, 4, 5, 20, 15);
	check_row(&machine, 6, 0, 0, 0);
	check_row(&machine, 18, 1, 2, 0);
	ck_assert_uint_eq(machine.timeline[0].usage.busy_ns, 300 * MS);
	ck_assert_uint_eq(machine.timeline[0].usage.blocked_ns, 200 * MS);
	ck_assert_uint_eq(machine.timeline[0].usage.evictions, 5);
	ck_assert_uint_eq(machine.timeline[0].usage.bytes_h2d, 7);
	ck_assert_uint_eq(machine.timeline[0].usage.bytes_d2h, 9);
	ck_assert_uint_eq(machine.timeline[18].usage.evictions, 1);
	ck_assert_uint_eq(machine.containers[0].usage.stall_ns, 153 * MS);
	ck_assert_uint_eq(machine.containers[1].usage.stall_ns, 0);
	check_usage(&machine, 0);
	check_usage(&machine, 1);
	machine_destroy(&machine);
}
END_TEST

static int never_return(const struct app_env *env)
{
	static struct eng_waitq nobody_wakes;

	(void)env;
	eng_wait(&nobody_wakes, ENG_NEVER, false);
	return 0;
}

START_TEST(a_simulation_that_deadlocks_says_so_and_fails)
{
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	ck_assert_int_eq(run_toy(&machine, &config, never_return, &err), -SIM_EXIT_RUNTIME);
	ck_assert_str_eq(err.text, "deadlock: nothing can happen any more at 10.000000000 s, "
				   "and not all actors have ended");
}
END_TEST

static int run_out_of_memory(const struct app_env *env)
{
	(void)env;
	return -ENOMEM;
}

START_TEST(an_application_without_host_memory_fails_the_run)
{
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	ck_assert_int_eq(run_toy(&machine, &config, run_out_of_memory, &err),
			 -SIM_EXIT_RUNTIME);
	ck_assert_str_eq(err.text, "out of memory");
	machine_destroy(&machine);
}
END_TEST

/* Growing an array to this many bytes fails; 0: never. */
static size_t failing_bytes;

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_realloc(void *memory, size_t size)
{
	return size && size == failing_bytes ? NULL : __real_realloc(memory, size);
}

START_TEST(a_run_without_memory_for_its_timeline_ends_with_an_error)
{
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	failing_bytes = 4096 * sizeof(struct timeline_row);
	ck_assert_int_eq(run_toy(&machine, &config, touch_four_chunks, &err),
			 -SIM_EXIT_RUNTIME);
	ck_assert_str_eq(err.text, "out of memory");
	ck_assert_uint_eq(machine.end_ns, config.timeline_interval);
	machine_destroy(&machine);
}
END_TEST

START_TEST(a_run_without_memory_for_evictions_ends_with_an_error)
{
	struct config config = toy_config("ghost");
	struct sim_error err = { 0 };
	struct machine machine;

	config.record_evictions = true;
	failing_bytes = 256 * sizeof(struct record_eviction);
	ck_assert_int_eq(run_toy(&machine, &config, touch_ten_chunks, &err), -SIM_EXIT_RUNTIME);
	ck_assert_str_eq(err.text, "out of memory");
	ck_assert_uint_lt(machine.end_ns, config.duration);
	machine_destroy(&machine);
}
END_TEST

START_TEST(a_run_ends_with_its_last_application)
{
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	ck_assert_int_eq(run_toy(&machine, &config, return_at_once, &err), 0);
	ck_assert_uint_eq(machine.end_ns, 7000000000);
	machine_destroy(&machine);
}
END_TEST

TEST_MAIN("machine", a_run_lasts_its_duration_and_samples_every_interval,
	  exclusive_gives_each_enabled_container_a_gpu,
	  a_container_that_may_have_no_memory_dies_and_others_go_on,
	  two_containers_that_do_not_fit_share_what_there_is, time_counts_where_it_passed,
	  a_simulation_that_deadlocks_says_so_and_fails,
	  an_application_without_host_memory_fails_the_run,
	  a_run_without_memory_for_its_timeline_ends_with_an_error,
	  a_run_without_memory_for_evictions_ends_with_an_error,
	  a_run_ends_with_its_last_application)
