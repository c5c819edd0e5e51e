/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * VA blocks: residency inside 2 MB of managed address space. Simulator and fake GPU only: on a
 * real GPU NVIDIA's uvm_va_block owns chunks, PTEs and copies, and calls policy at the hooks.
 */
#ifndef GVM_BLOCK_H
#define GVM_BLOCK_H

#include "gvm/charge.h"

/* One 2 MB block. Guarded by its range's lock. */
struct gvm_block {
	u32 chunk;    /* its device chunk, or GVM_NO_CHUNK */
	u32 valid;    /* pages that the range covers */
	u32 resident; /* pages whose data is on the device, mapped */
	u32 on_host;  /* pages whose data is in host memory */
};

/* A managed allocation: a run of blocks of one address space. */
struct gvm_range {
	struct gvm_container *container; /* a reference */
	void *gpu;			 /* passed to every call of mmu */
	const struct gvm_mmu_ops *mmu;	 /* borrowed */
	void *space;			 /* the device's cookie of the address space */
	u64 va;				 /* first byte, aligned to a block */
	u64 bytes;
	struct gvm_mutex lock; /* the VA-block lock */
	u32 block_count;
	struct gvm_block *blocks;
	u64 resident_pages; /* pages resident now */
	u64 valid_pages;    /* pages in all; equal: nothing in here can fault */
};

/* What happened to a range's pages while faults were serviced. */
struct gvm_block_stats {
	u64 pages_copied_in;
	u64 pages_cleared;
};

/* What gvm_range_init() needs. */
struct gvm_range_config {
	struct gvm_container *container; /* init takes a reference of its own */
	const struct gvm_mmu_ops *mmu;
	void *gpu;
	void *space;
	u64 va;	      /* aligned to a block */
	u64 bytes;    /* at least 1; the last block may be partial */
	bool on_host; /* the application wrote it on the CPU: first touches copy it in */
};

/* Returns 0, -EINVAL or -ENOMEM. CONTEXT: process. */
int gvm_range_init(struct gvm_range *range, const struct gvm_range_config *config);

/* Unmap, uncharge and free everything. No access may be in flight. CONTEXT: process. */
void gvm_range_destroy(struct gvm_range *range);

/*
 * Make the pages of @faults resident and mapped: all in this range, sorted, no duplicates. Sets
 * each fault's status: 0, -EFAULT (behind the range's end), -EDQUOT (container at its limit), -ENOMEM (device full), or a copy's
 * error. @fence is raised to cover the device work: wait for it before replaying. CONTEXT: process.
 */
void gvm_range_service(struct gvm_range *range, struct gvm_fault *faults, u32 count,
		       struct gvm_block_stats *stats, struct gvm_fence *fence);

/*
 * Huge-page plan (policy/hugepage.c): which pages to bring in, given what faulted. Promotes to
 * the whole block where nothing of it is resident yet. CONTEXT: atomic.
 */
u32 gvm_hugepage_plan(const struct gvm_block *block, u32 faulted);

#endif
