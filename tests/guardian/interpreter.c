// SPDX-License-Identifier: MIT OR GPL-2.0
#include "interpreter.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "access.h"

#define REGISTERS 256u
#define STEPS_MAX 2000u
#define VAGUE_MAX 4096u
/* So long is a chain of instructions that a compiler may repeat at each use of its result. */
#define CHAIN_MAX 16u

/* A value that may be another one at each use: of what it is computed. Number 0 is none. */
struct vague {
	const struct ptx_statement *statement; /* NULL: nothing has written it */
	u64 values[3];			       /* operands that are not vague */
	u32 vague[3];			       /* the others */
	u32 chain;
	bool high, low; /* a half of the first operand */
};

struct machine {
	const struct ptx_module *module;
	const struct ptx_text *text;
	struct world *world;
	u32 names[REGISTERS]; /* tokens + 1 */
	u64 values[REGISTERS];
	u32 vague[REGISTERS]; /* 0: the value holds */
	u32 count;	      /* of registers */
	u64 state;	      /* of draw_any() */
	jmp_buf unknown;
	u32 made_count;
	struct vague made[VAGUE_MAX];
};

/* What this interpreter does not know, or cannot hold, ends the run. */
static void need(struct machine *machine, bool known)
{
	if (!known)
		longjmp(machine->unknown, 1);
}

/* The slot of a register. */
static u32 slot_of(struct machine *machine, size_t at)
{
	const struct ptx_token *token = &machine->text->tokens[at];
	u32 slot = token->length;

	for (u32 i = 0; i < token->length; i++)
		slot = slot * 31 + (u8)machine->text->bytes[token->start + i];
	for (slot %= REGISTERS; machine->names[slot]; slot = (slot + 1) % REGISTERS)
		if (ptx_same(machine->text, machine->names[slot] - 1, at))
			return slot;
	need(machine, token->kind == PTX_WORD && ++machine->count < REGISTERS);
	machine->names[slot] = (u32)at + 1;
	machine->vague[slot] = 1;
	return slot;
}

/* A register that gets a value. */
static u64 *reg(struct machine *machine, size_t at)
{
	u32 slot = slot_of(machine, at);

	machine->vague[slot] = 0;
	return &machine->values[slot];
}

static u64 draw_any(struct machine *machine)
{
	const struct patch_bounds *bounds = &machine->world->bounds;
	u64 z = machine->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z ^= z >> 29;
	switch (z % 8) {
	case 0:
		return z;
	case 1:
		return WORLD_SHARED + (z >> 8) % WORLD_WINDOW;
	case 2:
		return WORLD_LOCAL + (z >> 8) % WORLD_WINDOW;
	case 3:
		return bounds->base - (z >> 8) % WORLD_WINDOW;
	case 4:
		return bounds->base + bounds->size + (z >> 8) % WORLD_WINDOW;
	case 5:
		return (z >> 8) % 4;
	default:
		return machine->world->memory_base + (z >> 8) % WORLD_BYTES;
	}
}

static bool calculate(struct machine *machine, const struct ptx_statement *statement,
		      const u64 *operands, u64 *ret_result);

/* What a vague value is at this use. */
static u64 evaluate(struct machine *machine, u32 number) // NOLINT(misc-no-recursion)
{
	const struct vague *vague = &machine->made[number];
	u64 operands[3], result = 0;

	if (!vague->statement)
		return draw_any(machine);
	for (u32 i = 0; i < 3; i++)
		operands[i] =
			vague->vague[i] ? evaluate(machine, vague->vague[i]) : vague->values[i];
	if (vague->low || vague->high)
		return vague->low ? (u32)operands[0] : operands[0] >> 32;
	need(machine, calculate(machine, vague->statement, operands, &result));
	return result;
}

static u64 read_register(struct machine *machine, size_t at)
{
	u32 slot = slot_of(machine, at);

	return machine->vague[slot] ? evaluate(machine, machine->vague[slot]) :
				      machine->values[slot];
}

/*
 * An operand: a register, a number with a sign, a negated predicate. Either its value, or in
 * *ret_vague what it is computed of, if it is a register as it is.
 */
static u64 operand(struct machine *machine, struct ptx_range range, u32 *ret_vague)
{
	u64 number;
	u32 slot;

	*ret_vague = 0;
	if (ptx_is(machine->text, range.first, "!"))
		return !read_register(machine, range.last);
	if (ptx_is(machine->text, range.first, "-"))
		return ptx_number(machine->text, range.last, &number) ? 0 - number : 0;
	if (ptx_number(machine->text, range.first, &number))
		return number;
	slot = slot_of(machine, range.first);
	*ret_vague = machine->vague[slot];
	return machine->values[slot];
}

