// SPDX-License-Identifier: MIT OR GPL-2.0
#include "programs.h"

#include <stdarg.h>

#define GUARD_BYTES (9ull << 20) /* margin and more: the memory lies so far inside */

static u64 state;

u64 draw_from(const char *variable, u64 seed)
{
	const char *text = getenv(variable);

	state = text ? strtoull(text, NULL, 10) : seed;
	return state;
}

u64 draw(u64 below)
{
	u64 z = state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % below;
}

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

void make_program(struct program *program, bool wild)
{
	*program = (struct program){ .wild = wild };
	add(program, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param "
		     ".u64 a)\n{\n"
		     ".reg .b64 %%rd<10>;\n.reg .pred %%p<4>;\nld.param.u64 %%rd0, [a];\n");
	for (unsigned i = 1; i < 4; i++)
		if (!wild || draw(2))
			add(program, "setp.gt.u64 %%p%u, %llu, 1;\n", i, draw(4));
	/* Of some registers a wild program knows nothing. */
	for (unsigned i = 1; i < 8; i++)
		if (!wild || draw(4))
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

void make_world(struct world *world, enum patch_mode mode)
{
	u64 size = mode == PATCH_4G ? 4ull << 30 : 32ull << 20;

	memset(world, 0, sizeof(*world));
	world->state = draw(U64_MAX);
	if (mode == PATCH_CHECK || mode == PATCH_MODULO)
		size -= 384; /* no power of two */
	ck_assert(patch_bounds_set(&world->bounds, mode, 0x7fa200000000ull, size));
	world->memory_base = world->bounds.base + GUARD_BYTES + 65536;
	world->memory_base &= ~65535ull;
	for (u32 i = 0; i < WORLD_BYTES; i++)
		world->memory[i] = (u8)(i * 7 + i / 256);
}

bool has_left(const struct world *world, enum patch_mode mode)
{
	u64 margin = mode == PATCH_ONCE || mode == PATCH_4G ? PATCH_MARGIN_DEFAULT : 0;

	return world->lowest <= world->highest &&
	       (world->lowest < world->bounds.base - margin ||
		world->highest >= world->bounds.base + world->bounds.size + margin);
}
