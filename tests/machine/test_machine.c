// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The machine around applications of our own making: limits of the run, failed set-ups,
 * deadlock.
 */
#include <stdio.h>

#include "engine/error.h"
#include "machine/machine.h"
#include "systems/core.h"
#include "runner.h"

static int (*app_body)(const struct app_env *env);
static volatile int not_interrupted;

/* The application of this test; there is no LLM server. */
static int test_app_run(const struct app_env *env)
{
	return app_body(env);
}

static const struct sim_app test_app = {
	.keys = { .name = "test" },
	.run = test_app_run,
};

void app_log_destroy(struct app_log *log)
{
	(void)log;
}

static const struct cfg_container containers[] = {
	{ .name = "one", .enabled = true, .app_type = &test_app.keys },
	{ .name = "late", .enabled = true, .app_type = &test_app.keys, .start = 7000000000 },
	{ .name = "off", .app_type = &test_app.keys },
};

/* Room for the struct of any system's keys. All zero: everything is switched off. */
static u64 system_keys[16];

static const struct cfg_key *find_key(const char *system, const char *path)
{
	const struct cfg_keys *keys = &sim_system_find(system)->keys;

	ck_assert_uint_le(keys->bytes, sizeof(system_keys));
	for (size_t i = 0; i < keys->key_count; i++)
		if (!strcmp(keys->keys[i].path, path))
			return &keys->keys[i];
	return NULL;
}

/* Ten seconds on a GPU of 16 chunks. */
static struct config toy_config(const char *system)
{
	struct config config = {
		.duration = 10000000000,
		.gpu = { .memory = 16 * GVM_CHUNK_BYTES,
			 .link = { .bandwidth = 1000000000, .bandwidth_both = 2000000000 },
			 .sched = { .timeslice = 1000000, .timeslice_scale = CFG_PPM },
			 .fault = { .buffer_entries = 64,
				    .outstanding = 64,
				    .per_block = 32,
				    .zero_bandwidth = 1000000000 } },
		.containers = (struct cfg_container *)containers,
		.container_count = 3,
		.timeline_interval = 1000000000,
		.system = &sim_system_find(system)->keys,
		.system_keys = system_keys,
	};

	return config;
}

static int run_toy(struct machine *machine, struct config *config,
		   int (*body)(const struct app_env *env), struct sim_error *err)
{
	app_body = body;
	return machine_run(machine, config, NULL, NULL, NULL, &not_interrupted, err);
}

/* Write @chunks chunks of fresh memory, then wait for the end of the run. */
static int touch_and_wait(const struct app_env *env, u64 chunks)
{
	struct cuda_memory memory;
	struct cuda_access access;
	int status = cuda_malloc_managed(env->cuda, chunks * GVM_CHUNK_BYTES, false, &memory);

	if (status)
		return status;
	access = cuda_access_all(&memory, CUDA_WRITE);
	status = cuda_run(env->cuda, &(struct cuda_burst_config){ .kernels = 1,
								  .kernel_ns = 1000,
								  .accesses = &access,
								  .access_count = 1 });
	if (!status)
		ck_assert_int_eq(eng_sleep_until(ENG_NEVER), -EINTR);
	return status;
}

static int touch_four_chunks(const struct app_env *env)
{
	return touch_and_wait(env, 4);
}

static int touch_ten_chunks(const struct app_env *env)
{
	return touch_and_wait(env, 10);
}

/* Rows of the timeline add up to the totals, and the parts of a stall to no more than it. */
static void check_usage(const struct machine *machine, u32 index)
{
	const struct sim_usage *total = &machine->containers[index].usage;
	struct sim_usage sum = { 0 };
	u64 cpu_ns = 0;
	size_t i;

	for (i = index; i < machine->row_count; i += machine->container_count) {
		const struct sim_usage *usage = &machine->timeline[i].usage;

		ck_assert_uint_eq(machine->timeline[i].container, index);
		ck_assert_uint_le(usage->stall_h2d_ns + usage->stall_d2h_ns, usage->stall_ns);
		sum.busy_ns += usage->busy_ns;
		sum.stall_ns += usage->stall_ns;
		sum.stall_h2d_ns += usage->stall_h2d_ns;
		sum.stall_d2h_ns += usage->stall_d2h_ns;
		sum.blocked_ns += usage->blocked_ns;
		sum.evictions += usage->evictions;
		sum.bytes_h2d += usage->bytes_h2d;
		sum.bytes_d2h += usage->bytes_d2h;
		cpu_ns += sim_usage_cpu_ns(usage);
	}
	ck_assert_mem_eq(&sum, total, sizeof(sum));
	ck_assert_uint_eq(cpu_ns, sim_usage_cpu_ns(total));
}

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
	struct cfg_container forbidden[] = { containers[0], containers[1] };
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

