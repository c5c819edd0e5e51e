/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Walks: the memory that kernels touch, looked up in the page tables.
 *
 * Work on the GPU declares the memory it touches as a list of runs of blocks, in order.
 * Progress of the work is progress through that list. Touching resident memory costs one
 * comparison per region that is mapped from end to end, and a scan over words of a bitmap per
 * region that is not (see page_table.h). There is no event for it.
 *
 * The model is simple in one way: the SMs' many warps are one cursor that stalls at the first
 * miss. The other warps' misses are found by looking ahead to the end of the kernel in
 * execution (gmmu.h); the next kernel of the stream has not begun.
 *
 * A block has an ordinal: the number of blocks with touched pages before it in the walk.
 */
#ifndef SIM_UVM_GMMU_WALK_H
#define SIM_UVM_GMMU_WALK_H

#include "uvm/page_table.h"

/*
 * A run of blocks, by virtual address, that a kernel touches. Blocks outside of every region
 * have no page table entry: they miss.
 */
struct gmmu_touch {
	u64 va; /* of the first block */
	u32 block_count;
	/*
	 * Kernels that share the run. Each touches an equal part of its touched blocks, all at
	 * once when it begins, as a matrix product touches its weights. 0: the run is touched
	 * bit by bit, in the course of the work.
	 */
	u32 kernels;
	/*
	 * Rows of a matrix in a page. The threads that miss in a page have a row each, so it
	 * has at most so many faults at once. 0: no matrix.
	 */
	u32 rows_per_page;
	/*
	 * How often each of its pages crosses the link if it lies in host memory: the GPU has
	 * no cache for these. 0 counts as 1.
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
	u64 resident; /* table->losses when nothing could miss, plus 1; 0: not known */
};

/* A place in a walk. */
struct gmmu_cursor {
	u32 touch;   /* index into the touches; at the end of the walk: their number */
	u32 block;   /* index into that touch's blocks */
	u64 ordinal; /* blocks with touched pages passed so far */
};

/* A touch with its region's tables. Valid until the next reserve or release of the table. */
struct gmmu_view {
	const struct gmmu_touch *touch;
	const struct page_table_region *region; /* NULL: there is none at its address */
	u32 first;	/* block of the region that the touch begins with */
	u32 mapped_end; /* blocks of the touch that lie in the region */
};

/* Touch number @index of a walk, with its tables. */
struct gmmu_view gmmu_view(const struct gmmu_walk *walk, u32 index);

/* The pages of block number @index of a touch that it touches and that would miss. */
u32 gmmu_view_missing(const struct gmmu_view *view, u32 index);

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

/*
 * A place in the walk with @ordinal blocks with touched pages before it. The next block with
 * touched pages is number @ordinal, counted from 0.
 */
struct gmmu_cursor gmmu_seek(const struct gmmu_walk *walk, u64 ordinal);

/*
 * The same for a series of places in one walk that mostly go forward. *start is all zero before
 * the first call. A call leaves in it the beginning of the touch that its place is in, so that
 * the next call does not count the touches before it again.
 */
struct gmmu_cursor gmmu_seek_from(const struct gmmu_walk *walk, struct gmmu_cursor *start,
				  u64 ordinal);

/* A part of a walk: the touched blocks from ordinal @first on, before ordinal @end. */
struct gmmu_span {
	u64 first;
	u64 end;
	/*
	 * The beginning of a touch, where a search through the part begins. A start after
	 * ordinal @first is not used: like one that is all zero, it is the first touch.
	 */
	struct gmmu_cursor start;
};

/*
 * The first place in a part of the walk where the block at @va is touched. False: there is
 * none, and *ret_cursor stays.
 */
bool gmmu_find_block(const struct gmmu_walk *walk, u64 va, const struct gmmu_span *span,
		     struct gmmu_cursor *ret_cursor);

#endif
