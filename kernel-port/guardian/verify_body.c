// SPDX-License-Identifier: MIT OR GPL-2.0
#include "verify_body.h"

#include <string.h>

#include "verify_access.h"
#include "verify_opcodes.h"

/*
 * How many labels the table has that the name at @name stands for; 0: it is not in this
 * function, or more than once, since scopes are not told apart.
 */
static u64 count_labels(struct verifier *verifier, size_t name)
{
	const struct ptx_text *text = verifier->text;
	u64 count = 0;

	for (size_t at = verifier->body, depth = 1; depth && text->tokens[at].kind != PTX_END;
	     at = ptx_next(text, at)) {
		size_t list = ptx_next(text, ptx_next(text, at));

		verifier->steps++;
		depth += ptx_is(text, at, "{");
		depth -= ptx_is(text, at, "}");
		if (text->tokens[at].kind != PTX_WORD || !ptx_same(text, at, name) ||
		    !ptx_is(text, list, ".branchtargets"))
			continue;
		if (count)
			return 0;
		for (count = 1; !ptx_is(text, list, ";"); list = ptx_next(text, list)) {
			if (text->tokens[list].kind == PTX_END)
				return 0;
			count += ptx_is(text, list, ",");
		}
	}
	return count;
}

static int verify_table(struct verifier *verifier, const struct flow_instruction *instruction)
{
	u64 labels;

	if (verifier->flow.step != FLOW_INDEX || instruction->operand_count != 2 ||
	    !ptx_is(verifier->text, instruction->operands[0].first, "%gvmf_i") ||
	    instruction->operands[0].first != instruction->operands[0].last)
		return verify_refuse(verifier, instruction->opcode, "its index is not clamped");
	labels = count_labels(verifier, instruction->operands[1].first);
	verifier->flow.step = FLOW_IDLE;
	if (!labels || verifier->flow.limit != labels - 1)
		return verify_refuse(verifier, instruction->opcode,
				     "its table is shorter, or not found");
	verifier->report->tables++;
	return 0;
}

static int verify_call(struct verifier *verifier, const struct flow_instruction *instruction)
{
	for (u32 i = 0; i < instruction->operand_count; i++) {
		size_t target = instruction->operands[i].first;

		if (ptx_is(verifier->text, target, "("))
			continue;
		return verify_find_name(verifier, NAME_FUNCTION, target) ?
			       0 :
			       verify_refuse(verifier, target,
					     "a call to code that is not here");
	}
	return verify_refuse(verifier, instruction->opcode, "a call without a target");
}

static int verify_instruction(struct verifier *verifier,
			      const struct flow_instruction *instruction)
{
	const struct ptx_text *text = verifier->text;
	enum opcode_class class = verify_classify(text, instruction->opcode);
	bool reserved = false, brackets = false;

	for (size_t at = instruction->guard ? instruction->guard : instruction->opcode;
	     at < instruction->end; at = ptx_next(text, at)) {
		reserved |= flow_is_reserved(text, at);
		brackets |= ptx_is(text, at, "[");
	}
	if (verifier->prologue && reserved && verifier->depth == 1 &&
	    flow_load(&verifier->flow, instruction))
		return 0;
	verifier->prologue = false;
	/* The two accesses of a count are steps of its sequence. */
	if ((class == CLASS_FIRST || class == CLASS_SECOND) && !flow_counts(&verifier->flow))
		return verify_access(verifier, instruction, class == CLASS_SECOND);
	if (class == CLASS_TABLE)
		return verify_table(verifier, instruction);
	if (reserved)
		return flow_step(&verifier->flow, instruction) ?
			       0 :
			       verify_refuse(verifier, instruction->opcode,
					     "no step of a fence that fits here");
	if (verifier->flow.step != FLOW_IDLE)
		return verify_refuse(verifier, instruction->opcode,
				     "it stands inside of a fence");
	if (class == CLASS_CALL)
		return verify_call(verifier, instruction);
	if (class == CLASS_SHARED)
		return verify_has(text, instruction->opcode, ".shared") &&
				       !verify_has(text, instruction->opcode, ".global") ?
			       0 :
			       verify_refuse(verifier, instruction->opcode,
					     "its address is not in shared memory");
	if (class != CLASS_PLAIN)
		return verify_refuse(verifier, instruction->opcode,
				     "this opcode is not accepted");
	return brackets ? verify_refuse(verifier, instruction->opcode,
					"an address is not expected") :
			  0;
}

