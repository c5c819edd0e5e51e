// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Victims: which root chunk leaves. The core picks, nvidia-uvm evicts.
 *
 * A pick and its eviction are two steps. A root chunk that the core has picked is evicted by
 * the thread that finds it evictable under the PMM list lock. So at most one thread evicts it:
 *
 *     picked -- evictable, under the list lock --> in eviction --> all parts have left: free
 *        |                                             '--> failed: a part is put back
 *        '----- in use ------------------------> put back
 *
 * The order of victims on a full device:
 *   1. what the stock driver takes first: free root chunks, and those without
 *      data that is needed
 *   2. the core's choice, which spares protected containers
 *   3. for page tables and for RM, which cannot be refused: what the stock driver would take,
 *      counted as taken. A container that finds no victim is refused or waits: make_room.
 */
#include "gvm_nvidia.h"

#include "gvm/activity.h"
#include "gvm/clock.h"
#include "gvm/evict.h"

/* How often one pick under the PMM list lock asks the clock. */
#define VICTIM_ASKS 4u

/* The memory manager. */

static bool nvidia_evictable(void *memory, u32 chunk)
{
	struct gvm_nvidia_gpu *gpu = memory;

	return gpu->uvm->services->evictable(gpu->uvm->pmm, chunk);
}

static int nvidia_evict(void *memory, u32 chunk, struct gvm_eviction *eviction)
{
	struct gvm_nvidia_gpu *gpu = memory;

	eviction->left_bytes = 0;
	return gpu->uvm->services->evict(gpu->uvm->pmm, chunk, eviction->keep);
}

/*
 * For evictors. nvidia-uvm takes 64 chunks from RM at once: without those that it keeps, an
 * evictor would make room that there is.
 */
static u32 nvidia_free_chunks(void *memory)
{
	struct gvm_nvidia_gpu *gpu = memory;

	return gpu->uvm->services->free_chunks(gpu->uvm->pmm) + (u32)atomic_read(&gpu->kept);
}

/* RM has a free chunk by now, so nothing has to leave. */
static bool victim_is_needless(struct gvm_nvidia_gpu *gpu)
{
	return gpu->uvm->services->free_chunks(gpu->uvm->pmm);
}

/* nvidia-uvm serves faults, ranges and migrations itself. */
const struct gvm_memory_ops gvm_nvidia_memory_ops = {
	.evictable = nvidia_evictable,
	.evict = nvidia_evict,
	.free_chunks = nvidia_free_chunks,
};

/* Evict what the VA space needs. Returns as gvm_evict_wait_for(). */
static int victim_evict(struct gvm_nvidia_gpu *gpu, struct gvm_container *container, bool own,
			struct gvm_eviction *eviction)
{
	int status;

	if (own)
		return gvm_evict_wait_for(container, GVM_NEED_CHARGE, eviction);
	/* Memory may have been freed since the allocation failed. */
	if (victim_is_needless(gpu))
		return 0;
	status = gvm_evict_wait_for(container, GVM_NEED_MEMORY, eviction);
	if (gvm_evict_found_none(status) && victim_is_needless(gpu))
		return 0;
	return status;
}

/*
 * An allocation may fail for ever although there is room: the host has no memory to split a
 * chunk, or RM refuses. Or other processes of the container take the room each time. So the
 * tries are bounded.
 */
static bool victim_may_try(struct gvm_nvidia_payer *payer, bool own)
{
	if (own)
		return atomic_inc_return(&payer->own_tries) <= GVM_NVIDIA_OWN_TRIES_MAX;
	return atomic_inc_return(&payer->tries) <= GVM_NVIDIA_TRIES_MAX;
}

int gvm_nvidia_make_room(struct gvm_uvm_space *uvm, u64 va, u64 bytes, bool own, u32 *ret_index)
{
	struct gvm_nvidia_payer *payer = gvm_nvidia_payer(gvm_nvidia_space(uvm), va);
	struct gvm_eviction eviction = { .keep = ret_index,
					 .bytes = bytes,
					 .chunk = GVM_NO_CHUNK };
	int status = -ENOMEM;

	if (victim_may_try(payer, own))
		status = victim_evict(gvm_nvidia_gpu(uvm->gpu), payer->container, own,
				      &eviction);
	if (!status && eviction.chunk != GVM_NO_CHUNK)
		*ret_index = eviction.chunk;
	if (!status || status == -EINTR)
		return status;
	/*
	 * The access is lost, and the next one begins anew. A wait for chunks in service
	 * (-EAGAIN) that took too long loses it as well, and so does an eviction that failed.
	 */
	gvm_nvidia_forget_tries(payer);
	if (status != -ENODEV)
		gvm_container_count_event(payer->container, GVM_EVENT_OOM);
	return status;
}

