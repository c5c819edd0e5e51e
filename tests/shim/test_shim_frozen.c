// SPDX-License-Identifier: MIT OR GPL-2.0
/* compute.freeze of a running process. */
#include "runs.h"

static void write_to(const struct program *program, const char *file, const char *text)
{
	char path[256];

	control_path_of(program, 0, file, path);
	suite_put_file(path, text);
}

/* The shim writes the usual form once it has taken the other one. */
static void freeze(const struct program *program)
{
	write_to(program, "compute.freeze", "01\n");
	await(program, "compute.freeze", "1\n");
}

/* The thread that reads control files makes no call that may wait for the GPU. */
START_TEST(a_process_is_frozen_and_thawed)
{
	struct program program;

	start(&program, true, "ask", "frozen", 5, NULL);
	wait_ready(&program);
	await(&program, "compute.freeze", "0\n");
	freeze(&program);
	go_on(&program);
	wait_ready(&program);
	/* It goes on to take writes: that is a round of the thread's. */
	write_to(&program, "compute.priority", "03\n");
	await(&program, "compute.priority", "3\n");
	write_to(&program, "compute.freeze", "0\n");
	go_on(&program);
	finish(&program);
	ck_assert_int_eq(program.status, 0);
	ck_assert_msg(strstr(program.out, "0 channels run, 2 are off\n"
					  "0 channels run, 3 are off\n"),
		      "%s", program.out);
	ck_assert_msg(strstr(program.out, "3 channels run, 0 are off\n"), "%s", program.out);
}
END_TEST

/* libcuda's end waits for the GPU, and nobody could thaw the process any more. */
START_TEST(a_frozen_process_can_end)
{
	struct program program;

	start(&program, true, "ask", "frozen_end", 5, NULL);
	wait_ready(&program);
	await(&program, "compute.freeze", "0\n");
	freeze(&program);
	go_on(&program);
	finish(&program);
	ck_assert_int_eq(program.status, 0);
	ck_assert_msg(strstr(program.out, "0 channels run, 2 are off\n"
					  "2 channels run, 0 are off\n"),
		      "%s", program.out);
	assert_nothing_left();
}
END_TEST

START_TEST(what_is_no_freeze_is_refused)
{
	struct program program;

	start(&program, true, "ask", "frozen_end", 5, NULL);
	wait_ready(&program);
	await(&program, "compute.freeze", "0\n");
	write_to(&program, "compute.freeze", "2\n");
	await_line("compute.freeze: 2 is refused");
	await(&program, "compute.freeze", "0\n");
	go_on(&program);
	finish(&program);
	ck_assert_msg(strstr(program.out, "2 channels run, 0 are off\n"), "%s", program.out);
}
END_TEST

/* As where the program has made its channels before the shim could see them. */
START_TEST(a_process_without_channels_stays_as_it_is)
{
	struct program program;

	start(&program, true, "ask", "fill", 3, NULL);
	wait_ready(&program);
	await(&program, "compute.freeze", "0\n");
	write_to(&program, "compute.freeze", "1\n");
	await_line("there is no channel to freeze");
	await_line("compute.freeze: 1 is refused");
	await(&program, "compute.freeze", "0\n");
	go_to_end(&program);
	assert_nothing_left();
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_process_is_frozen_and_thawed);
	tcase_add_test(tests, a_frozen_process_can_end);
	tcase_add_test(tests, what_is_no_freeze_is_refused);
	tcase_add_test(tests, a_process_without_channels_stays_as_it_is);
}

int main(void)
{
	return suite_run("shim_frozen", setup, teardown, add_tests);
}
