// SPDX-License-Identifier: MIT OR GPL-2.0
#include "patch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "variables.h"

const char *const patch_mode_names[PATCH_MODES] = { "fence", "once", "4g", "check", "modulo" };
const char *const patch_pass_names[2] = { "const", "params" };

/* What a function needs of the bounds; widths are bits by log2. */
struct needs {
	u32 widths;
	bool any, guard, index;
};

struct patcher {
	const struct ptx_module *module;
	const struct ptx_text *text;
	const struct patch_options *options;
	struct variables variables;
	struct needs *needs; /* of each function */
	struct patch_result *result;
	size_t room;	/* of the result's bytes */
	size_t copied;	/* bytes of the text that are in the result */
	bool failed;	/* out of memory */
	u32 inserted;	/* instructions, for the counts */
	bool has_calls; /* somewhere in the module */
	struct sim_error *err;
};

static int refuse(const struct patcher *patcher, size_t at, const char *why)
{
	return ptx_error(patcher->text, at, patcher->err, "%s", why);
}

static void append(struct patcher *patcher, const char *bytes, size_t size)
{
	struct patch_result *result = patcher->result;

	if (patcher->room - result->size <= size) {
		size_t room = 2 * (result->size + size) + 4096;
		char *more = realloc(result->bytes, room);

		patcher->failed |= !more;
		if (!more)
			return;
		result->bytes = more;
		patcher->room = room;
	}
	memcpy(result->bytes + result->size, bytes, size);
	result->size += size;
	result->bytes[result->size] = '\0';
}

/* Copy the text up to byte @end, which is not included. */
static void copy_to(struct patcher *patcher, size_t end)
{
	if (!patcher->failed)
		append(patcher, patcher->text->bytes + patcher->copied, end - patcher->copied);
	patcher->copied = end;
}

__attribute__((format(printf, 2, 3))) static void put(struct patcher *patcher, const char *fmt,
						      ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, fmt);
	vsnprintf(line, sizeof(line), fmt, arguments);
	va_end(arguments);
	if (!patcher->failed)
		append(patcher, line, strlen(line));
}

/* One instruction in front of the one that is there. */
#define PUT(patcher, fmt, ...)                                        \
	do {                                                          \
		(patcher)->inserted++;                                \
		put(patcher, fmt ";\n\t" __VA_OPT__(, ) __VA_ARGS__); \
	} while (0)

static int word_length(const struct patcher *patcher, size_t at)
{
	return (int)patcher->text->tokens[at].length;
}

static const char *word(const struct patcher *patcher, size_t at)
{
	return patcher->text->bytes + patcher->text->tokens[at].start;
}

#define WORD(patcher, at) word_length(patcher, at), word(patcher, at)

/* Does the access keep its offset, so that only its register is fenced? */
static bool keeps_offset(const struct patcher *patcher, const struct access *access)
{
	s64 room = (s64)patcher->options->margin - (1 << PATCH_WIDTH_SHIFT);

	return (patcher->options->mode == PATCH_ONCE || patcher->options->mode == PATCH_4G) &&
	       access->space == ACCESS_GLOBAL && access->offset >= -room &&
	       access->offset < room;
}

/* The width whose low bits the mask clears. */
static u32 mask_shift(const struct patcher *patcher, const struct access *access)
{
	u64 low = (1ull << access->width_shift) - 1;

	return keeps_offset(patcher, access) && ((u64)access->offset & low) ?
		       0 :
		       access->width_shift;
}

/* %gvmf_s: the address before it is fenced. */
static void put_sum(struct patcher *patcher, const struct access *access)
{
	if (access->offset)
		PUT(patcher, "add.s64 %%gvmf_s, %.*s, %lld", WORD(patcher, access->name),
		    access->offset);
	else
		PUT(patcher, "mov.b64 %%gvmf_s, %.*s", WORD(patcher, access->name));
}

/* The instructions of fence and once: the paper's Listing 3, into registers of our own. */
static void put_mask(struct patcher *patcher, const struct access *access, bool generic)
{
	bool whole = !keeps_offset(patcher, access);

	if (generic || (whole && access->offset)) {
		put_sum(patcher, access);
		PUT(patcher, "and.b64 %%gvmf_t, %%gvmf_s, %%gvmf_mask%u",
		    mask_shift(patcher, access));
	} else {
		PUT(patcher, "and.b64 %%gvmf_t, %.*s, %%gvmf_mask%u",
		    WORD(patcher, access->name), mask_shift(patcher, access));
	}
	PUT(patcher, "or.b64 %%gvmf_a, %%gvmf_t, %%gvmf_base");
}

