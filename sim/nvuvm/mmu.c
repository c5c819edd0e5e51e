// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The device as the core's block functions see it, over the host memory of blocks.
 *
 *
 * Host memory
 *
 * A block gets its host memory once. Data that the CPU wrote is in 2 MB chunks, or in 4 KB
 * pages if the range says so. A block that has none yet gets one chunk of 2 MB by the first
 * touch of the CPU, whatever that touches, or by its first eviction. The host memory stays
 * until the range is destroyed, also while the data is on the device. Its layout decides the
 * number of copies (block_copy_resident_pages_between): one for each contiguous run if both
 * sides are one chunk of 2 MB, else one for each 4 KB.
 *
 * How this differs from the driver:
 *  1. Host memory never runs out, and 2 MB chunks are always available.
 *  2. All runs of one push share one set-up there; here each run has its own. Runs are few.
 *  3. Fresh memory is cleared page by page as pages become resident, and not the rest of a
 *     chunk at once. No byte is cleared more than once either way.
 *  4. It is always cleared. The driver leaves out a chunk that is fresh from RM, which
 *     scrubs what it hands out.
 */
#include "nvuvm/mmu.h"

#include "nvuvm/container.h"
#include "nvuvm/evicted.h"
#include "nvuvm/pmm.h"

/* 4 KB pages in one of ours. */
#define SMALL_PAGES (GVM_PAGE_BYTES >> 12)

/*
 * @huge: a whole block without host memory gets one chunk of 2 MB (block_populate_pages_cpu).
 */
static void host_populate(struct nvuvm *nvuvm, struct gvm_range *range, u32 index, u32 pages,
			  bool huge)
{
	struct nvuvm_block *entry = nvuvm_block_of(range, index);
	u32 missing;

	if (huge && !entry->host_pages && range->blocks[index].valid == GVM_BLOCK_FULL) {
		entry->host_huge = true;
		pages = GVM_BLOCK_FULL;
	}
	missing = pages & ~entry->host_pages;
	entry->host_pages |= missing;
	nvuvm_container_add_host_pages(nvuvm, nvuvm_range_of(range)->owner, hweight32(missing));
}

void nvuvm_host_populate(struct nvuvm *nvuvm, struct gvm_range *range, u32 index, u32 pages)
{
	host_populate(nvuvm, range, index, pages, !nvuvm->config.host_fragmented);
}

/* The published GVM asks only for 2 MB at first. UVM takes smaller pages, too. */
static void host_populate_for_eviction(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
				       u32 pages)
{
	bool small = nvuvm->config.host_fragmented && !nvuvm->config.fast_path;

	if (small)
		nvuvm_block_of(range, index)->host_huge = false;
	host_populate(nvuvm, range, index, pages, !small);
}

static int nvuvm_chunk_alloc(void *data, u32 *ret_chunk)
{
	struct nvuvm *nvuvm = data;

	/* The victim's chunk from the last try, or a free one. */
	*ret_chunk = nvuvm->held;
	nvuvm->held = GVM_NO_CHUNK;
	if (*ret_chunk == GVM_NO_CHUNK)
		*ret_chunk = nvuvm_pmm_alloc(nvuvm);
	return *ret_chunk == GVM_NO_CHUNK ? -ENOMEM : 0;
}

static void nvuvm_chunk_free(void *data, u32 chunk)
{
	nvuvm_pmm_leave_block(data, chunk);
}

static u32 run_pieces(const struct nvuvm_block *entry, const struct gvm_page_run *run)
{
	return entry->host_huge ? 1 : run->page_count * SMALL_PAGES;
}

static int nvuvm_copy_in(void *data, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	struct nvuvm *nvuvm = data;
	struct gvm_page_run copy = *run;

	copy.pieces = run_pieces(nvuvm_block_of(run->range, run->index), run);
	nvuvm->stats.copies_in += copy.pieces;
	return nvuvm->config.mmu->copy_in(nvuvm->config.gpu, &copy, fence);
}

static int nvuvm_copy_out(void *data, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	struct nvuvm *nvuvm = data;
	u32 pages = (u32)((BIT(run->page_count) - 1) << run->first_page);
	struct gvm_page_run copy = *run;

	host_populate_for_eviction(nvuvm, run->range, run->index, pages);
	copy.pieces = run_pieces(nvuvm_block_of(run->range, run->index), run);
	nvuvm->stats.copies_out += copy.pieces;
	nvuvm_evicted_add(nvuvm, run->range, run->index);
	return nvuvm->config.mmu->copy_out(nvuvm->config.gpu, &copy, fence);
}

static int nvuvm_clear(void *data, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	struct nvuvm *nvuvm = data;

	return nvuvm->config.mmu->clear(nvuvm->config.gpu, run, fence);
}

static int nvuvm_fence_wait(void *data, const struct gvm_fence *fence)
{
	struct nvuvm *nvuvm = data;

	return nvuvm->config.mmu->fence_wait(nvuvm->config.gpu, fence);
}

static bool nvuvm_fence_passed(void *data, const struct gvm_fence *fence)
{
	struct nvuvm *nvuvm = data;

	return nvuvm->config.mmu->fence_passed(nvuvm->config.gpu, fence);
}

static void nvuvm_map(void *data, void *space, u64 va, u32 chunk, u32 offset_pages,
		      u32 page_mask, enum gvm_access access)
{
	struct nvuvm *nvuvm = data;

	nvuvm->config.mmu->map(nvuvm->config.gpu, space, va, chunk, offset_pages, page_mask,
			       access);
}

static int nvuvm_map_remote(void *data, struct gvm_range *range, u32 index, u32 page_mask,
			    u32 empty_mask)
{
	struct nvuvm *nvuvm = data;

	return nvuvm->config.mmu->map_remote(nvuvm->config.gpu, range, index, page_mask,
					     empty_mask);
}

static void nvuvm_unmap(void *data, void *space, u64 va, u32 page_mask)
{
	struct nvuvm *nvuvm = data;

	nvuvm->config.mmu->unmap(nvuvm->config.gpu, space, va, page_mask);
}

const struct gvm_mmu_ops nvuvm_mmu_ops = {
	.chunk_alloc = nvuvm_chunk_alloc,
	.chunk_free = nvuvm_chunk_free,
	.copy_in = nvuvm_copy_in,
	.copy_out = nvuvm_copy_out,
	.clear = nvuvm_clear,
	.fence_wait = nvuvm_fence_wait,
	.fence_passed = nvuvm_fence_passed,
	.map = nvuvm_map,
	.map_remote = nvuvm_map_remote,
	.unmap = nvuvm_unmap,
};
