// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The density prefetcher of NVIDIA's driver: a model of open-gpu-kernel-modules 575,
 * uvm_perf_prefetch.c, of uvm_perf_prefetch_get_hint_va_block() and compute_prefetch_region().
 *
 *
 * If more than half of a subtree is here, the rest comes
 *
 * A block is a binary tree over its pages. A fault looks upwards from its page. It brings in
 * the largest subtree in which more than 51 % of the pages are resident or faulted in this
 * batch. A thread that walks through a block page by page fills the tree by powers of two:
 *
 *     fault at page 0   #...............................   1 of 1; of 2 it is only 50 %
 *                   1   ##..............................   2 of 2; 2 of 4 is only 50 %
 *                   2   ####............................   3 of 4 = 75 %
 *                   4   ########........................   5 of 8 = 62 %
 *                   8   ################................   9 of 16 = 56 %
 *                  16   ################################  17 of 32 = 53 %
 *
 * So 2 MB take six faults, each with a way into the driver and back. Only pages before the
 * prefetch count: the region of one fault does not make another region denser.
 *
 * How this differs from the driver:
 *  1. Its leaves are 4 KB pages, and it fills up each faulted 64 KB first
 *     (grow_fault_granularity). Our pages have 64 KB already.
 *  2. uvm_perf_prefetch_min_faults is 1, so every fault may attract pages. There is no count to
 *     keep.
 *  3. The first touch of a block whose preferred location is this GPU brings in all of it
 *     there, too: driver.c.
 */
#include "nvuvm/prefetch.h"

/* The largest dense subtree above a page. A subtree has a power of two of pages. */
static u32 prefetch_region(u32 page, u32 valid, u32 occupied)
{
	u32 region = 0;

	for (u32 size = 1; size <= GVM_PAGES_PER_BLOCK; size *= 2) {
		u32 first = page & ~(size - 1);
		u32 mask = size < GVM_PAGES_PER_BLOCK ? (1u << size) - 1 : GVM_BLOCK_FULL;

		mask = (mask << first) & valid;
		if (hweight32(mask & occupied) * 100 >
		    hweight32(mask) * NVUVM_PREFETCH_THRESHOLD)
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
