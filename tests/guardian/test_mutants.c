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

static int verify_bytes(const char *bytes, struct sim_error *err)
{
	struct verify_report report;
	struct ptx_text text;
	int status = ptx_lex("in.ptx", bytes, strlen(bytes), &text, err);

	if (status)
		return status;
	status = verify_text(&text, &report, err);
	if (!status)
		verify_report_destroy(&report);
	ptx_text_destroy(&text);
	return status;
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
	static const char *const names[] = { "%gvmf_s",	    "%gvmf_t",	    "%gvmf_a",
					     "%gvmf_u",	    "%gvmf_p",	    "%gvmf_q",
					     "%gvmf_base",  "%gvmf_size",   "%gvmf_mask2",
					     "%gvmf_mask3", "%gvmf_limit2", "%gvmf_h",
					     "%gvmf_l",	    "%rd1" };
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
		{ "setp.gt", "setp.ge" },
		{ "setp.gt", "setp.lt" },
		{ "setp.gt.u64", "setp.gt.s64" },
		{ "setp.gt.and", "setp.gt.or" },
		{ "setp.ne", "setp.eq" },
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
	static const char *const before[] = { "gvmf_bounds+",	   "[gvmf_base+",
					      "[gvmf_mask+",	   "[gvmf_size+",
					      "[gvmf_reciprocal+", "%gvmf_size, ",
					      "%gvmf_mask, -",	   "min.u32 %gvmf_i, ",
					      "rem.u32 %gvmf_i, " };
	const char *line = subject->lines[at], *found = NULL;
	char number[32];
	size_t start, end;

	for (size_t i = 0; i < sizeof(before) / sizeof(*before) && !found; i++)
		found = strstr(line, before[i]);
	if (!found)
		return;
	start = (size_t)(found - line) + strcspn(found, "+,") + 1;
	start += strspn(line + start, " -");
	/* Behind the register of the index stands its limit. */
	if (strstr(line, "%gvmf_i, "))
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

/* Is it an instruction that the patcher has inserted, or the access behind it? */
static bool is_ours(const char *line)
{
	return strstr(line, "%gvmf_") && !strstr(line, ".reg ");
}

static bool is_access(const char *line)
{
	return strstr(line, "[%gvmf_") || strstr(line, "brx.idx");
}

/* A bound that is loaded or made at the start of a kernel. */
static bool is_load(const char *line)
{
	return strstr(line, "gvmf_bounds+") || strstr(line, "ld.param.") ||
	       strstr(line, "sub.s64 %gvmf_limit") || strstr(line, "%gvmf_mask, -");
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

#define HEAD                                                                              \
	".version 8.3\n.target sm_90\n.address_size 64\n"                                 \
	".const .align 8 .b64 gvmf_format[3] = {0, 0, 0};\n"                              \
	".visible .const .align 8 .b64 gvmf_bounds[16];\n.global .align 8 .b64 two[2];\n" \
	".func leaf () { ret; }\n.extern .func away ();\n.visible .entry k (.param .u64 " \
	"a)\n{\n"
#define REGISTERS                                                                    \
	".reg .b64 %gvmf_base, %gvmf_s, %gvmf_t, %gvmf_a;\n.reg .b64 %gvmf_mask2;\n" \
	"ld.const.b64 %gvmf_base, [gvmf_bounds+0];\n"                                \
	"ld.const.b64 %gvmf_mask2, [gvmf_bounds+80];\n.reg .b64 %rd<9>; .reg .b32 %r<9>;\n"
#define FENCE "and.b64 %gvmf_t, %rd1, %gvmf_mask2;\nor.b64 %gvmf_a, %gvmf_t, %gvmf_base;\n"

#define FOUND ".visible .global .align 8 .b64 gvmf_found[2];\n"
#define COUNT_HEAD(found)                                                                \
	".version 8.3\n.target sm_90\n.address_size 64\n"                                \
	".const .align 8 .b64 gvmf_format[3] = {5, 0, 0};\n"                             \
	".visible .const .align 8 .b64 gvmf_bounds[16];\n" found                         \
	".visible .entry k (.param .u64 a)\n{\n.reg .pred %gvmf_p, %gvmf_q; .reg .pred " \
	"%p<2>;\n" REGISTERS
#define COUNT_FENCE                                         \
	"mov.b64 %gvmf_s, %rd1; and.b64 %gvmf_t, %gvmf_s, " \
	"%gvmf_mask2; or.b64 %gvmf_a, %gvmf_t, %gvmf_base;\n"

/* Attacks on the verifier itself, by text that no patcher has written. */
static const struct {
	const char *text, *reason;
} attacks[] = {
	{ HEAD REGISTERS "ld.global.u32 %r1, [%rd1]; ret; }", "not fenced" },
	{ HEAD REGISTERS FENCE "ld.global.u64 %rd1, [%gvmf_a]; ret; }", "not fenced" },
	{ HEAD REGISTERS FENCE "ld.global.u32 %r1, [%gvmf_a+4]; ret; }", "not fenced" },
	{ HEAD REGISTERS FENCE "ld.u32 %r1, [%gvmf_a]; ret; }", "not fenced" },
	{ HEAD REGISTERS FENCE "ld.global.u32 %r1, [%gvmf_a]; st.global.u32 [%gvmf_a], %r1; }",
	  "not fenced" },
	{ HEAD REGISTERS "ld.global.u32 %r1, [two+16]; ret; }", "beyond its variable" },
	{ HEAD REGISTERS "{ .reg .b64 two; ld.global.u32 %r1, [two]; } ret; }", "hides" },
	{ HEAD REGISTERS "{ .reg .b64 %gvmf_base; } ret; }", "is declared" },
	{ HEAD REGISTERS "{ .reg .b64 %gvmf_mask2; " FENCE "ld.global.u32 %r1, [%gvmf_a]; } }",
	  "is declared" },
	{ HEAD REGISTERS "mov.b64 %gvmf_base, %rd1; ret; }", "no step" },
	{ HEAD REGISTERS "ld.global.b64 %gvmf_base, [two]; ret; }", "is no operand" },
	{ HEAD REGISTERS "ld.shared.b64 %gvmf_base, [%rd1]; ret; }", "is no operand" },
	{ HEAD REGISTERS "ld.param.b64 %gvmf_mask2, [a]; ret; }", "is no operand" },
	{ HEAD REGISTERS "call leaf; st.u32 [%rd1], %r1; ret; }", "return address" },
	{ HEAD REGISTERS "call leaf; st.local.u32 [%rd1], %r1; ret; }", "return address" },
	{ HEAD REGISTERS
	  "{ .local .b8 x[16]; } { .reg .b64 x; call leaf; st.local.u32 [x], %r1; } ret; }",
	  "hides" },
	{ HEAD REGISTERS "{ .local .b8 x[16]; } ret; } .func (.reg .b64 x) other() { ret; }",
	  "hides" },
	{ HEAD REGISTERS "{ .local .b8 x[16]; call leaf; st.local.u32 [x+13], %r1; } ret; }",
	  "beyond its variable" },
	{ HEAD REGISTERS "{ .local .b8 x[16]; call leaf; st.local.u32 [x+-4], %r1; } ret; }",
	  "beyond its variable" },
	{ HEAD REGISTERS "{ .local .b8 x[16]; } { .local .b8 x[4]; call leaf; "
			 "st.local.u32 [x+4], %r1; } ret; }",
	  "beyond its variable" },
	{ HEAD REGISTERS "{ .reg .b64 leaf; call leaf, p; } ret; }", "hides" },
	{ HEAD REGISTERS "ret; } .func other(.reg .b64 leaf) { call leaf, p; ret; }", "hides" },
	{ HEAD REGISTERS "call away; ret; }", "code that is not here" },
	{ HEAD REGISTERS "call %rd1, p; ret; }", "code that is not here" },
	{ HEAD REGISTERS "brx.idx %r1, t; ret; }", "not clamped" },
	{ HEAD ".reg .b32 %gvmf_i; t: .branchtargets u; .reg .b32 %r1; min.u32 %gvmf_i, %r1, "
	       "1; brx.idx "
	       "%gvmf_i, t; }",
	  "shorter" },
	{ HEAD ".reg .b32 %gvmf_i; t: .branchtargets u, v; .reg .b32 %r1; rem.u32 %gvmf_i, "
	       "%r1, 3; brx.idx %gvmf_i, t; u: v: ret; }",
	  "shorter" },
	{ HEAD ".reg .b32 %gvmf_i; t: .branchtargets u, v; .reg .b32 %r1; rem.u32 %gvmf_i, "
	       "%r1, 0; brx.idx %gvmf_i, t; u: v: ret; }",
	  "shorter" },
	{ HEAD ".reg .b32 %gvmf_i; t: .branchtargets u, v; .reg .b32 %r1; rem.s32 %gvmf_i, "
	       "%r1, 2; brx.idx %gvmf_i, t; u: v: ret; }",
	  "no step" },
	/* A directive that ptxas ends without a semicolon hides what follows. */
	{ HEAD REGISTERS ".target sm_90 st.global.u32 [%rd1], %r1; ret; }",
	  "not accepted in a function" },
	/* A longer table of a block that is closed, in front of the jump. */
	{ HEAD ".reg .b32 %gvmf_i, %r1; t: .branchtargets u; { { t: .branchtargets u, v; } "
	       "min.u32 %gvmf_i, %r1, 1; brx.idx %gvmf_i, t; } u: v: ret; }",
	  "not found" },
	/* Other declarations of a parameter, with another length. */
	{ HEAD
	  "ret; } .func (.param .b32 o) g() { p: .callprototype (.param .b8 o[4096]) _ (); "
	  "st.param.b32 [o+400], 5; ret; }",
	  "a prototype has a name" },
	{ HEAD REGISTERS
	  "{ .param .b8 q[64]; { .param .b32 o, q; st.param.b32 [q+4], %r1; } } }",
	  "more than one parameter" },
	{ HEAD REGISTERS
	  "{ .param .b8 q[64]; { .param .b8 .align 4 q; st.param.b32 [q+4], %r1; } } }",
	  "another form" },
	/* A variable of one function could have the name of another one of the module. */
	{ HEAD REGISTERS "{ .global .align 8 .b8 y[8]; st.global.u32 [y], %r1; } ret; }",
	  "not accepted in a function" },
	/* ptxas takes a prototype in a body: its parameter would be the nearest of that name. */
	{ HEAD REGISTERS "{ .param .b8 q[16]; .extern .func f(.param .b8 q[4096]); "
			 "st.param.b64 [q+24], %rd1; } ret; }",
	  "not accepted in a function" },
	{ HEAD REGISTERS "frob.u32 %r1; ret; }", "not accepted" },
	{ HEAD REGISTERS "cp.async.bulk.global.shared::cta [%rd1], [%rd2], 16; ret; }",
	  "not accepted" },
	{ HEAD REGISTERS "cp.async.ca.shared.global [%r1], [%rd1], 16; ret; }", "not fenced" },
	{ HEAD REGISTERS "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128; }",
	  "not expected" },
	{ HEAD REGISTERS "prefetch.global.tensormap [%rd1]; }", "" },
	/* A word that ptxas cuts in two. */
	{ HEAD REGISTERS "mov.b64%gvmf_base, %rd1; ret; }", "inside of a word" },
	{ HEAD REGISTERS ".reg .b64%gvmf_a; ret; }", "inside of a word" },
	/* A fence that is a part of a comment for ptxas; a string that ends elsewhere there. */
	{ HEAD REGISTERS "// x\r" FENCE "ld.global.u32 %r1, [%gvmf_a]; ret; }", "carriage" },
	{ HEAD REGISTERS ".pragma \"nounroll\\\"; st.global.u32 [%rd1], 1; //\"; ret; }",
	  "backslash" },
	/* An indirect call whose first word stands on the line of a directive. */
	{ HEAD REGISTERS ".reg .b64 elect; mov.b64 elect, leaf; p: .callprototype _ (); "
			 ".loc 1 1 1 call\nelect, p; ret; }",
	  "on its line" },
	{ HEAD REGISTERS ".loc 1 1 1, function_name\nname ret; }", "on its line" },
	{ ".file 1 \"x\" .const\n" HEAD REGISTERS "ret; }", "on its line" },
	/* Stores beyond a parameter, on the stack. */
	{ HEAD REGISTERS "{ .param .b32 q; st.param.b32 [q+100000], %r1; call leaf; } ret; }",
	  "beyond its parameter" },
	{ HEAD REGISTERS "{ .param .b32 q; st.param.v2.b32 [q], {%r1, %r2}; } ret; }",
	  "beyond its parameter" },
	{ HEAD REGISTERS "{ .param .b32 q; st.param.b32 [q+-4], %r1; } ret; }",
	  "beyond its parameter" },
	{ HEAD REGISTERS
	  "{ .param .b8 q[4]; { .param .b8 q[64]; } st.param.b32 [q+4], %r1; } }",
	  "beyond its parameter" },
	{ HEAD REGISTERS "st.param.b32 [%rd1], %r1; ret; }", "beyond its parameter" },
	{ HEAD REGISTERS "{ .param .b64 q; { .reg .b64 q; st.param.b32 [q], %r1; } } ret; }",
	  "hides a parameter" },
	/* Registers that are declared by a number, and hide a variable or a function. */
	{ ".global .b64 three3[2];\n" HEAD REGISTERS
	  ".reg .b64 three<9>; st.global.u32 [three3], %r1; ret; }",
	  "hides" },
	{ HEAD REGISTERS ".reg .b64 lea<2>; ret; } .func lea1() { ret; }", "hides" },
	{ HEAD ".reg .b64 %gvmf_mask<8>; ret; }", "is declared" },
	/* What ptxas does with registers and returns. */
	{ HEAD REGISTERS ".pragma \"enable_smem_spilling\"; ret; }", "not known" },
	{ ".pragma \"other\";\n" HEAD REGISTERS "ret; }", "not known" },
	{ HEAD REGISTERS "ret; } .func g() .noreturn { ret; }", "may return" },
	{ HEAD REGISTERS "ret; } .func f(); .alias f, leaf;", "aliases" },
	/* Two words without a space between them: one here, two for ptxas. */
	{ ".visible.global .align 8 .b8 y[8];\n" HEAD REGISTERS "ret; }", "stands behind" },
	{ HEAD REGISTERS "ret; } .func g.noreturn { ret; }", "stands behind" },
	{ HEAD REGISTERS "ret; } .visible.func g() { ret; }", "stands behind" },
	{ ".version 8.3\n.target sm_90.pragma\n\"nounroll\";\n.address_size 64\n",
	  "stands behind" },
	/* Words between .extern and its variable, whose length is another module's. */
	{ ".extern /**//**//**//**//**/ .global .align 8 .b8 y[64];\n" HEAD REGISTERS
	  "st.global.u32 [y], %r1; ret; }",
	  "beyond its variable" },
	/* Words that ptxas 13.0 knows, though no document has them. */
	{ HEAD REGISTERS "cctl.iv.global [%rd1]; ret; }", "not accepted" },
	{ HEAD REGISTERS "cctlu.iv [%rd1]; ret; }", "not accepted" },
	{ HEAD REGISTERS "_jcall %rd1; ret; }", "not accepted" },
	/* A shorter table in an inner block, behind the jump. */
	{ HEAD
	  ".reg .b32 %gvmf_i; .reg .b32 %r1; { t: .branchtargets u, v; } { min.u32 %gvmf_i, "
	  "%r1, 1; brx.idx %gvmf_i, t; t: .branchtargets u; } u: v: ret; }",
	  "not found" },
	/* The tenant's own parameters stand behind the bounds. */
	{ ".version 8.3\n.target sm_90\n.address_size 64\n.const .align 8 .b64 gvmf_format[3] "
	  "= {0, 1, 0};\n.visible .entry k (.param .u64 gvmf_base, .param .u64 gvmf_mask, "
	  ".param "
	  ".u64 a)"
	  "{ ret; }",
	  "not the last" },
	/* Debug data alone: ptxas makes a section of any name, ".text" too, and keeps its bytes. */
	{ HEAD REGISTERS "ret; } .section .text { .b8 1 }", "debug" },
	/* ptxas ends such a line without a semicolon. */
	{ "@@DWARF .byte 1\n" HEAD REGISTERS "ret; }", "no statement" },
	{ ".loc 1 1 1\n" HEAD REGISTERS "ret; }", "no statement" },
	/* With "=" a brace looked as if an initial value began, and no body. */
	{ HEAD REGISTERS "ret; } .func g() .maxnreg = { st.global.u32 [%rd1], %r1; };",
	  "initial value" },
	/* Which registers a function keeps for its caller, bounds among them. */
	{ HEAD REGISTERS "ret; } .func g() .abi_preserve 4 { ret; }", "head of a function" },
	{ HEAD REGISTERS "ret; } .func g() .frob { ret; }", "head of a function" },
	/* A line that goes on, if somebody reads it so: the comment ends there. */
	{ HEAD REGISTERS "/* *\\\n/ st.global.u32 [%rd1], %r1; /* */ ret; }", "backslash" },
	{ HEAD REGISTERS "/* *\\\r\n/ st.global.u32 [%rd1], %r1; /* */ ret; }", "backslash" },
	/* A second address. */
	{ HEAD REGISTERS FENCE "ld.global.u32 %r1, [%gvmf_a], [%rd1]; ret; }",
	  "a second address" },
	{ HEAD REGISTERS FENCE "st.global.u32 [%gvmf_a], {[%rd1]}; ret; }",
	  "a second address" },
	{ HEAD REGISTERS FENCE "} ", "inside of a fence" },
	{ HEAD REGISTERS "ld.global.u32 %r1, [%rd1]", "no end" },
	{ HEAD "x: " REGISTERS "ret; }", "is declared" },
	{ ".const .align 8 .b64 gvmf_format[3] = {0, 0, 0};\n" HEAD "ret; }", "twice" },
	/* The count of mode count: only its own instructions change it. */
	{ COUNT_HEAD(FOUND) "st.global.u64 [gvmf_found], %rd1; ret; }", "is its own" },
	{ COUNT_HEAD(FOUND) "ld.u64 %rd1, [gvmf_found+8]; ret; }", "is its own" },
	{ COUNT_HEAD(FOUND) "mov.u64 %rd1, gvmf_found; ret; }", "no step of a fence" },
	{ COUNT_HEAD(FOUND) COUNT_FENCE "ld.global.u32 %r1, [%gvmf_a]; ret; }", "not fenced" },
	{ COUNT_HEAD(FOUND) COUNT_FENCE "setp.ne.u64 %gvmf_p, %gvmf_a, %gvmf_s; "
					"red.global.add.u64 [gvmf_found], 1; ret; }",
	  "no step of a fence" },
	{ COUNT_HEAD(FOUND) COUNT_FENCE "setp.ne.and.u64 %gvmf_p, %gvmf_a, %gvmf_s, %p1; "
					"@%gvmf_p red.global.add.u64 [gvmf_found], 1; "
					"@%gvmf_p st.global.u64 [gvmf_found+8], %gvmf_s; "
					"ld.global.u32 %r1, [%gvmf_a]; ret; }",
	  "not fenced" },
	{ COUNT_HEAD("") "ret; }", "a count, and no mode" },
	{ COUNT_HEAD(FOUND FOUND) "ret; }", "twice" },
	{ FOUND HEAD "ret; }", "a count, and no mode" },
	{ ".version 9.1\n", "version" },
	{ ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k () { ret; }",
	  "not patched" },
};

START_TEST(text_that_no_patcher_writes_is_refused)
{
	struct sim_error err = { 0 };

	ck_assert_int_eq(verify_bytes(attacks[_i].text, &err), -SIM_EXIT_USER);
	ck_assert_msg(strstr(err.text, attacks[_i].reason), "%s\nfor %s", err.text,
		      attacks[_i].text);
	ck_assert_int_eq(
		verify_bytes(HEAD REGISTERS FENCE "ld.global.u32 %r1, [%gvmf_a]; ret; }", &err),
		0);
	ck_assert_int_eq(verify_bytes(COUNT_HEAD(FOUND) COUNT_FENCE
				      "setp.ne.and.u64 %gvmf_p, %gvmf_a, %gvmf_s, !%p1; "
				      "@%gvmf_p red.global.add.u64 [gvmf_found], 1; "
				      "@%gvmf_p st.global.u64 [gvmf_found+8], %gvmf_s; "
				      "@!%p1 ld.global.u32 %r1, [%gvmf_a]; ret; }",
				      &err),
			 0);
}
END_TEST

#define GENERIC_FENCE(mask)                                                                   \
	".reg .pred %gvmf_p, %gvmf_q; mov.b64 %gvmf_s, %rd1; and.b64 %gvmf_t, %gvmf_s, " mask \
	"; or.b64 %gvmf_a, %gvmf_t, %gvmf_base; isspacep.shared %gvmf_p, %gvmf_s; "           \
	"isspacep.local %gvmf_q, %gvmf_s; or.pred %gvmf_p, %gvmf_p, %gvmf_q; selp.b64 "       \
	"%gvmf_a, %gvmf_s, %gvmf_a, %gvmf_p; "
#define MASK0 ".reg .b64 %gvmf_mask0; ld.const.b64 %gvmf_mask0, [gvmf_bounds+64]; "

/* A store that may reach an address that ptxas has spilled to local memory. */
START_TEST(stores_that_may_reach_spilled_addresses_are_counted)
{
	static const struct {
		const char *store;
		u64 count;
		u64 bytes; /* of its own variables in local memory */
	} stores[] = {
		{ "st.local.u32 [%rd1], %r1;", 1, 0 },
		{ ".local .b8 x[16]; st.local.u32 [x+12], %r1;", 0, 16 },
		{ ".local .b8 x[16]; st.local.u32 [x+16], %r1;", 1, 16 },
		{ ".local .align 16 .b8 x[3], y[2][2]; { .local .v2 .u64 x; } "
		  "st.local.u32 [%rd1], %r1;",
		  1, 3 + 4 + 16 },
		{ "st.shared.u32 [%rd1], %r1;", 0, 0 },
		{ FENCE "st.global.u32 [%gvmf_a], %r1;", 0, 0 },
		{ GENERIC_FENCE("%gvmf_mask2") "st.u32 [%gvmf_a], %r1;", 1, 0 },
		/* Hints change nothing there, and may stand in a module with calls. */
		{ MASK0 GENERIC_FENCE("%gvmf_mask0") "prefetch.L1 [%gvmf_a]; call leaf;", 0,
		  0 },
		{ "prefetch.local.L1 [%rd1]; call leaf;", 0, 0 },
	};
	struct verify_report report;
	struct sim_error err = { 0 };
	struct ptx_text text;
	char source[4096];

	snprintf(source, sizeof(source), "%s%s ret; }", HEAD REGISTERS, stores[_i].store);
	ck_assert(!ptx_lex("in.ptx", source, strlen(source), &text, &err));
	ck_assert_msg(!verify_text(&text, &report, &err), "%s", err.text);
	ck_assert_uint_eq(report.local_stores, stores[_i].count);
	ck_assert_uint_eq(report.entry_count, 1);
	ck_assert_uint_eq(report.entries[0].local_stores, stores[_i].count);
	ck_assert_uint_eq(report.entries[0].local_bytes, stores[_i].bytes);
	verify_report_destroy(&report);
	ptx_text_destroy(&text);
}
END_TEST

/*
 * Text that would have a reader go through all of it for each jump, for days in a text of 64
 * MiB. Its client could be dead meanwhile, and its partition would not be free.
 */
START_TEST(a_text_that_takes_too_long_is_refused)
{
	static const char jumps[] = "min.u32 %gvmf_i, %r1, 0; brx.idx %gvmf_i, t;\n";
	static const char few[] =
		HEAD ".reg .b32 %gvmf_i; .reg .b32 %r1; t: .branchtargets u;\n";
	const u32 counts[] = { 100, 4000 };

	for (u32 i = 0; i < 2; i++) {
		char *text = malloc(sizeof(few) + counts[i] * sizeof(jumps) + 32), *end;
		struct sim_error err = { 0 };

		end = stpcpy(text, few);
		for (u32 j = 0; j < counts[i]; j++)
			end = stpcpy(end, jumps);
		strcpy(end, "u: ret; }\n");
		ck_assert_int_eq(verify_bytes(text, &err), i ? -SIM_EXIT_USER : 0);
		ck_assert(!i || strstr(err.text, "it takes too long to verify"));
		free(text);
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
	tcase_add_test(tests, a_text_that_takes_too_long_is_refused);
	tcase_add_loop_test(tests, stores_that_may_reach_spilled_addresses_are_counted, 0, 9);
	tcase_add_loop_test(tests, text_that_no_patcher_writes_is_refused, 0,
			    (int)(sizeof(attacks) / sizeof(*attacks)));
}

int main(void)
{
	return suite_run("mutants", NULL, NULL, add_tests);
}
