/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The simulated GMMU: it looks up the accesses of kernels in the page tables, and reports those
 * that miss in the replayable fault buffer.
 *
 * Work on the GPU declares the memory it touches as a list of runs of blocks, in order.
 * Progress of the work is progress through that list. Touching resident memory costs one
 * comparison per region that is mapped from end to end, and a scan over words of a bitmap per
 * region that is not (see page_table.h). There is no event for it.
 *
 * The model is simple in one way: the SMs' many warps are one cursor that stalls at the first
 * miss. The other warps' misses are found by looking ahead to the end of the kernel in
 * execution; the next kernel of the stream has not begun. How many pages of one block miss at
 * once depends on how its warps walk through it: one after the other (1), or all side by side
 * (32).
 */
#ifndef SIM_UVM_GMMU_H
#define SIM_UVM_GMMU_H

#include "engine/engine.h"
#include "uvm/page_table.h"

/*
 * A run of blocks, by virtual address, that a kernel touches. Blocks outside of every region
 * have no page table entry: they miss.
 */
struct gmmu_touch {
	u64 va; /* of the first block */
	u32 block_count;
	/*
	 * How many kernels touch the run: each an equal part of its touched blocks, all at
	 * once, as it begins. A matrix product touches its weights so. 0: the run is touched
	 * bit by bit, in the course of the work.
	 */
	u32 kernels;
	/*
	 * Rows of a matrix in a page, at least 1: it has at most so many addresses that miss at
	 * once, each in a row of its own. 0: as the window says.
	 */
	u32 rows_per_page;
	/*
	 * How often each of its pages crosses the link if it lies in host memory: there is no
	 * cache for these on the GPU. 0 is 1.
	 */
	u32 remote_reads;
	u8 access; /* enum gvm_access */
	/*
	 * NULL: all pages of each block are touched. Otherwise the pages of block i of the run
	 * are masks[i / blocks_per_mask]. Blocks that share an entry of masks are a group. Bit
	 * g of groups is set if masks[g] has any page (gmmu_index_masks() sets the bits).
	 * Both are borrowed, and must not change until the work is done.
	 */
	const u32 *masks;
	const u64 *groups;
	/*
	 * Of each word of groups, and after the last: bits set in the words before. NULL: they
	 * are counted each time. Borrowed likewise.
	 */
	const u32 *ranks;
	u32 blocks_per_mask;
};

/* The touches of a piece of work, in order, in one address space. */
struct gmmu_walk {
	const struct page_table *table;
	const struct gmmu_touch *touches;
	u32 count;
	u64 resident; /* the table's losses when nothing could miss, plus 1; 0: not known */
};

/* A place in a walk. */
struct gmmu_cursor {
	u32 touch;   /* index into the touches; at the end of the walk: their number */
	u32 block;   /* index into that touch's blocks */
	u64 ordinal; /* blocks with touched pages passed so far */
};

/* Most faults of a product that are remembered, to come again. */
#define GMMU_AGAIN_MAX 256u

/* The fault buffer of one GPU: a ring of records. */
struct gmmu {
	struct gvm_fault *buffer;
	u32 entries;
	u64 get; /* get and put only grow; put - get records are in the buffer */
	u64 put;
	struct eng_waitq waitq; /* the fault service thread waits here for records */
	/* Of the last product that misses SM by SM. */
	u32 next_sm;				/* whose turn it is */
	struct gvm_fault again[GMMU_AGAIN_MAX]; /* the misses of its last report */
	u32 again_count;
};

/* Returns 0 or -ENOMEM. */
int gmmu_init(struct gmmu *gmmu, u32 entries);
void gmmu_destroy(struct gmmu *gmmu);

/* Words of a bitmap with a bit for each of @masks. */
#define GMMU_GROUP_WORDS(masks) (((masks) + 63) / 64)

/*
 * Set the bits of @ret_groups, of GMMU_GROUP_WORDS(count) words, for masks that are not zero.
 */
void gmmu_index_masks(const u32 *masks, u32 count, u64 *ret_groups);

/*
 * Are all regions that the walk touches mapped from end to end? Then nothing in it can miss.
 * The touches are looked at again only if the table has lost pages since the last yes.
 */
bool gmmu_all_resident(struct gmmu_walk *walk);

/* The number of blocks with touched pages in a walk. Ordinals run up to it. */
u64 gmmu_count_blocks(const struct gmmu_walk *walk);