#define MS 1000000ull

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

static int return_at_once(const struct app_env *env)
{
	(void)env;
	return 0;
}

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

/* The last interval ends with the run, at half of its length. */
START_TEST(controls_are_recorded_up_to_the_end_of_the_run)
{
	struct cfg_event writes[] = {
		{ .at = 1500 * MS,
		  .container = "one",
		  .file = "gmem.limit.high",
		  .value = "8388608" },
		{ .at = 2200 * MS,
		  .container = "one",
		  .file = "gmem.limit.high",
		  .value = "16777216" },
	};
	struct config config = toy_config("ghost");
	struct sim_error err = { 0 };
	struct machine machine;
	const struct record_control *last = NULL;

	config.duration = 2500 * MS;
	config.record_controls = true;
	config.events = writes;
	config.event_count = ARRAY_SIZE(writes);
	ck_assert_int_eq(run_toy(&machine, &config, touch_four_chunks, &err), 0);
	for (size_t i = 0; i < machine.record.control_count; i++) {
		const struct record_control *row = &machine.record.controls[i];

		ck_assert_uint_le(row->time_ns, config.duration);
		if (!strcmp(row->file, "gmem.limit.high"))
			last = row;
	}
	ck_assert_ptr_nonnull(last);
	ck_assert_str_eq(last->text, "16777216");
	ck_assert_uint_eq(last->time_ns, config.duration);
	machine_destroy(&machine);
}
END_TEST

START_TEST(events_of_a_container_that_does_not_run_are_missed)
{
	struct cfg_event told[] = {
		{ .at = 1000 * MS, .container = "one", .touch = "0-7" },
		{ .at = 6000 * MS, .container = "late", .touch = "3" },
		{ .at = 7000 * MS, .container = "late", .touch = "4" },
		{ .at = 8000 * MS, .container = "off", .touch = "5" },
		{ .at = 9000 * MS, .container = "off", .exit = true },
	};
	const bool missed[] = { false, true, false, true, true };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.events = told;
	config.event_count = ARRAY_SIZE(told);
	ck_assert_int_eq(run_toy(&machine, &config, touch_four_chunks, &err), 0);
	ck_assert_mem_eq(machine.missed, missed, sizeof(missed));
	machine_destroy(&machine);
}
END_TEST

