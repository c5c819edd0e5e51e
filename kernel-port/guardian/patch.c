// SPDX-License-Identifier: MIT OR GPL-2.0
#include "patch.h"

#include <stdlib.h>
#include <string.h>

#include "patcher.h"
#include "retarget.h"

#define CONSTANTS_MAX 65536u /* bytes of constants that a module can have */
#define FORMAT_BYTES  24u    /* of gvmf_format */

const char *const patch_mode_names[PATCH_MODES] = { "fence", "once",   "4g",
						    "check", "modulo", "count" };
const char *const patch_pass_names[2] = { "const", "params" };
const char *const patch_index_names[2] = { "clamp", "modulo" };

/* Write @word in the place of token @at; an empty one leaves the token. */
static void replace(struct patcher *patcher, u32 at, const char *word)
{
	const struct ptx_token *token = &patcher->text->tokens[at];

	if (!*word)
		return;
	patcher_copy_to(patcher, token->start);
	patcher_put(patcher, "%s", word);
	patcher->copied = token->start + token->length;
}

/* The headers, which may be in any order. */
static void write_headers(struct patcher *patcher, const struct retarget *retarget)
{
	const struct ptx_module *module = patcher->module;
	const struct ptx_token *last = &patcher->text->tokens[module->header_end];
	bool version_first = module->version < module->target;

	replace(patcher, version_first ? module->version : module->target,
		version_first ? retarget->version : retarget->target);
	replace(patcher, version_first ? module->target : module->version,
		version_first ? retarget->target : retarget->version);
	patcher_copy_to(patcher, last->start + last->length);
}

static bool needs_windows(const struct patcher *patcher)
{
	bool needs = false;

	for (size_t i = 0; i < patcher->module->function_count; i++)
		needs |= patcher->needs[i].windows;
	return needs;
}

/* Second pass: write the result. */
static int write_all(struct patcher *patcher, const struct retarget *retarget)
{
	const struct ptx_module *module = patcher->module;
	const struct patch_options *options = patcher->options;
	const struct ptx_token *tokens = patcher->text->tokens;
	bool margin = options->mode == PATCH_ONCE || options->mode == PATCH_4G;
	int status = 0;

	write_headers(patcher, retarget);
	patcher_put(patcher, "\n\n.const .align 8 .b64 gvmf_format[3] = {%d, %d, %llu};",
		    options->mode, options->pass, margin ? options->margin : 0);
	if (options->pass == PATCH_CONST)
		patcher_put(patcher, "\n.visible .const .align 8 .b64 " PATCH_BOUNDS "[16];");
	if (needs_windows(patcher))
		patcher_put(patcher, "\n.extern .shared .align 1 .b8 " PATCH_HERE "[];");
	if (options->mode == PATCH_COUNT)
		patcher_put(patcher, "\n.visible .global .align 8 .b64 " PATCH_FOUND "[2];");
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
				patcher_put_parameters(patcher, function);
			patcher_copy_to(patcher, tokens[statement->range.last].start + 1);
			patcher_put_prologue(patcher, &patcher->needs[statement->function]);
		}
		if (statement->kind != PTX_INSTRUCTION ||
		    (patcher->left_out && patcher->left_out[i]))
			continue;
		counts = &patcher->result->functions[statement->function];
		opcode = opcode_find(patcher->text, statement->opcode);
		patcher->inserted = 0;
		if (opcode->decision == OPCODE_TABLE) {
			status = patcher_put_table(patcher, statement);
			counts->tables += !status;
			if (status)
				status = patcher_list_refusal(patcher, i, status);
			continue;
		}
		if (opcode->decision != OPCODE_FENCE)
			continue;
		access_decode(patcher->text, statement, opcode, &access, patcher->err);
		fence = access.space <= ACCESS_GLOBAL &&
			!variables_get(&patcher->variables, access.name);
		if (!fence)
			continue;
		patcher_put_access(patcher, statement, &access);
		counts->fenced++;
		counts->instructions += patcher->inserted;
	}
	patcher_copy_to(patcher, patcher->text->size);
	return status;
}

static int patch_or_count(const struct ptx_module *module, const struct patch_options *options,
			  bool count_only, struct patch_result *ret_result,
			  struct sim_error *err)
{
	struct patcher patcher = {
		.module = module,
		.text = module->text,
		.options = options,
		.result = ret_result,
		.err = err,
	};
	size_t count = module->function_count ? module->function_count : 1;
	struct patch_options in_parameters = *options;
	struct retarget retarget;
	int status;

	memset(ret_result, 0, sizeof(*ret_result));
	status = retarget_module(module, options, &retarget, err);
	if (!status)
		status = variables_find(module, &patcher.variables, err);
	if (status)
		return status;
	if (options->pass == PATCH_CONST && options->full == PATCH_FULL_PARAMS &&
	    variables_constant_bytes(&patcher.variables, sizeof(struct patch_bounds),
				     FORMAT_BYTES) > CONSTANTS_MAX) {
		in_parameters.pass = PATCH_PARAMS;
		patcher.options = &in_parameters;
	}
	patcher.needs = calloc(count, sizeof(*patcher.needs));
	ret_result->functions = calloc(count, sizeof(*ret_result->functions));
	ret_result->function_count = module->function_count;
	if (count_only)
		patcher.left_out = calloc(module->statement_count + 1, sizeof(bool));
	patcher.failed =
		!patcher.needs || !ret_result->functions || (count_only && !patcher.left_out);
	if (!patcher.failed)
		status = patcher_decide(&patcher);
	if (!status && !patcher.failed)
		status = write_all(&patcher, &retarget);
	if (!status && patcher.failed)
		status = sim_runtime_error(err, "%s: out of memory", module->text->file);
	free(patcher.needs);
	free(patcher.left_out);
	variables_destroy(&patcher.variables);
	if (status)
		patch_result_destroy(ret_result);
	return status;
}

int patch_module(const struct ptx_module *module, const struct patch_options *options,
		 struct patch_result *ret_result, struct sim_error *err)
{
	return patch_or_count(module, options, false, ret_result, err);
}

int patch_count(const struct ptx_module *module, const struct patch_options *options,
		struct patch_result *ret_result, struct sim_error *err)
{
	int status = patch_or_count(module, options, true, ret_result, err);

	/* A text in which refused accesses stand as they were must not leave this file. */
	if (!status) {
		free(ret_result->bytes);
		ret_result->bytes = NULL;
		ret_result->size = 0;
	}
	return status;
}

void patch_result_destroy(struct patch_result *result)
{
	free(result->bytes);
	free(result->functions);
	for (size_t i = 0; i < result->refusal_count; i++)
		free(result->refusals[i].why);
	free(result->refusals);
	memset(result, 0, sizeof(*result));
}
