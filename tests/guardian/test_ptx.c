// SPDX-License-Identifier: MIT OR GPL-2.0
/* The reader of PTX and the decisions of the patcher. */
#include "ptx_fixture.h"

START_TEST(tokens_in_order_are_the_text)
{
	char *text = corpus_read(corpus_files[_i]);
	struct sim_error err = { 0 };
	struct ptx_text words;
	u32 at = 0, line = 1;

	ck_assert_msg(!ptx_lex("corpus", text, strlen(text), &words, &err), "%s", err.text);
	for (size_t i = 0; i < words.count; i++) {
		ck_assert_uint_eq(words.tokens[i].start, at);
		ck_assert_uint_eq(words.tokens[i].line, line);
		for (u32 j = 0; j < words.tokens[i].length; j++)
			line += text[at + j] == '\n';
		at += words.tokens[i].length;
	}
	ck_assert_uint_eq(at, strlen(text));
	ptx_text_destroy(&words);
	free(text);
}
END_TEST

/* Bytes that are not ours: patched text without inserted lines and with the old addresses. */
static void check_kept(const char *text, const char *patched)
{
	/* Each line without an access stands in the patched text, in order. */
	const char *at = patched;

	for (const char *line = text; *line;) {
		size_t length = strcspn(line, "\n");
		char *copy = strndup(line, length);

		if (!strchr(copy, '[') && length && !strstr(copy, "brx")) {
			at = strstr(at, copy);
			ck_assert_msg(at, "lost: %s", copy);
			at += length;
		}
		free(copy);
		line += length + (line[length] == '\n');
	}
}

START_TEST(all_other_bytes_are_kept)
{
	for (int mode = 0; mode < (int)PATCH_MODES; mode++) {
		char *text = corpus_read(corpus_files[_i]);
		struct sim_error err = { 0 };
		char *patched = patch_in_memory(text, (enum patch_mode)mode, PATCH_CONST, &err);

		ck_assert_msg(patched, "%s", err.text);
		check_kept(text, patched);
		free(patched);
		free(text);
	}
}
END_TEST

START_TEST(a_patched_module_is_not_patched_again)
{
	char *text = corpus_read("corners.ptx");
	struct sim_error err = { 0 };
	char *patched = patch_in_memory(text, PATCH_FENCE, PATCH_CONST, &err);

	ck_assert_ptr_null(patch_in_memory(patched, PATCH_FENCE, PATCH_CONST, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "is it patched already?"));
	free(patched);
	free(text);
}
END_TEST

/* A module with one kernel, of this body. */
static char *patch_body(const char *body, enum patch_mode mode, struct sim_error *err)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 ".version 8.3\n.target sm_90\n.address_size 64\n"
		 ".global .align 8 .b64 two[2];\n.extern .global .b64 other;\n"
		 ".extern .func away (.param .b64 x);\n"
		 ".func leaf () { ret; }\n"
		 ".visible .entry k (.param .u64 a)\n{\n"
		 ".reg .b64 %%rd<9>; .reg .b32 %%r<9>; .reg .pred %%p;\n%s\nret;\n}\n",
		 body);
	return patch_in_memory(text, mode, PATCH_CONST, err);
}

