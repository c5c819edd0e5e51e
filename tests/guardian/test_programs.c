// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Random programs, native and fenced in each mode, in an interpreter. Those that stay inside of their
 * memory leave the same memory behind. Wild ones never leave the partition. Every one verifies.
 * The seed is printed; GVM_TEST_SEED repeats a run, GVM_TEST_PROGRAMS says how many.
 */
#include "interpreter.h"
#include "ptx_fixture.h"
#include "verify.h"

#include <stdarg.h>

#define PROGRAMS    20000u
#define TEXT_MAX    16384u
#define GUARD_BYTES (9ull << 20) /* margin and more: the memory lies so far inside */

static u64 state;

static u64 draw(u64 below)
{
	u64 z = state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % below;
}

struct program {
	char text[TEXT_MAX];
	size_t length;
	bool wild;
	u32 labels;
};

__attribute__((format(printf, 2, 3))) static void add(struct program *program, const char *fmt,
						      ...)
{
	va_list arguments;

	va_start(arguments, fmt);
	program->length += (size_t)vsnprintf(program->text + program->length,
					     TEXT_MAX - program->length, fmt, arguments);
	va_end(arguments);
	ck_assert_uint_lt(program->length, TEXT_MAX);
}

/* Registers %rd1 to %rd7 are the program's; %rd8 holds addresses, %rd0 the memory's. */
static unsigned any(void)
{
	return (unsigned)(1 + draw(7));
}

static void add_arithmetic(struct program *program)
{
	static const char *const opcodes[] = { "add.s64", "sub.s64",	"xor.b64",
					       "and.b64", "mul.lo.u64", "or.b64" };
	const char *opcode = opcodes[draw(6)];

	if (draw(2))
		add(program, "%s %%rd%u, %%rd%u, %%rd%u;\n", opcode, any(), any(), any());
	else
		add(program, "%s %%rd%u, %%rd%u, %llu;\n", opcode, any(), any(),
		    draw(1u << 20));
	if (!draw(3))
		add(program, "setp.gt.u64 %%p%llu, %%rd%u, %%rd%u;\n", 1 + draw(3), any(),
		    any());
}

/* An address into %rd8 that an access with @offset and @shift may have; or any at all. */
static void add_address(struct program *program, s64 offset, u32 shift, bool shared)
{
	u64 room = shared ? WORLD_SHARED_SIZE : WORLD_BYTES;
	u64 mask = (room - 1) & ~((1ull << shift) - 1);

	if (program->wild) {
		static const char *const moves[] = { "mov.b64 %%rd8, %%rd%u;\n",
						     "add.s64 %%rd8, %%rd0, %%rd%u;\n",
						     "sub.s64 %%rd8, %%rd0, %%rd%u;\n" };
		const char *move = moves[draw(3)];

		/* Aligned ones do not stop at once where a misaligned access faults. */
		add(program, move, any()); // NOLINT
		if (draw(2))
			add(program, "and.b64 %%rd8, %%rd8, -16;\n");
		return;
	}
	add(program, "and.b64 %%rd8, %%rd%u, %llu;\n", any(), mask);
	if (shared)
		add(program, "add.s64 %%rd8, %%rd8, %llu;\n", WORLD_SHARED);
	else
		add(program, "add.s64 %%rd8, %%rd8, %%rd0;\n");
	if (offset)
		add(program, "sub.s64 %%rd8, %%rd8, %lld;\n", offset);
}

static void add_access(struct program *program)
{
	static const char *const types[] = { "u8", "u16", "u32", "u64" };
	u32 shift = (u32)draw(4), kind = (u32)draw(8);
	s64 offset = draw(2) ? (s64)draw(1u << 13) - (1 << 12) : 0;
	bool generic = !draw(3), shared = generic && draw(2);
	const char *space = generic ? "" : ".global";
	char place[32], guard[16] = "";

	if (draw(2))
		offset &= ~((1ll << shift) - 1);
	if (kind >= 6)
		shift = 4;
	snprintf(place, sizeof(place), offset ? "[%%rd8+%lld]" : "[%%rd8]", offset);
	if (!draw(3))
		snprintf(guard, sizeof(guard), "@%s%%p%u ", draw(2) ? "!" : "",
			 (unsigned)(1 + draw(3)));
	if (shift == 4 && offset)
		offset = 0, snprintf(place, sizeof(place), "[%%rd8]");
	add_address(program, offset, shift, shared);
	if (kind == 6)
		add(program, "%sld%s.v2.u64 {%%rd%u, %%rd%u}, %s;\n", guard, space, any(),
		    any(), place);
	else if (kind == 7)
		add(program, "%sst%s.v2.u64 %s, {%%rd%u, %%rd%u};\n", guard, space, place,
		    any(), any());
	else if (kind < 3)
		add(program, "%sld%s.%s %%rd%u, %s;\n", guard, space, types[shift], any(),
		    place);
	else if (kind < 5)
		add(program, "%sst%s.%s %s, %%rd%u;\n", guard, space, types[shift], place,
		    any());
	else if (shift < 2)
		add(program, "st.shared.u32 [%%rd8+0], %%rd%u;\n", any());
	else if (draw(2))
		add(program, "%satom%s.add.%s %%rd%u, %s, %%rd%u;\n", guard, space,
		    types[shift], any(), place, any());
	else
		add(program, "%sred%s.add.%s %s, %%rd%u;\n", guard, space, types[shift], place,
		    any());
}

