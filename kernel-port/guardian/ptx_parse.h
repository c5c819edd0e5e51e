/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A module of PTX as a flat list of statements, for the patcher. Statements point to tokens of
 * the text; nothing is copied. The verifier has a parser of its own.
 */
#ifndef KERNEL_PORT_GUARDIAN_PTX_PARSE_H
#define KERNEL_PORT_GUARDIAN_PTX_PARSE_H

#include "ptx_lex.h"

#define PTX_OPERANDS_MAX 16u
#define PTX_NO_FUNCTION	 U32_MAX

enum ptx_statement_kind {
	PTX_HEADER,    /* .version, .target, .address_size, .file, .section */
	PTX_VARIABLE,  /* .global, .const, .shared, .local, .param, .reg: declares names */
	PTX_PROTOTYPE, /* an .entry or .func without a body */
	PTX_FUNCTION,  /* an .entry or .func up to the brace that opens its body */
	PTX_OPEN,      /* { */
	PTX_CLOSE,     /* }; the one of a function, too */
	PTX_LABEL,     /* NAME: */
	PTX_NOTE,      /* .loc, .pragma, .branchtargets, .calltargets, .callprototype, .alias */
	PTX_INSTRUCTION, /* all others */
};

/* Tokens first to last, both included. An operand that is empty has last < first. */
struct ptx_range {
	u32 first, last;
};

struct ptx_statement {
	enum ptx_statement_kind kind;
	u32 function;		/* index in the functions; PTX_NO_FUNCTION: of the module */
	u32 depth;		/* braces around it inside the function; 1 is the body */
	struct ptx_range range; /* with the semicolon */
	/* Of an instruction. */
	u32 guard;    /* token of the predicate, or 0 */
	bool negated; /* @! */
	u32 opcode;
	u32 operand_count;
	struct ptx_range operands[PTX_OPERANDS_MAX];
};

struct ptx_function {
	u32 name;	    /* token */
	bool entry;	    /* a kernel */
	bool linked;	    /* .visible, .weak or .extern */
	u32 statement;	    /* its PTX_FUNCTION */
	u32 parameters;	    /* token of the "(" in front of its parameters; 0: it has none */
	u32 parameters_end; /* token of the ")" */
};

/* Owned by the caller: ptx_parse(), then ptx_module_destroy(). */
struct ptx_module {
	const struct ptx_text *text; /* borrowed */
	u32 version_major, version_minor;
	u32 version;	/* token of the version, "8.4" */
	u32 target;	/* token of the architecture, "sm_90" */
	u32 header_end; /* the last token of .address_size */
	struct ptx_statement *statements;
	size_t statement_count;
	struct ptx_function *functions; /* those with a body */
	size_t function_count;
};

/*
 * Parse a text. It has to be of the ISA version above or an older one, with 64-bit addresses.
 * Returns 0, or a negative enum sim_exit with one line in *err and nothing to destroy.
 */
int ptx_parse(const struct ptx_text *text, struct ptx_module *ret_module,
	      struct sim_error *err);
void ptx_module_destroy(struct ptx_module *module);

#endif
