// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The verifier accepts what the patcher writes, and refuses every mutant of it: each inserted
 * instruction dropped, swapped with the next one, with another register, another
 * opcode, another number, another guard, and with a label, a jump or a write
 * between it and the next one.
 */
#include "ptx_fixture.h"
#include "verify.h"

/*
 * Files that take seconds. GVM_TEST_ALL adds the others: many minutes. The first two have
 * functions, which cannot have bounds in parameters.
 */
static bool is_tested(const char *file, enum patch_pass pass)
{
	if (getenv("GVM_TEST_ALL"))
		return true;
	if (pass == PATCH_PARAMS)
		return !strncmp(file, "matmul", 6);
	return !strncmp(file, "corners", 7) || !strncmp(file, "plain.clang14", 13);
}

/*
 * A patched text in lines, and room for a mutant of it. A mutant has all that stands
 * outside of kernels and the kernel that was changed; the verifier judges kernels one by
 * one, and this is fifty times faster.
 */
struct subject {
	char *text;
	char **lines;	 /* with their newlines */
	size_t *kernels; /* of each line, from 1; 0: outside of all */
	size_t count;
	char *mutant;
	size_t mutants;
};

/*
 * The text of lines outside of kernels and of @kernel, without the two
 * lines at @at: those are given.
 */
static const char *join(struct subject *subject, size_t kernel, size_t at, const char *first,
			const char *second)
{
	char *end = subject->mutant;

	*end = '\0';
	for (size_t i = 0; i < subject->count; i++)
		if (!subject->kernels[i] || subject->kernels[i] == kernel)
			end = stpcpy(end, i == at     ? first :
					  i == at + 1 ? second :
							subject->lines[i]);
	return subject->mutant;
}

/*
 * A kernel goes from the line with its name to that with its last brace.
 * Returns how many there are.
 */
static size_t find_kernels(struct subject *subject)
{
	size_t kernel = 0;
	bool inside = false;
	int depth = 0;

	for (size_t i = 0; i < subject->count; i++) {
		const char *line = subject->lines[i];
		int before = depth;

		if (!depth && !inside && strstr(line, ".entry ")) {
			inside = true;
			kernel++;
		}
		subject->kernels[i] = inside ? kernel : 0;
		for (const char *at = line; *at && strncmp(at, "//", 2); at++)
			depth += (*at == '{') - (*at == '}');
		inside &= !(before && !depth);
	}
	return kernel;
}

static void subject_open(struct subject *subject, char *text)
{
	*subject = (struct subject){ .text = text };
	for (const char *at = text; *at;) {
		size_t length = strcspn(at, "\n") + 1;

		subject->lines =
			realloc(subject->lines, (subject->count + 1) * sizeof(*subject->lines));
		subject->lines[subject->count++] = strndup(at, length);
		at += at[length - 1] ? length : length - 1;
	}
	subject->mutant = malloc(strlen(text) + 4096);
	subject->kernels = calloc(subject->count, sizeof(*subject->kernels));
}

static void subject_close(struct subject *subject)
{
	for (size_t i = 0; i < subject->count; i++)
		free(subject->lines[i]);
	free(subject->lines);
	free(subject->kernels);
	free(subject->mutant);
	free(subject->text);
}

/* The text with lines @at and @at + 1 replaced by @first and @second; it has to be refused. */
static void refuse_mutant(struct subject *subject, size_t at, const char *first,
			  const char *second)
{
	struct sim_error err = { 0 };
	const char *mutant = join(subject, subject->kernels[at], at, first, second);

	subject->mutants++;
	ck_assert_msg(verify_bytes(mutant, &err) == -SIM_EXIT_USER,
		      "line %zu: accepted:\n%s%sfor\n%s%s", at + 1, first, second,
		      subject->lines[at], subject->lines[at + 1]);
	ck_assert_msg(err.text[0], "no reason");
}

/* @line with the bytes from @start to @end replaced by @with. */
static const char *edited(const char *line, size_t start, size_t end, const char *with)
{
	static char buffer[1024];

	snprintf(buffer, sizeof(buffer), "%.*s%s%s", (int)start, line, with, line + end);
	return buffer;
}

