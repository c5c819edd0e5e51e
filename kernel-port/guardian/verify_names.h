/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The state of the verifier, and the names that it knows: variables, functions, parameters.
 * They are collected before anything is proven, so a name that is declared later counts, too.
 */
#ifndef KERNEL_PORT_GUARDIAN_VERIFY_NAMES_H
#define KERNEL_PORT_GUARDIAN_VERIFY_NAMES_H

#include "verify_flow.h"
#include "verify_report.h"

enum name_kind { NAME_GLOBAL, NAME_LOCAL, NAME_FUNCTION, NAME_PARAMETER };

/* A name of the module; @token is where it is declared. */
struct name {
	enum name_kind kind;
	size_t token;
	u64 bytes; /* of a variable; 0: unknown */
};

/* One verification. It borrows the text, and owns @names until verify_text() returns. */
struct verifier {
	const struct ptx_text *text;
	struct sim_error *err;
	struct verify_report *report;
	struct flow flow;
	struct name *names;
	size_t name_count, name_room;
	u32 *slots; /* of a hash of the names: index + 1, or 0; a power of two of them */
	size_t slot_count;
	u64 steps; /* beyond one for each token: ptx_is_endless() */
	bool has_calls, has_format, has_bounds, has_found, has_here;
	u32 headers;   /* .version, .target, .address_size: bits */
	bool in_entry; /* in the body of the last entry of the report */
	bool prologue; /* only loads of bounds so far, in this function */
	u32 depth;
	size_t body; /* after the brace that opens this function */
	size_t at;
};

/* Report a mistake at token @at. Returns -SIM_EXIT_USER. */
int verify_refuse(const struct verifier *verifier, size_t at, const char *why);

/* Is the token that the verifier stands at the word or mark @word? */
bool verify_is(const struct verifier *verifier, const char *word);
bool verify_at_end(const struct verifier *verifier);
/* To the next token that is neither space nor comment. */
void verify_step(struct verifier *verifier);

/*
 * First pass: names of variables in device and local memory, of parameters and of functions
 * with a body, and whether there are calls. Refuses directives that are not followed. Returns
 * 0, or a negative enum sim_exit with one line in verifier->err.
 */
int verify_collect(struct verifier *verifier);

/*
 * Names of the variables of one declaration, from its token @first to its semicolon @end. One
 * of unknown length gets 0 bytes: nothing of it may be touched. Adds their bytes to *bytes.
 * Returns 0 or a negative enum sim_exit.
 */
int verify_variables(struct verifier *verifier, size_t first, size_t end, enum name_kind kind,
		     u64 *bytes);

/* The name of this kind that token @at has; NULL: none. */
const struct name *verify_find_name(struct verifier *verifier, enum name_kind kind, size_t at);

/* Refuse the text if the verifier has taken too many steps. Returns 0 or -SIM_EXIT_USER. */
int verify_refuse_endless(const struct verifier *verifier);

/*
 * Does the directive .pragma at @at say which bytes of the next load are used? The
 * others may hold anything.
 */
bool verify_masks_bytes(const struct ptx_text *text, size_t at);

/* Does token @opcode have a modifier @modifier: ".shared", ".shared::cta"? */
bool verify_has(const struct ptx_text *text, size_t opcode, const char *modifier);

/* The bytes of one element of a type that is token @at, ".u32"; 0: unknown. */
u64 verify_element_bytes(const struct ptx_text *text, size_t at);

/* Does an access of 2^@shift bytes lie inside of a variable? */
bool verify_is_inside(const struct name *variable, s64 offset, u32 shift);

/*
 * Refuse a declaration of token @at that would hide a variable or a function;
 * @local: it declares a local variable, which may have the name of another one.
 * Returns 0 or -SIM_EXIT_USER.
 */
int verify_refuse_hiding(struct verifier *verifier, size_t at, bool local);

#endif
