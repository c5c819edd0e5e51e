/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * An interpreter of a subset of PTX, one thread: 64-bit integers, predicates, jumps, loads,
 * stores and atomics of global, shared and generic addresses. It says where accesses went.
 *
 * A register that nothing has written has another value at each use, and so has what is computed
 * of it, until it has been through memory. ptxas compiles such programs so: it takes any physical
 * register for each use (plots/reference/hardware/fence/vague_gpu.c).
 */
#ifndef TESTS_GUARDIAN_INTERPRETER_H
#define TESTS_GUARDIAN_INTERPRETER_H

#include "bounds.h"
#include "ptx_parse.h"

#define WORLD_BYTES 65536u /* of device memory that hold something */
/* The generic windows of shared and of local memory, and their bytes that hold something. */
#define WORLD_SHARED	  0x7f8001000000ull
#define WORLD_LOCAL	  0x7f8041000000ull
#define WORLD_WINDOW	  (1ull << 24)
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
	u64 state;	     /* of values that nothing has written */
};

/* Run the first kernel with one parameter, the address of the memory. */
enum run_end interpret(const struct ptx_module *module, struct world *world);

#endif
