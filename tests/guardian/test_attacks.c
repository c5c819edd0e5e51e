// SPDX-License-Identifier: MIT OR GPL-2.0
/* Text that no patcher has written, and that the verifier has to refuse or to count. */
#include "ptx_fixture.h"
#include "verify.h"

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

#define GENERIC_FENCE(mask)                                                         \
	"mov.b64 %gvmf_s, %rd1; and.b64 %gvmf_t, %gvmf_s, " mask                    \
	"; or.b64 %gvmf_a, %gvmf_t, %gvmf_base; isspacep.shared %gvmf_r, %gvmf_s; " \
	"isspacep.local %gvmf_q, %gvmf_s; or.pred %gvmf_q, %gvmf_q, %gvmf_r; "      \
	"selp.b64 %gvmf_u, %gvmf_shared, %gvmf_local, %gvmf_r; "                    \
	"sub.s64 %gvmf_t, %gvmf_s, %gvmf_u; and.b64 %gvmf_t, %gvmf_t, 16777215; "   \
	"add.s64 %gvmf_t, %gvmf_t, %gvmf_u; selp.b64 %gvmf_a, %gvmf_t, %gvmf_a, %gvmf_q; "
#define WINDOWS                                                                     \
	".reg .pred %gvmf_q, %gvmf_r; .reg .b64 %gvmf_u, %gvmf_here, %gvmf_there, " \
	"%gvmf_low, %gvmf_shared, %gvmf_local; mov.u64 %gvmf_here, gvmf_here; "     \
	"cvta.shared.u64 %gvmf_there, %gvmf_here; "                                 \
	"and.b64 %gvmf_low, %gvmf_here, 16777215; "                                 \
	"sub.s64 %gvmf_shared, %gvmf_there, %gvmf_low; cvta.local.u64 %gvmf_local, 0; "