static const struct {
	const char *body, *reason;
} refused[] = {
	{ "frobnicate.b32 %r1, %r2;", "frobnicate.b32: this opcode is not known" },
	{ "ld.global.u32 %r1, [4096];", "the address is no register" },
	{ "ld.global.u32 %r1, [%rd1+%r2];", "the address is no register" },
	{ "ld.global.u32 %r1, [%rd1].unified;", "the address is no register" },
	{ "ld.global.shared.u32 %r1, [%rd1];", "two state spaces" },
	{ "ld.global %r1, [%rd1];", "a width that is not known" },
	{ "ld.global.e4m3 %r1, [%rd1];", "a width that is not known" },
	{ "ld.global.u64 %rd1, [two+9];", "it reaches beyond its variable" },
	{ "ld.global.u64 %rd1, [two+-8];", "it reaches beyond its variable" },
	{ "ld.global.u64 %rd1, [other];", "it reaches beyond its variable" },
	{ "mov.u64 %rd1, two;", "two: the address of a variable of the module is taken" },
	{ "cvta.global.u64 %rd1, two;",
	  "two: the address of a variable of the module is taken" },
	{ "cvta.param.u64 %rd1, a;", "a generic address of parameters would be fenced" },
	{ "call %rd1, (%rd2), p;", "the target of an indirect call is not known" },
	{ "call away, (%rd2);", "away: a function without a body here is called" },
	{ "call leaf; st.u32 [%rd1], %r1;", "could change a return address" },
	{ "call leaf; st.local.u32 [%rd1], %r1;", "could change a return address" },
	{ "tex.2d.v4.f32.s32 {%r1,%r2,%r3,%r4}, [%rd1, {%r5, %r6}];", "handle" },
	{ "sust.b.1d.b32 [%rd1, {%r1}], %r2;", "handle" },
	{ "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%rd2], %r1;", "length" },
	{ "cp.async.bulk.tensor.1d.shared::cluster.global.tile [%r1], [%rd1, {%r2}], [%r3];",
	  "tensor map" },
	{ "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;",
	  "tensor map" },
	{ "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%rd1], %r2;", "stride" },
	{ "ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%rd1];", "not in shared memory" },
	{ "mbarrier.init.b64 [%rd1], %r1;", "not in shared memory" },
	{ "st.async.weak.global.u32 [%rd1], %r1;", "not in shared memory" },
	{ "multimem.red.global.add.u32 [%rd1], %r1;", "multicast" },
	{ "discard.global.L2 [%rd1], 128;", "another tenant" },
	{ "alloca.u64 %rd1, 16;", "stack" },
	{ "stackrestore.u64 %rd1;", "stack" },
	{ "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;",
	  "an address is not expected" },
	{ "ld .global.u32 %r1, [%rd1];", "a modifier stands apart from its opcode" },
	{ "ld.global.u32 %r1 [%rd1];", "the address is no register" },
	{ "#define ld add", "preprocessor" },
	{ "// hidden \\\nld.global.u32 %r1, [%rd1];", "backslash" },
	{ "mov.u32 %gvmf_x, 1;", "a name that gvmfence uses" },
	{ "brx.idx %r1, nowhere;", "its table of labels was not found" },
	{ "t: .branchtargets u<2>; brx.idx %r1, t; u0: u1:",
	  "its table of labels was not found" },
	{ "setmaxnreg.dec.sync.aligned.u32 24;", "registers that come back" },
	{ "} .func (.reg .u64 d) __cuda_sm20_div_u64 (.reg .u64 x, .reg .u64 y) { ret;",
	  "a name of the assembler's own functions" },
	{ "} .func g () { .reg .b64 %rd<2>; st.local.b64 [%rd1], %rd1;", "return address" },
	{ "ld.global.u32 %r1, [%rd1]", "" },
};

START_TEST(what_cannot_be_confined_is_refused_in_one_line)
{
	for (int mode = 0; mode < (int)PATCH_MODES; mode++) {
		struct sim_error err = { 0 };
		char *patched = patch_body(refused[_i].body, (enum patch_mode)mode, &err);

		ck_assert_msg(!patched, "%s", refused[_i].body);
		ck_assert_msg(strstr(err.text, refused[_i].reason), "%s: %s", refused[_i].body,
			      err.text);
		ck_assert_msg(!strncmp(err.text, "in.ptx:", 7), "%s", err.text);
		ck_assert_ptr_null(strchr(err.text, '\n'));
	}
}
END_TEST

/* The rest of one line of the patched text, after @before. */
static void check_sequence(const char *body, enum patch_mode mode, const char *expected)
{
	struct sim_error err = { 0 };
	char *patched = patch_body(body, mode, &err);

	ck_assert_msg(patched, "%s", err.text);
	ck_assert_msg(strstr(patched, expected), "%s\nis not in\n%s", expected, patched);
	free(patched);
}

