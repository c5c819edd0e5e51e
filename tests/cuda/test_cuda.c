// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The CUDA runtime on a simulated GPU of 16 chunks, where faults and copies take next to no time.
 * One simulation a test.
 */
#include "cuda/cuda.h"
#include "gpu/service.h"
#include "runner.h"

#define CHUNK GVM_CHUNK_BYTES
#define US    1000ull
#define MS    1000000ull

static struct cfg_gpu profile = {
	.memory = 16 * CHUNK,
	.link = { .bandwidth = 65536000000000, .bandwidth_both = 131072000000000 },
	.sched = { .timeslice = MS, .timeslice_scale = CFG_PPM },
	.fault = { .buffer_entries = 256,
		   .outstanding = 256,
		   .per_block = 32,
		   .zero_bandwidth = 65536000000000 },
};

static struct sim_gpu gpu;
static struct sim_process process;
static struct cuda_device device;
static struct cuda_context cuda;
static struct eng_actor *app;
static struct eng_timer timer;
static void (*app_body)(void);

static void app_main(void *data)
{
	(void)data;
	app_body();
}

/* The application returns without a look at what it has queued. */
static void machine_main(void *data)
{
	(void)data;
	cuda_device_start(&device);
	ck_assert_int_eq(sim_gpu_start(&gpu), 0);
	ck_assert_int_eq(sim_process_start(&process, &gpu, 1), 0);
	cuda_context_create(&cuda, &device, &process);
	app = eng_spawn("app", app_main, NULL);
	eng_join(app);
	cuda_context_destroy(&cuda);
	ck_assert(!process.running || !fifo_busy(&process.tsg));
	cuda_process_exit(&cuda);
	cuda_process_exit(&cuda);
	cuda_device_stop(&device);
	sim_gpu_stop(&gpu);
	ck_assert_int_eq(gvm_check(&gpu.device), 0);
}

static void simulate(void (*body)(void), enum gvm_sched_policy policy)
{
	static const struct sim_memory_policy memory;

	app_body = body;
	ck_assert_int_eq(eng_init(), 0);
	ck_assert_int_eq(sim_gpu_init(&gpu, "gpu0", &profile, &memory), 0);
	gpu.scheduling = (struct gvm_scheduler_config){ policy, GVM_TRACK_EVENTS, 2 * MS };
	cuda_device_init(&device, &gpu);
	eng_spawn("machine", machine_main, NULL);
	ck_assert_int_eq(eng_run(NULL, NULL, 1), ENG_END_DONE);
	sim_gpu_destroy(&gpu);
}

static int launch(u32 kernels, u64 kernel_ns, const struct cuda_access *access)
{
	return cuda_launch(&cuda,
			   &(struct cuda_burst_config){ .kernels = kernels,
							.kernel_ns = kernel_ns,
							.accesses = access,
							.access_count = access ? 1 : 0 });
}

static void launch_three_and_wait(void)
{
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	for (u32 i = 0; i < 3; i++)
		ck_assert_int_eq(launch(2, 10 * US, NULL), 0);
	ck_assert_uint_eq(eng_now(), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	ck_assert_uint_eq(eng_now(), 60 * US);
}

START_TEST(bursts_run_in_order_and_synchronize_waits_for_the_last)
{
	simulate(launch_three_and_wait, GVM_SCHED_TIMESLICES);
}
END_TEST

/* What was accessed is copied at the launch: the list may change at once. */
static void access_head_and_all(void)
{
	struct cuda_memory memory, none;
	struct cuda_access access;

	ck_assert_int_eq(cuda_malloc_managed(&cuda, 0, true, &none), 0);
	ck_assert_int_eq(cuda_malloc_managed(&cuda, 4 * CHUNK, false, &memory), 0);
	access = cuda_access_all(&none, CUDA_READ);
	ck_assert_int_eq(launch(1, US, &access), 0);
	access = cuda_access_head(&memory, CHUNK + 1, CUDA_WRITE);
	ck_assert_uint_eq(access.chunks, 2);
	ck_assert_int_eq(launch(1, US, &access), 0);
	access = (struct cuda_access){ 0 };
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	ck_assert_uint_eq(gvm_charged_bytes(process.container), 2 * CHUNK);
	access = cuda_access_all(&memory, CUDA_WRITE);
	ck_assert_int_eq(launch(1, US, &access), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), 0);
	ck_assert_uint_eq(gvm_charged_bytes(process.container), 4 * CHUNK);
	ck_assert_uint_eq(cuda_discard(&none, 0, CHUNK), 0);
	ck_assert_uint_eq(cuda_discard(&memory, 0, 3 * CHUNK), 3 * CHUNK);
	ck_assert_uint_eq(gvm_charged_bytes(process.container), CHUNK);
}

