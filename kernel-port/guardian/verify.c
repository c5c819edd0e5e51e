// SPDX-License-Identifier: MIT OR GPL-2.0
#include "verify.h"

#include <stdlib.h>
#include <string.h>

#include "verify_body.h"
#include "verify_names.h"
#include "verify_opcodes.h"

/* Is token @at one of @words, which end with NULL? */
static bool is_one_of(const struct ptx_text *text, size_t at, const char *const *words)
{
	while (*words && !ptx_is(text, at, *words))
		words++;
	return *words;
}

/*
 * Words that begin with a dot in the head of a function. Any other is refused: .abi_preserve,
 * for one, decides which registers outlive a call, and bounds are in registers.
 */
static bool is_of_head(const struct ptx_text *text, size_t at)
{
	static const char *const words[] = { ".visible",
					     ".extern",
					     ".weak",
					     ".entry",
					     ".func",
					     ".param",
					     ".reg",
					     ".align",
					     ".ptr",
					     ".global",
					     ".shared",
					     ".local",
					     ".const",
					     ".v2",
					     ".v4",
					     ".pred",
					     ".f16x2",
					     ".bf16",
					     ".bf16x2",
					     ".texref",
					     ".samplerref",
					     ".surfref",
					     ".maxntid",
					     ".maxnctapersm",
					     ".minnctapersm",
					     ".reqntid",
					     ".maxnreg",
					     ".pragma",
					     ".explicitcluster",
					     ".maxclusterrank",
					     ".reqnctapercluster",
					     NULL };

	return !ptx_begins(text, at, ".") || verify_element_bytes(text, at) ||
	       is_one_of(text, at, words);
}

/* The head of a function, from its first word to its brace or semicolon. */
static int verify_head(struct verifier *verifier, size_t first, bool entry)
{
	static const char *const names[PATCH_MODES] = { "gvmf_mask", "gvmf_mask", "gvmf_mask",
							"gvmf_size", "gvmf_size", "gvmf_mask" };
	const struct ptx_text *text = verifier->text;
	const char *wanted[3] = { "gvmf_base", names[verifier->report->mode],
				  "gvmf_reciprocal" };
	u32 have = 0, want = verifier->report->mode == PATCH_MODULO ? 3 : 2;
	bool params =
		verifier->report->pass == PATCH_PARAMS && entry && verify_is(verifier, "{");
	size_t type = first, space = first;
	u32 depth = 0;

	for (size_t at = first; at < verifier->at; at = ptx_next(text, at)) {
		int status;

		if (!is_of_head(text, at))
			return verify_refuse(verifier, at,
					     "this is not accepted in the head of a function");
		/*
		 * ptxas makes calls of the first ones of some instructions, and takes a
		 * definition of the text for its own. Of a call of the others it makes
		 * instructions.
		 */
		if (ptx_begins(text, at, "__cuda_") || ptx_begins(text, at, "__nv_ptx_"))
			return verify_refuse(verifier, at, "a name of the assembler");
		depth += ptx_is(text, at, "(");
		depth -= ptx_is(text, at, ")") && depth;
		/* The function's own name stands outside of the parameters. */
		status = depth ? verify_refuse_hiding(verifier, at, false) : 0;
		if (status)
			return status;
		if (flow_is_reserved(text, at)) {
			if (!params || have == want || !ptx_is(text, at, wanted[have]) ||
			    !ptx_is(text, type, ".u64") || !ptx_is(text, space, ".param"))
				return verify_refuse(verifier, at,
						     "a name of a fence is declared");
			have++;
		} else if (have == want && depth) {
			return verify_refuse(verifier, at,
					     "bounds are not the last parameters");
		} else if (have && !ptx_is(text, at, ",") && !ptx_is(text, at, ")") &&
			   have < want && !ptx_begins(text, at, ".")) {
			return verify_refuse(verifier, at,
					     "bounds are not the last parameters");
		}
		space = type;
		type = at;
	}
	return params && have != want ?
		       verify_refuse(verifier, first, "a kernel without bounds") :
		       0;
}

/*
 * ".const .align 8 .b64 gvmf_format[3] = {0, 0, 0};", the bounds, the count and a place in shared
 * memory: as words.
 */
