// SPDX-License-Identifier: MIT OR GPL-2.0
/* Limits without a kernel module: what a process uses least is kept on the host. */
#include "runs.h"

static void put_limit(const struct program *program, const char *text)
{
	char path[256];

	control_path_of(program, 0, "gmem.limit.high", path);
	suite_put_file(path, text);
}

static void end(struct program *program)
{
	go_to_end(program);
	ck_assert_msg(WIFEXITED(program->status) && !WEXITSTATUS(program->status), "%s",
		      content("log"));
	assert_nothing_left();
}

/*
 * Eleven MiB in ten blocks, of which four may be on the GPU. Returns true if the block of two
 * MiB is on the host, and nothing has come back. It is the first block above the share, unless
 * a round of the shim falls between two allocations: then the oldest blocks
 * go, and this one may stay.
 */
static bool start_above_the_share(struct program *program)
{
	forget_files();
	start(program, true, "ask", "cold", 10, "GVM_RESIDENT=4M");
	wait_ready(program);
	await(program, "gmem.current", "4194304\n");
	await(program, "gmem.swap.current", "7340032\n");
	return strstr(content("log"), "2097152 bytes go to the host") &&
	       !strstr(content("log"), "go to the GPU");
}

/* The sum is exact, before and after an exchange. */
START_TEST(the_share_holds_and_what_is_used_comes_back)
{
	struct program program;
	bool back = false;
	int tries = 1;

	while (!start_above_the_share(&program)) {
		ck_assert_int_lt(tries++, 10);
		go_on(&program);
		go_to_end(&program);
	}
	/* The block of two MiB is used again now. */
	go_on(&program);
	for (int i = 0; !back && i < 1000; i++) {
		usleep(10000);
		back = strstr(content("log"), "2097152 bytes go to the GPU");
	}
	ck_assert_msg(back, "%s", content("log"));
	await(&program, "gmem.current", "4194304\n");
	await(&program, "gmem.swap.current", "7340032\n");
	go_on(&program);
	wait_ready(&program);
	await(&program, "gmem.current", "0\n");
	await(&program, "gmem.swap.current", "0\n");
	go_on(&program);
	finish(&program);
	ck_assert_int_eq(last_number("report", "wrong_frees "), 0);
	ck_assert_int_ge(last_number("report", "to_gpu "), 1);
	assert_nothing_left();
}
END_TEST

/* The application gives nothing, so its memory goes to the host; and comes back when it may. */
START_TEST(a_lowered_limit_moves_memory_to_the_host)
{
	struct program program;

	start(&program, true, "ask", "fill", 10, "GVM_LIMIT=20M");
	wait_ready(&program);
	await(&program, "gmem.current", "10485760\n");
	put_limit(&program, "4M\n");
	await(&program, "gmem.swap.current", "6291456\n");
	await(&program, "gmem.current", "4194304\n");
	put_limit(&program, "20M\n");
	await(&program, "gmem.current", "10485760\n");
	await(&program, "gmem.swap.current", "0\n");
	end(&program);
	ck_assert_int_eq(last_number("report", "to_host "), 6);
	ck_assert_int_eq(last_number("report", "to_gpu "), 6);
}
END_TEST

/* Device memory cannot move. The user is told. */
START_TEST(memory_that_is_not_managed_stays)
{
	struct program program;

	start(&program, true, "ask", "fill", 10, "GVM_RESIDENT=4M GVM_SHIM_MANAGED=0");
	wait_ready(&program);
	await(&program, "gmem.current", "10485760\n");
	await(&program, "gmem.swap.current", "0\n");
	ck_assert_ptr_nonnull(strstr(content("log"), "GVM_RESIDENT needs GVM_SHIM_MANAGED=1"));
	end(&program);
	ck_assert_int_eq(last_number("report", "to_host "), 0);
}
END_TEST

START_TEST(a_share_is_a_part_of_the_device_too)
{
	struct program program;

	start(&program, true, "dlsym", "fill", 10, "GVM_RESIDENT=2% FAKE_MEMORY=209715200");
	wait_ready(&program);
	await(&program, "gmem.current", "4194304\n");
	end(&program);
	start(&program, true, "dlsym", "fill", 1, "GVM_RESIDENT=some");
	wait_ready(&program);
	ck_assert_ptr_nonnull(
		strstr(content("log"), "GVM_RESIDENT=some is ignored; allowed: bytes"));
	end(&program);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, the_share_holds_and_what_is_used_comes_back);
	tcase_add_test(tests, a_lowered_limit_moves_memory_to_the_host);
	tcase_add_test(tests, memory_that_is_not_managed_stays);
	tcase_add_test(tests, a_share_is_a_part_of_the_device_too);
}

int main(void)
{
	return suite_run("shim_cold", setup, teardown, add_tests);
}