static void put_4g(struct patcher *patcher, const struct access *access, bool generic)
{
	if (generic || !keeps_offset(patcher, access)) {
		put_sum(patcher, access);
		PUT(patcher, "mov.b64 {%%gvmf_l, %%gvmf_h}, %%gvmf_s");
	} else {
		PUT(patcher, "mov.b64 {%%gvmf_l, %%gvmf_h}, %.*s", WORD(patcher, access->name));
	}
	PUT(patcher, "and.b32 %%gvmf_h, %%gvmf_h, %%gvmf_mask_high");
	PUT(patcher, "or.b32 %%gvmf_h, %%gvmf_h, %%gvmf_base_high");
	PUT(patcher, "mov.b64 %%gvmf_a, {%%gvmf_l, %%gvmf_h}");
}

/* base + (s - base) % size. The quotient is at most one too small: min() mends it. */
static void put_modulo(struct patcher *patcher, const struct access *access)
{
	put_sum(patcher, access);
	PUT(patcher, "sub.s64 %%gvmf_t, %%gvmf_s, %%gvmf_base");
	PUT(patcher, "mul.hi.u64 %%gvmf_u, %%gvmf_t, %%gvmf_reciprocal");
	PUT(patcher, "mul.lo.u64 %%gvmf_u, %%gvmf_u, %%gvmf_size");
	PUT(patcher, "sub.s64 %%gvmf_t, %%gvmf_t, %%gvmf_u");
	PUT(patcher, "sub.s64 %%gvmf_u, %%gvmf_t, %%gvmf_size");
	PUT(patcher, "min.u64 %%gvmf_t, %%gvmf_t, %%gvmf_u");
	PUT(patcher, "add.s64 %%gvmf_a, %%gvmf_t, %%gvmf_base");
}

/* Is the address in shared or local memory? Those are confined by the hardware. */
static void put_window(struct patcher *patcher)
{
	PUT(patcher, "isspacep.shared %%gvmf_p, %%gvmf_s");
	PUT(patcher, "isspacep.local %%gvmf_q, %%gvmf_s");
	PUT(patcher, "or.pred %%gvmf_p, %%gvmf_p, %%gvmf_q");
}

/* Stop unless s - base <= size - width. A thread whose predicate is off does not stop. */
static void put_check(struct patcher *patcher, const struct ptx_statement *statement,
		      const struct access *access, bool generic)
{
	const char *test = generic ? "setp.gt.and.u64 %gvmf_p, %gvmf_t, %gvmf_limit" :
				     "setp.gt.u64 %gvmf_p, %gvmf_t, %gvmf_limit";
	const char *end = generic ? ", !%gvmf_q" : "";

	put_sum(patcher, access);
	PUT(patcher, "sub.s64 %%gvmf_t, %%gvmf_s, %%gvmf_base");
	if (generic) {
		PUT(patcher, "isspacep.shared %%gvmf_q, %%gvmf_s");
		PUT(patcher, "isspacep.local %%gvmf_p, %%gvmf_s");
		PUT(patcher, "or.pred %%gvmf_q, %%gvmf_q, %%gvmf_p");
	}
	if (statement->guard) {
		PUT(patcher, "setp.ne.u32 %%gvmf_p, 0, 0");
		PUT(patcher, "@%s%.*s %s%u%s", statement->negated ? "!" : "",
		    WORD(patcher, statement->guard), test, access->width_shift, end);
	} else {
		PUT(patcher, "%s%u%s", test, access->width_shift, end);
	}
	PUT(patcher, "@%%gvmf_p trap");
}

/* The start of an instruction: its predicate, or its opcode. */
static size_t start_of(const struct patcher *patcher, const struct ptx_statement *statement)
{
	return patcher->text->tokens[statement->range.first].start;
}