static int verify_reserved(struct verifier *verifier, size_t first)
{
	static const char *const format[] = { ".const", ".align", "8", ".b64", "gvmf_format",
					      "[",	"3",	  "]", "=",    "{",
					      "#",	",",	  "#", ",",    "#",
					      "}",	";" };
	static const char *const bounds[] = { ".visible",   ".const", ".align", "8", ".b64",
					      PATCH_BOUNDS, "[",      "16",	"]", ";" };
	static const char *const found[] = { ".visible",  ".global", ".align", "8", ".b64",
					     PATCH_FOUND, "[",	     "2",      "]", ";" };
	static const char *const here[] = { ".extern",	".shared", ".align", "1", ".b8",
					    PATCH_HERE, "[",	   "]",	     ";" };
	const struct ptx_text *text = verifier->text;
	bool visible = ptx_is(text, first, ".visible"),
	     external = ptx_is(text, first, ".extern");
	bool count = visible && ptx_is(text, ptx_next(text, first), ".global");
	const char *const *words = external ? here : count ? found : visible ? bounds : format;
	size_t length = external ? sizeof(here) / sizeof(*here) :
			count	 ? sizeof(found) / sizeof(*found) :
			visible	 ? sizeof(bounds) / sizeof(*bounds) :
				   sizeof(format) / sizeof(*format);
	bool *has = external ? &verifier->has_here :
		    count    ? &verifier->has_found :
		    visible  ? &verifier->has_bounds :
			       &verifier->has_format;
	u64 numbers[3] = { 0 };
	u32 number = 0;
	size_t at = first;

	for (size_t i = 0; i < length; i++, at = ptx_next(text, at))
		if (words[i][0] == '#' ? !ptx_number(text, at, &numbers[number++]) :
					 !ptx_is(text, at, words[i]))
			return verify_refuse(verifier, at, "a name of a fence is declared");
	if (*has)
		return verify_refuse(verifier, first, "a name of a fence is declared twice");
	*has = true;
	if (visible || external)
		return 0;
	if (numbers[0] >= PATCH_MODES || numbers[1] > 1 || numbers[2] > 1ull << 30)
		return verify_refuse(verifier, first, "a format that is not known");
	verifier->report->mode = verifier->flow.mode = (enum patch_mode)numbers[0];
	verifier->report->pass = verifier->flow.pass = (enum patch_pass)numbers[1];
	verifier->report->margin = numbers[2];
	return 0;
}

/* Find the end of a statement of the module: its semicolon, or the brace of a body. */
static int find_end(struct verifier *verifier, bool *ret_function, bool *ret_entry)
{
	u32 depth = 0;
	bool value = false;

	*ret_function = *ret_entry = false;
	for (; !verify_at_end(verifier); verify_step(verifier)) {
		if (!depth &&
		    (verify_is(verifier, ";") || (verify_is(verifier, "{") && !value)))
			return *ret_function && value ?
				       verify_refuse(verifier, verifier->at,
						     "a function with an initial value") :
				       0;
		*ret_entry |= verify_is(verifier, ".entry");
		*ret_function |= verify_is(verifier, ".entry") || verify_is(verifier, ".func");
		value |= verify_is(verifier, "=");
		if (verify_is(verifier, "(") || verify_is(verifier, "{") ||
		    verify_is(verifier, "["))
			depth++;
		else if ((verify_is(verifier, ")") || verify_is(verifier, "}") ||
			  verify_is(verifier, "]")) &&
			 !depth--)
			break;
	}
	return verify_refuse(verifier, verifier->at, "a statement has no end");
}

/*
 * ".section .debug_str { ... }". ptxas makes a section of the object file of it, by that name
 * and with these bytes.
 */
static int skip_section(struct verifier *verifier)
{
	u32 depth = 0;

	verify_step(verifier);
	if (!ptx_begins(verifier->text, verifier->at, ".debug_"))
		return verify_refuse(verifier, verifier->at, "a section of no debug data");
	for (; !verify_at_end(verifier); verify_step(verifier)) {
		if (verify_is(verifier, "{"))
			depth++;
		if (verify_is(verifier, ";"))
			break;
		if (verify_is(verifier, "}") && (!depth || !--depth)) {
			verify_step(verifier);
			return 0;
		}
	}
	return verify_refuse(verifier, verifier->at, "a section has no end");
}

static int verify_header(struct verifier *verifier, bool *ret_header)
{
	static const char *const headers[] = { ".version", ".target", ".address_size",
					       ".file" };
	const struct ptx_text *text = verifier->text;
	size_t value = ptx_next(text, verifier->at);

	*ret_header = true;
	if (verify_is(verifier, ".section"))
		return skip_section(verifier);
	for (u32 i = 0; i < 4; i++) {
		const char *bytes = text->bytes + text->tokens[value].start;

		if (!verify_is(verifier, headers[i]))
			continue;
		if (i < 3 && verifier->headers >> i & 1)
			return verify_refuse(verifier, verifier->at, "a second time");
		verifier->headers |= 1u << i;
		if (i == 0 && (text->tokens[value].length != 3 || bytes[1] != '.' ||
			       10 * (bytes[0] - '0') + bytes[2] - '0' >
				       (int)(10 * PTX_ISA_MAJOR + PTX_ISA_MINOR)))
			return verify_refuse(verifier, value,
					     "a version of PTX that is not known");
		if (i == 2 && !ptx_is(text, value, "64"))
			return verify_refuse(verifier, value, "addresses have to have 64 bits");
		return verify_skip_line(verifier);
	}
	*ret_header = false;
	return 0;
}

