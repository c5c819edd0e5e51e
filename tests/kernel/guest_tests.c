// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The tests inside gvm_coretest.ko: each of their points becomes a point of the guest. See
 * guest.h.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUEST_TAP_MAX (256 * 1024)

/* Take the next line off a text. Returns NULL at the end. */
static char *guest_next_line(char **text)
{
	char *line = *text;
	char *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return line;
}

/* Repeat a line of TAP other than the plan. Returns whether it is the point of this number. */
static bool guest_repeat_point(const char *line, unsigned int number)
{
	bool ok = strncmp(line, "not ", 4) != 0;
	unsigned int got;
	int length = 0;

	if (sscanf(ok ? line : line + 4, "ok %u - %n", &got, &length) != 1 || !length)
		return false;
	guest_check(ok, "%s", line + length + (ok ? 0 : 4));
	return got == number;
}

void guest_run_tests(void)
{
	static char buffer[GUEST_TAP_MAX];
	char *text = buffer;
	int error = guest_read("gvm_coretest/tests", buffer, sizeof(buffer));
	unsigned int points = 0;
	unsigned int plan = 0;
	char *line;

	while ((line = guest_next_line(&text)) && sscanf(line, "1..%u", &plan) != 1) {
		points++;
		if (!guest_repeat_point(line, points))
			guest_check(false, "point %u is '%s'", points, line);
	}
	guest_check(!error && plan > 0 && points == plan, "tests in the module: %u of %u, %s",
		    points, plan, guest_error_name(error));
}

/* The beginning of each line of gvm_coretest/failing, and a text that the line must contain. */
static const struct {
	const char *begin;
	const char *reason;
} guest_failing[] = {
	{ "not ok 1 - coretest_failing:tests:an_assertion_that_fails_ends_the_test (0): ",
	  "world.device.chunk_count < 1: 16 is not < 1" },
	{ "ok 2 - coretest_failing:tests:the_next_test_passes", "" },
	{ "not ok 3 - coretest_failing:tests:a_leak_fails_the_tear_down (0): core_world.c:",
	  "world.live == 0: 1 is not == 0" },
	{ "not ok 4 - coretest_failing:tests:a_failure_in_a_worker_counts (0): ",
	  "in a worker" },
	{ "ok 5 - coretest_failing:tests:a_signal_is_not_waited_for # SKIP ", "broken" },
	{ "not ok 6 - coretest_failing:set-up:a_failed_set_up_fails_the_test (0): ",
	  "chunk_count <= WORLD_CHUNKS_MAX: 4097 is not <= 4096" },
	{ "1..6", "" },
};

#define GUEST_FAILING (sizeof(guest_failing) / sizeof(guest_failing[0]))

void guest_run_failing_tests(void)
{
	char buffer[GUEST_TEXT_MAX];
	char *text = buffer;
	int error = guest_read("gvm_coretest/failing", buffer, sizeof(buffer));

	guest_check(!error, "read gvm_coretest/failing: %s", guest_error_name(error));
	for (size_t i = 0; i < GUEST_FAILING; i++) {
		const char *begin = guest_failing[i].begin;
		const char *line = guest_next_line(&text);

		guest_check(line && strncmp(line, begin, strlen(begin)) == 0 &&
				    strstr(line, guest_failing[i].reason),
			    "a report of tests that fail: '%s'", line ? line : "no line");
	}
	guest_check(*text == '\0', "a report of tests that fail ends with its plan");
}
