// SPDX-License-Identifier: MIT OR GPL-2.0
/* What can be confined, and what is refused: one decision for each instruction. */
#include "patcher.h"

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
			return patcher_refuse(
				patcher, at,
				"the address of a variable of the module is taken");
	}
	return 0;
}

/* A function has no parameters with bounds. */
static int refuse_without_parameters(const struct patcher *patcher,
				     const struct ptx_statement *statement)
{
	return patcher_refuse(
		patcher, statement->opcode,
		patcher->options->full == PATCH_FULL_PARAMS ?
			"constants are full, and bounds in parameters do not reach functions" :
			"bounds in parameters do not reach functions; use --pass const");
}

/* A call is safe if its target has a body here, which is patched, too. */
static int check_call(struct patcher *patcher, const struct ptx_statement *statement)
{
	const struct ptx_module *module = patcher->module;
	u32 target = 0;

	for (u32 i = 0; i < statement->operand_count && !target; i++)
		if (!ptx_is(patcher->text, statement->operands[i].first, "("))
			target = statement->operands[i].first;
	if (!target || ptx_begins(patcher->text, target, "%"))
		return patcher_refuse(patcher, statement->opcode,
				      "the target of an indirect call is not known");
	if (patcher->options->pass == PATCH_PARAMS)
		return refuse_without_parameters(patcher, statement);
	for (size_t i = 0; i < module->function_count; i++) {
		patcher->steps++;
		if (!module->functions[i].entry &&
		    ptx_same(patcher->text, module->functions[i].name, target))
			return patcher_refuse_endless(patcher, target);
	}
	return patcher_refuse(patcher, target, "a function without a body here is called");
}

/*
 * In memory that calls keep return addresses in, a wild store could choose
 * the next instruction.
 */
static int check_stack(const struct patcher *patcher, const struct ptx_statement *statement,
		       const struct access *access)
{
	bool writes = access->kind == ACCESS_STORE || access->kind == ACCESS_ATOMIC;
	bool local = access->space == ACCESS_GENERIC ||
		     (access->space == ACCESS_LOCAL &&
		      !variables_get(&patcher->variables, access->name));

	/* ptxas makes calls of other instructions, too, so a function may be called anyway. */
	if ((!patcher->has_calls && patcher->module->functions[statement->function].entry) ||
	    !writes || !local)
		return 0;
	return patcher_refuse(
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
		return patcher_refuse(patcher, statement->opcode,
				      "it reaches beyond its variable");
	*ret_fence = false;
	counts->direct++;
	return 0;
}

/* First pass: refuse what cannot be confined, and find what functions need. */
static int decide_instruction(struct patcher *patcher, const struct ptx_statement *statement)
{
	const struct opcode *opcode = opcode_find(patcher->text, statement->opcode);
	struct patcher_needs *needs = &patcher->needs[statement->function];
	struct access access;
	bool fence;
	int status;

	if (!opcode)
		return patcher_refuse(patcher, statement->opcode, "this opcode is not known");
	switch (opcode->decision) {
	case OPCODE_REFUSE:
		return patcher_refuse(patcher, statement->opcode, opcode->why);
	case OPCODE_SHARED:
		if (!access_has_modifier(patcher->text, statement->opcode, ".shared") ||
		    access_has_modifier(patcher->text, statement->opcode, ".global"))
			return patcher_refuse(patcher, statement->opcode,
					      "its address is not in shared memory");
		return check_addresses(patcher, statement, NULL);
	case OPCODE_FENCE:
		status = decide_access(patcher, statement, opcode, &access, &fence);
		if (!status && fence && patcher->options->pass == PATCH_PARAMS &&
		    !patcher->module->functions[statement->function].entry)
			return refuse_without_parameters(patcher, statement);
		if (!status && fence) {
			needs->any = true;
			needs->windows |= access.space == ACCESS_GENERIC;
			needs->widths |= 1u << patcher_mask_shift(patcher, &access);
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
			return patcher_refuse(patcher, statement->opcode,
					      "an address is not expected");
	return check_addresses(patcher, statement, NULL);
}

int patcher_decide(struct patcher *patcher)
{
	const struct ptx_module *module = patcher->module;
	int status = 0;

	/* Names of ours must not be there yet. */
	for (size_t at = 0; at < patcher->text->count; at++)
		if (ptx_begins(patcher->text, at, "gvmf_") ||
		    ptx_begins(patcher->text, at, "%gvmf_"))
			return patcher_refuse(
				patcher, at,
				"a name that gvmfence uses: is it patched already?");
	for (size_t i = 0; i < module->function_count; i++) {
		u32 name = module->functions[i].name;

		if (ptx_begins(patcher->text, name, "__cuda_") ||
		    ptx_begins(patcher->text, name, "__nv_ptx_"))
			return patcher_refuse(patcher, name,
					      "a name of the assembler's own functions");
	}
	for (size_t i = 0; i < module->statement_count; i++)
		patcher->has_calls |=
			module->statements[i].kind == PTX_INSTRUCTION &&
			ptx_begins(patcher->text, module->statements[i].opcode, "call");
	for (size_t i = 0; !status && i < module->statement_count; i++) {
		const struct ptx_statement *statement = &module->statements[i];

		if (statement->kind == PTX_INSTRUCTION)
			status = decide_instruction(patcher, statement);
		else if (ptx_is(patcher->text, statement->range.first, ".alias"))
			status = patcher_refuse(patcher, statement->range.first,
						"aliases are not followed");
		if (status)
			status = patcher_list_refusal(patcher, i, status);
	}
	return status;
}