/* Cut an instruction; the verifier stands after it afterwards. */
static int read_instruction(struct verifier *verifier, struct flow_instruction *ret_instruction)
{
	const struct ptx_text *text = verifier->text;
	size_t first = 0, last = 0;
	u32 depth = 0;

	memset(ret_instruction, 0, sizeof(*ret_instruction));
	if (verify_is(verifier, "@")) {
		verify_step(verifier);
		ret_instruction->negated = verify_is(verifier, "!");
		if (ret_instruction->negated)
			verify_step(verifier);
		ret_instruction->guard = verifier->at;
		if (text->tokens[verifier->at].kind != PTX_WORD)
			return verify_refuse(verifier, verifier->at, "no predicate");
		verify_step(verifier);
	}
	ret_instruction->opcode = verifier->at;
	if (text->tokens[verifier->at].kind != PTX_WORD)
		return verify_refuse(verifier, verifier->at, "no instruction");
	for (verify_step(verifier);; verify_step(verifier)) {
		bool ends = !depth && verify_is(verifier, ";");

		if (verify_at_end(verifier) || (depth && verify_is(verifier, ";")) ||
		    verify_is(verifier, ":"))
			return verify_refuse(verifier, verifier->at,
					     "an instruction has no end");
		if (!first && !depth && ptx_begins(text, verifier->at, ".") && !ends)
			return verify_refuse(verifier, verifier->at, "a modifier stands apart");
		if (ends || (!depth && verify_is(verifier, ","))) {
			if (ret_instruction->operand_count == FLOW_OPERANDS_MAX)
				return verify_refuse(verifier, verifier->at,
						     "too many operands");
			if (first) {
				ret_instruction->operands[ret_instruction->operand_count]
					.first = first;
				ret_instruction->operands[ret_instruction->operand_count++]
					.last = last;
			}
			first = 0;
			if (!ends)
				continue;
			ret_instruction->end = verifier->at;
			verify_step(verifier);
			return 0;
		}
		if (verify_is(verifier, "[") || verify_is(verifier, "{") ||
		    verify_is(verifier, "("))
			depth++;
		else if (verify_is(verifier, "]") || verify_is(verifier, "}") ||
			 verify_is(verifier, ")")) {
			if (!depth--)
				return verify_refuse(verifier, verifier->at,
						     "a bracket too many");
		}
		first = first ? first : verifier->at;
		last = verifier->at;
	}
}

/* ".param .align 8 .b8 q[16];": the form that is_inside_parameter() finds. */
static bool is_one_parameter(const struct ptx_text *text, size_t at)
{
	u64 number;

	at = ptx_next(text, at);
	if (ptx_is(text, at, ".align"))
		at = ptx_next(text, ptx_next(text, at));
	if (!verify_element_bytes(text, at))
		return false;
	at = ptx_next(text, at);
	if (text->tokens[at].kind != PTX_WORD || ptx_begins(text, at, "."))
		return false;
	at = ptx_next(text, at);
	if (ptx_is(text, at, "[")) {
		at = ptx_next(text, at);
		if (!ptx_number(text, at, &number) || !ptx_is(text, ptx_next(text, at), "]"))
			return false;
		at = ptx_next(text, ptx_next(text, at));
	}
	return ptx_is(text, at, ";");
}

/* ".reg .b64 %rd<9>, x;" and other declarations in a body, up to the semicolon. */
static int verify_declaration(struct verifier *verifier)
{
	static const char *const spaces[] = { ".reg", ".local", ".shared", ".param", ".const" };
	const struct ptx_text *text = verifier->text;
	bool reg = verify_is(verifier, ".reg"), local = verify_is(verifier, ".local"),
	     known = false;
	size_t type = ptx_next(text, verifier->at), first = verifier->at;
	u64 bytes = 0;
	int status;

	/*
	 * ptxas ends some directives without a semicolon: after ".target sm_90" it reads on. It
	 * takes an ".extern .func" in a body, too, whose parameters hide those of a call.
	 */
	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
		known |= verify_is(verifier, spaces[i]);
	if (!known)
		return verify_refuse(verifier, verifier->at,
				     "this directive is not accepted in a function");
	if (verify_is(verifier, ".param") && !is_one_parameter(text, verifier->at))
		return verify_refuse(verifier, verifier->at,
				     "more than one parameter, or another form");
	for (; !verify_is(verifier, ";"); verify_step(verifier)) {
		if (verify_at_end(verifier))
			return verify_refuse(verifier, verifier->at,
					     "a declaration has no end");
		if (text->tokens[verifier->at].kind != PTX_WORD)
			continue;
		status = verify_refuse_hiding(verifier, verifier->at, local);
		if (status)
			return status;
		if (reg && verify_find_name(verifier, NAME_PARAMETER, verifier->at))
			return verify_refuse(verifier, verifier->at, "it hides a parameter");
		if (!flow_is_reserved(text, verifier->at))
			continue;
		if (!reg || verifier->depth != 1 || !verifier->prologue ||
		    !flow_declare(&verifier->flow, type, verifier->at))
			return verify_refuse(verifier, verifier->at,
					     "a name of a fence is declared");
	}
	status =
		local ? verify_variables(verifier, first, verifier->at, NAME_LOCAL, &bytes) : 0;
	if (local && verifier->in_entry)
		verifier->report->entries[verifier->report->entry_count - 1].local_bytes +=
			bytes;
	verify_step(verifier);
	return status;
}

static bool step_numbers(struct verifier *verifier, u32 count)
{
	u64 number;

	for (; count && ptx_number(verifier->text, verifier->at, &number); count--)
		verify_step(verifier);
	return !count;
}

