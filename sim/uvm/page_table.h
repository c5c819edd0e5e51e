/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The page tables of one address space of a simulated GPU. The driver writes them through
 * gvm_mmu_ops.map and unmap; the GMMU reads them. They are the hardware's own record: nothing
 * here reads the driver's records. So a mapping that the driver forgets has an effect, as on
 * real hardware.
 *
 * An address space has regions, one for each managed range. A region has an entry for each 2 MB
 * block: which of its 64 KB pages are valid, which of these permit writes, and where they lie:
 * in a chunk, and from which page of it on, or in host memory.
 *
 * Finding the next miss
 * =====================
 *
 * Kernels touch thousands of blocks, of which few or none miss. So a region also keeps two
 * bitmaps for reads, and two for writes. The first has one bit for each block, set if the block
 * lacks a page (a hole). The second, the summary, has one bit for each word of the first, set
 * if the word has a hole:
 *
 *     summary   | 1 0 1 0 ...                          one bit for 64 blocks (a word of holes)
 *     holes     | 0010..0 | 0000..0 | 1..1 | 0..0 |    one bit for a block
 *
 * The next hole is found by scanning words: 640 GB of blocks are 80 words of the summary.
 *
 * LOCKING: none. The simulator's code runs without interruption between two blocking calls.
 */
#ifndef SIM_UVM_PAGE_TABLE_H
#define SIM_UVM_PAGE_TABLE_H

#include "gvm/ops.h"

/* The entry of one 2 MB block. While no page is valid, its place means nothing. */
struct page_table_entry {
	u32 valid;	  /* pages that an access finds */
	u32 writable;	  /* of these, pages that permit writes */
	u32 remote;	  /* of these, pages in host memory */
	u32 chunk;	  /* where the others lie */
	u32 offset_pages; /* page of the chunk in which page 0 of the block lies */
};

/* The blocks of a region that lack a page for one kind of access. */
struct page_table_holes {
	u64 *blocks;  /* one bit for each block */
	u64 *summary; /* one bit for each word of blocks */
	u64 pages;    /* missing pages that the region covers, in all blocks */
};

/* The tables of one managed range. */
struct page_table_region {
	u64 va; /* of its first block */
	u32 block_count;
	u32 last_pages; /* mask of the range's pages in the last block; others are whole */
	struct page_table_entry *entries;
	struct page_table_holes reads;	/* pages that are not valid */
	struct page_table_holes writes; /* pages that are not valid and writable */
	u64 remote_pages;		/* of all entries */
};

/* The tables of one address space. */
struct page_table {
	void *space; /* cookie of the address space, reported with its faults */
	struct page_table_region *regions; /* sorted by address */
	u32 region_count;
	/*
	 * How often pages were lost, to accesses or to writes. While it does not change,
	 * accesses that found all their pages find them again.
	 */
	u64 losses;
	u64 remote_pages;   /* of all regions */
	u64 remote_changes; /* how often an entry's remote pages became others */
};

/* page_table_init(): there are no regions. page_table_destroy() frees all regions. */
void page_table_init(struct page_table *table, void *space);
void page_table_destroy(struct page_table *table);

/*
 * Make the tables of a range of @bytes at @va, which is aligned to a block; nothing is valid
 * yet. Returns 0, -EINVAL (not aligned, empty, or it runs into another region) or -ENOMEM.
 */
int page_table_reserve(struct page_table *table, u64 va, u64 bytes);

/* Free the tables of the range that begins at @va. */
void page_table_release(struct page_table *table, u64 va);

/*
 * The region that has the block of @va, or NULL. The pointer is valid until the next reserve or
 * release.
 */
const struct page_table_region *page_table_find(const struct page_table *table, u64 va);

/*
 * Write the entry of the block at @va, which lies in a region: @pages of it become valid in
 * @chunk, where page 0 is page @offset_pages, and writable or not; or they become invalid.
 */
void page_table_map(struct page_table *table, u64 va, u32 chunk, u32 offset_pages, u32 pages,
		    bool writable);
void page_table_unmap(struct page_table *table, u64 va, u32 pages);

/* Likewise: @pages become valid and writable, and lie in host memory. */
void page_table_map_remote(struct page_table *table, u64 va, u32 pages);

/* The pages that the region covers of its block @index. */
static inline u32 page_table_covered(const struct page_table_region *region, u32 index)
{
	return index + 1 == region->block_count ? region->last_pages : GVM_BLOCK_FULL;
}

/* The pages of block @index that are mapped for @access. */
static inline u32 page_table_accessible(const struct page_table_region *region, u32 index,
					u8 access)
{
	const struct page_table_entry *entry = &region->entries[index];

	return access >= GVM_ACCESS_WRITE ? entry->writable : entry->valid;
}

/* The holes of a region for @access. */
static inline const struct page_table_holes *
page_table_holes(const struct page_table_region *region, u8 access)
{
	return access >= GVM_ACCESS_WRITE ? &region->writes : &region->reads;
}

/* The first set bit of @words from @from on, before @end; @end: none is. */
u32 page_table_next_bit(const u64 *words, u32 from, u32 end);

/*
 * The first block from @from on, before @end, that lacks a page for @access; @end: none does.
 */
u32 page_table_next_hole(const struct page_table_region *region, u8 access, u32 from, u32 end);

#endif