START_TEST(each_mode_has_its_sequence)
{
	check_sequence("@%p ld.global.u32 %r1, [%rd1];", PATCH_FENCE,
		       "and.b64 %gvmf_t, %rd1, %gvmf_mask2;\n\tor.b64 %gvmf_a, %gvmf_t, "
		       "%gvmf_base;\n\t@%p ld.global.u32 %r1, [%gvmf_a];");
	check_sequence(
		"st.global.v4.b32 [ %rd1 + 16 ], {%r1,%r1,%r1,%r1};", PATCH_FENCE,
		"add.s64 %gvmf_s, %rd1, 16;\n\tand.b64 %gvmf_t, %gvmf_s, %gvmf_mask4;\n\t"
		"or.b64 %gvmf_a, %gvmf_t, %gvmf_base;\n\tst.global.v4.b32 [%gvmf_a], {");
	check_sequence("ld.global.u64 %rd2, [%rd1+-24];", PATCH_ONCE,
		       "and.b64 %gvmf_t, %rd1, %gvmf_mask3;\n\tor.b64 %gvmf_a, %gvmf_t, "
		       "%gvmf_base;\n\tld.global.u64 %rd2, [%gvmf_a+-24];");
	check_sequence("ld.global.u64 %rd2, [%rd1+20];", PATCH_ONCE, "%gvmf_mask0;");
	check_sequence("ld.global.u64 %rd2, [%rd1+8388608];", PATCH_ONCE,
		       "add.s64 %gvmf_s, %rd1, 8388608;");
	check_sequence("ld.global.u8 %r1, [%rd1];", PATCH_4G,
		       "mov.b64 {%gvmf_l, %gvmf_h}, %rd1;\n\tand.b32 %gvmf_h, %gvmf_h, "
		       "%gvmf_mask_high;\n\tor.b32 %gvmf_h, %gvmf_h, %gvmf_base_high;\n\t"
		       "mov.b64 %gvmf_a, {%gvmf_l, %gvmf_h};\n\tld.global.u8 %r1, [%gvmf_a];");
	check_sequence("@!%p st.global.u16 [%rd1], %r1;", PATCH_CHECK,
		       "mov.b64 %gvmf_s, %rd1;\n\tsub.s64 %gvmf_t, %gvmf_s, %gvmf_base;\n\t"
		       "min.u64 %gvmf_t, %gvmf_t, %gvmf_limit1;\n\t"
		       "add.s64 %gvmf_a, %gvmf_t, %gvmf_base;\n\t"
		       "setp.ne.and.u64 %gvmf_p, %gvmf_a, %gvmf_s, !%p;\n\t"
		       "@%gvmf_p trap;\n\t@!%p st.global.u16 [%gvmf_a], %r1;");
	check_sequence("ld.u16 %r1, [%rd1];", PATCH_CHECK,
		       "add.s64 %gvmf_a, %gvmf_t, %gvmf_base;\n\t"
		       "isspacep.shared %gvmf_r, %gvmf_s;\n\t"
		       "isspacep.local %gvmf_q, %gvmf_s;\n\t"
		       "or.pred %gvmf_q, %gvmf_q, %gvmf_r;\n\t"
		       "selp.b64 %gvmf_u, %gvmf_shared, %gvmf_local, %gvmf_r;\n\t"
		       "sub.s64 %gvmf_t, %gvmf_s, %gvmf_u;\n\t"
		       "and.b64 %gvmf_t, %gvmf_t, 16777215;\n\t"
		       "add.s64 %gvmf_t, %gvmf_t, %gvmf_u;\n\t"
		       "selp.b64 %gvmf_a, %gvmf_t, %gvmf_a, %gvmf_q;\n\t"
		       "setp.ne.u64 %gvmf_p, %gvmf_a, %gvmf_s;\n\t@%gvmf_p trap;\n\t"
		       "ld.u16 %r1, [%gvmf_a];");
	check_sequence("@!%p st.global.u16 [%rd1], %r1;", PATCH_COUNT,
		       "mov.b64 %gvmf_s, %rd1;\n\tand.b64 %gvmf_t, %gvmf_s, %gvmf_mask1;\n\t"
		       "or.b64 %gvmf_a, %gvmf_t, %gvmf_base;\n\t"
		       "setp.ne.and.u64 %gvmf_p, %gvmf_a, %gvmf_s, !%p;\n\t"
		       "@%gvmf_p red.global.add.u64 [gvmf_found], 1;\n\t"
		       "@%gvmf_p st.global.u64 [gvmf_found+8], %gvmf_s;\n\t"
		       "@!%p st.global.u16 [%gvmf_a], %r1;");
	check_sequence("t: .branchtargets u, v;\nbrx.idx %r1, t; u: v:", PATCH_FENCE,
		       "min.u32 %gvmf_i, %r1, 1;\n\tbrx.idx %gvmf_i, t;");
}
END_TEST

