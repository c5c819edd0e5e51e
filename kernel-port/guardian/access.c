// SPDX-License-Identifier: MIT OR GPL-2.0
#include "access.h"

#include <string.h>

/* Offsets are added as 32-bit or 64-bit constants; none that is used in earnest is larger. */
#define OFFSET_MAX (1ull << 40)

/* The next modifier of an opcode after *@at; its length with the dot, or 0. */
static size_t next_modifier(const char *word, size_t length, size_t *at)
{
	size_t end = *at;

	while (*at < length && word[*at] != '.')
		++*at;
	for (end = *at + 1; end < length && word[end] != '.'; end++)
		;
	return *at < length ? end - *at : 0;
}

static bool equal(const char *word, size_t length, const char *name)
{
	return strlen(name) == length && !memcmp(word, name, length);
}

bool access_has_modifier(const struct ptx_text *text, size_t at, const char *modifier)
{
	const char *word = text->bytes + text->tokens[at].start;
	size_t length = text->tokens[at].length, name = strlen(modifier), part;

	for (size_t i = 0; (part = next_modifier(word, length, &i)); i += part)
		if (part >= name && !memcmp(word + i, modifier, name) &&
		    (part == name || word[i + name] == ':'))
			return true;
	return false;
}

/* log2 of the bytes of a type; -1: no type. */
static int type_shift(const char *word, size_t length)
{
	static const struct {
		const char *name;
		int shift;
	} types[] = {
		{ ".b8", 0 },  { ".u8", 0 },   { ".s8", 0 },	{ ".b16", 1 },	  { ".u16", 1 },
		{ ".s16", 1 }, { ".f16", 1 },  { ".bf16", 1 },	{ ".b32", 2 },	  { ".u32", 2 },
		{ ".s32", 2 }, { ".f32", 2 },  { ".b64", 3 },	{ ".u64", 3 },	  { ".s64", 3 },
		{ ".f64", 3 }, { ".b128", 4 }, { ".f16x2", 2 }, { ".bf16x2", 2 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (equal(word, length, types[i].name))
			return types[i].shift;
	return -1;
}

static int vector_shift(const char *word, size_t length)
{
	return equal(word, length, ".v2") ? 1 :
	       equal(word, length, ".v4") ? 2 :
	       equal(word, length, ".v8") ? 3 :
					    0;
}

/* The width that the modifiers say; false: none, or two. */
static bool find_width(const struct ptx_text *text, u32 opcode, u32 *ret_shift)
{
	const char *word = text->bytes + text->tokens[opcode].start;
	size_t length = text->tokens[opcode].length, part;
	int type = -1, vector = 0;

	for (size_t i = 0; (part = next_modifier(word, length, &i)); i += part) {
		int shift = type_shift(word + i, part);

		if (shift >= 0 && type >= 0)
			return false;
		type = shift >= 0 ? shift : type;
		vector += vector_shift(word + i, part);
	}
	*ret_shift = (u32)(type + vector);
	return type >= 0 && type + vector <= 5;
}

/* The width of the opcodes that have no type: a copy's size, a line of the cache, a hint. */
static bool find_other_width(const struct ptx_text *text, const struct ptx_statement *statement,
			     const struct opcode *opcode, u32 *ret_shift)
{
	u64 bytes = 1;
	bool copy = !strcmp(opcode->name, "cp.async");
	u32 size = copy ? 2 : 1;

	if (copy || opcode->name[0] == 'a') {
		if (statement->operand_count <= size ||
		    statement->operands[size].first != statement->operands[size].last ||
		    !ptx_number(text, statement->operands[size].first, &bytes))
			return false;
		if (copy ? bytes != 4 && bytes != 8 && bytes != 16 : bytes != 128)
			return false;
	}
	for (*ret_shift = 0; bytes > 1; bytes >>= 1)
		++*ret_shift;
	return true;
}

/* "[NAME]", "[NAME+8]", "[NAME+-8]", "[NAME-8]". */
static bool parse_address(const struct ptx_text *text, struct ptx_range range,
			  struct access *access)
{
	size_t at = range.first;
	bool negative = false;
	u64 value;

	access->range = range;
	if (!ptx_is(text, at, "["))
		return false;
	access->name = (u32)(at = ptx_next(text, at));
	access->offset = 0;
	if (text->tokens[at].kind != PTX_WORD || ptx_number(text, at, &value))
		return false;
	at = ptx_next(text, at);
	if (ptx_is(text, at, "+") || ptx_is(text, at, "-")) {
		bool plus = ptx_is(text, at, "+");

		at = ptx_next(text, at);
		negative = !plus;
		if (plus && ptx_is(text, at, "-")) {
			negative = true;
			at = ptx_next(text, at);
		}
		if (!ptx_number(text, at, &value) || value > OFFSET_MAX)
			return false;
		access->offset = negative ? -(s64)value : (s64)value;
		at = ptx_next(text, at);
	}
	return ptx_is(text, at, "]") && at == range.last;
}

int access_decode(const struct ptx_text *text, const struct ptx_statement *statement,
		  const struct opcode *opcode, struct access *ret_access, struct sim_error *err)
{
	static const char *const spaces[ACCESS_SPACES] = {
		[ACCESS_GLOBAL] = ".global", [ACCESS_SHARED] = ".shared",
		[ACCESS_LOCAL] = ".local",   [ACCESS_CONST] = ".const",
		[ACCESS_PARAM] = ".param",
	};
	const char *name = opcode->name;
	bool copy = !strcmp(name, "cp.async");
	bool typed =
		name[0] == 'l' || name[0] == 's' || name[0] == 'r' || !strcmp(name, "atom");
	u32 found = 0;

	*ret_access = (struct access){ .kind = ACCESS_HINT };
	if (name[0] == 'l' || copy)
		ret_access->kind = ACCESS_LOAD;
	else if (name[0] == 's')
		ret_access->kind = ACCESS_STORE;
	else if (typed)
		ret_access->kind = ACCESS_ATOMIC;
	for (u32 i = 1; i < ACCESS_SPACES; i++) {
		if (!access_has_modifier(text, statement->opcode, spaces[i]))
			continue;
		ret_access->space = (enum access_space)i;
		found++;
	}
	/* A copy names both of its spaces: to shared from global. */
	if (copy && found == 2 && access_has_modifier(text, statement->opcode, ".shared") &&
	    access_has_modifier(text, statement->opcode, ".global"))
		ret_access->space = ACCESS_GLOBAL;
	else if (found > 1 || copy)
		return ptx_error(text, statement->opcode, err, "two state spaces");
	if (statement->operand_count <= opcode->address ||
	    !parse_address(text, statement->operands[opcode->address], ret_access))
		return ptx_error(text, statement->opcode, err,
				 "the address is no register or variable with an offset");
	if (typed ? !find_width(text, statement->opcode, &ret_access->width_shift) :
		    !find_other_width(text, statement, opcode, &ret_access->width_shift))
		return ptx_error(text, statement->opcode, err, "a width that is not known");
	return 0;
}
