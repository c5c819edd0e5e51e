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

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "cuda_calls.h"
#include "engine/types.h"

#define SAMPLE_SLOTS	  64u /* counted launches that have not ended */
#define SAMPLE_EVERY_MAX  1000000000u
#define SAMPLE_ATTRIBUTES 16u /* attributes of functions that are set for both copies */

struct tenant;
struct tenant_function;

/* A module as the client has sent it, and its copy that counts. */
struct sample_module {
	char *text;		 /* PTX; NULL: it is not kept, or not needed any more */
	struct CUmod_st *module; /* the copy; NULL: not loaded yet */
	bool refused;		 /* it has none */
	cu_ptr found;		 /* its PATCH_FOUND */
	u64 seen;		 /* wild accesses of launches that have ended */
};

/* A counted launch: what its module had found behind it. */
struct sample_slot {
	struct CUevent_st *copied;    /* behind the copy of @found */
	struct sample_module *module; /* NULL: the slot is free, or the module is unloaded */
};

/* What sampling has found so far. Guarded by the tenant's lock. */
struct sample_counts {
	u64 sampled;	    /* launches of copies that count */
	u64 found_launches; /* of these, that had wild accesses */
	u64 found_accesses; /* wild accesses */
	u64 last_address;   /* one of them; 0: none */
	u64 refused_modules;
};

/* A client's sampling. All-zero has none. Guarded by the tenant's lock, but for @every. */
struct sample {
	_Atomic u32 every; /* one launch of so many, on average; 0: none */
	bool on;	   /* the manager keeps what is needed */
	u64 random;
	struct sample_counts counts;
	struct sample_slot slots[SAMPLE_SLOTS]; /* a ring; */
	u32 first, used;			/* those in use */
	u64 (*words)[2];			/* of each slot, where the GPU writes: pinned */
	struct sample_module *modules;		/* of each of the tenant's */
};

/* Get ready for sampling. False: no memory, and the client is served without. */
bool sample_open(struct tenant *tenant);

/* The client's kernels have ended. Its copies and what belongs to them are freed. */
void sample_close(struct tenant *tenant);

/* Keep the text of a module that is loaded in @slot; forget it when it is unloaded. */
void sample_keep(struct tenant *tenant, u32 slot, const char *text);
void sample_forget(struct tenant *tenant, u32 slot);

/*
 * The function to launch in the place of @function: its copy that counts, or itself.
 * *ret_counted: sample_launched() has to follow, behind the launch in its stream.
 */
struct CUfunc_st *sample_pick(struct tenant *tenant, struct tenant_function *function,
			      bool *ret_counted);
void sample_launched(struct tenant *tenant, const struct tenant_function *function,
		     struct CUstream_st *stream);

/* Look at counted launches that have ended. LOCKING: tenant->lock. */
void sample_collect(struct tenant *tenant);

#endif
