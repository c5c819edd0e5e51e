// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * RM's physical memory allocator (PMA), from which UVM and RM take device memory: pages of 64
 * KB, the lowest free ones first. When RM itself finds none, it asks UVM to evict. An instance
 * of MIG has one of its own, for its part of the memory.
 */
#include "softgpu.h"

#include <linux/slab.h>

int softgpu_pma_init(struct softgpu_part *part, u64 begin, u64 end)
{
	struct softgpu_pma *pma = &part->pma;

	spin_lock_init(&pma->lock);
	init_rwsem(&pma->callbacks);
	pma->begin = begin;
	pma->end = end;
	pma->used = bitmap_zalloc(end * SOFTGPU_CHUNK_PAGES, GFP_KERNEL);
	pma->pinned = bitmap_zalloc(end * SOFTGPU_CHUNK_PAGES, GFP_KERNEL);
	pma->taken = bitmap_zalloc(end, GFP_KERNEL);
	pma->chunk_used = kvzalloc(end, GFP_KERNEL);
	if (!pma->used || !pma->pinned || !pma->taken || !pma->chunk_used)
		return -ENOMEM;
	pma->statistics.numPages2m = end - begin;
	pma->statistics.numFreePages2m = end - begin;
	pma->statistics.numFreePages64k = (end - begin) * SOFTGPU_CHUNK_PAGES;
	return 0;
}

void softgpu_pma_destroy(struct softgpu_part *part)
{
	bitmap_free(part->pma.used);
	bitmap_free(part->pma.pinned);
	bitmap_free(part->pma.taken);
	kvfree(part->pma.chunk_used);
}

u64 softgpu_pma_used(const struct softgpu *gpu)
{
	u64 bytes = 0;

	for (u32 i = 0; i < SOFTGPU_INSTANCES; i++)
		bytes += READ_ONCE(gpu->parts[i].pma.used_bytes);
	return bytes;
}

/* Mark pages used or free. LOCKING: pma.lock. */
static void softgpu_pma_mark(struct softgpu_part *part, u64 first, u64 pages, bool used)
{
	struct softgpu_pma *pma = &part->pma;
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
			pma->used_bytes += SOFTGPU_BIG_PAGE;
		} else {
			__clear_bit(page, pma->used);
			__clear_bit(page, pma->pinned);
			statistics->numFreePages64k++;
			statistics->numFreePages2m += !--(*in_chunk);
			pma->used_bytes -= SOFTGPU_BIG_PAGE;
		}
	}
}

