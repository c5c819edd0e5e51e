// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Advice of the application (cuMemAdvise), and mappings of host memory on the GPU: a model of
 * open-gpu-kernel-modules 535.261.03, uvm_policy.c and uvm_va_block.c (block_select_residency,
 * uvm_va_block_evict_chunks, block_add_eviction_mappings). Later versions were not compared.
 *
 *
 * Four kinds
 *
 *     preferred location GPU   A fault of the GPU brings its page in, as without advice. The first
 *                              touch of a block that is nowhere brings all of it (prefetch).
 *     preferred location CPU   A fault of the GPU maps its page where it is, and copies nothing.
 *     accessed by the GPU      The GPU has a mapping of each page in host memory: from the advice on,
 *                              after the CPU has taken pages back, and after an eviction.
 *                              Pages that are nowhere go to the GPU at their first touch.
 *     read mostly              A page that comes in for a read, and one that is prefetched, keeps
 *                              its copy on the host and is mapped read-only ("read duplication").
 *                              An eviction drops it without a copy. A write faults, and takes
 *                              the host's copy away. It overrides the other three.
 *
 *     evicted                   copy out   mapped again, by a kernel thread
 *        |------------------------------->|--------> the GPU reads and writes it over the link,
 *        an access faults: it is mapped,              without a fault, and it never comes back by
 *        and replayed after the copy                  itself
 *
 * Eviction cannot take the VA space's lock, so it leaves the mappings to a kernel thread
 * (block_add_eviction_mappings on global_q). The thread waits for nothing but locks.
 * Its PTEs are pushed after the copy, so the mapping holds once the copy has arrived.
 * A fault in between finds that its page is accessible where it is
 * (block_select_residency) and maps it, too.
 *
 * Such a page comes back by a prefetch of the application only. What an access to it costs
 * is in sim/fifo/remote.c.
 *
 * How this differs from the driver:
 *  1. Advice is on whole ranges. The driver splits a range.
 *  2. With "read mostly" a touch of the CPU and a migration to the CPU take the page from the
 *     GPU. There a read of the CPU leaves both copies. And a write makes 64 KB dirty, there the
 *     page of 4 KB.
 *  3. A fault on a page of a block that was evicted maps all pages of the block that were.
 *     There it maps the page, and what the prefetcher's tree says, which is full then.
 *  4. Atomics of the whole system: a remote mapping next to one of the CPU permits none there,
 *     and an atomic access faults and migrates its page. Kernels here make no atomic accesses.
 *  5. Advice that is taken back (UVM_UNSET_...) is missing.
 */
#include "nvuvm/advice.h"

#include "gvm/block.h"
#include "nvuvm/container.h"
#include "nvuvm/evicted.h"
#include "nvuvm/mmu.h"

/* The pages of a block that "accessed by" gives the GPU where they are. */
static u32 advice_accessible(const struct gvm_range *range, u32 index)
{
	const struct gvm_block *block = &range->blocks[index];

	if (range->read_mostly || !nvuvm_range_of(range)->accessed_by_gpu)
		return 0;
	return block->on_host & ~block->resident & ~nvuvm_block_of(range, index)->staged;
}

u32 nvuvm_advice_stays(const struct gvm_range *range, u32 index, u32 faulted)
{
	const struct nvuvm_range *entry = nvuvm_range_of(range);

	if (range->read_mostly || entry->preferred == NVUVM_GPU)
		return 0;
	if (entry->preferred == NVUVM_CPU)
		return faulted;
	return faulted & advice_accessible(range, index);
}

int nvuvm_map_host_locked(struct nvuvm *nvuvm, struct gvm_range *range, u32 index, u32 pages,
			  struct gvm_fence *fence)
{
	struct gvm_block *block = &range->blocks[index];
	u32 mapped, empty;
	int status;

	/*
	 * The first touch of a block whose preferred location is the CPU populates all of it.
	 */
	if (!block->on_host && !block->resident)
		pages = block->valid;
	mapped = (pages | (block->swapped & ~block->resident)) & ~block->remote;
	empty = mapped & ~block->on_host;
	if (!mapped)
		return 0;
	nvuvm_host_populate(nvuvm, range, index, empty);
	gvm_cost(GVM_COST_BLOCK, 1);
	status = nvuvm_mmu_ops.map_remote(nvuvm, range, index, mapped, empty);
	if (status)
		return status;
	block->on_host |= empty;
	block->remote |= mapped;
	range->remote_pages += hweight32(mapped);
	nvuvm->stats.mapped_remote += hweight32(mapped);
	gvm_container_count_event(range->container, GVM_EVENT_REMOTE);
	fence->sequence[GVM_ENGINE_OUT] =
		max(fence->sequence[GVM_ENGINE_OUT], block->out_sequence);
	return 0;
}