/* ptxas takes names of any length. */
START_TEST(a_register_with_a_long_name_is_fenced)
{
	char name[700], body[4096], expected[2048];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(body, sizeof(body), ".reg .b64 %s; ld.global.u32 %%r1, [%s];", name, name);
	snprintf(expected, sizeof(expected),
		 "and.b64 %%gvmf_t, %s, %%gvmf_mask2;\n\tor.b64 %%gvmf_a, %%gvmf_t, "
		 "%%gvmf_base;",
		 name);
	check_sequence(body, PATCH_FENCE, expected);
}
END_TEST

/* The paper's way for the index of a jump: the remainder by the number of labels. */
START_TEST(an_index_can_wrap_around_as_the_papers_does)
{
	struct patch_options options = { .margin = PATCH_MARGIN_DEFAULT,
					 .index = PATCH_INDEX_MODULO };
	struct sim_error err = { 0 };
	char *patched = patch_with(
		".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k ()\n{\n"
		".reg .b32 %r<9>;\nt: .branchtargets u, v, w;\n@%p brx.idx %r1, t; u: v: w:\n"
		"ret;\n}\n",
		&options, &err);

	ck_assert_msg(patched, "%s", err.text);
	ck_assert_msg(strstr(patched,
			     "rem.u32 %gvmf_i, %r1, 3;\n\tmin.u32 %gvmf_i, %gvmf_i, 2;\n\t"
			     "@%p brx.idx %gvmf_i, t;"),
		      "%s", patched);
	free(patched);
}
END_TEST

/* 65384 bytes of constants leave the 152 that bounds need, and one more does not. */
START_TEST(bounds_become_parameters_where_constants_are_full)
{
	static const char form[] =
		".version 8.3\n.target sm_90\n.address_size 64\n.const .align 1 .b8 a[%u];\n"
		".const .align 4 .b32 b;\n.shared .align 4 .b8 s[1024];\n%s.visible .entry k "
		"(.param .u64 p)\n{\n"
		".reg .b64 %%rd<9>; .reg .b32 %%r<9>;\nld.global.u32 %%r1, [%%rd1];\nret;\n}\n";
	static const char function[] = ".func f () { .reg .b64 %rd<2>; .reg .b32 %r<2>; "
				       "ld.global.u32 %r1, [%rd1]; ret; }\n";
	static const struct {
		u32 bytes;
		enum patch_full full;
		bool function, params;
	} cases[] = {
		{ 65380, PATCH_FULL_PARAMS, false, false },
		{ 65381, PATCH_FULL_PARAMS, false, true },
		{ 65381, PATCH_FULL_FAILS, false, false },
		{ 65381, PATCH_FULL_PARAMS, true, false },
	};

	for (u32 i = 0; i < 4; i++) {
		struct patch_options options = { .margin = PATCH_MARGIN_DEFAULT,
						 .full = cases[i].full };
		struct sim_error err = { 0 };
		char text[1024], *patched;

		snprintf(text, sizeof(text), form, cases[i].bytes,
			 cases[i].function ? function : "");
		patched = patch_with(text, &options, &err);
		/* Functions cannot have bounds in parameters. */
		ck_assert_msg(!patched == cases[i].function, "case %u: %s", i, err.text);
		ck_assert(patched || (strstr(err.text, "constants are full") &&
				      !strstr(err.text, "use --pass")));
		ck_assert(!patched || !strstr(patched, "gvmf_bounds") == cases[i].params);
		free(patched);
	}
}
END_TEST

/*
 * As ptxas 13.0.88 lays them out: those that other modules see, then the rest, in the order of the
 * text and each at its alignment.
 */
