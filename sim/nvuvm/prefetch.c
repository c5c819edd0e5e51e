// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The density prefetcher of NVIDIA's driver: a model of open-gpu-kernel-modules 575,
 * uvm_perf_prefetch.c, of uvm_perf_prefetch_get_hint_va_block() and compute_prefetch_region().
 *
 *
 * More than half of it is here, so the rest may come
 *
 * A block is a binary tree over its pages. A fault looks upwards from its page: the largest
 * subtree in which the pages that are resident or faulted just now are more than 51 % is brought
 * in whole. A thread that walks through a block page by page fills the tree by powers of two:
 *
 *     fault at page 0   #...............................   1 of 1; of 2 it is only 50 %
 *                   1   ##..............................   2 of 2; 2 of 4 is only 50 %
 *                   2   ####............................   3 of 4 = 75 %
 *                   4   ########........................   5 of 8 = 62 %
 *                   8   ################................   9 of 16 = 56 %
 *                  16   ################################  17 of 32 = 53 %
 *
 * So 2 MB take six faults, each with its way into the driver and back. Only pages before the
 * prefetch count: the region of one fault does not make another region denser.
 *
 * How this differs from the driver:
 *  1. Its leaves are 4 KB pages, and it fills up each faulted 64 KB first (grow_fault_granularity).
 *     Our pages have 64 KB already.
 *  2. uvm_perf_prefetch_min_faults is 1, so every fault may attract; there is no count to keep.
 *  3. A range with this GPU as its preferred location is populated whole on first touch there. No
 *     application here gives such advice.
 */
#include "nvuvm/prefetch.h"

/* The subtree of @size pages, a power of two, that @page is in. */
static u32 subtree_mask(u32 page, u32 size)
{
	u32 mask = size < GVM_PAGES_PER_BLOCK ? (1u << size) - 1 : GVM_BLOCK_FULL;

	return mask << (page & ~(size - 1));
}

static bool subtree_is_dense(u32 mask, u32 occupied)
{
	return hweight32(mask & occupied) * 100 > hweight32(mask) * NVUVM_PREFETCH_THRESHOLD;
}

/* The largest dense subtree above a page. */
static u32 prefetch_region(u32 page, u32 valid, u32 occupied)
{
	u32 region = 0;

	for (u32 size = 1; size <= GVM_PAGES_PER_BLOCK; size *= 2) {
		u32 mask = subtree_mask(page, size) & valid;

		if (subtree_is_dense(mask, occupied))
			region = mask;
	}
	return region;
}

u32 nvuvm_prefetch(u32 valid, u32 resident, u32 faulted, u32 thrashing)
{
	u32 attracting = faulted & ~thrashing;
	u32 pages = 0;

	for (; attracting; attracting &= attracting - 1)
		pages |= prefetch_region((u32)__ffs(attracting), valid, resident | faulted);
	return (faulted | (pages & ~thrashing)) & valid & ~resident;
}
