// SPDX-License-Identifier: MIT OR GPL-2.0
/* The queue of evicted blocks that advice.c maps; see evicted.h. */
#include "nvuvm/evicted.h"

void nvuvm_evicted_add(struct nvuvm *nvuvm, const struct gvm_range *range, u32 index)
{
	struct nvuvm_evicted *evicted;

	if (!nvuvm_range_of(range)->accessed_by_gpu)
		return;
	evicted = gvm_alloc(sizeof(*evicted));
	if (!evicted)
		return;
	evicted->space = range->space;
	evicted->va = range->va + ((u64)index << GVM_CHUNK_SHIFT);
	gvm_spin_lock(&nvuvm->lock);
	list_add_tail(&evicted->node, &nvuvm->evicted);
	gvm_spin_unlock(&nvuvm->lock);
	gvm_wake_up_all(&nvuvm->evicted_wait);
}

struct nvuvm_evicted *nvuvm_evicted_take(struct nvuvm *nvuvm)
{
	struct nvuvm_evicted *evicted = NULL;

	gvm_spin_lock(&nvuvm->lock);
	if (!list_empty(&nvuvm->evicted)) {
		evicted = list_first_entry(&nvuvm->evicted, struct nvuvm_evicted, node);
		list_del_init(&evicted->node);
	}
	gvm_spin_unlock(&nvuvm->lock);
	return evicted;
}
