// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * NVIDIA's UVM driver and the published GVM driver, as models
 * ===========================================================
 *
 * The work between a fault and its replay decides how much memory pressure slows a container. The
 * core's way is in core/block/block.c. This folder models NVIDIA's driver
 * (open-gpu-kernel-modules 575, uvm_*.c) and the patch to it that the authors of the GVM paper
 * have published. Both have the fault loop of UVM, like the core: up to 20 batches of up to 256
 * sorted faults. Each batch ends with a flush, a replay and a busy wait for its copies. The model
 * covers UVM's work for each block of a batch:
 *
 *     block.c     service one block after the other, restart it when it needed room
 *     prefetch.c  64 KB at least, more by the density of its neighbours
 *     pmm.c       chunks: refills of 64, queues by last fault or migration
 *     evict.c     eviction in the fault path, limits, lazy freeing, limit writes
 *     thrash.c    throttle pages that two processors fight over
 *     nvuvm.c     this file: ranges, containers, host memory, and the calls to the device
 *
 * Switches: "limits" and "fast_path" make it the published GVM. Without both it is the stock
 * driver.
 *
 * The model uses the core's books: charges, gmem.current, swap counters, clock order (used only
 * with core_policy) and the residency of struct gvm_block. So all their readers work unchanged.
 * The stock driver has no limits. The published GVM enforces its limit late, so usage may be
 * above it.
 *
 *
 * Host memory
 *
 * A block gets its host memory once. Data that the CPU wrote is in 2 MB chunks, or in 4 KB pages
 * if the range says so. Data that comes first by an eviction gets one chunk of 2 MB. The host
 * memory stays until the range is destroyed, also while the data is on the device. Its layout
 * decides the number of copies (block_copy_resident_pages_between): one for each contiguous run
 * if both sides are one chunk of 2 MB, else one for each 4 KB.
 *
 * How this differs from the driver:
 *  1. Host memory never runs out, and 2 MB chunks are always available.
 *  2. All runs of one push share one set-up there; here each run has its own. Runs are few.
 *  3. Fresh memory is cleared page by page as pages become resident, and not the rest of a chunk
 *     at once. No byte is cleared more than once either way.
 *  4. It is always cleared. The driver leaves out a chunk that is fresh from RM, which scrubs what
 *     it hands out.
 */
#include "nvuvm/nvuvm.h"

#include "nvuvm/parts.h"

/* 4 KB pages in one of ours. */
#define SMALL_PAGES (GVM_PAGE_BYTES >> 12)

struct nvuvm *nvuvm_create(const struct nvuvm_config *config)
{
	struct nvuvm *nvuvm = gvm_alloc(sizeof(*nvuvm));

	if (!nvuvm)
		return NULL;
	nvuvm->config = *config;
	gvm_spin_init(&nvuvm->lock, "nvuvm");
	INIT_LIST_HEAD(&nvuvm->containers);
	gvm_waitqueue_init(&nvuvm->lazy_wait);
	gvm_waitqueue_init(&nvuvm->lazy_freed);
	nvuvm->batch = 1;
	if (!gvm_memory_init(&nvuvm->memory, config->device, &nvuvm_mmu_ops, nvuvm)) {
		if (!nvuvm_pmm_init(nvuvm))
			return nvuvm;
		gvm_memory_destroy(&nvuvm->memory);
	}
	gvm_free(nvuvm);
	return NULL;
}

void nvuvm_destroy(struct nvuvm *nvuvm)
{
	if (!nvuvm)
		return;
	GVM_ASSERT(list_empty(&nvuvm->containers));
	nvuvm_pmm_destroy(nvuvm);
	gvm_memory_destroy(&nvuvm->memory);
	gvm_free(nvuvm);
}

int nvuvm_start(struct nvuvm *nvuvm)
{
	if (!nvuvm->config.fast_path)
		return 0;
	return gvm_worker_start(&nvuvm->lazy_worker, "nvuvm lazy free", nvuvm_lazy_worker,
				nvuvm);
}

void nvuvm_stop(struct nvuvm *nvuvm)
{
	u64 out_sequence;
	u32 chunk;

	if (nvuvm->config.fast_path)
		gvm_worker_stop(&nvuvm->lazy_worker);
	while ((chunk = nvuvm_pmm_take_lazy(nvuvm, &out_sequence)) != GVM_NO_CHUNK)
		nvuvm_pmm_release(nvuvm, chunk);
	nvuvm_pmm_trim(nvuvm);
}