int nvuvm_advice_map_locked(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
			    struct gvm_fence *fence)
{
	u32 pages = advice_accessible(range, index);

	return pages ? nvuvm_map_host_locked(nvuvm, range, index, pages, fence) : 0;
}

/* Wait for the copies of a block that are under way, and map it. */
static int map_evicted(struct nvuvm *nvuvm, struct gvm_range *range, u32 index)
{
	const struct nvuvm_config *config = &nvuvm->config;
	struct gvm_fence out = { 0 };
	int status;

	gvm_mutex_lock(&range->lock);
	out.sequence[GVM_ENGINE_OUT] = range->blocks[index].out_sequence;
	gvm_mutex_unlock(&range->lock);
	status = config->mmu->fence_wait(config->gpu, &out);
	if (status)
		return status;
	/* It may have come back, and left again: then there is another entry for it. */
	gvm_mutex_lock(&range->lock);
	if (range->blocks[index].out_sequence == out.sequence[GVM_ENGINE_OUT] && !range->dying)
		status = nvuvm_advice_map_locked(nvuvm, range, index, &out);
	gvm_mutex_unlock(&range->lock);
	return status;
}

static void evicted_worker(void *data)
{
	struct nvuvm *nvuvm = data;
	int status = 0;

	while (!status && !gvm_worker_should_stop()) {
		struct nvuvm_evicted *evicted;
		struct gvm_range *range;
		struct gvm_fault at;

		status = gvm_wait_event_interruptible(&nvuvm->evicted_wait,
						      !list_empty(&nvuvm->evicted));
		evicted = status ? NULL : nvuvm_evicted_take(nvuvm);
		if (!evicted)
			continue;
		at = (struct gvm_fault){ .space = evicted->space, .va = evicted->va };
		gvm_memory_enter_run(&nvuvm->memory, at.space, &at, 1, &range);
		if (range) {
			status = map_evicted(nvuvm, range, gvm_fault_block_index(range, &at));
			gvm_range_leave(range);
		}
		gvm_free(evicted);
	}
}

/* Map what is in host memory now, or note that copies will bring it. */
static int advise_accessed_by(struct nvuvm *nvuvm, struct gvm_range *range, bool early)
{
	struct nvuvm_range *entry = nvuvm_range_of(range);
	struct gvm_fence fence = { 0 };
	int status = 0;

	if (!nvuvm->evicted_started)
		status = gvm_worker_start(&nvuvm->evicted_worker, "nvuvm eviction mappings",
					  evicted_worker, nvuvm);
	if (status)
		return status;
	nvuvm->evicted_started = true;
	entry->accessed_by_gpu = true;
	for (u32 i = 0; i < range->block_count && !status; i++) {
		gvm_mutex_lock(&range->lock);
		if (early)
			entry->blocks[i].staged = range->blocks[i].on_host;
		else
			status = nvuvm_advice_map_locked(nvuvm, range, i, &fence);
		gvm_mutex_unlock(&range->lock);
	}
	return status;
}

int nvuvm_advise(struct nvuvm *nvuvm, struct gvm_range *range, enum gvm_advice advice)
{
	struct nvuvm_range *entry = nvuvm_range_of(range);
	int status = 0;

	gvm_range_enter(range);
	gvm_mutex_lock(&entry->owner->va_space);
	if (advice == GVM_ADVICE_PREFER_CPU)
		entry->preferred = NVUVM_CPU;
	else if (advice == GVM_ADVICE_PREFER_GPU)
		entry->preferred = NVUVM_GPU;
	else if (advice == GVM_ADVICE_READ_MOSTLY)
		status = gvm_range_advise(range, advice);
	else
		status = advise_accessed_by(nvuvm, range,
					    advice == GVM_ADVICE_ACCESSED_BY_GPU_EARLY);
	gvm_mutex_unlock(&entry->owner->va_space);
	gvm_range_leave(range);
	return status;
}

void nvuvm_advice_init(struct nvuvm *nvuvm)
{
	INIT_LIST_HEAD(&nvuvm->evicted);
	gvm_waitqueue_init(&nvuvm->evicted_wait);
}

void nvuvm_advice_stop(struct nvuvm *nvuvm)
{
	struct nvuvm_evicted *evicted;

	if (nvuvm->evicted_started)
		gvm_worker_stop(&nvuvm->evicted_worker);
	nvuvm->evicted_started = false;
	while ((evicted = nvuvm_evicted_take(nvuvm)) != NULL)
		gvm_free(evicted);
}