/* Modes check (3) and modulo (4), up to the bounds. */
#define VAGUE(mode)                                                                       \
	".version 8.3\n.target sm_90\n.address_size 64\n"                                 \
	".const .align 8 .b64 gvmf_format[3] = {" mode ", 0, 0};\n"                       \
	".visible .const .align 8 .b64 gvmf_bounds[16];\n"                                \
	".extern .shared .align 1 .b8 gvmf_here[];\n.visible .entry k ()\n{\n"            \
	".reg .b64 %gvmf_base, %gvmf_size, %gvmf_reciprocal, %gvmf_s, %gvmf_t, %gvmf_a; " \
	".reg .b64 %gvmf_limit2; .reg .pred %gvmf_p; .reg .b64 %rd<9>; .reg .b32 %r<9>; " \
	"ld.const.b64 %gvmf_base, [gvmf_bounds+0]; "                                      \
	"ld.const.b64 %gvmf_size, [gvmf_bounds+8]; "                                      \
	"ld.const.b64 %gvmf_reciprocal, [gvmf_bounds+16]; "                               \
	"sub.s64 %gvmf_limit2, %gvmf_size, 4; "

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
	       "%r1, 2; brx.idx %gvmf_i, t; u: v: ret; }",
	  "not clamped" },
	{ HEAD ".reg .b32 %gvmf_i; t: .branchtargets u, v; .reg .b32 %r1; rem.u32 %gvmf_i, "
	       "%r1, 2; min.u32 %gvmf_i, %gvmf_i, 2; brx.idx %gvmf_i, t; u: v: ret; }",
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
	/* The same variable as another module's with this number. */
	{ ".global .attribute(.unified(1, 2)) .align 8 .b8 y[8];\n" HEAD REGISTERS
	  "st.global.u32 [y], %r1; ret; }",
	  "another module" },
	/*
	 * ptxas makes calls of such functions of instructions: of div.u64 a call of this one, and
	 * so of code that no call names. A definition of ours takes the place of its own.
	 */
	{ HEAD REGISTERS
	  "ret; } .func (.reg .u64 d) __cuda_sm20_div_u64 (.reg .u64 x, .reg .u64 "
	  "y) { mov.u64 d, x; ret; }",
	  "a name of the assembler" },
	{ HEAD REGISTERS "ret; } .extern .func __cuda_sm20_div_u64 ();",
	  "a name of the assembler" },
	/* A call of it is an instruction of ptxas's own, whatever its body is. */
	{ HEAD REGISTERS "call __nv_ptx_builtin_ocg_write, (); ret; } .func "
			 "__nv_ptx_builtin_ocg_write () { ret; }",
	  "a name of the assembler" },
	{ HEAD REGISTERS
	  "ret; } .func g() { .reg .b64 %rd<2>; st.local.b64 [%rd1], %rd1; ret; }",
	  "return address" },
	{ HEAD REGISTERS "ret; } .func g() { " WINDOWS REGISTERS GENERIC_FENCE(
		  "%gvmf_mask2") "st.u32 [%gvmf_a], %r1; ret; }",
	  "return address" },
	/* Bytes of a bound that are said to be unused. */
	{ HEAD ".reg .b64 %gvmf_base; .pragma \"used_bytes_mask 1\"; "
	       "ld.const.b64 %gvmf_base, [gvmf_bounds+0]; ret; }",
	  "is no operand" },
	{ ".pragma \"used_bytes_mask 1\";\n" HEAD REGISTERS "ret; }", "outside of a body" },
	/* Two words without a space between them: one here, two for ptxas. */
	{ ".visible.global .align 8 .b8 y[8];\n" HEAD REGISTERS "ret; }", "stands after" },
	{ HEAD REGISTERS "ret; } .func g.noreturn { ret; }", "stands after" },
	{ HEAD REGISTERS "ret; } .visible.func g() { ret; }", "stands after" },
	{ ".version 8.3\n.target sm_90.pragma\n\"nounroll\";\n.address_size 64\n",
	  "stands after" },
	/* Words between .extern and its variable, whose length is another module's. */
	{ ".extern /**//**//**//**//**/ .global .align 8 .b8 y[64];\n" HEAD REGISTERS
	  "st.global.u32 [y], %r1; ret; }",
	  "beyond its variable" },
	/* Words that ptxas 13.0 knows, though no document has them. */
	{ HEAD REGISTERS "cctl.iv.global [%rd1]; ret; }", "not accepted" },
	{ HEAD REGISTERS "cctlu.iv [%rd1]; ret; }", "not accepted" },
	{ HEAD REGISTERS "_jcall %rd1; ret; }", "not accepted" },
	/* A shorter table in an inner block, after the jump. */
	{ HEAD
	  ".reg .b32 %gvmf_i; .reg .b32 %r1; { t: .branchtargets u, v; } { min.u32 %gvmf_i, "
	  "%r1, 1; brx.idx %gvmf_i, t; t: .branchtargets u; } u: v: ret; }",
	  "not found" },
	/* The tenant's own parameters stand after the bounds. */
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
	/* ptxas knows modifiers that no document has for such an access. */
	{ HEAD REGISTERS FENCE "ld.global.desc.u32 %r1, [%gvmf_a], %rd1; ret; }",
	  "a modifier that is not known" },
	{ HEAD REGISTERS FENCE "st.global.elemtype.u32 [%gvmf_a], %r1; ret; }",
	  "a modifier that is not known" },
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
	/*
	 * Values that nothing has written: ptxas 13.0 tests one register and stores to another. So
	 * what check tests, what isspacep is asked of and what a remainder is taken of may be
	 * three values.
	 */
	{ VAGUE("3") "mov.b64 %gvmf_s, %rd1; sub.s64 %gvmf_t, %gvmf_s, %gvmf_base; setp.gt.u64 "
		     "%gvmf_p, %gvmf_t, "
		     "%gvmf_limit2; @%gvmf_p trap; st.global.u32 [%gvmf_s], %r1; ret; }",
	  "no step of a fence" },
	{ VAGUE("3") "mov.b64 %gvmf_s, %rd1; sub.s64 %gvmf_t, %gvmf_s, %gvmf_base; min.u64 "
		     "%gvmf_t, %gvmf_t, "
		     "%gvmf_limit2; add.s64 %gvmf_a, %gvmf_t, %gvmf_base; setp.ne.u64 "
		     "%gvmf_p, %gvmf_a, %gvmf_s; @%gvmf_p trap; st.global.u32 [%gvmf_s], %r1; "
		     "ret; }",
	  "not fenced" },
	{ VAGUE("3") WINDOWS
	  "mov.b64 %gvmf_s, %rd1; sub.s64 %gvmf_t, %gvmf_s, %gvmf_base; min.u64 %gvmf_t, "
	  "%gvmf_t, %gvmf_limit2; "
	  "add.s64 %gvmf_a, %gvmf_t, %gvmf_base; isspacep.shared %gvmf_p, %gvmf_s; "
	  "isspacep.local %gvmf_q, %gvmf_s; or.pred %gvmf_p, %gvmf_p, %gvmf_q; selp.b64 "
	  "%gvmf_a, %gvmf_s, %gvmf_a, %gvmf_p; st.u32 [%gvmf_a], %r1; ret; }",
	  "no step of a fence" },
	{ VAGUE("4") "mov.b64 %gvmf_s, %rd1; sub.s64 %gvmf_t, %gvmf_s, %gvmf_base; mul.hi.u64 "
		     "%gvmf_u, %gvmf_t, "
		     "%gvmf_reciprocal; mul.lo.u64 %gvmf_u, %gvmf_u, %gvmf_size; sub.s64 "
		     "%gvmf_t, %gvmf_t, %gvmf_u; sub.s64 %gvmf_u, %gvmf_t, %gvmf_size; "
		     "min.u64 %gvmf_t, %gvmf_t, %gvmf_u; add.s64 %gvmf_a, %gvmf_t, "
		     "%gvmf_base; st.global.u32 [%gvmf_a], %r1; ret; }",
	  "no step of a fence" },
	/* Registers that a warp gives away and gets back hold another warp's values. */
	{ HEAD REGISTERS "setmaxnreg.dec.sync.aligned.u32 24; ret; }", "not accepted" },
	/* A window that begins elsewhere. */
	{ HEAD ".reg .b64 %gvmf_here; mov.u64 %gvmf_here, two; ret; }", "no step" },
	{ HEAD ".reg .b64 %gvmf_local; cvta.local.u64 %gvmf_local, 4096; ret; }", "no step" },
	{ ".extern .shared .align 1 .b8 gvmf_here[16];\n" HEAD "ret; }", "is declared" },
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
		{ WINDOWS GENERIC_FENCE("%gvmf_mask2") "st.u32 [%gvmf_a], %r1;", 1, 0 },
		/* Hints change nothing there, and may stand in a module with calls. */
		{ MASK0 WINDOWS GENERIC_FENCE(
			  "%gvmf_mask0") "prefetch.L1 [%gvmf_a]; call leaf;",
		  0, 0 },
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
	tcase_add_test(tests, a_text_that_takes_too_long_is_refused);
	tcase_add_loop_test(tests, stores_that_may_reach_spilled_addresses_are_counted, 0, 9);
	tcase_add_loop_test(tests, text_that_no_patcher_writes_is_refused, 0,
			    (int)(sizeof(attacks) / sizeof(*attacks)));
}

int main(void)
{
	return suite_run("attacks", NULL, NULL, add_tests);
}
