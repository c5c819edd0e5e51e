// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The decisions of NVIDIA's driver, and of the published GVM driver, at the hook points of
 * hooks.h (open-gpu-kernel-modules 575, uvm_pmm_gpu.c and uvm_va_block.c; published GVM
 * driver).
 *
 *
 * The stock driver: one victim, here and now
 *
 * A block needs a chunk and none is free. Its lock is dropped. The first chunk in order is
 * taken off the lists, its block is locked and unmapped, and its copy to the host is started,
 * all in the thread that services faults (pick_and_evict_root_chunk,
 * uvm_va_block_evict_chunks). The CPU does not wait for that copy. The chunk goes to the block,
 * which is serviced again from the beginning. Its copy in starts after the copy out of the same
 * chunk. All resident pages are copied: a read fault maps for writing, so the driver does not
 * know which pages are clean. Pages that the application advised to be read mostly are the
 * exception (advice.c).
 *
 *
 * The published GVM: a limit that is looked at once in 64 chunks
 *
 * A container is within its limit if current <= limit before an allocation. Above it the
 * allocation has to evict. But an allocation looks at the free list first, and chunks come from
 * RM 64 at a time. So the limit is enforced only when the free list is empty:
 *
 *     usage - limit, in chunks
 *      63 |     /|     /|     /|      each step up: a chunk from the free list
 *         |   /  |   /  |   /  |      each fall: a refill, and victims at the head of the
 *       0 | /    | /    | /    |      container's own list
 *
 * The driver reads the usage before it evicts a victim and looks at it afterwards
 * (pick_and_evict_root_chunk()). So one more chunk goes than has to, and the new one brings the
 * container to its limit. The overshoot is up to 63 chunks, 126 MB. It is 64 once, if the free
 * list is empty when usage first is at the limit: that allocation still is within it, and
 * refills. It can be larger if other containers refill meanwhile, since the free list is the
 * GPU's: each of their refills puts up to 63 chunks there, which this container may claim.
 *
 * With fast_path a refill is tried first. Victims go to a thread that waits for the copies and
 * gives the chunks back to RM, so the copy into the fresh chunk waits for no copy out. When RM
 * has no chunk left, the block gets the last victim's chunk, and the driver waits for the
 * copies of all others on the spot. The CPU's part of all these evictions stays in the thread
 * that services faults. When the GPU is full and the container is within its limit, the first
 * chunk in global order goes, of any container.
 *
 * Its promotion brings in a whole block if all its 32 pages are in one chunk of 2 MB on the
 * host, and none on the device. Blocks that were evicted before are like that, and blocks that
 * the CPU wrote into huge pages. New memory never is.
 *
 * How this differs from the published driver:
 *  1. If it finds no victim after a refill has succeeded, it loses the refill's first chunk,
 *     and the fault is fatal. With a limit below one chunk it always ends so. Here the refill
 *     goes back, and the fault comes again.
 *  2. Without fast_path no refill is tried above the limit: the driver before its commit
 *     03519869 (lazy freeing, September 2025). With one_list each search for a victim walks the
 *     list of all chunks (walk.c): the driver before 919ce57a (lists by process, October 2025).
 */
#include "nvuvm/driver.h"

#include "gvm/charge.h"
#include "nvuvm/evict.h"
#include "nvuvm/limit.h"
#include "nvuvm/pmm.h"
#include "nvuvm/prefetch.h"

/* Is the container above its limit, and are limits enforced? */
static bool driver_over_limit(const struct nvuvm *nvuvm, const struct nvuvm_container *owner)
{
	return nvuvm->config.limits &&
	       gvm_charged_bytes(owner->container) > owner->container->gmem_high_bytes;
}

/*
 * There is no victim. Wait for a chunk that is being freed, or else leave it to another batch.
 */
static int room_without_victim(struct nvuvm *nvuvm)
{
	u64 freed = nvuvm->stats.lazy_returned;

	if (nvuvm->stats.lazy_given > freed)
		return gvm_wait_event_interruptible(&nvuvm->lazy_freed,
						    nvuvm->stats.lazy_returned > freed);
	/*
	 * Chunks in the hands of a limit write are charged to no container, but become free
	 * soon.
	 */
	return nvuvm->config.device->bound_chunks || nvuvm->in_hands ? -EAGAIN : -ENOENT;
}

/*
 * The device is full: take a free chunk if there is one now, else evict the first in global
 * order.
 */
static int room_global(struct nvuvm *nvuvm)
{
	struct gvm_fence fence = { 0 };
	u32 tries = nvuvm->config.device->chunk_count;
	int status = -EBUSY;
	u32 chunk;

	while (tries-- && status == -EBUSY) {
		chunk = nvuvm_pmm_alloc(nvuvm);
		if (chunk != GVM_NO_CHUNK) {
			nvuvm->held = chunk;
			return 0;
		}
		chunk = nvuvm_pmm_pick(nvuvm, NULL);
		if (chunk == GVM_NO_CHUNK)
			return room_without_victim(nvuvm);
		status = nvuvm_evict_taken(nvuvm, chunk, &fence);
		if (!status)
			nvuvm->held = chunk;
	}
	return status == -EBUSY ? -EAGAIN : status;
}

/*
 * A victim that the block does not need goes back to RM after its copy out.
 * @lazily: a thread waits for that.
 */
