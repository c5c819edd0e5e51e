// SPDX-License-Identifier: MIT OR GPL-2.0
#include "interpreter.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "access.h"

#define REGISTERS 256u
#define STEPS_MAX 2000u

struct machine {
	const struct ptx_module *module;
	const struct ptx_text *text;
	struct world *world;
	u32 names[REGISTERS]; /* tokens + 1 */
	u64 values[REGISTERS];
	u32 count; /* of registers */
	jmp_buf unknown;
};

/* What this interpreter does not know, or cannot hold, ends the run. */
static void need(struct machine *machine, bool known)
{
	if (!known)
		longjmp(machine->unknown, 1);
}

static u64 *reg(struct machine *machine, size_t at)
{
	const struct ptx_token *token = &machine->text->tokens[at];
	u32 slot = token->length;

	for (u32 i = 0; i < token->length; i++)
		slot = slot * 31 + (u8)machine->text->bytes[token->start + i];
	for (slot %= REGISTERS; machine->names[slot]; slot = (slot + 1) % REGISTERS)
		if (ptx_same(machine->text, machine->names[slot] - 1, at))
			return &machine->values[slot];
	need(machine, token->kind == PTX_WORD && ++machine->count < REGISTERS);
	machine->names[slot] = (u32)at + 1;
	return &machine->values[slot];
}

/* An operand: a register, a number with a sign, a negated predicate. */
static u64 value(struct machine *machine, struct ptx_range range)
{
	u64 number;

	if (ptx_is(machine->text, range.first, "!"))
		return !*reg(machine, range.last);
	if (ptx_is(machine->text, range.first, "-"))
		return ptx_number(machine->text, range.last, &number) ? 0 - number : 0;
	return ptx_number(machine->text, range.first, &number) ? number :
								 *reg(machine, range.first);
}

/* The bytes behind a generic or global address; NULL: nothing is there. */
static u8 *memory_at(struct world *world, u64 address, u64 bytes, bool global)
{
	if (!global && address - WORLD_SHARED < WORLD_SHARED_SIZE - bytes + 1)
		return world->shared + (address - WORLD_SHARED);
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
		if (loads)
			*reg(machine, token) = load(at ? at + offset : NULL, element);
		else if (at)
			memcpy(at + offset, reg(machine, token), element);
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
	address = *reg(machine, access.name) + (u64)access.offset;
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
static bool move_pair(struct machine *machine, const struct ptx_range *operands)
{
	const struct ptx_text *text = machine->text;
	bool splits = ptx_is(text, operands[0].first, "{");
	size_t pair = operands[splits ? 0 : 1].first;
	size_t low = ptx_next(text, pair), high = ptx_next(text, ptx_next(text, low));

	if (!ptx_is(text, pair, "{"))
		return false;
	if (splits) {
		u64 whole = value(machine, operands[1]);

		*reg(machine, low) = (u32)whole;
		*reg(machine, high) = whole >> 32;
	} else {
		*reg(machine, operands[0].first) = (u32)*reg(machine, low) | *reg(machine, high)
										     << 32;
	}
	return true;
}

/* Arithmetic. False: not known. */
static bool compute(struct machine *machine, const struct ptx_statement *statement)
{
	const struct ptx_text *text = machine->text;
	const struct ptx_range *operands = statement->operands;
	size_t op = statement->opcode;
	u64 a, b, c, result;

	if (ptx_is(text, op, "mov.b64") && move_pair(machine, operands))
		return true;
	a = statement->operand_count > 1 ? value(machine, operands[1]) : 0;
	b = statement->operand_count > 2 ? value(machine, operands[2]) : 0;
	c = statement->operand_count > 3 ? value(machine, operands[3]) : 0;
	if (ptx_is(text, op, "mov.b64"))
		result = a;
	else if (ptx_is(text, op, "add.s64"))
		result = a + b;
	else if (ptx_is(text, op, "sub.s64"))
		result = a - b;
	else if (ptx_is(text, op, "and.b64") || ptx_is(text, op, "and.b32"))
		result = a & b;
	else if (ptx_is(text, op, "or.b64") || ptx_is(text, op, "or.b32") ||
		 ptx_is(text, op, "or.pred"))
		result = a | b;
	else if (ptx_is(text, op, "xor.b64"))
		result = a ^ b;
	else if (ptx_is(text, op, "mul.lo.u64"))
		result = a * b;
	else if (ptx_is(text, op, "mul.hi.u64"))
		result = (u64)((unsigned __int128)a * b >> 64);
	else if (ptx_is(text, op, "min.u64"))
		result = a < b ? a : b;
	else if (ptx_is(text, op, "min.u32"))
		result = (u32)a < (u32)b ? (u32)a : (u32)b;
	else if (ptx_is(text, op, "rem.u32") && (u32)b)
		result = (u32)a % (u32)b;
	else if (ptx_is(text, op, "setp.gt.u64"))
		result = a > b;
	else if (ptx_is(text, op, "setp.gt.and.u64"))
		result = a > b && c;
	else if (ptx_is(text, op, "setp.ne.u64"))
		result = a != b;
	else if (ptx_is(text, op, "setp.ne.and.u64"))
		result = a != b && c;
	else if (ptx_is(text, op, "setp.ne.u32"))
		result = (u32)a != (u32)b;
	else if (ptx_is(text, op, "selp.b64"))
		result = c ? a : b;
	else if (ptx_is(text, op, "isspacep.shared"))
		result = a - WORLD_SHARED < WORLD_SHARED_SIZE;
	else if (ptx_is(text, op, "isspacep.local"))
		result = false;
	else
		return false;
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
	size_t list = find_label(machine, name) + 1;
	size_t at = ptx_next(machine->text, machine->module->statements[list].range.first);

	for (; index; index--) {
		at = ptx_next(machine->text, ptx_next(machine->text, at));
		need(machine, machine->text->tokens[at].kind == PTX_WORD);
	}
	return find_label(machine, at);
}

enum run_end interpret(const struct ptx_module *module, struct world *world)
{
	struct machine machine = { .module = module, .text = module->text, .world = world };
	size_t at = module->functions[0].statement;

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
		    (*reg(&machine, statement->guard) != 0) == statement->negated)
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