/* Move the cursor forward to the next block with a missing page. False: no page is missing. */
bool gmmu_find_miss(const struct gmmu_walk *walk, struct gmmu_cursor *cursor);

/* The same, to the next block with touched pages in host memory. False: none has any. */
bool gmmu_find_remote(const struct gmmu_walk *walk, struct gmmu_cursor *cursor);

/*
 * Count accesses to pages in host memory, from the cursor to block number @end_ordinal.
 * A page that the kernel reads n times counts n times in @ret_reads. A written page
 * counts once in @ret_writes.
 */
void gmmu_count_remote(const struct gmmu_walk *walk, struct gmmu_cursor cursor, u64 end_ordinal,
		       u64 *ret_reads, u64 *ret_writes);

/* The ordinals of the blocks that one kernel touches at once. */
struct gmmu_footprint {
	u64 first;
	u64 end;
};

/*
 * The blocks that are touched together with the block at the cursor, by the kernel that begins
 * with them. Empty at the end of the walk, and in a run that is touched bit by bit.
 */
struct gmmu_footprint gmmu_kernel_footprint(const struct gmmu_walk *walk,
					    const struct gmmu_cursor *cursor);

/* How far one stall looks ahead. */
struct gmmu_window {
	u64 end_ordinal;     /* blocks from this ordinal on are not touched yet */
	u32 faults;	     /* most faults that are reported */
	u32 pages_per_block; /* most pages of one block */
	u32 faults_per_page; /* threads that miss at addresses of their own in one page */
	bool in_order;	     /* block after block, not side by side */
	/* A product of few tokens misses SM by SM; faults_per_sm 0: as any other kernel. */
	u32 sms;
	u32 faults_per_sm; /* new misses of one SM */
	u32 again_ppm;	   /* of the faults: those of the last report that come again */
};

/*
 * Report the missing pages from the cursor on as faults of @tsg, to the end of the window or
 * until the buffer is full. The first missing page of each block comes first, then the second
 * one of each, as from SMs that fault side by side; or in order all pages of the first block,
 * then those of the second. Wakes the service thread. Returns the number of faults.
 *
 * A matrix product of few tokens, a touch with rows_per_page, may miss SM by SM. Each SM goes
 * through an equal part of the rows in order, and misses at each row of a page that is missing.
 * It has few misses under way, and those of some SMs fill a report. The others have their turn
 * in the next one. By then faults are on their way for pages that the driver has just brought
 * in: so a part of the last report's misses come again, and only cost time.
 * On an H200 these are 42 to 50 % of a batch, and an SM has 3 to 4 new ones in it
 * (plots/reference/hardware/h200-580-uvm-batches.txt).
 */
u32 gmmu_report(struct gmmu *gmmu, u32 tsg, const struct gmmu_walk *walk,
		struct gmmu_cursor cursor, const struct gmmu_window *window);

/*
 * A place in the walk with @ordinal blocks with touched pages before it. The next block with
 * touched pages is number @ordinal, counted from 0.
 */
struct gmmu_cursor gmmu_seek(const struct gmmu_walk *walk, u64 ordinal);

/*
 * The same, for one walk and places that mostly go forward. *start, all zero at first, is the
 * beginning of the touch that the last place was in: the touches before it are not counted
 * again.
 */
struct gmmu_cursor gmmu_seek_from(const struct gmmu_walk *walk, struct gmmu_cursor *start,
				  u64 ordinal);

/* A part of a walk: the touched blocks from ordinal @first on, before ordinal @end. */
struct gmmu_span {
	u64 first;
	u64 end;
	/*
	 * The beginning of a touch, from which on they are looked for; all zero: of the first
	 * one. After ordinal @first it counts as all zero.
	 */
	struct gmmu_cursor start;
};

/*
 * The first place in a part of the walk where the block at @va is touched. False: there is
 * none, and *ret_cursor stays.
 */
bool gmmu_find_block(const struct gmmu_walk *walk, u64 va, const struct gmmu_span *span,
		     struct gmmu_cursor *ret_cursor);

/* Take up to @max records out of the buffer. */
u32 gmmu_fetch(struct gmmu *gmmu, struct gvm_fault *faults, u32 max);

/* Drop every record, before a replay: accesses that still miss fault again. */
void gmmu_flush(struct gmmu *gmmu);

/* Drop the records of one address space: it is going away. */
void gmmu_drop(struct gmmu *gmmu, const void *space);

/* Are there records? */
bool gmmu_pending(const struct gmmu *gmmu);

#endif
