/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The data flow of the verifier: which value the registers of a fence hold, from one
 * instruction to the next. All of them are written by one sequence at a time, so the
 * state is one step in it.
 */
#ifndef KERNEL_PORT_GUARDIAN_VERIFY_FLOW_H
#define KERNEL_PORT_GUARDIAN_VERIFY_FLOW_H

#include "bounds.h"
#include "ptx_lex.h"

#define FLOW_OPERANDS_MAX 16u

/* An instruction: tokens. An operand goes from its first to its last token. */
struct flow_instruction {
	size_t guard; /* 0: none */
	bool negated;
	size_t opcode;
	size_t end; /* the semicolon */
	u32 operand_count;
	struct {
		size_t first, last;
	} operands[FLOW_OPERANDS_MAX];
};

/* The steps of all sequences; what the registers hold is said of each. */
enum flow_step {
	FLOW_IDLE,     /* nothing that may be used */
	FLOW_SUM,      /* s: an address */
	FLOW_MASKED,   /* t: an address & mask */
	FLOW_SPLIT,    /* l, h: the halves of an address */
	FLOW_HIGH,     /* h: & mask */
	FLOW_BASED,    /* h: & mask | base */
	FLOW_OFFSET,   /* t: s - base */
	FLOW_QUOTIENT, /* u: t / size, or one less */
	FLOW_PRODUCT,  /* u: times size */
	FLOW_NEAR,     /* t: the remainder, or size more */
	FLOW_LESS,     /* u: t - size */
	FLOW_REST,     /* t: the remainder */
	FLOW_LIMITED,  /* t: at most the limit */
	FLOW_ADDRESS,  /* a: inside of the partition */
	FLOW_SHARED,   /* also r: s is in shared memory */
	FLOW_LOCAL,    /* also q: s is in local memory */
	FLOW_EITHER,   /* q: either of both */
	FLOW_WINDOW,   /* also u: where one of both windows begins */
	FLOW_DISTANCE, /* t: s - u */
	FLOW_PLACE,    /* t: below the size of a window */
	FLOW_INSIDE,   /* t: inside of a window */
	FLOW_CHOSEN,   /* a: inside of the partition, or of a window */
	FLOW_DIFFERS,  /* a as FLOW_ADDRESS, p: it is not s, for threads whose guard is on */
	FLOW_DIFFERS2, /* a as FLOW_CHOSEN, and p */
	FLOW_COUNTED,  /* count: and such threads are counted */
	FLOW_COUNTED2,
	FLOW_TOLD, /* count: and one of their addresses is told; check: they have stopped */
	FLOW_TOLD2,
	FLOW_REST_INDEX, /* i: a remainder */
	FLOW_INDEX,	 /* i: at most limit */
};

struct flow {
	const struct ptx_text *text;
	enum patch_mode mode;
	enum patch_pass pass;
	enum flow_step step;
	bool sum;     /* the sequence began with s */
	u32 shift;    /* of its mask or limit */
	u64 limit;    /* FLOW_INDEX */
	size_t guard; /* of the test; 0: none */
	bool negated;
	u32 declared; /* registers, by their number in the table of verify_flow.c */
	u32 loaded;   /* of the bounds */
	u32 declared_widths, loaded_widths; /* of masks or limits */
};

/* Start of a function. */
void flow_begin(struct flow *flow);

/* Is token @at a name of a fence? */
bool flow_is_reserved(const struct ptx_text *text, size_t at);

/*
 * A register of a fence is declared with @type, ".b64". False: that is no such register,
 * another type, or a second time.
 */
bool flow_declare(struct flow *flow, size_t type, size_t name);

/* An instruction of the start of a function that loads a bound. False: it is none. */
bool flow_load(struct flow *flow, const struct flow_instruction *instruction);

/* One more instruction of a sequence. False: it is none, or stands in the wrong place. */
bool flow_step(struct flow *flow, const struct flow_instruction *instruction);

/* What an access reaches: 2^@shift bytes at [@name + @offset], aligned to as many. */
struct flow_address {
	size_t name; /* a token */
	s64 offset;
	u32 shift;
	bool generic; /* may also lie in shared or local memory */
};

/*
 * Has the sequence tested the address, and goes on with the module's own count, or a trap? Those
 * are steps of it.
 */
bool flow_counts(const struct flow *flow);

/*
 * The access that a sequence is for; a mode that keeps offsets keeps them below @margin bytes.
 * Ends the sequence. False: the address is not proven.
 */
bool flow_access(struct flow *flow, const struct flow_instruction *instruction,
		 const struct flow_address *address, u64 margin);

#endif
