// SPDX-License-Identifier: MIT OR GPL-2.0
/* Files of measurements: what is read from them, and what is said about mistakes. */
#include "runner.h"
#include "validate/hardware.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char file[] = "/tmp/test_hardware_rows.XXXXXX";

static int load(const char *text, struct hw_rows *rows, struct sim_error *err)
{
	static bool made;
	FILE *stream;
	int rc;

	if (!made) {
		int fd = mkstemp(file);

		ck_assert_int_ge(fd, 0);
		close(fd);
		made = true;
	}
	stream = fopen(file, "w");
	ck_assert_ptr_nonnull(stream);
	fputs(text, stream);
	fclose(stream);
	*err = (struct sim_error){ 0 };
	rc = hw_load(file, rows, err);
	return rc;
}

static const struct hw_row *find(const struct hw_rows *rows, enum hw_loop loop, uint64_t size)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].loop == loop && rows->rows[i].size == size)
			return &rows->rows[i];
	ck_abort_msg("no such row");
}

START_TEST(rows_have_units_and_repeated_ones_their_geometric_mean)
{
	struct sim_error err;
	struct hw_rows rows;

	ck_assert_int_eq(load("# a comment\n\npcie 4096 1.5 2.5 3.5  # and more\n"
			      "uvm rand_64k 1048576 0.001\nuvm rand_64k 1048576 0.004\n"
			      "width spread 16 510.8\n"
			      "fault_latency distinct_blocks p10 25504 p50 28736 p90 36224\n"
			      "param uvm_perf_fault_batch_count 256\n",
			      &rows, &err),
			 0);
	ck_assert_uint_eq(rows.count, 6);
	ck_assert_uint_eq(rows.others, 1);
	ck_assert_double_eq_tol(find(&rows, HW_COPY_IN, 4096)->measured, 1500, 1e-6);
	ck_assert_double_eq_tol(find(&rows, HW_COPY_BOTH, 4096)->measured, 3500, 1e-6);
	ck_assert_double_eq_tol(find(&rows, HW_RANDOM_64K, 1048576)->measured, 2e6, 1e-3);
	ck_assert_uint_eq(find(&rows, HW_RANDOM_64K, 1048576)->samples, 2);
	ck_assert_double_eq_tol(find(&rows, HW_WIDTH_SPREAD, 16)->measured, 510800, 1e-6);
	ck_assert_double_eq_tol(find(&rows, HW_FAULT, 1)->measured, 28736, 1e-6);
	hw_destroy(&rows);
}
END_TEST

START_TEST(a_walk_is_its_misses_and_the_same_place_in_the_next_block_is_the_same_row)
{
	struct sim_error err;
	struct hw_rows rows;
	char text[1024] = "fault_walk 250000 20000 160";
	size_t length = strlen(text);

	for (int i = 3; i < 32; i++)
		length += (size_t)sprintf(text + length, " 200");
	sprintf(text + length, " 40000 45000 150\n");
	ck_assert_int_eq(load(text, &rows, &err), 0);
	ck_assert_uint_eq(rows.walk_length, 35);
	ck_assert_uint_eq(rows.walk_missed, 0x300000003);
	ck_assert_uint_eq(rows.count, 3);
	ck_assert_double_eq_tol(find(&rows, HW_WALK, 0)->measured, 250000, 1e-6);
	ck_assert_double_eq_tol(find(&rows, HW_WALK, 1)->measured, 30000, 1e-3);
	ck_assert_double_eq_tol(find(&rows, HW_WALK, 32)->measured, 40000, 1e-6);
	hw_destroy(&rows);
}
END_TEST

START_TEST(rows_of_two_processes_are_several_measurements)
{
	struct sim_error err;
	struct hw_rows rows;
	char text[64];

	ck_assert_int_eq(
		load("timeslice 2procs 132 1024 2063.4 2454.5 195.8\n"
		     "gap 300 17 82 24.55 24.83 0.722\ngap 1 1000 20000 1.0 3.40 0.673\n",
		     &rows, &err),
		0);
	ck_assert_uint_eq(rows.count, 9);
	ck_assert_double_eq_tol(find(&rows, HW_SLICE_OFF, 135168)->measured, 2454500, 1e-3);
	ck_assert_double_eq_tol(find(&rows, HW_GAP_STEP, 1)->measured, 3400000, 1e-3);
	ck_assert_double_eq_tol(find(&rows, HW_GAP_SPEED, 0)->measured, 0.722, 1e-9);
	ck_assert(hw_is_share(find(&rows, HW_GAP_SPEED, 0)));
	ck_assert_uint_eq(rows.gaps[0].kernel_ns, 17000);
	hw_label(&rows, find(&rows, HW_GAP_STEP, 1), text, sizeof(text));
	ck_assert_str_eq(text, "step beside a busy one, 1 of 1000 us");
	hw_destroy(&rows);
}
END_TEST