static u64 value(struct machine *machine, struct ptx_range range)
{
	u32 vague;
	u64 result = operand(machine, range, &vague);

	return vague ? evaluate(machine, vague) : result;
}

/* The register @at gets a value that is computed anew at each use, or once if it is long. */
static void set_vague(struct machine *machine, size_t at, struct vague vague)
{
	u32 slot = slot_of(machine, at);

	for (u32 i = 0; i < 3; i++)
		if (vague.vague[i] && machine->made[vague.vague[i]].chain >= vague.chain)
			vague.chain = machine->made[vague.vague[i]].chain + 1;
	need(machine, machine->made_count < VAGUE_MAX);
	machine->made[machine->made_count] = vague;
	if (vague.chain < CHAIN_MAX) {
		machine->vague[slot] = machine->made_count++;
		return;
	}
	machine->values[slot] = evaluate(machine, machine->made_count);
	machine->vague[slot] = 0;
}

/* The bytes after a generic or global address; NULL: nothing is there. */
static u8 *memory_at(struct world *world, u64 address, u64 bytes, bool global)
{
	if (!global && address - WORLD_SHARED < WORLD_SHARED_SIZE - bytes + 1)
		return world->shared + (address - WORLD_SHARED);
	if (!global && (address - WORLD_SHARED < WORLD_WINDOW - bytes + 1 ||
			address - WORLD_LOCAL < WORLD_WINDOW - bytes + 1))
		return NULL;
	if (address < world->lowest)
		world->lowest = address;
	if (address + bytes - 1 > world->highest)
		world->highest = address + bytes - 1;
	if (address - world->memory_base < WORLD_BYTES - bytes + 1)
		return world->memory + (address - world->memory_base);
	return NULL;
}

static u64 load(const u8 *at, u64 bytes)
{
	u64 result = 0;

	if (at)
		memcpy(&result, at, bytes);
	return result;
}

/* A load of a parameter or constant: a bound of the fence, or the address of the memory. */
static void load_parameter(struct machine *machine, const struct access *access, u64 *to)
{
	const struct patch_bounds *bounds = &machine->world->bounds;
	u64 word;

	if (ptx_is(machine->text, access->name, "gvmf_base"))
		word = bounds->base;
	else if (ptx_is(machine->text, access->name, "gvmf_mask"))
		word = bounds->masks[0];
	else if (ptx_is(machine->text, access->name, "gvmf_size"))
		word = bounds->size;
	else if (ptx_is(machine->text, access->name, "gvmf_reciprocal"))
		word = bounds->reciprocal;
	else if (ptx_is(machine->text, access->name, PATCH_BOUNDS) &&
		 (u64)access->offset < sizeof(*bounds))
		memcpy(&word, (const u8 *)bounds + ((u64)access->offset & ~7ull), 8);
	else
		word = machine->world->memory_base;
	*to = access->offset & 4 ? word >> 32 : access->width_shift == 2 ? (u32)word : word;
}

/*
 * Move a register, or the two of "{a, b}", to or from @at; NULL: loads read 0, stores are lost.
 */
static void move_data(struct machine *machine, bool loads, struct ptx_range data, u8 *at,
		      u64 bytes)
{
	bool vector = ptx_is(machine->text, data.first, "{");
	size_t token = vector ? ptx_next(machine->text, data.first) : data.first;
	u64 element = vector ? bytes / 2 : bytes;

	need(machine, element <= sizeof(u64));
	for (u64 offset = 0; offset < bytes; offset += element) {
		u64 word;

		if (loads) {
			*reg(machine, token) = load(at ? at + offset : NULL, element);
		} else {
			word = read_register(machine, token);
			if (at)
				memcpy(at + offset, &word, element);
		}
		token = ptx_next(machine->text, ptx_next(machine->text, token));
	}
}

/* atom.add, which returns the old value, and red.add, which does not. */
static void add_to_memory(struct machine *machine, const struct ptx_statement *statement,
			  bool returns, u8 *at, u64 bytes)
{
	u64 old, sum;

	need(machine, bytes <= sizeof(u64) && statement->operand_count == (returns ? 3 : 2));
	old = load(at, bytes);
	sum = old + value(machine, statement->operands[returns ? 2 : 1]);
	if (at)
		memcpy(at, &sum, bytes);
	if (returns)
		*reg(machine, statement->operands[0].first) = old;
}

