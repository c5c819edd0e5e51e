// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Clean drop: what was never written leaves without a copy.
 *
 * Layer: block. Takes no lock but the device's leaf lock.
 *
 *
 * The idea
 *
 * An eviction copies 2 MB to the host because the GPU may have written to them. Most of what is
 * evicted on a shared GPU are the weights of models, which are never written: after they have
 * come in, the same bytes are on the host and on the device. So the host's copy is kept when a page
 * comes in for a read, and the page is mapped read-only. It is clean until its first write:
 *
 *                   read fault: copied in             eviction: dropped, no copy
 *      on the host ----------------------> clean ------------------------------> on the host
 *            \                               | write fault: the host's copy goes, no copy in
 *             \  write fault: copied in      v
 *              `--------------------------> dirty -----------------------------> on the host
 *                                                     eviction: copied out
 *
 * A clean page is a bit in on_host and a bit in resident; block->clean are both at once. Code that
 * changes one of the two updates block->clean here. PTEs of clean pages do not permit
 * writes: the GPU cannot make one dirty without telling the driver.
 *
 *
 * What it costs
 *
 * Host memory, for as long as clean pages are on the device: the copies are counted in
 * gmem.clean.current. They are not part of gmem.swap.current, whose bytes live in host memory only,
 * nor charged to any limit: the driver could give each of them up at any time, at the price of
 * copying it out later. And a fault for the first write to a block that was read before.
 *
 *
 * A write is promoted, as a read is
 *
 * The 32 pages of a block could be made writable one by one. A kernel that writes to a block writes
 * to all of it more often than not, and walks through it page after page: 32 faults with their
 * replays (30 us each) cost far more than copying out once what was not written (131 us for all of
 * 2 MB at 16 GB/s). So the first write makes the whole block dirty, as the first access brings all
 * of it in (policy/hugepage.c). It is right for the applications that there are: an allocation is
 * either weights or written all over. Data that is read and written within 2 MB gains nothing.
 *
 *
 * Where it comes from
 *
 *   1. CPUs have a dirty bit in each PTE and their kernels drop clean pages since there is paging.
 *      The page tables of this hardware have none that a driver could read, so permissions stand
 *      in for it, as they did on machines without one.
 *   2. UVM knows pages that are mapped read-only with a copy elsewhere ("read duplication"), when an
 *      application asks for it; its evictions drop such a page. Nothing has to be asked for here.
 *   3. Neither paper has it: GVM and Ghost copy out whatever leaves. On NVIDIA's driver this would
 *      be a change inside uvm_va_block, which the hooks do not reach.
 */
#include "gvm/range.h"

u32 gvm_clean_plan(const struct gvm_range *range, const struct gvm_block *block, u32 pages,
		   enum gvm_access access)
{
	if (access >= GVM_ACCESS_WRITE ||
	    !gvm_has_feature(range->memory->device, GVM_CLEAN_DROP))
		return 0;
	return pages & block->on_host;
}

void gvm_clean_set_locked(struct gvm_range *range, struct gvm_block *block, u32 clean)
{
	u64 before = hweight32(block->clean), after = hweight32(clean);

	gvm_mutex_assert_held(&range->lock);
	block->clean = clean;
	if (before == after)
		return;
	range->clean_pages += after - before;
	gvm_clean_charge(range->container, before << GVM_PAGE_SHIFT, after << GVM_PAGE_SHIFT);
}
