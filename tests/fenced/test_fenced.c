// SPDX-License-Identifier: MIT OR GPL-2.0
/* gvmfenced: what clients compute, and what they cannot reach. */
#include "runs.h"

START_TEST(every_call_does_what_cuda_does)
{
	static const char *const modes[] = { "fence", "once", "check", "modulo", "noprot" };
	struct client client;
	char expected[128];

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		bool once = !strcmp(modes[i], "once");

		start_manager(modes[i], "10s");
		run(&client, "all", 300, "20M");
		stop_manager();
		ck_assert_msg(!client.status, "%s %s", client.out, log_end());
		ck_assert_ptr_nonnull(strstr(client.out, "a GPU of the host's memory"));
		snprintf(expected, sizeof(expected), "sum %u\n", sum_after(300));
		ck_assert_msg(strstr(client.out, expected), "%s: %s", modes[i], client.out);
		ck_assert_ptr_nonnull(strstr(client.out, "1.5 ms\na free of nothing 1\n"));
		/* 20 MiB make 32; with margins 36 MiB make 64. */
		snprintf(expected, sizeof(expected), "%u of %u\n", once ? 48u << 20 : 32u << 20,
			 once ? 48u << 20 : 32u << 20);
		ck_assert_msg(strstr(client.out, expected), "%s: %s", modes[i], client.out);
	}
}
END_TEST

/* They are there before the first launch, though its stream does not wait for the copy of them. */
START_TEST(a_launch_finds_its_bounds)
{
	struct client client;
	char expected[128];

	setenv("FAKE_STAGED", "1", 1);
	start_manager("fence", "10s");
	unsetenv("FAKE_STAGED");
	run(&client, "all", 3, "20M");
	stop_manager();
	ck_assert_int_eq(count_in_log("a store outside of all reserved addresses"), 0);
	snprintf(expected, sizeof(expected), "sum %u\n", sum_after(3));
	ck_assert_msg(strstr(client.out, expected), "%s", client.out);
}
END_TEST

/*
 * One client pokes at all addresses around; the others' memory stays as it is.
 * Without a fence it does not.
 */
START_TEST(a_hostile_client_reaches_nobody)
{
	struct client victims[2], hostile;
	char expected[64];

	for (int fenced = 0; fenced < 2; fenced++) {
		start_manager(fenced ? "fence" : "noprot", "10s");
		start(&victims[0], "victim", 1234567, "16M");
		wait_ready(&victims[0]);
		run(&hostile, "hostile", fenced ? 32 : 16, "16M");
		start(&victims[1], "victim", 7654321, "16M");
		wait_ready(&victims[1]);
		run(&hostile, "hostile", fenced ? 32 : 16, "16M");
		finish(&victims[0]);
		finish(&victims[1]);
		stop_manager();
		snprintf(expected, sizeof(expected), "sum %u\n", sum_of(1234567));
		ck_assert_int_eq(strstr(victims[0].out, expected) != NULL, fenced);
		if (!fenced)
			continue;
		ck_assert_msg(!hostile.status, "%s %s", hostile.out, log_end());
		snprintf(expected, sizeof(expected), "sum %u\n", sum_of(7654321));
		ck_assert_ptr_nonnull(strstr(victims[1].out, expected));
		ck_assert_ptr_nonnull(strstr(hostile.out, "outside 1 1 1 1\n"));
		ck_assert_ptr_null(strstr(hostile.out, "0 of 256"));
		ck_assert_ptr_nonnull(strstr(hostile.out, "refused code 218\n"));
		ck_assert_ptr_nonnull(strstr(hostile.out, "code without PTX 209\n"));
	}
}
END_TEST

/*
 * Modes once and 4g may keep the constant offset of an access. It leads over the end of the
 * client's partition then: to no data of a neighbour, and to nothing that is not the manager's.
 */
START_TEST(offsets_that_are_kept_reach_nobody)
{
	static const char *const modes[] = { "once", "4g" };
	struct client victim, hostile;
	char expected[64];

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		for (int offset = -2000; offset <= 2000; offset += 4000)
			for (int first = 0; first < 2; first++) {
				int left = count_in_log("has left");

				start_manager(modes[i], "10s");
				/* The victim is after the hostile one, or in front of it. */
				if (first)
					start(&victim, "victim", 1234567, "16M");
				else
					start(&hostile, "stay", 1, "16M");
				wait_ready(first ? &victim : &hostile);
				if (!first) {
					start(&victim, "victim", 1234567, "16M");
					wait_ready(&victim);
					finish(&hostile);
					await_log("has left", left + 1);
				}
				run(&hostile, "beyond", offset, "16M");
				finish(&victim);
				stop_manager();
				ck_assert_msg(strstr(hostile.out, "poked"), "%s %s",
					      hostile.out, log_end());
				snprintf(expected, sizeof(expected), "sum %u\n",
					 sum_of(1234567));
				ck_assert_msg(strstr(victim.out, expected), "%s, %d: %s",
					      modes[i], offset, victim.out);
				ck_assert_int_eq(
					count_in_log("outside of all reserved addresses"), 0);
			}
}
END_TEST

/*
 * Programs with a mode of their own beside those of mode once, which keep offsets: a partition has
 * margins whatever its mode, so neither reaches the other's data. The listed one's code is fenced
 * as its mode says.
 */
