// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The papers' driver with enough faults in flight: a working set larger than memory keeps both
 * directions of the link busy, with all the costs of a real driver and GPU on the way.
 */
#include "gpu/process.h"
#include "runner.h"

#define US	1000ull
#define CHUNK	GVM_CHUNK_BYTES
#define CHUNKS	1024u
#define BLOCKS	1536u
#define ROUNDS	6
#define KERNELS 6u /* of BLOCKS / KERNELS = 256 blocks: a full batch of faults */

/* Costs of scenarios/gpus/a100-40g.json, which has the sources. */
static struct cfg_gpu profile = {
	.memory = CHUNKS * CHUNK,
	.link = { .setup = 2500 },
	.sched = { .timeslice = 1024 * US,
		   .timeslice_scale = CFG_PPM,
		   .context_switch = 420 * US,
		   .rpc = 104 * US },
	.fault = { .buffer_entries = 4096,
		   .outstanding = 256,
		   .per_block = 1,
		   .interrupt = 5 * US,
		   .batch = 3 * US,
		   .entry = 1 * US,
		   .block = 14 * US,
		   .replay = 2 * US,
		   .evict = 32 * US,
		   .push = 10 * US,
		   .zero_bandwidth = 777500000000 },
};

static struct sim_gpu gpu;
static struct sim_process process;

/* Bytes of both directions in the rounds after the first one, and how long they took. */
static u64 moved_bytes, moved_ns;

static u64 bytes_so_far(void)
{
	return process.stats.bytes_h2d + process.stats.bytes_d2h;
}

static void walk_once(struct gvm_range *range)
{
	struct gmmu_touch touch = sim_touch_all(range, GVM_ACCESS_WRITE);
	struct gsp_train train = {
		.kernels = KERNELS,
		.kernel_ns = 10 * US,
		.touches = &touch,
		.touch_count = 1,
	};

	gsp_submit(&process.tsg, &train);
	ck_assert_int_eq(gsp_wait(&train), 0);
}

/* Round and round through more than fits: CLOCK on a ring misses every time. */
static void body(void *data)
{
	struct gvm_range *range;
	int round;

	(void)data;
	ck_assert_int_eq(sim_gpu_start(&gpu), 0);
	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	range = sim_process_map(&process, BLOCKS * CHUNK, true);
	walk_once(range);
	moved_bytes = bytes_so_far();
	moved_ns = eng_now();
	for (round = 0; round < ROUNDS; round++)
		walk_once(range);
	moved_bytes = bytes_so_far() - moved_bytes;
	moved_ns = eng_now() - moved_ns;
	sim_process_exit(&process);
	sim_gpu_stop(&gpu);
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
}

static const struct {
	u64 bandwidth;
	u64 bandwidth_both;
} links[] = {
	{ 16000000000, 16000000000 }, /* a100-40g: both directions share what one has */
	{ 25000000000, 50000000000 }, /* full duplex on PCIe 4.0 x16 */
};

START_TEST(both_directions_together_carry_what_the_link_can)
{
	static const struct sim_memory_policy ghost = { .evictors = true };
	u64 most;

	profile.link.bandwidth = links[_i].bandwidth;
	profile.link.bandwidth_both = links[_i].bandwidth_both;
	ck_assert_int_eq(eng_init(), 0);
	sim_gpu_set_costs(&profile);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu0", &profile, &ghost), 0);
	eng_spawn("body", body, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	sim_gpu_destroy(&gpu);
	most = links[_i].bandwidth_both / 1000 * (moved_ns / 1000) / 1000;
	ck_assert_uint_ge(moved_bytes, most / 100 * 95);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("saturation");
	TCase *tcase = tcase_create("saturation");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, both_directions_together_carry_what_the_link_can, 0,
			    sizeof(links) / sizeof(links[0]));
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
