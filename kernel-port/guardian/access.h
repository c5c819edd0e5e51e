/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What one instruction does to memory, for the patcher. */
#ifndef KERNEL_PORT_GUARDIAN_ACCESS_H
#define KERNEL_PORT_GUARDIAN_ACCESS_H

#include "opcodes.h"
#include "ptx_parse.h"

enum access_space {
	ACCESS_GENERIC,
	ACCESS_GLOBAL,
	ACCESS_SHARED,
	ACCESS_LOCAL,
	ACCESS_CONST,
	ACCESS_PARAM,
	ACCESS_SPACES,
};

enum access_kind { ACCESS_LOAD, ACCESS_STORE, ACCESS_ATOMIC, ACCESS_HINT, ACCESS_KINDS };

/* The address is register or symbol @name plus @offset. */
struct access {
	enum access_space space;
	enum access_kind kind;
	u32 width_shift;	/* log2 of the bytes, and of the alignment */
	struct ptx_range range; /* the operand, with its brackets */
	u32 name;		/* token */
	s64 offset;
};

/*
 * Decode an instruction whose opcode has the decision OPCODE_FENCE. Returns 0, or a negative
 * enum sim_exit with one line in *err: a form that is not known is refused.
 */
int access_decode(const struct ptx_text *text, const struct ptx_statement *statement,
		  const struct opcode *opcode, struct access *ret_access,
		  struct sim_error *err);

/*
 * Does the opcode at token @at have the modifier @modifier, ".shared"? Also as ".shared::cta".
 */
bool access_has_modifier(const struct ptx_text *text, size_t at, const char *modifier);

#endif