START_TEST(mistakes_name_file_and_line)
{
	static const struct {
		const char *text;
		const char *said;
	} cases[] = {
		{ "", ": has no measurement" },
		{ "launch submit 4.5\n", ": has no measurement" },
		{ "pcie 4096 1 2 3\nnonsense 3\n", ":2: unknown measurement \"nonsense\"" },
		{ "0123456789012345678901234567890123456\x1b\n",
		  ":1: unknown measurement \"01234567890123456789012345678901...\"" },
		{ "\x1b[2J 3\n", ":1: unknown measurement \"?[2J\"" },
		{ "pcie 4096 1 2\n", ":1: values are missing after \"2\"" },
		{ "pcie\n", ":1: values are missing after \"pcie\"" },
		{ "pcie 4096 1 x 2\n", ":1: allowed is a number above 0, not \"x\"" },
		{ "pcie 4096 1 -2 2\n", ":1: allowed is a number above 0, not \"-2\"" },
		{ "pcie 4096 1 nan 2\n", ":1: allowed is a number above 0, not \"nan\"" },
		{ "pcie 0.5 1 1 1\n",
		  ":1: allowed is a whole number up to 68719476736, not \"0.5\"" },
		{ "uvm seq_4k 1e15 1\n",
		  ":1: allowed is a whole number up to 68719476736, not \"1e15\"" },
		{ "width contig 1e6 1\n",
		  ":1: allowed is a whole number up to 16384, not \"1e6\"" },
		{ "timeslice 2procs 1.5 32 1 1 1\n",
		  ":1: allowed is a whole number up to 1000000, not \"1.5\"" },
		{ "gap 0.1 1 1 1 1 1\n",
		  ":1: allowed is a whole number up to 1000000, not \"0.1\"" },
		{ "gap 1 1e15 1 1 1 1\n", ":1: allowed are 0.001 to 1000000 us, not \"1e15\"" },
		{ "gap 1 1 1e-9 1 1 1\n", ":1: allowed are 0.001 to 1000000 us, not \"1e-9\"" },
		{ "\nuvm walk 1 2\n", ":2: unknown loop \"walk\"" },
		{ "width\n", ":1: unknown loop \"width\"" },
		{ "fault_latency x p10 1\n", ":1: no median in \"fault_latency\"" },
		{ "timeslice 3procs 1 2 3 4 5\n", ":1: allowed are 2procs, not \"3procs\"" },
		{ "gap 300 17 82 1 2\n", ":1: values are missing after \"2\"" },
		{ "fault_walk 20000\nfault_walk 20000\n", ":2: allowed once: \"fault_walk\"" },
		{ "fence kernel k 50 50 0 fence\n", ":1: values are missing after \"fence\"" },
		{ "fence kernel \x1b 50 50 0 fence 1\n",
		  ":1: allowed are letters, digits, _, +, - and ., not \"?\"" },
		{ "fence kernel k 100.1 50 0 fence 1\n",
		  ":1: allowed is a number from 0 to 100, not \"100.1\"" },
		{ "fence kernel k 50 nan 0 fence 1\n",
		  ":1: allowed is a number from 0 to 100, not \"nan\"" },
		{ "fence kernel k 50 50 -1 fence 1\n",
		  ":1: allowed is a number from 0 to 100, not \"-1\"" },
		{ "fence kernel k 50 50 0 wall 1\n", ":1: unknown fence \"wall\"" },
		{ "fence kernel k 50 50 0 noprot 1\n", ":1: unknown fence \"noprot\"" },
		{ "fence kernel k 50 50 0 once 1 once 1\n", ":1: allowed once: \"once\"" },
		{ "fence kernel k 50 50 0 once 1 4g\n",
		  ":1: allowed is a number from -99 to 1000000, not \"\"" },
		{ "fence kernel k 50 50 0 once -100\n",
		  ":1: allowed is a number from -99 to 1000000, not \"-100\"" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[256];
		struct sim_error err;
		struct hw_rows rows;

		ck_assert_int_eq(load(cases[i].text, &rows, &err), -SIM_EXIT_USER);
		snprintf(expected, sizeof(expected), "%s%s", file, cases[i].said);
		ck_assert_str_eq(err.text, expected);
		ck_assert_uint_eq(rows.count, 0);
		ck_assert_uint_eq(rows.fence_count, 0);
	}
	unlink(file);
}
END_TEST

/* A file without a line's end takes no memory. */
START_TEST(a_line_without_end_is_refused)
{
	static char text[2000000];
	struct sim_error err;
	struct hw_rows rows;

	memset(text, ' ', sizeof(text) - 1);
	memcpy(text, "pcie 4096 1.5 2.5 3.5\n", 22);
	ck_assert_int_eq(load(text, &rows, &err), -SIM_EXIT_USER);
	ck_assert_ptr_nonnull(strstr(err.text, ":2: the line is too long, allowed are 65536 "
					       "bytes"));
	ck_assert_uint_eq(rows.count, 0);
	unlink(file);
	ck_assert_int_eq(hw_load("/dev/zero", &rows, &err), -SIM_EXIT_USER);
	ck_assert_str_eq(err.text,
			 "/dev/zero:1: the line is too long, allowed are 65536 bytes");
}
END_TEST

START_TEST(an_error_is_the_same_in_both_directions)
{
	struct hw_row row = { .measured = 100, .predicted = 125 };

	ck_assert_double_eq_tol(hw_error(&row), 0.25, 1e-9);
	row.predicted = 80;
	ck_assert_double_eq_tol(hw_error(&row), 0.25, 1e-9);
}
END_TEST

/* Loads of 20, 200 and 500 cycles; half of those behind L1 hit L2. */
START_TEST(fences_are_predicted_by_the_cycles_of_the_gpu)
{
	struct cfg_gpu gpu = { .cycles = { .l1 = 20 * CFG_PPM,
					   .l2 = 200 * CFG_PPM,
					   .dram = 500 * CFG_PPM,
					   .fence = 7500000,
					   .fence_offset = 15 * CFG_PPM,
					   .modulo = 100 * CFG_PPM,
					   .modulo_offset = 100 * CFG_PPM } };
	struct sim_error err;
	struct hw_rows rows;

	ck_assert_int_eq(load("fence kernel inside 100 12.5 0 fence 84.4 modulo -0.5\n"
			      "fence chain L2+offset 0 100 100 fence 5\n"
			      "fence program half 50 50 20 fence 10\n",
			      &rows, &err),
			 0);
	ck_assert_uint_eq(rows.count, 0);
	ck_assert_uint_eq(rows.fence_count, 3);
	hw_predict_fences(&gpu, &rows);
	ck_assert_str_eq(rows.fences[0].group, "kernel");
	ck_assert_str_eq(rows.fences[0].name, "inside");
	ck_assert_uint_eq(rows.fences[0].l2, 125000);
	ck_assert(rows.fences[0].known[GVM_FENCE_MASK]);
	ck_assert(!rows.fences[0].known[GVM_FENCE_CHECK]);
	ck_assert_double_eq_tol(rows.fences[0].measured[GVM_FENCE_MASK], 0.844, 1e-12);
	ck_assert_double_eq_tol(rows.fences[0].measured[GVM_FENCE_MODULO], -0.005, 1e-12);
	ck_assert_double_eq_tol(rows.fences[0].predicted[GVM_FENCE_MASK], 0.375, 1e-12);
	ck_assert_double_eq_tol(rows.fences[0].predicted[GVM_FENCE_MODULO], 5, 1e-12);
	ck_assert_double_eq_tol(rows.fences[1].predicted[GVM_FENCE_MASK], 0.075, 1e-12);
	/* 9 cycles of 185. */
	ck_assert_double_eq_tol(rows.fences[2].predicted[GVM_FENCE_MASK], 9. / 185, 1e-12);
	/* An error is one of times: 1.844 and 1.375 of the time without a fence. */
	ck_assert_double_eq_tol(hw_fence_error(&rows.fences[0], GVM_FENCE_MASK),
				1.844 / 1.375 - 1, 1e-12);
	ck_assert_double_eq_tol(hw_fence_error(&rows.fences[1], GVM_FENCE_MASK),
				1.075 / 1.05 - 1, 1e-12);
	hw_destroy(&rows);
	ck_assert_uint_eq(rows.fence_count, 0);
	unlink(file);
}
END_TEST

TEST_MAIN("hardware rows", rows_have_units_and_repeated_ones_their_geometric_mean,
	  a_walk_is_its_misses_and_the_same_place_in_the_next_block_is_the_same_row,
	  rows_of_two_processes_are_several_measurements, mistakes_name_file_and_line,
	  a_line_without_end_is_refused, an_error_is_the_same_in_both_directions,
	  fences_are_predicted_by_the_cycles_of_the_gpu)
