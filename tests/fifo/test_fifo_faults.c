// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Faults on the host engine: where a burst stalls, what its kernel has touched by then, and who
 * gets the GPU at a replay. Schedules are worked out by hand and checked to the nanosecond.
 */
#include "runner.h"
#include "three_tsgs.h"

static void preempted_while_stalled(void)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 1 };
	struct fifo_burst a = ready_burst(1, 1000);
	struct fifo_burst b = ready_burst(1, 30);

	/*
	 * a stalls at 10 on its first page. When it is frozen at 50, it cannot leave before the
	 * replay at 200.
	 */
	submit_touching(&tsg_a, &a, &touch);
	eng_sleep_until(50);
	ck_assert(tsg_a.stalled);
	fifo_disable(&tsg_a);
	fifo_preempt(&tsg_a);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(200);
	ck_assert_uint_eq(tsg_b.busy_ns, 0);
	map_block(0);
	fifo_replay(&fifo);
	expect_end(&b, 240);
	eng_sleep_until(1000);
	fifo_update(&fifo);
	ck_assert_uint_eq(tsg_a.busy_ns, 0);
	ck_assert_uint_eq(fifo_stall_ns(&tsg_a.stall), 190);
	/* b has had work since 50. */
	ck_assert_uint_eq(tsg_b.blocked_ns, 150);
	ck_assert_uint_eq(tsg_a.blocked_ns, 0);
	ck_assert_uint_eq(tsg_b.waited_ns, 0);
	/* a had work and was frozen from 200 on. */
	ck_assert_uint_eq(tsg_a.waited_ns, 800);
	expect_usage(30, 10 + 10, 190, 2);
	fifo_enable(&tsg_a);
	expect_end(&a, 2010);
}

START_TEST(a_preemption_of_a_stalled_tsg_takes_effect_at_the_replay)
{
	simulate(preempted_while_stalled);
}
END_TEST

/*
 * A kernel that waits for its pages has begun: it is not withheld, and the context can leave
 * after the replay. It runs from 250 on, when b has ended.
 */
static void withheld_while_stalled(void)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 1 };
	struct fifo_burst a = ready_burst(2, 100), b = ready_burst(1, 30);

	submit_touching(&tsg_a, &a, &touch);
	eng_sleep_until(50);
	ck_assert(tsg_a.stalled);
	fifo_allow(&tsg_a, 0, false);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(200);
	map_block(0);
	fifo_replay(&fifo);
	expect_end(&b, 240);
	eng_sleep_until(1000);
	fifo_update(&fifo);
	ck_assert_uint_eq(tsg_a.busy_ns, 100);
	fifo_allow(&tsg_a, FIFO_ALLOW_ALL, false);
	expect_end(&a, 1100);
}

START_TEST(a_kernel_that_waits_for_its_pages_is_not_withheld)
{
	simulate(withheld_while_stalled);
}
END_TEST

static void unmapped_ahead(void)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 4 };
	struct fifo_burst a = ready_burst(4, 100);
	struct gvm_fault fault;

	/*
	 * A block a kernel, from 10 on. At 160 the kernels are done with block 0 and use block
	 * 1.
	 */
	map_four_blocks();
	submit_touching(&tsg_a, &a, &touch);
	eng_sleep_until(160);
	evict_block(&tsg_a, 0);
	evict_block(&tsg_a, 3);
	evict_block(&tsg_a, 2);
	eng_sleep_until(209);
	ck_assert(!tsg_a.stalled);
	eng_sleep_until(300);
	ck_assert(tsg_a.stalled);
	ck_assert_uint_eq(tsg_a.busy_ns, 200);
	/* The kernel at block 2 reports all of that block, and no page of the next kernel's. */
	ck_assert_uint_eq(gmmu.put - gmmu.get, 32);
	ck_assert_uint_eq(gmmu_fetch(&gmmu, &fault, 1), 1);
	ck_assert_uint_eq(fault.va, VA + 2 * GVM_CHUNK_BYTES);
	serve_block(2);
	eng_sleep_until(450);
	ck_assert(tsg_a.stalled);
	map_block(3);
	fifo_replay(&fifo);
	expect_end(&a, 550);
	ck_assert_uint_eq(fifo_stall_ns(&tsg_a.stall), 90 + 50);
}

