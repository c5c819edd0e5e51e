// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The closed forms of fifo/burst.c against a kernel-by-kernel simulation of the same burst.
 */
#include <stdio.h>

#include "fifo/burst.h"
#include "runner.h"

/*
 * Kernels of a burst that may execute: all that are not withheld, and of a held
 * burst only the next one.
 */
static u64 executable(const struct fifo_burst *burst)
{
	u64 allowed = burst->kernels - burst->withheld;

	return burst->held ? min(allowed, burst->done_kernels + 1) : allowed;
}

/* The end of every kernel of a burst that is loaded at @from with @done_ns of its work done. */
static void brute_force(const struct fifo_burst *burst, u64 from, u64 *ends)
{
	u64 first = burst->done_ns / burst->kernel_ns;
	u64 at = from;

	for (u64 i = first; i < burst->kernels; i++) {
		u64 launched = burst->launch_start_ns + (i + 1) * burst->launch_ns;
		u64 left =
			burst->kernel_ns - (i == first ? burst->done_ns % burst->kernel_ns : 0);

		at = (at > launched ? at : launched) + left;
		ends[i] = at;
	}
}

/* Whole ns of work. */
static u64 work_at(const struct fifo_burst *burst, u64 from, u64 now)
{
	u32 ppm;

	return burst_work_at(burst, from, now, &ppm);
}

static void check_burst(const struct fifo_burst *burst, u64 from)
{
	u64 ends[64];
	u64 first = burst->done_ns / burst->kernel_ns;
	u64 allowed = executable(burst);

	brute_force(burst, from, ends);
	for (u64 i = first; i < allowed; i++) {
		u64 work = (i + 1) * burst->kernel_ns;

		ck_assert_uint_eq(burst_date_of_work(burst, from, work), ends[i]);
		ck_assert_uint_eq(work_at(burst, from, ends[i]), work);
		if (work - 1 > burst->done_ns)
			ck_assert_uint_eq(work_at(burst, from, ends[i] - 1), work - 1);
	}
	for (u64 i = allowed; i < burst->kernels; i++)
		ck_assert_uint_eq(burst_date_of_work(burst, from, i * burst->kernel_ns + 1),
				  ENG_NEVER);
	if (allowed > first)
		ck_assert_uint_eq(work_at(burst, from, ends[allowed - 1] + 1000),
				  allowed * burst->kernel_ns);
	else
		ck_assert_uint_eq(burst_ready_date(burst, from), ENG_NEVER);
}

/* A date that fits the burst's state: by then all kernels that have run were launched. */
static u64 possible_date(const struct fifo_burst *burst, u64 slack)
{
	u64 kernel = burst->done_ns / burst->kernel_ns;
	u64 within = burst->done_ns % burst->kernel_ns;

	if (within)
		return burst->launch_start_ns + (kernel + 1) * burst->launch_ns + within +
		       slack;
	return burst->launch_start_ns + kernel * burst->launch_ns + burst->kernel_ns + slack;
}

START_TEST(closed_forms_agree_with_a_kernel_by_kernel_simulation)
{
	unsigned int seed = 20261121;
	int round;

	printf("seed %u\n", seed);
	srand(seed);
	for (round = 0; round < 20000; round++) {
		struct fifo_burst burst = {
			.kernels = 1 + (u32)rand() % 40,
			.kernel_ns = 1 + (u64)rand() % 30,
			.launch_ns = (u64)rand() % 40,
			.launch_start_ns = 1000,
		};

		burst_set_done(&burst, (u64)rand() % burst_work_ns(&burst), 0);
		/* In every other round some of the kernels that have not begun are withheld. */
		if (round % 2)
			burst.withheld =
				(u32)rand() % (burst.kernels + 1 -
					       (u32)((burst.done_ns + burst.kernel_ns - 1) /
						     burst.kernel_ns));
		burst_hold(&burst, rand() % 2);
		check_burst(&burst, possible_date(&burst, (u64)rand() % 500));
	}
}
END_TEST

START_TEST(a_held_kernel_ends_when_it_is_held_no_longer)
{
	struct fifo_burst burst = { .kernels = 3, .kernel_ns = 10 };

	burst_set_done(&burst, 14, 0);
	burst_hold(&burst, true);
	ck_assert_uint_eq(work_at(&burst, 100, 105), 19);
	ck_assert_uint_eq(work_at(&burst, 100, 200), 20);
	ck_assert(!burst_is_at_end(&burst));
	burst_set_done(&burst, 20, 0);
	ck_assert(burst_is_at_end(&burst));
	ck_assert_uint_eq(burst.done_kernels, 1);
	ck_assert_uint_eq(burst_ready_date(&burst, 200), ENG_NEVER);
	ck_assert_uint_eq(burst_dry_date(&burst, 200), 200);
	/* Held again and again, it stays where it is. */
	burst_hold(&burst, true);
	ck_assert_uint_eq(work_at(&burst, 200, 300), 20);
	burst_hold(&burst, false);
	ck_assert_uint_eq(burst.done_kernels, 2);
	ck_assert_uint_eq(work_at(&burst, 300, 400), 30);
}
END_TEST

START_TEST(a_launch_bound_burst_alone_ends_one_kernel_after_its_last_launch)
{
	/* The H100's "gap 300 17 82" row: 300 kernels of 17 us, one launched every 82 us. */
	struct fifo_burst burst = { .kernels = 300, .kernel_ns = 17000, .launch_ns = 82000 };

	ck_assert_uint_eq(burst_date_of_work(&burst, 0, burst_work_ns(&burst)),
			  300 * 82000ull + 17000);
}
END_TEST