/* The hooks. */

void gvm_nvidia_used(struct gvm_uvm_gpu *uvm, u32 index, bool used)
{
	struct gvm_nvidia_gpu *gpu = gvm_nvidia_gpu(uvm);

	if (used)
		gvm_clock_touch(gpu->device, index);
	gvm_spin_lock(&gpu->lock);
	__assign_bit(index, gpu->unused, !used);
	gvm_spin_unlock(&gpu->lock);
}

bool gvm_nvidia_split(struct gvm_uvm_gpu *uvm, u32 index)
{
	struct gvm_nvidia_gpu *gpu = gvm_nvidia_gpu(uvm);
	bool was_unused;

	gvm_spin_lock(&gpu->lock);
	was_unused = __test_and_clear_bit(index, gpu->unused);
	gvm_spin_unlock(&gpu->lock);
	return was_unused;
}

/* A picked root chunk counts as taken when it leaves, and not if it is put back as a whole. */
static void victim_set_forced(struct gvm_nvidia_gpu *gpu, u32 index, bool forced)
{
	gvm_spin_lock(&gpu->lock);
	__assign_bit(index, gpu->forced, forced);
	gvm_spin_unlock(&gpu->lock);
}

/* Pick the root chunk, which RM or the driver takes from its owner whatever the limits say. */
static void victim_force(struct gvm_nvidia_gpu *gpu, u32 index)
{
	if (gvm_clock_force(gpu->device, index))
		victim_set_forced(gpu, index, true);
}

/* May the root chunk go before all others? Then it is picked now, if it is charged. */
static bool victim_is_easy(struct gvm_nvidia_gpu *gpu, u32 index, bool is_free)
{
	struct gvm_device *device = gpu->device;
	bool is_protected;

	if (is_free || !gvm_nvidia_is_charged(gpu, index))
		return true;
	if (!test_bit(index, gpu->unused))
		return false;
	gvm_spin_lock(&device->lock);
	is_protected = device->chunks[index].owner && device->chunks[index].owner->is_protected;
	gvm_spin_unlock(&device->lock);
	return !is_protected && gvm_clock_take(device, index);
}

u32 gvm_nvidia_victim(struct gvm_uvm_gpu *uvm, struct gvm_uvm_space *space, u32 first,
		      bool first_is_free)
{
	struct gvm_nvidia_gpu *gpu = gvm_nvidia_gpu(uvm);
	u32 index = GVM_NO_CHUNK;

	if (first != GVM_UVM_NO_CHUNK && victim_is_easy(gpu, first, first_is_free))
		return first;
	for (u32 asks = 0; index == GVM_NO_CHUNK && asks < VICTIM_ASKS; asks++)
		index = gvm_clock_pick_global(gpu->device);
	if (space)
		return index == GVM_NO_CHUNK ? GVM_UVM_NO_CHUNK : index;
	if (index != GVM_NO_CHUNK) {
		victim_set_forced(gpu, index, true);
		return index;
	}
	if (first != GVM_UVM_NO_CHUNK)
		victim_force(gpu, first);
	return first;
}

bool gvm_nvidia_is_picked(struct gvm_uvm_gpu *uvm, u32 index)
{
	return gvm_clock_is_picked(gvm_nvidia_gpu(uvm)->device, index);
}

void gvm_nvidia_putback(struct gvm_uvm_gpu *uvm, u32 index)
{
	struct gvm_nvidia_gpu *gpu = gvm_nvidia_gpu(uvm);

	victim_set_forced(gpu, index, false);
	gvm_clock_putback_rest(gpu->device, index);
}

void gvm_nvidia_eviction_starts(struct gvm_uvm_gpu *uvm, u32 index)
{
	struct gvm_nvidia_gpu *gpu = gvm_nvidia_gpu(uvm);

	if (gvm_nvidia_is_charged(gpu, index))
		victim_force(gpu, index);
}