const struct nvuvm_stats *nvuvm_stats(const struct nvuvm *nvuvm)
{
	return &nvuvm->stats;
}

/* Containers. */

static struct nvuvm_container *container_find_locked(struct nvuvm *nvuvm,
						     const struct gvm_container *container)
{
	struct nvuvm_container *owner;

	list_for_each_entry(owner, &nvuvm->containers, node)
		if (owner->container == container)
			return owner;
	return NULL;
}

struct nvuvm_container *nvuvm_container_get(struct nvuvm *nvuvm,
					    const struct gvm_container *container)
{
	struct nvuvm_container *owner;

	gvm_spin_lock(&nvuvm->lock);
	owner = container_find_locked(nvuvm, container);
	if (owner)
		owner->users++;
	gvm_spin_unlock(&nvuvm->lock);
	return owner;
}

void nvuvm_container_put(struct nvuvm *nvuvm, struct nvuvm_container *owner)
{
	bool last;

	gvm_spin_lock(&nvuvm->lock);
	GVM_ASSERT(owner->users > 0);
	last = --owner->users == 0;
	if (last)
		list_del_init(&owner->node);
	gvm_spin_unlock(&nvuvm->lock);
	if (!last)
		return;
	GVM_ASSERT(!owner->own.count && !owner->host_bytes);
	gvm_free(owner);
}

/* The record of a container, made if there is none. NULL: no memory. */
static struct nvuvm_container *container_get_or_make(struct nvuvm *nvuvm,
						     struct gvm_container *container)
{
	struct nvuvm_container *owner = nvuvm_container_get(nvuvm, container);

	if (owner)
		return owner;
	owner = gvm_alloc(sizeof(*owner));
	if (!owner)
		return NULL;
	owner->container = container;
	owner->users = 1;
	owner->own = (struct nvuvm_list){ GVM_NO_CHUNK, GVM_NO_CHUNK, 0 };
	gvm_mutex_init(&owner->va_space, "nvuvm va space");
	INIT_LIST_HEAD(&owner->ranges);
	gvm_spin_lock(&nvuvm->lock);
	list_add_tail(&owner->node, &nvuvm->containers);
	gvm_spin_unlock(&nvuvm->lock);
	return owner;
}

u64 nvuvm_host_bytes(struct nvuvm *nvuvm, const struct gvm_container *container)
{
	struct nvuvm_container *owner;
	u64 bytes;

	gvm_spin_lock(&nvuvm->lock);
	owner = container_find_locked(nvuvm, container);
	bytes = owner ? owner->host_bytes : 0;
	gvm_spin_unlock(&nvuvm->lock);
	return bytes;
}

static void container_add_host_pages(struct nvuvm *nvuvm, struct nvuvm_container *owner,
				     s64 pages)
{
	gvm_spin_lock(&nvuvm->lock);
	owner->host_bytes += (u64)pages << GVM_PAGE_SHIFT;
	gvm_spin_unlock(&nvuvm->lock);
}

/* Ranges and their host memory. */

/* Blocks start with the pages that the CPU wrote before. */
static void range_link(struct nvuvm *nvuvm, struct nvuvm_range *entry, bool small_host_pages)
{
	struct gvm_range *range = entry->range;
	struct nvuvm_container *owner = entry->owner;
	s64 pages = 0;

	for (u32 i = 0; i < range->block_count; i++) {
		u32 on_host = range->blocks[i].on_host;

		entry->blocks[i].host_pages = on_host;
		entry->blocks[i].host_huge = on_host == GVM_BLOCK_FULL && !small_host_pages;
		pages += hweight32(on_host);
	}
	range->device_data = entry;
	container_add_host_pages(nvuvm, owner, pages);
	gvm_mutex_lock(&owner->va_space);
	list_add_tail(&entry->node, &owner->ranges);
	gvm_mutex_unlock(&owner->va_space);
}

