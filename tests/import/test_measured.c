// SPDX-License-Identifier: MIT OR GPL-2.0
/* A scenario of a measured run, where there is no memory. The program's test has the rest. */
#include "import/measured.h"

#include <stdlib.h>

#include "engine/error.h"
#include "suite.h"

#define RESULTS GVMSIM_SOURCE_DIR "/plots/reference/hardware/h200-corun/shim-launches"

/* Jansson's memory: one allocation is refused. */
static size_t refused, asked;

static void *grant(size_t size)
{
	return asked++ != refused ? malloc(size) : NULL;
}

static void no_setup(void)
{
}

/* A scenario with a part of its keys would run, and be another one. */
START_TEST(a_lack_of_memory_makes_no_scenario)
{
	static const struct measured_app apps[] = {
		{ .container = "llm", .profile = "corun-llama-3.2-3b" },
		{ .container = "diffusion", .profile = "corun-sd3.5-medium" },
	};
	const struct measured_request request = {
		.results = RESULTS,
		.out = "mine.json",
		.lead_ns = 10000000000,
		.apps = apps,
		.app_count = 2,
	};
	struct sim_error err = { 0 };
	struct measured measured;
	json_t *whole;
	size_t all;

	refused = SIZE_MAX;
	asked = 0;
	json_set_alloc_funcs(grant, free);
	ck_assert_msg(!measured_open(&measured, &request, &err), "%s", err.text);
	all = asked;
	whole = json_incref(measured.scenario);
	measured_close(&measured);
	for (refused = 0; refused < all; refused++) {
		asked = 0;
		err = (struct sim_error){ 0 };
		if (measured_open(&measured, &request, &err))
			ck_assert_msg(strstr(err.text, "out of memory") != NULL, "%zu: %s",
				      refused, err.text);
		else
			ck_assert_msg(json_equal(whole, measured.scenario), "%zu of %zu",
				      refused, all);
		measured_close(&measured);
	}
	json_set_alloc_funcs(malloc, free);
	json_decref(whole);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_lack_of_memory_makes_no_scenario);
}

int main(void)
{
	return suite_run("measured runs", no_setup, no_setup, add_tests);
}