START_TEST(a_gpu_bound_burst_alone_takes_its_first_launch_and_all_kernels)
{
	struct fifo_burst burst = { .kernels = 300, .kernel_ns = 100000, .launch_ns = 82000 };

	ck_assert_uint_eq(burst_date_of_work(&burst, 0, burst_work_ns(&burst)),
			  82000 + 300 * 100000ull);
}
END_TEST

START_TEST(a_burst_left_behind_catches_up_and_runs_dry_again)
{
	/*
	 * 10 kernels of 10, launched every 20 from 0. At 100, five are launched and none is
	 * done. Loaded then, kernels 0 to 4 end at 110 to 150. By 150 seven are launched, so 5
	 * and 6 end by 170. By 170 eight are launched: 7 ends at 180. By 180 nine are launched:
	 * 8 ends at 190. Kernel 9 is launched at 200, so the burst is dry from 190.
	 */
	struct fifo_burst burst = { .kernels = 10, .kernel_ns = 10, .launch_ns = 20 };

	ck_assert_uint_eq(burst_launched(&burst, 100), 5);
	ck_assert_uint_eq(burst_dry_date(&burst, 100), 190);
	ck_assert_uint_eq(burst_date_of_work(&burst, 100, 100), 210);
}
END_TEST

/*
 * The same at less than full speed, in millionths of a ns: a kernel takes a million times its
 * time, and a ns brings as many millionths as the speed in ppm. Work is looked at on the way
 * and picked up from there: nothing may be lost.
 */
static void check_slow_burst(const struct fifo_burst *start, u64 from)
{
	unsigned __int128 speed = start->speed_ppm, at = from * speed;
	u64 first = start->done_ns / start->kernel_ns;
	struct fifo_burst burst = *start;
	u64 seen = from;

	for (u64 i = first; i < start->kernels; i++) {
		unsigned __int128 launched =
			start->launch_start_ns * speed + (i + 1) * start->launch_ns * speed;
		u64 left = i == first ? start->kernel_ns - start->done_ns % start->kernel_ns :
					start->kernel_ns;
		u64 end, middle, done_ns;
		u32 done_ppm;

		at = (at > launched ? at : launched) + (unsigned __int128)left * FIFO_ALL_PPM;
		if (i == first)
			at -= start->done_ppm;
		end = (u64)((at + speed - 1) / speed);
		ck_assert_uint_eq(burst_date_of_work(start, from, (i + 1) * start->kernel_ns),
				  end);
		ck_assert_uint_eq(burst_date_of_work(&burst, seen, (i + 1) * start->kernel_ns),
				  end);
		ck_assert_uint_ge(work_at(start, from, end), (i + 1) * start->kernel_ns);
		if (end > from + 1)
			ck_assert_uint_lt(work_at(start, from, end - 1),
					  (i + 1) * start->kernel_ns);
		/* Look at the burst at a date before this end. */
		middle = seen + (u64)rand() % (end - seen + 1);
		if (middle == end)
			continue;
		done_ns = burst_work_at(&burst, seen, middle, &done_ppm);
		burst_set_done(&burst, done_ns, done_ppm);
		seen = middle;
	}
}

START_TEST(closed_forms_at_less_than_full_speed_lose_nothing)
{
	srand(20261122);
	for (int round = 0; round < 20000; round++) {
		struct fifo_burst burst = {
			.kernels = 1 + (u32)rand() % 40,
			.kernel_ns = 1 + (u64)rand() % 30,
			.launch_ns = (u64)rand() % 40,
			.launch_start_ns = 1000,
			.speed_ppm = 1 + (u32)rand() % FIFO_ALL_PPM,
		};

		if (rand() % 4)
			burst.speed_ppm = max(burst.speed_ppm, 100000u);
		burst_set_done(&burst, (u64)rand() % burst_work_ns(&burst), 0);
		if (burst.done_ns % burst.kernel_ns)
			burst.done_ppm = (u32)rand() % FIFO_ALL_PPM;
		check_slow_burst(&burst, possible_date(&burst, (u64)rand() % 500));
	}
}
END_TEST

START_TEST(a_date_that_64_bits_do_not_reach_is_never)
{
	/* At 1 ppm a ns of work takes a million ns. 2^64 ns are 18,446,744,073,709.55 of them. */
	struct fifo_burst burst = { .kernels = 1,
				    .kernel_ns = 18446744073710ull,
				    .speed_ppm = 1 };
	u64 before = burst.kernel_ns - 1;

	ck_assert_uint_eq(burst_date_of_work(&burst, 0, before), before * FIFO_ALL_PPM);
	ck_assert_uint_eq(burst_step_date(&burst, 0, before), before * FIFO_ALL_PPM);
	ck_assert_uint_eq(burst_date_of_work(&burst, 0, burst.kernel_ns), ENG_NEVER);
	ck_assert_uint_eq(burst_dry_date(&burst, 0), ENG_NEVER);
	ck_assert_uint_eq(burst_date_of_work(&burst, 1000000, before), ENG_NEVER);
}
END_TEST

TEST_MAIN("bursts", a_date_that_64_bits_do_not_reach_is_never,
	  closed_forms_at_less_than_full_speed_lose_nothing,
	  closed_forms_agree_with_a_kernel_by_kernel_simulation,
	  a_held_kernel_ends_when_it_is_held_no_longer,
	  a_launch_bound_burst_alone_ends_one_kernel_after_its_last_launch,
	  a_gpu_bound_burst_alone_takes_its_first_launch_and_all_kernels,
	  a_burst_left_behind_catches_up_and_runs_dry_again)
