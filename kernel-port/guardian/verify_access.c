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
 * Does a store lie inside of the parameter that its address names? Parameters of a call lie on
 * the stack, beside return addresses. The nearest declaration in front is the one in scope;
 * blocks that are closed are skipped.
 */
static bool is_inside_parameter(struct verifier *verifier, const struct flow_address *address)
{
	const struct ptx_text *text = verifier->text;
	u32 depth = 0;

	for (size_t at = address->name; at; at--) {
		struct name parameter = { NAME_PARAMETER, at, 0 };
		u64 elements = 1;
		size_t type;

		verifier->steps++;
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
		if (!ptx_same(text, parameter.token, address->name))
			continue;
		if (ptx_is(text, ptx_next(text, parameter.token), "[") &&
		    (!ptx_number(text, ptx_next(text, ptx_next(text, parameter.token)),
				 &elements) ||
		     elements > 1u << 20))
			return false;
		parameter.bytes = elements * verify_element_bytes(text, type);
		return verify_is_inside(&parameter, address->offset, address->shift);
	}
	return false;
}

/* The kind of memory that an address lies in; SPACE_GENERIC: its window says which. */
enum space {
	SPACE_GLOBAL,
	SPACE_SHARED,
	SPACE_LOCAL,
	SPACE_CONST,
	SPACE_PARAM,
	SPACE_GENERIC,
};

/* An instruction that has one address, read. */
struct memory_access {
	const struct flow_instruction *instruction;
	struct flow_address address;
	enum space space;
	bool writes;
};

/* A fence's register may stand in the address alone: an access neither writes nor stores it. */
static int refuse_reserved_operands(const struct verifier *verifier,
				    const struct flow_instruction *instruction, u32 operand)
{
	const struct ptx_text *text = verifier->text;

	for (size_t at = instruction->guard ? instruction->guard : instruction->opcode;
	     at < instruction->end; at = ptx_next(text, at))
		if (flow_is_reserved(text, at) && (instruction->operand_count <= operand ||
						   at < instruction->operands[operand].first ||
						   at > instruction->operands[operand].last))
			return verify_refuse(verifier, at,
					     "a register of a fence is no operand");
	return 0;
}

/*
 * No operand but @operand has an address. A copy's first one has, in shared memory, where the
 * hardware confines it.
 */
static int refuse_other_addresses(const struct verifier *verifier,
				  const struct flow_instruction *instruction, u32 operand)
{
	const struct ptx_text *text = verifier->text;

	for (u32 i = 0; i < instruction->operand_count; i++)
		for (size_t at = instruction->operands[i].first;
		     at <= instruction->operands[i].last; at = ptx_next(text, at))
			if (ptx_is(text, at, "[") && i != operand &&
			    (i || !ptx_begins(text, instruction->opcode, "cp")))
				return verify_refuse(verifier, at, "a second address");
	return 0;
}

/*
 * The state space of an opcode's address. A copy names two: it reads global memory into shared
 * memory, and its address is the global one. False: no space that is followed.
 */
static bool read_space(const struct ptx_text *text, size_t opcode, enum space *ret_space)
{
	static const char *const names[] = { ".global", ".shared", ".local", ".const",
					     ".param" };
	bool copy = ptx_begins(text, opcode, "cp");
	u32 named = 0;

	*ret_space = SPACE_GENERIC;
	for (u32 i = 0; i < SPACE_GENERIC; i++)
		if (verify_has(text, opcode, names[i])) {
			*ret_space = i;
			named++;
		}
	if (!copy)
		return named <= 1;
	*ret_space = SPACE_GLOBAL;
	return named == 2 && verify_has(text, opcode, names[SPACE_GLOBAL]) &&
	       verify_has(text, opcode, names[SPACE_SHARED]);
}

/* Does the opcode begin with one of @names, which end with NULL? */
static bool begins_with_one(const struct ptx_text *text, size_t opcode,
			    const char *const *names)
{
	while (*names && !ptx_begins(text, opcode, *names))
		names++;
	return *names;
}

/*
 * Are all modifiers of an access in this list? They are those that PTX ISA 9.0 has for any
 * of them. ptxas 13.0 takes others, too, and no document says what they do.
 */
static bool knows_modifiers(const struct ptx_text *text, size_t opcode)
{
	static const char *const known[] = {
		/* How it is ordered, and for whom. */
		"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "cta",
		"cluster", "gpu", "sys",
		/* Where. */
		"global", "shared", "shared::cta", "shared::cluster", "local", "const", "param",
		"param::entry", "param::func",
		/* Caches. */
		"ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc", "L1", "L2", "L1::evict_normal",
		"L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
		"L2::evict_normal", "L2::evict_first", "L2::evict_last", "L2::cache_hint",
		"L2::64B", "L2::128B", "L2::256B",
		/* Copies, and operations of atomics. */
		"async", "and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max",
		"noftz",
		/* How wide. */
		"v2", "v4", "v8", "b8", "u8", "s8", "b16", "u16", "s16", "f16", "bf16", "b32",
		"u32", "s32", "f32", "f16x2", "bf16x2", "b64", "u64", "s64", "f64", "b128"
	};
	const char *word = text->bytes + text->tokens[opcode].start;
	size_t length = text->tokens[opcode].length, first = 0, end;

	for (; first < length && word[first] != '.'; first++)
		;
	for (; first < length; first = end) {
		bool found = false;

		for (end = ++first; end < length && word[end] != '.'; end++)
			;
		for (size_t i = 0; i < sizeof(known) / sizeof(*known) && !found; i++)
			found = strlen(known[i]) == end - first &&
				!memcmp(known[i], word + first, end - first);
		if (!found)
			return false;
	}
	return true;
}