static void put_access(struct patcher *patcher, const struct ptx_statement *statement,
		       const struct access *access)
{
	const struct ptx_token *tokens = patcher->text->tokens;
	bool generic = access->space == ACCESS_GENERIC;
	enum patch_mode mode = patcher->options->mode;

	copy_to(patcher, start_of(patcher, statement));
	if (mode == PATCH_CHECK) {
		put_check(patcher, statement, access, generic);
	} else {
		if (mode == PATCH_MODULO)
			put_modulo(patcher, access);
		else if (mode == PATCH_4G)
			put_4g(patcher, access, generic);
		else
			put_mask(patcher, access, generic);
		if (generic) {
			put_window(patcher);
			PUT(patcher, "selp.b64 %%gvmf_a, %%gvmf_s, %%gvmf_a, %%gvmf_p");
		}
	}
	copy_to(patcher, tokens[access->range.first].start);
	put(patcher, "[%%gvmf_%c", mode == PATCH_CHECK ? 's' : 'a');
	if (access->offset && keeps_offset(patcher, access))
		put(patcher, "+%lld", access->offset);
	put(patcher, "]");
	patcher->copied = tokens[access->range.last].start + 1;
}

/* The number of labels of a table ".branchtargets" in the function; 0: not found. */
static u32 table_length(const struct patcher *patcher, const struct ptx_statement *jump)
{
	const struct ptx_module *module = patcher->module;
	u32 name = jump->operands[1].first, count = 0;

	for (size_t i = 0; i + 1 < module->statement_count; i++) {
		const struct ptx_statement *label = &module->statements[i], *list = label + 1;

		if (label->kind != PTX_LABEL || label->function != jump->function ||
		    !ptx_same(patcher->text, label->range.first, name) ||
		    !ptx_is(patcher->text, list->range.first, ".branchtargets"))
			continue;
		count = 1;
		for (size_t at = list->range.first; at < list->range.last; at++)
			count += ptx_is(patcher->text, at, ",");
	}
	return count;
}

/* "brx.idx index, table;": the index is clamped, which is cheaper than the paper's modulo. */
static int put_table(struct patcher *patcher, const struct ptx_statement *statement)
{
	u32 count = statement->operand_count == 2 ? table_length(patcher, statement) : 0;
	const struct ptx_token *index = &patcher->text->tokens[statement->operands[0].first];

	if (!count)
		return refuse(patcher, statement->opcode, "its table of labels was not found");
	copy_to(patcher, start_of(patcher, statement));
	PUT(patcher, "min.u32 %%gvmf_i, %.*s, %u", WORD(patcher, statement->operands[0].first),
	    count - 1);
	copy_to(patcher, index->start);
	put(patcher, "%%gvmf_i");
	patcher->copied = index->start + index->length;
	return 0;
}

static void put_declarations(struct patcher *patcher, const struct needs *needs)
{
	enum patch_mode mode = patcher->options->mode;

	put(patcher, "\n\t.reg .b64 %%gvmf_base, %%gvmf_s, %%gvmf_t, %%gvmf_a;");
	put(patcher, "\n\t.reg .pred %%gvmf_p, %%gvmf_q;");
	if (mode == PATCH_4G)
		put(patcher, "\n\t.reg .b32 %%gvmf_l, %%gvmf_h, %%gvmf_mask_high, "
			     "%%gvmf_base_high;");
	if (mode == PATCH_CHECK || mode == PATCH_MODULO)
		put(patcher, "\n\t.reg .b64 %%gvmf_u, %%gvmf_size, %%gvmf_reciprocal;");
	for (u32 i = 0; i <= PATCH_WIDTH_SHIFT; i++)
		if (needs->widths >> i & 1 && mode != PATCH_4G && mode != PATCH_MODULO)
			put(patcher, "\n\t.reg .b64 %%gvmf_%s%u;",
			    mode == PATCH_CHECK ? "limit" : "mask", i);
	if (patcher->options->pass == PATCH_PARAMS && mode != PATCH_CHECK &&
	    mode != PATCH_MODULO && mode != PATCH_4G)
		put(patcher, "\n\t.reg .b64 %%gvmf_mask;");
}

/* Load word @index of the bounds, or its upper half, into a register. */
static void put_load(struct patcher *patcher, const char *to, u32 index, u32 half,
		     const char *parameter)
{
	const char *type = half ? "b32" : "b64";

	if (patcher->options->pass == PATCH_PARAMS)
		put(patcher, "\n\tld.param.%s %%gvmf_%s, [gvmf_%s+%u];", type, to, parameter,
		    4 * half);
	else
		put(patcher, "\n\tld.const.%s %%gvmf_%s, [" PATCH_BOUNDS "+%u];", type, to,
		    8 * index + 4 * half);
}

