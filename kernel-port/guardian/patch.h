/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Address fencing of PTX (Guardian, section 4.3): before every access that may reach device
 * memory stand the instructions that force its address into a partition. All other bytes of the
 * text stay as they are.
 *
 * How it differs from the paper:
 *  1. The bounds are constants of the module, and no parameters (PATCH_CONST). A launch costs
 *     nothing more, and functions, graphs and kernels that launch kernels work unchanged.
 *  2. The fenced address is a register of its own. So predicated accesses and comparisons of
 *     pointers stay right.
 *  3. The mask clears the bits below the width, too: a misaligned address cannot stop the GPU.
 *  4. Generic addresses of shared and local memory are left alone.
 *  5. What cannot be confined is refused: opcodes.c has the list.
 *
 * The patcher is not trusted. verify.h proves what it has made.
 */
#ifndef KERNEL_PORT_GUARDIAN_PATCH_H
#define KERNEL_PORT_GUARDIAN_PATCH_H

#include "patch_result.h"

/*
 * Patch a parsed module. Returns 0, or a negative enum sim_exit with one line in *err,
 * "FILE:LINE: OPCODE: reason", and nothing to destroy.
 */
int patch_module(const struct ptx_module *module, const struct patch_options *options,
		 struct patch_result *ret_result, struct sim_error *err);

/*
 * Count what a module has, and what its fences would be. What cannot be confined is listed.
 * There is no patched module: bytes are NULL. Returns 0, or refuses as patch_module() does what
 * cannot be read, what is patched already, and what takes too long.
 */
int patch_count(const struct ptx_module *module, const struct patch_options *options,
		struct patch_result *ret_result, struct sim_error *err);
void patch_result_destroy(struct patch_result *result);

/* The words for modes, "fence", for ways to pass the bounds, "const", and for indexes, "clamp". */
extern const char *const patch_mode_names[PATCH_MODES];
extern const char *const patch_pass_names[2];
extern const char *const patch_index_names[2];

#endif
