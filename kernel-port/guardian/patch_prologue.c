// SPDX-License-Identifier: MIT OR GPL-2.0
/* What a function needs before its first fence: registers, and its bounds in them. */
#include "patcher.h"

#include <stdio.h>

/* Do accesses have limits, and no masks? */
static bool has_limits(enum patch_mode mode)
{
	return mode == PATCH_CHECK || mode == PATCH_MODULO;
}

static void put_declarations(struct patcher *patcher, const struct patcher_needs *needs)
{
	enum patch_mode mode = patcher->options->mode;

	patcher_put(patcher, "\n\t.reg .b64 %%gvmf_base, %%gvmf_s, %%gvmf_t, %%gvmf_a;");
	patcher_put(patcher, "\n\t.reg .pred %%gvmf_p, %%gvmf_q;");
	if (mode == PATCH_4G)
		patcher_put(patcher, "\n\t.reg .b32 %%gvmf_l, %%gvmf_h, %%gvmf_mask_high, "
				     "%%gvmf_base_high;");
	if (has_limits(mode))
		patcher_put(patcher, "\n\t.reg .b64 %%gvmf_size, %%gvmf_reciprocal;");
	if (has_limits(mode) || needs->windows)
		patcher_put(patcher, "\n\t.reg .b64 %%gvmf_u;");
	if (needs->windows)
		patcher_put(patcher, "\n\t.reg .pred %%gvmf_r;"
				     "\n\t.reg .b64 %%gvmf_here, %%gvmf_there, %%gvmf_low, "
				     "%%gvmf_shared, %%gvmf_local;");
	for (u32 i = 0; i <= PATCH_WIDTH_SHIFT; i++)
		if (needs->widths >> i & 1 && mode != PATCH_4G)
			patcher_put(patcher, "\n\t.reg .b64 %%gvmf_%s%u;",
				    has_limits(mode) ? "limit" : "mask", i);
	if (patcher->options->pass == PATCH_PARAMS && !has_limits(mode) && mode != PATCH_4G)
		patcher_put(patcher, "\n\t.reg .b64 %%gvmf_mask;");
}

/* Load word @index of the bounds, or its upper half, into a register. */
static void put_load(struct patcher *patcher, const char *to, u32 index, u32 half,
		     const char *parameter)
{
	const char *type = half ? "b32" : "b64";

	if (patcher->options->pass == PATCH_PARAMS)
		patcher_put(patcher, "\n\tld.param.%s %%gvmf_%s, [gvmf_%s+%u];", type, to,
			    parameter, 4 * half);
	else
		patcher_put(patcher, "\n\tld.const.%s %%gvmf_%s, [" PATCH_BOUNDS "+%u];", type,
			    to, 8 * index + 4 * half);
}

/*
 * Where the windows of shared and of local memory begin. In a cluster the upper bits of a shared
 * address say whose memory it is.
 */
static void put_windows(struct patcher *patcher)
{
	patcher_put(patcher, "\n\tmov.u64 %%gvmf_here, " PATCH_HERE ";"
			     "\n\tcvta.shared.u64 %%gvmf_there, %%gvmf_here;"
			     "\n\tand.b64 %%gvmf_low, %%gvmf_here, 16777215;"
			     "\n\tsub.s64 %%gvmf_shared, %%gvmf_there, %%gvmf_low;"
			     "\n\tcvta.local.u64 %%gvmf_local, 0;");
}

/* Registers and bounds at the start of a body. */
void patcher_put_prologue(struct patcher *patcher, const struct patcher_needs *needs)
{
	bool params = patcher->options->pass == PATCH_PARAMS;
	enum patch_mode mode = patcher->options->mode;
	const u32 mask_index = 8;

	if (needs->index)
		patcher_put(patcher, "\n\t.reg .b32 %%gvmf_i;");
	if (!needs->any)
		return;
	put_declarations(patcher, needs);
	if (needs->windows)
		put_windows(patcher);
	if (mode == PATCH_4G) {
		put_load(patcher, "base_high", 0, 1, "base");
		put_load(patcher, "mask_high", mask_index, 1, "mask");
		return;
	}
	put_load(patcher, "base", 0, 0, "base");
	if (has_limits(mode))
		put_load(patcher, "size", 1, 0, "size");
	else if (params)
		put_load(patcher, "mask", 0, 0, "mask");
	if (mode == PATCH_MODULO)
		put_load(patcher, "reciprocal", 2, 0, "reciprocal");
	for (u32 i = 0; i <= PATCH_WIDTH_SHIFT; i++) {
		char name[16];

		if (!(needs->widths >> i & 1))
			continue;
		snprintf(name, sizeof(name), "mask%u", i);
		if (has_limits(mode))
			patcher_put(patcher, "\n\tsub.s64 %%gvmf_limit%u, %%gvmf_size, %u;", i,
				    1u << i);
		else if (params)
			patcher_put(patcher, "\n\tand.b64 %%gvmf_%s, %%gvmf_mask, -%u;", name,
				    1u << i);
		else
			put_load(patcher, name, mask_index + i, 0, "mask");
	}
}

/* The parameters of a kernel with bounds: in front of the parenthesis that closes the list. */
void patcher_put_parameters(struct patcher *patcher, const struct ptx_function *function)
{
	static const char *const names[PATCH_MODES] = { "mask", "mask", "mask",
							"size", "size", "mask" };
	const struct ptx_text *text = patcher->text;
	bool empty = true;

	if (function->parameters) {
		empty = ptx_next(text, function->parameters) == function->parameters_end;
		patcher_copy_to(patcher, text->tokens[function->parameters_end].start);
	} else {
		patcher_copy_to(patcher, text->tokens[function->name].start +
						 text->tokens[function->name].length);
		patcher_put(patcher, "(");
	}
	patcher_put(patcher, "%s.param .u64 gvmf_base, .param .u64 gvmf_%s", empty ? "" : ", ",
		    names[patcher->options->mode]);
	if (patcher->options->mode == PATCH_MODULO)
		patcher_put(patcher, ", .param .u64 gvmf_reciprocal");
	if (!function->parameters)
		patcher_put(patcher, ")");
}
