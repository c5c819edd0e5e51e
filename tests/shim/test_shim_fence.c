// SPDX-License-Identifier: MIT OR GPL-2.0
/* GVM_FENCE: code is fenced as it is loaded, and memory comes from one partition. */
#include "runs.h"

static const char *const fences[] = { "fence", "once", "4g", "check", "modulo", "count" };

#define FENCED_IMAGES                                                                \
	"plain.fatbin: 0 bounds of %s, around memory, mask right\nas a library: 0\n" \
	"lz4.fatbin: 0 bounds of %s, around memory, mask right\nas a library: 0\n"   \
	"zstd.fatbin: 0 bounds of %s, around memory, mask right\nas a library: 0\n"

/* PTX is found in fat binaries of each form, and code without PTX for the GPU is refused. */
START_TEST(images_are_fenced_or_refused)
{
	struct program program;
	char expected[1024], variables[128];

	for (size_t i = 0; i < sizeof(fences) / sizeof(fences[0]); i++) {
		const char *bytes = i == 2 ? "4294967296" : "536870912";

		forget_files();
		snprintf(variables, sizeof(variables),
			 "GVM_FENCE=%s GVM_FENCE_SIZE=%s FAKE_MEMORY=9000000000", fences[i],
			 bytes);
		snprintf(expected, sizeof(expected),
			 FENCED_IMAGES "code.fatbin: 209 refused\nas a library: 209\n", bytes,
			 bytes, bytes);
		run(&program, true, i % 2 ? "ask" : "linked", "images", 7, variables);
		ck_assert_str_eq(program.out, expected);
		ck_assert_int_eq(last_number("log", "modules: fenced "), 6);
		ck_assert_int_eq(last_number("log", " refused "), 2);
		ck_assert_ptr_nonnull(strstr(content("log"), "has no PTX for this GPU"));
	}
}
END_TEST

START_TEST(code_of_an_allowed_library_runs_without_a_fence)
{
	struct program program;

	/* The images are on the heap, which belongs to no file. */
	run(&program, true, "ask", "images", 7, "GVM_FENCE=fence GVM_FENCE_ALLOW=libother");
	ck_assert_ptr_nonnull(strstr(program.out, "code.fatbin: 209 refused"));
	forget_files();
	run(&program, true, "ask", "images", 7,
	    "GVM_FENCE=fence GVM_FENCE_ALLOW=libother,memory");
	ck_assert_ptr_nonnull(strstr(program.out, "code.fatbin: 0 no bounds"));
	ck_assert_int_eq(last_number("log", " without a fence "), 2);
	forget_files();
	run(&program, false, "ask", "images", 7, NULL);
	ck_assert_ptr_nonnull(strstr(program.out, "plain.fatbin: 0 no bounds"));
}
END_TEST

START_TEST(a_library_that_was_loaded_early_has_bounds_at_the_first_launch)
{
	struct program program;

	run(&program, true, "ask", "early_library", 1, "GVM_FENCE=fence");
	ck_assert_str_eq(program.out, "no bounds\nbounds of 536870912, around memory, mask "
				      "right\n");
}
END_TEST

/* They are there when the code is loaded, though the driver may still copy them by then. */
START_TEST(a_launch_finds_its_bounds)
{
	struct program program;

	run(&program, true, "linked", "images", 7,
	    "GVM_FENCE=fence GVM_FENCE_SIZE=536870912 FAKE_STAGED=1");
	ck_assert_ptr_nonnull(strstr(program.out, "plain.fatbin: 0 bounds of 536870912, around "
						  "memory, mask right\nas a library: 0\n"));
}
END_TEST

START_TEST(memory_comes_from_the_partition)
{
	struct program program;

	run(&program, true, "dlsym", "partition", 600, "GVM_FENCE=check GVM_FENCE_SIZE=500M");
	ck_assert_str_eq(program.out, "free 536870912 of 536870912\napart 1\nmanaged 801\n"
				      "too much 2\na free of nothing 0\n"
				      "free 536870912 of 536870912\n");
	/* Margins are no memory. */
	run(&program, true, "dlsym", "partition", 600, "GVM_FENCE=once GVM_FENCE_SIZE=64M");
	ck_assert_ptr_nonnull(strstr(program.out, "free 50331648 of 50331648\n"));
}
END_TEST

/* A fence that the user wanted is there, or nothing runs. */
START_TEST(no_mistake_turns_a_fence_off)
{
	struct program program;

	run(&program, true, "ask", "images", 7, "GVM_FENCE=fense");
	ck_assert_ptr_nonnull(strstr(program.out, "plain.fatbin: 0 bounds of"));
	ck_assert_ptr_nonnull(strstr(content("log"), "GVM_FENCE=fense is not known"));
	forget_files();
	start(&program, true, "ask", "images", 7, "GVM_FENCE=4g GVM_FENCE_SIZE=1G");
	finish(&program);
	ck_assert(WIFEXITED(program.status) && WEXITSTATUS(program.status));
	ck_assert_ptr_nonnull(strstr(content("log"), "it is too small for this mode"));
}
END_TEST

/* Nor does a file that the shim cannot read: it is not the driver's to load. */
START_TEST(files_are_fenced_or_refused)
{
	struct program program;

	run(&program, true, "ask", "files", 1, "GVM_FENCE=fence");
	ck_assert_str_eq(program.out, "whole: 0\nwrapper: 209\ncut: 218\ncut: 209\ncut: 209\n"
				      "cut: 209\ncut: 209\ncut: 209\ncut: 209\nlarge: 209\n"
				      "none: 301\n");
}
END_TEST

START_TEST(code_that_is_unloaded_leaves_no_memory)
{
	struct program program;

	run(&program, true, "ask", "libraries", 2000, "GVM_FENCE=fence");
	ck_assert_int_eq(sscanf(program.out, "grown by %d KiB", &(int){ 0 }), 1);
	ck_assert_msg(atoi(program.out + strlen("grown by ")) < 512, "%s", program.out);
}
END_TEST

START_TEST(a_context_gives_its_memory_back_to_the_partition)
{
	struct program program;

	run(&program, true, "ask", "resets", 1000, "GVM_FENCE=check GVM_FENCE_SIZE=64M");
	ck_assert_str_eq(program.out, "allocated 64, 64\n");
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, code_that_is_unloaded_leaves_no_memory);
	tcase_add_test(tests, a_context_gives_its_memory_back_to_the_partition);
	tcase_add_test(tests, images_are_fenced_or_refused);
	tcase_add_test(tests, code_of_an_allowed_library_runs_without_a_fence);
	tcase_add_test(tests, a_library_that_was_loaded_early_has_bounds_at_the_first_launch);
	tcase_add_test(tests, a_launch_finds_its_bounds);
	tcase_add_test(tests, memory_comes_from_the_partition);
	tcase_add_test(tests, no_mistake_turns_a_fence_off);
	tcase_add_test(tests, files_are_fenced_or_refused);
}

int main(void)
{
	return suite_run("shim_fence", setup, teardown, add_tests);
}
