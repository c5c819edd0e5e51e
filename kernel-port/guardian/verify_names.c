// SPDX-License-Identifier: MIT OR GPL-2.0
#include "verify_names.h"

#include <stdlib.h>
#include <string.h>

int verify_refuse(const struct verifier *verifier, size_t at, const char *why)
{
	return ptx_error(verifier->text, at, verifier->err, "%s", why);
}

bool verify_is(const struct verifier *verifier, const char *word)
{
	return ptx_is(verifier->text, verifier->at, word);
}

bool verify_at_end(const struct verifier *verifier)
{
	return verifier->text->tokens[verifier->at].kind == PTX_END;
}

void verify_step(struct verifier *verifier)
{
	verifier->at = ptx_next(verifier->text, verifier->at);
}

int verify_refuse_endless(const struct verifier *verifier)
{
	return ptx_is_endless(verifier->text, verifier->steps) ?
		       verify_refuse(verifier, verifier->at, "it takes too long to verify") :
		       0;
}

/* Where the name is in verifier->slots, or the free slot where it would be. */
static size_t find_slot(struct verifier *verifier, enum name_kind kind, size_t at)
{
	const struct ptx_text *text = verifier->text;
	size_t slot = ptx_hash(text, at, kind) & (verifier->slot_count - 1);

	for (; verifier->slots[slot]; slot = (slot + 1) & (verifier->slot_count - 1)) {
		const struct name *name = &verifier->names[verifier->slots[slot] - 1];

		if (name->kind == kind && ptx_same(text, name->token, at))
			break;
		verifier->steps++;
	}
	return slot;
}

const struct name *verify_find_name(struct verifier *verifier, enum name_kind kind, size_t at)
{
	u32 found = verifier->slot_count ? verifier->slots[find_slot(verifier, kind, at)] : 0;

	return found ? &verifier->names[found - 1] : NULL;
}

/* Room for one more name, and for twice as many slots. False: out of memory. */
static bool make_room(struct verifier *verifier)
{
	struct name *more;

	if (verifier->name_count < verifier->name_room)
		return true;
	verifier->name_room = verifier->name_room ? 2 * verifier->name_room : 32;
	more = realloc(verifier->names, verifier->name_room * sizeof(*more));
	if (!more)
		return false;
	verifier->names = more;
	free(verifier->slots);
	verifier->slot_count = 2 * verifier->name_room;
	verifier->slots = calloc(verifier->slot_count, sizeof(*verifier->slots));
	if (!verifier->slots) {
		verifier->slot_count = 0;
		return false;
	}
	for (size_t i = 0; i < verifier->name_count; i++)
		verifier->slots[find_slot(verifier, more[i].kind, more[i].token)] =
			(u32)(i + 1);
	return true;
}

/* Scopes are not told apart. So a name that is declared again has the smaller length. */
static int add_name(struct verifier *verifier, enum name_kind kind, size_t token, u64 bytes)
{
	size_t slot;

	if (!make_room(verifier))
		return sim_runtime_error(verifier->err, "%s: out of memory",
					 verifier->text->file);
	slot = find_slot(verifier, kind, token);
	if (verifier->slots[slot]) {
		struct name *name = &verifier->names[verifier->slots[slot] - 1];

		name->bytes = bytes < name->bytes ? bytes : name->bytes;
		return 0;
	}
	verifier->names[verifier->name_count++] = (struct name){ kind, token, bytes };
	verifier->slots[slot] = (u32)verifier->name_count;
	return verify_refuse_endless(verifier);
}

