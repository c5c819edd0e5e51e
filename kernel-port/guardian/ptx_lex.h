/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Words of PTX text. Every byte of the text belongs to one token, so the tokens in order are
 * the text again. The lexer is the only code that the patcher and the verifier share.
 *
 * It is stricter than ptxas. It refuses text that two readers could understand in two ways: a
 * preprocessor line, a zero byte, a control character, a comment without an end, a
 * backslash in a string or at the end of a line of a comment, a carriage return without a
 * newline, a % inside of a word.
 */
#ifndef KERNEL_PORT_GUARDIAN_PTX_LEX_H
#define KERNEL_PORT_GUARDIAN_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/error.h"
#include "engine/types.h"

/* The newest version of the PTX ISA that is read: CUDA 13.0. */
#define PTX_ISA_MAJOR 9u
#define PTX_ISA_MINOR 0u

#define PTX_TEXT_MAX  (1u << 30)

/*
 * Steps that a reader may take for each token beyond reading it. A hostile text could make it
 * read all of itself again and again, for days.
 */
#define PTX_STEPS_MAX 1024u

enum ptx_token_kind {
	PTX_SPACE,
	PTX_COMMENT,
	PTX_STRING,
	PTX_WORD, /* a name, a number, a directive or an opcode with its modifiers */
	PTX_MARK, /* one character of punctuation */
	PTX_END,  /* after the last byte; no bytes */
};

struct ptx_token {
	enum ptx_token_kind kind;
	u32 start;  /* first byte in the text */
	u32 length; /* bytes */
	u32 line;   /* of its first byte; the first line is 1 */
};

/* A text and its tokens. Owned by the caller: ptx_lex(), then ptx_text_destroy(). */
struct ptx_text {
	const char *file;  /* for messages: the end of its name; borrowed */
	const char *bytes; /* borrowed */
	size_t size;
	struct ptx_token *tokens; /* the last one is PTX_END */
	size_t count;
};

/*
 * Cut @size bytes into tokens. @bytes and @file are borrowed until ptx_text_destroy(). Returns
 * 0, or a negative enum sim_exit with one line in *err and nothing to destroy.
 */
int ptx_lex(const char *file, const char *bytes, size_t size, struct ptx_text *ret_text,
	    struct sim_error *err);
void ptx_text_destroy(struct ptx_text *text);

/* Is token @at the word or the mark @word? */
bool ptx_is(const struct ptx_text *text, size_t at, const char *word);

/* Does token @at begin with @prefix? */
bool ptx_begins(const struct ptx_text *text, size_t at, const char *prefix);

/* Are tokens @a and @b the same bytes? */
bool ptx_same(const struct ptx_text *text, size_t a, size_t b);

/* Have @steps become too many for this text? */
bool ptx_is_endless(const struct ptx_text *text, u64 steps);

/* A hash of the bytes of token @at, and of @more. */
u64 ptx_hash(const struct ptx_text *text, size_t at, u64 more);

/* The next token after @at that is neither space nor comment; at most that of PTX_END. */
size_t ptx_next(const struct ptx_text *text, size_t at);

/* Parse token @at as an unsigned integer: decimal, 0x, 0b or 0 octal, with a U after it. */
bool ptx_number(const struct ptx_text *text, size_t at, u64 *ret_value);

/*
 * Report a mistake at token @at: "FILE:LINE: WORD: MESSAGE". Returns -SIM_EXIT_USER.
 */
int ptx_error(const struct ptx_text *text, size_t at, struct sim_error *err, const char *fmt,
	      ...) __attribute__((format(printf, 4, 5)));

#endif