/* ld, st, atom.add and red.add. False: misaligned. */
static bool access(struct machine *machine, const struct ptx_statement *statement,
		   const struct opcode *opcode)
{
	struct sim_error err = { 0 };
	struct access access;
	u64 address, bytes;
	u8 *at;

	need(machine, statement->operand_count > 1 &&
			      !access_decode(machine->text, statement, opcode, &access, &err));
	if (access.space == ACCESS_PARAM || access.space == ACCESS_CONST) {
		load_parameter(machine, &access, reg(machine, statement->operands[0].first));
		return true;
	}
	if (ptx_is(machine->text, access.name, PATCH_FOUND)) {
		need(machine, access.offset == 0 || access.offset == 8);
		machine->world->found[access.offset / 8] =
			value(machine, statement->operands[1]) +
			(access.kind == ACCESS_ATOMIC ? machine->world->found[0] : 0);
		return true;
	}
	address = read_register(machine, access.name) + (u64)access.offset;
	bytes = 1ull << access.width_shift;
	if (access.space == ACCESS_SHARED)
		address = WORLD_SHARED + (address & (WORLD_SHARED_SIZE - 1) & ~(bytes - 1));
	if (address & (bytes - 1)) {
		machine->world->misaligned++;
		return false;
	}
	at = memory_at(machine->world, address, bytes, access.space == ACCESS_GLOBAL);
	if (access.kind == ACCESS_LOAD)
		move_data(machine, true, statement->operands[0], at, bytes);
	else if (access.kind == ACCESS_STORE)
		move_data(machine, false, statement->operands[1], at, bytes);
	else if (access.kind == ACCESS_ATOMIC)
		add_to_memory(machine, statement, opcode->name[0] == 'a', at, bytes);
	return true;
}

/*
 * mov.b64 between a register and the "{low, high}" of two. False: neither
 * operand is such a pair.
 */
static bool move_pair(struct machine *machine, const struct ptx_statement *statement)
{
	const struct ptx_range *operands = statement->operands;
	const struct ptx_text *text = machine->text;
	bool splits = ptx_is(text, operands[0].first, "{");
	size_t pair = operands[splits ? 0 : 1].first;
	size_t low = ptx_next(text, pair), high = ptx_next(text, ptx_next(text, low));
	struct vague half = { .statement = statement };

	if (!ptx_is(text, pair, "{"))
		return false;
	if (splits) {
		u64 whole = operand(machine, operands[1], &half.vague[0]);

		if (!half.vague[0]) {
			*reg(machine, low) = (u32)whole;
			*reg(machine, high) = whole >> 32;
			return true;
		}
		half.low = true;
		set_vague(machine, low, half);
		half.low = false;
		half.high = true;
		set_vague(machine, high, half);
	} else {
		u64 whole = (u32)read_register(machine, low) | read_register(machine, high)
								       << 32;

		*reg(machine, operands[0].first) = whole;
	}
	return true;
}

/* Arithmetic of operands after the first one. False: not known. */
static bool calculate(struct machine *machine, const struct ptx_statement *statement,
		      const u64 *operands, u64 *ret_result)
{
	const struct ptx_text *text = machine->text;
	size_t op = statement->opcode;
	u64 a = operands[0], b = operands[1], c = operands[2];

	if (ptx_is(text, op, "mov.b64") || ptx_is(text, op, "mov.u64"))
		*ret_result = a;
	else if (ptx_is(text, op, "add.s64"))
		*ret_result = a + b;
	else if (ptx_is(text, op, "sub.s64"))
		*ret_result = a - b;
	else if (ptx_is(text, op, "and.b64") || ptx_is(text, op, "and.b32"))
		*ret_result = a & b;
	else if (ptx_is(text, op, "or.b64") || ptx_is(text, op, "or.b32") ||
		 ptx_is(text, op, "or.pred"))
		*ret_result = a | b;
	else if (ptx_is(text, op, "xor.b64"))
		*ret_result = a ^ b;
	else if (ptx_is(text, op, "mul.lo.u64"))
		*ret_result = a * b;
	else if (ptx_is(text, op, "mul.hi.u64"))
		*ret_result = (u64)((unsigned __int128)a * b >> 64);
	else if (ptx_is(text, op, "min.u64"))
		*ret_result = a < b ? a : b;
	else if (ptx_is(text, op, "min.u32"))
		*ret_result = (u32)a < (u32)b ? (u32)a : (u32)b;
	else if (ptx_is(text, op, "rem.u32") && (u32)b)
		*ret_result = (u32)a % (u32)b;
	else if (ptx_is(text, op, "setp.gt.u64"))
		*ret_result = a > b;
	else if (ptx_is(text, op, "setp.ne.u64"))
		*ret_result = a != b;
	else if (ptx_is(text, op, "setp.ne.and.u64"))
		*ret_result = a != b && c;
	else if (ptx_is(text, op, "selp.b64"))
		*ret_result = c ? a : b;
	else if (ptx_is(text, op, "cvta.shared.u64"))
		*ret_result = WORLD_SHARED - WORLD_WINDOW + a;
	else if (ptx_is(text, op, "cvta.local.u64"))
		*ret_result = WORLD_LOCAL + a;
	else if (ptx_is(text, op, "isspacep.shared"))
		*ret_result = a - WORLD_SHARED < WORLD_WINDOW;
	else if (ptx_is(text, op, "isspacep.local"))
		*ret_result = a - WORLD_LOCAL < WORLD_WINDOW;
	else
		return false;
	return true;
}

