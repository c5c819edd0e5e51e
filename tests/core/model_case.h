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
	u32 chunks; /* of the device */
	u32 count;
	struct model_op ops[CASE_OPS_MAX];
};

/* What an operation's text gives. */
#define CASE_HAS_CONTAINER 1u
#define CASE_HAS_CHUNK	   2u
#define CASE_HAS_VALUE	   4u

/* What operations of a kind are called, and which of these they have. */
const char *case_op_name(u8 kind);
u32 case_op_has(u8 kind);

/* Let the model alone do an operation, which is allowed. */
void case_op_play(const struct model_op *op);

/* How a case failed. */
struct case_failure {
	u32 op; /* index of the operation, or the case's count: when all was given back */
	char why[160];
};

typedef bool (*case_test)(const struct model_case *tried, struct case_failure *failure);

/*
 * Do a case in a process of its own, comparing everything that can be seen after each operation.
 * What is not allowed is left out, so that a case stays one when operations are taken away.
 * Returns whether core and model agree. The second one sends the core's own words to nowhere.
 */
bool case_passes(const struct model_case *tried, struct case_failure *failure);
bool case_passes_quietly(const struct model_case *tried, struct case_failure *failure);

/* Take away what a failing case can do without: model_case_shrink.c. */
void case_shrink(struct model_case *failing, case_test passes);

/* Text: model_case_text.c. read returns the number of the line that it does not understand, 0 when it does. */
void case_write_op(FILE *file, const struct model_op *op);
void case_write(FILE *file, const struct model_case *written);
u32 case_read(FILE *file, struct model_case *ret_case);

/* Random numbers (splitmix64), and a case made of them, all of whose operations are allowed:
 * model_case_draw.c. */
u64 case_random(u64 *state);
void case_draw(struct model_case *ret_case, u64 *state);

#endif
