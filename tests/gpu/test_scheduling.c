// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The effects of the core's scheduler on a simulated GPU with an A100's timeslices and
 * switches: shares, waits, and no idle time. Up to 64 containers of one process without memory.
 */
#include "cuda/cuda.h"
#include "cuda/device.h"
#include "runner.h"

#define US	1000ull
#define MS	1000000ull
#define SEC	1000000000ull
#define TENANTS FIFO_CHANNELS_MAX

#define SWITCH	(445 * US)
#define RPC	(104 * US)
#define LOOK	(2 * MS)

static struct cfg_gpu profile = {
	.memory = 16 * GVM_CHUNK_BYTES,
	.link = { .bandwidth = 1000000000, .bandwidth_both = 2000000000 },
	.sched = { .timeslice = 2048 * US,
		   .timeslice_scale = CFG_PPM,
		   .context_switch = SWITCH,
		   .rpc = RPC },
	.fault = { .buffer_entries = 256,
		   .outstanding = 256,
		   .per_block = 32,
		   .zero_bandwidth = 1000000000 },
};

static struct sim_gpu gpu;
static struct sim_process tenants[TENANTS];
static struct cuda_device device;
static struct cuda_context contexts[TENANTS];
static struct fifo_burst endless[TENANTS];
static u32 tenant_count;
static void (*body)(void);

static void body_main(void *data)
{
	u32 i;

	(void)data;
	cuda_device_init(&device, &gpu);
	cuda_device_start(&device);
	ck_assert_int_eq(sim_gpu_start(&gpu), 0);
	for (i = 0; i < tenant_count; i++) {
		ck_assert_int_eq(sim_process_start(&tenants[i], &gpu, 1 + i), 0);
		cuda_context_create(&contexts[i], &device, &tenants[i]);
	}
	body();
	for (i = 0; i < tenant_count; i++)
		cuda_process_exit(&contexts[i]);
	cuda_device_stop(&device);
	sim_gpu_stop(&gpu);
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
}

static void simulate(u32 count, enum gvm_sched_policy policy, enum gvm_tracking tracking,
		     void (*function)(void))
{
	static const struct sim_memory_policy memory;

	body = function;
	tenant_count = count;
	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu0", &profile, &memory), 0);
	gpu.scheduling = (struct gvm_scheduler_config){ policy, tracking, LOOK };
	eng_spawn("body", body_main, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	sim_gpu_destroy(&gpu);
}

/* 1000 s of kernels of 100 us, all launched at once. */
static void submit_endless(u32 tenant)
{
	endless[tenant] = (struct fifo_burst){ .kernels = 10000000, .kernel_ns = 100 * US };
	fifo_submit(&tenants[tenant].tsg, &endless[tenant]);
}

static void set_weight(u32 tenant, u32 weight)
{
	ck_assert_int_eq(gvm_compute_set_weight(tenants[tenant].container, weight), 0);
}

static void set_priority(u32 tenant, u32 priority)
{
	ck_assert_int_eq(gvm_compute_set_priority(tenants[tenant].container, priority), 0);
}

static u64 busy_ns(u32 tenant)
{
	fifo_update(&gpu.fifo);
	return tenants[tenant].tsg.busy_ns;
}

static u64 busy_ns_of_all(void)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < tenant_count; i++)
		sum += busy_ns(i);
	return sum;
}

/* Weighted. */

/*
 * Each tenant's share of the busy time of all is its weight's, within @percent of that share.
 */
static void expect_shares(const u32 *weights, u64 percent)
{
	u64 total = busy_ns_of_all(), sum = 0;
	u32 i;

	for (i = 0; i < tenant_count; i++)
		sum += weights[i];
	for (i = 0; i < tenant_count; i++) {
		u64 share = total / sum * weights[i];

		ck_assert_uint_le(busy_ns(i), share + share * percent / 100);
		ck_assert_uint_ge(busy_ns(i), share - share * percent / 100);
	}
}

/* The GPU was never idle: every nanosecond is a tenant's, or part of a switch. */
static void expect_no_idle_time(u64 since_ns)
{
	u64 switches = gpu.fifo.switches * SWITCH;

	ck_assert_uint_ge(busy_ns_of_all() + switches + since_ns, eng_now());
}

static const u32 *wanted_weights;

static void run_by_weights(void)
{
	u32 i;

	for (i = 0; i < tenant_count; i++) {
		set_weight(i, wanted_weights[i]);
		submit_endless(i);
	}
	eng_sleep_until(10 * SEC);
	expect_shares(wanted_weights, 2);
	expect_no_idle_time(0);
	/* Timeslices alone make the shares. Each is set once, and no tenant is held. */
	ck_assert_uint_le(gpu.rpc.count, tenant_count);
}