/* Each name of a register of ours in the line becomes each other one. */
static void swap_registers(struct subject *subject, size_t at)
{
	static const char *const names[] = {
		"%gvmf_s",     "%gvmf_t",      "%gvmf_a",      "%gvmf_u",     "%gvmf_p",
		"%gvmf_q",     "%gvmf_r",      "%gvmf_shared", "%gvmf_local", "%gvmf_here",
		"%gvmf_there", "%gvmf_low",    "%gvmf_base",   "%gvmf_size",  "%gvmf_mask2",
		"%gvmf_mask3", "%gvmf_limit2", "%gvmf_h",      "%gvmf_l",     "%rd1"
	};
	const char *line = subject->lines[at];

	for (const char *found = strstr(line, "%gvmf_"); found;
	     found = strstr(found + 1, "%gvmf_")) {
		size_t start = (size_t)(found - line),
		       length = 1 + strspn(found + 1, "gvmf_"
						      "abcdefghijklmnopqrstuvwxyz0123456789");

		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (strlen(names[i]) != length || strncmp(found, names[i], length))
				refuse_mutant(subject, at,
					      edited(line, start, start + length, names[i]),
					      subject->lines[at + 1]);
	}
}

/* The opcode becomes a related one. */
static void change_opcode(struct subject *subject, size_t at)
{
	static const char *const changes[][2] = {
		{ "and.b64", "or.b64" },
		{ "or.b64", "and.b64" },
		{ "or.b64", "xor.b64" },
		{ "and.b32", "or.b32" },
		{ "or.b32", "and.b32" },
		{ "add.s64", "sub.s64" },
		{ "sub.s64", "add.s64" },
		{ "mul.hi", "mul.lo" },
		{ "mul.lo", "mul.hi" },
		{ "min.u64", "max.u64" },
		{ "min.u64", "min.s64" },
		{ "min.u32", "max.u32" },
		{ "selp.b64", "slct.b64" },
		{ "isspacep.shared", "isspacep.global" },
		{ "isspacep.local", "isspacep.global" },
		{ "or.pred", "and.pred" },
		{ "setp.ne", "setp.eq" },
		{ "setp.ne.and", "setp.ne.or" },
		{ "setp.ne.u64", "setp.lt.u64" },
		{ "cvta.shared", "cvta.global" },
		{ "cvta.shared", "cvta.local" },
		{ "cvta.shared", "cvta.to.shared" },
		{ "cvta.local", "cvta.shared" },
		{ "local, 0", "local, 1" },
		{ "gvmf_here;", "two;" },
		{ "trap", "brkpt" },
		{ "ld.const", "ld.global" },
		{ "!%", "%" },
		{ "@%gvmf_p", "@!%gvmf_p" },
		{ "@%gvmf_p ", "" },
		{ "brx.idx %gvmf_i", "brx.idx %r1" },
		{ "min.u32", "rem.u32" },
		{ "rem.u32", "min.u32" },
		{ "rem.u32", "rem.s32" },
		{ "rem.u32", "div.u32" },
		{ "red.global.add.u64", "red.global.and.b64" },
		{ "red.global.add.u64", "st.global.u64" },
		{ "[gvmf_found], 1", "[gvmf_found], 2" },
		{ "[gvmf_found]", "[gvmf_found+8]" },
		{ "[gvmf_found+8]", "[gvmf_found]" },
		{ "st.global.u64", "red.global.add.u64" },
	};
	const char *line = subject->lines[at];

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		const char *found = strstr(line, changes[i][0]);
		size_t start = found ? (size_t)(found - line) : 0;

		/* Of an access only the address is of interest. */
		if (found && !strstr(line, "[%gvmf_"))
			refuse_mutant(subject, at,
				      edited(line, start, start + strlen(changes[i][0]),
					     changes[i][1]),
				      subject->lines[at + 1]);
	}
}

/*
 * Numbers: the place of a bound, the part of a parameter, the width of a limit or of a mask, the
 * last index of a table.
 */
