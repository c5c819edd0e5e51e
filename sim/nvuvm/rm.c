// SPDX-License-Identifier: MIT OR GPL-2.0
/* RM's allocations: contexts and page tables, which UVM makes room for and does not account. */
#include "nvuvm/rm.h"

#include "nvuvm/hooks.h"
#include "nvuvm/pmm.h"

static int rm_alloc(struct nvuvm *nvuvm, struct gvm_container *container, u32 *ret_chunk)
{
	const struct nvuvm_config *config = &nvuvm->config;
	u32 tries = config->device->chunk_count;
	int status = config->mmu->chunk_alloc(config->gpu, ret_chunk);

	if (status)
		nvuvm_pmm_trim(nvuvm);
	while (status && tries--) {
		status = config->mmu->chunk_alloc(config->gpu, ret_chunk);
		if (!status)
			break;
		status = config->hooks->make_room_for_rm(nvuvm, container);
		if (status && status != -EBUSY)
			return status;
		status = -ENOMEM;
	}
	return status;
}

int nvuvm_rm_take(struct nvuvm *nvuvm, struct gvm_unevictable *taken, u64 bytes)
{
	int status = 0;
	u32 chunk;

	taken->bytes += bytes;
	while ((u64)taken->chunks << GVM_CHUNK_SHIFT < taken->bytes) {
		status = rm_alloc(nvuvm, taken->container, &chunk);
		if (status)
			break;
		gvm_frame_set(&nvuvm->memory, chunk, 0, NULL, taken->first_chunk);
		taken->first_chunk = chunk;
		taken->chunks++;
	}
	return status;
}

void nvuvm_rm_return(struct nvuvm *nvuvm, struct gvm_unevictable *taken, u64 bytes)
{
	const struct nvuvm_config *config = &nvuvm->config;
	u64 needed;

	GVM_ASSERT(bytes <= taken->bytes);
	taken->bytes -= bytes;
	needed = (taken->bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT;
	for (; taken->chunks > needed; taken->chunks--) {
		u32 chunk = taken->first_chunk;

		taken->first_chunk = gvm_frame(&nvuvm->memory, chunk, 0)->index;
		config->mmu->chunk_free(config->gpu, chunk);
	}
}
