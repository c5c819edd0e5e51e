// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Fenced wild programs with up to three random edits each: lines dropped, doubled, swapped or
 * guarded, words replaced by others of the text and of fences. What the verifier still accepts
 * is run, and has to stay in its partition. Random programs, as the patcher writes them, are in
 * test_programs.c; edits that the verifier has to refuse in test_mutants.c. GVM_TEST_SEED
 * repeats a run, GVM_TEST_EDITS says how many.
 */
#include "programs.h"
#include "verify.h"

#define EDITS	    4000u
#define OF_EACH	    40u /* edits of one program */
#define LINES_MAX   1024u
#define WORDS_MAX   4096u
#define MUTANT_MAX  (4 * TEXT_MAX)
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* A piece of a text. */
struct piece {
	const char *at;
	size_t length;
};

static struct piece words[WORDS_MAX];
static size_t word_count;

static size_t word_length(const char *at)
{
	return strspn(at, "%_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
}

static void collect_words(const char *text)
{
	word_count = 0;
	for (size_t length; *text; text += length ? length : 1) {
		length = word_length(text);
		if (length && word_count < WORDS_MAX)
			words[word_count++] = (struct piece){ text, length };
	}
}

/* A number, a word that an attack on a fence would use, or one of this text. */
static struct piece draw_word(void)
{
	static const char *const likely[] = {
		"%gvmf_a",	 "%gvmf_t", "%gvmf_s",	"%gvmf_base", "%gvmf_u",
		"%gvmf_p",	 "%gvmf_q", "%gvmf_i",	"%gvmf_h",    "%gvmf_r",
		"%rd8",		 "%rd1",    "%p1",	"bra",	      "ld.global.u64",
		"st.global.u64", "ld.u64",  "st.u64",	"and.b64",    "st.global.v2.u64",
		"st.shared.u32", "or.b64",  "add.s64",	"xor.b64",    "isspacep.shared",
		"setp.gt.u64",	 "mov.b64", "selp.b64", "min.u32",    "or.pred",
	};
	static char number[16];

	switch (draw(4)) {
	case 0: {
		const char *word = likely[draw(COUNT(likely))];

		return (struct piece){ word, strlen(word) };
	}
	case 1:
		snprintf(number, sizeof(number), "%llu", draw(200));
		return (struct piece){ number, strlen(number) };
	default:
		return words[draw(word_count)];
	}
}

/* One word of the line becomes another one. @room: for the new line. Returns its end. */
static char *edit_word(struct piece *line, char *room)
{
	size_t starts[64], lengths[64], count = 0, chosen;
	struct piece word = draw_word();

	for (size_t at = 0, length; at < line->length && count < 64;
	     at += length ? length : 1) {
		length = word_length(line->at + at);
		if (length) {
			starts[count] = at;
			lengths[count++] = length;
		}
	}
	if (!count)
		return room;
	chosen = draw(count);
	*line = (struct piece){
		room, (size_t)sprintf(room, "%.*s%.*s%.*s", (int)starts[chosen], line->at,
				      (int)word.length, word.at,
				      (int)(line->length - starts[chosen] - lengths[chosen]),
				      line->at + starts[chosen] + lengths[chosen])
	};
	return room + line->length + 1;
}

/* One edit of the lines. @room: for a new line. Returns its end. */
static char *edit(struct piece *lines, size_t *count, char *room)
{
	size_t a = draw(*count), b = draw(*count);
	struct piece line = lines[a];

	switch (draw(8)) {
	case 0:
		memmove(lines + a, lines + a + 1, (--*count - a) * sizeof(*lines));
		return room;
	case 1:
		b = a + 1 < *count ? a + 1 : a;
		/* fallthrough */
	case 2:
		lines[a] = lines[b];
		lines[b] = line;
		return room;
	case 3:
		line = lines[b];
		memmove(lines + a + 1, lines + a, ((*count)++ - a) * sizeof(*lines));
		lines[a] = line;
		return room;
	case 4:
		lines[a] =
			(struct piece){ room, (size_t)sprintf(room, "@%s%%p%llu %.*s",
							      draw(2) ? "!" : "", 1 + draw(3),
							      (int)line.length, line.at) };
		return room + lines[a].length + 1;
	default:
		return edit_word(&lines[a], room);
	}
}

/* @text with one to three edits, until the next call. */
static const char *edited(const char *text)
{
	static char mutant[MUTANT_MAX], room[MUTANT_MAX];
	static struct piece lines[LINES_MAX];
	char *end = mutant, *free_room = room;
	size_t count = 0;

	for (size_t length; *text && count < LINES_MAX - 4; text += length) {
		length = strcspn(text, "\n") + 1;
		lines[count++] = (struct piece){ text, length };
	}
	for (u64 i = 1 + draw(3); i; i--)
		free_room = edit(lines, &count, free_room);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_lt((size_t)(end - mutant) + lines[i].length, MUTANT_MAX);
		end = mempcpy(end, lines[i].at, lines[i].length);
	}
	*end = '\0';
	return mutant;
}