START_TEST(what_aligns_constants_takes_room_too)
{
	static const struct {
		const char *constants;
		bool params;
	} cases[] = {
		/* 152 + 65256 = 65408, so the second one begins at 65408, and 64 bytes later. */
		{ ".const .b8 a[65256]; .const .align 64 .b8 b[128];", false },
		{ ".const .b8 a[65257]; .const .align 64 .b8 b[128];", true },
		{ ".const .b8 a[65376]; .const .b64 b;", false },
		{ ".const .b8 a[65377]; .const .b64 b;", true },
		{ ".const .b8 a[65368]; .const .v4 .b32 b;", false },
		{ ".const .b8 a[65369]; .const .v4 .b32 b;", true },
		/* The first one is the last. */
		{ ".const .align 64 .b8 b[64]; .visible .const .b8 a[65304];", false },
		{ ".const .align 64 .b8 b[64]; .weak .const .b8 a[65304];", false },
		{ ".const .align 64 .b8 b[64]; .const .b8 a[65304];", true },
		{ ".const .align 64 .b8 b[64]; .visible .const .b8 a[65321];", true },
		/* Of another module. */
		{ ".extern .const .align 64 .b8 b[65536]; .const .b8 a[65384];", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct patch_options options = { .margin = PATCH_MARGIN_DEFAULT,
						 .full = PATCH_FULL_PARAMS };
		struct sim_error err = { 0 };
		char text[1024], *patched;

		snprintf(text, sizeof(text),
			 ".version 8.3\n.target sm_90\n.address_size 64\n%s\n"
			 ".visible .entry k (.param .u64 p)\n{\n.reg .b64 %%rd<9>; "
			 ".reg .b32 %%r<9>;\nld.global.u32 %%r1, [%%rd1];\nret;\n}\n",
			 cases[i].constants);
		patched = patch_with(text, &options, &err);
		ck_assert_msg(patched, "%s", err.text);
		ck_assert_msg(!strstr(patched, "gvmf_bounds") == cases[i].params, "%s",
			      cases[i].constants);
		free(patched);
	}
}
END_TEST

START_TEST(variables_and_confined_spaces_are_left_alone)
{
	static const char *const bodies[] = {
		"ld.global.u64 %rd1, [two+8];", "ld.shared.u32 %r1, [%r2];",
		"ld.param.u64 %rd1, [a];",	"ld.local.u32 %r1, [%rd1];",
		"ld.const.u32 %r1, [%rd1];",	"mov.u32 %r1, %tid.x;",
	};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		struct sim_error err = { 0 };
		char *patched = patch_body(bodies[i], PATCH_FENCE, &err);

		ck_assert_msg(patched, "%s", err.text);
		ck_assert_ptr_null(strstr(patched, "%gvmf_"));
		free(patched);
	}
}
END_TEST

START_TEST(newer_isa_versions_are_refused)
{
	struct sim_error err = { 0 };

	ck_assert_ptr_null(patch_in_memory(".version 9.1\n.target sm_90\n.address_size 64\n",
					   PATCH_FENCE, PATCH_CONST, &err));
	ck_assert_str_eq(err.text, "in.ptx:1: 9.1: PTX ISA versions up to 9.0 are read");
	ck_assert_ptr_null(patch_in_memory(".version 8.0\n.target sm_90\n.address_size 32\n",
					   PATCH_FENCE, PATCH_CONST, &err));
	ck_assert_str_eq(err.text, "in.ptx:3: 32: addresses have to have 64 bits");
}
END_TEST

/* The patcher copies up to the headers, and then from the first function on. */
#define HEADERS ".version 8.0\n.target sm_90\n"
START_TEST(headers_stand_once_and_in_front)
{
	static const char *const texts[] = {
		HEADERS ".address_size 64\n.func f () { }\n.address_size 64\n",
		HEADERS ".func f () { ret; }\n.address_size 64\n",
		HEADERS ".address_size 64\n.target sm_80\n",
	};
	static const char *const reasons[] = { "in.ptx:5: .address_size: a second time",
					       "in.ptx:4: .address_size: it stands after",
					       "in.ptx:4: .target: a second time" };

	for (u32 i = 0; i < 3; i++) {
		struct sim_error err = { 0 };

		ck_assert_ptr_null(patch_in_memory(texts[i], PATCH_FENCE, PATCH_CONST, &err));
		ck_assert_msg(!strncmp(err.text, reasons[i], strlen(reasons[i])), "%s",
			      err.text);
	}
}
END_TEST

