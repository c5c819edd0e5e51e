/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * PTX for a newer GPU, made loadable on an older one: its .target and .version are lowered.
 * PTX means the same for each architecture that has its instructions, and the assembler (ptxas,
 * or the driver's compiler) refuses instructions that the architecture or the version does not
 * have. So the assembler decides, and nothing is promised. Refused here is what it would not
 * notice:
 *
 *  1. targets with a letter, sm_100a: their instructions are those of one GPU or one family
 *  2. architectures below sm_70: there, threads of a warp run in step, and PTX of newer ones
 *     does not count on it
 *
 * Code that suits the newer GPU may be slow on the older one, or ask for more shared memory than
 * that has; then its launch fails.
 */
#ifndef KERNEL_PORT_GUARDIAN_RETARGET_H
#define KERNEL_PORT_GUARDIAN_RETARGET_H

#include "patch_result.h"
#include "ptx_parse.h"

/* The oldest architecture that a target is lowered to. */
#define RETARGET_OLDEST 70u

/* The words for the two headers; one that is empty stays as it is. */
struct retarget {
	char target[16];  /* "sm_90" */
	char version[16]; /* "8.4" */
};

/*
 * What @options make of the headers of @module. A target or version that is not newer
 * stays. Returns 0, or -SIM_EXIT_USER with one line in *err: its target cannot be lowered.
 */
int retarget_module(const struct ptx_module *module, const struct patch_options *options,
		    struct retarget *ret_retarget, struct sim_error *err);

#endif
