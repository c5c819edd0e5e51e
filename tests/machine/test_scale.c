// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What a large machine costs. The engine's unit of work is the event, so costs are compared by
 * counts of events and not by time.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/pages.h"
#include "engine/error.h"
#include "machine/machine.h"
#include "runner.h"

#define GPUS_MAX     8u
#define GPU_TENANTS  8u
#define GPU_CHUNKS   16u
#define PLAYER_BYTES (4 * GVM_CHUNK_BYTES)

static struct cfg_gpu gpu_of(u32 index)
{
	struct cfg_gpu gpu = {
		.memory = GPU_CHUNKS * GVM_CHUNK_BYTES,
		.memory_total = GPU_CHUNKS * GVM_CHUNK_BYTES,
		.link = { .bandwidth = 1000000000, .bandwidth_both = 2000000000 },
		.sched = { .timeslice = 1000000, .timeslice_scale = CFG_PPM },
		.fault = { .buffer_entries = 64,
			   .outstanding = 64,
			   .per_block = 32,
			   .zero_bandwidth = 1000000000 },
	};

	snprintf(gpu.name, sizeof(gpu.name), "gpu%u", index);
	return gpu;
}

/* Run eight players that need twice the memory on each of @gpus GPUs. Returns the events. */
static u64 run_players(u32 gpus)
{
	static struct cfg_container containers[GPUS_MAX * GPU_TENANTS];
	static struct cfg_gpu further[GPUS_MAX];
	static u64 system_keys[32];
	static volatile int not_interrupted;
	struct cfg_pages pages = {
		.bytes = PLAYER_BYTES,
		.on_host = true,
		.pattern = CFG_PATTERN_SEQUENTIAL,
		.write_share = CFG_PPM,
		.kernels = 1,
		.kernel_blocks = 4,
		.kernel_time = 100000,
	};
	struct config config = {
		.duration = 1000000000,
		.gpu = gpu_of(0),
		.host = { .speed = CFG_PPM },
		.gpus = further,
		.gpu_count = gpus - 1,
		.containers = containers,
		.container_count = (size_t)gpus * GPU_TENANTS,
		.timeline_interval = 100000000,
		.system = &sim_system_find("stock")->keys,
		.system_keys = system_keys,
	};
	struct machine machine;
	struct sim_error err = { 0 };
	u64 rounds = 0;

	for (u32 i = 1; i < gpus; i++)
		further[i - 1] = gpu_of(i);
	for (u32 i = 0; i < config.container_count; i++) {
		containers[i] = (struct cfg_container){ .enabled = true,
							.app_type = &pages_app.keys,
							.app = &pages };
		snprintf(containers[i].name, CFG_NAME_MAX, "c%u", i);
		if (i >= GPU_TENANTS)
			snprintf(containers[i].gpu, CFG_NAME_MAX, "gpu%u", i / GPU_TENANTS);
	}
	if (machine_run(&machine, &config, NULL, NULL, NULL, &not_interrupted, &err))
		return 0;
	for (u32 i = 0; i < machine.container_count; i++)
		rounds += machine.containers[i].log.record_count;
	machine_destroy(&machine);
	/* Every player has played. */
	return rounds >= 4 * config.container_count ? eng_events() : 0;
}

/* The same in a process of its own: a process runs one simulation. */
static u64 count_events(u32 gpus)
{
	u64 events = 0;
	int ends[2], status;
	pid_t child;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		events = run_players(gpus);
		_exit(write(ends[1], &events, sizeof(events)) != sizeof(events));
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &events, sizeof(events)), sizeof(events));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	close(ends[0]);
	return events;
}

START_TEST(sixty_four_containers_on_eight_gpus_cost_eight_times_eight_on_one)
{
	u64 one = count_events(1), eight = count_events(8);

	ck_assert_uint_gt(one, 1000);
	ck_assert_uint_le(eight, 8 * one + one / 100);
	ck_assert_uint_ge(eight, 8 * one - one);
}
END_TEST

TEST_MAIN("scale", sixty_four_containers_on_eight_gpus_cost_eight_times_eight_on_one)
