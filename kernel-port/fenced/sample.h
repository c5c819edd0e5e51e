/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Detection on demand: some of a client's launches run a second copy of their module, in mode
 * count (docs/guardian.md). It is fenced as mode fence is, and counts the addresses that its
 * fence changes. The others run as before. So wild accesses are found at a cost that the share
 * of such launches bounds, and nobody's context ends, as it would with mode check.
 *
 * Which launches are counted is random: a program that repeats 30 kernels would else have the
 * same few of them counted for ever.
 *
 * A module that writes to variables of its own cannot be sampled. Each copy has its own
 * variables, so what a counted launch writes would be missing in the others.
 */
#ifndef KERNEL_PORT_FENCED_SAMPLE_H
#define KERNEL_PORT_FENCED_SAMPLE_H

#include "share.h"

/* Get ready for sampling. False: no memory, and the client is served without. */
bool sample_open(struct tenant *tenant);

/* The client's kernels have ended. Its copies and what belongs to them are freed. */
void sample_close(struct tenant *tenant);

/* Keep the text of a module that is loaded in @slot; forget it when it is unloaded. */
void sample_keep(struct tenant *tenant, u32 slot, const char *text);
void sample_forget(struct tenant *tenant, u32 slot);

/*
 * The function to launch in the place of @function: its copy that counts, or itself.
 * *ret_counted: sample_launched() has to follow, after the launch in its stream.
 */
struct CUfunc_st *sample_pick(struct tenant *tenant, struct tenant_function *function,
			      bool *ret_counted);
void sample_launched(struct tenant *tenant, const struct tenant_function *function,
		     struct CUstream_st *stream);

/* Look at counted launches that have ended. LOCKING: tenant->lock. */
void sample_collect(struct tenant *tenant);

#endif