START_TEST(accesses_are_of_chunks_and_discards_give_them_back)
{
	simulate(access_head_and_all, GVM_SCHED_TIMESLICES);
	ck_assert_uint_eq(process.stats.bytes_d2h, 0);
}
END_TEST

static void fire_interrupt(struct eng_timer *fired)
{
	(void)fired;
	eng_interrupt(app);
}

static void wait_until_interrupted(void)
{
	struct cuda_memory memory;
	struct cuda_access access;

	timer.fire = fire_interrupt;
	eng_timer_set(&timer, 50 * US);
	ck_assert_int_eq(cuda_malloc_managed(&cuda, CHUNK, false, &memory), 0);
	access = cuda_access_all(&memory, CUDA_WRITE);
	ck_assert_int_eq(launch(1, 100 * MS, &access), 0);
	ck_assert_int_eq(launch(1, 100 * MS, NULL), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), -EINTR);
}

START_TEST(an_interrupted_application_returns_and_leaves_its_queue_to_the_runtime)
{
	simulate(wait_until_interrupted, GVM_SCHED_TIMESLICES);
}
END_TEST

static void fire_kill(struct eng_timer *fired)
{
	(void)fired;
	sim_process_die(&process, -EFAULT);
}

static void launch_into_a_dead_context(void)
{
	timer.fire = fire_kill;
	eng_timer_set(&timer, 50 * US);
	ck_assert_int_eq(launch(1, 100 * MS, NULL), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), -EIO);
	ck_assert_uint_eq(eng_now(), 50 * US);
	ck_assert_int_eq(launch(1, 100 * MS, NULL), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), -EIO);
}

START_TEST(a_dead_context_fails_what_it_has_and_what_comes)
{
	simulate(launch_into_a_dead_context, GVM_SCHED_TIMESLICES);
}
END_TEST

/* 1000 kernels of 100 us, and a look every 2 ms: 20 a look. */
static void exit_with_work_pending(void)
{
	struct gvm_container *container = process.container;

	gvm_container_get(container);
	ck_assert_int_eq(launch(1000, 100 * US, NULL), 0);
	eng_sleep_until(7 * MS);
	ck_assert_uint_eq(container->kernels_submitted, 1000);
	ck_assert_uint_eq(container->kernels_ended, 60);
	cuda_process_exit(&cuda);
	ck_assert_uint_eq(container->kernels_submitted, 1000);
	ck_assert_uint_eq(container->kernels_ended, 1000);
	eng_sleep_until(9 * MS);
	gvm_container_put(container);
}

START_TEST(launches_are_reported_and_none_stays_pending_after_exit)
{
	simulate(exit_with_work_pending, GVM_SCHED_PRIORITY);
}
END_TEST

TEST_MAIN("cuda", bursts_run_in_order_and_synchronize_waits_for_the_last,
	  accesses_are_of_chunks_and_discards_give_them_back,
	  an_interrupted_application_returns_and_leaves_its_queue_to_the_runtime,
	  a_dead_context_fails_what_it_has_and_what_comes,
	  launches_are_reported_and_none_stays_pending_after_exit)
