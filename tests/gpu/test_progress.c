// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Whatever a kernel touches, in any order, and however little memory it may have, it ends: the
 * GPU never gets stuck with a kernel that its driver cannot satisfy. Under all drivers.
 */
#include <sys/wait.h>

#include "gpu/process.h"
#include "runner.h"
#include "draw.h"

#define US     1000ull
#define S      1000000000ull
#define CHUNK  GVM_CHUNK_BYTES
#define ROUNDS 40u

enum { TOUCHES_MAX = 6 };

static struct cfg_gpu profile = {
	.link = { .bandwidth = 10000000000, .bandwidth_both = 20000000000, .setup = 1000 },
	.sched = { .timeslice = 1000 * US, .timeslice_scale = CFG_PPM, .context_switch = 10 },
	.fault = { .interrupt = 5 * US,
		   .batch = 3 * US,
		   .entry = 1 * US,
		   .block = 14 * US,
		   .replay = 2 * US,
		   .push = 4 * US,
		   .evict = 32 * US,
		   .zero_bandwidth = 1000000000000 },
};

static struct sim_gpu gpu;
static struct sim_process process;
static u64 random_state;

static u32 draw(u32 below)
{
	return draw_below(&random_state, below);
}

static struct gmmu_touch draw_touch(struct gvm_range *range)
{
	u32 first = draw(range->block_count);

	u32 count = 1 + draw(range->block_count - first);

	return sim_touch_blocks(range, first, count,
				draw(2) ? GVM_ACCESS_READ : GVM_ACCESS_WRITE);
}

/* One burst over pieces of three ranges in random order, some of them twice. */
static void run_burst(struct gvm_range *const *ranges)
{
	struct gmmu_touch touches[TOUCHES_MAX];
	struct fifo_burst burst = {
		.kernels = 1 + draw(4),
		.kernel_ns = 1 + draw(1000),
		.touches = touches,
		.touch_count = 1 + draw(TOUCHES_MAX),
		.in_fronts = draw(2),
	};
	u32 i;

	for (i = 0; i < burst.touch_count; i++)
		touches[i] = draw_touch(ranges[draw(3)]);
	fifo_submit(&process.tsg, &burst);
	ck_assert_int_eq(fifo_wait(&burst), 0);
}

static void bursts_main(void *data)
{
	struct gvm_range *ranges[3];
	u32 i;

	(void)data;
	ck_assert_int_eq(sim_gpu_start(&gpu), 0);
	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	for (i = 0; i < 3; i++)
		ranges[i] = sim_process_map(&process, (1 + draw(20)) * CHUNK, draw(2));
	for (i = 0; i < 5; i++) {
		gvm_limit_set_high(process.container,
				   draw(3) ? (1 + draw(20)) * CHUNK : U64_MAX);
		run_burst(ranges);
	}
	sim_process_exit(&process);
	sim_gpu_stop(&gpu);
}

static void stuck(struct eng_timer *timer)
{
	(void)timer;
	ck_abort_msg("no end after %llu faults", process.stats.faults);
}

static void run_round(const struct sim_memory_policy *policy)
{
	static struct eng_timer alarm_timer = { .fire = stuck };

	profile.memory = (1 + draw(40)) * CHUNK;
	profile.fault.outstanding = 1 + draw(draw(2) ? 256 : 20);
	profile.fault.buffer_entries = 1 + draw(256);
	profile.fault.per_block = 1 + draw(32);
	profile.fault.front = 1 + draw(40);
	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu0", &profile, policy), 0);
	eng_spawn("bursts", bursts_main, NULL);
	eng_timer_set(&alarm_timer, 100 * S);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	sim_gpu_destroy(&gpu);
}

static const struct sim_memory_policy policies[] = {
	{ 0 },
	{ .evictors = true },
	{ .evictors = true, .features = GVM_CLEAN_DROP | GVM_HINT_FAULTS },
	{ .manager = &sim_manager_nvuvm },
	{ .manager = &sim_manager_nvuvm, .limits = true, .one_list = true },
	{ .manager = &sim_manager_nvuvm, .limits = true, .fast_path = true },
	{ .manager = &sim_manager_ghost_uvm, .evictors = true },
};

START_TEST(every_kernel_ends)
{
	u64 seed = runner_seed();
	u32 i;

	/* One simulation per process. */
	for (i = 0; i < ROUNDS; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			random_state = seed + i;
			run_round(&policies[_i]);
			exit(0);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_msg(!status, "round %u", i);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("progress");
	TCase *tcase = tcase_create("progress");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, every_kernel_ends, 0,
			    sizeof(policies) / sizeof(policies[0]));
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