static const struct {
	const char *headers; /* of the file */
	u32 target, version;
	const char *result; /* its headers, or the reason */
} lowered[] = {
	{ ".version 9.0\n.target sm_100\n.address_size 64", 90, 0,
	  ".version 9.0\n.target sm_90\n.address_size 64\n" },
	{ ".version 9.0 // sm_100\n.target sm_120, debug\n.address_size 64", 80, 78,
	  ".version 7.8 // sm_100\n.target sm_80, debug\n.address_size 64\n" },
	{ ".target sm_100\n.version 9.0\n.address_size 64", 86, 84,
	  ".target sm_86\n.version 8.4\n.address_size 64\n" },
	/* What is not newer stays. */
	{ ".version 8.0\n.target sm_80\n.address_size 64", 90, 84,
	  ".version 8.0\n.target sm_80\n.address_size 64\n" },
	{ ".version 9.0\n.target sm_100a\n.address_size 64", 0, 84,
	  ".version 8.4\n.target sm_100a\n.address_size 64\n" },
	{ ".version 9.0\n.target sm_100a\n.address_size 64", 90, 0,
	  "in.ptx:2: sm_100a: it is for one GPU or one family, and cannot be lowered" },
	{ ".version 9.0\n.target sm_90a\n.address_size 64", 90, 0,
	  "in.ptx:2: sm_90a: it is for one GPU or one family, and cannot be lowered" },
	{ ".version 9.0\n.target sm_103f\n.address_size 64", 90, 0,
	  "in.ptx:2: sm_103f: it is for one GPU or one family, and cannot be lowered" },
	{ ".version 9.0\n.address_size 64\n.target sm_100", 90, 0,
	  "in.ptx:3: sm_100: it stands after .address_size" },
	{ ".target sm_100\n.address_size 64\n.version 9.0", 0, 84,
	  "in.ptx:3: 9.0: it stands after .address_size" },
};

START_TEST(targets_and_versions_are_lowered)
{
	struct patch_options options = { .margin = PATCH_MARGIN_DEFAULT,
					 .target = lowered[_i].target,
					 .version = lowered[_i].version };
	const char *result = lowered[_i].result;
	const char body[] = "\n.visible .entry k () { ret; }\n";
	struct sim_error err = { 0 };
	char text[512], *patched;

	snprintf(text, sizeof(text), "%s%s", lowered[_i].headers, body);
	patched = patch_with(text, &options, &err);
	if (!patched) {
		ck_assert_str_eq(err.text, result);
		return;
	}
	ck_assert_msg(!strncmp(patched, result, strlen(result)), "%s", patched);
	ck_assert_ptr_nonnull(strstr(patched, body));
	free(patched);
}
END_TEST

static void add_tests(TCase *tests)
{
	int files = 0;

	while (corpus_files[files])
		files++;
	tcase_add_loop_test(tests, tokens_in_order_are_the_text, 0, files);
	tcase_add_loop_test(tests, all_other_bytes_are_kept, 0, files);
	tcase_add_test(tests, a_patched_module_is_not_patched_again);
	tcase_add_loop_test(tests, what_cannot_be_confined_is_refused_in_one_line, 0,
			    (int)(sizeof(refused) / sizeof(*refused)));
	tcase_add_test(tests, each_mode_has_its_sequence);
	tcase_add_test(tests, a_register_with_a_long_name_is_fenced);
	tcase_add_test(tests, bounds_become_parameters_where_constants_are_full);
	tcase_add_test(tests, what_aligns_constants_takes_room_too);
	tcase_add_test(tests, an_index_can_wrap_around_as_the_papers_does);
	tcase_add_test(tests, variables_and_confined_spaces_are_left_alone);
	tcase_add_test(tests, newer_isa_versions_are_refused);
	tcase_add_test(tests, headers_stand_once_and_in_front);
	tcase_add_loop_test(tests, targets_and_versions_are_lowered, 0,
			    (int)(sizeof(lowered) / sizeof(*lowered)));
}

int main(void)
{
	return suite_run("ptx", NULL, NULL, add_tests);
}
