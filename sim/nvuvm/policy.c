// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The core's policy at the hooks of NVIDIA's driver, as gvm.ko has it: the model still owns blocks,
 * chunks, copies and PTEs, and asks the core who may have memory and who has to give it.
 *
 *     hook in UVM                          here                        the core
 *     block_alloc_gpu_chunk, before    visit_populate_locked()   gvm_charge_reserve()
 *     block_alloc_gpu_chunk, after     gvm_block_attach_locked() gvm_charge_bind()
 *     free_chunk                       nvuvm_chunk_free()        gvm_uncharge()
 *     pick_root_chunk_to_evict         nvuvm_policy_make_room()  gvm_evict_for(), the dual CLOCK
 *     evict one given root chunk       nvuvm_evict_chunk()       evictors, reclaim
 *     service_fault_batch_block_locked visit_plan()              gvm_hugepage_plan()
 *     block_mark_memory_used           gvm_block_finish_locked() gvm_clock_touch()
 *     end of a batch                   nvuvm_service()           gvm_evictors_kick()
 *
 * A victim's chunk is handed to the block that needs it, as in the stock driver, so that no other block
 * can take it first. What the batch in service has migrated to is no victim; see block.c.
 */
#include "nvuvm/parts.h"

bool nvuvm_policy_keeps(const struct nvuvm *nvuvm, u32 chunk)
{
	const struct nvuvm_chunk *entry = &nvuvm->chunks[chunk];

	return READ_ONCE(entry->state) == NVUVM_USED && entry->batch == nvuvm->batch;
}

int nvuvm_policy_make_room(struct nvuvm *nvuvm, struct gvm_container *container,
			   enum gvm_need need)
{
	struct gvm_eviction eviction = { .keep = nvuvm->held == GVM_NO_CHUNK };
	int status = gvm_evict_for(container, need, &eviction);

	if (eviction.chunk != GVM_NO_CHUNK)
		nvuvm->held = eviction.chunk;
	return status;
}
