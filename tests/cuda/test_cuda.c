// SPDX-License-Identifier: MIT OR GPL-2.0
/* The CUDA runtime with one stream: launches, accesses, ends of applications. */
#include "cuda_fixture.h"

static int launch(u32 kernels, u64 kernel_ns, const struct cuda_access *access)
{
	return launch_on(NULL, kernels, kernel_ns, access);
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
	simulate(launch_three_and_wait);
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
	simulate(access_head_and_all);
	ck_assert_uint_eq(process.stats.bytes_d2h, 0);
}
END_TEST

static void wait_until_interrupted(void)
{
	struct cuda_memory memory;
	struct cuda_access access;

	interrupt_at(50 * US);
	ck_assert_int_eq(cuda_malloc_managed(&cuda, CHUNK, false, &memory), 0);
	access = cuda_access_all(&memory, CUDA_WRITE);
	ck_assert_int_eq(launch(1, 100 * MS, &access), 0);
	ck_assert_int_eq(launch(1, 100 * MS, NULL), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), -EINTR);
}

START_TEST(an_interrupted_application_returns_and_leaves_its_queue_to_the_runtime)
{
	simulate(wait_until_interrupted);
}
END_TEST

static void launch_into_a_dead_context(void)
{
	kill_at(50 * US);
	ck_assert_int_eq(launch(1, 100 * MS, NULL), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), -EIO);
	ck_assert_uint_eq(eng_now(), 50 * US);
	ck_assert_int_eq(launch(1, 100 * MS, NULL), 0);
	ck_assert_int_eq(cuda_synchronize(&cuda), -EIO);
}

START_TEST(a_dead_context_fails_what_it_has_and_what_comes)
{
	simulate(launch_into_a_dead_context);
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
	scheduling =
		(struct gvm_scheduler_config){ GVM_SCHED_PRIORITY, GVM_TRACK_EVENTS, 2 * MS };
	simulate(exit_with_work_pending);
}
END_TEST

TEST_MAIN("cuda", bursts_run_in_order_and_synchronize_waits_for_the_last,
	  accesses_are_of_chunks_and_discards_give_them_back,
	  an_interrupted_application_returns_and_leaves_its_queue_to_the_runtime,
	  a_dead_context_fails_what_it_has_and_what_comes,
	  launches_are_reported_and_none_stays_pending_after_exit)
