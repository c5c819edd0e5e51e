// SPDX-License-Identifier: MIT OR GPL-2.0
/* The shim and memory that has no address: arrays are counted, memory of graphs is said. */
#include "runs.h"

/* Bytes that the application asked for: elements, planes, layers and levels. */
START_TEST(arrays_count_by_what_was_asked_for)
{
	static const struct {
		const char *name;
		long long bytes;
	} sizes[] = {
		{ "bytes", 1000 },
		{ "half4", 10 * 20 * 8 },
		{ "volume", 10 * 20 * 30 * 8 },
		{ "layers", 10 * 30 * 4 },
		{ "blocks", 64 * 64 / 2 },
		{ "planes", 64 * 64 * 3 / 2 },
		{ "sparse", 0 },
		{ "deferred", 0 },
		{ "unknown", 0 },
		{ "flat", 100 * 3 * 4 },
		{ "levels", (8 * 4 + 4 * 2 + 2 + 1) * 4 },
		{ "all levels", (8 * 4 + 4 * 2 + 2 + 1) * 4 },
		{ "no levels", 8 * 4 * 4 },
		{ "cube", 6 * (16 + 4 + 1) * 4 },
		{ "levels of layers", 3 * (8 * 4 + 4 * 2 + 2 + 1) * 4 },
		{ "end", 0 },
	};
	struct program program;
	char line[64];

	run(&program, true, "ask", "array_sizes", 1, "GVM_LIMIT=10M");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(line, sizeof(line), "%s: used %lld\n", sizes[i].name, sizes[i].bytes);
		ck_assert_msg(strstr(program.out, line), "no '%s' in %s", line, program.out);
	}
	/* Once, though it is asked for again and again. */
	ck_assert_ptr_nonnull(strstr(content("log"), "an array of format 0x77"));
	ck_assert_int_eq(last_number("log", " current "), 0);
}
END_TEST

/* Arrays and other memory have one limit. What the driver refuses is not charged. */
START_TEST(a_limit_holds_for_arrays)
{
	struct program program;

	for (int i = 0; i < 2; i++) {
		start(&program, true, i ? "dlsym" : "linked", "array_fill", 60,
		      "GVM_LIMIT=10M");
		wait_ready(&program);
		ck_assert_str_eq(program.out, "arrays 9, then 2; memory 2\n");
		await(&program, "gmem.current", "10485760\n");
		await(&program, "gmem.events", "high 2\nhmem 0\noom 0\n");
		go_on(&program);
		wait_ready(&program);
		ck_assert_ptr_nonnull(strstr(program.out, "wrong 1 1\n"));
		await(&program, "gmem.current", "9437184\n");
		go_on(&program);
		wait_ready(&program);
		await(&program, "gmem.current", "0\n"); /* they went with their context */
		go_on(&program);
		finish(&program);
		assert_nothing_left();
	}
}
END_TEST

START_TEST(a_graph_that_allocates_is_said)
{
	static const char message[] = "a graph allocates memory";
	struct program program;

	run(&program, true, "ask", "graph_memory", 0, NULL);
	ck_assert_ptr_null(strstr(content("log"), message));
	run(&program, true, "ask", "graph_memory", 3, NULL);
	ck_assert_msg(strstr(content("log"), message), "%s", content("log"));
	ck_assert_ptr_null(strstr(strstr(content("log"), message) + 1, message));
	ck_assert_int_eq(last_number("log", ": launched "), 2);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, arrays_count_by_what_was_asked_for);
	tcase_add_test(tests, a_limit_holds_for_arrays);
	tcase_add_test(tests, a_graph_that_allocates_is_said);
}

int main(void)
{
	return suite_run("shim_arrays", setup, teardown, add_tests);
}