/* Space, address and width. Returns 0 or -SIM_EXIT_USER. */
static int read_access(const struct verifier *verifier,
		       const struct flow_instruction *instruction, u32 operand,
		       struct memory_access *ret_access)
{
	static const char *const reads[] = { "ld", "cp", "prefetch", "applypriority", NULL };
	const struct ptx_text *text = verifier->text;
	struct flow_address *address = &ret_access->address;
	int shift = access_shift(text, instruction);

	ret_access->instruction = instruction;
	ret_access->writes = !begins_with_one(text, instruction->opcode, reads);
	if (!knows_modifiers(text, instruction->opcode))
		return verify_refuse(verifier, instruction->opcode,
				     "it has a modifier that is not known");
	if (!read_space(text, instruction->opcode, &ret_access->space))
		return verify_refuse(verifier, instruction->opcode,
				     "its state spaces are not known");
	if (instruction->operand_count <= operand ||
	    !read_address(text, instruction->operands[operand].first,
			  instruction->operands[operand].last, &address->name,
			  &address->offset))
		return verify_refuse(verifier, instruction->opcode,
				     "its address is not understood");
	if (shift < 0 || shift > (int)PATCH_WIDTH_SHIFT)
		return verify_refuse(verifier, instruction->opcode, "its width is not known");
	address->shift = (u32)shift;
	address->generic = ret_access->space == SPACE_GENERIC;
	return 0;
}

/*
 * A store to local memory, or to an address that may lie there. Return addresses lie in local
 * memory too, so a module with calls may store only inside of its variables. So may a function:
 * there is a call of it, though ptxas may make it of another instruction. Stores that may reach
 * all of local memory are counted.
 */
static int verify_local_store(struct verifier *verifier, const struct memory_access *access)
{
	const struct flow_address *address = &access->address;
	struct verify_report *report = verifier->report;
	bool calls = verifier->has_calls || !verifier->in_entry;
	const struct name *variable;

	if (!access->writes || (access->space != SPACE_LOCAL && !address->generic))
		return 0;
	variable =
		address->generic ? NULL : verify_find_name(verifier, NAME_LOCAL, address->name);
	if (calls && !variable)
		return verify_refuse(
			verifier, access->instruction->opcode,
			"it could change a return address, since the module has calls");
	if (variable && verify_is_inside(variable, address->offset, address->shift))
		return 0;
	if (calls)
		return verify_refuse(verifier, access->instruction->opcode,
				     "it reaches beyond its variable");
	report->local_stores++;
	report->entries[report->entry_count - 1].local_stores++;
	return 0;
}

/* Shared, local, constant and parameter memory: the hardware confines it to the tenant. */
static int verify_confined(struct verifier *verifier, const struct memory_access *access)
{
	if (flow_is_reserved(verifier->text, access->address.name) ||
	    verifier->flow.step != FLOW_IDLE)
		return verify_refuse(verifier, access->instruction->opcode,
				     "a fence is left open");
	verifier->report->confined++;
	return 0;
}

/* Device memory: inside of a variable of the module, or after a fence. */
static int verify_device_memory(struct verifier *verifier, const struct memory_access *access)
{
	const struct flow_address *address = &access->address;
	const struct name *variable = verify_find_name(verifier, NAME_GLOBAL, address->name);

	if (variable && flow_is_reserved(verifier->text, address->name))
		return verify_refuse(verifier, address->name,
				     "the count of a fence is its own");
	if (variable && verifier->flow.step == FLOW_IDLE) {
		verifier->report->direct++;
		verifier->report->direct_writes += access->writes;
		return verify_is_inside(variable, address->offset, address->shift) ?
			       0 :
			       verify_refuse(verifier, access->instruction->opcode,
					     "it reaches beyond its variable");
	}
	if (!flow_access(&verifier->flow, access->instruction, address,
			 verifier->report->margin))
		return verify_refuse(verifier, access->instruction->opcode,
				     "its address is not fenced");
	verifier->report->accesses++;
	return 0;
}

int verify_access(struct verifier *verifier, const struct flow_instruction *instruction,
		  u32 operand)
{
	struct memory_access access;
	int status = refuse_reserved_operands(verifier, instruction, operand);

	if (!status)
		status = refuse_other_addresses(verifier, instruction, operand);
	if (!status)
		status = read_access(verifier, instruction, operand, &access);
	if (!status)
		status = verify_local_store(verifier, &access);
	if (status)
		return status;
	if (access.space == SPACE_PARAM && access.writes &&
	    !is_inside_parameter(verifier, &access.address))
		return verify_refuse(verifier, instruction->opcode,
				     "it reaches beyond its parameter");
	if (access.space == SPACE_GLOBAL || access.space == SPACE_GENERIC)
		return verify_device_memory(verifier, &access);
	return verify_confined(verifier, &access);
}
