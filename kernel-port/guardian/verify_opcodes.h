/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The verifier's own list of opcodes, and which memory each of them may touch. */
#ifndef KERNEL_PORT_GUARDIAN_VERIFY_OPCODES_H
#define KERNEL_PORT_GUARDIAN_VERIFY_OPCODES_H

#include "ptx_lex.h"

/* What has to hold of an instruction with such an opcode. */
enum opcode_class {
	CLASS_UNKNOWN, /* it is refused */
	CLASS_PLAIN,   /* it touches no memory */
	CLASS_SHARED,  /* it touches shared memory alone, if it says so */
	CLASS_FIRST,   /* its first operand is an address */
	CLASS_SECOND,  /* its second operand is an address */
	CLASS_CALL,    /* its target has a body in the module */
	CLASS_TABLE    /* its index is clamped to its table */
};

/* The class of the opcode that is token @at, by the longest name that it begins with. */
enum opcode_class verify_classify(const struct ptx_text *text, size_t at);

#endif