START_TEST(busy_containers_get_their_shares_within_2_percent_in_10_seconds)
{
	static const u32 weights[][3] = { { 100, 200, 400 }, { 1, 2, 4 }, { 100, 100, 100 } };

	wanted_weights = weights[_i % 3];
	simulate(3, GVM_SCHED_WEIGHTED, _i < 3 ? GVM_TRACK_EVENTS : GVM_TRACK_BUSY_BITS,
		 run_by_weights);
}
END_TEST

START_TEST(from_2_to_64_containers_have_equal_shares)
{
	static u32 weights[TENANTS];
	u32 i;

	for (i = 0; i < TENANTS; i++)
		weights[i] = GVM_WEIGHT_DEFAULT;
	wanted_weights = weights;
	simulate(2u << _i, GVM_SCHED_WEIGHTED, GVM_TRACK_EVENTS, run_by_weights);
}
END_TEST

static void weights_far_apart(void)
{
	u64 share;

	set_weight(0, 10);
	set_weight(1, 990);
	submit_endless(0);
	submit_endless(1);
	eng_sleep_until(100 * SEC);
	share = busy_ns_of_all() / 100;
	ck_assert_uint_le(busy_ns(0), share + GVM_SCHED_OVERDRAFT_NS);
	ck_assert_uint_ge(busy_ns(0), share - GVM_SCHED_OVERDRAFT_NS);
	expect_no_idle_time(0);
	/*
	 * A hold and its release are two RPCs for a debt that takes several seconds to build
	 * up.
	 */
	ck_assert_uint_le(gpu.rpc.count, 40);
}

START_TEST(weights_further_apart_than_timeslices_are_kept_by_holding_off)
{
	simulate(2, GVM_SCHED_WEIGHTED, GVM_TRACK_EVENTS, weights_far_apart);
}
END_TEST

/* Work of 3 ms every 10 ms. Returns the longest time that one piece of work took. */
static u64 run_now_and_then(u32 tenant, u64 until_ns)
{
	u64 longest = 0, start;

	while (eng_now() < until_ns) {
		struct fifo_burst burst = { .kernels = 30, .kernel_ns = 100 * US };

		start = eng_now();
		fifo_submit(&tenants[tenant].tsg, &burst);
		ck_assert_int_eq(fifo_wait(&burst), 0);
		longest = max(longest, burst.finished_ns - start);
		eng_sleep_until(start + 10 * MS);
	}
	return longest;
}

static void light_beside_heavy(void)
{
	set_weight(0, 800);
	set_weight(1, 100);
	submit_endless(1);
	run_now_and_then(0, 10 * SEC);
	ck_assert_uint_ge(busy_ns(0), 3 * SEC * 99 / 100);
	expect_no_idle_time(0);
	ck_assert_uint_le(gpu.rpc.count, 2);
}

START_TEST(what_one_does_not_want_others_get_and_are_not_held_for_it)
{
	simulate(2, GVM_SCHED_WEIGHTED, _i ? GVM_TRACK_EVENTS : GVM_TRACK_BUSY_BITS,
		 light_beside_heavy);
}
END_TEST

/* Priority. */

static u32 low_priority;

/* The longest wait of a kernel of the highest priority, whenever it comes. */
static u64 longest_wait(void)
{
	u64 date = 0, longest = 0;
	u32 i;

	for (i = 0; i < 500; i++) {
		struct fifo_burst burst = { .kernels = 10, .kernel_ns = 100 * US };

		/* Between 1 and 21 ms apart, at every phase of looks and timeslices. */
		date = eng_now() + MS + i * 7919 * US % (20 * MS);
		eng_sleep_until(date);
		fifo_submit(&tenants[0].tsg, &burst);
		ck_assert_int_eq(fifo_wait(&burst), 0);
		longest = max(longest, burst.finished_ns - date - MS);
	}
	return longest;
}

static void high_over_low(void)
{
	u64 slice = gvm_priority_to_timeslice_us(low_priority) * US;
	u32 i;

	set_priority(0, 0);
	for (i = 1; i < tenant_count; i++) {
		set_priority(i, low_priority);
		submit_endless(i);
	}
	/* One switch, and the rest of another that may have begun. */
	if (tenant_count == 2)
		ck_assert_uint_le(longest_wait(), min(slice, LOOK + RPC) + 2 * SWITCH);
	else
		ck_assert_uint_le(longest_wait(), LOOK + RPC + 2 * SWITCH);
	ck_assert_uint_gt(busy_ns(1), 0);
}

