// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The closed forms of gsp/train.c against a kernel-by-kernel simulation of the same train.
 */
#include <stdio.h>

#include "gsp/train.h"
#include "runner.h"

/* End of every kernel of a train that is loaded from @from on with @done_ns done. */
static void brute_force(const struct gsp_train *train, u64 from, u64 *ends)
{
	u64 first = train->done_ns / train->kernel_ns;
	u64 at = from;
	u64 i;

	for (i = first; i < train->kernels; i++) {
		u64 launched = train->launch_start_ns + (i + 1) * train->launch_ns;
		u64 left =
			train->kernel_ns - (i == first ? train->done_ns % train->kernel_ns : 0);

		at = (at > launched ? at : launched) + left;
		ends[i] = at;
	}
}

static void check_train(const struct gsp_train *train, u64 from)
{
	u64 ends[64];
	u64 first = train->done_ns / train->kernel_ns;
	u64 i;

	brute_force(train, from, ends);
	for (i = first; i < train->kernels; i++) {
		u64 work = (i + 1) * train->kernel_ns;

		ck_assert_uint_eq(train_date_of_work(train, from, work), ends[i]);
		ck_assert_uint_eq(train_work_at(train, from, ends[i]), work);
		if (work - 1 > train->done_ns)
			ck_assert_uint_eq(train_work_at(train, from, ends[i] - 1), work - 1);
	}
	ck_assert_uint_eq(train_work_at(train, from, ends[train->kernels - 1] + 1000),
			  train_work_ns(train));
}

/* A date at which the train's state is possible: what is done had been launched by then. */
static u64 possible_date(const struct gsp_train *train, u64 slack)
{
	u64 kernel = train->done_ns / train->kernel_ns;
	u64 within = train->done_ns % train->kernel_ns;

	if (within)
		return train->launch_start_ns + (kernel + 1) * train->launch_ns + within +
		       slack;
	return train->launch_start_ns + kernel * train->launch_ns + train->kernel_ns + slack;
}

START_TEST(closed_forms_agree_with_a_kernel_by_kernel_simulation)
{
	unsigned int seed = 20261121;
	int round;

	printf("seed %u\n", seed);
	srand(seed);
	for (round = 0; round < 20000; round++) {
		struct gsp_train train = {
			.kernels = 1 + (u32)rand() % 40,
			.kernel_ns = 1 + (u64)rand() % 30,
			.launch_ns = (u64)rand() % 40,
			.launch_start_ns = 1000,
		};

		train.done_ns = (u64)rand() % train_work_ns(&train);
		check_train(&train, possible_date(&train, (u64)rand() % 500));
	}
}
END_TEST

START_TEST(a_launch_bound_train_alone_ends_one_kernel_after_its_last_launch)
{
	/* The H100's "gap 300 17 82" row: 300 kernels of 17 us, one launched every 82 us. */
	struct gsp_train train = { .kernels = 300, .kernel_ns = 17000, .launch_ns = 82000 };

	ck_assert_uint_eq(train_date_of_work(&train, 0, train_work_ns(&train)),
			  300 * 82000ull + 17000);
}
END_TEST

START_TEST(a_gpu_bound_train_alone_takes_its_first_launch_and_all_kernels)
{
	struct gsp_train train = { .kernels = 300, .kernel_ns = 100000, .launch_ns = 82000 };

	ck_assert_uint_eq(train_date_of_work(&train, 0, train_work_ns(&train)),
			  82000 + 300 * 100000ull);
}
END_TEST

START_TEST(a_train_left_behind_catches_up_and_runs_dry_again)
{
	/*
	 * 10 kernels of 10, launched every 20 from 0: at 100, five are launched, none is done.
	 * Loaded then, kernels 0-4 end at 110..150; by 150 seven are launched, so 5 and 6 follow
	 * until 170, when eight are launched; 7 ends at 180, when nine are; 8 ends at 190, and 9
	 * is launched at 200: dry from 190.
	 */
	struct gsp_train train = { .kernels = 10, .kernel_ns = 10, .launch_ns = 20 };

	ck_assert_uint_eq(train_launched(&train, 100), 5);
	ck_assert_uint_eq(train_dry_date(&train, 100), 190);
	ck_assert_uint_eq(train_date_of_work(&train, 100, 100), 210);
}
END_TEST

TEST_MAIN("launch trains", closed_forms_agree_with_a_kernel_by_kernel_simulation,
	  a_launch_bound_train_alone_ends_one_kernel_after_its_last_launch,
	  a_gpu_bound_train_alone_takes_its_first_launch_and_all_kernels,
	  a_train_left_behind_catches_up_and_runs_dry_again)
