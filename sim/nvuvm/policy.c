// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The core's policy at the hooks of NVIDIA's driver, as in gvm.ko. The model owns blocks, chunks,
 * copies and PTEs. The core decides about charges and victims.
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
 * The block that needs room gets the victim's chunk, as in the stock driver, so no other block
 * can take it first. Chunks that the batch in service has migrated to are no victims; see
 * block.c.
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
