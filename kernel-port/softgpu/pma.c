// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * RM's physical memory allocator (PMA), from which UVM and RM take device memory: pages of 64
 * KB, the lowest free ones first. When RM itself finds none, it asks UVM to evict.
 */
#include "softgpu.h"

#include <linux/slab.h>

int softgpu_pma_init(struct softgpu *gpu)
{
	struct softgpu_pma *pma = &gpu->pma;
	u64 pages;

	spin_lock_init(&pma->lock);
	init_rwsem(&pma->callbacks);
	pma->chunks = (gpu->vidmem_bytes - SOFTGPU_RESERVED) / SOFTGPU_CHUNK;
	pages = pma->chunks * SOFTGPU_CHUNK_PAGES;
	pma->used = bitmap_zalloc(pages, GFP_KERNEL);
	pma->pinned = bitmap_zalloc(pages, GFP_KERNEL);
	pma->taken = bitmap_zalloc(pma->chunks, GFP_KERNEL);
	pma->chunk_used = kvzalloc(pma->chunks, GFP_KERNEL);
	if (!pma->used || !pma->pinned || !pma->taken || !pma->chunk_used)
		return -ENOMEM;
	pma->statistics.numPages2m = pma->chunks;
	pma->statistics.numFreePages2m = pma->chunks;
	pma->statistics.numFreePages64k = pages;
	return 0;
}

void softgpu_pma_destroy(struct softgpu *gpu)
{
	bitmap_free(gpu->pma.used);
	bitmap_free(gpu->pma.pinned);
	bitmap_free(gpu->pma.taken);
	kvfree(gpu->pma.chunk_used);
}

/* Mark pages used or free. LOCKING: pma.lock. */
static void softgpu_pma_mark(struct softgpu *gpu, u64 first, u64 pages, bool used)
{
	struct softgpu_pma *pma = &gpu->pma;
	UvmPmaStatistics *statistics = &pma->statistics;

	for (u64 page = first; page < first + pages; page++) {
		u8 *in_chunk = &pma->chunk_used[page / SOFTGPU_CHUNK_PAGES];

		if (test_bit(page, pma->used) == used) {
			pr_err("softgpu: PMA page %llx is %s twice\n", page * SOFTGPU_BIG_PAGE,
			       used ? "taken" : "freed");
			continue;
		}
		if (used) {
			__set_bit(page, pma->used);
			statistics->numFreePages64k--;
			statistics->numFreePages2m -= !(*in_chunk)++;
			gpu->stats.pma_used_bytes += SOFTGPU_BIG_PAGE;
		} else {
			__clear_bit(page, pma->used);
			__clear_bit(page, pma->pinned);
			statistics->numFreePages64k++;
			statistics->numFreePages2m += !--(*in_chunk);
			gpu->stats.pma_used_bytes -= SOFTGPU_BIG_PAGE;
		}
	}
}

/* Whether RM asks UVM for one of the pages. LOCKING: pma.lock. */
static bool softgpu_pma_is_wanted(const struct softgpu_pma *pma, u64 first, u64 pages)
{
	return first < pma->wanted_end && first + pages > pma->wanted;
}

/*
 * Find and mark @pages free pages that lie together in [@begin, @end), aligned to @align pages.
 * Returns the first one or -1. LOCKING: pma.lock.
 */
static s64 softgpu_pma_find(struct softgpu *gpu, u64 pages, u64 align, u64 begin, u64 end,
			    bool pin)
{
	struct softgpu_pma *pma = &gpu->pma;
	u64 first = roundup(begin, align);

	end = min(end, pma->chunks * SOFTGPU_CHUNK_PAGES);
	while (first + pages <= end) {
		u64 busy = find_next_bit(pma->used, first + pages, first);

		if (softgpu_pma_is_wanted(pma, first, pages)) {
			first = roundup(pma->wanted_end, align);
			continue;
		}
		if (busy >= first + pages) {
			softgpu_pma_mark(gpu, first, pages, true);
			if (pin)
				bitmap_set(pma->pinned, first, pages);
			return first;
		}
		first = roundup(find_next_zero_bit(pma->used, end, busy), align);
	}
	return -1;
}