/* Whether the PMA has these pages. Says so if not: the driver's mistake must not be ours. */
static bool softgpu_pma_has(const struct softgpu_pma *pma, u64 first, u64 pages)
{
	u64 begin = pma->begin * SOFTGPU_CHUNK_PAGES, end = pma->end * SOFTGPU_CHUNK_PAGES;
	bool has = first >= begin && first < end && pages <= end - first;

	if (!has)
		pr_err("softgpu: the PMA has no %llu pages at %llx\n", pages,
		       first * SOFTGPU_BIG_PAGE);
	return has;
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
static s64 softgpu_pma_find(struct softgpu_part *part, u64 pages, u64 align, u64 begin, u64 end,
			    bool pin)
{
	struct softgpu_pma *pma = &part->pma;
	u64 first = roundup(max(begin, pma->begin * SOFTGPU_CHUNK_PAGES), align);

	end = min(end, pma->end * SOFTGPU_CHUNK_PAGES);
	while (first + pages <= end) {
		u64 busy = find_next_bit(pma->used, first + pages, first);

		if (softgpu_pma_is_wanted(pma, first, pages)) {
			first = roundup(pma->wanted_end, align);
			continue;
		}
		if (busy >= first + pages) {
			softgpu_pma_mark(part, first, pages, true);
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
	struct softgpu_part *part = handle;
	u64 align = page_bytes / SOFTGPU_BIG_PAGE;
	u64 pages = align;
	u64 begin = 0;
	u64 end = U64_MAX;
	bool clear = !(options->flags & UVM_PMA_ALLOCATE_NO_ZERO);
	NV_STATUS status;
	u64 done = 0;

	if (!align || page_bytes % SOFTGPU_BIG_PAGE)
		return NV_ERR_INVALID_ARGUMENT;
	status = softgpu_allocates(part->gpu, SOFTGPU_FAIL_PMA_ALLOC);
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
	spin_lock(&part->pma.lock);
	for (; done < count; done++) {
		s64 page = softgpu_pma_find(part, pages, align, begin, end,
					    options->flags & UVM_PMA_ALLOCATE_PINNED);

		if (page < 0)
			break;
		ret_pages[done] = page * SOFTGPU_BIG_PAGE;
	}
	if (done < count && (!done || !(options->flags & UVM_PMA_ALLOCATE_ALLOW_PARTIAL))) {
		while (done)
			softgpu_pma_mark(part, ret_pages[--done] / SOFTGPU_BIG_PAGE, pages,
					 false);
		status = NV_ERR_NO_MEMORY;
	}
	part->gpu->stats.pma_allocs += done;
	spin_unlock(&part->pma.lock);
	for (u64 i = 0; clear && i < done; i++)
		softgpu_vidmem_clear(part->gpu, ret_pages[i], pages * SOFTGPU_BIG_PAGE);
	options->numPagesAllocated = done;
	options->resultFlags = clear ? UVM_PMA_ALLOCATE_RESULT_IS_ZERO : 0;
	return status;
}

/* Whether pages that lie together can be pinned. LOCKING: pma.lock. */
static NV_STATUS softgpu_pma_can_pin(const struct softgpu_pma *pma, u64 first, u64 pages)
{
	u64 end = first + pages;

	if (!softgpu_pma_has(pma, first, pages))
		return NV_ERR_INVALID_ARGUMENT;
	/* UVM has it evicted, and tries again. */
	if (softgpu_pma_is_wanted(pma, first, pages))
		return NV_ERR_IN_USE;
	if (find_next_zero_bit(pma->used, end, first) < end ||
	    find_next_bit(pma->pinned, end, first) < end)
		return NV_ERR_INVALID_STATE;
	return NV_OK;
}

/* All of them, or none. */
NV_STATUS nvUvmInterfacePmaPinPages(void *handle, NvU64 *pages, NvLength count,
				    NvU64 page_bytes, NvU32 flags)
{
	struct softgpu_pma *pma = &((struct softgpu_part *)handle)->pma;
	u64 size = page_bytes / SOFTGPU_BIG_PAGE;
	NV_STATUS status = NV_OK;

	spin_lock(&pma->lock);
	for (u64 i = 0; i < count && status == NV_OK; i++)
		status = softgpu_pma_can_pin(pma, pages[i] / SOFTGPU_BIG_PAGE, size);
	for (u64 i = 0; i < count && status == NV_OK; i++)
		bitmap_set(pma->pinned, pages[i] / SOFTGPU_BIG_PAGE, size);
	spin_unlock(&pma->lock);
	return status;
}

#ifdef SOFTGPU_PMA_UNPIN
NV_STATUS nvUvmInterfacePmaUnpinPages(void *handle, NvU64 *pages, NvLength count,
				      NvU64 page_bytes)
{
	struct softgpu_pma *pma = &((struct softgpu_part *)handle)->pma;
	u64 size = page_bytes / SOFTGPU_BIG_PAGE;

	spin_lock(&pma->lock);
	for (u64 i = 0; i < count; i++)
		if (softgpu_pma_has(pma, pages[i] / SOFTGPU_BIG_PAGE, size))
			bitmap_clear(pma->pinned, pages[i] / SOFTGPU_BIG_PAGE, size);
	spin_unlock(&pma->lock);
	return NV_OK;
}
#endif

void nvUvmInterfacePmaFreePages(void *handle, NvU64 *pages, NvLength count, NvU64 page_bytes,
				NvU32 flags)
{
	struct softgpu_part *part = handle;
	u64 size = page_bytes / SOFTGPU_BIG_PAGE;

	spin_lock(&part->pma.lock);
	for (u64 i = 0; i < count; i++)
		if (softgpu_pma_has(&part->pma, pages[i] / SOFTGPU_BIG_PAGE, size))
			softgpu_pma_mark(part, pages[i] / SOFTGPU_BIG_PAGE, size, false);
	part->gpu->stats.pma_frees += count;
	spin_unlock(&part->pma.lock);
}

NV_STATUS nvUvmInterfaceGetPmaObject(uvmGpuDeviceHandle device, void **ret_pma,
				     const UvmPmaStatistics **ret_statistics)
{
	struct softgpu_part *part = (struct softgpu_part *)device;

	*ret_pma = part;
	*ret_statistics = &part->pma.statistics;
	return NV_OK;
}

NV_STATUS nvUvmInterfacePmaRegisterEvictionCallbacks(void *handle,
						     uvmPmaEvictPagesCallback pages,
						     uvmPmaEvictRangeCallback range, void *data)
{
	struct softgpu_pma *pma = &((struct softgpu_part *)handle)->pma;

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
	struct softgpu_pma *pma = &((struct softgpu_part *)handle)->pma;

	down_write(&pma->callbacks);
	pma->evict_pages = NULL;
	pma->evict_range = NULL;
	up_write(&pma->callbacks);
}

/* LOCKING: pma.callbacks for read. */
static NV_STATUS softgpu_pma_ask_pages(struct softgpu_part *part, NvU64 *ret_address)
{
	struct softgpu_pma *pma = &part->pma;
	uvmPmaEvictPagesCallback evict = pma->evict_pages;

	if (!evict)
		return NV_ERR_NO_MEMORY;
	part->gpu->stats.pma_demands++;
	softgpu_hold(part->gpu, SOFTGPU_HOLD_DEMAND);
	/*
	 * UVM takes the end for the first address after the range: "address + size > end"
	 * fails.
	 */
	return evict(pma->evict_data, SOFTGPU_CHUNK, ret_address, 1, pma->begin * SOFTGPU_CHUNK,
		     pma->end * SOFTGPU_CHUNK, UVM_PMA_GPU_MEMORY_TYPE_UNPROTECTED);
}

/* Let UVM evict a chunk of 2 MB, which is RM's then. */
static int softgpu_pma_evict(struct softgpu_part *part)
{
	struct softgpu_pma *pma = &part->pma;
	NV_STATUS status;
	NvU64 address;

	down_read(&pma->callbacks);
	status = softgpu_pma_ask_pages(part, &address);
	up_read(&pma->callbacks);
	if (status != NV_OK) {
		pr_warn("softgpu: UVM evicts nothing for RM: status %x\n", status);
		return -ENOMEM;
	}
	spin_lock(&pma->lock);
	part->gpu->stats.pma_evictions++;
	bitmap_set(pma->pinned, address / SOFTGPU_BIG_PAGE, SOFTGPU_CHUNK_PAGES);
	__set_bit(address / SOFTGPU_CHUNK, pma->taken);
	spin_unlock(&pma->lock);
	return 0;
}

int softgpu_pma_take(struct softgpu_part *part, u64 bytes)
{
	struct softgpu_pma *pma = &part->pma;

	if (bytes > (pma->end - pma->begin) * SOFTGPU_CHUNK)
		return -ENOMEM;
	for (u64 i = 0; i < DIV_ROUND_UP_ULL(bytes, SOFTGPU_CHUNK); i++) {
		s64 page;
		int status;

		spin_lock(&pma->lock);
		page = softgpu_pma_find(part, SOFTGPU_CHUNK_PAGES, SOFTGPU_CHUNK_PAGES, 0,
					U64_MAX, true);
		if (page >= 0)
			__set_bit(page / SOFTGPU_CHUNK_PAGES, pma->taken);
		spin_unlock(&pma->lock);
		if (page >= 0)
			continue;
		status = softgpu_pma_evict(part);
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
static NV_STATUS softgpu_pma_ask_range(struct softgpu_part *part, u64 address, u64 bytes)
{
	struct softgpu_pma *pma = &part->pma;
	NV_STATUS status = NV_OK;

	down_read(&pma->callbacks);
	if (pma->evict_range) {
		part->gpu->stats.pma_demands++;
		status = pma->evict_range(pma->evict_data, address, address + bytes - 1,
					  UVM_PMA_GPU_MEMORY_TYPE_UNPROTECTED);
	}
	up_read(&pma->callbacks);
	return status;
}

int softgpu_pma_take_range(struct softgpu_part *part, u64 address, u64 bytes)
{
	struct softgpu_pma *pma = &part->pma;
	u64 all = pma->end * SOFTGPU_CHUNK;
	u64 first = address / SOFTGPU_BIG_PAGE, end = first + bytes / SOFTGPU_BIG_PAGE;
	NV_STATUS asked;
	int status;

	if (!bytes || address % SOFTGPU_CHUNK || bytes % SOFTGPU_CHUNK ||
	    address < pma->begin * SOFTGPU_CHUNK || address > all || bytes > all - address)
		return -EINVAL;
	status = softgpu_pma_want(pma, first, end);
	if (status)
		return status;
	asked = softgpu_pma_ask_range(part, address, bytes);
	spin_lock(&pma->lock);
	pma->wanted = pma->wanted_end = 0;
	if (asked == NV_OK &&
	    softgpu_pma_find(part, end - first, SOFTGPU_CHUNK_PAGES, first, end, true) >= 0)
		bitmap_set(pma->taken, address / SOFTGPU_CHUNK, bytes / SOFTGPU_CHUNK);
	else
		status = -ENOMEM;
	spin_unlock(&pma->lock);
	return status;
}

void softgpu_pma_give(struct softgpu_part *part)
{
	struct softgpu_pma *pma = &part->pma;
	unsigned long chunk;

	spin_lock(&pma->lock);
	for_each_set_bit(chunk, pma->taken, pma->end)
	{
		__clear_bit(chunk, pma->taken);
		softgpu_pma_mark(part, chunk * SOFTGPU_CHUNK_PAGES, SOFTGPU_CHUNK_PAGES, false);
	}
	spin_unlock(&pma->lock);
}
