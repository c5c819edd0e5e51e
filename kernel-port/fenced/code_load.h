/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A module that verifies, with the bounds of a client's partition. */
#ifndef KERNEL_PORT_FENCED_CODE_LOAD_H
#define KERNEL_PORT_FENCED_CODE_LOAD_H

#include "share.h"

struct confined;

/*
 * Load a text that verifies, and write its bounds, if they are constants. It is refused
 * (CU_INVALID_PTX) if one of its kernels may change bounds in local memory. *ret_module is to be
 * unloaded. CONTEXT: the client's own thread.
 */
cu_result code_load(const struct tenant *tenant, const struct confined *confined,
		    struct CUmod_st **ret_module);

/*
 * The bounds that each kernel of a text that verifies has after its own parameters, base
 * first. Returns how many words; 0: they are constants, which code_load() has written.
 */
u32 code_parameters(const struct tenant *tenant, const struct confined *confined,
		    u64 ret_words[TENANT_BOUNDS]);

#endif
