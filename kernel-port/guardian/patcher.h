/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The state of the patcher, and how it writes: the text is copied as it is, and instructions
 * are put in between. Each part of the patcher has a file of its own:
 *
 *   patch_decide.c    first pass: what is refused, and what functions need
 *   patch_fence.c     second pass: the instructions in front of an access, or of a jump
 *   patch_prologue.c  second pass: registers and bounds of a function
 *   patch.c           both passes
 */
#ifndef KERNEL_PORT_GUARDIAN_PATCHER_H
#define KERNEL_PORT_GUARDIAN_PATCHER_H

#include "patch_result.h"
#include "variables.h"

/* What a function needs of the bounds; widths are bits by log2. */
struct patcher_needs {
	u32 widths;
	bool any, index, windows;
};

struct patcher {
	const struct ptx_module *module;
	const struct ptx_text *text;
	const struct patch_options *options;
	struct variables variables;
	struct patcher_needs *needs; /* of each function */
	struct patch_result *result;
	size_t room;	/* of the result's bytes */
	size_t copied;	/* bytes of the text that are in the result */
	bool failed;	/* out of memory */
	u32 inserted;	/* instructions, for the counts */
	bool has_calls; /* somewhere in the module */
	u64 steps;	/* beyond one for each token: ptx_is_endless() */
	bool *left_out; /* of patch_count(): statements that are refused; else NULL */
	struct sim_error *err;
};

/* Report a mistake at token @at. Returns -SIM_EXIT_USER. */
int patcher_refuse(const struct patcher *patcher, size_t at, const char *why);

/* Refuse the text if the patcher has taken too many steps. Returns 0 or -SIM_EXIT_USER. */
int patcher_refuse_endless(const struct patcher *patcher, size_t at);

/*
 * Statement number @statement was refused with @status, and patcher->err says why. Returns 0 if
 * it was put on the list of patch_count(); else @status.
 */
int patcher_list_refusal(struct patcher *patcher, size_t statement, int status);

/* Copy the text up to byte @end, which is not included. */
void patcher_copy_to(struct patcher *patcher, size_t end);

/* Write a text. A word of it may have any length. */
__attribute__((format(printf, 2, 3))) void patcher_put(struct patcher *patcher, const char *fmt,
						       ...);

/* One instruction in front of the one that is there. */
#define PUT(patcher, fmt, ...)                                                \
	do {                                                                  \
		(patcher)->inserted++;                                        \
		patcher_put(patcher, fmt ";\n\t" __VA_OPT__(, ) __VA_ARGS__); \
	} while (0)

/* A word of the text, for "%.*s". */
static inline int patcher_word_length(const struct patcher *patcher, size_t at)
{
	return (int)patcher->text->tokens[at].length;
}

static inline const char *patcher_word(const struct patcher *patcher, size_t at)
{
	return patcher->text->bytes + patcher->text->tokens[at].start;
}

#define WORD(patcher, at) patcher_word_length(patcher, at), patcher_word(patcher, at)

/* patch_decide.c: the first pass. Returns 0, or a negative enum sim_exit with a line in err. */
int patcher_decide(struct patcher *patcher);

/* patch_fence.c: log2 of the width whose low bits the mask of this access clears. */
u32 patcher_mask_shift(const struct patcher *patcher, const struct access *access);

/*
 * patch_fence.c: write an access with its fence; a jump through a table with its index clamped.
 * Returns 0, or -SIM_EXIT_USER: the table was not found.
 */
void patcher_put_access(struct patcher *patcher, const struct ptx_statement *statement,
			const struct access *access);
int patcher_put_table(struct patcher *patcher, const struct ptx_statement *statement);

/* patch_prologue.c: registers and bounds at the start of a body; the parameters of a kernel. */
void patcher_put_prologue(struct patcher *patcher, const struct patcher_needs *needs);
void patcher_put_parameters(struct patcher *patcher, const struct ptx_function *function);

#endif