START_TEST(a_high_kernel_waits_for_a_look_and_an_rpc_or_for_one_timeslice)
{
	static const u32 priorities[] = { 1, 9, 12, 16 };

	low_priority = priorities[_i % 4];
	simulate(2, GVM_SCHED_PRIORITY, _i < 4 ? GVM_TRACK_EVENTS : GVM_TRACK_BUSY_BITS,
		 high_over_low);
}
END_TEST

START_TEST(it_waits_no_longer_for_many_low_ones)
{
	low_priority = 9;
	simulate(2u << _i, GVM_SCHED_PRIORITY, GVM_TRACK_BUSY_BITS, high_over_low);
}
END_TEST

static void high_all_the_time(void)
{
	u64 before;

	set_priority(0, 0);
	set_priority(1, 9);
	submit_endless(1);
	eng_sleep_until(100 * MS);
	submit_endless(0);
	eng_sleep_until(110 * MS);
	before = busy_ns(1);
	eng_sleep_until(10 * SEC);
	ck_assert_uint_eq(busy_ns(1), before);
	/* A frozen container holds no other, and does not run itself. */
	ck_assert_int_eq(gvm_compute_freeze(tenants[0].container), 0);
	before = busy_ns(0);
	eng_sleep_until(20 * SEC);
	ck_assert_uint_eq(busy_ns(0), before);
	ck_assert_uint_ge(busy_ns(1), 99 * SEC / 10);
	ck_assert_int_eq(gvm_compute_thaw(tenants[0].container), 0);
	before = busy_ns(1);
	eng_sleep_until(30 * SEC);
	ck_assert_uint_ge(busy_ns(0), 198 * SEC / 10);
	ck_assert_uint_le(busy_ns(1), before + LOOK + RPC);
}

START_TEST(low_ones_run_when_the_high_one_is_frozen_and_never_beside_it)
{
	simulate(2, GVM_SCHED_PRIORITY, GVM_TRACK_BUSY_BITS, high_all_the_time);
}
END_TEST

/* 8 blocks of 2 MB, at 1 byte a ns. */
static void low_that_faults(void)
{
	struct gvm_range *range = sim_process_map(&tenants[1], 8 * GVM_CHUNK_BYTES, true);
	struct gmmu_touch touch = sim_touch_all(range, GVM_ACCESS_READ);
	struct fifo_burst low = {
		.kernels = 1, .kernel_ns = 50 * MS, .touches = &touch, .touch_count = 1
	};
	struct fifo_burst high = { .kernels = 10, .kernel_ns = 100 * US };
	const struct fifo_tsg *tsg = &tenants[1].tsg;

	set_priority(0, 0);
	set_priority(1, 1);
	fifo_submit(&tenants[1].tsg, &low);
	eng_sleep_until(eng_now() + 5 * MS);
	fifo_submit(&tenants[0].tsg, &high);
	ck_assert_int_eq(fifo_wait(&high), 0);
	/*
	 * The high kernel came in the middle of the faults. The low TSG was held when they
	 * ended, and ran no more.
	 */
	ck_assert(tenants[1].core_tsg.disabled && tenants[1].core_tsg.preempted);
	ck_assert_uint_ge(fifo_stall_ns(&tsg->stall), 8 * GVM_CHUNK_BYTES);
	ck_assert_uint_le(busy_ns(1), 100 * US);
	/* The two RPCs set priorities, before it came. */
	ck_assert_uint_le(high.finished_ns, 2 * RPC + SWITCH + fifo_stall_ns(&tsg->stall) +
						    busy_ns(1) + SWITCH + MS);
	ck_assert_int_eq(fifo_wait(&low), 0);
}

START_TEST(a_low_one_gets_its_outstanding_faults_and_then_leaves_the_gpu)
{
	simulate(2, GVM_SCHED_PRIORITY, _i ? GVM_TRACK_EVENTS : GVM_TRACK_BUSY_BITS,
		 low_that_faults);
}
END_TEST

static void gaps(void)
{
	u64 rpcs, longest;
	u32 i;

	set_priority(0, 0);
	for (i = 1; i < tenant_count; i++) {
		set_priority(i, 9);
		submit_endless(i);
	}
	rpcs = gpu.rpc.count;
	longest = run_now_and_then(0, 10 * SEC);
	ck_assert_uint_le(longest, 3 * MS + LOOK + RPC + 2 * SWITCH);
	/*
	 * 7 ms of 10 are a gap. A good part of it is left beside quiet times, looks, RPCs and
	 * switches.
	 */
	ck_assert_uint_ge(busy_ns_of_all() - busy_ns(0), SEC);
	/* A hold and a release for each gap. */
	ck_assert_uint_le(gpu.rpc.count - rpcs, 2 * 10 * SEC / (10 * MS));
}