/*
 * The kernel whose head begins at @first gets an entry in the report, and
 * the verifier is in it.
 */
static int begin_entry(struct verifier *verifier, size_t first)
{
	struct verify_report *report = verifier->report;
	const struct ptx_text *text = verifier->text;
	struct verify_entry *more;
	size_t name = first;

	while (!ptx_is(text, name, ".entry"))
		name = ptx_next(text, name);
	name = ptx_next(text, name);
	if (text->tokens[name].kind != PTX_WORD)
		return verify_refuse(verifier, name, "a kernel without a name");
	more = realloc(report->entries, (report->entry_count + 1) * sizeof(*more));
	if (!more)
		return sim_runtime_error(verifier->err, "%s: out of memory", text->file);
	report->entries = more;
	more[report->entry_count++] =
		(struct verify_entry){ .name = text->tokens[name].start,
				       .name_length = text->tokens[name].length };
	verifier->in_entry = true;
	return 0;
}

/* One statement of the module, with the body of a function. */
static int verify_module_statement(struct verifier *verifier)
{
	static const char *const first_words[] = {
		".visible", ".extern", ".weak", ".common", ".global",	  ".const",
		".shared",  ".local",  ".tex",	".texref", ".samplerref", ".surfref",
		".pragma",  ".entry",  ".func", NULL
	};
	const struct ptx_text *text = verifier->text;
	size_t first = verifier->at;
	bool header, function, entry, reserved = false, body;
	int status = verify_header(verifier, &header);

	if (status || header)
		return status;
	if (!is_one_of(text, first, first_words))
		return verify_refuse(verifier, first, "no statement of a module");
	status = find_end(verifier, &function, &entry);
	if (status)
		return status;
	body = verify_is(verifier, "{");
	if (!function && body)
		return verify_refuse(verifier, first, "a brace that belongs to no function");
	if (function) {
		if (!verifier->has_format)
			return verify_refuse(verifier, first, "the module is not patched");
		status = verify_head(verifier, first, entry);
		if (!status && body && entry)
			status = begin_entry(verifier, first);
		verify_step(verifier);
		status = status || !body ? status : verify_body(verifier);
		verifier->in_entry = false;
		return status;
	}
	if (verify_masks_bytes(text, first))
		return verify_refuse(verifier, first, "it stands outside of a body");
	for (size_t at = first; at < verifier->at; at = ptx_next(text, at))
		reserved |= flow_is_reserved(text, at);
	verify_step(verifier);
	return reserved ? verify_reserved(verifier, first) : 0;
}

int verify_text(const struct ptx_text *text, struct verify_report *ret_report,
		struct sim_error *err)
{
	struct verifier verifier = { .text = text, .err = err, .report = ret_report };
	int status;

	memset(ret_report, 0, sizeof(*ret_report));
	verifier.flow.text = text;
	status = verify_collect(&verifier);
	if (text->tokens[0].kind == PTX_SPACE || text->tokens[0].kind == PTX_COMMENT)
		verify_step(&verifier);
	while (!status && !verify_at_end(&verifier))
		status = verify_module_statement(&verifier);
	if (!status && ((verifier.headers & 7) != 7 || !verifier.has_format))
		status = sim_user_error(err, "%s: the module is not patched", text->file);
	if (!status && verifier.has_found != (ret_report->mode == PATCH_COUNT))
		status = sim_user_error(err, "%s: a count, and no mode that counts, or none",
					text->file);
	if (!status && ret_report->pass == PATCH_CONST && !verifier.has_bounds)
		status = sim_user_error(err, "%s: the module has no bounds", text->file);
	free(verifier.names);
	free(verifier.slots);
	if (status)
		verify_report_destroy(ret_report);
	return status;
}

void verify_report_destroy(struct verify_report *report)
{
	free(report->entries);
	report->entries = NULL;
	report->entry_count = 0;
}

bool verify_knows(const struct ptx_text *text, size_t at)
{
	return verify_classify(text, at) != CLASS_UNKNOWN;
}
