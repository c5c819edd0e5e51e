// SPDX-License-Identifier: MIT OR GPL-2.0
/* How scenarios and data are found: by name, from any folder, beside the program. */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_fixture.h"
#include "config/json_schema.h"
#include "config/paths.h"
#include "config/schema.h"
#include "config/steps.h"
#include "config/value.h"
#include "machine/machine.h"
#include "suite.h"

/* A results folder often has the name of its scenario. */
START_TEST(a_folder_does_not_hide_a_scenario_of_ours)
{
	ck_assert_int_eq(mkdir("vllm-diffusion-40g", 0700), 0);
	ck_assert_msg(load_path("vllm-diffusion-40g", NULL, NULL) == 0, "%s", error.text);
	ck_assert_str_eq(config.name, "vllm-diffusion-40g");
}
END_TEST

START_TEST(scenarios_are_found_from_any_folder)
{
	char path[128];
	char trace[128];

	snprintf(path, sizeof(path), "%s/s.json", folder);
	snprintf(trace, sizeof(trace), "%s/head.trace", folder);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_msg(load_path(path, NULL, NULL) == 0, "%s", error.text);
	ck_assert_str_eq(llm_keys()->client.trace.file, trace);
}
END_TEST

/* Run a copy of this program at @program. It prints the path at which it finds @name. */
static void run_copy(const char *program, const char *kind, const char *name, char *ret_line,
		     int size)
{
	char command[1024];
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "mkdir -p $(dirname %s) && cp /proc/%d/exe %s && cd / && %s --find %s %s",
		 program, (int)getpid(), program, program, kind, name);
	pipe = popen(command, "r");
	ck_assert_ptr_nonnull(pipe);
	ck_assert_ptr_nonnull(fgets(ret_line, size, pipe));
	ck_assert_int_eq(pclose(pipe), 0);
}

static void assert_found(const char *program, const char *kind, const char *name,
			 const char *expected)
{
	char full[128];
	char line[PATH_MAX + 2];
	char path[128];

	snprintf(full, sizeof(full), "%s/%s", folder, program);
	snprintf(path, sizeof(path), "%s/%s\n", folder, expected);
	run_copy(full, kind, name, line, sizeof(line));
	ck_assert_str_eq(line, path);
}

START_TEST(data_is_found_beside_the_program)
{
	ck_assert_int_eq(
		system("mkdir -p src/scenarios/gpus src/traces usr/share/gvmsim/traces"), 0);
	write_file("src/traces/x.trace", "x");
	write_file("usr/share/gvmsim/traces/x.trace", "x");
	assert_found("src/gvmsim", "traces", "x.trace", "src/traces/x.trace");
	assert_found("src/build/gvmsim", "traces", "x.trace", "src/traces/x.trace");
	assert_found("src/build/a/b/c/gvmsim", "traces", "x.trace", "src/traces/x.trace");
	assert_found("src/build/gvmsim", "scenarios", "gpus", "src/scenarios/gpus");
	assert_found("usr/bin/gvmsim", "traces", "x.trace", "usr/share/gvmsim/traces/x.trace");
}
END_TEST

/* A program outside the source tree, such as in a build folder. */
START_TEST(data_is_found_in_the_source_tree_at_last)
{
	char program[128];
	char line[PATH_MAX + 2];

	if (!access(GVMSIM_DATA_DIR, F_OK))
		return;
	snprintf(program, sizeof(program), "%s/bin/gvmsim", folder);
	run_copy(program, "scenarios", "gpus", line, sizeof(line));
	ck_assert_str_eq(line, GVMSIM_SOURCE_DIR "/scenarios/gpus\n");
	run_copy(program, "plots", ".", line, sizeof(line));
	ck_assert_str_eq(line, GVMSIM_SOURCE_DIR "/plots\n");
}
END_TEST

START_TEST(missing_data_says_where_it_was_sought)
{
	char path[PATH_MAX];

	ck_assert_int_eq(config_find_data("traces", "none", path, sizeof(path), &error),
			 -SIM_EXIT_USER);
	ck_assert_msg(!strncmp(error.text, "none: not found, allowed: a file in /", 37), "%s",
		      error.text);
}
END_TEST

/* Jansson's memory: so many allocations are granted. */
static size_t granted, asked;

static void *grant(size_t size)
{
	return asked++ < granted ? malloc(size) : NULL;
}

static void limit_memory(size_t allocations)
{
	granted = allocations;
	asked = 0;
	json_set_alloc_funcs(grant, free);
}

/* It is no mistake in the file, as Jansson says of some allocations. */
START_TEST(a_lack_of_memory_is_no_mistake_in_a_file)
{
	json_t *root = NULL;
	size_t failures = 0;

	for (; !root; failures++) {
		int status;

		error = (struct sim_error){ 0 };
		limit_memory(failures);
		status = cfg_load_json("s.json", &root, &error);
		json_set_alloc_funcs(malloc, free);
		if (!status)
			break;
		ck_assert_int_eq(status, -SIM_EXIT_RUNTIME);
		ck_assert_str_eq(error.text, "s.json: out of memory");
	}
	ck_assert_uint_gt(failures, 20);
	json_decref(root);
}
END_TEST

/* It was a broken invariant. */
START_TEST(defaults_without_memory_are_none)
{
	const struct cfg_keys *keys = machine_registry.apps[0];
	void *base = NULL;
	size_t failures = 0;

	for (; !base; failures++) {
		limit_memory(failures);
		base = cfg_keys_defaults(keys);
		json_set_alloc_funcs(malloc, free);
	}
	ck_assert_uint_gt(failures, 20);
	free(base);
}
END_TEST

/* Without memory the schema is given up: it took hours. */
START_TEST(a_schema_without_memory_ends)
{
	struct cfg_schema schema;
	size_t all;
	json_t *root;

	ck_assert_int_eq(cfg_schema_init(&schema, &machine_registry), 0);
	limit_memory(SIZE_MAX);
	root = cfg_json_schema(&schema);
	ck_assert_ptr_nonnull(root);
	json_decref(root);
	all = asked;
	for (size_t allocations = 0; allocations < all; allocations += 97) {
		limit_memory(allocations);
		ck_assert_ptr_null(cfg_json_schema(&schema));
		ck_assert_uint_le(asked, 2 * all);
	}
	json_set_alloc_funcs(malloc, free);
	cfg_schema_destroy(&schema);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_folder_does_not_hide_a_scenario_of_ours);
	tcase_add_test(tests, scenarios_are_found_from_any_folder);
	tcase_add_test(tests, data_is_found_beside_the_program);
	tcase_add_test(tests, data_is_found_in_the_source_tree_at_last);
	tcase_add_test(tests, missing_data_says_where_it_was_sought);
	tcase_add_test(tests, a_lack_of_memory_is_no_mistake_in_a_file);
	tcase_add_test(tests, defaults_without_memory_are_none);
	tcase_add_test(tests, a_schema_without_memory_ends);
}

/* "--find KIND NAME": see run_copy(). */
static int find_and_print(const char *kind, const char *name)
{
	char path[PATH_MAX];

	if (config_find_data(kind, name, path, sizeof(path), &error))
		return EXIT_FAILURE;
	printf("%s\n", path);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--find"))
		return find_and_print(argv[2], argv[3]);
	return suite_run("config files", fixture_setup, fixture_teardown, add_tests);
}