/* Registers and bounds at the start of a body. */
static void put_prologue(struct patcher *patcher, const struct needs *needs)
{
	bool params = patcher->options->pass == PATCH_PARAMS;
	enum patch_mode mode = patcher->options->mode;
	const u32 mask_index = 8;

	if (needs->index)
		put(patcher, "\n\t.reg .b32 %%gvmf_i;");
	if (!needs->any)
		return;
	put_declarations(patcher, needs);
	if (mode == PATCH_4G) {
		put_load(patcher, "base_high", 0, 1, "base");
		put_load(patcher, "mask_high", mask_index, 1, "mask");
		return;
	}
	put_load(patcher, "base", 0, 0, "base");
	if (mode == PATCH_CHECK || mode == PATCH_MODULO)
		put_load(patcher, "size", 1, 0, "size");
	if (mode == PATCH_MODULO)
		put_load(patcher, "reciprocal", 2, 0, "reciprocal");
	else if (mode != PATCH_CHECK && params)
		put_load(patcher, "mask", 0, 0, "mask");
	for (u32 i = 0; i <= PATCH_WIDTH_SHIFT && mode != PATCH_MODULO; i++) {
		char name[16];

		if (!(needs->widths >> i & 1))
			continue;
		snprintf(name, sizeof(name), "mask%u", i);
		if (mode == PATCH_CHECK)
			put(patcher, "\n\tsub.s64 %%gvmf_limit%u, %%gvmf_size, %u;", i,
			    1u << i);
		else if (params)
			put(patcher, "\n\tand.b64 %%gvmf_%s, %%gvmf_mask, -%u;", name, 1u << i);
		else
			put_load(patcher, name, mask_index + i, 0, "mask");
	}
}

/* The parameters of a kernel with bounds: in front of the parenthesis that closes the list. */
static void put_parameters(struct patcher *patcher, const struct ptx_function *function)
{
	static const char *const names[PATCH_MODES] = { "mask", "mask", "mask", "size",
							"size" };
	const struct ptx_text *text = patcher->text;
	bool empty = true;

	if (function->parameters) {
		empty = ptx_next(text, function->parameters) == function->parameters_end;
		copy_to(patcher, text->tokens[function->parameters_end].start);
	} else {
		copy_to(patcher, text->tokens[function->name].start +
					 text->tokens[function->name].length);
		put(patcher, "(");
	}
	put(patcher, "%s.param .u64 gvmf_base, .param .u64 gvmf_%s", empty ? "" : ", ",
	    names[patcher->options->mode]);
	if (patcher->options->mode == PATCH_MODULO)
		put(patcher, ", .param .u64 gvmf_reciprocal");
	if (!function->parameters)
		put(patcher, ")");
}

/* Is any part of the statement but @except the address of a .global variable? */
static int check_addresses(const struct patcher *patcher, const struct ptx_statement *statement,
			   const struct ptx_range *except)
{
	for (size_t at = ptx_next(patcher->text, statement->opcode); at < statement->range.last;
	     at = ptx_next(patcher->text, at)) {
		const struct variable *variable;

		if (except && at >= except->first && at <= except->last)
			continue;
		variable = variables_get(&patcher->variables, at);
		if (variable && variable->global)
			return refuse(patcher, at,
				      "the address of a variable of the module is taken");
	}
	return 0;
}

/* A call is safe if its target has a body here, which is patched, too. */
static int check_call(const struct patcher *patcher, const struct ptx_statement *statement)
{
	const struct ptx_module *module = patcher->module;
	u32 target = 0;

	for (u32 i = 0; i < statement->operand_count && !target; i++)
		if (!ptx_is(patcher->text, statement->operands[i].first, "("))
			target = statement->operands[i].first;
	if (!target || ptx_begins(patcher->text, target, "%"))
		return refuse(patcher, statement->opcode,
			      "the target of an indirect call is not known");
	if (patcher->options->pass == PATCH_PARAMS)
		return refuse(patcher, statement->opcode,
			      "bounds in parameters do not reach functions; use --pass const");
	for (size_t i = 0; i < module->function_count; i++)
		if (!module->functions[i].entry &&
		    ptx_same(patcher->text, module->functions[i].name, target))
			return 0;
	return refuse(patcher, target, "a function without a body here is called");
}

