// SPDX-License-Identifier: MIT OR GPL-2.0
#include "ptx_fixture.h"

#include "verify.h"

const char *const corpus_files[] = {
	"attention.triton36-sm90.ptx",
	"bench.nvcc13-sm90.ptx",
	"corners.ptx",
	"functions.nvcc13-sm90.ptx",
	"functions.nvrtc11.2-sm80.ptx",
	"kernels.nvcc13-sm80.ptx",
	"kernels.nvcc13-sm90.ptx",
	"kernels.nvrtc11.2-sm80.ptx",
	"kernels.nvrtc11.8-sm86.ptx",
	"kernels.nvrtc12.4-sm90.ptx",
	"matmul.triton36-sm90.ptx",
	"plain.clang14-sm80.ptx",
	"plain.clang19-sm90.ptx",
	NULL,
};

char *corpus_read(const char *name)
{
	char path[256], *bytes;
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", TEST_CORPUS_DIR, name);
	file = fopen(path, "rb");
	ck_assert_msg(file, "%s", path);
	fseek(file, 0, SEEK_END);
	size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(size + 1);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_uint_eq(fread(bytes, 1, size, file), size);
	bytes[size] = '\0';
	fclose(file);
	return bytes;
}

char *patch_with(const char *text, const struct patch_options *options, struct sim_error *err)
{
	struct patch_result result = { 0 };
	struct ptx_module module;
	struct ptx_text words;
	int status = ptx_lex("in.ptx", text, strlen(text), &words, err);

	if (status)
		return NULL;
	status = ptx_parse(&words, &module, err);
	if (!status) {
		status = patch_module(&module, options, &result, err);
		ptx_module_destroy(&module);
	}
	ptx_text_destroy(&words);
	free(result.functions);
	return result.bytes;
}

char *patch_in_memory(const char *text, enum patch_mode mode, enum patch_pass pass,
		      struct sim_error *err)
{
	struct patch_options options = { .mode = mode,
					 .pass = pass,
					 .margin = PATCH_MARGIN_DEFAULT };

	return patch_with(text, &options, err);
}

int verify_bytes(const char *bytes, struct sim_error *err)
{
	struct verify_report report;
	struct ptx_text text;
	int status = ptx_lex("in.ptx", bytes, strlen(bytes), &text, err);

	if (status)
		return status;
	status = verify_text(&text, &report, err);
	if (!status)
		verify_report_destroy(&report);
	ptx_text_destroy(&text);
	return status;
}
