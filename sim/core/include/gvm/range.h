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

/* The place of a chunk: the reverse of gvm_block.chunk. */
struct gvm_frame {
	struct gvm_range *range; /* NULL: in no block. Guarded by gvm_memory.lock */
	u32 index;     /* of the block; guarded likewise. Unevictable memory: the next chunk */
	u8 in_service; /* its block is in service; gvm_block_evictable() reads it unlocked */
};

/*
 * The memory of one GPU as the block layer sees it. Lock order: a range's lock, then this lock
 * or the device's; never two ranges' locks at once.
 */
struct gvm_memory {
	struct gvm_device *device;
	const struct gvm_mmu_ops *mmu;
	void *gpu;		  /* passed to every call of mmu */
	struct gvm_spinlock lock; /* leaf: guards the fields below, and users of ranges */
	struct gvm_frame *frames; /* one for each chunk of the device */
	struct rb_root ranges;	  /* published ranges, by address space and address */
};

/* One 2 MB block. Guarded by its range's lock. */
struct gvm_block {
	u32 chunk;	  /* its device chunk, or GVM_NO_CHUNK */
	u32 valid;	  /* pages that the range covers */
	u32 resident;	  /* pages whose data is on the device */
	u32 on_host;	  /* pages whose data is in host memory */
	u32 clean;	  /* of these, resident ones: mapped read-only, see block/clean.c */
	u32 hinted;	  /* resident and not mapped, see policy/hint.c */
	u32 swapped;	  /* of these, evicted ones: charged to gmem.swap.current */
	u64 out_sequence; /* GVM_ENGINE_OUT: when the last copy to the host will have arrived */
};

/* A managed allocation: a run of blocks of one address space. */
struct gvm_range {
	struct rb_node
		node; /* in gvm_memory.ranges, guarded by its lock; empty: no fault finds it */
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
	u64 valid_pages;    /* pages in all */
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
 * Mark a chunk's block as in service, so that no evictor takes it, or not; ask for it. CONTEXT:
 * atomic.
 */
void gvm_frame_set_in_service(struct gvm_memory *memory, u32 chunk, bool in_service);
bool gvm_frame_in_service(const struct gvm_memory *memory, u32 chunk);

/*
 * A chunk came into block @index of @range. @range NULL: it has left its block, or it is
 * unevictable memory and @index is the next chunk of that. CONTEXT: atomic.
 */
void gvm_frame_set(struct gvm_memory *memory, u32 chunk, struct gvm_range *range, u32 index);

/*
 * Find the range of a chunk and enter it; *ret_index is the chunk's block. Returns NULL: the
 * chunk is in no range. CONTEXT: atomic.
 */
struct gvm_range *gvm_frame_enter_range(struct gvm_memory *memory, u32 chunk, u32 *ret_index);

/*
 * The part of @pages that keeps its copies in host memory and is mapped read-only. @pages are
 * about to be mapped for @access. Without GVM_CLEAN_DROP: none. CONTEXT: atomic.
 */
u32 gvm_clean_plan(const struct gvm_range *range, const struct gvm_block *block, u32 pages,
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

/* The bit of a fault's page in its block's masks. CONTEXT: atomic. */
u32 gvm_fault_page_mask(const struct gvm_fault *fault);

/*
 * Set the faults' status: -EFAULT behind the end of the range, else @status. CONTEXT: atomic.
 */
void gvm_fault_set_status(const struct gvm_block *block, struct gvm_fault *faults, u32 count,
			  int status);

#endif