START_TEST(work_misses_at_what_was_unmapped_ahead_of_it_and_not_behind)
{
	simulate(unmapped_ahead);
}
END_TEST

static void faulting_kernel(void)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 4 };
	struct fifo_burst a = ready_burst(2, 100);
	struct fifo_burst b = ready_burst(1, 50);

	/* Two blocks a kernel. a stalls at 10; its slice of 100 is long over at each replay. */
	map_block(2);
	submit_touching(&tsg_a, &a, &touch);
	eng_sleep_until(50);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(300);
	ck_assert_uint_eq(gmmu.put - gmmu.get, 64);
	gmmu_flush(&gmmu);
	/* One of the kernel's two blocks is there. The warps of the other one still fault. */
	map_block(0);
	fifo_replay(&fifo);
	eng_sleep_until(301);
	ck_assert(fifo_is_current(&tsg_a));
	/* Block 0 brings 50 ns of work. The kernel does that work, and b is not let in. */
	eng_sleep_until(400);
	ck_assert(tsg_a.stalled);
	ck_assert_uint_eq(tsg_b.busy_ns, 0);
	serve_block(1);
	/*
	 * Now the kernel has all of its pages, and a makes room at once. The next kernel's
	 * fault is separate.
	 */
	expect_end(&b, 460);
	eng_sleep_until(700);
	serve_block(3);
	ck_assert_int_eq(fifo_wait(&a), 0);
}

START_TEST(a_kernel_that_faults_stays_until_it_has_all_of_its_pages)
{
	simulate(faulting_kernel);
}
END_TEST

static void between_fronts(void)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 4 };
	struct fifo_burst a = ready_burst(2, 100);
	struct fifo_burst b = ready_burst(1, 50);

	/* The first kernel goes through blocks 0 and 1, and faults on one at a time. */
	fifo.config.front_blocks = 1;
	a.in_fronts = true;
	map_block(2);
	map_block(3);
	submit_touching(&tsg_a, &a, &touch);
	eng_sleep_until(50);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(300);
	ck_assert_uint_eq(gmmu.put - gmmu.get, 32);
	/* The slice of a was over at 110. It leaves as soon as it has block 0. */
	serve_block(0);
	expect_end(&b, 360);
	/* From 370 on a does the work of block 0, and misses block 1 at 420. */
	eng_sleep_until(500);
	ck_assert(tsg_a.stalled);
	ck_assert_uint_eq(gmmu.put - gmmu.get, 32);
	serve_block(1);
	expect_end(&a, 650);
}

START_TEST(a_kernel_that_goes_bit_by_bit_leaves_between_its_fronts)
{
	simulate(between_fronts);
}
END_TEST

static void whole_matrix(void)
{
	/*
	 * Kernel 0 multiplies by a matrix of blocks 0 and 1, kernel 2 by one of blocks 2 and 3.
	 */
	struct gmmu_touch touch = { .va = VA, .block_count = 4, .kernels = 2 };
	struct fifo_burst a = ready_burst(4, 100);
	struct fifo_burst b = ready_burst(1, 50);

	/* a does the work of kernels 0 and 1, and misses block 3 as kernel 2 begins, at 210. */
	for (u32 i = 0; i < 3; i++)
		map_block(i);
	submit_touching(&tsg_a, &a, &touch);
	eng_sleep_until(220);
	ck_assert(tsg_a.stalled);
	ck_assert_uint_eq(tsg_a.busy_ns, 200);
	ck_assert_uint_eq(gmmu.put - gmmu.get, 32);
	fifo_submit(&tsg_b, &b);
	/* It keeps the GPU until it has all of the matrix. */
	eng_sleep_until(300);
	serve_block(3);
	/* Kernel 2 has begun, so it does not miss its blocks any more. */
	eng_sleep_until(301);
	evict_block(&tsg_a, 2);
	expect_end(&b, 370);
	expect_end(&a, 570);
}

START_TEST(a_kernel_touches_all_of_its_matrix_as_it_begins)
{
	simulate(whole_matrix);
}
END_TEST