START_TEST(a_program_can_have_a_mode_of_its_own)
{
	struct client victim, hostile;
	char copy[128], option[64], command[512], expected[64];

	snprintf(copy, sizeof(copy), "%s/listed", folder);
	snprintf(command, sizeof(command), "cp '%s' '%s'", CLIENT, copy);
	ck_assert_int_eq(system(command), 0);
	for (int listed = 0; listed < 2; listed++) {
		int left = count_in_log("has left");

		snprintf(option, sizeof(option), "listed=%s", listed ? "modulo" : "fence");
		start_manager_with("once", "10s", "--program", option, false);
		/* The victim is after the hostile one, whose place is kept until it is there. */
		client_program = listed ? copy : CLIENT;
		start(&hostile, "stay", 1, "16M");
		wait_ready(&hostile);
		client_program = listed ? CLIENT : copy;
		start(&victim, "victim", 1234567, "16M");
		wait_ready(&victim);
		finish(&hostile);
		await_log("has left", left + 1);
		client_program = listed ? copy : CLIENT;
		run(&hostile, "beyond", 2000, "16M");
		run(&hostile, "hostile", 32, "16M");
		finish(&victim);
		stop_manager();
		snprintf(expected, sizeof(expected), "sum %u\n", sum_of(1234567));
		ck_assert_msg(strstr(victim.out, expected), "%d: %s %s", listed, victim.out,
			      log_end());
	}
	client_program = CLIENT;
	ck_assert_int_eq(count_in_log(", mode fence\n"), 1);
	ck_assert_int_eq(count_in_log(", mode modulo\n"), 3);
}
END_TEST

/* The manager has places for 4096 functions of a client. */
START_TEST(functions_that_are_gone_or_known_take_no_place)
{
	struct client client;

	start_manager("fence", "10s");
	run(&client, "functions", 5000, "16M");
	stop_manager();
	ck_assert_msg(!client.status, "%s %s", client.out, log_end());
	ck_assert_ptr_nonnull(strstr(client.out, "asked for 5000 times\n"));
}
END_TEST

/* A message has room for 256 parameters of a kernel, and for 4096 bytes of them. */
START_TEST(a_kernel_with_more_parameters_than_fit_is_refused)
{
	struct client client;

	start_manager("fence", "10s");
	run(&client, "parameters", 1, "16M");
	await_log(" 2 refused; ", 1);
	stop_manager();
	ck_assert_msg(strstr(client.out, "parameters_256: 0\nparameters_257: 801\n"
					 "bytes_4104: 801\n"),
		      "%s", client.out);
	ck_assert_ptr_nonnull(strstr(log_text(), "refused: kernel parameters_257 has more than "
						 "256 parameters\n"));
	ck_assert_ptr_nonnull(strstr(log_text(), "refused: kernel bytes_4104 has parameters of "
						 "more than 4096 bytes\n"));
}
END_TEST

/* ptxas may have spilled bounds to local memory, which such a store could change. */
START_TEST(a_kernel_that_may_reach_spilled_bounds_is_refused)
{
	struct client client;

	start_manager("once", "10s");
	run(&client, "local", 1, "16M");
	stop_manager();
	ck_assert_msg(strstr(client.out, "local stores: code 0\n"), "%s", client.out);
	ck_assert_msg(strstr(client.out, "local stores and local memory: code 218\n"), "%s",
		      client.out);
	ck_assert_ptr_nonnull(
		strstr(log_text(), "refused: kernel poke has 496 bytes of local"));
	start_manager_with("once", "10s", "--local-stores", NULL, false);
	run(&client, "local", 1, "16M");
	stop_manager();
	ck_assert_msg(strstr(client.out, "local stores and local memory: code 0\n"), "%s",
		      client.out);
}
END_TEST

/* No room for constants with bounds: they are the last parameters of each kernel. */
START_TEST(a_module_whose_constants_are_full_has_its_bounds_in_parameters)
{
	static const char *const modes[] = { "fence", "check", "modulo" };
	struct client client, victim;
	char expected[64];

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		start_manager_with(modes[i], "10s", "--sample", "1", false);
		start(&victim, "victim", 1234567, "16M");
		wait_ready(&victim);
		run(&client, "full", 3, "16M");
		finish(&victim);
		stop_manager();
		ck_assert_msg(!client.status, "%s %s", client.out, log_end());
		/* 1, 4, 13, 40; and stores that would go to a neighbour, each times three. */
		snprintf(expected, sizeof(expected), "sum %u\nsecond 120\nthen 360\n",
			 sum_after(3));
		ck_assert_msg(strstr(client.out, expected), "%s: %s", modes[i], client.out);
		snprintf(expected, sizeof(expected), "sum %u\n", sum_of(1234567));
		ck_assert_ptr_nonnull(strstr(victim.out, expected));
		/* The copy that counts would need room, too. */
		ck_assert_int_eq(
			count_in_log("a module cannot be sampled: its bounds are parameters, "
				     "since its constants are full"),
			(int)i + 1);
	}
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, every_call_does_what_cuda_does);
	tcase_add_test(tests, a_launch_finds_its_bounds);
	tcase_add_test(tests, a_hostile_client_reaches_nobody);
	tcase_add_test(tests, offsets_that_are_kept_reach_nobody);
	tcase_add_test(tests, a_program_can_have_a_mode_of_its_own);
	tcase_add_test(tests, functions_that_are_gone_or_known_take_no_place);
	tcase_add_test(tests, a_kernel_with_more_parameters_than_fit_is_refused);
	tcase_add_test(tests, a_kernel_that_may_reach_spilled_bounds_is_refused);
	tcase_add_test(tests, a_module_whose_constants_are_full_has_its_bounds_in_parameters);
}

int main(void)
{
	return suite_run("fenced", setup, teardown, add_tests);
}