/* An instruction that computes. False: not known. */
static bool compute(struct machine *machine, const struct ptx_statement *statement)
{
	const struct ptx_range *operands = statement->operands;
	const struct ptx_text *text = machine->text;
	struct vague vague = { .statement = statement };
	u64 result;

	if (ptx_is(text, statement->opcode, "mov.b64") && move_pair(machine, statement))
		return true;
	/* The second thread block of a cluster: its shared memory is the second window. */
	if (statement->operand_count == 2 && ptx_is(text, operands[1].first, PATCH_HERE)) {
		*reg(machine, operands[0].first) = WORLD_WINDOW + 1024;
		return true;
	}
	for (u32 i = 0; i < 3 && i + 1 < statement->operand_count; i++)
		vague.values[i] = operand(machine, operands[i + 1], &vague.vague[i]);
	if (!calculate(machine, statement, vague.values, &result))
		return false;
	if (vague.vague[0] || vague.vague[1] || vague.vague[2])
		set_vague(machine, operands[0].first, vague);
	else
		*reg(machine, operands[0].first) = result;
	return true;
}

/* The statement of a label. */
static size_t find_label(struct machine *machine, size_t name)
{
	for (size_t i = 0; i < machine->module->statement_count; i++)
		if (machine->module->statements[i].kind == PTX_LABEL &&
		    ptx_same(machine->text, machine->module->statements[i].range.first, name))
			return i;
	need(machine, false);
	return 0;
}

/* The label with number @index of the table @name. */
static size_t find_target(struct machine *machine, size_t name, u64 index)
{
	size_t list = find_label(machine, name) + 1, at;

	need(machine, list < machine->module->statement_count);
	at = ptx_next(machine->text, machine->module->statements[list].range.first);

	for (; index; index--) {
		at = ptx_next(machine->text, ptx_next(machine->text, at));
		need(machine, machine->text->tokens[at].kind == PTX_WORD);
	}
	return find_label(machine, at);
}

enum run_end interpret(const struct ptx_module *module, struct world *world)
{
	static struct machine machine;
	size_t at = module->functions[0].statement;

	/* But for what is made: that is long, and written before it is read. */
	memset(&machine, 0, offsetof(struct machine, made));
	machine.module = module;
	machine.text = module->text;
	machine.world = world;
	machine.state = world->state;
	machine.made[1] = (struct vague){ 0 }; /* nothing has written it */
	machine.made_count = 2;
	world->lowest = U64_MAX;
	world->highest = 0;
	if (setjmp(machine.unknown))
		return RUN_UNKNOWN;
	for (u32 steps = 0; steps < STEPS_MAX; steps++, at++) {
		const struct ptx_statement *statement = &module->statements[at];
		const struct opcode *opcode;

		need(&machine, at < module->statement_count);
		if (statement->kind == PTX_CLOSE && statement->depth == 1)
			return RUN_RETURNED;
		if (statement->kind != PTX_INSTRUCTION)
			continue;
		if (statement->guard &&
		    (read_register(&machine, statement->guard) != 0) == statement->negated)
			continue;
		opcode = opcode_find(module->text, statement->opcode);
		need(&machine, opcode != NULL);
		if (opcode->decision == OPCODE_FENCE) {
			if (!access(&machine, statement, opcode))
				return RUN_MISALIGNED;
		} else if (ptx_is(module->text, statement->opcode, "bra")) {
			need(&machine, statement->operand_count == 1);
			at = find_label(&machine, statement->operands[0].first);
		} else if (opcode->decision == OPCODE_TABLE) {
			need(&machine, statement->operand_count == 2);
			at = find_target(&machine, statement->operands[1].first,
					 (u32)value(&machine, statement->operands[0]));
		} else if (ptx_is(module->text, statement->opcode, "trap")) {
			return RUN_TRAPPED;
		} else if (ptx_is(module->text, statement->opcode, "ret")) {
			return RUN_RETURNED;
		} else if (!statement->operand_count || !compute(&machine, statement)) {
			return RUN_UNKNOWN;
		}
	}
	return RUN_STEPS;
}
