// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The papers' driver with enough faults in flight: a working set larger than memory keeps both
 * directions of the link busy, with all costs of a real driver and GPU included.
 */
#include "gpu/process.h"
#include "runner.h"

#define US	1000ull
#define CHUNK	GVM_CHUNK_BYTES
#define CHUNKS	8192u
#define BLOCKS	9216u
#define KERNELS 36u /* of BATCH blocks each */
#define BATCH	(BLOCKS / KERNELS)
#define ROUNDS	2
#define COPIES	256

/* The costs of scenarios/gpus/a100-40g.json, which names the sources. */
static struct cfg_gpu profile = {
	.memory = CHUNKS * CHUNK,
	.link = { .setup = 2500 },
	.sched = { .timeslice = 1024 * US,
		   .timeslice_scale = CFG_PPM,
		   .context_switch = 445 * US,
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

/* The bytes of both directions in all rounds but the first, and the time they took. */
static u64 moved_bytes, moved_ns;

/* The time of a link for COPIES chunks each way that are all queued at once. */
static u64 link_ns;

static u64 bytes_so_far(void)
{
	return process.stats.bytes_h2d + process.stats.bytes_d2h;
}

static void walk_once(struct gvm_range *range)
{
	struct gmmu_touch touch = sim_touch_all(range, GVM_ACCESS_WRITE);
	struct fifo_burst burst = {
		.kernels = KERNELS,
		.kernel_ns = 10 * US,
		.touches = &touch,
		.touch_count = 1,
	};

	fifo_submit(&process.tsg, &burst);
	ck_assert_int_eq(fifo_wait(&burst), 0);
}

/* Walk rounds through more than fits: CLOCK misses every block of a ring. */
static void walk_rounds(struct gvm_range *range)
{
	int round;

	walk_once(range);
	moved_bytes = bytes_so_far();
	moved_ns = eng_now();
	for (round = 0; round < ROUNDS; round++)
		walk_once(range);
	moved_bytes = bytes_so_far() - moved_bytes;
	moved_ns = eng_now() - moved_ns;
}

static void measure_link(void)
{
	const struct pcie_copy copy = { .bytes = CHUNK };
	u64 start = eng_now();

	for (int i = 0; i < COPIES; i++) {
		pcie_copy(&gpu.link, PCIE_H2D, &copy, NULL);
		pcie_copy(&gpu.link, PCIE_D2H, &copy, NULL);
	}
	pcie_drain(&gpu.link, PCIE_H2D);
	pcie_drain(&gpu.link, PCIE_D2H);
	link_ns = eng_now() - start;
}

static void body(void *data)
{
	(void)data;
	ck_assert_int_eq(sim_gpu_start(&gpu), 0);
	measure_link();
	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	walk_rounds(sim_process_map(&process, BLOCKS * CHUNK, true));
	/* The evictor goes on until the next batch of that size finds room for all of it. */
	ck_assert_int_eq(eng_sleep_until(eng_now() + 100000 * US), 0);
	ck_assert_uint_eq(CHUNKS - gpu.device.bound_chunks, BATCH);
	sim_process_exit(&process);
	sim_gpu_stop(&gpu);
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
}

static void simulate(u64 bandwidth, u64 bandwidth_both)
{
	static const struct sim_memory_policy ghost = { .evictors = true };

	profile.link.bandwidth = bandwidth;
	profile.link.bandwidth_both = bandwidth_both;
	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu0", &profile, &ghost), 0);
	eng_spawn("body", body, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	sim_gpu_destroy(&gpu);
}

/* The share of @bytes_per_s that was moved, in percent. */
static u64 percent_of(u64 bytes_per_s)
{
	unsigned __int128 allowed = (unsigned __int128)bytes_per_s * moved_ns / 1000000000;

	return (u64)((unsigned __int128)moved_bytes * 100 / allowed);
}

static const struct {
	u64 bandwidth;
	u64 bandwidth_both;
} links[] = {
	{ 16000000000, 16000000000 }, /* a100-40g: both directions share one's bandwidth */
	{ 25000000000, 50000000000 }, /* full duplex on PCIe 4.0 x16 */
};

START_TEST(both_directions_together_carry_what_the_profile_allows)
{
	simulate(links[_i].bandwidth, links[_i].bandwidth_both);
	ck_assert_uint_eq(process.stats.faults, (ROUNDS + 1) * BLOCKS);
	ck_assert_uint_ge(percent_of(links[_i].bandwidth_both), 95);
}
END_TEST

/*
 * A chunk crosses an H100's link in less time than the driver takes to evict one chunk and to
 * service the fault on another. So the link is kept busy only if evictor and fault handler work
 * side by side. Set-ups alone take 5 % of this link, so the result is compared with the link's
 * own measured time.
 */
START_TEST(a_fast_link_is_kept_busy_by_handler_and_evictor_side_by_side)
{
	simulate(55000000000, 96000000000);
	ck_assert_uint_ge(percent_of(2 * COPIES * CHUNK * 1000000000 / link_ns), 95);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("saturation");
	TCase *tcase = tcase_create("saturation");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, both_directions_together_carry_what_the_profile_allows, 0,
			    sizeof(links) / sizeof(links[0]));
	tcase_add_test(tcase, a_fast_link_is_kept_busy_by_handler_and_evictor_side_by_side);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
