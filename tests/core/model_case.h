/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Cases: sequences of operations that are done to the core and to the reference model side by
 * side. A case is text (one operation per line), can be drawn at random, and can be shrunk.
 */
#ifndef TESTS_MODEL_CASE_H
#define TESTS_MODEL_CASE_H

#include "reference_model.h"

#include <stdio.h>

#define CASE_OPS_MAX 4096u

struct model_case {
	u32 chunks; /* chunks of the device */
	u32 count;
	struct model_op ops[CASE_OPS_MAX];
};

/* The fields that an operation's text has. */
#define CASE_HAS_CONTAINER 1u
#define CASE_HAS_CHUNK	   2u
#define CASE_HAS_VALUE	   4u

/* The name of an operation of a kind, and its fields. */
const char *case_op_name(u8 kind);
u32 case_op_has(u8 kind);

/* Do an operation in the model only. It must be allowed. */
void case_op_play(const struct model_op *op);

/* Where and why a case failed. */
struct case_failure {
	u32 op; /* index of the operation; the case's count: in the end */
	char why[160];
};

typedef bool (*case_test)(const struct model_case *tried, struct case_failure *failure);

/*
 * Do a case in a process of its own, and compare all that can be seen after each operation. An
 * operation that is not allowed is skipped, so that a case stays valid when shrinking removes
 * operations. Returns true if core and model agree. The second function discards the core's
 * messages.
 */
bool case_passes(const struct model_case *tried, struct case_failure *failure);
bool case_passes_quietly(const struct model_case *tried, struct case_failure *failure);

/* Remove the operations that a failing case does not need: model_case_shrink.c. */
void case_shrink(struct model_case *failing, case_test passes);

/*
 * Text: model_case_text.c. case_read() returns 0, or the number of the line that it cannot
 * read.
 */
void case_write_op(FILE *file, const struct model_op *op);
void case_write(FILE *file, const struct model_case *written);
u32 case_read(FILE *file, struct model_case *ret_case);

/*
 * Random numbers (splitmix64), and a random case. All operations of the case are allowed:
 * model_case_draw.c.
 */
u64 case_random(u64 *state);
void case_draw(struct model_case *ret_case, u64 *state);

#endif
