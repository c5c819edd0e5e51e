/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * VA blocks: residency inside 2 MB of managed address space. Simulator and fake GPU only: on a
 * real GPU NVIDIA's uvm_va_block owns chunks, PTEs and copies, and calls policy at the hooks.
 */
#ifndef GVM_BLOCK_H
#define GVM_BLOCK_H

#include "gvm/range.h"

/* The block layer as a memory manager: its argument is a struct gvm_memory. */
extern const struct gvm_memory_ops gvm_block_memory_ops;

/* The calls of the table about ranges, with their contracts. CONTEXT: process. */
int gvm_range_init(struct gvm_memory *memory, struct gvm_range *range,
		   const struct gvm_range_config *config);
void gvm_range_destroy(struct gvm_range *range);

/* gvm_memory_ops.service for faults that are all in this range. CONTEXT: process. */
void gvm_range_service(struct gvm_range *range, struct gvm_fault *faults, u32 count,
		       struct gvm_fence *fence);

/* gvm_memory_ops.discard. Blocks in service are left alone. CONTEXT: process. */
u64 gvm_range_discard(struct gvm_range *range, u64 offset, u64 bytes);

/*
 * gvm_memory_ops.advise: GVM_ADVICE_READ_MOSTLY makes what comes in for reads from now on clean
 * (block/clean.c). Returns 0, or -EOPNOTSUPP for other advice. Takes the range's lock.
 * CONTEXT: process.
 */
int gvm_range_advise(struct gvm_range *range, enum gvm_advice advice);

/*
 * Unevictable memory, charged to its container (block/unevictable.c):
 * gvm_memory_ops.unevictable_add and unevictable_remove. Remove gives back @bytes of the added
 * memory, such as the page tables of a range that is gone. Release gives back all of it.
 * CONTEXT: process.
 */
int gvm_unevictable_add(struct gvm_memory *memory, struct gvm_unevictable *taken, u64 bytes);
void gvm_unevictable_remove(struct gvm_memory *memory, struct gvm_unevictable *taken,
			    u64 bytes);
void gvm_unevictable_release(struct gvm_memory *memory, struct gvm_unevictable *taken);

/*
 * Bytes of an address space's page tables; bytes that a range of @bytes adds to them. CONTEXT:
 * atomic.
 */
u64 gvm_page_table_space_bytes(void);
u64 gvm_page_table_range_bytes(u64 bytes);

/*
 * The calls of the table about chunks, with their contracts. CONTEXT: process; process; atomic.
 */
int gvm_block_evict(struct gvm_memory *memory, u32 chunk, struct gvm_eviction *eviction);
int gvm_block_hint(struct gvm_memory *memory, u32 chunk);
bool gvm_block_evictable(const struct gvm_memory *memory, u32 chunk);

/*
 * The steps of gvm_range_service(). A model of another driver uses them for a service of its
 * own over the same blocks. "_locked": the range's lock is held.
 */

/*
 * Unmap @pages of a block that has a chunk. They are not resident any more. CONTEXT: process.
 */
void gvm_block_unmap_locked(struct gvm_range *range, u32 index, u32 pages);

/*
 * Take the chunk, or the part of one, away from a block with no mapped page, and uncharge it.
 * Returns false: other blocks still have parts of the chunk. Else, without @keep, the chunk
 * goes back to the device. CONTEXT: process.
 */
bool gvm_block_drop_chunk_locked(struct gvm_range *range, struct gvm_block *block, bool keep);

/*
 * Drop the host's data of @pages: it is on the device now, or the application gave it up.
 * CONTEXT: atomic.
 */
void gvm_block_leave_host_locked(struct gvm_range *range, u32 index, u32 pages);

/*
 * Take a block's pages and its chunk away. The data is lost. CONTEXT: process.
 */
void gvm_block_release_locked(struct gvm_range *range, u32 index);

/*
 * Give a device chunk, or a part of one, to a block without any. It is charged, and the block
 * is in service. Returns 0, -EDQUOT (gmem.limit.high), -ENOMEM (the device is full) or -EIO (it
 * is dead). CONTEXT: process.
 */
int gvm_block_populate_locked(struct gvm_range *range, u32 index);

/*
 * Give @chunk to a block without a chunk. The container's reservation becomes the charge of the
 * chunk, and the block is in service. CONTEXT: atomic.
 */
void gvm_block_attach_locked(struct gvm_range *range, u32 index, u32 chunk);

/* Unmap the resident pages of a block, so that its next use faults. CONTEXT: process. */
void gvm_block_hide_locked(struct gvm_range *range, u32 index);

/*
 * Prefetch (block/prefetch.c): gvm_memory_ops.prefetch. take_coming: a fault asks for a block
 * whose copy is under way. @fence covers that copy, and the service maps the block. CONTEXT:
 * process.
 */
int gvm_memory_prefetch(struct gvm_memory *memory, struct gvm_container *container,
			struct gvm_prefetch *blocks, u32 count);
void gvm_block_take_coming_locked(struct gvm_range *range, u32 index, struct gvm_fence *fence);

/*
 * Start copying in or clearing the pages @wanted of a block that has a chunk. None of them is
 * resident. @fence covers the copies. Returns 0, or an error of the device's copy_in, clear or
 * fence_wait. CONTEXT: process.
 */
int gvm_block_fill_locked(struct gvm_range *range, u32 index, u32 wanted,
			  struct gvm_fence *fence);

/*
 * The next step: books and PTEs, while the copies are in flight. Maps the pages @wanted so that
 * @access does not fault; their data is on the device or on its way there. The block is no
 * longer in service. CONTEXT: atomic.
 */
void gvm_block_finish_locked(struct gvm_range *range, u32 index, u32 wanted,
			     enum gvm_access access);

/*
 * Wait for a copy of the block to the host that is in flight: it has to end before a copy back
 * in, and before a remote mapping. Returns 0 or -EINTR. CONTEXT: process.
 */
int gvm_block_wait_for_host(struct gvm_range *range, const struct gvm_block *block);

/*
 * Remote mappings (block/remote.c). note_return: a fault of @tsg has brought the block in.
 * is_stuck: the block has no chunk, and came in GVM_STUCK_RETURNS times for one access of @tsg
 * that still has not finished. map_remote: map @pages of a block without a chunk from host
 * memory, with all its pages that have data there. Returns 0; -EDQUOT: the device has no such
 * mappings, or hmem.limit has no room; or an error of map_remote or fence_wait. end_remote:
 * unmap those of @pages that are remote; their data stays in host memory. CONTEXT: process.
 */
void gvm_block_note_return_locked(struct gvm_range *range, struct gvm_block *block, u32 tsg);
bool gvm_block_is_stuck_locked(const struct gvm_range *range, const struct gvm_block *block,
			       u32 tsg);
int gvm_block_map_remote_locked(struct gvm_range *range, u32 index, u32 pages);
void gvm_block_end_remote_locked(struct gvm_range *range, u32 index, u32 pages);

/* gvm_memory_ops.remote_end. CONTEXT: process. */
void gvm_memory_end_remote(struct gvm_memory *memory, const struct gvm_container *container);

/*
 * Unmap @pages, all of them resident, and start copying those that are not clean to host
 * memory. Returns 0, or an error of the device's copy_out; then the pages are mapped again.
 * CONTEXT: process.
 */
int gvm_block_push_out_locked(struct gvm_range *range, u32 index, u32 pages,
			      struct gvm_fence *fence);

#endif