static int room_dispose(struct nvuvm *nvuvm, u32 chunk, const struct gvm_fence *fence,
			bool lazily)
{
	const struct nvuvm_config *config = &nvuvm->config;
	int status = 0;

	if (lazily) {
		nvuvm_pmm_release_lazily(nvuvm, chunk, fence->sequence[GVM_ENGINE_OUT]);
		return 0;
	}
	status = config->mmu->fence_wait(config->gpu, fence);
	nvuvm_pmm_release(nvuvm, chunk);
	return status;
}

/*
 * One of the container's own chunks. @fresh: the block has a chunk of a refill. Else it
 * gets the @last victim's.
 */
static int room_evict_own(struct nvuvm *nvuvm, struct nvuvm_container *owner, bool fresh,
			  bool last)
{
	struct gvm_fence fence = { 0 };
	u32 chunk = nvuvm_pmm_pick(nvuvm, owner);
	int status;

	if (chunk == GVM_NO_CHUNK)
		return -EAGAIN;
	status = nvuvm_evict_taken(nvuvm, chunk, &fence);
	if (status)
		return status == -EBUSY ? -EAGAIN : status;
	nvuvm->stats.evictions_own++;
	if (last && !fresh) {
		nvuvm->held = chunk;
		return 0;
	}
	return room_dispose(nvuvm, chunk, &fence, fresh);
}

/* The container is above its limit. */
static int room_own(struct nvuvm *nvuvm, struct nvuvm_container *owner)
{
	bool fresh, above;
	int status;

	/*
	 * A block of this batch has found no room, so later ones may not pass the limit either.
	 */
	if (owner->deferred_va)
		return -EAGAIN;
	nvuvm->held = nvuvm_pmm_claim(nvuvm);
	if (nvuvm->held != GVM_NO_CHUNK)
		return 0;
	if (nvuvm->config.fast_path)
		nvuvm->held = nvuvm_pmm_refill(nvuvm);
	fresh = nvuvm->held != GVM_NO_CHUNK;
	do {
		above = driver_over_limit(nvuvm, owner);
		status = room_evict_own(nvuvm, owner, fresh, !above);
	} while (!status && above);
	if (!status)
		return 0;
	/* There was no victim: the refill goes back to RM. */
	if (nvuvm->held != GVM_NO_CHUNK)
		nvuvm_pmm_release(nvuvm, nvuvm->held);
	nvuvm->held = GVM_NO_CHUNK;
	nvuvm_pmm_trim(nvuvm);
	return status;
}

static int driver_make_room(struct nvuvm *nvuvm, struct nvuvm_container *owner,
			    enum gvm_need need)
{
	return need == GVM_NEED_CHARGE ? room_own(nvuvm, owner) : room_global(nvuvm);
}

/* RM takes the first chunk in global order, and neither driver can refuse. */
static int driver_make_room_for_rm(struct nvuvm *nvuvm, struct gvm_container *container)
{
	u32 chunk = nvuvm_pmm_peek(nvuvm);
	struct gvm_fence fence = { 0 };

	(void)container;
	return chunk == GVM_NO_CHUNK ? -ENOMEM : nvuvm_evict_range(nvuvm, chunk, 1, &fence);
}

/* The published GVM looks at its limit unless a victim has just been found. */
static int driver_alloc_begin(struct nvuvm *nvuvm, struct nvuvm_container *owner)
{
	if (nvuvm->held != GVM_NO_CHUNK || !driver_over_limit(nvuvm, owner))
		return 0;
	gvm_container_count_event(owner->container, GVM_EVENT_HIGH);
	return -EDQUOT;
}

/* It charges after the allocation, without a second look. */
static void driver_alloc_end(struct nvuvm *nvuvm, struct nvuvm_container *owner, bool allocated)
{
	(void)nvuvm;
	if (allocated)
		gvm_charge_force(owner->container);
}

/* The published GVM's promotion under its conditions, else the density prefetcher. */
static u32 driver_service_block_pages(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
				      u32 faulted, bool *ret_promoted)
{
	const struct gvm_block *block = &range->blocks[index];
	const struct nvuvm_block *entry = nvuvm_block_of(range, index);

	*ret_promoted = nvuvm->config.fast_path && !block->resident &&
			block->on_host == GVM_BLOCK_FULL && entry->host_huge &&
			!entry->thrash.pinned;
	if (*ret_promoted) {
		nvuvm->stats.promoted++;
		return GVM_BLOCK_FULL;
	}
	/* The first touch of a block whose preferred location is here brings all of it. */
	if (!block->resident && !block->on_host &&
	    nvuvm_range_of(range)->preferred == NVUVM_GPU)
		return block->valid;
	return nvuvm_prefetch(block->valid, block->resident, faulted, entry->thrash.thrashing);
}

static int driver_limit_write(struct nvuvm *nvuvm, struct gvm_container *container, u64 bytes)
{
	return nvuvm->config.limits ? nvuvm_limit_write(nvuvm, container, bytes) : 0;
}

const struct nvuvm_hooks nvuvm_driver_hooks = {
	.alloc_begin = driver_alloc_begin,
	.alloc_end = driver_alloc_end,
	.make_room = driver_make_room,
	.make_room_for_rm = driver_make_room_for_rm,
	.service_block_pages = driver_service_block_pages,
	.limit_write = driver_limit_write,
};
