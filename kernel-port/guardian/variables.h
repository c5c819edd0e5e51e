/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Variables of a module in device memory: they lie outside of every partition. */
#ifndef KERNEL_PORT_GUARDIAN_VARIABLES_H
#define KERNEL_PORT_GUARDIAN_VARIABLES_H

#include "ptx_parse.h"

struct variable {
	u32 name;      /* token */
	bool global;   /* .global */
	bool constant; /* .const; else .shared or .local */
	bool shown;    /* .visible or .weak: other modules see it */
	u32 align;     /* bytes; a power of two */
	u64 bytes;     /* 0: unknown, since it is .extern or has no length */
};

/* Owned by the caller: variables_find(), then variables_destroy(). */
struct variables {
	const struct ptx_text *text; /* borrowed */
	struct variable *list;
	size_t count;
	u32 *slots; /* a hash table of indices + 1; 0: empty */
	size_t slot_count;
};

/*
 * Collect the variables of a module, also those inside of functions. A variable whose initial
 * value holds the address of a .global one is refused: the address would be fenced later.
 * Returns 0, or a negative enum sim_exit with one line in *err and nothing to destroy.
 */
int variables_find(const struct ptx_module *module, struct variables *ret_variables,
		   struct sim_error *err);
void variables_destroy(struct variables *variables);

/*
 * How many bytes ptxas takes for all constants, if @shown and @hidden bytes of 64-bit words stand
 * in front of them. It lays out those that other modules see, then the rest, each at its alignment.
 */
u64 variables_constant_bytes(const struct variables *variables, u32 shown, u32 hidden);

/* The variable with the name at token @at; NULL: none. */
const struct variable *variables_get(const struct variables *variables, size_t at);

#endif
