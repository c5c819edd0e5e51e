/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The lower half of the block layer: the structs of memory, ranges and blocks, the way from a
 * chunk or an address to its range (block/frame.c), and the pages that faults ask for. See
 * block.h.
 */
#ifndef GVM_RANGE_H
#define GVM_RANGE_H

#include "gvm/charge.h"

struct gvm_range;

/* Returns of a block for one access, after which the block is stuck: block/remote.c. */
#define GVM_STUCK_RETURNS 16u

/*
 * The block of a chunk: the reverse of gvm_block.chunk. With sub_chunks a chunk has a frame for
 * each page, and that of a block is the frame of its page 0.
 */
struct gvm_frame {
	struct gvm_range *range; /* NULL: of no block. Guarded by gvm_memory.lock */
	u32 index;     /* of the block; guarded likewise. Unevictable memory: the next chunk */
	u8 in_service; /* the block is in service; gvm_block_evictable() reads it unlocked */
};

/* A chunk in the books of block/part.c. Guarded by gvm_memory.parts_lock. */
struct gvm_root {
	struct gvm_container *container; /* of its parts; NULL: it has none */
	u32 used;			 /* pages that belong to parts */
	struct list_head node;		 /* in container->roomy, if it has room */
};

/*
 * The memory of one GPU as the block layer sees it. Lock order: a range's lock, then
 * parts_lock, then this lock or the device's; never two ranges' locks at once.
 */
struct gvm_memory {
	struct gvm_device *device;
	const struct gvm_mmu_ops *mmu;
	void *gpu;		  /* passed to every call of mmu */
	struct gvm_spinlock lock; /* leaf: guards the fields below, and users of ranges */
	struct gvm_frame *frames; /* 1 << frame_shift for each chunk of the device */
	struct rb_root ranges;	  /* published ranges, by address space and address */
	u32 frame_shift;
	struct gvm_mutex parts_lock; /* which parts a chunk has, and their charges */
	struct gvm_root *roots;	     /* with sub_chunks: one for each chunk; else NULL */
};

/* One 2 MB block. Guarded by its range's lock. */
struct gvm_block {
	u32 chunk;	  /* its device chunk, or GVM_NO_CHUNK */
	u32 valid;	  /* pages that the range covers: page 0 and those after it */
	u32 resident;	  /* pages whose data is on the device */
	u32 on_host;	  /* pages whose data is in host memory */
	u32 clean;	  /* of these, resident ones: mapped read-only, see block/clean.c */
	u32 hinted;	  /* resident and not mapped, see policy/hint.c */
	u32 swapped;	  /* of these, evicted ones: charged to gmem.swap.current */
	u32 remote;	  /* of on_host: mapped there, see block/remote.c */
	u32 in_tsg;	  /* the TSG whose fault brought it in last */
	u8 offset_pages;  /* page of the chunk in which its page 0 lies; 0 but for a part */
	u8 returns;	  /* times in a row that it has come in for the same access */
	bool coming;	  /* prefetched: its copy is under way, and nothing is mapped yet */
	u64 in_accesses;  /* accesses that in_tsg had finished when it came in */
	u64 in_sequence;  /* GVM_ENGINE_IN: when that copy will have arrived */
	u64 out_sequence; /* GVM_ENGINE_OUT: when the last copy to the host will have arrived */
};

/* A managed allocation: a run of blocks of one address space. */
struct gvm_range {
	/* in gvm_memory.ranges, guarded by its lock; empty: no fault finds it */
	struct rb_node node;
	struct gvm_container *container; /* a reference */
	struct gvm_memory *memory;	 /* borrowed */
	void *space;			 /* the device's cookie of the address space */
	void *device_data;		 /* for the device's use, NULL at first */
	struct gvm_range_stats *stats; /* borrowed, or NULL (in a kernel): no lock guards it */
	u64 va;			       /* first byte, aligned to a block */
	u64 bytes;
	struct gvm_mutex lock; /* the VA-block lock */
	u32 block_count;
	struct gvm_block *blocks;
	u64 resident_pages; /* pages resident now */
	u64 clean_pages;    /* of these, clean: a write to them faults */
	u64 hinted_pages;   /* of these, hinted: any access to them faults */
	u64 remote_pages;   /* pages mapped from host memory */
	u64 valid_pages;    /* pages in all */
	bool read_mostly;   /* advice: reads leave clean pages, see block/clean.c */
	bool dying;	    /* being destroyed: no page comes in any more */
	u32 users; /* threads at work in it, with or without its lock; gvm_memory.lock */
	struct gvm_waitqueue idle; /* waits for users to become 0 */
};