NV_STATUS nvUvmInterfacePmaAllocPages(void *handle, NvLength count, NvU64 page_bytes,
				      UvmPmaAllocationOptions *options, NvU64 *ret_pages)
{
	struct softgpu *gpu = handle;
	u64 align = page_bytes / SOFTGPU_BIG_PAGE;
	u64 pages = align;
	u64 begin = 0;
	u64 end = U64_MAX;
	bool clear = !(options->flags & UVM_PMA_ALLOCATE_NO_ZERO);
	NV_STATUS status;
	u64 done = 0;

	if (!align || page_bytes % SOFTGPU_BIG_PAGE)
		return NV_ERR_INVALID_ARGUMENT;
	status = softgpu_allocates(gpu, SOFTGPU_FAIL_PMA_ALLOC);
	if (status != NV_OK)
		return status;
	if (options->flags & UVM_PMA_ALLOCATE_CONTIGUOUS) {
		pages *= count;
		count = 1;
	}
	if (options->flags & UVM_PMA_ALLOCATE_SPECIFY_ADDRESS_RANGE) {
		begin = DIV_ROUND_UP_ULL(options->physBegin, SOFTGPU_BIG_PAGE);
		end = options->physEnd / SOFTGPU_BIG_PAGE + 1;
	}
	spin_lock(&gpu->pma.lock);
	for (; done < count; done++) {
		s64 page = softgpu_pma_find(gpu, pages, align, begin, end,
					    options->flags & UVM_PMA_ALLOCATE_PINNED);

		if (page < 0)
			break;
		ret_pages[done] = page * SOFTGPU_BIG_PAGE;
	}
	if (done < count && (!done || !(options->flags & UVM_PMA_ALLOCATE_ALLOW_PARTIAL))) {
		while (done)
			softgpu_pma_mark(gpu, ret_pages[--done] / SOFTGPU_BIG_PAGE, pages,
					 false);
		status = NV_ERR_NO_MEMORY;
	}
	gpu->stats.pma_allocs += done;
	spin_unlock(&gpu->pma.lock);
	for (u64 i = 0; clear && i < done; i++)
		softgpu_vidmem_clear(gpu, ret_pages[i], pages * SOFTGPU_BIG_PAGE);
	options->numPagesAllocated = done;
	options->resultFlags = clear ? UVM_PMA_ALLOCATE_RESULT_IS_ZERO : 0;
	return status;
}

NV_STATUS nvUvmInterfacePmaPinPages(void *handle, NvU64 *pages, NvLength count,
				    NvU64 page_bytes, NvU32 flags)
{
	struct softgpu *gpu = handle;
	NV_STATUS status = NV_OK;

	spin_lock(&gpu->pma.lock);
	for (u64 i = 0; i < count; i++) {
		u64 page = pages[i] / SOFTGPU_BIG_PAGE;

		/* UVM has it evicted, and tries again. */
		if (softgpu_pma_is_wanted(&gpu->pma, page, page_bytes / SOFTGPU_BIG_PAGE)) {
			status = NV_ERR_IN_USE;
			continue;
		}
		if (!test_bit(page, gpu->pma.used) || test_bit(page, gpu->pma.pinned))
			status = NV_ERR_INVALID_STATE;
		bitmap_set(gpu->pma.pinned, page, page_bytes / SOFTGPU_BIG_PAGE);
	}
	spin_unlock(&gpu->pma.lock);
	return status;
}

#ifdef SOFTGPU_PMA_UNPIN
NV_STATUS nvUvmInterfacePmaUnpinPages(void *handle, NvU64 *pages, NvLength count,
				      NvU64 page_bytes)
{
	struct softgpu *gpu = handle;

	spin_lock(&gpu->pma.lock);
	for (u64 i = 0; i < count; i++)
		bitmap_clear(gpu->pma.pinned, pages[i] / SOFTGPU_BIG_PAGE,
			     page_bytes / SOFTGPU_BIG_PAGE);
	spin_unlock(&gpu->pma.lock);
	return NV_OK;
}
#endif

void nvUvmInterfacePmaFreePages(void *handle, NvU64 *pages, NvLength count, NvU64 page_bytes,
				NvU32 flags)
{
	struct softgpu *gpu = handle;

	spin_lock(&gpu->pma.lock);
	for (u64 i = 0; i < count; i++)
		softgpu_pma_mark(gpu, pages[i] / SOFTGPU_BIG_PAGE,
				 page_bytes / SOFTGPU_BIG_PAGE, false);
	gpu->stats.pma_frees += count;
	spin_unlock(&gpu->pma.lock);
}

NV_STATUS nvUvmInterfaceGetPmaObject(uvmGpuDeviceHandle device, void **ret_pma,
				     const UvmPmaStatistics **ret_statistics)
{
	struct softgpu *gpu = (struct softgpu *)device;

	*ret_pma = gpu;
	*ret_statistics = &gpu->pma.statistics;
	return NV_OK;
}

NV_STATUS nvUvmInterfacePmaRegisterEvictionCallbacks(void *handle,
						     uvmPmaEvictPagesCallback pages,
						     uvmPmaEvictRangeCallback range, void *data)
{
	struct softgpu_pma *pma = &((struct softgpu *)handle)->pma;

	down_write(&pma->callbacks);
	pma->evict_data = data;
	pma->evict_range = range;
	pma->evict_pages = pages;
	up_write(&pma->callbacks);
	return NV_OK;
}

/* As RM does, it waits until no call of one is under way: UVM frees what they work on. */
void nvUvmInterfacePmaUnregisterEvictionCallbacks(void *handle)
{
	struct softgpu_pma *pma = &((struct softgpu *)handle)->pma;

	down_write(&pma->callbacks);
	pma->evict_pages = NULL;
	pma->evict_range = NULL;
	up_write(&pma->callbacks);
}

