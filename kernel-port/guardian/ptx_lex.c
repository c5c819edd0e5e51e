// SPDX-License-Identifier: MIT OR GPL-2.0
#include "ptx_lex.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_SHOWN_MAX 60
#define FILE_SHOWN_MAX 400 /* so that the reason after it has room in a message */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '%' || c == '.';
}

int ptx_error(const struct ptx_text *text, size_t at, struct sim_error *err, const char *fmt,
	      ...)
{
	const struct ptx_token *token = &text->tokens[at];
	char message[512];
	va_list arguments;
	int shown = token->length < WORD_SHOWN_MAX ? (int)token->length : WORD_SHOWN_MAX;

	va_start(arguments, fmt);
	vsnprintf(message, sizeof(message), fmt, arguments);
	va_end(arguments);
	if (token->kind == PTX_END)
		return sim_user_error(err, "%s:%u: end of file: %s", text->file, token->line,
				      message);
	return sim_user_error(err, "%s:%u: %.*s: %s", text->file, token->line, shown,
			      text->bytes + token->start, message);
}

static int bad_byte(const struct ptx_text *text, u32 line, struct sim_error *err,
		    const char *message)
{
	return sim_user_error(err, "%s:%u: %s", text->file, line, message);
}

/* The length of the token at @at, and its kind. 0: it is none, and *ret_wrong says why. */
static size_t token_at(const char *bytes, size_t size, size_t at, enum ptx_token_kind *ret_kind,
		       const char **ret_wrong)
{
	size_t end = at;

	if (is_space(bytes[at])) {
		*ret_kind = PTX_SPACE;
		while (end < size && is_space(bytes[end]))
			end++;
	} else if (size - at >= 2 && bytes[at] == '/' && bytes[at + 1] == '/') {
		*ret_kind = PTX_COMMENT;
		while (end < size && bytes[end] != '\n' && bytes[end] != '\r')
			end++;
		*ret_wrong = "a line comment ends in a backslash";
		if (bytes[end - 1] == '\\')
			return 0;
	} else if (size - at >= 2 && bytes[at] == '/' && bytes[at + 1] == '*') {
		*ret_kind = PTX_COMMENT;
		*ret_wrong = "a comment has no end";
		for (end = at + 4; end <= size && memcmp(bytes + end - 2, "*/", 2); end++)
			;
		if (end > size)
			return 0;
		/* Who joins lines may find the end of the comment before we do. */
		*ret_wrong = "a line of a comment ends in a backslash";
		for (size_t i = at; i < end; i++)
			if (bytes[i] == '\\' && (bytes[i + 1] == '\n' || bytes[i + 1] == '\r'))
				return 0;
	} else if (bytes[at] == '"') {
		*ret_kind = PTX_STRING;
		*ret_wrong = "a string has a backslash, or no end on its line";
		for (end = at + 1; end < size && bytes[end] != '"'; end++)
			if (bytes[end] == '\n' || bytes[end] == '\\')
				return 0;
		if (end++ >= size)
			return 0;
	} else if (is_word(bytes[at])) {
		/* "::" joins the parts of a modifier: .shared::cta. */
		*ret_kind = PTX_WORD;
		*ret_wrong = "a % inside of a word";
		for (;;) {
			/* ptxas begins a new word there: "mov.b64%rd1". */
			if (end > at && end < size && bytes[end] == '%')
				return 0;
			if (end < size && is_word(bytes[end]))
				end++;
			else if (size - end > 2 && bytes[end] == ':' && bytes[end + 1] == ':')
				end += 2;
			else
				break;
		}
	} else {
		*ret_kind = PTX_MARK;
		*ret_wrong = bytes[at] == '#' ? "preprocessor lines are not read" :
						"this byte is no part of PTX";
		if (!bytes[at] || !strchr(",;:[]{}()+-*/<>=!@|&~^?", bytes[at]))
			return 0;
		end++;
	}
	return end - at;
}

/*
 * A byte that may not be anywhere, comments included: ptxas could end or break the text there.
 */
static bool is_bad_anywhere(char c)
{
	return ((unsigned char)c < ' ' && !is_space(c)) || c == 127;
}

int ptx_lex(const char *file, const char *bytes, size_t size, struct ptx_text *ret_text,
	    struct sim_error *err)
{
	size_t room = 0, length = strlen(file);
	struct ptx_text text = {
		.file = length > FILE_SHOWN_MAX ? file + length - FILE_SHOWN_MAX : file,
		.bytes = bytes,
		.size = size,
	};
	u32 line = 1;
	int status = 0;

