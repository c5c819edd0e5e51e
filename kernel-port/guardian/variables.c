// SPDX-License-Identifier: MIT OR GPL-2.0
#include "variables.h"

#include <stdlib.h>
#include <string.h>

const struct variable *variables_get(const struct variables *variables, size_t at)
{
	size_t slot;

	if (!variables->slot_count || variables->text->tokens[at].kind != PTX_WORD)
		return NULL;
	slot = ptx_hash(variables->text, at, 0) % variables->slot_count;
	for (; variables->slots[slot]; slot = (slot + 1) % variables->slot_count)
		if (ptx_same(variables->text, variables->list[variables->slots[slot] - 1].name,
			     at))
			return &variables->list[variables->slots[slot] - 1];
	return NULL;
}

/* Bytes of a type ".u32"; 0: no such type. */
static u64 type_bytes(const struct ptx_text *text, size_t at)
{
	static const char *const names[] = { "8", "16", "32", "64", "128" };

	if (!ptx_begins(text, at, ".b") && !ptx_begins(text, at, ".u") &&
	    !ptx_begins(text, at, ".s") && !ptx_begins(text, at, ".f"))
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (text->tokens[at].length == 2 + strlen(names[i]) &&
		    !memcmp(text->bytes + text->tokens[at].start + 2, names[i],
			    strlen(names[i])))
			return 1ull << i;
	return 0;
}

static int add(struct variables *variables, size_t *room, u32 name, bool global)
{
	if (variables->count == *room) {
		struct variable *more;

		*room = *room ? 2 * *room : 16;
		more = realloc(variables->list, *room * sizeof(*more));
		if (!more)
			return -SIM_EXIT_RUNTIME;
		variables->list = more;
	}
	variables->list[variables->count++] =
		(struct variable){ .name = name, .global = global };
	return 0;
}

/* The number after .align; 0: ptxas will refuse it. */
static u64 align_of(const struct ptx_text *text, size_t at)
{
	u64 align = 0;

	return ptx_number(text, at, &align) && align <= 65536 && !(align & (align - 1)) ?
		       align :
		       0;
}

/* The names of one statement: ".global .align 4 .b8 a[4] = {1,2,3,4}, b;". */
static int read_statement(struct variables *variables, size_t *room,
			  const struct ptx_statement *statement)
{
	const struct ptx_text *text = variables->text;
	struct variable *variable = NULL;
	bool global = false, constant = false, external = false, value = false, named = false;
	bool shown = false;
	u64 type = 0, vector = 1, align = 0, length;
	u32 depth = 0;

	for (size_t at = statement->range.first; at < statement->range.last;
	     at = ptx_next(text, at)) {
		if (ptx_is(text, at, "{") || ptx_is(text, at, "(")) {
			depth++;
		} else if (ptx_is(text, at, "}") || ptx_is(text, at, ")")) {
			depth--;
		} else if (depth || (value && !ptx_is(text, at, ","))) {
			/* An initial value, or the word in .attribute(.managed). */
		} else if (ptx_is(text, at, "=")) {
			value = true;
		} else if (ptx_is(text, at, ",")) {
			value = named = false;
		} else if (ptx_is(text, at, "[") && variable) {
			at = ptx_next(text, at);
			length = 0;
			if (!ptx_number(text, at, &length) ||
			    (length && variable->bytes > PTX_TEXT_MAX * 64ull / length))
				length = 0;
			variable->bytes *= length;
			at = ptx_is(text, at, "]") ? at : ptx_next(text, at);
		} else if (ptx_begins(text, at, ".")) {
			global |= ptx_is(text, at, ".global");
			constant |= ptx_is(text, at, ".const");
			external |= ptx_is(text, at, ".extern");
			shown |= ptx_is(text, at, ".visible") || ptx_is(text, at, ".weak");
			vector = ptx_is(text, at, ".v2") ? 2 :
				 ptx_is(text, at, ".v4") ? 4 :
							   vector;
			type = type_bytes(text, at) ? type_bytes(text, at) : type;
			/* The number after .align is no name. */
			if (ptx_is(text, at, ".align")) {
				at = ptx_next(text, at);
				align = align_of(text, at);
			}
		} else if (!named && text->tokens[at].kind == PTX_WORD) {
			if (add(variables, room, (u32)at, global))
				return -SIM_EXIT_RUNTIME;
			variable = &variables->list[variables->count - 1];
			variable->constant = constant;
			variable->shown = shown;
			variable->align = (u32)(align ? align : type ? type * vector : 1);
			variable->bytes = external ? 0 : type * vector;
			named = true;
		}
	}
	return 0;
}

static int index_names(struct variables *variables)
{
	variables->slot_count = 2 * variables->count + 1;
	variables->slots = calloc(variables->slot_count, sizeof(*variables->slots));
	if (!variables->slots)
		return -SIM_EXIT_RUNTIME;
	for (size_t i = 0; i < variables->count; i++) {
		size_t slot = ptx_hash(variables->text, variables->list[i].name, 0) %
			      variables->slot_count;

		while (variables->slots[slot])
			slot = (slot + 1) % variables->slot_count;
		variables->slots[slot] = (u32)i + 1;
	}
	return 0;
}

/* Look for addresses in initial values. */
static int check_values(const struct variables *variables, const struct ptx_module *module,
			struct sim_error *err)
{
	for (size_t i = 0; i < module->statement_count; i++) {
		const struct ptx_statement *statement = &module->statements[i];
		bool value = false;

		for (size_t at = statement->range.first;
		     statement->kind == PTX_VARIABLE && at < statement->range.last;
		     at = ptx_next(variables->text, at)) {
			const struct variable *found;

			value |= ptx_is(variables->text, at, "=");
			found = value ? variables_get(variables, at) : NULL;
			if (found && found->global && found->name != at)
				return ptx_error(
					variables->text, at, err,
					"an initial value holds the address of a variable");
		}
	}
	return 0;
}

int variables_find(const struct ptx_module *module, struct variables *ret_variables,
		   struct sim_error *err)
{
	size_t room = 0;
	int status = 0;

	*ret_variables = (struct variables){ .text = module->text };
	for (size_t i = 0; !status && i < module->statement_count; i++)
		if (module->statements[i].kind == PTX_VARIABLE &&
		    !ptx_is(module->text, module->statements[i].range.first, ".reg"))
			status = read_statement(ret_variables, &room, &module->statements[i]);
	status = status ? status : index_names(ret_variables);
	if (status)
		sim_runtime_error(err, "%s: out of memory", module->text->file);
	else
		status = check_values(ret_variables, module, err);
	if (status)
		variables_destroy(ret_variables);
	return status;
}

static u64 align_up(u64 bytes, u32 align)
{
	return (bytes + align - 1) & ~(u64)(align - 1);
}

/* Lay out the constants that are @shown, or the others, after @end bytes. */
static u64 lay_out(const struct variables *variables, u64 end, bool shown)
{
	for (size_t i = 0; i < variables->count; i++) {
		const struct variable *variable = &variables->list[i];

		if (variable->constant && variable->bytes && variable->shown == shown)
			end = align_up(end, variable->align) + variable->bytes;
	}
	return end;
}

u64 variables_constant_bytes(const struct variables *variables, u32 shown, u32 hidden)
{
	u64 end = lay_out(variables, shown, true);

	return lay_out(variables, align_up(end, 8) + hidden, false);
}

void variables_destroy(struct variables *variables)
{
	free(variables->list);
	free(variables->slots);
	memset(variables, 0, sizeof(*variables));
}
