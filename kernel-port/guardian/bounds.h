/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The bounds of a partition as patched code reads them: sixteen 64-bit words in the constant
 * array PATCH_BOUNDS of each patched module. The program that loads the module
 * writes all of them once, before the first launch. With --pass params a kernel has
 * the first words as parameters.
 */
#ifndef KERNEL_PORT_GUARDIAN_BOUNDS_H
#define KERNEL_PORT_GUARDIAN_BOUNDS_H

#include <stdbool.h>

#include "engine/types.h"

#define PATCH_PREFIX "gvmf_" /* of all names that the patcher adds */
#define PATCH_BOUNDS "gvmf_bounds"
/*
 * With PATCH_COUNT: two 64-bit words of device memory of each module, zero at first. How often
 * the fence has changed an address of the program, and the last such address.
 */
#define PATCH_FOUND "gvmf_found"
/*
 * A place in shared memory, without bytes of its own: so code finds where the window of its
 * thread block's shared memory begins.
 */
#define PATCH_HERE	  "gvmf_here"
#define PATCH_WIDTH_SHIFT 7u /* the widest access has 128 bytes: applypriority */

enum patch_mode {
	PATCH_FENCE, /* (address & mask) | base, of the whole address; the paper's section 4.3 */
	PATCH_ONCE,  /* of the register alone; constant offsets stay, inside of a margin */
	PATCH_4G,    /* as once, of the upper 32 bits alone; partitions of 4 GiB and more */
	PATCH_CHECK,  /* compare and trap; any size. Section 4.4 */
	PATCH_MODULO, /* base + (address - base) % size; any size. Section 4.4, made exact */
	PATCH_COUNT,  /* as fence; an address that the fence changes is counted, PATCH_FOUND */
};
#define PATCH_MODES 6u

enum patch_pass { PATCH_CONST, PATCH_PARAMS };

/* A module whose constants leave no room for bounds: ptxas will refuse it, or they go elsewhere. */
enum patch_full { PATCH_FULL_FAILS, PATCH_FULL_PARAMS };

/* What becomes of the index of a jump through a table: at most the last one, or a remainder. */
enum patch_index { PATCH_INDEX_CLAMP, PATCH_INDEX_MODULO };

/* Where a partition lies. In bytes, but for @reciprocal. */
struct patch_bounds {
	u64 base;
	u64 size;
	u64 reciprocal; /* floor((2^64 - 1) / size), for modulo */
	u64 unused[5];
	/* (size - 1) & ~(2^i - 1) for accesses of 2^i bytes */
	u64 masks[PATCH_WIDTH_SHIFT + 1];
};

/*
 * Fill in *@ret_bounds (bounds.c: by the core's gvm/address_fence.h). Returns false if @mode
 * cannot have such a partition: fence, once and count want a power of two that the base is a
 * multiple of; 4g wants 4 GiB at least, too. The others want a base and a size that are multiples
 * of 128 bytes and no sum above 2^64; modulo at most 2^63 bytes.
 */
bool patch_bounds_set(struct patch_bounds *ret_bounds, enum patch_mode mode, u64 base,
		      u64 size);

#endif