static u64 tried, accepted, ran, left;

/* Run @mutant if the verifier accepts it, or without asking it. */
static void try_mutant(const char *mutant, enum patch_mode mode, bool verified)
{
	static struct world world;
	struct verify_report report = { 0 };
	struct sim_error err = { 0 };
	struct ptx_module module;
	struct ptx_text text;

	tried++;
	if (ptx_lex("in.ptx", mutant, strlen(mutant), &text, &err))
		return;
	/* The loader sets bounds for the mode and margin that the report has. */
	if (!verified || (!verify_text(&text, &report, &err) && report.mode == mode &&
			  report.margin <= PATCH_MARGIN_DEFAULT)) {
		accepted++;
		if (!ptx_parse(&text, &module, &err)) {
			make_world(&world, mode);
			ran += interpret(&module, &world) != RUN_UNKNOWN;
			left += has_left(&world, mode);
			ck_assert_msg(!verified || !left, "%s: %llx to %llx in\n%s",
				      patch_mode_names[mode], world.lowest, world.highest,
				      mutant);
			ptx_module_destroy(&module);
		}
	}
	verify_report_destroy(&report);
	ptx_text_destroy(&text);
}

static void try_edits(u64 edits, bool verified)
{
	static struct program program;

	tried = accepted = ran = left = 0;
	for (u64 i = 0; tried < edits; i++) {
		enum patch_mode mode = (enum patch_mode)(i % PATCH_MODES);
		enum patch_pass pass =
			mode <= PATCH_ONCE && !draw(3) ? PATCH_PARAMS : PATCH_CONST;
		struct sim_error err = { 0 };
		char *text;

		make_program(&program, true);
		text = patch_in_memory(program.text, mode, pass, &err);
		ck_assert_msg(text, "%s", err.text);
		collect_words(text);
		for (u32 j = 0; j < OF_EACH; j++)
			try_mutant(edited(text), mode, verified);
		free(text);
	}
}

START_TEST(edited_programs_that_verify_stay_inside)
{
	const char *count = getenv("GVM_TEST_EDITS");
	u64 edits = count ? strtoull(count, NULL, 10) : EDITS;

	printf("seed %llu, %llu edited programs\n", draw_from("GVM_TEST_SEED", 20261123),
	       edits);
	fflush(stdout);
	try_edits(edits, true);
	printf("accepted %llu, ran %llu\n", accepted, ran);
	ck_assert_uint_gt(ran, edits / 20);
}
END_TEST

/* Without the verifier they leave the partition: the test above can fail. */
START_TEST(edited_programs_that_nobody_verifies_leave_the_partition)
{
	draw_from("", 1);
	try_edits(2000, false);
	ck_assert_uint_gt(left, 30);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_set_timeout(tests, 3600);
	tcase_add_test(tests, edited_programs_that_verify_stay_inside);
	tcase_add_test(tests, edited_programs_that_nobody_verifies_leave_the_partition);
}

int main(void)
{
	return suite_run("edits", NULL, NULL, add_tests);
}