/* The bytes of one element of a variable: ".v2 .u32"; 0: unknown. */
u64 verify_element_bytes(const struct ptx_text *text, size_t at)
{
	static const struct {
		const char *word;
		u64 bytes;
	} words[] = { { ".b8", 1 },  { ".u8", 1 },  { ".s8", 1 },  { ".b16", 2 },
		      { ".u16", 2 }, { ".s16", 2 }, { ".f16", 2 }, { ".b32", 4 },
		      { ".u32", 4 }, { ".s32", 4 }, { ".f32", 4 }, { ".b64", 8 },
		      { ".u64", 8 }, { ".s64", 8 }, { ".f64", 8 }, { ".b128", 16 } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (ptx_is(text, at, words[i].word))
			return words[i].bytes;
	return 0;
}

/* Does an access lie inside of a variable? */
bool verify_is_inside(const struct name *variable, s64 offset, u32 shift)
{
	return offset >= 0 && (u64)offset + (1ull << shift) <= variable->bytes;
}

/* "x<9>" declares x0 to x8: none of them may be a name that is known, or one of a fence. */
static int refuse_numbered(struct verifier *verifier, size_t at)
{
	const struct ptx_text *text = verifier->text;
	const struct ptx_token *prefix = &text->tokens[at];

	if (!ptx_is(text, ptx_next(text, at), "<"))
		return 0;
	if (flow_is_reserved(text, at))
		return verify_refuse(verifier, at, "a name of a fence is declared");
	verifier->steps += verifier->name_count;
	for (size_t i = 0; i < verifier->name_count; i++) {
		const struct ptx_token *name = &text->tokens[verifier->names[i].token];
		const char *word = text->bytes + name->start;
		u32 digits = prefix->length;

		if (name->length <= prefix->length ||
		    memcmp(word, text->bytes + prefix->start, prefix->length))
			continue;
		while (digits < name->length && word[digits] >= '0' && word[digits] <= '9')
			digits++;
		if (digits == name->length)
			return verify_refuse(
				verifier, at,
				"one of its numbers hides a variable or a function");
	}
	return verify_refuse_endless(verifier);
}

/* Variables and functions are known by their names, so nothing else may have those. */
int verify_refuse_hiding(struct verifier *verifier, size_t at, bool local)
{
	if (verify_find_name(verifier, NAME_GLOBAL, at))
		return verify_refuse(verifier, at, "it hides a variable of the module");
	if (!local && verify_find_name(verifier, NAME_LOCAL, at))
		return verify_refuse(verifier, at, "it hides a local variable");
	if (verify_find_name(verifier, NAME_FUNCTION, at))
		return verify_refuse(verifier, at, "it hides a function");
	return refuse_numbered(verifier, at);
}

int verify_variables(struct verifier *verifier, size_t first, size_t end, enum name_kind kind,
		     u64 *all_bytes)
{
	const struct ptx_text *text = verifier->text;
	u64 element = 0, vector = 1;
	bool external = false;
	int status = 0;

	for (size_t at = first; at < end && !status; at = ptx_next(text, at)) {
		u64 bytes, length;
		size_t name = at;

		external |= ptx_is(text, at, ".extern");
		vector = ptx_is(text, at, ".v2") ? 2 : ptx_is(text, at, ".v4") ? 4 : vector;
		element = verify_element_bytes(text, at) ? verify_element_bytes(text, at) :
							   element;
		if (text->tokens[at].kind != PTX_WORD || ptx_begins(text, at, ".") || !element)
			continue;
		bytes = external ? 0 : element * vector;
		while (ptx_is(text, ptx_next(text, at), "[")) {
			at = ptx_next(text, ptx_next(text, at));
			if (!ptx_number(text, at, &length) || length > 1ull << 34 ||
			    (length && bytes > (1ull << 40) / length))
				length = 0;
			bytes *= length;
			at = ptx_is(text, at, "]") ? at : ptx_next(text, at);
			if (!ptx_is(text, at, "]"))
				return verify_refuse(verifier, at,
						     "a length that is not understood");
		}
		status = add_name(verifier, kind, name, bytes);
		*all_bytes += bytes;
		/* Over an initial value, to the comma after it. */
		for (u32 depth = 0; at < end; at = ptx_next(text, at)) {
			if (ptx_is(text, at, "{") || ptx_is(text, at, "("))
				depth++;
			else if (ptx_is(text, at, "}") || ptx_is(text, at, ")"))
				depth--;
			else if (!depth && ptx_is(text, at, ","))
				break;
		}
	}
	return status;
}

/* Is the word at @at a quality of a pointer parameter, ".param .u64 .ptr .global NAME"? */
static bool is_of_pointer(const struct ptx_text *text, size_t at)
{
	while (at && (text->tokens[at - 1].kind == PTX_SPACE ||
		      text->tokens[at - 1].kind == PTX_COMMENT))
		at--;
	return at && ptx_is(text, at - 1, ".ptr");
}

bool verify_has(const struct ptx_text *text, size_t opcode, const char *modifier)
{
	const char *word = text->bytes + text->tokens[opcode].start;
	size_t length = text->tokens[opcode].length, wanted = strlen(modifier);

	/* The first byte by itself: most words have no such modifier. */
	for (size_t i = 0; i + wanted <= length; i++)
		if (word[i] == *modifier && !memcmp(word + i, modifier, wanted) &&
		    (i + wanted == length || word[i + wanted] == '.' ||
		     word[i + wanted] == ':'))
			return true;
	return false;
}

/*
 * Does a directive stand after the word at @at without a space,
 * ".visible.global", "f.noreturn"? ptxas reads two words there. Opcodes have
 * their modifiers so, but none of these.
 */
static bool is_joined(const struct ptx_text *text, size_t at)
{
	static const char *const directives[] = { ".alias",  ".common", ".entry",   ".extern",
						  ".file",   ".func",	".loc",	    ".noreturn",
						  ".pragma", ".reg",	".section", ".target",
						  ".visible" };
	const struct ptx_token *token = &text->tokens[at];
	const char *word = text->bytes + token->start;

	if (*word == '.')
		return memchr(word + 1, '.', token->length - 1) != NULL;
	if (!memchr(word, '.', token->length))
		return false;
	for (size_t i = 0; i < sizeof(directives) / sizeof(*directives); i++)
		if (verify_has(text, at, directives[i]))
			return true;
	return false;
}

bool verify_masks_bytes(const struct ptx_text *text, size_t at)
{
	return ptx_is(text, at, ".pragma") &&
	       ptx_begins(text, ptx_next(text, at), "\"used_bytes_mask ");
}

/*
 * Directives that change what verified code does. A .pragma may have registers spilled to
 * shared memory, where any store reaches them. A function that is said not to return may do so,
 * to any code after the call.
 */
static int refuse_directives(const struct verifier *verifier)
{
	static const char *const harmless[] = { "\"nounroll\"", "\"used_bytes_mask ",
						"\"frequency " };
	const struct ptx_text *text = verifier->text;

	for (size_t at = 0; at < text->count; at++) {
		size_t value;
		bool known = false;

		if (text->tokens[at].kind != PTX_WORD)
			continue;
		if (is_joined(text, at))
			return verify_refuse(
				verifier, at,
				"a directive stands after a word, without a space");
		if (ptx_is(text, at, ".alias"))
			return verify_refuse(verifier, at, "aliases are not followed");
		if (ptx_is(text, at, ".unified"))
			return verify_refuse(verifier, at, "it may lie in another module");
		if (ptx_is(text, at, ".noreturn"))
			return verify_refuse(verifier, at, "it may return all the same");
		if (!ptx_is(text, at, ".pragma"))
			continue;
		value = ptx_next(text, at);
		for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
			known |= ptx_begins(text, value, harmless[i]);
		if (!known || !ptx_is(text, ptx_next(text, value), ";"))
			return verify_refuse(verifier, value, "a pragma that is not known");
	}
	return 0;
}

int verify_collect(struct verifier *verifier)
{
	const struct ptx_text *text = verifier->text;
	int status = refuse_directives(verifier);
	u32 depth = 0;
	u64 number = 0;

	for (size_t at = 0; at < text->count && !status; at++) {
		size_t end = at;

		if (text->tokens[at].kind == PTX_SPACE || text->tokens[at].kind == PTX_COMMENT)
			continue;
		depth += ptx_is(text, at, "{");
		depth -= ptx_is(text, at, "}") && depth;
		verifier->has_calls |= ptx_begins(text, at, "call");
		if ((ptx_is(text, at, ".global") || ptx_is(text, at, ".local")) &&
		    !is_of_pointer(text, at)) {
			bool global = ptx_is(text, at, ".global");
			size_t before = at;

			/* ".extern" stands in front. */
			while (before && !ptx_is(text, before - 1, ";") &&
			       !ptx_is(text, before - 1, "}"))
				before--;
			while (!ptx_is(text, end, ";") && text->tokens[end].kind != PTX_END)
				end++;
			status = verify_variables(verifier, global && !depth ? before : at, end,
						  global ? NAME_GLOBAL : NAME_LOCAL, &number);
			at = end;
		} else if (ptx_is(text, at, ".param")) {
			size_t name = ptx_next(text, at);

			/* The first word that is no quality and no number. */
			while (ptx_begins(text, name, ".") ||
			       (text->tokens[name].length && ptx_number(text, name, &number)))
				name = ptx_next(text, name);
			if (text->tokens[name].kind == PTX_WORD)
				status = add_name(verifier, NAME_PARAMETER, name, 0);
		} else if (ptx_is(text, at, ".func")) {
			size_t name = ptx_next(text, at);

			while (ptx_is(text, name, "(")) {
				while (!ptx_is(text, name, ")") &&
				       text->tokens[name].kind != PTX_END)
					name = ptx_next(text, name);
				name = ptx_next(text, name);
			}
			for (end = name; !ptx_is(text, end, ";") && !ptx_is(text, end, "{") &&
					 text->tokens[end].kind != PTX_END;)
				end = ptx_next(text, end);
			if (ptx_is(text, end, "{"))
				status = add_name(verifier, NAME_FUNCTION, name, 0);
		}
	}
	return status;
}
