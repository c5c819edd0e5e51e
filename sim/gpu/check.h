/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A check of a simulated GPU's page tables against the books of whoever manages its memory. The page
 * tables are the hardware's record and the books are the driver's, so this finds what the driver
 * forgets or gets wrong: above all a page of one container that another one can reach.
 *
 * With GVMSIM_CHECK in the environment (of a test it always is) the GPU checks itself before every
 * replay and before a process exits; its value is how many replays apart. It stops the program if the
 * check fails: results of a GPU without isolation are worth nothing.
 */
#ifndef SIM_GPU_CHECK_H
#define SIM_GPU_CHECK_H

#include "gpu/gpu.h"

/* What can be wrong with an entry, the worst first. */
enum sim_pte_error {
	SIM_PTE_OK,
	SIM_PTE_FOREIGN,  /* its chunk is charged to another container, or to none: free memory,
			     contexts and page tables are charged as no container's pages */
	SIM_PTE_SHARED,	  /* another entry has the same chunk */
	SIM_PTE_CHUNK,	  /* its chunk is not the block's */
	SIM_PTE_STALE,	  /* a page is valid that the driver has not mapped */
	SIM_PTE_WRITABLE, /* a page permits writes that the driver has mapped read-only */
	SIM_PTE_MISSING,  /* a page that the driver has mapped is not valid, or not writable */
	SIM_PTE_REGION,	  /* tables and managed ranges do not lie at the same addresses */
	SIM_PTE_NO_MEMORY, /* for the check itself */
};

/* The first thing that is wrong. */
struct sim_pte_finding {
	enum sim_pte_error error;
	u32 tsg; /* of the process in whose address space it is */
	u64 va;	 /* of the block */
	u32 chunk;
};

/*
 * Look at every entry of every process on the GPU. Looks at what holds now: not from within a call
 * of gvm_mmu_ops. Says what is wrong in a warning, too.
 */
struct sim_pte_finding sim_gpu_check_page_tables(struct sim_gpu *gpu);

/* What the environment says: check every so many replays; 0: never. */
u32 sim_gpu_check_interval(void);

/* A replay is due, or a process is about to exit: check if it is time to. */
void sim_gpu_check_at_replay(struct sim_gpu *gpu);
void sim_gpu_check_at_exit(struct sim_gpu *gpu);

#endif
