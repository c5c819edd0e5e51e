// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Transparent GPU huge pages: fault on 64 KB, move 2 MB.
 *
 * Layer: policy. Never waits, never calls back, takes no lock: it decides from its arguments
 * alone.
 *
 *
 * One fault is enough
 *
 * The GPU raises a fault for each 64 KB page. A fault's way to the driver and back costs far
 * more than moving the 31 other pages as well. A copy of 2 MB is one push, 32 small copies are
 * 32 pushes. A block with all of its 32 pages needs one large PTE. And the whole chunk is
 * charged anyway. So when no page of a block is resident, its first fault brings all of them:
 *
 *     resident  ................................       resident  ####............####....
 *     faulted   .....x..........................       faulted   .....x..................
 *     plan      ################################       plan      .....#..................
 *
 * A block may be resident in part, as after a discard. It cannot get a large PTE, so only the
 * pages that faulted come.
 *
 *
 * How it differs from the papers (GVM 4.3) and the published driver
 *
 *   1. The published driver promotes only when the CPU holds all 512 small pages in one huge
 *      host page, so it helps a block that was evicted before, and never the first touch. Here
 *      promotion depends only on the pages that are on the device.
 *   2. GVM falls back to page-wise handling at the remainder of an allocation that does not
 *      fill a block. Here the remainder comes as a whole, too: the chunk is charged, and the
 *      copy is one run. Only a large PTE is not possible.
 *   3. The published driver gives all pages of a promoted block the most intrusive access type
 *      among the faults. A plan is a mask of pages: it moves data and grants nothing.
 */
#include "gvm/range.h"

/* CONTEXT: atomic. */
u32 gvm_hugepage_plan(const struct gvm_block *block, u32 faulted)
{
	if (block->resident == 0 && faulted != 0)
		return block->valid;
	return faulted & block->valid & ~block->resident;
}
