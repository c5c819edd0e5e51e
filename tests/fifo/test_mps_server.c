// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The MPS server on the runlist: its clients share its turns. Small schedules worked out by
 * hand, checked to the nanosecond. The timeslice is 100 and a context switch takes 10.
 */
#include "partition_world.h"
#include "runner.h"

/*
 * An MPS server with clients a and b, which get at most @limit_ppm of the SMs each. c is beside
 * it.
 */
static struct fifo_entry server;

static void join_server(u32 limit_ppm)
{
	fifo_server_init(&fifo, &server, 0);
	ck_assert_int_eq(fifo_tsg_init_client(&server, &tsg_a, &table, limit_ppm), 0);
	ck_assert_int_eq(fifo_tsg_init_client(&server, &tsg_b, &table, limit_ppm), 0);
	join(&tsg_c, 0, FIFO_ALL_PPM);
}

static void server_and_another(void)
{
	struct fifo_burst a = kernel(200, 0, 0), b = a, c = kernel(250, 0, 0);

	/*
	 * a and b have half of the SMs each: 50 in a slice of 100. Server 10-110, c 120-220,
	 * server 230-330, c 340-440, server 450-550, c 560-610, server 620-720.
	 */
	join_server(HALF);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	fifo_submit(&tsg_c, &c);
	eng_sleep_until(300);
	fifo_update(&fifo);
	ck_assert(fifo_is_current(&tsg_a) && fifo_is_current(&tsg_b));
	ck_assert(!fifo_is_current(&tsg_c));
	ck_assert_uint_eq(tsg_a.busy_ns, 85);
	ck_assert_uint_eq(tsg_b.busy_ns, 85);
	ck_assert_uint_eq(tsg_c.busy_ns, 100);
	expect_end(&c, 610);
	expect_end(&a, 720);
	expect_end(&b, 720);
	ck_assert_uint_eq(fifo.switches, 7);
	fifo_tsg_destroy(&tsg_a);
	fifo_tsg_destroy(&tsg_b);
	fifo_server_destroy(&server);
	a = kernel(100, 0, 0);
	fifo_submit(&tsg_c, &a);
	expect_end(&a, 830);
}

START_TEST(an_mps_server_takes_turns_and_its_clients_share_them)
{
	simulate(&everything_in_time, NULL, server_and_another);
}
END_TEST

static void server_without_work(void)
{
	struct fifo_burst a = kernel(30, 0, 0), b = kernel(50, 0, 0), c = kernel(100, 0, 0);
	struct fifo_burst late = kernel(10, 0, 0);

	/*
	 * Both can use all SMs and have one kernel: 30 and 50 take 80. The turn ends at 90. c
	 * runs 100-200. a's next kernel waits for c's end.
	 */
	join_server(FIFO_ALL_PPM);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	fifo_submit(&tsg_c, &c);
	expect_end(&a, 90);
	expect_end(&b, 90);
	eng_sleep_until(150);
	fifo_submit(&tsg_a, &late);
	expect_end(&c, 200);
	expect_end(&late, 220);
	ck_assert_uint_eq(fifo.switches, 3);
}

START_TEST(a_server_gives_way_when_none_of_its_clients_has_work)
{
	simulate(&everything_in_time, NULL, server_without_work);
}
END_TEST

static void submit_one_that_faults(struct fifo_burst *burst)
{
	static const struct gmmu_touch touch = { .va = VA, .block_count = 1 };

	*burst = kernel(100, 0, 0);
	burst->touches = &touch;
	burst->touch_count = 1;
	fifo_submit(&tsg_a, burst);
}

