// SPDX-License-Identifier: MIT OR GPL-2.0
#include "ptx_parse.h"

#include <stdlib.h>
#include <string.h>

struct parser {
	const struct ptx_text *text;
	struct ptx_module *module;
	struct sim_error *err;
	size_t at; /* the next token that is neither space nor comment */
	size_t statement_room, function_room;
};

static int fail(struct parser *parser, const char *message)
{
	return ptx_error(parser->text, parser->at, parser->err, "%s", message);
}

static bool at_end(const struct parser *parser)
{
	return parser->text->tokens[parser->at].kind == PTX_END;
}

static bool is(const struct parser *parser, const char *word)
{
	return ptx_is(parser->text, parser->at, word);
}

static void step(struct parser *parser)
{
	parser->at = ptx_next(parser->text, parser->at);
}

/* A statement from the token here on; NULL: out of memory. */
static struct ptx_statement *add_statement(struct parser *parser, enum ptx_statement_kind kind,
					   u32 function, u32 depth)
{
	struct ptx_module *module = parser->module;
	struct ptx_statement *statement;

	if (module->statement_count == parser->statement_room) {
		size_t room = parser->statement_room ? 2 * parser->statement_room : 64;

		statement = realloc(module->statements, room * sizeof(*statement));
		if (!statement) {
			sim_runtime_error(parser->err, "%s: out of memory", parser->text->file);
			return NULL;
		}
		module->statements = statement;
		parser->statement_room = room;
	}
	statement = &module->statements[module->statement_count++];
	*statement =
		(struct ptx_statement){ .kind = kind, .function = function, .depth = depth };
	statement->range.first = statement->range.last = (u32)parser->at;
	return statement;
}

/* Go after the end of a statement: a semicolon outside of braces and parentheses. */
static int skip_statement(struct parser *parser, struct ptx_statement *statement)
{
	int depth = 0;

	for (; !at_end(parser); step(parser)) {
		if (is(parser, "{") || is(parser, "(") || is(parser, "["))
			depth++;
		else if (is(parser, "}") || is(parser, ")") || is(parser, "]"))
			depth--;
		if (depth < 0)
			return fail(parser, "a bracket too many");
		if (!depth && is(parser, ";")) {
			statement->range.last = (u32)parser->at;
			step(parser);
			return 0;
		}
	}
	return fail(parser, "a statement has no end");
}

/* A header line: words and strings with commas between them, all on one line. */
static int skip_line(struct parser *parser, struct ptx_statement *statement)
{
	u32 line = parser->text->tokens[parser->at].line;

	while (!at_end(parser) && parser->text->tokens[parser->at].line == line) {
		if (is(parser, ";") || is(parser, "{") || is(parser, "}") || is(parser, "@"))
			return fail(parser, "a second statement on the line of a directive");
		statement->range.last = (u32)parser->at;
		step(parser);
	}
	return 0;
}

static int skip_section(struct parser *parser, struct ptx_statement *statement)
{
	int depth = 0;

	for (; !at_end(parser); step(parser)) {
		if (is(parser, "{")) {
			depth++;
		} else if (is(parser, "}") && !--depth) {
			statement->range.last = (u32)parser->at;
			step(parser);
			return 0;
		}
		if (depth < 0 || is(parser, ";"))
			break;
	}
	return fail(parser, "a section has no end");
}

static int parse_version(struct parser *parser)
{
	struct ptx_module *module = parser->module;
	size_t at = ptx_next(parser->text, parser->at);
	const char *number = parser->text->bytes + parser->text->tokens[at].start;
	size_t length = parser->text->tokens[at].length;

	if (module->version_major)
		return fail(parser, "a second .version");
	if (length != 3 || number[0] < '1' || number[0] > '9' || number[1] != '.' ||
	    number[2] < '0' || number[2] > '9')
		return ptx_error(parser->text, at, parser->err, "no version of PTX");
	module->version = (u32)at;
	module->version_major = (u32)(number[0] - '0');
	module->version_minor = (u32)(number[2] - '0');
	if (module->version_major == PTX_ISA_MAJOR && module->version_minor > PTX_ISA_MINOR)
		return ptx_error(parser->text, at, parser->err,
				 "PTX ISA versions up to %u.%u are read", PTX_ISA_MAJOR,
				 PTX_ISA_MINOR);
	return 0;
}

/*
 * .version, .target and .address_size stand once, in front of all else: the patcher writes
 * after them.
 */
static int refuse_late_header(struct parser *parser)
{
	static const char *const once[] = { ".version", ".target", ".address_size" };
	const struct ptx_module *module = parser->module;

	for (u32 i = 0; i < sizeof(once) / sizeof(*once); i++) {
		if (!is(parser, once[i]))
			continue;
		for (size_t j = 0; j < module->statement_count; j++) {
			const struct ptx_statement *before = &module->statements[j];

			if (before->kind != PTX_HEADER)
				return fail(parser, "it stands after other statements");
			if (ptx_is(parser->text, before->range.first, once[i]))
				return fail(parser, "a second time");
		}
	}
	return 0;
}

