/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The simulated GMMU: it reports the accesses of kernels that miss in the replayable fault
 * buffer. gmmu_walk.h finds them.
 *
 * A kernel that misses faults on more than one page, since its other warps run on until they
 * miss, too. Which of their misses a report has depends on how the kernel goes through its
 * memory. There are three ways:
 *
 *     side by side   The first missing page of each block, then the second one of each: SMs
 *                    that begin at different blocks.
 *     in order       All missing pages of the first block, then those of the second.
 *     SM by SM       A matrix product of few tokens: a touch with rows_per_page, on a GPU whose
 *                    window has faults_per_sm. Each SM goes through an equal part of the rows,
 *                    in order, and misses once for each row of a missing page.
 *
 * SM by SM, an SM has few misses under way, and those of some SMs fill a report. The other SMs
 * have their turn in the next one. A part of that next report are misses of the last one that
 * come again: they were on their way when the driver brought in their pages, and only cost time.
 * On an H200 they are 42 to 50 % of a batch, and an SM has 3 to 4 new misses in it
 * (plots/reference/hardware/h200-580-uvm-batches.txt).
 */
#ifndef SIM_UVM_GMMU_H
#define SIM_UVM_GMMU_H

#include "engine/engine.h"
#include "uvm/gmmu_walk.h"

/* Most misses of a report SM by SM that are remembered, to come again in the next one. */
#define GMMU_AGAIN_MAX 256u

/* The fault buffer of one GPU: a ring of records. */
struct gmmu {
	struct gvm_fault *buffer;
	u32 entries;
	u64 get; /* get and put only grow; put - get records are in the buffer */
	u64 put;
	struct eng_waitq waitq; /* the fault service thread waits here for records */
	/* Of the last report SM by SM. */
	u32 next_sm;				/* modulo window.sms: whose turn it is */
	struct gvm_fault again[GMMU_AGAIN_MAX]; /* its misses, all of one TSG */
	u32 again_count;
};

/* Returns 0 or -ENOMEM. */
int gmmu_init(struct gmmu *gmmu, u32 entries);
void gmmu_destroy(struct gmmu *gmmu);

/* How far one stall looks ahead. */
struct gmmu_window {
	u64 end_ordinal;     /* blocks from this ordinal on are not touched yet */
	u32 faults;	     /* most faults that are reported */
	u32 pages_per_block; /* most pages of one block */
	u32 faults_per_page; /* threads that miss at addresses of their own in one page */
	bool in_order;	     /* block after block, not side by side */
	/* For products of few tokens. */
	u32 sms;
	u32 faults_per_sm; /* new misses of one SM; 0: they miss as other kernels do */
	u32 again_ppm;	   /* share of the faults that are misses of the last report */
};

/*
 * Report the missing pages from the cursor on as faults of @tsg, to the end of the window or
 * until the buffer is full. Wakes the service thread. Returns the number of faults.
 */
u32 gmmu_report(struct gmmu *gmmu, u32 tsg, const struct gmmu_walk *walk,
		struct gmmu_cursor cursor, const struct gmmu_window *window);

/* Take up to @max records out of the buffer. Returns their number. */
u32 gmmu_fetch(struct gmmu *gmmu, struct gvm_fault *faults, u32 max);

/* Drop every record, before a replay: accesses that still miss fault again. */
void gmmu_flush(struct gmmu *gmmu);

/* Drop the records of one address space: it is going away. */
void gmmu_drop(struct gmmu *gmmu, const void *space);

/* Are there records? */
bool gmmu_pending(const struct gmmu *gmmu);

#endif
