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
 * other warps' misses are modelled by looking ahead, as far as the kernel in execution goes: the
 * next one of the stream has not begun. How many pages of one block miss at once depends on how
 * its warps walk through it: one after the other (1), or all side by side (32).
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

/* How far one stall looks ahead. */
struct gmmu_window {
	u64 end_ordinal;     /* blocks from this ordinal on are not touched yet */
	u32 faults;	     /* most that are reported */
	u32 pages_per_block; /* most of one block */
	u32 faults_per_page; /* threads that miss at addresses of their own in one page */
};

/*
 * Report the missing pages from the cursor on, as far as the window goes and the buffer holds, as
 * faults of @tsg in @space: one page of each block, and then the next one of each, as they come
 * from SMs that fault side by side. Wakes the service thread. Returns how many were reported.
 */
u32 gmmu_report(struct gmmu *gmmu, void *space, u32 tsg, const struct gmmu_touch *touches,
		u32 count, struct gmmu_cursor cursor, const struct gmmu_window *window);

/* The place of the block with touched pages that comes @ordinal-th in the list, from 0. */
struct gmmu_cursor gmmu_seek(const struct gmmu_touch *touches, u32 count, u64 ordinal);

/*
 * The first place of the list at or behind @ordinal where block @index of a range is touched.
 * False: there is none.
 */
bool gmmu_find_block(const struct gmmu_touch *touches, u32 count, const struct gvm_range *range,
		     u32 index, u64 ordinal, struct gmmu_cursor *ret_cursor);

/* Take up to @max records out of the buffer. */
u32 gmmu_fetch(struct gmmu *gmmu, struct gvm_fault *faults, u32 max);

/* Drop every record (the flush before a replay: what still misses faults again). */
void gmmu_flush(struct gmmu *gmmu);

/* Drop the records of one address space: it is going away. */
void gmmu_drop(struct gmmu *gmmu, const void *space);

/* Are there records? */
bool gmmu_pending(const struct gmmu *gmmu);

#endif