static void change_numbers(struct subject *subject, size_t at)
{
	static const char *const before[] = {
		"gvmf_bounds+",	     "[gvmf_base+",
		"[gvmf_mask+",	     "[gvmf_size+",
		"[gvmf_reciprocal+", "%gvmf_size, ",
		"%gvmf_mask, -",     "min.u32 %gvmf_i, ",
		"%gvmf_here, ",	     "and.b64 %gvmf_t, %gvmf_t, "
	};
	const char *line = subject->lines[at], *found = NULL;
	char number[32];
	size_t start, end;

	for (size_t i = 0; i < sizeof(before) / sizeof(*before) && !found; i++)
		found = strstr(line, before[i]);
	if (!found)
		return;
	start = (size_t)(found - line) + strcspn(found, "+,") + 1;
	start += strspn(line + start, " -");
	/* The last word: the limit of an index, the size of a window. */
	if (strstr(line, "%gvmf_i, ") || strstr(line, "and.b64 %gvmf_t, "))
		start = (size_t)(strrchr(line, ' ') - line) + 1;
	end = start + strspn(line + start, "0123456789");
	if (start == end)
		return;
	snprintf(number, sizeof(number), "%lu", strtoul(line + start, NULL, 10) + 8);
	refuse_mutant(subject, at, edited(line, start, end, number), subject->lines[at + 1]);
}

/* Something stands between this line of a sequence and the next one. */
static void stand_between(struct subject *subject, size_t at)
{
	static const char *const others[] = {
		"between:\n",
		"\tmov.b64 %gvmf_t, %rd1;\n",
		"\tmov.b64 %gvmf_a, %rd1;\n",
		"\tmov.b64 %gvmf_s, %rd1;\n",
		"\tadd.s64 %gvmf_a, %gvmf_a, 4096;\n",
		"\tbra.uni between;\n",
		"\tld.global.b64 %gvmf_a, [%rd1];\n",
		"\t{\n\t.reg .b64 %gvmf_a;\n\t}\n",
		"\tbar.sync 0;\n",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		char both[2048];

		snprintf(both, sizeof(both), "%s%s", subject->lines[at], others[i]);
		refuse_mutant(subject, at, both, subject->lines[at + 1]);
	}
}

/* Is it an instruction that the patcher has inserted, or the access after it? */
static bool is_ours(const char *line)
{
	return strstr(line, "%gvmf_") && !strstr(line, ".reg ");
}

static bool is_access(const char *line)
{
	return strstr(line, "[%gvmf_") || strstr(line, "brx.idx");
}

/* A bound that is loaded or made at the start of a kernel, or where a window begins. */
static bool is_load(const char *line)
{
	return strstr(line, "gvmf_bounds+") || strstr(line, "ld.param.") ||
	       strstr(line, "sub.s64 %gvmf_limit") || strstr(line, "%gvmf_mask, -") ||
	       strstr(line, "cvta.") || strstr(line, "%gvmf_here") ||
	       strstr(line, "%gvmf_there");
}

/*
 * A load of a bound may stand anywhere in front of the accesses, so its order is free. It has to
 * be there for all threads, and nothing may change it afterwards.
 */
static void change_load(struct subject *subject, size_t at)
{
	const char *line = subject->lines[at];
	char both[2048],
		*name = strndup(strstr(line, "%gvmf_"), strcspn(strstr(line, "%gvmf_"), ","));
	bool half = strstr(line, ".b32 ");

	refuse_mutant(subject, at, edited(line, 0, 0, "\t@%p1 "), subject->lines[at + 1]);
	snprintf(both, sizeof(both), "%s\tmov.%s %s, %s;\n", line, half ? "b32" : "b64", name,
		 half ? "%r1" : "%rd1");
	refuse_mutant(subject, at, both, subject->lines[at + 1]);
	snprintf(both, sizeof(both), "%s\tadd.s%s %s, %s, 128;\n", line, half ? "32" : "64",
		 name, name);
	refuse_mutant(subject, at, both, subject->lines[at + 1]);
	free(name);
}