static int parse_header(struct parser *parser)
{
	int status = refuse_late_header(parser);
	struct ptx_module *module = parser->module;
	struct ptx_statement *statement = add_statement(parser, PTX_HEADER, PTX_NO_FUNCTION, 0);
	size_t word = ptx_next(parser->text, parser->at);
	bool size = is(parser, ".address_size");

	if (status)
		return status;
	if (!statement)
		return -SIM_EXIT_RUNTIME;
	if (is(parser, ".section"))
		return skip_section(parser, statement);
	if (is(parser, ".version"))
		status = parse_version(parser);
	else if (is(parser, ".target"))
		module->target = (u32)word;
	else if (size && !ptx_is(parser->text, word, "64"))
		status = ptx_error(parser->text, word, parser->err,
				   "addresses have to have 64 bits");
	status = status ? status : skip_line(parser, statement);
	if (size)
		module->header_end = statement->range.last;
	return status;
}

/* The head of a function: names, parameters, directives. */
struct head {
	bool entry, linked, body;
	u32 name, parameters, parameters_end;
};

/* Go to the brace or the semicolon after a head. */
static int parse_head(struct parser *parser, struct head *ret_head)
{
	u32 depth = 0, open = 0;
	bool seen = false;

	memset(ret_head, 0, sizeof(*ret_head));
	for (; !at_end(parser); step(parser)) {
		if (!depth && (is(parser, "{") || is(parser, ";")))
			break;
		if (is(parser, ".entry") || is(parser, ".func")) {
			seen = true;
			ret_head->entry = is(parser, ".entry");
		} else if (is(parser, ".visible") || is(parser, ".weak") ||
			   is(parser, ".extern")) {
			ret_head->linked = true;
		} else if (is(parser, "(")) {
			open = depth++ ? open : (u32)parser->at;
		} else if (is(parser, ")")) {
			if (!depth--)
				return fail(parser, "a bracket too many");
			if (!depth && ret_head->name && !ret_head->parameters) {
				ret_head->parameters = open;
				ret_head->parameters_end = (u32)parser->at;
			}
		} else if (is(parser, "}")) {
			break;
		} else if (seen && !depth && !ret_head->name &&
			   parser->text->tokens[parser->at].kind == PTX_WORD) {
			ret_head->name = (u32)parser->at;
		}
	}
	if (!ret_head->name || at_end(parser) || is(parser, "}"))
		return fail(parser, "the head of a function has no end");
	ret_head->body = is(parser, "{");
	return 0;
}

/*
 * Cut the operands of an instruction at commas outside of brackets; ends after the semicolon.
 */
static int parse_operands(struct parser *parser, struct ptx_statement *statement)
{
	u32 depth = 0, first = 0, last = 0;

	for (; !at_end(parser); step(parser)) {
		bool ends = !depth && is(parser, ";");

		if (ends || (!depth && is(parser, ","))) {
			if (!first && (!ends || statement->operand_count))
				return fail(parser, "an operand is missing");
			if (statement->operand_count == PTX_OPERANDS_MAX)
				return fail(parser, "too many operands");
			if (first)
				statement->operands[statement->operand_count++] =
					(struct ptx_range){ first, last };
			first = 0;
			if (!ends)
				continue;
			statement->range.last = (u32)parser->at;
			step(parser);
			return 0;
		}
		if (is(parser, "[") || is(parser, "{") || is(parser, "(")) {
			depth++;
		} else if (is(parser, "]") || is(parser, "}") || is(parser, ")")) {
			if (!depth--)
				break;
		} else if (is(parser, ";") || is(parser, ":")) {
			break;
		}
		first = first ? first : (u32)parser->at;
		last = (u32)parser->at;
	}
	return fail(parser, "an instruction has no end");
}

static int parse_instruction(struct parser *parser, struct ptx_statement *statement)
{
	const struct ptx_text *text = parser->text;

	if (is(parser, "@")) {
		step(parser);
		statement->negated = is(parser, "!");
		if (statement->negated)
			step(parser);
		statement->guard = (u32)parser->at;
		if (text->tokens[parser->at].kind != PTX_WORD)
			return fail(parser, "a predicate is wanted");
		step(parser);
	}
	statement->opcode = (u32)parser->at;
	if (text->tokens[parser->at].kind != PTX_WORD || ptx_begins(text, parser->at, "."))
		return fail(parser, "an opcode is wanted");
	if (text->bytes[text->tokens[parser->at].start + text->tokens[parser->at].length - 1] ==
	    '.')
		return fail(parser, "an opcode ends in a dot");
	step(parser);
	if (ptx_begins(text, parser->at, "."))
		return fail(parser, "a modifier stands apart from its opcode");
	return parse_operands(parser, statement);
}

/* ".loc 1 2 3", and "function_name NAME + 4, inlined_at 1 2 3" after it. No semicolon. */
static int parse_loc(struct parser *parser, struct ptx_statement *statement)
{
	return skip_line(parser, statement);
}

