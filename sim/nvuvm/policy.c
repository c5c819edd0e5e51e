// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The core's decisions at the hook points of NVIDIA's driver, as in gvm.ko. The driver, here
 * its model, owns blocks, chunks, copies and PTEs. The core decides about charges and victims.
 *
 *     hook point in UVM                  here                           the core
 *     block_alloc_gpu_chunk, before      policy_alloc_begin()           gvm_charge_reserve()
 *     block_alloc_gpu_chunk, at its end  policy_alloc_end()             gvm_charge_cancel()
 *     pick_and_evict_root_chunk          policy_make_room()             gvm_evict_for()
 *     uvm_pmm_gpu_pma_evict_pages        policy_make_room_for_rm()      gvm_evict_for()
 *     uvm_va_block_service_locked        policy_service_block_pages()   gvm_hugepage_plan()
 *     service_fault_batch                policy_space_end()             gvm_evictors_kick()
 *     end of a batch                     policy_batch_end()             gvm_evict_for()
 *     free_chunk                         nvuvm_chunk_free()             gvm_uncharge()
 *     block_mark_memory_used             gvm_block_finish_locked()      gvm_clock_touch()
 *     (a service) evict this chunk       nvuvm_evict_chunk()            evictors, reclaim
 *
 * The charge comes before the allocation, so usage never passes the limit. The block that needs
 * room gets the victim's chunk, as in the stock driver, so no other block can take it first.
 * gvm.ko exchanges it for a free one, if the driver keeps some.
 *
 * A limit may be lowered while all of a container's chunks are in service. Its writer finds no
 * victim then. So the end of a batch evicts what is above the limit, up to as many chunks as
 * the batch had blocks of the container.
 */
#include "nvuvm/policy.h"

#include "gvm/evictor.h"
#include "nvuvm/container.h"

static int policy_alloc_begin(struct nvuvm *nvuvm, struct nvuvm_container *owner)
{
	(void)nvuvm;
	return gvm_charge_reserve(owner->container);
}

static void policy_alloc_end(struct nvuvm *nvuvm, struct nvuvm_container *owner, bool allocated)
{
	(void)nvuvm;
	if (!allocated)
		gvm_charge_cancel(owner->container);
}

static int policy_make_room(struct nvuvm *nvuvm, struct nvuvm_container *owner,
			    enum gvm_need need)
{
	struct gvm_eviction eviction = { .keep = nvuvm->held == GVM_NO_CHUNK };
	int status = gvm_evict_for(owner->container, need, &eviction);

	if (eviction.chunk != GVM_NO_CHUNK)
		nvuvm->held = eviction.chunk;
	return status;
}

static int policy_make_room_for_rm(struct nvuvm *nvuvm, struct gvm_container *container)
{
	struct gvm_eviction eviction = { 0 };
	int status = gvm_evict_for(container, GVM_NEED_MEMORY, &eviction);

	(void)nvuvm;
	return gvm_evict_found_none(status) ? -ENOMEM : status == -EAGAIN ? -EBUSY : status;
}

static u32 policy_service_block_pages(struct nvuvm *nvuvm, struct gvm_range *range, u32 index,
				      u32 faulted, bool *ret_promoted)
{
	const struct gvm_block *block = &range->blocks[index];
	u32 pages = gvm_hugepage_plan(block, faulted) & ~block->resident;

	(void)nvuvm;
	*ret_promoted = pages == GVM_BLOCK_FULL && block->on_host == GVM_BLOCK_FULL &&
			nvuvm_block_of(range, index)->host_huge;
	return pages;
}

/*
 * A container of the last batch, with one more user, and the number of its blocks. Each
 * container comes once. NULL: none is left.
 */
static struct nvuvm_container *policy_next_of_batch(struct nvuvm *nvuvm, u32 *ret_blocks)
{
	struct nvuvm_container *owner, *found = NULL;

	gvm_spin_lock(&nvuvm->lock);
	list_for_each_entry(owner, &nvuvm->containers, node) {
		if (!owner->batch_blocks)
			continue;
		found = owner;
		owner->users++;
		*ret_blocks = owner->batch_blocks;
		owner->batch_blocks = 0;
		break;
	}
	gvm_spin_unlock(&nvuvm->lock);
	return found;
}

static void policy_space_end(struct nvuvm *nvuvm, struct nvuvm_container *owner, u32 blocks)
{
	(void)nvuvm;
	owner->batch_blocks += blocks;
	gvm_evictors_kick(owner->container, blocks);
}

static void policy_batch_end(struct nvuvm *nvuvm)
{
	struct nvuvm_container *owner;
	u32 blocks;

	while ((owner = policy_next_of_batch(nvuvm, &blocks)) != NULL) {
		struct gvm_eviction eviction = { 0 };

		for (u32 i = 0; i < blocks && gvm_charge_excess(owner->container); i++)
			if (gvm_evict_for(owner->container, GVM_NEED_CHARGE, &eviction))
				break;
		nvuvm_container_put(nvuvm, owner);
	}
}

const struct nvuvm_hooks nvuvm_policy_hooks = {
	.alloc_begin = policy_alloc_begin,
	.alloc_end = policy_alloc_end,
	.make_room = policy_make_room,
	.make_room_for_rm = policy_make_room_for_rm,
	.service_block_pages = policy_service_block_pages,
	.space_end = policy_space_end,
	.batch_end = policy_batch_end,
};