/* Is @va in the blocks of a range? All of the last block counts. CONTEXT: atomic. */
static inline bool gvm_range_covers(const struct gvm_range *range, u64 va)
{
	return va >= range->va && va - range->va < (u64)range->block_count << GVM_CHUNK_SHIFT;
}

/* The pages of a block whose mapping permits @access. CONTEXT: atomic. */
static inline u32 gvm_block_accessible(const struct gvm_block *block, enum gvm_access access)
{
	u32 mapped = block->resident & ~block->hinted;

	return access >= GVM_ACCESS_WRITE ? mapped & ~block->clean : mapped;
}

/* Returns 0 or -ENOMEM. @mmu is borrowed for life. CONTEXT: process. */
int gvm_memory_init(struct gvm_memory *memory, struct gvm_device *device,
		    const struct gvm_mmu_ops *mmu, void *gpu);

/* No range may be left. CONTEXT: process. */
void gvm_memory_destroy(struct gvm_memory *memory);

/* Enter a range to work in it without its lock: it stays until leave. CONTEXT: atomic. */
void gvm_range_enter(struct gvm_range *range);
void gvm_range_leave(struct gvm_range *range);

/*
 * The number of faults at the head of @faults that are in one range. That range is entered and
 * in *ret_range; NULL: the first fault is in no range. CONTEXT: atomic.
 */
u32 gvm_memory_enter_run(struct gvm_memory *memory, void *space, const struct gvm_fault *faults,
			 u32 count, struct gvm_range **ret_range);

/* A place between two published ranges; zeroed: before the first one. */
struct gvm_range_cursor {
	void *space;
	u64 va;
};

/*
 * Enter the published range after the cursor, and move the cursor past it. Returns NULL: there
 * is none. CONTEXT: atomic.
 */
struct gvm_range *gvm_memory_enter_next(struct gvm_memory *memory,
					struct gvm_range_cursor *cursor);

/*
 * publish: faults find the range from now on; its node is empty before. hide: faults do not
 * find it any more; it need not have been published. CONTEXT: atomic.
 */
void gvm_range_publish(struct gvm_range *range);
void gvm_range_hide(struct gvm_range *range);

/*
 * Wait until no thread works in the range. It is hidden and no frame points to it. CONTEXT:
 * process.
 */
void gvm_range_wait_idle(struct gvm_range *range);

/*
 * The frame of the block that begins at a page of a chunk: 0, but for a part. CONTEXT: atomic.
 */
static inline struct gvm_frame *gvm_frame(const struct gvm_memory *memory, u32 chunk, u32 page)
{
	return &memory->frames[((size_t)chunk << memory->frame_shift) + page];
}

/*
 * Mark a block that has a chunk as in service, so that no evictor takes it, or not; ask for it.
 * CONTEXT: atomic.
 */
static inline void gvm_block_set_in_service(struct gvm_memory *memory,
					    const struct gvm_block *block, bool in_service)
{
	WRITE_ONCE(gvm_frame(memory, block->chunk, block->offset_pages)->in_service,
		   in_service);
}

static inline bool gvm_block_in_service(const struct gvm_memory *memory,
					const struct gvm_block *block)
{
	return READ_ONCE(gvm_frame(memory, block->chunk, block->offset_pages)->in_service);
}

/*
 * The block that begins at @page of a chunk is @index of @range. @range NULL: none does now, or
 * the chunk is unevictable memory and @index is the next chunk of that. CONTEXT: atomic.
 */
void gvm_frame_set(struct gvm_memory *memory, u32 chunk, u32 page, struct gvm_range *range,
		   u32 index);