/* LOCKING: pma.callbacks for read. */
static NV_STATUS softgpu_pma_ask_pages(struct softgpu *gpu, NvU64 *ret_address)
{
	struct softgpu_pma *pma = &gpu->pma;
	uvmPmaEvictPagesCallback evict = pma->evict_pages;

	if (!evict)
		return NV_ERR_NO_MEMORY;
	gpu->stats.pma_demands++;
	softgpu_hold(gpu, SOFTGPU_HOLD_DEMAND);
	/*
	 * UVM takes the end for the first address behind the range: "address + size > end"
	 * fails.
	 */
	return evict(pma->evict_data, SOFTGPU_CHUNK, ret_address, 1, 0,
		     pma->chunks * SOFTGPU_CHUNK, UVM_PMA_GPU_MEMORY_TYPE_UNPROTECTED);
}

/* Let UVM evict a chunk of 2 MB, which is RM's then. */
static int softgpu_pma_evict(struct softgpu *gpu)
{
	struct softgpu_pma *pma = &gpu->pma;
	NV_STATUS status;
	NvU64 address;

	down_read(&pma->callbacks);
	status = softgpu_pma_ask_pages(gpu, &address);
	up_read(&pma->callbacks);
	if (status != NV_OK) {
		pr_warn("softgpu: UVM evicts nothing for RM: status %x\n", status);
		return -ENOMEM;
	}
	spin_lock(&pma->lock);
	gpu->stats.pma_evictions++;
	bitmap_set(pma->pinned, address / SOFTGPU_BIG_PAGE, SOFTGPU_CHUNK_PAGES);
	__set_bit(address / SOFTGPU_CHUNK, pma->taken);
	spin_unlock(&pma->lock);
	return 0;
}

int softgpu_pma_take(struct softgpu *gpu, u64 bytes)
{
	struct softgpu_pma *pma = &gpu->pma;

	for (u64 i = 0; i < DIV_ROUND_UP_ULL(bytes, SOFTGPU_CHUNK); i++) {
		s64 page;
		int status;

		spin_lock(&pma->lock);
		page = softgpu_pma_find(gpu, SOFTGPU_CHUNK_PAGES, SOFTGPU_CHUNK_PAGES, 0,
					U64_MAX, true);
		if (page >= 0)
			__set_bit(page / SOFTGPU_CHUNK_PAGES, pma->taken);
		spin_unlock(&pma->lock);
		if (page >= 0)
			continue;
		status = softgpu_pma_evict(gpu);
		if (status)
			return status;
	}
	return 0;
}

/* RM wants the range: no page of it is given out from now on. Returns 0 or -EBUSY. */
static int softgpu_pma_want(struct softgpu_pma *pma, u64 first, u64 end)
{
	int status = 0;

	spin_lock(&pma->lock);
	if (pma->wanted_end || find_next_bit(pma->pinned, end, first) < end) {
		status = -EBUSY;
	} else {
		pma->wanted = first;
		pma->wanted_end = end;
	}
	spin_unlock(&pma->lock);
	return status;
}

/* Let UVM evict what it has in the range. The end that it takes is the last address there. */
static NV_STATUS softgpu_pma_ask_range(struct softgpu *gpu, u64 address, u64 bytes)
{
	struct softgpu_pma *pma = &gpu->pma;
	NV_STATUS status = NV_OK;

	down_read(&pma->callbacks);
	if (pma->evict_range) {
		gpu->stats.pma_demands++;
		status = pma->evict_range(pma->evict_data, address, address + bytes - 1,
					  UVM_PMA_GPU_MEMORY_TYPE_UNPROTECTED);
	}
	up_read(&pma->callbacks);
	return status;
}

int softgpu_pma_take_range(struct softgpu *gpu, u64 address, u64 bytes)
{
	struct softgpu_pma *pma = &gpu->pma;
	u64 all = pma->chunks * SOFTGPU_CHUNK;
	u64 first = address / SOFTGPU_BIG_PAGE, end = first + bytes / SOFTGPU_BIG_PAGE;
	NV_STATUS asked;
	int status;

	if (!bytes || address % SOFTGPU_CHUNK || bytes % SOFTGPU_CHUNK || address > all ||
	    bytes > all - address)
		return -EINVAL;
	status = softgpu_pma_want(pma, first, end);
	if (status)
		return status;
	asked = softgpu_pma_ask_range(gpu, address, bytes);
	spin_lock(&pma->lock);
	pma->wanted = pma->wanted_end = 0;
	if (asked == NV_OK &&
	    softgpu_pma_find(gpu, end - first, SOFTGPU_CHUNK_PAGES, first, end, true) >= 0)
		bitmap_set(pma->taken, address / SOFTGPU_CHUNK, bytes / SOFTGPU_CHUNK);
	else
		status = -ENOMEM;
	spin_unlock(&pma->lock);
	return status;
}

void softgpu_pma_give(struct softgpu *gpu)
{
	struct softgpu_pma *pma = &gpu->pma;
	unsigned long chunk;

	spin_lock(&pma->lock);
	for_each_set_bit(chunk, pma->taken, pma->chunks)
	{
		__clear_bit(chunk, pma->taken);
		softgpu_pma_mark(gpu, chunk * SOFTGPU_CHUNK_PAGES, SOFTGPU_CHUNK_PAGES, false);
	}
	spin_unlock(&pma->lock);
}
