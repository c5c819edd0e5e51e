/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * An interpreter of a subset of PTX, one thread: 64-bit integers, predicates, jumps, loads,
 * stores and atomics of global, shared and generic addresses. It says where accesses went.
 */
#ifndef TESTS_GUARDIAN_INTERPRETER_H
#define TESTS_GUARDIAN_INTERPRETER_H

#include "bounds.h"
#include "ptx_parse.h"

#define WORLD_BYTES	  65536u	    /* of device memory that hold something */
#define WORLD_SHARED	  0x7f8000000000ull /* the generic window of shared memory */
#define WORLD_SHARED_SIZE 4096u

enum run_end { RUN_RETURNED, RUN_TRAPPED, RUN_MISALIGNED, RUN_STEPS, RUN_UNKNOWN };

struct world {
	struct patch_bounds bounds;
	u64 memory_base; /* where memory lies: inside of the partition */
	u8 memory[WORLD_BYTES];
	u8 shared[WORLD_SHARED_SIZE];
	u64 lowest, highest; /* of all bytes of device memory that were touched */
	u64 misaligned;	     /* accesses */
	u64 found[2];	     /* PATCH_FOUND */
};

/* Run the first kernel with one parameter, the address of the memory. */
enum run_end interpret(const struct ptx_module *module, struct world *world);

#endif
