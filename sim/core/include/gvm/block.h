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
 * Unevictable memory that is charged to its container (block/unevictable.c): add and remove of the
 * table. Remove gives back @bytes of what was added, such as the page tables of a range that is gone;
 * release gives back all.
 * CONTEXT: process.
 */
int gvm_unevictable_add(struct gvm_memory *memory, struct gvm_unevictable *taken, u64 bytes);
void gvm_unevictable_remove(struct gvm_memory *memory, struct gvm_unevictable *taken,
			    u64 bytes);
void gvm_unevictable_release(struct gvm_memory *memory, struct gvm_unevictable *taken);

/* What the page tables of an address space take, and what a range of @bytes adds. CONTEXT: atomic. */
u64 gvm_page_table_space_bytes(void);
u64 gvm_page_table_range_bytes(u64 bytes);

/* The calls of the table about chunks, with their contracts. CONTEXT: process; process; atomic. */
int gvm_block_evict(struct gvm_memory *memory, u32 chunk, struct gvm_eviction *eviction);
int gvm_block_hint(struct gvm_memory *memory, u32 chunk);
bool gvm_block_evictable(const struct gvm_memory *memory, u32 chunk);

/*
 * What gvm_range_service() is made of, for a model of another driver that does its own service
 * over the same blocks. "_locked": the range's lock is held.
 */

/* Pages of a block that has a chunk cease to be resident and mapped. CONTEXT: process. */
void gvm_block_unmap_locked(struct gvm_range *range, u32 index, u32 pages);

/*
 * The block loses its chunk, of which nothing is mapped any more; unless @keep, the chunk is given
 * back. CONTEXT: atomic.
 */
void gvm_block_drop_chunk_locked(struct gvm_range *range, struct gvm_block *block, bool keep);

/*
 * Host memory holds nothing of @pages any more: they are on the device, or their data is given up.
 * CONTEXT: atomic.
 */
void gvm_block_leave_host_locked(struct gvm_range *range, u32 index, u32 pages);

/*
 * Give a block that has none the chunk @chunk, in service: the container's reservation becomes its
 * charge. CONTEXT: atomic.
 */
void gvm_block_attach_locked(struct gvm_range *range, u32 index, u32 chunk);

/*
 * Start copying in and clearing @wanted, none of it resident, of a block that has a chunk; @fence
 * covers it. Returns 0, or an error of the device's copy_in, clear or fence_wait. CONTEXT:
 * process.
 */
int gvm_block_fill_locked(struct gvm_range *range, u32 index, u32 wanted,
			  struct gvm_fence *fence);

/*
 * Then: books and PTEs, while the copies fly. Maps @wanted, whose data is on the device or on its
 * way there, so that @access does not fault. The block is no longer in service. CONTEXT: atomic.
 */
void gvm_block_finish_locked(struct gvm_range *range, u32 index, u32 wanted,
			     enum gvm_access access);

/*
 * Unmap @pages, all of them resident, and start copying to host memory what of them is not clean.
 * Returns 0, or an error of the device's copy_out: they are mapped again. CONTEXT: process.
 */
int gvm_block_push_out_locked(struct gvm_range *range, u32 index, u32 pages,
			      struct gvm_fence *fence);

#endif
