// SPDX-License-Identifier: MIT OR GPL-2.0
/* Page tables against the driver's books; see check.h. */
#include "gpu/check.h"

#include <stdlib.h>

static const char *const pte_errors[] = {
	[SIM_PTE_OK] = "nothing",
	[SIM_PTE_FOREIGN] = "an address space reaches a chunk that is not its container's",
	[SIM_PTE_SHARED] = "a page of a chunk is mapped twice",
	[SIM_PTE_CHUNK] = "an entry has another place than its block",
	[SIM_PTE_STALE] = "a page is valid that the driver has not mapped",
	[SIM_PTE_WRITABLE] = "a page permits writes that the driver has mapped read-only",
	[SIM_PTE_MISSING] = "a page is not valid that the driver has mapped",
	[SIM_PTE_REMOTE] =
		"a page is mapped in host memory, or not, against the driver's books",
	[SIM_PTE_REGION] = "page tables and managed ranges do not match",
	[SIM_PTE_NO_MEMORY] = "no memory for the check",
};

/* Does the container pay for these pages of a chunk? */
static bool check_is_paid(const struct gvm_device *device,
			  const struct gvm_container *container, u32 chunk, u32 pages)
{
	if (!device->payers)
		return device->chunks[chunk].owner == container;
	for (; pages; pages &= pages - 1) {
		size_t page = (size_t)chunk * GVM_PAGES_PER_BLOCK + (size_t)__ffs(pages);

		if (device->payers[page] != container)
			return false;
	}
	return true;
}

/*
 * Returns the error of an entry of @process. @seen: for each chunk, the pages that are mapped
 * by entries looked at so far. Without payers of pages a chunk has one entry.
 */
static enum sim_pte_error check_entry(const struct sim_process *process,
				      const struct gvm_block *block,
				      const struct page_table_entry *entry, u32 *seen)
{
	const struct gvm_device *device = &process->gpu->device;
	u32 local = entry->valid & ~entry->remote;
	u64 pages = (u64)local << (entry->offset_pages % GVM_PAGES_PER_BLOCK);
	u32 readable = gvm_block_accessible(block, GVM_ACCESS_READ) | block->remote;
	u32 writable = gvm_block_accessible(block, GVM_ACCESS_WRITE) | block->remote;

	if (entry->remote != block->remote)
		return SIM_PTE_REMOTE;
	if (local) {
		if (entry->chunk >= device->chunk_count ||
		    entry->offset_pages >= GVM_PAGES_PER_BLOCK || pages > GVM_BLOCK_FULL ||
		    !check_is_paid(device, process->container, entry->chunk, (u32)pages))
			return SIM_PTE_FOREIGN;
		if (seen[entry->chunk] & (device->payers ? (u32)pages : GVM_BLOCK_FULL))
			return SIM_PTE_SHARED;
		seen[entry->chunk] |= (u32)pages;
		if (entry->chunk != block->chunk || entry->offset_pages != block->offset_pages)
			return SIM_PTE_CHUNK;
	}
	if (entry->valid & ~readable)
		return SIM_PTE_STALE;
	if (entry->writable & ~writable)
		return SIM_PTE_WRITABLE;
	if (entry->valid != readable || entry->writable != writable)
		return SIM_PTE_MISSING;
	return SIM_PTE_OK;
}

static struct sim_pte_finding check_process(const struct sim_process *process, u32 *seen)
{
	struct sim_pte_finding found = { .tsg = process->tsg.id };

	for (u32 i = 0; i < SIM_PROCESS_RANGES_MAX; i++) {
		const struct gvm_range *range = &process->ranges[i];
		const struct page_table_region *region =
			page_table_find(&process->page_table, range->va);

		if (!range->block_count)
			continue;
		if (!region || region->va != range->va ||
		    region->block_count != range->block_count) {
			found.error = SIM_PTE_REGION;
			found.va = range->va;
			return found;
		}
		for (u32 block = 0; block < range->block_count; block++) {
			found.error = check_entry(process, &range->blocks[block],
						  &region->entries[block], seen);
			found.va = range->va + ((u64)block << GVM_CHUNK_SHIFT);
			found.chunk = region->entries[block].chunk;
			if (found.error)
				return found;
		}
	}
	/*
	 * A new range has its tables before range_count includes it. So there may be one region
	 * more than ranges.
	 */
	if (process->page_table.region_count > process->range_count + 1)
		found.error = SIM_PTE_REGION;
	return found;
}

struct sim_pte_finding sim_gpu_check_page_tables(struct sim_gpu *gpu)
{
	struct sim_pte_finding found = { 0 };
	u32 *seen = calloc(gpu->device.chunk_count, sizeof(*seen));
	const struct fifo_tsg *tsg;
	u32 i;

	if (!seen)
		found.error = SIM_PTE_NO_MEMORY;
	fifo_for_each_tsg(&gpu->fifo, i, tsg)
		if (!found.error)
			found = check_process(container_of(tsg, struct sim_process, tsg), seen);
	if (found.error)
		gvm_warn("%s: %s (TSG %u, address 0x%llx, chunk %u)", gpu->name,
			 pte_errors[found.error], found.tsg, found.va, found.chunk);
	free(seen);
	return found;
}

u32 sim_gpu_check_interval(void)
{
	const char *text = getenv("GVMSIM_CHECK");

	return text ? (u32)strtoul(text, NULL, 10) : 0;
}

void sim_gpu_check_at_exit(struct sim_gpu *gpu)
{
	if (gpu->check_interval)
		GVM_ASSERT(!sim_gpu_check_page_tables(gpu).error);
}

void sim_gpu_check_at_replay(struct sim_gpu *gpu)
{
	if (gpu->check_interval && ++gpu->replays % gpu->check_interval == 0)
		sim_gpu_check_at_exit(gpu);
}