static void stalled_client(void)
{
	struct fifo_burst a, b = kernel(100, 0, 0), c = kernel(100, 0, 0);

	b.kernels = 10;
	/*
	 * a stalls from 10 to 1010 and keeps its half. b's first kernel has done its work at
	 * 210, and waits to end. At 1010, long past its slice, the server leaves at once. c
	 * 1020-1120. The server runs from 1130 on: a's 100 beside b take 200. c has no more
	 * work, so the server runs on. b has done 200 by 1330, and is alone with 800.
	 */
	join_server(FIFO_ALL_PPM);
	submit_one_that_faults(&a);
	fifo_submit(&tsg_b, &b);
	fifo_submit(&tsg_c, &c);
	eng_sleep_until(1010);
	map_page();
	ck_assert_uint_eq(tsg_b.busy_ns, 100);
	ck_assert_uint_eq(tsg_b.blocked_ns, 800);
	ck_assert_uint_eq(tsg_a.blocked_ns, 0);
	ck_assert_uint_eq(tsg_c.blocked_ns, 1000);
	ck_assert_uint_eq(fifo_stall_ns(&tsg_a.stall), 1000);
	expect_end(&c, 1120);
	expect_end(&a, 1330);
	expect_end(&b, 2130);
}

START_TEST(a_client_that_faults_keeps_the_server_loaded)
{
	simulate(&everything_in_time, NULL, stalled_client);
}
END_TEST

static void begun_beside_faults(void)
{
	struct fifo_burst a, b = kernel(50, HALF, 0), next = b;

	/*
	 * a stalls from 10 to 510 with half of the SMs. b begins at 100 and could end at 150.
	 */
	join_server(HALF);
	submit_one_that_faults(&a);
	eng_sleep_until(100);
	fifo_submit(&tsg_b, &b);
	fifo_submit(&tsg_b, &next);
	eng_sleep_until(149);
	ck_assert_uint_eq(fifo_pending_kernels(&tsg_b), 2);
	eng_sleep_until(510);
	ck_assert_uint_eq(fifo_pending_kernels(&tsg_b), 2);
	map_page();
	expect_end(&b, 510);
	ck_assert_uint_eq(tsg_b.busy_ns, 50);
	ck_assert_uint_eq(tsg_b.blocked_ns, 360);
	expect_end(&next, 560);
	expect_end(&a, 710);
}

START_TEST(a_kernel_begins_beside_one_that_faults_and_ends_behind_its_faults)
{
	simulate(&everything_in_time, NULL, begun_beside_faults);
}
END_TEST

static void a_long_kernel_beside_faults(void)
{
	struct fifo_burst a, b = kernel(1000, HALF, 0);

	/* a stalls from 10 to 510, and ends at 710. b began before that, and is long enough. */
	join_server(HALF);
	fifo_submit(&tsg_b, &b);
	submit_one_that_faults(&a);
	eng_sleep_until(510);
	map_page();
	expect_end(&a, 710);
	expect_end(&b, 1010);
	ck_assert_uint_eq(tsg_b.blocked_ns, 0);
}

START_TEST(a_kernel_that_is_longer_than_the_faults_does_not_wait)
{
	simulate(&everything_in_time, NULL, a_long_kernel_beside_faults);
}
END_TEST

static void faults_that_end_with_their_client(void)
{
	struct fifo_burst a, b = kernel(50, 0, 0);

	join_server(FIFO_ALL_PPM);
	submit_one_that_faults(&a);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(400);
	ck_assert(!b.finished);
	fifo_kill(&fifo, tsg_a.id);
	expect_end(&b, 400);
	fifo_tsg_destroy(&tsg_a);
	ck_assert_int_eq(fifo_tsg_init_client(&server, &tsg_a, &table, FIFO_ALL_PPM), 0);
	submit_one_that_faults(&a);
	b = kernel(50, 0, 0);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(600);
	ck_assert(!b.finished);
	fifo_tsg_destroy(&tsg_a);
	expect_end(&b, 600);
}

START_TEST(no_kernel_waits_for_faults_of_a_client_that_is_gone)
{
	simulate(&everything_in_time, NULL, faults_that_end_with_their_client);
}
END_TEST

