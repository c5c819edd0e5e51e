// SPDX-License-Identifier: MIT OR GPL-2.0
/* Predictions of loops: what they take, and that a lack of memory is an error of the call. */
#include "runner.h"
#include "validate/hardware.h"

#define MIB (1ull << 20)
#define US  1000ull

/* Allocations of so many elements fail; 0: none. */
static size_t failing_count;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	return count && count == failing_count ? NULL : __real_calloc(count, size);
}

/* 32 KB in 1 us, each way. */
static const struct config config = {
	.gpu = { .memory = 64 * MIB,
		 .link = { .bandwidth = 32768000000,
			   .bandwidth_both = 65536000000,
			   .setup = 5 * US },
		 .sched = { .timeslice = 1000 * US, .timeslice_scale = CFG_PPM },
		 .fault = { .buffer_entries = 256,
			    .outstanding = 256,
			    .per_block = 32,
			    .zero_bandwidth = 65536000000000 } },
};

/* Predict one row. */
static int predict(enum hw_loop loop, u64 size, double *ret_ns, struct sim_error *err)
{
	struct hw_row row = { .loop = loop, .size = size };
	struct hw_rows rows = { .rows = &row, .count = 1 };
	int status = hw_predict(&config, &rows, err);

	*ret_ns = row.predicted;
	return status;
}

static void predict_to(enum hw_loop loop, u64 size, double ns)
{
	struct sim_error err = { 0 };
	double predicted;

	ck_assert_int_eq(predict(loop, size, &predicted, &err), 0);
	ck_assert_double_eq(predicted, ns);
}

START_TEST(a_copy_to_the_gpu_takes_set_up_and_bytes)
{
	predict_to(HW_COPY_IN, MIB, 37 * US);
}
END_TEST

START_TEST(a_copy_from_the_gpu_takes_set_up_and_bytes)
{
	predict_to(HW_COPY_OUT, 4 * MIB, 133 * US);
}
END_TEST

START_TEST(copies_both_ways_do_not_share_what_is_there_for_both)
{
	predict_to(HW_COPY_BOTH, MIB, 37 * US);
}
END_TEST

/* A loop whose memory, of so many elements, is not there. */
static void fail_without(enum hw_loop loop, u64 size, size_t count)
{
	struct sim_error err = { 0 };
	double predicted;

	failing_count = count;
	ck_assert_int_eq(predict(loop, size, &predicted, &err), -SIM_EXIT_RUNTIME);
	ck_assert_str_eq(err.text, "out of memory");
}

START_TEST(no_memory_for_the_pages_of_a_loop_is_an_error)
{
	fail_without(HW_RANDOM_64K, 7 * MIB, 7 * 16);
}
END_TEST

START_TEST(no_memory_for_the_masks_of_a_loop_is_an_error)
{
	fail_without(HW_SEQ_64K, 14 * MIB, 7);
}
END_TEST

START_TEST(no_memory_for_the_gpu_is_an_error)
{
	fail_without(HW_FAULT, 1, 32);
}
END_TEST

/* The measured steps of a process. */
START_TEST(no_memory_for_two_processes_is_an_error)
{
	struct hw_rows rows = { .gap_count = 1, .gaps = { { 1, 10 * US, 0 } } };
	struct sim_error err = { 0 };

	failing_count = 200000;
	ck_assert_int_eq(hw_predict(&config, &rows, &err), -SIM_EXIT_RUNTIME);
	ck_assert_str_eq(err.text, "out of memory");
}
END_TEST

TEST_MAIN("predict", a_copy_to_the_gpu_takes_set_up_and_bytes,
	  a_copy_from_the_gpu_takes_set_up_and_bytes,
	  copies_both_ways_do_not_share_what_is_there_for_both,
	  no_memory_for_the_pages_of_a_loop_is_an_error,
	  no_memory_for_the_masks_of_a_loop_is_an_error, no_memory_for_the_gpu_is_an_error,
	  no_memory_for_two_processes_is_an_error)
