// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The host engine: small schedules worked out by hand, checked to the nanosecond.
 * Timeslice 100, context switch 10, unless a test says otherwise.
 */
#include "runner.h"
#include "three_tsgs.h"

static void one_alone(void)
{
	struct fifo_burst burst = ready_burst(3, 200);

	fifo_submit(&tsg_a, &burst);
	expect_end(&burst, 610);
	ck_assert_uint_eq(tsg_a.busy_ns, 600);
	ck_assert_uint_eq(fifo.switches, 1);
}

START_TEST(a_tsg_alone_runs_past_its_slice_without_switches)
{
	simulate(one_alone);
}
END_TEST

static void two_busy(void)
{
	struct fifo_burst a = ready_burst(1, 250);
	struct fifo_burst b = ready_burst(1, 150);

	/* a 10-110, b 120-220, a 230-330, b 340-390, a 400-450 */
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	expect_end(&b, 390);
	expect_end(&a, 450);
	ck_assert_uint_eq(fifo.switches, 5);
	ck_assert_uint_eq(tsg_a.busy_ns, 250);
	ck_assert_uint_eq(tsg_b.busy_ns, 150);
}

START_TEST(two_busy_tsgs_alternate_by_slices_and_pay_each_switch)
{
	simulate(two_busy);
}
END_TEST

static void state_in_use(void)
{
	struct fifo_burst a = ready_burst(1, 250);
	struct fifo_burst b = ready_burst(2, 100);

	/*
	 * 8 to save or restore a full GPU. a's kernel is in execution when its slice ends, and
	 * holds half of it. b leaves between two kernels, with no state. A slice begins with
	 * the restore. So a 10-110, switch 10 + 4, b 124-224, switch 10 + 4, a 238-334, 14, b
	 * 348-448, 14, a 462-516.
	 */
	fifo.config.context_state_ns = 8;
	a.occupancy_ppm = 500000;
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	expect_end(&b, 448);
	expect_end(&a, 516);
	ck_assert_uint_eq(fifo.switches, 5);
}

START_TEST(a_switch_saves_and_restores_the_state_of_kernels_in_execution)
{
	simulate(state_in_use);
}
END_TEST

static void newcomer(void)
{
	struct fifo_burst a = ready_burst(1, 1000);
	struct fifo_burst b = ready_burst(1, 50);

	/*
	 * a has run since 10, and at 500 its slice is long over: b 510-560, then a's 510 left
	 * end at 1080
	 */
	fifo_submit(&tsg_a, &a);
	eng_sleep_until(500);
	fifo_submit(&tsg_b, &b);
	expect_end(&b, 560);
	expect_end(&a, 1080);
}

START_TEST(a_newcomer_gets_the_gpu_at_once_from_one_who_outstayed_its_slice)
{
	simulate(newcomer);
}
END_TEST

static void newcomer_beside_a_queue(void)
{
	struct fifo_burst a = ready_burst(10, 100);
	struct fifo_burst b = ready_burst(1, 50);

	/*
	 * a began new slices at 110, 210, 310 and 410, for its kernels are queued. b comes at
	 * 490 and waits for 510. It begins at 520.
	 */
	fifo_submit(&tsg_a, &a);
	eng_sleep_until(490);
	fifo_submit(&tsg_b, &b);
	expect_end(&b, 570);
	expect_end(&a, 1080);
}

START_TEST(a_newcomer_waits_for_the_slice_of_one_with_a_queue)
{
	simulate(newcomer_beside_a_queue);
}
END_TEST

static void newcomer_beside_a_late_queue(void)
{
	struct fifo_burst a = { .kernels = 3, .kernel_ns = 300, .launch_ns = 90 };
	struct fifo_burst b = ready_burst(1, 50);

	/*
	 * a is loaded at 100, and its slice ends at 200. Its second kernel is launched at 180,
	 * so a new slice begins, and another at 300. b comes at 310 and waits for 400.
	 */
	fifo_submit(&tsg_a, &a);
	eng_sleep_until(310);
	fifo_submit(&tsg_b, &b);
	expect_end(&b, 460);
}

START_TEST(launched_kernels_are_a_queue_and_others_are_not)
{
	simulate(newcomer_beside_a_late_queue);
}
END_TEST

static void newcomer_in_slice(void)
{
	struct fifo_burst a = ready_burst(1, 1000);
	struct fifo_burst b = ready_burst(1, 50);

	/* a's slice ends at 110: b 120-170 */
	fifo_submit(&tsg_a, &a);
	eng_sleep_until(40);
	fifo_submit(&tsg_b, &b);
	expect_end(&b, 170);
}

START_TEST(a_newcomer_waits_for_the_end_of_a_running_slice)
{
	simulate(newcomer_in_slice);
}
END_TEST

