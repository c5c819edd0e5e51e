// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads any bytes as PTX. The first byte says the mode, and whether bounds are parameters.
 * Patcher and verifier either accept a module or tell the mistake in one line. The verifier
 * also reads the bytes as they are. A module that is refused can be counted.
 */
#include "fuzz.h"
#include "patch.h"
#include "verify.h"

#include <stdlib.h>

static bool is_verified(const char *bytes, size_t size)
{
	struct sim_error err = { 0 };
	struct verify_report report;
	struct ptx_text text;
	int status = ptx_lex("fuzz.ptx", bytes, size, &text, &err);

	if (!status) {
		status = verify_text(&text, &report, &err);
		if (!status)
			verify_report_destroy(&report);
		ptx_text_destroy(&text);
	}
	if (status)
		fuzz_check_mistake(status, &err);
	return !status;
}

/* A module that patch_module() has refused: patch_count() lists why, or refuses all of it in one line. */
static void count(const struct ptx_module *module, const struct patch_options *options)
{
	struct sim_error err = { 0 };
	struct patch_result result;
	int status = patch_count(module, options, &result, &err);

	if (status) {
		fuzz_check_mistake(status, &err);
		return;
	}
	if (!result.refusal_count || result.bytes)
		abort();
	patch_result_destroy(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t how = size ? data[0] : 0;
	struct patch_options options = {
		.mode = (enum patch_mode)(how % PATCH_MODES),
		.pass = how & 128 ? PATCH_PARAMS : PATCH_CONST,
		.full = how & 32 ? PATCH_FULL_PARAMS : PATCH_FULL_FAILS,
		.index = how & 16 ? PATCH_INDEX_MODULO : PATCH_INDEX_CLAMP,
		.margin = PATCH_MARGIN_DEFAULT,
		.target = how & 64 ? 75 : 0,
		.version = how & 64 ? 70 : 0,
	};
	const char *bytes = (const char *)data + (size ? 1 : 0);
	struct sim_error err = { 0 };
	struct patch_result result;
	struct ptx_module module;
	struct ptx_text text;
	int status;

	size -= size ? 1 : 0;
	status = ptx_lex("fuzz.ptx", bytes, size, &text, &err);
	if (!status) {
		status = ptx_parse(&text, &module, &err);
		if (!status) {
			status = patch_module(&module, &options, &result, &err);
			if (status)
				count(&module, &options);
			ptx_module_destroy(&module);
		}
		ptx_text_destroy(&text);
	}
	fuzz_accepted = !status;
	if (status) {
		fuzz_check_mistake(status, &err);
	} else {
		fuzz_accepted = is_verified(result.bytes, result.size);
		patch_result_destroy(&result);
	}
	is_verified(bytes, size);
	return 0;
}