static void two_channels_beside_faults(void)
{
	struct fifo_burst a, b = kernel(50, 0, 0), other = kernel(70, 0, 0);
	struct fifo_channel channel;

	/* b's TSG waits with its first kernel, and its other channel waits for it. */
	join_server(FIFO_ALL_PPM);
	fifo_channel_init(&channel, &tsg_b);
	submit_one_that_faults(&a);
	fifo_submit(&tsg_b, &b);
	fifo_submit_to(&channel, &other);
	eng_sleep_until(500);
	fifo_update(&fifo);
	ck_assert_uint_eq(tsg_b.busy_ns, 50);
	map_page();
	expect_end(&b, 500);
	/* They share the SMs by their lengths. */
	expect_end(&other, 671);
	expect_end(&a, 671);
	fifo_channel_destroy(&channel);
}

START_TEST(a_client_that_waits_to_end_a_kernel_runs_no_other_channel)
{
	simulate(&everything_in_time, NULL, two_channels_beside_faults);
}
END_TEST

static void settings_of_a_server(void)
{
	struct fifo_burst a = kernel(1000, 0, 0), b = a, c = kernel(50, 0, 0);

	/*
	 * A slice of 40 that is written to b is the whole server's. b alone is taken off at 30.
	 * The server's turn ends, and c runs. From 90 on it is the server's turn, and a has all
	 * SMs.
	 */
	join_server(FIFO_ALL_PPM);
	fifo_set_timeslice(&tsg_b, 40);
	ck_assert_uint_eq(tsg_a.timeslice_ns, 40);
	ck_assert_uint_eq(tsg_c.timeslice_ns, 100);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	fifo_submit(&tsg_c, &c);
	eng_sleep_until(30);
	fifo_disable(&tsg_b);
	fifo_preempt(&tsg_b);
	ck_assert_uint_eq(tsg_a.busy_ns, 10);
	expect_end(&c, 90);
	eng_sleep_until(200);
	fifo_update(&fifo);
	ck_assert_uint_eq(tsg_a.busy_ns, 110);
	ck_assert_uint_eq(tsg_b.busy_ns, 10);
	fifo_enable(&tsg_b);
	eng_sleep_until(300);
	fifo_update(&fifo);
	ck_assert_uint_eq(tsg_a.busy_ns, 160);
	ck_assert_uint_eq(tsg_b.busy_ns, 60);
	fifo_kill(&fifo, tsg_b.id);
	ck_assert_int_eq(fifo_wait(&b), -EIO);
	/* a has 840 left. */
	expect_end(&a, 1140);
}

START_TEST(a_server_has_one_timeslice_and_a_client_can_be_taken_off_alone)
{
	simulate(&everything_in_time, NULL, settings_of_a_server);
}
END_TEST

static void random_load_of_a_server(void)
{
	u64 work[3] = { 0 };

	join_server(FIFO_ALL_PPM / 3);
	run_random_load(runner_seed(), work);
	/* Each client has a third of the SMs, in the server's turns. */
	ck_assert_uint_ge(eng_now(), 3 * max(work[0], work[1]) + work[2]);
}

START_TEST(all_work_of_a_server_and_its_neighbour_is_done)
{
	simulate(&everything_in_time, NULL, random_load_of_a_server);
}
END_TEST

TEST_MAIN("MPS server", an_mps_server_takes_turns_and_its_clients_share_them,
	  a_server_gives_way_when_none_of_its_clients_has_work,
	  a_client_that_faults_keeps_the_server_loaded,
	  a_kernel_begins_beside_one_that_faults_and_ends_behind_its_faults,
	  a_kernel_that_is_longer_than_the_faults_does_not_wait,
	  no_kernel_waits_for_faults_of_a_client_that_is_gone,
	  a_client_that_waits_to_end_a_kernel_runs_no_other_channel,
	  a_server_has_one_timeslice_and_a_client_can_be_taken_off_alone,
	  all_work_of_a_server_and_its_neighbour_is_done)