static void unmapped_after_replay(void)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 4 };
	struct fifo_burst a = ready_burst(4, 100);
	struct fifo_burst b = ready_burst(1, 50);

	/* a stalls at 110 on block 1. Its slice is over at the replay, so b goes first. */
	map_block(0);
	map_block(2);
	map_block(3);
	submit_touching(&tsg_a, &a, &touch);
	eng_sleep_until(150);
	fifo_submit(&tsg_b, &b);
	eng_sleep_until(300);
	serve_block(1);
	/*
	 * Blocks 1 and 2 are evicted at once. The access to block 1 was made; block 2 was only
	 * looked at.
	 */
	evict_block(&tsg_a, 1);
	evict_block(&tsg_a, 2);
	expect_end(&b, 360);
	eng_sleep_until(480);
	ck_assert(tsg_a.stalled);
	ck_assert_uint_eq(tsg_a.busy_ns, 200);
	serve_block(2);
	expect_end(&a, 680);
}

START_TEST(a_replayed_access_is_made_even_if_its_page_goes_at_once)
{
	simulate(unmapped_after_replay);
}
END_TEST

/*
 * A driver whose stall is CPU work until 100, a copy in until 160, then copies both ways; and
 * the date of the last look at it.
 */
static u64 looked_at_ns;

static struct fifo_stall parts_by_date(void *data, const struct fifo_tsg *tsg, u64 ns)
{
	struct fifo_stall parts = { 0 };

	ck_assert_ptr_eq(data, &fifo);
	ck_assert_ptr_eq(tsg, &tsg_a);
	if (!ns)
		looked_at_ns = eng_now();
	ck_assert_uint_eq(eng_now() - ns, looked_at_ns);
	for (; looked_at_ns < eng_now(); looked_at_ns++)
		parts.ns[looked_at_ns < 100 ? FIFO_STALL_CPU :
			 looked_at_ns < 160 ? FIFO_STALL_IN :
					      FIFO_STALL_BOTH]++;
	return parts;
}

static void stalled_over_samples(void)
{
	struct gmmu_touch touch = { .va = VA, .block_count = 1 };
	struct fifo_burst a = ready_burst(1, 1000);

	/* a stalls from 10 to 205. */
	fifo.stall_ops = (struct fifo_stall_ops){ parts_by_date, &fifo };
	submit_touching(&tsg_a, &a, &touch);
	eng_sleep_until(130);
	fifo_update(&fifo);
	ck_assert_uint_eq(tsg_a.stall.ns[FIFO_STALL_CPU], 90);
	ck_assert_uint_eq(tsg_a.stall.ns[FIFO_STALL_IN], 30);
	ck_assert_uint_eq(fifo_stall_ns(&tsg_a.stall), 120);
	eng_sleep_until(205);
	map_block(0);
	fifo_replay(&fifo);
	eng_sleep_until(500);
	fifo_update(&fifo);
	ck_assert_uint_eq(fifo_stall_ns(&tsg_a.stall), 195);
	ck_assert_uint_eq(tsg_a.stall.ns[FIFO_STALL_CPU], 90);
	/* 60 ns, and half of 45. The odd ns counts as out. */
	ck_assert_uint_eq(fifo_stall_in_ns(&tsg_a.stall), 60 + 22);
	ck_assert_uint_eq(fifo_stall_out_ns(&tsg_a.stall), 23);
	expect_end(&a, 1205);
}

START_TEST(each_ns_of_a_fault_episode_belongs_to_one_part)
{
	simulate(stalled_over_samples);
}
END_TEST

TEST_MAIN("fifo_faults", a_preemption_of_a_stalled_tsg_takes_effect_at_the_replay,
	  a_kernel_that_waits_for_its_pages_is_not_withheld,
	  work_misses_at_what_was_unmapped_ahead_of_it_and_not_behind,
	  a_kernel_that_faults_stays_until_it_has_all_of_its_pages,
	  a_kernel_that_goes_bit_by_bit_leaves_between_its_fronts,
	  a_kernel_touches_all_of_its_matrix_as_it_begins,
	  a_replayed_access_is_made_even_if_its_page_goes_at_once,
	  each_ns_of_a_fault_episode_belongs_to_one_part)
