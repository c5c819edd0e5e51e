/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the patcher does with each opcode of the PTX ISA (version in ptx_lex.h). An opcode that
 * is not in the table is refused. The verifier has a list of its own; a test compares both.
 */
#ifndef KERNEL_PORT_GUARDIAN_OPCODES_H
#define KERNEL_PORT_GUARDIAN_OPCODES_H

#include "ptx_lex.h"

enum opcode_decision {
	OPCODE_SAFE,   /* touches registers only; has no operand in brackets */
	OPCODE_FENCE,  /* one address: fenced if it may be in device memory, by state space */
	OPCODE_SHARED, /* safe with .shared in its modifiers, else refused */
	OPCODE_CALL,   /* of a function with a body here */
	OPCODE_TABLE,  /* a jump through a table: the index is clamped */
	OPCODE_REFUSE,
};

struct opcode {
	const char
		*name; /* "cp.async": the longest name that fits decides; NULL ends the table */
	enum opcode_decision decision;
	u32 address;	 /* OPCODE_FENCE: the index of the operand with the address */
	const char *why; /* OPCODE_REFUSE: the reason, for people */
};

/* All opcodes; the last one's name is NULL. */
extern const struct opcode opcode_table[];

/* The entry of the opcode at token @at; NULL: unknown. */
const struct opcode *opcode_find(const struct ptx_text *text, size_t at);

#endif