static void gaps(void)
{
	/* a: 3 kernels of 20, launched at 100, 200, 300. b: 400 of work, ready. */
	struct fifo_burst a = { .kernels = 3, .kernel_ns = 20, .launch_ns = 100 };
	struct fifo_burst b = ready_burst(1, 400);

	/*
	 * b 10-110 is alone until a is ready at 100. b's slice ends at 110, so a switches in at
	 * 110-120, runs 120-140 and is dry. b 150-250 (a ready again at 200); a 260-280, dry; b
	 * 290-390 (a ready at 300); a 400-420, done. b has 100 left: 430-530.
	 */
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	expect_end(&a, 420);
	expect_end(&b, 530);
	ck_assert_uint_eq(tsg_a.busy_ns, 60);
}

START_TEST(a_launch_bound_burst_gives_its_gaps_to_others)
{
	simulate(gaps);
}
END_TEST

static void round_robin(void)
{
	struct fifo_burst a = ready_burst(1, 100);
	struct fifo_burst b = ready_burst(1, 100);
	struct fifo_burst c = ready_burst(1, 100);

	fifo_submit(&tsg_c, &c);
	fifo_submit(&tsg_b, &b);
	fifo_submit(&tsg_a, &a);
	/* c was first; the runlist goes a, b, c, a, ... */
	expect_end(&c, 110);
	expect_end(&a, 220);
	expect_end(&b, 330);
}

START_TEST(tsgs_take_turns_in_the_order_of_the_runlist)
{
	simulate(round_robin);
}
END_TEST

static void one_stream(void)
{
	struct fifo_burst first = { .kernels = 2, .kernel_ns = 10, .launch_ns = 50 };
	struct fifo_burst second = first;

	/* launches at 50 and 100, then, by the same host thread, at 150 and 200 */
	fifo_submit(&tsg_a, &first);
	fifo_submit(&tsg_a, &second);
	expect_end(&first, 110);
	expect_end(&second, 210);
}

START_TEST(bursts_of_one_tsg_run_in_order_and_share_its_host_thread)
{
	simulate(one_stream);
}
END_TEST

static void disabled(void)
{
	struct fifo_burst a = ready_burst(1, 1000);
	struct fifo_burst b = ready_burst(1, 30);

	/* a is disabled at 50 and runs on. It is preempted at 60, and off until 300. */
	fifo_submit(&tsg_a, &a);
	eng_sleep_until(50);
	fifo_disable(&tsg_a);
	eng_sleep_until(60);
	fifo_preempt(&tsg_a);
	eng_sleep_until(200);
	ck_assert_uint_eq(tsg_a.busy_ns, 50);
	fifo_submit(&tsg_b, &b);
	expect_end(&b, 240);
	eng_sleep_until(300);
	fifo_enable(&tsg_a);
	/* It has 950 left, from 310 on. */
	expect_end(&a, 1260);
}

START_TEST(a_disabled_tsg_runs_until_preempted_and_then_not_at_all)
{
	simulate(disabled);
}
END_TEST

/*
 * a is loaded from 0 to 10 and runs; b waits for its turn, is loaded and runs for 30; a is
 * loaded again and runs to its end. From then on the GPU is idle.
 */
static void two_count_their_time(void)
{
	struct fifo_burst a = ready_burst(1, 150);
	struct fifo_burst b = ready_burst(1, 30);

	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	ck_assert_int_eq(fifo_wait(&a), 0);
	ck_assert_uint_eq(a.finished_ns, 150 + 30 + 3 * 10);
	eng_sleep_until(1000);
	fifo_update(&fifo);
	expect_usage(150 + 30, 3 * 10, 0, 3);
	ck_assert_uint_eq(tsg_a.switching_ns, 2 * 10);
	ck_assert_uint_eq(tsg_b.switching_ns, 10);
	/* While b is loaded and runs, a waits. b waits for all that a has done until then. */
	ck_assert_uint_eq(tsg_a.waited_ns, 10 + 30);
	ck_assert_uint_eq(tsg_b.waited_ns, b.finished_ns - 30 - 10);
	ck_assert_uint_eq(tsg_a.blocked_ns + tsg_b.blocked_ns, 0);
}

START_TEST(every_nanosecond_is_busy_switching_stalled_or_idle)
{
	simulate(two_count_their_time);
}
END_TEST

static void turns(void)
{
	struct fifo_burst a = ready_burst(1, 100000);
	struct fifo_burst b = ready_burst(1, 100000);
	struct fifo_burst c = ready_burst(1, 100000);

	/*
	 * Each time a runs, it is taken off and readmitted at once. The turn must go on to b
	 * and c.
	 */
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	fifo_submit(&tsg_c, &c);
	for (int i = 0; i < 300; i++) {
		eng_sleep_until(eng_now() + 50);
		if (!fifo_is_current(&tsg_a))
			continue;
		fifo_disable(&tsg_a);
		fifo_preempt(&tsg_a);
		fifo_enable(&tsg_a);
	}
	fifo_update(&fifo);
	ck_assert_uint_gt(tsg_b.busy_ns, 4000);
	ck_assert_uint_gt(tsg_c.busy_ns, 4000);
	fifo_kill(&fifo, tsg_a.id);
	fifo_kill(&fifo, tsg_b.id);
	fifo_kill(&fifo, tsg_c.id);
}

