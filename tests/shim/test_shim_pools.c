// SPDX-License-Identifier: MIT OR GPL-2.0
/* The shim and memory: pools of the application and of the driver, and what is charged when. */
#include "runs.h"

START_TEST(an_application_keeps_the_pool_that_it_chose)
{
	struct program program;

	run(&program, true, "ask", "own_pool", 4, NULL);
	ck_assert_int_eq(last_number("report", " managed "), 0);
	ck_assert_int_eq(last_number("log", " pool "), 4);
}
END_TEST

/* What it asked for is managed; what the shim redirected looks like device memory. */
START_TEST(an_application_knows_its_own_managed_pools)
{
	struct program program;

	run(&program, true, "ask", "managed_pool", 2, NULL);
	ck_assert_str_eq(program.out, "managed 1 0\nmanaged 1 0\n");
	ck_assert_int_eq(last_number("log", " managed "), 2);
}
END_TEST

/* The driver's answers; and stream-ordered memory is managed all the time. */
START_TEST(an_application_hears_of_pools_what_the_driver_says)
{
	struct program plain, program;

	run(&plain, false, "ask", "pools", 3, NULL);
	ck_assert_str_eq(plain.out,
			 "at first 1\nwith another 0\ntype 2 of it 1048576\n"
			 "without it 1\ntype 2\ndestroyed 1\ndefault again 1\ntype 2\n");
	forget_files();
	run(&program, true, "ask", "pools", 3, NULL);
	ck_assert_str_eq(program.out, plain.out);
	ck_assert_int_eq(last_number("report", " managed "), 5);
	forget_files();
	run(&program, true, "ask", "pools", 3, "FAKE_NO_MANAGED_POOLS=1");
	ck_assert_str_eq(program.out, plain.out);
}
END_TEST

START_TEST(pools_of_the_hosts_memory_are_not_the_gpus)
{
	struct program program;

	run(&program, true, "ask", "host_pool", 8, "GVM_LIMIT=4M");
	ck_assert_str_eq(program.out, "type 1 address 1\n");
	ck_assert_int_eq(last_number("log", " pool "), 0);
	ck_assert_int_eq(last_number("log", ": GPU 0: launched 0 ended 0 streams 0 peak "), -1);
}
END_TEST

START_TEST(memory_of_a_pool_is_charged_to_the_pools_gpu)
{
	struct program program;

	run(&program, true, "ask", "other_pool", 8, "GVM_LIMIT=0:4M,1:16M");
	ck_assert_str_eq(program.out, "0\n");
	run(&program, true, "ask", "other_pool", 8, "GVM_LIMIT=0:16M,1:4M");
	ck_assert_str_eq(program.out, "2\n");
}
END_TEST

START_TEST(memory_of_a_pool_outlives_its_context)
{
	struct program program;

	run(&program, true, "ask", "pool_reset", 3, NULL);
	ck_assert_int_eq(last_number("log", " current "), 3 << 20);
}
END_TEST

/* What the application asked for as managed memory is refused, as without the shim. */
START_TEST(device_memory_is_freed_in_stream_order)
{
	struct program plain, program;

	run(&plain, false, "ask", "free_in_order", 3, NULL);
	ck_assert_str_eq(plain.out, "managed 801\n");
	forget_files();
	run(&program, true, "ask", "free_in_order", 3, NULL);
	ck_assert_str_eq(program.out, plain.out);
	ck_assert_int_eq(last_number("report", " live "), 1);
	ck_assert_int_eq(last_number("log", " redirected "), 3);
	ck_assert_int_eq(last_number("log", " current "), 1 << 20);
}
END_TEST

/* Without a limit it is plain UVM; a limit holds for all memory. */
START_TEST(managed_memory_may_exceed_the_gpu_where_no_limit_is_given)
{
	struct program plain, program;

	run(&plain, false, "ask", "oversubscribe", 20, "FAKE_MEMORY=8388608");
	ck_assert_str_eq(plain.out, "managed 20, free 8388608 of 8388608, device 8\nagain 2\n");
	run(&program, true, "ask", "oversubscribe", 20, "FAKE_MEMORY=8388608");
	ck_assert_str_eq(program.out, plain.out);
	run(&program, true, "ask", "oversubscribe", 20, "FAKE_MEMORY=8388608 GVM_LIMIT=4M");
	ck_assert_str_eq(program.out, "managed 4, free 0 of 4194304, device 0\nagain 0\n");
}
END_TEST

START_TEST(no_allocation_is_missed_by_the_control_files)
{
	struct program program;
	char expected[32];
	int pairs = 100;

	start(&program, true, "dlsym", "pairs", pairs, NULL);
	for (int i = 0; i < pairs; i++) {
		wait_ready(&program);
		snprintf(expected, sizeof(expected), "%d\n", 2 * 4096 * (i + 1));
		await(&program, "gmem.current", expected);
		go_on(&program);
		wait_ready(&program);
		await(&program, "gmem.current", "0\n");
		go_on(&program);
	}
	finish(&program);
}
END_TEST

/* Also where the limit is below what is in use by then. */
START_TEST(memory_that_is_not_freed_stays_charged)
{
	struct program program;
	char path[256];

	start(&program, true, "ask", "refused_free", 2, "GVM_LIMIT=10M");
	wait_ready(&program);
	await(&program, "gmem.current", "2097152\n");
	control_path_of(&program, 0, "gmem.limit.high", path);
	suite_put_file(path, "1M\n");
	await(&program, "gmem.limit.high", "1048576\n");
	go_on(&program);
	wait_ready(&program);
	ck_assert_str_eq(program.out, "free 1\nfree 1\n");
	suite_put_file(path, "10M\n");
	await(&program, "gmem.limit.high", "10485760\n");
	go_on(&program);
	wait_ready(&program);
	ck_assert_ptr_nonnull(strstr(program.out, "free 8388608 of 10485760\n"));
	await(&program, "gmem.current", "0\n");
	go_on(&program);
	finish(&program);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, an_application_keeps_the_pool_that_it_chose);
	tcase_add_test(tests, an_application_knows_its_own_managed_pools);
	tcase_add_test(tests, an_application_hears_of_pools_what_the_driver_says);
	tcase_add_test(tests, pools_of_the_hosts_memory_are_not_the_gpus);
	tcase_add_test(tests, memory_of_a_pool_is_charged_to_the_pools_gpu);
	tcase_add_test(tests, memory_of_a_pool_outlives_its_context);
	tcase_add_test(tests, device_memory_is_freed_in_stream_order);
	tcase_add_test(tests, managed_memory_may_exceed_the_gpu_where_no_limit_is_given);
	tcase_add_test(tests, no_allocation_is_missed_by_the_control_files);
	tcase_add_test(tests, memory_that_is_not_freed_stays_charged);
}

int main(void)
{
	return suite_run("shim_pools", setup, teardown, add_tests);
}
