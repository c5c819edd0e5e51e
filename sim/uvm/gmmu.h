/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The simulated GMMU: what a kernel's accesses find in the page tables, and the replayable fault
 * buffer that misses are written to.
 *
 * Work on the GPU declares what it touches as a list of runs of blocks, in order. Progress of the
 * work is progress through that list. Touching resident memory costs one comparison per range
 * (all resident) or one mask operation per block; there is no event for it.
 *
 * What is simple here: the SMs' many warps are one cursor that stalls at the first miss. The
 * other warps' misses are modelled by looking ahead: up to "outstanding" missing pages from the
 * cursor on are reported with it, as the fault buffer of a parallel kernel shows.
 */
#ifndef SIM_UVM_GMMU_H
#define SIM_UVM_GMMU_H

#include "gvm/block.h"

/* A run of blocks that work touches. */
struct gmmu_touch {
	struct gvm_range *range;
	u32 first_block;
	u32 block_count;
	/*
	 * Pages touched in each block: masks[(block - first_block) / blocks_per_mask], or all
	 * pages of the range when NULL. Borrowed until the work is done.
	 */
	const u32 *masks;
	u32 blocks_per_mask;
	u8 access; /* enum gvm_access */
};

/* A place in a list of touches. */
struct gmmu_cursor {
	u32 touch;   /* index into the list; its length at the end */
	u32 block;   /* index into that touch's blocks */
	u64 ordinal; /* blocks with touched pages passed so far */
};

/* The fault buffer of one GPU: a ring of records. */
struct gmmu {
	struct gvm_fault *buffer;
	u32 entries;
	u64 get;
	u64 put;		/* both run on for ever; put - get records are in the buffer */
	struct eng_waitq waitq; /* the fault service thread, for records to appear */
};

/* Returns 0 or -ENOMEM. */
int gmmu_init(struct gmmu *gmmu, u32 entries);
void gmmu_destroy(struct gmmu *gmmu);

/* Nothing in these touches can miss, by their ranges' counters alone. */
bool gmmu_all_resident(const struct gmmu_touch *touches, u32 count);

/* How many blocks of the list have touched pages: what ordinals run up to. */
u64 gmmu_count_blocks(const struct gmmu_touch *touches, u32 count);

/* Move the cursor on to the first block with a missing page; false: there is none. */
bool gmmu_find_miss(const struct gmmu_touch *touches, u32 count, struct gmmu_cursor *cursor);

/*
 * Report the missing pages from the cursor on, up to @outstanding of them and what the buffer
 * holds, as faults of @tsg in @space. Wakes the service thread. Returns how many were reported.
 */
u32 gmmu_report(struct gmmu *gmmu, void *space, u32 tsg, const struct gmmu_touch *touches,
		u32 count, struct gmmu_cursor cursor, u32 outstanding);

/* Take up to @max records out of the buffer. */
u32 gmmu_fetch(struct gmmu *gmmu, struct gvm_fault *faults, u32 max);

/* Drop every record (the flush before a replay: what still misses faults again). */
void gmmu_flush(struct gmmu *gmmu);

/* Drop the records of one address space: it is going away. */
void gmmu_drop(struct gmmu *gmmu, const void *space);

/* Are there records? */
bool gmmu_pending(const struct gmmu *gmmu);

#endif