/* What stands after the first word of ".loc 1 2 3, function_name NAME+4, inlined_at 1 2 3". */
static bool step_loc(struct verifier *verifier)
{
	if (!step_numbers(verifier, 3))
		return false;
	while (verify_is(verifier, ",")) {
		verify_step(verifier);
		if (verify_is(verifier, "function_name")) {
			verify_step(verifier);
			verify_step(verifier);
			if (!verify_is(verifier, "+"))
				continue;
			verify_step(verifier);
			if (!step_numbers(verifier, 1))
				return false;
		} else if (verify_is(verifier, "inlined_at")) {
			verify_step(verifier);
			if (!step_numbers(verifier, 3))
				return false;
		} else {
			return false;
		}
	}
	return true;
}

/*
 * What stands after the first word of a header: ".file 1 "x.cu", 2, 3",
 * ".target sm_90, debug".
 */
static bool step_header(struct verifier *verifier, bool file)
{
	if (file && (!step_numbers(verifier, 1) ||
		     verifier->text->tokens[verifier->at].kind != PTX_STRING))
		return false;
	verify_step(verifier);
	while (verify_is(verifier, ",")) {
		verify_step(verifier);
		if (file && !step_numbers(verifier, 1))
			return false;
		if (!file)
			verify_step(verifier);
	}
	return true;
}

/*
 * A directive without a semicolon: .loc and the headers. Nothing else stands on its
 * line, and nothing of it on another one, so it ends at the same place for a reader of
 * lines and for a reader of words.
 */
int verify_skip_line(struct verifier *verifier)
{
	const struct ptx_text *text = verifier->text;
	u32 line = text->tokens[verifier->at].line;
	bool loc = verify_is(verifier, ".loc"), file = verify_is(verifier, ".file");
	size_t last = verifier->at;
	bool good;

	verify_step(verifier);
	good = loc ? step_loc(verifier) : step_header(verifier, file);
	while (ptx_next(text, last) < verifier->at)
		last = ptx_next(text, last);
	if (!good || text->tokens[last].line != line ||
	    (!verify_at_end(verifier) && text->tokens[verifier->at].line == line))
		return verify_refuse(verifier, verifier->at,
				     "more than a directive on its line");
	return 0;
}

static int verify_statement(struct verifier *verifier)
{
	static const char *const notes[] = { ".pragma", ".branchtargets", ".calltargets",
					     ".callprototype" };
	const struct ptx_text *text = verifier->text;
	struct flow_instruction instruction;
	size_t next = ptx_next(text, verifier->at);
	bool prototype;
	u64 number;
	int status;

	if (ptx_is(text, next, ":") && text->tokens[verifier->at].kind == PTX_WORD) {
		if (verifier->flow.step != FLOW_IDLE)
			return verify_refuse(verifier, verifier->at,
					     "a label inside of a fence");
		if (flow_is_reserved(text, verifier->at))
			return verify_refuse(verifier, verifier->at,
					     "a name of a fence is declared");
		/* A table of labels is no place to jump to. */
		if (!ptx_is(text, ptx_next(text, next), ".branchtargets"))
			verifier->prologue = false;
		verify_step(verifier);
		verify_step(verifier);
		return 0;
	}
	if (verify_is(verifier, ".loc"))
		return verify_skip_line(verifier);
	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
		if (!verify_is(verifier, notes[i]))
			continue;
		prototype = verify_is(verifier, ".callprototype");
		/* No load of a bound may follow. */
		if (verify_masks_bytes(text, verifier->at))
			verifier->prologue = false;
		for (; !verify_is(verifier, ";"); verify_step(verifier)) {
			if (verify_at_end(verifier) || flow_is_reserved(text, verifier->at))
				return verify_refuse(verifier, verifier->at,
						     "a directive has no end");
			/* A name would look as if it declared a parameter of a call. */
			if (prototype && text->tokens[verifier->at].kind == PTX_WORD &&
			    !verify_is(verifier, "_") && !ptx_begins(text, verifier->at, ".") &&
			    !ptx_number(text, verifier->at, &number))
				return verify_refuse(verifier, verifier->at,
						     "a prototype has a name");
		}
		verify_step(verifier);
		return 0;
	}
	if (ptx_begins(text, verifier->at, "."))
		return verify_declaration(verifier);
	status = read_instruction(verifier, &instruction);
	return status ? status : verify_instruction(verifier, &instruction);
}

/* From after the brace that opens a body to after the one that closes it. */
int verify_body(struct verifier *verifier)
{
	int status = 0;

	flow_begin(&verifier->flow);
	verifier->body = verifier->at;
	verifier->prologue = true;
	for (verifier->depth = 1; !status && verifier->depth;) {
		bool brace = verify_is(verifier, "{") || verify_is(verifier, "}");

		status = verify_refuse_endless(verifier);
		if (status)
			break;
		if (verify_at_end(verifier))
			return verify_refuse(verifier, verifier->at, "a function has no end");
		if (brace && verifier->flow.step != FLOW_IDLE)
			return verify_refuse(verifier, verifier->at,
					     "a brace inside of a fence");
		if (!brace) {
			status = verify_statement(verifier);
			continue;
		}
		verifier->depth += verify_is(verifier, "{") ? 1u : -1u;
		verify_step(verifier);
	}
	return status;
}
