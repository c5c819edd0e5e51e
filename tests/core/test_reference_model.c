// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The core against a second, naive statement of what it should do (reference_model.h): a
 * million random operations a run, and every case that once told the two apart
 * (tests/core/cases). GVM_TEST_SEED repeats a run. A case that fails is shrunk and written to
 * the folder GVM_TEST_CASES.
 */
#include "core_world.h"
#include "model_case.h"
#include "runner.h"

#include <glob.h>
#include <sys/stat.h>
#include <time.h>

#define OPERATIONS 1000000u

static struct model_case drawn, other;

static u64 choose_seed(void)
{
	const char *text = getenv("GVM_TEST_SEED");
	struct timespec now;

	if (text)
		return strtoull(text, NULL, 0);
	clock_gettime(CLOCK_REALTIME, &now);
	return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

/* The path for a failing case of @seed. Makes its folder. */
static void case_path(char *path, size_t size, u64 seed)
{
	const char *folder = getenv("GVM_TEST_CASES");

	folder = folder ? folder : TEST_CASES_FOUND;
	mkdir(folder, 0777);
	snprintf(path, size, "%s/%016llx.ops", folder, seed);
}

static void keep_case(const char *path, const struct model_case *failing, const char *why)
{
	FILE *file = fopen(path, "w");

	if (!file)
		ck_abort_msg("%s cannot be written", path);
	fprintf(file, "# SPDX-License-Identifier: MIT OR GPL-2.0\n# %s\n", why);
	case_write(file, failing);
	fclose(file);
}

/* Shrink a failing case, write it to a file, and fail the test. */
static void report_case(struct model_case *failing, u64 seed)
{
	struct case_failure failure;
	char path[4096];

	case_path(path, sizeof(path), seed);
	case_shrink(failing, case_passes_quietly);
	case_passes(failing, &failure); /* once more, with the core's messages */
	keep_case(path, failing, failure.why);
	case_write(stdout, failing);
	fflush(stdout);
	ck_abort_msg("GVM_TEST_SEED=%llu: %s, after operation %u of %s", seed, failure.why,
		     failure.op + 1, path);
}

/* F3, and any other difference between core and model. */
START_TEST(core_and_model_agree_on_a_million_random_operations)
{
	u64 seed = choose_seed(), state = seed;
	struct case_failure failure;
	u32 done = 0;

	printf("GVM_TEST_SEED=%llu\n", seed);
	while (done < OPERATIONS) {
		case_draw(&drawn, &state);
		if (!case_passes_quietly(&drawn, &failure))
			report_case(&drawn, seed);
		done += drawn.count;
	}
}
END_TEST

static void replay(const char *path)
{
	FILE *file = fopen(path, "r");
	struct case_failure failure;
	u32 bad_line;

	ck_assert_msg(file, "%s cannot be read", path);
	bad_line = case_read(file, &drawn);
	fclose(file);
	ck_assert_msg(bad_line == 0, "%s:%u: malformed", path, bad_line);
	ck_assert_msg(case_passes(&drawn, &failure), "%s: %s, after operation %u", path,
		      failure.why, failure.op + 1);
}

START_TEST(cases_that_once_failed_pass)
{
	glob_t found;
	size_t i;

	ck_assert_int_eq(glob(TEST_CASES_KEPT "/*.ops", 0, NULL, &found), 0);
	ck_assert_uint_gt(found.gl_pathc, 0);
	for (i = 0; i < found.gl_pathc; i++)
		replay(found.gl_pathv[i]);
	globfree(&found);
}
END_TEST

/* The tools for cases. */

START_TEST(a_case_reads_back_as_it_was_written)
{
	u64 state = 1;
	FILE *file = tmpfile();
	u32 i;

	ck_assert_ptr_nonnull(file);
	case_draw(&drawn, &state);
	case_write(file, &drawn);
	rewind(file);
	ck_assert_uint_eq(case_read(file, &other), 0);
	fclose(file);
	ck_assert_uint_eq(other.chunks, drawn.chunks);
	ck_assert_uint_eq(other.count, drawn.count);
	for (i = 0; i < drawn.count; i++) {
		ck_assert_uint_eq(other.ops[i].kind, drawn.ops[i].kind);
		ck_assert_uint_eq(other.ops[i].container, drawn.ops[i].container);
		ck_assert_uint_eq(other.ops[i].chunk, drawn.ops[i].chunk);
		ck_assert_uint_eq(other.ops[i].value, drawn.ops[i].value);
	}
}
END_TEST

static const struct {
	const char *text;
	u32 bad_line;
} texts[] = {
	{ "chunks 64\nbind container=5 chunk=63\n", 0 },
	{ "# a comment\n\nchunks 1\nfind value=3\n", 0 },
	{ "", 1 },
	{ "reserve container=0\n", 1 },
	{ "chunks 0\n", 1 },
	{ "chunks 65\n", 1 },
	{ "chunks 2\nreserve\n", 2 },
	{ "chunks 2\nreserve container=6\n", 2 },
	{ "chunks 2\ntouch chunk=64\n", 2 },
	{ "chunks 2\ntouch chunk=1 value=1\n", 2 },
	{ "chunks 2\ntouch chunk=-1\n", 2 },
	{ "chunks 2\npick_ownn container=1\n", 2 },
	{ "chunks 2\npick_global", 2 },
};

START_TEST(a_malformed_case_is_refused_at_its_line)
{
	char text[64];
	FILE *file;

	snprintf(text, sizeof(text), "%s", texts[_i].text);
	file = tmpfile();
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	rewind(file);
	ck_assert_uint_eq(case_read(file, &drawn), texts[_i].bad_line);
	fclose(file);
}
END_TEST

/* Pretend that the core fails when a pin of chunk 0 follows a low limit. */
static bool passes_without_low_then_pin(const struct model_case *tried,
					struct case_failure *failure)
{
	bool low = false;

	for (failure->op = 0; failure->op < tried->count; failure->op++) {
		const struct model_op *op = &tried->ops[failure->op];

		low |= op->kind == MODEL_LOW;
		if (low && op->kind == MODEL_PIN && op->chunk == 0)
			return false;
	}
	return true;
}

START_TEST(a_failing_case_is_shrunk_to_what_makes_it_fail)
{
	struct case_failure failure;
	u64 state = 1;

	do
		case_draw(&drawn, &state);
	while (drawn.count < 1000 || passes_without_low_then_pin(&drawn, &failure));
	case_shrink(&drawn, passes_without_low_then_pin);
	ck_assert_uint_eq(drawn.count, 2);
	ck_assert_uint_eq(drawn.ops[0].kind, MODEL_LOW);
	ck_assert_uint_eq(drawn.ops[1].kind, MODEL_PIN);
	ck_assert_uint_eq(drawn.chunks, 1);
}
END_TEST

START_TEST(a_case_that_stops_the_program_is_a_failure)
{
	struct case_failure failure;

	/*
	 * The device has more chunks than the model has room for: comparing them is out of
	 * bounds.
	 */
	drawn = (struct model_case){ .chunks = MODEL_CHUNKS + 1, .count = 1 };
	drawn.ops[0] = (struct model_op){ .kind = MODEL_ATTACH };
	ck_assert(!case_passes_quietly(&drawn, &failure));
	ck_assert(failure.why[0]);
	drawn.chunks = MODEL_CHUNKS;
	ck_assert(case_passes_quietly(&drawn, &failure));
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, cases_that_once_failed_pass);
	tcase_add_test(tests, core_and_model_agree_on_a_million_random_operations);
	tcase_add_test(tests, a_case_reads_back_as_it_was_written);
	tcase_add_loop_test(tests, a_malformed_case_is_refused_at_its_line, 0,
			    ARRAY_SIZE(texts));
	tcase_add_test(tests, a_failing_case_is_shrunk_to_what_makes_it_fail);
	tcase_add_test(tests, a_case_that_stops_the_program_is_a_failure);
}

int main(void)
{
	Suite *suite = suite_create("reference model");

	world_add_case(suite, "model", NULL, NULL, add_tests);
	return world_run(suite);
}