START_TEST(who_is_thrown_off_does_not_take_the_turn_of_others)
{
	simulate(turns);
}
END_TEST

static void killed(void)
{
	struct fifo_burst a = ready_burst(1, 1000);
	struct fifo_burst late = ready_burst(1, 1);
	struct fifo_burst b = ready_burst(1, 30);

	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(50);
	fifo_kill(&fifo, tsg_a.id);
	ck_assert_int_eq(fifo_wait(&a), -EIO);
	fifo_submit(&tsg_a, &late);
	ck_assert_int_eq(fifo_wait(&late), -EIO);
	ck_assert_uint_eq(fifo_ended_kernels(&tsg_a), 1);
	expect_end(&b, 90);
}

START_TEST(a_killed_tsg_fails_its_bursts_and_nobody_elses)
{
	simulate(killed);
}
END_TEST

static void slices_set(void)
{
	struct fifo_burst a = ready_burst(1, 250);
	struct fifo_burst b = ready_burst(1, 60);

	/* a 10-210 by a slice of 200, b 220-270 by one of 50, a 280-330, b 340-350 */
	fifo_set_timeslice(&tsg_a, 200);
	fifo_set_timeslice(&tsg_b, 50);
	fifo_submit(&tsg_a, &a);
	fifo_submit(&tsg_b, &b);
	expect_end(&a, 330);
	expect_end(&b, 350);
}

START_TEST(each_tsg_has_its_own_timeslice)
{
	simulate(slices_set);
}
END_TEST

static void pending(void)
{
	struct fifo_burst a = { .kernels = 4, .kernel_ns = 100, .launch_ns = 10 };

	/* launched at 10, 20, 30, 40; the first runs from 10 */
	fifo_submit(&tsg_a, &a);
	eng_sleep_until(35);
	fifo_update(&fifo);
	ck_assert_uint_eq(fifo_pending_kernels(&tsg_a), 3);
	eng_sleep_until(150);
	fifo_update(&fifo);
	ck_assert_uint_eq(fifo_pending_kernels(&tsg_a), 3);
	expect_end(&a, 410 + 10);
	ck_assert_uint_eq(fifo_pending_kernels(&tsg_a), 0);
}

START_TEST(pending_kernels_are_launched_and_not_ended)
{
	simulate(pending);
}
END_TEST

static void random_load(void)
{
	struct fifo_tsg *tsgs[] = { &tsg_a, &tsg_b, &tsg_c };
	static struct fifo_burst bursts[300];
	u64 expected[3] = { 0 };
	u64 busy = 0;

	srand(7);
	for (int i = 0; i < 300; i++) {
		bursts[i] = (struct fifo_burst){ .kernels = 1 + (u32)rand() % 20,
						 .kernel_ns = 1 + (u64)rand() % 60,
						 .launch_ns = (u64)rand() % 60 };
		expected[i % 3] += bursts[i].kernels * bursts[i].kernel_ns;
		fifo_submit(tsgs[i % 3], &bursts[i]);
		eng_sleep_until(eng_now() + (u64)rand() % 300);
	}
	for (int i = 0; i < 300; i++)
		ck_assert_int_eq(fifo_wait(&bursts[i]), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(tsgs[i]->busy_ns, expected[i]);
		busy += tsgs[i]->busy_ns;
	}
	ck_assert_uint_le(busy + fifo.switches * 10, eng_now());
}

START_TEST(all_work_is_done_and_busy_time_adds_up_under_random_load)
{
	simulate(random_load);
}
END_TEST

TEST_MAIN("fifo", a_tsg_alone_runs_past_its_slice_without_switches,
	  two_busy_tsgs_alternate_by_slices_and_pay_each_switch,
	  a_switch_saves_and_restores_the_state_of_kernels_in_execution,
	  a_newcomer_gets_the_gpu_at_once_from_one_who_outstayed_its_slice,
	  a_newcomer_waits_for_the_slice_of_one_with_a_queue,
	  launched_kernels_are_a_queue_and_others_are_not,
	  a_newcomer_waits_for_the_end_of_a_running_slice,
	  a_launch_bound_burst_gives_its_gaps_to_others,
	  tsgs_take_turns_in_the_order_of_the_runlist,
	  bursts_of_one_tsg_run_in_order_and_share_its_host_thread,
	  a_disabled_tsg_runs_until_preempted_and_then_not_at_all,
	  every_nanosecond_is_busy_switching_stalled_or_idle,
	  who_is_thrown_off_does_not_take_the_turn_of_others,
	  a_killed_tsg_fails_its_bursts_and_nobody_elses, each_tsg_has_its_own_timeslice,
	  pending_kernels_are_launched_and_not_ended,
	  all_work_is_done_and_busy_time_adds_up_under_random_load)