/* Each life of container "one" touches its four chunks again. Its second life is cut short. */
START_TEST(events_stop_and_restart_a_container)
{
	struct cfg_event lives[] = {
		{ .at = 1000 * MS, .container = "late", .stop = true },
		{ .at = 1500 * MS, .container = "one", .stop = true },
		{ .at = 2500 * MS, .container = "one", .stop = true },
		{ .at = 3500 * MS, .container = "one", .restart = true },
		{ .at = 4500 * MS, .container = "off", .restart = true },
		{ .at = 5500 * MS, .container = "one", .restart = true },
		{ .at = 8500 * MS, .container = "late", .stop = true },
	};
	const bool missed[] = { true, false, true, false, true, false, false };
	/* Chunks at each full second. */
	const u64 chunks[][2] = { { 4, 0 }, { 0, 0 }, { 0, 0 }, { 4, 0 }, { 4, 0 },
				  { 4, 0 }, { 4, 0 }, { 4, 4 }, { 4, 0 }, { 4, 0 } };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.events = lives;
	config.event_count = ARRAY_SIZE(lives);
	ck_assert_int_eq(run_toy(&machine, &config, touch_four_chunks, &err), 0);
	ck_assert_mem_eq(machine.missed, missed, sizeof(missed));
	ck_assert_uint_eq(machine.row_count, 2 * ARRAY_SIZE(chunks));
	for (size_t i = 0; i < machine.row_count; i++)
		ck_assert_uint_eq(machine.timeline[i].resident_bytes,
				  chunks[i / 2][i % 2] * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(machine.containers[0].stats.faults,
			  3 * machine.containers[1].stats.faults);
	ck_assert_uint_eq(machine.containers[0].usage.busy_ns,
			  3 * machine.containers[1].usage.busy_ns);
	ck_assert_uint_eq(machine.containers[0].gmem_current, 4 * GVM_CHUNK_BYTES);
	ck_assert_uint_eq(machine.containers[1].gmem_current, 0);
	ck_assert_uint_eq(machine.containers[1].gmem_peak, 4 * GVM_CHUNK_BYTES);
	check_usage(&machine, 0);
	check_usage(&machine, 1);
	machine_destroy(&machine);
}
END_TEST

START_TEST(a_container_may_stop_when_the_run_begins_and_not_when_it_ends)
{
	struct cfg_event stops[] = {
		{ .at = 0, .container = "one", .stop = true },
		{ .at = 10000 * MS, .container = "late", .stop = true },
	};
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.events = stops;
	config.event_count = ARRAY_SIZE(stops);
	ck_assert_int_eq(run_toy(&machine, &config, touch_four_chunks, &err), 0);
	ck_assert(!machine.missed[0]);
	ck_assert(machine.containers[0].stopped);
	ck_assert_uint_eq(machine.containers[0].gmem_current, 0);
	ck_assert(!machine.containers[1].stopped);
	ck_assert_uint_eq(machine.containers[1].gmem_current, 4 * GVM_CHUNK_BYTES);
	machine_destroy(&machine);
}
END_TEST

static int fail_at_once(const struct app_env *env)
{
	(void)env;
	return -EIO;
}

START_TEST(a_dead_container_is_not_stopped_but_restarts)
{
	struct cfg_event lives[] = {
		{ .at = 1000 * MS, .container = "one", .stop = true },
		{ .at = 2000 * MS, .container = "one", .restart = true },
		{ .at = 3000 * MS, .container = "one", .stop = true },
	};
	const bool missed[] = { true, false, true };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.events = lives;
	config.event_count = ARRAY_SIZE(lives);
	ck_assert_int_eq(run_toy(&machine, &config, fail_at_once, &err), 0);
	ck_assert_mem_eq(machine.missed, missed, sizeof(missed));
	ck_assert_int_eq(machine.containers[0].status, -EIO);
	ck_assert(!machine.containers[0].stopped);
	ck_assert_uint_eq(machine.containers[0].restarts, 1);
	machine_destroy(&machine);
}
END_TEST

START_TEST(a_run_waits_for_its_last_restart)
{
	struct cfg_event again[] = { { .at = 8000 * MS, .container = "one", .restart = true } };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	config.events = again;
	config.event_count = ARRAY_SIZE(again);
	ck_assert_int_eq(run_toy(&machine, &config, return_at_once, &err), 0);
	ck_assert_uint_eq(machine.end_ns, 8000000000);
	ck_assert_uint_eq(machine.containers[0].restarts, 1);
	machine_destroy(&machine);
}
END_TEST

/* A configuration of a system, with room for its keys. */
struct system_config {
	struct config config;
	u64 keys[16];
};

static struct system_config system_gvm_config, system_ghost_config;

static struct system_config *config_of(const char *system)
{
	struct system_config *config = &system_ghost_config;

	if (!strcmp(system, "gvm"))
		config = &system_gvm_config;
	config->config.system_keys = config->keys;
	return config;
}

static void set_flag(const char *system, const char *path, bool on)
{
	const struct cfg_key *key = find_key(system, path);

	ck_assert_int_eq(key->type, CFG_TYPE_BOOL);
	*((bool *)config_of(system)->keys + key->offset) = on;
}

static void set_scheduler(const char *system, enum sim_scheduler scheduler)
{
	const struct cfg_key *key = find_key(system, "system.scheduler");

	ck_assert_int_eq(key->type, CFG_TYPE_ENUM);
	config_of(system)->keys[key->offset / sizeof(u64)] = scheduler;
}

static void switch_gvm_on(void)
{
	set_flag("gvm", "system.mechanisms.memory_isolation", true);
	set_flag("gvm", "system.mechanisms.compute_isolation", true);
	set_flag("gvm", "system.mechanisms.fast_paging", true);
}

static bool honours(const char *system, const char *file)
{
	return sim_system_find(system)->honours(&config_of(system)->config, file);
}

static bool has(const char *system, const char *mechanism)
{
	char key[64];

	snprintf(key, sizeof(key), "system.mechanisms.%s", mechanism);
	return find_key(system, key);
}

/* They honour the core's control files, as far as the mechanism is on. */
START_TEST(systems_honour_what_the_core_has)
{
	switch_gvm_on();
	for (int i = 0; i < 2; i++) {
		const char *system = i ? "gvm" : "ghost";

		ck_assert(!sim_system_find(system)->own_gpu);
		ck_assert(honours(system, "gmem.limit.high"));
		ck_assert(honours(system, "memory.limit"));
		ck_assert(honours(system, "gmem.limit.low"));
		ck_assert(honours(system, "compute.timeslice"));
		ck_assert(honours(system, "compute.priority"));
		ck_assert(honours(system, "compute.freeze"));
		ck_assert(!honours(system, "compute.weight"));
		ck_assert_int_eq(honours(system, "hmem.limit"), !i);
		ck_assert_int_eq(sim_system_find(system)->has_pressure, !i);
		ck_assert(!honours(system, "gmem.current"));
	}
	ck_assert(!honours("stock", "compute.priority"));
	ck_assert(!honours("stock", "compute.freeze"));
	ck_assert(!honours("stock", "gmem.limit.high"));
	ck_assert(honours("stock", "compute.timeslice"));
	ck_assert(!honours("gpreempt", "compute.priority"));
	ck_assert(!honours("gpreempt", "gmem.limit.high"));
	ck_assert(has("gpreempt", "fast_paging"));
	ck_assert(!has("gpreempt", "memory_isolation"));
	ck_assert(has("gvm", "fast_paging"));
	ck_assert(!has("gvm", "clean_drop"));
	ck_assert(!has("ghost", "fast_paging"));
	ck_assert(has("ghost", "clean_drop"));
	ck_assert(has("ghost", "priority_batches"));
	ck_assert(has("ghost", "hint_faults"));
	ck_assert(!has("stock", "hint_faults"));
	ck_assert(has("ghost", "lirs"));
	ck_assert(!has("gvm", "lirs"));
	set_flag("gvm", "system.mechanisms.memory_isolation", false);
	ck_assert(!honours("gvm", "memory.limit"));
	ck_assert(honours("gvm", "compute.freeze"));
	ck_assert(honours("ghost", "gmem.limit.high"));
	set_flag("gvm", "system.mechanisms.compute_isolation", false);
	ck_assert(!honours("gvm", "compute.freeze"));
}
END_TEST

/* By weight, timeslices are the scheduler's own; ghost has another use for priorities. */
START_TEST(a_scheduler_honours_what_it_takes_something_from)
{
	switch_gvm_on();
	set_scheduler("gvm", SIM_SCHEDULER_WEIGHTED);
	set_scheduler("ghost", SIM_SCHEDULER_WEIGHTED);
	ck_assert(honours("gvm", "compute.weight"));
	ck_assert(honours("ghost", "compute.freeze"));
	ck_assert(!honours("gvm", "compute.timeslice"));
	ck_assert(!honours("ghost", "compute.priority"));
	ck_assert(!honours("stock", "compute.weight"));
	set_flag("ghost", "system.mechanisms.priority_batches", true);
	ck_assert(honours("ghost", "compute.priority"));
	ck_assert(!honours("gvm", "compute.priority"));
	set_scheduler("gvm", SIM_SCHEDULER_PRIORITY);
	ck_assert(honours("gvm", "compute.timeslice"));
	ck_assert(!honours("gvm", "compute.weight"));
	ck_assert_ptr_nonnull(find_key("gvm", "system.tracking"));
	ck_assert_ptr_null(find_key("stock", "system.scheduler"));
}
END_TEST

/* Of each container that ran, by its place; the first one has no priority of its own: 9. */
static u64 seen_timeslice_ns[2];

static int look_at_timeslice(const struct app_env *env)
{
	seen_timeslice_ns[env->container->start != 0] = env->cuda->process->tsg.timeslice_ns;
	return 0;
}

/* Run both under gpreempt, the second and a disabled third one of these priorities. */
static void preempt(const char *second, const char *disabled)
{
	struct cfg_control limits[] = { { "gmem.limit.high", "1048576" },
					{ "compute.priority", "" } };
	struct cfg_control late = { "compute.priority", "" };
	struct cfg_control off = { "compute.priority", "" };
	struct cfg_container three[] = { containers[0], containers[1], containers[2] };
	struct config config = toy_config("gpreempt");
	struct sim_error err = { 0 };
	struct machine machine;

	strcpy(late.text, second);
	strcpy(off.text, disabled);
	three[0].controls = limits;
	three[0].control_count = 2;
	three[1].controls = &late;
	three[1].control_count = 1;
	three[2].controls = &off;
	three[2].control_count = 1;
	config.containers = three;
	ck_assert_int_eq(run_toy(&machine, &config, look_at_timeslice, &err), 0);
	ck_assert_int_eq(machine.gpu_count, 1);
	ck_assert_int_eq(machine.containers[0].status, 0);
	machine_destroy(&machine);
}

#define FIRST_NS  524288000ull /* compute.priority 0 */
#define OTHERS_NS 16000ull     /* and 15 */

START_TEST(gpreempt_puts_the_most_important_container_first)
{
	preempt("10", "0");
	ck_assert_uint_eq(seen_timeslice_ns[0], FIRST_NS);
	ck_assert_uint_eq(seen_timeslice_ns[1], OTHERS_NS);
}
END_TEST

START_TEST(gpreempt_puts_a_later_container_first_if_it_is_more_important)
{
	preempt("8", "");
	ck_assert_uint_eq(seen_timeslice_ns[0], OTHERS_NS);
	ck_assert_uint_eq(seen_timeslice_ns[1], FIRST_NS);
}
END_TEST

START_TEST(gpreempt_puts_equals_first_together)
{
	preempt("", "");
	ck_assert_uint_eq(seen_timeslice_ns[0], FIRST_NS);
	ck_assert_uint_eq(seen_timeslice_ns[1], FIRST_NS);
}
END_TEST

/* A process sets its timeslice on the driver as it comes; its priority has no effect. */
START_TEST(stock_takes_the_timeslice_of_a_process)
{
	struct cfg_control first[] = { { "compute.timeslice", "512us" },
				       { "compute.priority", "2" } };
	struct cfg_container two[] = { containers[0], containers[1] };
	struct config config = toy_config("stock");
	struct sim_error err = { 0 };
	struct machine machine;

	two[0].controls = first;
	two[0].control_count = 2;
	config.containers = two;
	config.container_count = 2;
	ck_assert_int_eq(run_toy(&machine, &config, look_at_timeslice, &err), 0);
	machine_destroy(&machine);
	ck_assert_uint_eq(seen_timeslice_ns[0], 512000);
	ck_assert_uint_eq(seen_timeslice_ns[1], config.gpu.sched.timeslice);
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
	  a_run_ends_with_its_last_application, controls_are_recorded_up_to_the_end_of_the_run,
	  events_of_a_container_that_does_not_run_are_missed,
	  events_stop_and_restart_a_container,
	  a_container_may_stop_when_the_run_begins_and_not_when_it_ends,
	  a_dead_container_is_not_stopped_but_restarts, a_run_waits_for_its_last_restart,
	  systems_honour_what_the_core_has, a_scheduler_honours_what_it_takes_something_from,
	  gpreempt_puts_the_most_important_container_first,
	  gpreempt_puts_a_later_container_first_if_it_is_more_important,
	  gpreempt_puts_equals_first_together, stock_takes_the_timeslice_of_a_process)