static void make_all(const char *file, const struct patch_options *options)
{
	char *source = corpus_read(file);
	struct sim_error err = { 0 };
	struct subject subject;
	char *text = patch_with(source, options, &err);

	/* Functions have no parameters with bounds. */
	if (!text && options->pass == PATCH_PARAMS && strstr(err.text, "use --pass const")) {
		free(source);
		return;
	}
	ck_assert_msg(text, "%s", err.text);
	ck_assert_msg(!verify_bytes(text, &err), "%s", err.text);
	subject_open(&subject, text);
	/* Each kernel by itself is accepted before it is changed. */
	for (size_t i = find_kernels(&subject); i; i--)
		ck_assert_msg(!verify_bytes(join(&subject, i, subject.count, "", ""), &err),
			      "%s: kernel %zu: %s", file, i, err.text);
	for (size_t i = 0; i + 1 < subject.count; i++) {
		const char *line = subject.lines[i], *next = subject.lines[i + 1];

		if (!is_ours(line))
			continue;
		swap_registers(&subject, i);
		change_opcode(&subject, i);
		change_numbers(&subject, i);
		if (is_access(line))
			continue;
		refuse_mutant(&subject, i, "", next);
		if (is_load(line)) {
			change_load(&subject, i);
			continue;
		}
		refuse_mutant(&subject, i, edited(line, 0, 0, "\t@%p1 "), next);
		stand_between(&subject, i);
		ck_assert(is_ours(next));
		refuse_mutant(&subject, i, next, line);
	}
	printf("%s %s %s: %zu mutants\n", file, patch_mode_names[options->mode],
	       patch_pass_names[options->pass], subject.mutants);
	ck_assert_uint_gt(subject.mutants, 500);
	subject_close(&subject);
	free(source);
}

START_TEST(every_mutant_is_refused)
{
	struct patch_options options = { .margin = PATCH_MARGIN_DEFAULT };

	for (u32 i = 0; i < 2 * PATCH_MODES; i++) {
		options.mode = (enum patch_mode)(i / 2);
		options.pass = (enum patch_pass)(i % 2);
		/* Any of them: jumps do not depend on the mode. */
		options.index =
			options.mode == PATCH_MODULO ? PATCH_INDEX_MODULO : PATCH_INDEX_CLAMP;
		if (is_tested(corpus_files[_i], options.pass))
			make_all(corpus_files[_i], &options);
	}
}
END_TEST

START_TEST(what_the_patcher_writes_is_accepted)
{
	for (int mode = 0; mode < (int)PATCH_MODES; mode++) {
		char *text = corpus_read(corpus_files[_i]);
		struct sim_error err = { 0 };

		ck_assert_int_eq(verify_bytes(text, &err), -SIM_EXIT_USER);
		for (int pass = 0; pass < 2; pass++) {
			char *patched = patch_in_memory(text, (enum patch_mode)mode,
							(enum patch_pass)pass, &err);

			if (patched)
				ck_assert_msg(!verify_bytes(patched, &err), "%s", err.text);
			else
				ck_assert_msg(pass && strstr(err.text, "use --pass const"),
					      "%s", err.text);
			free(patched);
		}
		free(text);
	}
}
END_TEST

START_TEST(both_tables_of_opcodes_agree)
{
	for (const struct opcode *opcode = opcode_table; opcode->name; opcode++) {
		bool accepted = opcode->decision != OPCODE_REFUSE;
		struct sim_error err = { 0 };
		struct ptx_text text;

		ck_assert(!ptx_lex("in.ptx", opcode->name, strlen(opcode->name), &text, &err));
		ck_assert_msg(verify_knows(&text, 0) == accepted, "%s", opcode->name);
		ck_assert_ptr_eq(opcode_find(&text, 0), opcode);
		ptx_text_destroy(&text);
	}
}
END_TEST

static void add_tests(TCase *tests)
{
	int files = 0;

	while (corpus_files[files])
		files++;
	tcase_set_timeout(tests, 3600);
	tcase_add_loop_test(tests, what_the_patcher_writes_is_accepted, 0, files);
	tcase_add_loop_test(tests, every_mutant_is_refused, 0, files);
	tcase_add_test(tests, both_tables_of_opcodes_agree);
}

int main(void)
{
	return suite_run("mutants", NULL, NULL, add_tests);
}
