// SPDX-License-Identifier: MIT OR GPL-2.0
#include "confine.h"

#include <stdlib.h>

/* Patch a text. *ret_result is to be destroyed if 0 is returned. */
static int patch_bytes(const char *name, const char *ptx, size_t size,
		       const struct patch_options *options, struct patch_result *ret_result,
		       struct sim_error *err)
{
	struct ptx_module module;
	struct ptx_text text;
	int status = ptx_lex(name, ptx, size, &text, err);

	if (status)
		return status;
	status = ptx_parse(&text, &module, err);
	if (!status) {
		status = patch_module(&module, options, ret_result, err);
		ptx_module_destroy(&module);
	}
	ptx_text_destroy(&text);
	return status;
}

int confine_text(const char *name, const char *ptx, size_t size,
		 const struct patch_options *options, struct confined *ret_confined,
		 struct sim_error *err)
{
	struct patch_result result;
	struct ptx_text text;
	int status = patch_bytes(name, ptx, size, options, &result, err);

	if (status)
		return status;
	status = ptx_lex(name, result.bytes, result.size, &text, err);
	if (!status) {
		status = verify_text(&text, &ret_confined->report, err);
		ptx_text_destroy(&text);
	}
	if (!status && (ret_confined->report.mode != options->mode ||
			(ret_confined->report.pass != options->pass &&
			 options->full != PATCH_FULL_PARAMS) ||
			ret_confined->report.margin > options->margin)) {
		status = sim_user_error(err, "%s: verified with another mode or margin", name);
		verify_report_destroy(&ret_confined->report);
	}
	if (!status) {
		ret_confined->bytes = result.bytes;
		ret_confined->size = result.size;
		result.bytes = NULL;
	}
	patch_result_destroy(&result);
	return status;
}

void confined_destroy(struct confined *confined)
{
	verify_report_destroy(&confined->report);
	free(confined->bytes);
	confined->bytes = NULL;
}