static void add_jump(struct program *program)
{
	unsigned label = ++program->labels;

	if (draw(3)) {
		add(program, "@%%p%llu bra L%u;\n", 1 + draw(3), label);
		add_arithmetic(program);
		add_access(program);
		add(program, "L%u:\n", label);
		return;
	}
	/* Only a wild program jumps beyond its table. */
	add(program, "and.b64 %%rd8, %%rd%u, %d;\n", any(), program->wild ? 255 : 1);
	add(program, "T%u: .branchtargets A%u, B%u;\nbrx.idx %%rd8, T%u;\nA%u:\n", label, label,
	    label, label, label);
	add_access(program);
	add(program, "B%u:\n", label);
}

static void make_program(struct program *program, bool wild)
{
	*program = (struct program){ .wild = wild };
	add(program, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param "
		     ".u64 a)\n{\n"
		     ".reg .b64 %%rd<9>;\n.reg .pred %%p<4>;\nld.param.u64 %%rd0, [a];\n");
	for (unsigned i = 1; i < 8; i++)
		add(program, "mov.b64 %%rd%u, %llu;\n", i, draw(U64_MAX) >> draw(50));
	add(program, "mov.b64 %%rd9, 0;\nagain:\n");
	for (u64 i = 0, count = 3 + draw(12); i < count; i++)
		draw(4) == 0 ? add_jump(program) :
		draw(2)	     ? add_access(program) :
			       add_arithmetic(program);
	add(program,
	    "add.s64 %%rd9, %%rd9, 1;\nsetp.gt.u64 %%p1, 3, %%rd9;\n@%%p1 bra again;\n");
	/* What is left in registers counts, too. */
	for (unsigned i = 1; i < 8; i++)
		add(program, "st.global.u64 [%%rd0+%u], %%rd%u;\n", 8 * i, i);
	add(program, "ret;\n}\n");
}

static void make_world(struct world *world, enum patch_mode mode)
{
	u64 size = mode == PATCH_4G ? 4ull << 30 : 32ull << 20;

	memset(world, 0, sizeof(*world));
	if (mode >= PATCH_CHECK)
		size -= 384; /* no power of two */
	ck_assert(patch_bounds_set(&world->bounds, mode, 0x7fa200000000ull, size));
	world->memory_base = world->bounds.base + GUARD_BYTES + 65536;
	world->memory_base &= ~65535ull;
	for (u32 i = 0; i < WORLD_BYTES; i++)
		world->memory[i] = (u8)(i * 7 + i / 256);
}

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

static u64 ends[RUN_UNKNOWN];

static void check_program(const struct program *program, enum patch_mode mode,
			  enum patch_pass pass)
{
	static struct world native, fenced;
	u64 margin = mode == PATCH_ONCE || mode == PATCH_4G ? PATCH_MARGIN_DEFAULT : 0;
	struct sim_error err = { 0 };
	char *text = patch_in_memory(program->text, mode, pass, &err);
	enum run_end end;

	ck_assert_msg(text, "%s\n%s", err.text, program->text);
	check_verifies(text);
	make_world(&fenced, mode);
	end = run_text(text, &fenced);
	ends[end]++;
	if (fenced.lowest <= fenced.highest)
		ck_assert_msg(fenced.lowest >= fenced.bounds.base - margin &&
				      fenced.highest <
					      fenced.bounds.base + fenced.bounds.size + margin,
			      "%llx to %llx in\n%s", fenced.lowest, fenced.highest, text);
	/* A fence aligns. Generic addresses of shared memory, which stay as they are, may be misaligned. */
	if (mode == PATCH_FENCE && !strstr(program->text, "ld.u") &&
	    !strstr(program->text, "st.u") && !strstr(program->text, "ld.v") &&
	    !strstr(program->text, "st.v") && !strstr(program->text, "atom.add") &&
	    !strstr(program->text, "red.add"))
		ck_assert_uint_eq(fenced.misaligned, 0);
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
	const char *seed = getenv("GVM_TEST_SEED"), *count = getenv("GVM_TEST_PROGRAMS");
	u64 programs = count ? strtoull(count, NULL, 10) : PROGRAMS;
	static struct program program;

	state = seed ? strtoull(seed, NULL, 10) : 20261122;
	printf("seed %llu, %llu programs\n", state, programs);
	fflush(stdout);
	for (u64 i = 0; i < programs; i++) {
		enum patch_mode mode = (enum patch_mode)(i / 2 % PATCH_MODES);

		make_program(&program, i & 1);
		check_program(&program, mode,
			      mode <= PATCH_ONCE && i % 3 == 0 ? PATCH_PARAMS : PATCH_CONST);
	}
	printf("returned %llu, trapped %llu, misaligned %llu, endless %llu\n",
	       ends[RUN_RETURNED], ends[RUN_TRAPPED], ends[RUN_MISALIGNED], ends[RUN_STEPS]);
	ck_assert_uint_gt(ends[RUN_RETURNED], programs / 2);
	ck_assert_uint_gt(ends[RUN_TRAPPED], programs / 100);
}
END_TEST

/* The interpreter sees what an unfenced wild program does: the test above can fail. */
START_TEST(unfenced_wild_programs_do_leave_the_partition)
{
	static struct program program;
	static struct world world;
	u32 outside = 0;

	state = 1;
	for (u32 i = 0; i < 200; i++) {
		make_program(&program, true);
		make_world(&world, PATCH_FENCE);
		if (strstr(program.text, "brx"))
			continue;
		run_text(program.text, &world);
		outside += world.lowest <= world.highest &&
			   (world.lowest < world.bounds.base ||
			    world.highest >= world.bounds.base + world.bounds.size);
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