/* In memory that calls keep return addresses in, a wild store could choose the next instruction. */
static int check_stack(const struct patcher *patcher, const struct ptx_statement *statement,
		       const struct access *access)
{
	bool writes = access->kind == ACCESS_STORE || access->kind == ACCESS_ATOMIC;
	bool local = access->space == ACCESS_GENERIC ||
		     (access->space == ACCESS_LOCAL &&
		      !variables_get(&patcher->variables, access->name));

	if (!patcher->has_calls || !writes || !local)
		return 0;
	return refuse(
		patcher, statement->opcode,
		"it could change a return address in local memory, since the module has calls");
}

/* Decide on an access; *ret_fence says whether it gets a fence. */
static int decide_access(const struct patcher *patcher, const struct ptx_statement *statement,
			 const struct opcode *opcode, struct access *ret_access,
			 bool *ret_fence)
{
	struct patch_counts *counts = &patcher->result->functions[statement->function];
	const struct variable *variable;
	int status = access_decode(patcher->text, statement, opcode, ret_access, patcher->err);
	u64 end;

	if (!status)
		status = check_addresses(patcher, statement, &ret_access->range);
	if (!status)
		status = check_stack(patcher, statement, ret_access);
	if (status)
		return status;
	counts->accesses[ret_access->space][ret_access->kind]++;
	*ret_fence = ret_access->space <= ACCESS_GLOBAL;
	variable = variables_get(&patcher->variables, ret_access->name);
	if (!*ret_fence || !variable)
		return 0;
	end = (u64)ret_access->offset + (1ull << ret_access->width_shift);
	if (!variable->global || ret_access->offset < 0 || end > variable->bytes)
		return refuse(patcher, statement->opcode, "it reaches beyond its variable");
	*ret_fence = false;
	counts->direct++;
	return 0;
}

/* First pass: refuse what cannot be confined, and find what functions need. */
static int decide_instruction(struct patcher *patcher, const struct ptx_statement *statement)
{
	const struct opcode *opcode = opcode_find(patcher->text, statement->opcode);
	struct needs *needs = &patcher->needs[statement->function];
	struct access access;
	bool fence;
	int status;

	if (!opcode)
		return refuse(patcher, statement->opcode, "this opcode is not known");
	switch (opcode->decision) {
	case OPCODE_REFUSE:
		return refuse(patcher, statement->opcode, opcode->why);
	case OPCODE_SHARED:
		if (!access_has_modifier(patcher->text, statement->opcode, ".shared") ||
		    access_has_modifier(patcher->text, statement->opcode, ".global"))
			return refuse(patcher, statement->opcode,
				      "its address is not in shared memory");
		return check_addresses(patcher, statement, NULL);
	case OPCODE_FENCE:
		status = decide_access(patcher, statement, opcode, &access, &fence);
		if (!status && fence && patcher->options->pass == PATCH_PARAMS &&
		    !patcher->module->functions[statement->function].entry)
			return refuse(patcher, statement->opcode,
				      "bounds in parameters do not reach functions; use --pass "
				      "const");
		if (!status && fence) {
			needs->any = true;
			needs->widths |= 1u << (patcher->options->mode == PATCH_CHECK ?
							access.width_shift :
							mask_shift(patcher, &access));
		}
		return status;
	case OPCODE_CALL:
		status = check_call(patcher, statement);
		return status ? status : check_addresses(patcher, statement, NULL);
	case OPCODE_TABLE:
		needs->index = true;
		return 0;
	case OPCODE_SAFE:
		break;
	}
	for (u32 i = 0; i < statement->operand_count; i++)
		if (ptx_is(patcher->text, statement->operands[i].first, "["))
			return refuse(patcher, statement->opcode, "an address is not expected");
	return check_addresses(patcher, statement, NULL);
}

