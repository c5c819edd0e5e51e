// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Random programs, native and fenced in each mode, in an interpreter. Those that stay inside of
 * their memory leave the same memory behind. Wild ones never leave the partition. Every one
 * verifies. The seed is printed; GVM_TEST_SEED repeats a run, GVM_TEST_PROGRAMS says how many.
 */
#include "programs.h"
#include "verify.h"

#define PROGRAMS 20000u

static enum run_end run_text(const char *text, struct world *world)
{
	struct sim_error err = { 0 };
	struct ptx_module module;
	struct ptx_text words;
	enum run_end end;

	ck_assert_msg(!ptx_lex("in.ptx", text, strlen(text), &words, &err), "%s", err.text);
	ck_assert_msg(!ptx_parse(&words, &module, &err), "%s\n%s", err.text, text);
	end = interpret(&module, world);
	ck_assert_msg(end != RUN_UNKNOWN, "%s", text);
	ptx_module_destroy(&module);
	ptx_text_destroy(&words);
	return end;
}

static void check_verifies(const char *text)
{
	struct verify_report report;
	struct sim_error err = { 0 };
	struct ptx_text words;

	ck_assert(!ptx_lex("in.ptx", text, strlen(text), &words, &err));
	ck_assert_msg(!verify_text(&words, &report, &err), "%s\n%s", err.text, text);
	verify_report_destroy(&report);
	ptx_text_destroy(&words);
}

static u64 ends[RUN_UNKNOWN], found; /* ways to end; addresses that mode count has counted */

static void check_program(const struct program *program, enum patch_mode mode,
			  enum patch_pass pass)
{
	static struct world native, fenced;
	struct patch_options options = { .mode = mode,
					 .pass = pass,
					 .margin = PATCH_MARGIN_DEFAULT,
					 .index = (enum patch_index)(mode % 2) };
	struct sim_error err = { 0 };
	char *text = patch_with(program->text, &options, &err);
	enum run_end end;

	ck_assert_msg(text, "%s\n%s", err.text, program->text);
	check_verifies(text);
	make_world(&fenced, mode);
	end = run_text(text, &fenced);
	ends[end]++;
	/* The program is longer than a message may be. */
	if (has_left(&fenced, mode))
		printf("%s\n", text);
	ck_assert_msg(!has_left(&fenced, mode), "%s: %llx to %llx", patch_mode_names[mode],
		      fenced.lowest, fenced.highest);
	/*
	 * A fence aligns. Generic addresses of shared memory, which stay as
	 * they are, may be misaligned.
	 */
	if (mode == PATCH_FENCE && !strstr(program->text, "ld.u") &&
	    !strstr(program->text, "st.u") && !strstr(program->text, "ld.v") &&
	    !strstr(program->text, "st.v") && !strstr(program->text, "atom.add") &&
	    !strstr(program->text, "red.add"))
		ck_assert_uint_eq(fenced.misaligned, 0);
	/* An address that the fence changes is counted, and no other one. */
	if (mode == PATCH_COUNT && !program->wild)
		ck_assert_uint_eq(fenced.found[0], 0);
	if (mode == PATCH_COUNT)
		found += fenced.found[0];
	if (!program->wild) {
		make_world(&native, mode);
		ck_assert_int_eq(run_text(program->text, &native), RUN_RETURNED);
		ck_assert_int_eq(end, RUN_RETURNED);
		ck_assert_msg(!memcmp(native.memory, fenced.memory, WORLD_BYTES) &&
				      !memcmp(native.shared, fenced.shared, WORLD_SHARED_SIZE),
			      "%s: other memory after\n%s", patch_mode_names[mode], text);
	}
	free(text);
}

START_TEST(fenced_programs_do_the_same_and_stay_inside)
{
	const char *count = getenv("GVM_TEST_PROGRAMS");
	u64 programs = count ? strtoull(count, NULL, 10) : PROGRAMS;
	static struct program program;

	printf("seed %llu, %llu programs\n", draw_from("GVM_TEST_SEED", 20261122), programs);
	fflush(stdout);
	for (u64 i = 0; i < programs; i++) {
		enum patch_mode mode = (enum patch_mode)(i / 2 % PATCH_MODES);

		make_program(&program, i & 1);
		check_program(&program, mode, i % 3 ? PATCH_CONST : PATCH_PARAMS);
	}
	printf("returned %llu, trapped %llu, misaligned %llu, endless %llu\n",
	       ends[RUN_RETURNED], ends[RUN_TRAPPED], ends[RUN_MISALIGNED], ends[RUN_STEPS]);
	ck_assert_uint_gt(ends[RUN_RETURNED], programs / 2);
	ck_assert_uint_gt(ends[RUN_TRAPPED], programs / 100);
	ck_assert_uint_gt(found, programs / 10);
}
END_TEST

/* The interpreter sees what an unfenced wild program does: the test above can fail. */
START_TEST(unfenced_wild_programs_do_leave_the_partition)
{
	static struct program program;
	static struct world world;
	u32 outside = 0;

	draw_from("", 1);
	for (u32 i = 0; i < 200; i++) {
		make_program(&program, true);
		make_world(&world, PATCH_FENCE);
		if (strstr(program.text, "brx"))
			continue;
		run_text(program.text, &world);
		outside += has_left(&world, PATCH_FENCE);
	}
	ck_assert_uint_gt(outside, 30);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_set_timeout(tests, 7200);
	tcase_add_test(tests, fenced_programs_do_the_same_and_stay_inside);
	tcase_add_test(tests, unfenced_wild_programs_do_leave_the_partition);
}

int main(void)
{
	return suite_run("programs", NULL, NULL, add_tests);
}
