// SPDX-License-Identifier: MIT OR GPL-2.0
#include "systems/core.h"
#include "machine_fixture.h"

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

const struct cfg_container toy_containers[3] = {
	{ .name = "one", .enabled = true, .app_type = &test_app.keys },
	{ .name = "late", .enabled = true, .app_type = &test_app.keys, .start = 7000000000 },
	{ .name = "off", .app_type = &test_app.keys },
};

/* Room for the struct of any system's keys. All zero: everything is switched off. */
static u64 system_keys[16];

const struct cfg_key *find_key(const char *system, const char *path)
{
	const struct cfg_keys *keys = &sim_system_find(system)->keys;

	ck_assert_uint_le(keys->bytes, sizeof(system_keys));
	for (size_t i = 0; i < keys->key_count; i++)
		if (!strcmp(keys->keys[i].path, path))
			return &keys->keys[i];
	return NULL;
}

struct config toy_config(const char *system)
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
		.containers = (struct cfg_container *)toy_containers,
		.container_count = 3,
		.timeline_interval = 1000000000,
		.system = &sim_system_find(system)->keys,
		.system_keys = system_keys,
	};

	return config;
}

int run_toy(struct machine *machine, struct config *config,
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

int touch_four_chunks(const struct app_env *env)
{
	return touch_and_wait(env, 4);
}

int touch_ten_chunks(const struct app_env *env)
{
	return touch_and_wait(env, 10);
}

void check_usage(const struct machine *machine, u32 index)
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

int return_at_once(const struct app_env *env)
{
	(void)env;
	return 0;
}