static int parse_body_statement(struct parser *parser, u32 function, u32 depth)
{
	static const char *const notes[] = { ".pragma", ".branchtargets", ".calltargets",
					     ".callprototype" };
	struct ptx_statement *statement =
		add_statement(parser, PTX_INSTRUCTION, function, depth);
	size_t behind = ptx_next(parser->text, parser->at);

	if (!statement)
		return -SIM_EXIT_RUNTIME;
	if (is(parser, "{")) {
		statement->kind = PTX_OPEN;
		statement->depth = depth + 1;
		step(parser);
		return 0;
	}
	if (parser->text->tokens[parser->at].kind == PTX_WORD &&
	    ptx_is(parser->text, behind, ":")) {
		statement->kind = PTX_LABEL;
		statement->range.last = (u32)behind;
		step(parser);
		step(parser);
		return 0;
	}
	if (is(parser, ".loc")) {
		statement->kind = PTX_NOTE;
		return parse_loc(parser, statement);
	}
	if (!ptx_begins(parser->text, parser->at, "."))
		return parse_instruction(parser, statement);
	statement->kind = PTX_VARIABLE;
	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
		if (is(parser, notes[i]))
			statement->kind = PTX_NOTE;
	return skip_statement(parser, statement);
}

/* From the brace that opens the body to the one that closes it. */
static int parse_body(struct parser *parser, const struct head *head,
		      struct ptx_statement *whole)
{
	struct ptx_module *module = parser->module;
	u32 index = (u32)module->function_count, depth = 1;
	struct ptx_statement *statement;

	if (module->function_count == parser->function_room) {
		size_t room = parser->function_room ? 2 * parser->function_room : 16;
		struct ptx_function *more = realloc(module->functions, room * sizeof(*more));

		if (!more)
			return sim_runtime_error(parser->err, "%s: out of memory",
						 parser->text->file);
		module->functions = more;
		parser->function_room = room;
	}
	module->functions[module->function_count++] = (struct ptx_function){
		.name = head->name,
		.entry = head->entry,
		.linked = head->linked,
		.statement = (u32)(whole - module->statements),
		.parameters = head->parameters,
		.parameters_end = head->parameters_end,
	};
	whole->function = index;
	whole->range.last = (u32)parser->at;
	for (step(parser); depth;) {
		int status;

		if (at_end(parser))
			return fail(parser, "a function has no end");
		if (!is(parser, "}")) {
			depth += is(parser, "{");
			status = parse_body_statement(parser, index, depth - is(parser, "{"));
			if (status)
				return status;
			continue;
		}
		statement = add_statement(parser, PTX_CLOSE, index, depth--);
		if (!statement)
			return -SIM_EXIT_RUNTIME;
		step(parser);
	}
	return 0;
}

static int parse_module_statement(struct parser *parser)
{
	static const char *const headers[] = { ".version", ".target", ".address_size", ".file",
					       ".section" };
	static const char *const variables[] = {
		".global", ".const",  ".shared",     ".local",
		".tex",	   ".texref", ".samplerref", ".surfref"
	};
	struct ptx_statement *statement;
	size_t at = parser->at;
	struct head head;
	int status;

	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		if (is(parser, headers[i]))
			return parse_header(parser);
	statement = add_statement(parser, PTX_VARIABLE, PTX_NO_FUNCTION, 0);
	if (!statement)
		return -SIM_EXIT_RUNTIME;
	if (is(parser, ".pragma") || is(parser, ".alias")) {
		statement->kind = PTX_NOTE;
		return skip_statement(parser, statement);
	}
	while (ptx_is(parser->text, at, ".visible") || ptx_is(parser->text, at, ".extern") ||
	       ptx_is(parser->text, at, ".weak") || ptx_is(parser->text, at, ".common"))
		at = ptx_next(parser->text, at);
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		if (ptx_is(parser->text, at, variables[i]))
			return skip_statement(parser, statement);
	if (!ptx_is(parser->text, at, ".entry") && !ptx_is(parser->text, at, ".func"))
		return fail(parser, "no statement of a module that is known");
	status = parse_head(parser, &head);
	if (status)
		return status;
	statement->kind = head.body ? PTX_FUNCTION : PTX_PROTOTYPE;
	if (head.body)
		return parse_body(parser, &head, statement);
	statement->range.last = (u32)parser->at;
	step(parser);
	return 0;
}

int ptx_parse(const struct ptx_text *text, struct ptx_module *ret_module, struct sim_error *err)
{
	struct parser parser = { .text = text, .module = ret_module, .err = err };
	int status = 0;

	memset(ret_module, 0, sizeof(*ret_module));
	ret_module->text = text;
	if (text->tokens[0].kind == PTX_SPACE || text->tokens[0].kind == PTX_COMMENT)
		step(&parser);
	while (!status && !at_end(&parser))
		status = parse_module_statement(&parser);
	if (!status &&
	    (!ret_module->version_major || !ret_module->target || !ret_module->header_end))
		status = sim_user_error(err, "%s: no .version, .target or .address_size",
					text->file);
	if (status)
		ptx_module_destroy(ret_module);
	return status;
}

void ptx_module_destroy(struct ptx_module *module)
{
	free(module->statements);
	free(module->functions);
	memset(module, 0, sizeof(*module));
}
