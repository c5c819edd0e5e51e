// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: block. The pages and the block that sorted faults ask for, and the status of each
 * fault.
 */
#include "gvm/range.h"

u32 gvm_fault_block_index(const struct gvm_range *range, const struct gvm_fault *fault)
{
	return (u32)((fault->va - range->va) >> GVM_CHUNK_SHIFT);
}

u32 gvm_fault_page_mask(const struct gvm_fault *fault)
{
	return 1u << ((fault->va >> GVM_PAGE_SHIFT) & (GVM_PAGES_PER_BLOCK - 1));
}

/* The pages of one block that the first *ret_run faults ask for. */
u32 gvm_fault_block_mask(const struct gvm_range *range, const struct gvm_fault *faults,
			 u32 count, u32 *ret_run)
{
	u32 index = gvm_fault_block_index(range, &faults[0]);
	u32 mask = 0;
	u32 i;

	for (i = 0; i < count && gvm_fault_block_index(range, &faults[i]) == index; i++)
		mask |= gvm_fault_page_mask(&faults[i]);
	*ret_run = i;
	return mask;
}

u32 gvm_fault_written_mask(const struct gvm_fault *faults, u32 count)
{
	u32 mask = 0;

	for (u32 i = 0; i < count; i++)
		if (faults[i].access >= GVM_ACCESS_WRITE)
			mask |= gvm_fault_page_mask(&faults[i]);
	return mask;
}

/*
 * A page after the end of the range does not exist: its fault gets -EFAULT, since no replay
 * helps.
 */
void gvm_fault_set_status(const struct gvm_block *block, struct gvm_fault *faults, u32 count,
			  int status)
{
	for (u32 i = 0; i < count; i++)
		faults[i].status =
			gvm_fault_page_mask(&faults[i]) & block->valid ? status : -EFAULT;
}