static int decide_all(struct patcher *patcher)
{
	const struct ptx_module *module = patcher->module;
	int status = 0;

	/* Names of ours must not be there yet. */
	for (size_t at = 0; at < patcher->text->count; at++)
		if (ptx_begins(patcher->text, at, "gvmf_") ||
		    ptx_begins(patcher->text, at, "%gvmf_"))
			return refuse(patcher, at,
				      "a name that gvmfence uses: is it patched already?");
	for (size_t i = 0; i < module->statement_count; i++)
		patcher->has_calls |=
			module->statements[i].kind == PTX_INSTRUCTION &&
			ptx_begins(patcher->text, module->statements[i].opcode, "call");
	for (size_t i = 0; !status && i < module->statement_count; i++) {
		const struct ptx_statement *statement = &module->statements[i];

		if (statement->kind == PTX_INSTRUCTION)
			status = decide_instruction(patcher, statement);
		else if (ptx_is(patcher->text, statement->range.first, ".alias"))
			status = refuse(patcher, statement->range.first,
					"aliases are not followed");
	}
	return status;
}

/* Second pass: write the result. */
static int write_all(struct patcher *patcher)
{
	const struct ptx_module *module = patcher->module;
	const struct patch_options *options = patcher->options;
	const struct ptx_token *tokens = patcher->text->tokens;
	bool margin = options->mode == PATCH_ONCE || options->mode == PATCH_4G;
	int status = 0;

	copy_to(patcher, tokens[module->header_end].start + tokens[module->header_end].length);
	put(patcher, "\n\n.const .align 8 .b64 gvmf_format[3] = {%d, %d, %llu};", options->mode,
	    options->pass, margin ? options->margin : 0);
	if (options->pass == PATCH_CONST)
		put(patcher, "\n.visible .const .align 8 .b64 " PATCH_BOUNDS "[16];");
	for (size_t i = 0; !status && i < module->statement_count; i++) {
		const struct ptx_statement *statement = &module->statements[i];
		const struct opcode *opcode;
		struct patch_counts *counts;
		struct access access;
		bool fence = false;

		if (statement->kind == PTX_FUNCTION) {
			const struct ptx_function *function =
				&module->functions[statement->function];

			if (options->pass == PATCH_PARAMS && function->entry)
				put_parameters(patcher, function);
			copy_to(patcher, tokens[statement->range.last].start + 1);
			put_prologue(patcher, &patcher->needs[statement->function]);
		}
		if (statement->kind != PTX_INSTRUCTION)
			continue;
		counts = &patcher->result->functions[statement->function];
		opcode = opcode_find(patcher->text, statement->opcode);
		patcher->inserted = 0;
		if (opcode->decision == OPCODE_TABLE) {
			status = put_table(patcher, statement);
			counts->tables++;
			continue;
		}
		if (opcode->decision != OPCODE_FENCE)
			continue;
		access_decode(patcher->text, statement, opcode, &access, patcher->err);
		fence = access.space <= ACCESS_GLOBAL &&
			!variables_get(&patcher->variables, access.name);
		if (!fence)
			continue;
		put_access(patcher, statement, &access);
		counts->fenced++;
		counts->instructions += patcher->inserted;
	}
	copy_to(patcher, patcher->text->size);
	return status;
}

int patch_module(const struct ptx_module *module, const struct patch_options *options,
		 struct patch_result *ret_result, struct sim_error *err)
{
	struct patcher patcher = {
		.module = module,
		.text = module->text,
		.options = options,
		.result = ret_result,
		.err = err,
	};
	size_t count = module->function_count ? module->function_count : 1;
	int status;

	memset(ret_result, 0, sizeof(*ret_result));
	status = variables_find(module, &patcher.variables, err);
	if (status)
		return status;
	patcher.needs = calloc(count, sizeof(*patcher.needs));
	ret_result->functions = calloc(count, sizeof(*ret_result->functions));
	ret_result->function_count = module->function_count;
	patcher.failed = !patcher.needs || !ret_result->functions;
	if (!patcher.failed)
		status = decide_all(&patcher);
	if (!status && !patcher.failed)
		status = write_all(&patcher);
	if (!status && patcher.failed)
		status = sim_runtime_error(err, "%s: out of memory", module->text->file);
	free(patcher.needs);
	variables_destroy(&patcher.variables);
	if (status)
		patch_result_destroy(ret_result);
	return status;
}

void patch_result_destroy(struct patch_result *result)
{
	free(result->bytes);
	free(result->functions);
	memset(result, 0, sizeof(*result));
}