/*
 * Find the first block of a chunk that begins at page *@page or after it, and enter its range.
 * *page becomes the page where it begins, *ret_index its number. Returns NULL: there is no such
 * block. CONTEXT: atomic.
 */
struct gvm_range *gvm_frame_enter_range(struct gvm_memory *memory, u32 chunk, u32 *page,
					u32 *ret_index);

/*
 * Does the block live in a part of a chunk (block/part.c)? Other blocks have a chunk of their
 * own. CONTEXT: atomic.
 */
static inline bool gvm_block_is_part(const struct gvm_memory *memory,
				     const struct gvm_block *block)
{
	return memory->roots && block->valid != GVM_BLOCK_FULL;
}

/* Pages of device memory that the block takes. CONTEXT: atomic. */
static inline u32 gvm_block_pages(const struct gvm_memory *memory,
				  const struct gvm_block *block)
{
	return gvm_block_is_part(memory, block) ? hweight32(block->valid) : GVM_PAGES_PER_BLOCK;
}

/*
 * Give a part to a block without one. It is charged, and the block is in service. Returns 0;
 * -EDQUOT (gmem.limit.high), -ENOMEM (the device is full) or -EIO (it is dead). Range's lock
 * held. CONTEXT: process.
 */
int gvm_part_populate_locked(struct gvm_range *range, u32 index);

/*
 * Take the part away from a block with no mapped page, and uncharge it. Returns whether it was
 * the last one of its chunk: the chunk is then the caller's. Range's lock held. CONTEXT:
 * process.
 */
bool gvm_part_drop_locked(struct gvm_range *range, struct gvm_block *block);

/*
 * gvm_memory_ops.check: does each chunk with parts have the pages, the payers and the place in
 * its container's list that its blocks say? Returns 0, or -EUCLEAN after logging the first
 * error. CONTEXT: process.
 */
int gvm_memory_check(struct gvm_memory *memory);

/*
 * The part of @pages that keeps its copies in host memory and is mapped read-only. @pages are
 * about to be mapped for @access. Their copies are charged as swapped pages; the caller turns
 * this into clean ones. Without GVM_CLEAN_DROP, and without advice that the range is read
 * mostly: none. CONTEXT: atomic.
 */
u32 gvm_clean_plan_locked(struct gvm_range *range, struct gvm_block *block, u32 pages,
			  enum gvm_access access);

/*
 * Record in the books that the pages @clean of the block are its clean ones. CONTEXT: atomic.
 */
void gvm_clean_set_locked(struct gvm_range *range, struct gvm_block *block, u32 clean);

/*
 * Huge-page plan (policy/hugepage.c): the pages to bring in for the pages that faulted.
 * Promotes to the whole block if none of its pages is resident yet. CONTEXT: atomic.
 */
u32 gvm_hugepage_plan(const struct gvm_block *block, u32 faulted);

/* gvm_memory_ops.space_close. CONTEXT: atomic. */
void gvm_memory_close_space(struct gvm_memory *memory, void *space);

/* The number of a fault's block in its range. CONTEXT: atomic. */
u32 gvm_fault_block_index(const struct gvm_range *range, const struct gvm_fault *fault);

/*
 * The pages of one block that the faults at the head of @faults ask for. *ret_run is the number
 * of these faults, at least 1. CONTEXT: atomic.
 */
u32 gvm_fault_block_mask(const struct gvm_range *range, const struct gvm_fault *faults,
			 u32 count, u32 *ret_run);

/* The pages that the @count faults, all of one block, write to. CONTEXT: atomic. */
u32 gvm_fault_written_mask(const struct gvm_fault *faults, u32 count);

/* The bit of a fault's page in its block's masks. CONTEXT: atomic. */
u32 gvm_fault_page_mask(const struct gvm_fault *fault);

/*
 * Set the faults' status: -EFAULT after the end of the range, else @status. CONTEXT: atomic.
 */
void gvm_fault_set_status(const struct gvm_block *block, struct gvm_fault *faults, u32 count,
			  int status);

#endif
