// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Clean drop: pages that were never written leave without a copy.
 *
 * Layer: block. Takes no lock but the device's leaf lock.
 *
 *
 * The idea
 *
 * An eviction copies 2 MB to the host because the GPU may have written to them. Most evicted
 * memory on a shared GPU is the weights of models, which are never written: after they have
 * come in, the same bytes are on the host and on the device. So the host's copy is kept when a
 * page comes in for a read, and the page is mapped read-only. The page is clean until its first
 * write:
 *
 *                   read fault: copied in             eviction: dropped, no copy
 *      on the host ----------------------> clean ------------------------------> on the host
 *            \                               | write fault: the host's copy goes, no copy in
 *             \  write fault: copied in      v
 *              `--------------------------> dirty -----------------------------> on the host
 *                                                     eviction: copied out
 *
 * A clean page has a bit in on_host and a bit in resident; block->clean has the pages with
 * both. Code that changes one of the two updates block->clean with gvm_clean_set_locked(). PTEs
 * of clean pages do not permit writes: the GPU cannot make a page dirty without a fault.
 *
 *
 * The costs
 *
 * Clean pages on the device also take host memory: gmem.clean.current counts these copies. They
 * are not part of gmem.swap.current, which counts memory that is in host memory only.
 * hmem.limit counts both. A page that comes back from the swap keeps its place. A page that the
 * application wrote on the host keeps its copy if there is room. A container without room
 * evicts its clean chunks, whose pages have their places, before its faults are cancelled. The
 * first write to a block that was read before costs a fault.
 *
 *
 * A write is promoted, as a read is
 *
 * The 32 pages of a block could be made writable one by one. But a kernel that writes to a
 * block mostly writes to all of it, page after page. 32 faults with their replays (30 us each)
 * cost far more than one copy of unwritten pages to the host (131 us for all of 2 MB at 16
 * GB/s). So the first write makes the whole block dirty, as the first access brings all of it
 * in (policy/hugepage.c). That is right for today's applications: an allocation is either
 * weights or written everywhere. Data that is read and written within the same 2 MB gains
 * nothing.
 *
 *
 * Where it comes from
 *
 *   1. CPUs have a dirty bit in each PTE, and their kernels drop clean pages. The page tables
 *      of this hardware have no dirty bit that a driver could read. Permissions replace it, as
 *      on CPUs without a dirty bit.
 *   2. UVM maps pages read-only with a copy elsewhere ("read duplication") when an application
 *      asks for it, and its evictions drop such a page. Here no application has to ask. One
 *      that asks (GVM_ADVICE_READ_MOSTLY) gets clean pages without GVM_CLEAN_DROP, too.
 *   3. Neither paper has it: GVM and Ghost copy out each page that leaves. On NVIDIA's driver
 *      this would be a change inside uvm_va_block, which the hooks do not reach.
 */
#include "gvm/block.h"
#include "gvm/swap.h"

u32 gvm_clean_plan_locked(struct gvm_range *range, struct gvm_block *block, u32 pages,
			  enum gvm_access access)
{
	u32 uncharged = pages & block->on_host & ~block->swapped & ~block->clean;

	if (access >= GVM_ACCESS_WRITE ||
	    (!range->read_mostly && !gvm_has_feature(range->memory->device, GVM_CLEAN_DROP)))
		return 0;
	/* They count as swapped until they are clean, a moment later. */
	if (!gvm_swap_reserve(range->container, (u64)hweight32(uncharged) << GVM_PAGE_SHIFT))
		block->swapped |= uncharged;
	else
		pages &= ~uncharged;
	return pages & block->on_host;
}

void gvm_clean_set_locked(struct gvm_range *range, struct gvm_block *block, u32 clean)
{
	u32 before = hweight32(block->clean), after = hweight32(clean);

	gvm_mutex_assert_held(&range->lock);
	block->clean = clean;
	if (before == after)
		return;
	range->clean_pages += (u64)after - before;
	gvm_clean_charge(range->container, block->chunk, before << GVM_PAGE_SHIFT,
			 after << GVM_PAGE_SHIFT);
}

int gvm_range_advise(struct gvm_range *range, enum gvm_advice advice)
{
	if (advice != GVM_ADVICE_READ_MOSTLY)
		return -EOPNOTSUPP;
	gvm_mutex_lock(&range->lock);
	range->read_mostly = true;
	gvm_mutex_unlock(&range->lock);
	return 0;
}