int nvuvm_range_init(struct nvuvm *nvuvm, struct gvm_range *range,
		     const struct gvm_range_config *config, bool small_host_pages)
{
	struct nvuvm_range *entry;
	int status = gvm_range_init(&nvuvm->memory, range, config);

	if (status)
		return status;
	entry = gvm_alloc(sizeof(*entry));
	if (entry) {
		entry->range = range;
		entry->blocks = gvm_alloc(range->block_count * sizeof(*entry->blocks));
		entry->owner = container_get_or_make(nvuvm, range->container);
	}
	if (entry && entry->blocks && entry->owner) {
		range_link(nvuvm, entry, small_host_pages);
		return 0;
	}
	if (entry) {
		gvm_free(entry->blocks);
		if (entry->owner)
			nvuvm_container_put(nvuvm, entry->owner);
	}
	gvm_free(entry);
	gvm_range_destroy(range);
	return -ENOMEM;
}

void nvuvm_range_destroy(struct nvuvm *nvuvm, struct gvm_range *range)
{
	struct nvuvm_range *entry = nvuvm_range_of(range);
	u32 count = range->block_count;
	s64 pages = 0;

	/* From here on no limit write finds the range, and none is at work in it. */
	gvm_mutex_lock(&entry->owner->va_space);
	list_del_init(&entry->node);
	gvm_mutex_unlock(&entry->owner->va_space);
	gvm_range_destroy(range);
	for (u32 i = 0; i < count; i++) {
		pages += hweight32(entry->blocks[i].host_pages);
		nvuvm_thrash_destroy(&entry->blocks[i].thrash);
	}
	container_add_host_pages(nvuvm, entry->owner, -pages);
	nvuvm_container_put(nvuvm, entry->owner);
	gvm_free(entry->blocks);
	gvm_free(entry);
	range->device_data = NULL;
}

void nvuvm_host_populate(struct nvuvm *nvuvm, struct gvm_range *range, u32 index, u32 pages)
{
	struct nvuvm_block *entry = nvuvm_block_of(range, index);
	u32 missing = pages & ~entry->host_pages;

	entry->host_pages |= missing;
	container_add_host_pages(nvuvm, nvuvm_range_of(range)->owner, hweight32(missing));
}

/*
 * Host memory for an eviction: one chunk of 2 MB if the block has none yet, is full, and the host
 * has such chunks. The published GVM asks only for 2 MB at first. UVM takes smaller pages, too.
 */
static void host_populate_for_eviction(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
				       u32 pages)
{
	struct nvuvm_block *entry = nvuvm_block_of(range, index);

	if (nvuvm->config.host_fragmented && !nvuvm->config.fast_path) {
		entry->host_huge = false;
	} else if (!entry->host_pages && range->blocks[index].valid == GVM_BLOCK_FULL) {
		entry->host_huge = true;
		pages = GVM_BLOCK_FULL;
	}
	nvuvm_host_populate(nvuvm, range, index, pages);
}

/* The calls to the device: chunks come from the PMM, copies are split into pieces. */

static int nvuvm_chunk_alloc(void *data, u32 *ret_chunk)
{
	struct nvuvm *nvuvm = data;

	*ret_chunk = nvuvm_pmm_claim(nvuvm);
	if (*ret_chunk == GVM_NO_CHUNK)
		*ret_chunk = nvuvm_pmm_refill(nvuvm);
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
	const struct gvm_frame *frame = &nvuvm->memory.frames[run->chunk];
	struct gvm_page_run copy = *run;

	copy.pieces = run_pieces(nvuvm_block_of(frame->range, frame->index), run);
	nvuvm->stats.copies_in += copy.pieces;
	return nvuvm->config.mmu->copy_in(nvuvm->config.gpu, &copy, fence);
}

static int nvuvm_copy_out(void *data, const struct gvm_page_run *run, struct gvm_fence *fence)
{
	struct nvuvm *nvuvm = data;
	const struct gvm_frame *frame = &nvuvm->memory.frames[run->chunk];
	u32 pages = (u32)((BIT(run->page_count) - 1) << run->first_page);
	struct gvm_page_run copy = *run;

	host_populate_for_eviction(nvuvm, frame->range, frame->index, pages);
	copy.pieces = run_pieces(nvuvm_block_of(frame->range, frame->index), run);
	nvuvm->stats.copies_out += copy.pieces;
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

static void nvuvm_map(void *data, void *space, u64 va, u32 chunk, u32 page_mask,
		      enum gvm_access access)
{
	struct nvuvm *nvuvm = data;

	nvuvm->config.mmu->map(nvuvm->config.gpu, space, va, chunk, page_mask, access);
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
	.unmap = nvuvm_unmap,
};
