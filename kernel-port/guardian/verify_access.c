// SPDX-License-Identifier: MIT OR GPL-2.0
#include "verify_access.h"

#include <string.h>

/* log2 of the bytes that an access has; -1: unknown. The address has that alignment, too. */
static int access_shift(const struct ptx_text *text, const struct flow_instruction *instruction)
{
	static const struct {
		const char *name;
		int shift;
	} types[] = {
		{ ".b8", 0 },  { ".u8", 0 },  { ".s8", 0 },    { ".b16", 1 },	 { ".u16", 1 },
		{ ".s16", 1 }, { ".f16", 1 }, { ".bf16", 1 },  { ".b32", 2 },	 { ".u32", 2 },
		{ ".s32", 2 }, { ".f32", 2 }, { ".f16x2", 2 }, { ".bf16x2", 2 }, { ".b64", 3 },
		{ ".u64", 3 }, { ".s64", 3 }, { ".f64", 3 },   { ".b128", 4 },
	};
	int shift = -1, count = 0;
	u64 bytes;

	if (ptx_begins(text, instruction->opcode, "prefetch"))
		return 0;
	if (ptx_begins(text, instruction->opcode, "applypriority"))
		return instruction->operand_count == 2 &&
				       ptx_is(text, instruction->operands[1].first, "128") ?
			       7 :
			       -1;
	if (ptx_begins(text, instruction->opcode, "cp.async")) {
		if (instruction->operand_count < 3 ||
		    instruction->operands[2].first != instruction->operands[2].last ||
		    !ptx_number(text, instruction->operands[2].first, &bytes))
			return -1;
		return bytes == 4 ? 2 : bytes == 8 ? 3 : bytes == 16 ? 4 : -1;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (verify_has(text, instruction->opcode, types[i].name)) {
			shift = types[i].shift;
			count++;
		}
	if (count != 1)
		return -1;
	return shift + (verify_has(text, instruction->opcode, ".v2") ? 1 :
			verify_has(text, instruction->opcode, ".v4") ? 2 :
			verify_has(text, instruction->opcode, ".v8") ? 3 :
								       0);
}

/* "[NAME]" or "[NAME+4]" or "[NAME+-4]" or "[NAME-4]". */
static bool read_address(const struct ptx_text *text, size_t first, size_t last,
			 size_t *ret_name, s64 *ret_offset)
{
	size_t at = ptx_next(text, first);
	u64 number;

	*ret_name = at;
	*ret_offset = 0;
	if (!ptx_is(text, first, "[") || text->tokens[at].kind != PTX_WORD ||
	    ptx_number(text, at, &number))
		return false;
	at = ptx_next(text, at);
	if (at != last) {
		bool minus = ptx_is(text, at, "-");

		if (!minus && !ptx_is(text, at, "+"))
			return false;
		at = ptx_next(text, at);
		if (!minus && ptx_is(text, at, "-")) {
			minus = true;
			at = ptx_next(text, at);
		}
		if (!ptx_number(text, at, &number) || number > 1ull << 40)
			return false;
		*ret_offset = minus ? -(s64)number : (s64)number;
		at = ptx_next(text, at);
	}
	return at == last && ptx_is(text, last, "]");
}

/*
 * Does a store lie inside of the parameter @name that is in scope there? Parameters of a call lie on
 * the stack, beside return addresses. The nearest declaration in front is the one that counts; blocks
 * that are closed are skipped.
 */
static bool is_inside_parameter(const struct ptx_text *text, size_t name, s64 offset, int shift)
{
	u32 depth = 0;

	for (size_t at = name; at; at--) {
		struct name parameter = { NAME_PARAMETER, at, 0 };
		u64 elements = 1;
		size_t type;

		depth += ptx_is(text, at, "}");
		depth -= ptx_is(text, at, "{") && depth;
		if (ptx_is(text, at, ".func") || ptx_is(text, at, ".entry"))
			return false;
		if (depth || !ptx_is(text, at, ".param"))
			continue;
		type = ptx_next(text, at);
		if (ptx_is(text, type, ".align"))
			type = ptx_next(text, ptx_next(text, type));
		parameter.token = ptx_next(text, type);
		if (!ptx_same(text, parameter.token, name))
			continue;
		if (ptx_is(text, ptx_next(text, parameter.token), "[") &&
		    (!ptx_number(text, ptx_next(text, ptx_next(text, parameter.token)),
				 &elements) ||
		     elements > 1u << 20))
			return false;
		parameter.bytes = elements * verify_element_bytes(text, type);
		return verify_is_inside(&parameter, offset, shift);
	}
	return false;
}

/* A store that may reach all of local memory. */
static void count_local_store(struct verify_report *report, bool in_entry)
{
	report->local_stores++;
	if (in_entry)
		report->entries[report->entry_count - 1].local_stores++;
}

/* An instruction that has one address. */
int verify_access(struct verifier *verifier, const struct flow_instruction *instruction,
		  u32 operand)
{
	static const char *const spaces[] = { ".global", ".shared", ".local", ".const",
					      ".param" };
	const struct ptx_text *text = verifier->text;
	bool writes = !ptx_begins(text, instruction->opcode, "ld") &&
		      !ptx_begins(text, instruction->opcode, "cp");
	bool copy = ptx_begins(text, instruction->opcode, "cp");
	bool in[5], any = false, generic;
	int shift = access_shift(text, instruction), count = 0;
	const struct name *variable;
	size_t name;
	s64 offset;

	/* No register of a fence is written, or read into memory, by an access. */
	for (size_t at = instruction->guard ? instruction->guard : instruction->opcode;
	     at < instruction->end; at = ptx_next(text, at))
		if (flow_is_reserved(text, at) && (instruction->operand_count <= operand ||
						   at < instruction->operands[operand].first ||
						   at > instruction->operands[operand].last))
			return verify_refuse(verifier, at,
					     "a register of a fence is no operand");
	for (u32 i = 0; i < 5; i++) {
		in[i] = verify_has(text, instruction->opcode, spaces[i]);
		count += in[i];
		any |= in[i];
	}
	generic = !any;
	if (copy ? !in[0] || !in[1] || count != 2 : count > 1)
		return verify_refuse(verifier, instruction->opcode,
				     "its state spaces are not known");
	if (instruction->operand_count <= operand ||
	    !read_address(text, instruction->operands[operand].first,
			  instruction->operands[operand].last, &name, &offset))
		return verify_refuse(verifier, instruction->opcode,
				     "its address is not understood");
	if (shift < 0 || shift > (int)PATCH_WIDTH_SHIFT)
		return verify_refuse(verifier, instruction->opcode, "its width is not known");
	variable = in[2] ? verify_find_name(verifier, NAME_LOCAL, name) : NULL;
	if (verifier->has_calls && writes && (generic || (in[2] && !variable)))
		return verify_refuse(
			verifier, instruction->opcode,
			"it could change a return address, since the module has calls");
	if (writes &&
	    (generic || (in[2] && (!variable || !verify_is_inside(variable, offset, shift)))))
		count_local_store(verifier->report, verifier->in_entry);
	if (verifier->has_calls && writes && variable &&
	    !verify_is_inside(variable, offset, shift))
		return verify_refuse(verifier, instruction->opcode,
				     "it reaches beyond its variable");
	if (in[4] && writes && !is_inside_parameter(text, name, offset, shift))
		return verify_refuse(verifier, instruction->opcode,
				     "it reaches beyond its parameter");
	if (!generic && !in[0]) {
		if (flow_is_reserved(text, name) || verifier->flow.step != FLOW_IDLE)
			return verify_refuse(verifier, instruction->opcode,
					     "a fence is left open");
		verifier->report->confined++;
		return 0;
	}
	variable = verify_find_name(verifier, NAME_GLOBAL, name);
	if (variable && verifier->flow.step == FLOW_IDLE) {
		verifier->report->direct++;
		return verify_is_inside(variable, offset, shift) ?
			       0 :
			       verify_refuse(verifier, instruction->opcode,
					     "it reaches beyond its variable");
	}
	if (!flow_access(&verifier->flow, instruction, generic, name, offset, (u32)shift,
			 verifier->report->margin))
		return verify_refuse(verifier, instruction->opcode,
				     "its address is not fenced");
	verifier->report->accesses++;
	return 0;
}
