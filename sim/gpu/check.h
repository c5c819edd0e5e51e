/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A check of a simulated GPU's page tables against the driver's books. The page tables are the
 * hardware's record, so the check finds mappings that the driver forgets or gets wrong. The
 * worst is a page of one container that another container can reach. Two address spaces of a
 * container may map the same chunk (block/part.c), and never the same page of it.
 *
 * GVMSIM_CHECK=N in the environment makes the GPU check itself before every N-th replay, and
 * before a process exits. Tests always do, with N = 1. A failed check stops the program: it is
 * a bug of the driver, and the results would mean nothing.
 */
#ifndef SIM_GPU_CHECK_H
#define SIM_GPU_CHECK_H

#include "gpu/types.h"

/* What can be wrong with an entry, the worst first. */
enum sim_pte_error {
	SIM_PTE_OK,
	/*
	 * it reaches a page that is another container's, free, a context's, or of page tables
	 */
	SIM_PTE_FOREIGN,
	SIM_PTE_SHARED,	  /* another entry has the same page of the same chunk */
	SIM_PTE_CHUNK,	  /* its chunk, or its offset in the chunk, is not the block's */
	SIM_PTE_STALE,	  /* a page is valid that the driver has not mapped */
	SIM_PTE_WRITABLE, /* a page permits writes that the driver has mapped read-only */
	SIM_PTE_MISSING,  /* a page that the driver has mapped is not valid, or not writable */
	SIM_PTE_REMOTE, /* a page is mapped in host memory, or not, against the driver's books */
	SIM_PTE_REGION,	   /* tables and managed ranges do not lie at the same addresses */
	SIM_PTE_NO_MEMORY, /* the check itself has no memory */
};

/* The first thing that is wrong. */
struct sim_pte_finding {
	enum sim_pte_error error;
	u32 tsg; /* of the process whose address space has the error */
	u64 va;	 /* of the block */
	u32 chunk;
};

/*
 * Compare every entry of every process on the GPU. Do not call it from within
 * gvm_mmu_ops: the driver changes its books after such a call. Warns about the first error, and
 * returns it.
 */
struct sim_pte_finding sim_gpu_check_page_tables(struct sim_gpu *gpu);

/* Read GVMSIM_CHECK: the number of replays from one check to the next; 0: never check. */
u32 sim_gpu_check_interval(void);

/* Check before a replay, and before a process exits, if GVMSIM_CHECK asks for it. */
void sim_gpu_check_at_replay(struct sim_gpu *gpu);
void sim_gpu_check_at_exit(struct sim_gpu *gpu);

#endif