	if (size > PTX_TEXT_MAX)
		return sim_user_error(err, "%s: a text of more than 1 GiB", file);
	for (size_t at = 0;; at += text.tokens[text.count - 1].length) {
		struct ptx_token token = { .kind = PTX_END, .start = (u32)at, .line = line };
		const char *wrong = NULL;

		if (text.count == room) {
			struct ptx_token *more;

			room = room ? 2 * room : 256;
			more = realloc(text.tokens, room * sizeof(*more));
			if (!more) {
				status = sim_runtime_error(err, "%s: out of memory", text.file);
				break;
			}
			text.tokens = more;
		}
		if (at < size) {
			token.length = (u32)token_at(bytes, size, at, &token.kind, &wrong);
			for (size_t i = 0; i < token.length; i++) {
				line += bytes[at + i] == '\n';
				/*
				 * A line comment goes on after a carriage
				 * return alone, in ptxas.
				 */
				if (bytes[at + i] == '\r' &&
				    (at + i + 1 == size || bytes[at + i + 1] != '\n'))
					wrong = "a carriage return alone", token.length = 0;
				else if (is_bad_anywhere(bytes[at + i]))
					wrong = "a control character", token.length = 0;
			}
			if (!token.length) {
				status = bad_byte(&text, line, err, wrong);
				break;
			}
		}
		text.tokens[text.count++] = token;
		if (token.kind == PTX_END)
			break;
	}
	if (status)
		ptx_text_destroy(&text);
	*ret_text = text;
	return status;
}

void ptx_text_destroy(struct ptx_text *text)
{
	free(text->tokens);
	text->tokens = NULL;
	text->count = 0;
}

/*
 * Most questions have the answer no, by the first byte: words are asked for
 * one after the other.
 */
static u32 equal_bytes(const struct ptx_text *text, size_t at, const char *word)
{
	const struct ptx_token *token = &text->tokens[at];
	const char *bytes = text->bytes + token->start;
	u32 count = 0;

	while (count < token->length && word[count] && bytes[count] == word[count])
		count++;
	return count;
}

bool ptx_is(const struct ptx_text *text, size_t at, const char *word)
{
	u32 count = equal_bytes(text, at, word);

	return count == text->tokens[at].length && !word[count];
}

bool ptx_begins(const struct ptx_text *text, size_t at, const char *prefix)
{
	return !prefix[equal_bytes(text, at, prefix)];
}

bool ptx_same(const struct ptx_text *text, size_t a, size_t b)
{
	return text->tokens[a].length == text->tokens[b].length &&
	       !memcmp(text->bytes + text->tokens[a].start, text->bytes + text->tokens[b].start,
		       text->tokens[a].length);
}

bool ptx_is_endless(const struct ptx_text *text, u64 steps)
{
	return steps / PTX_STEPS_MAX > text->count;
}

u64 ptx_hash(const struct ptx_text *text, size_t at, u64 more)
{
	u64 value = 14695981039346656037ull ^ more;

	for (u32 i = 0; i < text->tokens[at].length; i++)
		value = (value ^ (u8)text->bytes[text->tokens[at].start + i]) *
			1099511628211ull;
	return value ^ value >> 29;
}

size_t ptx_next(const struct ptx_text *text, size_t at)
{
	if (at < text->count - 1)
		at++;
	while (text->tokens[at].kind == PTX_SPACE || text->tokens[at].kind == PTX_COMMENT)
		at++;
	return at;
}

bool ptx_number(const struct ptx_text *text, size_t at, u64 *ret_value)
{
	const char *digits = text->bytes + text->tokens[at].start;
	size_t length = text->tokens[at].length;
	u64 base = 10, value = 0;

	if (length && digits[length - 1] == 'U')
		length--;
	if (length > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		base = 16;
	else if (length > 2 && digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B'))
		base = 2;
	else if (length > 1 && digits[0] == '0')
		base = 8;
	for (size_t i = base == 16 || base == 2 ? 2 : 0; i < length; i++) {
		char c = digits[i];
		u64 digit = c >= '0' && c <= '9' ? (u64)(c - '0') :
			    c >= 'a' && c <= 'f' ? (u64)(c - 'a') + 10 :
			    c >= 'A' && c <= 'F' ? (u64)(c - 'A') + 10 :
						   base;

		if (digit >= base || value > (U64_MAX - digit) / base)
			return false;
		value = base * value + digit;
	}
	*ret_value = value;
	return length > 0;
}