START_TEST(gaps_are_used_and_cost_two_rpcs_each)
{
	simulate(2u << _i, GVM_SCHED_PRIORITY, GVM_TRACK_BUSY_BITS, gaps);
}
END_TEST

/* Timeslices only. */

static void no_scheduler(void)
{
	u32 i;

	for (i = 0; i < tenant_count; i++)
		submit_endless(i);
	eng_sleep_until(SEC);
	ck_assert_uint_eq(gpu.rpc.count, 0);
	ck_assert_ptr_null(gpu.device.scheduler);
}

START_TEST(with_timeslices_alone_there_is_no_scheduler_and_no_rpc)
{
	simulate(4, GVM_SCHED_TIMESLICES, GVM_TRACK_EVENTS, no_scheduler);
}
END_TEST

static void one_too_many(void)
{
	static struct sim_process another;

	ck_assert_int_eq(sim_process_start(&another, &gpu, 1000), -ENOSPC);
	ck_assert(!another.running);
	cuda_process_exit(&contexts[7]);
	ck_assert_int_eq(sim_process_start(&another, &gpu, 1000), 0);
	sim_process_exit(&another);
}

START_TEST(a_process_that_finds_no_channel_leaves_nothing_behind)
{
	simulate(TENANTS, GVM_SCHED_WEIGHTED, GVM_TRACK_EVENTS, one_too_many);
}
END_TEST

/* The counts that events bring up to date. */

static void count_launches(void)
{
	struct fifo_burst burst = { .kernels = 100,
				    .kernel_ns = 100 * US,
				    .launch_ns = 50 * US };
	struct gvm_container *container = tenants[0].container;

	eng_sleep_until(LOOK + MS);
	fifo_submit(&tenants[0].tsg, &burst);
	/*
	 * The event at 4 ms finds 20 kernels launched. The first was launched at 3.05 ms, and
	 * ran after a switch.
	 */
	eng_sleep_until(2 * LOOK + 1);
	ck_assert_uint_eq(container->kernels_submitted, 20);
	ck_assert_uint_eq(container->kernels_ended, 5);
	eng_sleep_until(3 * LOOK - 1);
	ck_assert_uint_eq(container->kernels_submitted, 20);
	eng_sleep_until(3 * LOOK + 1);
	ck_assert_uint_eq(container->kernels_submitted, 60);
	eng_sleep_until(SEC);
	ck_assert_uint_eq(container->kernels_submitted, 100);
	ck_assert_uint_eq(container->kernels_ended, 100);
}

START_TEST(launches_and_ends_are_known_as_of_the_last_event)
{
	simulate(1, GVM_SCHED_PRIORITY, GVM_TRACK_EVENTS, count_launches);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scheduling");
	TCase *tests = tcase_create("scheduling");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 600);
	tcase_add_loop_test(
		tests, busy_containers_get_their_shares_within_2_percent_in_10_seconds, 0, 6);
	tcase_add_loop_test(tests, from_2_to_64_containers_have_equal_shares, 0, 6);
	tcase_add_test(tests, weights_further_apart_than_timeslices_are_kept_by_holding_off);
	tcase_add_loop_test(tests, what_one_does_not_want_others_get_and_are_not_held_for_it, 0,
			    2);
	tcase_add_loop_test(
		tests, a_high_kernel_waits_for_a_look_and_an_rpc_or_for_one_timeslice, 0, 8);
	tcase_add_loop_test(tests, it_waits_no_longer_for_many_low_ones, 1, 6);
	tcase_add_test(tests, low_ones_run_when_the_high_one_is_frozen_and_never_beside_it);
	tcase_add_loop_test(
		tests, a_low_one_gets_its_outstanding_faults_and_then_leaves_the_gpu, 0, 2);
	tcase_add_loop_test(tests, gaps_are_used_and_cost_two_rpcs_each, 0, 6);
	tcase_add_test(tests, with_timeslices_alone_there_is_no_scheduler_and_no_rpc);
	tcase_add_test(tests, a_process_that_finds_no_channel_leaves_nothing_behind);
	tcase_add_test(tests, launches_and_ends_are_known_as_of_the_last_event);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
