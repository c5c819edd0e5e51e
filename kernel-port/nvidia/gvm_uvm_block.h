/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Included at the end of nvidia-uvm's uvm_va_block.c: the allocation of a chunk for a VA block.
 */
#include "gvm_uvm.h"

/*
 * In place of block_alloc_gpu_chunk(), with its contract: NV_OK;
 * NV_ERR_MORE_PROCESSING_REQUIRED, if the block was unlocked meanwhile and its operation has to
 * start again; or an error.
 *
 * The chunk is charged before it exists, to who pays for the block. At its limit that one
 * evicts a chunk of its own, with the block unlocked. On a full device the stock function
 * evicts first, and gvm_uvm_victim() chooses. If it finds no victim in a few looks, the core
 * searches for one, and may wait.
 */
NV_STATUS gvm_uvm_alloc_chunk(uvm_va_block_t *block, uvm_va_block_retry_t *retry,
			      uvm_gpu_t *gpu, uvm_chunk_size_t size,
			      uvm_gpu_chunk_t **ret_chunk)
{
	struct gvm_uvm_gpu *managed = gvm_uvm_find(&gpu->pmm);
	struct gvm_uvm_request request;
	struct gvm_uvm_space *space = NULL;
	bool own = true;
	NV_STATUS status;
	int error;

	if (managed)
		space = gvm_uvm_space_find(&gpu->pmm, uvm_va_block_get_va_space(block));
	if (!space)
		return block_alloc_gpu_chunk(block, retry, gpu, size, ret_chunk);

	error = managed->calls->reserve(space, block->start, size);
	if (!error) {
		gvm_uvm_request_begin(&gpu->pmm, &request, space);
		status = block_alloc_gpu_chunk(block, retry, gpu, size, ret_chunk);
		gvm_uvm_request_end(&gpu->pmm, &request);
		if (status == NV_OK) {
			error = managed->calls->bind(space, block->start, (*ret_chunk)->address,
						     size);
			if (error)
				uvm_pmm_gpu_free(&gpu->pmm, *ret_chunk, NULL);
			return gvm_uvm_status(error);
		}
		managed->calls->cancel(space, block->start, size);
		if (status != NV_ERR_NO_MEMORY)
			return status;
		own = false;
	} else if (error != -EDQUOT) {
		return gvm_uvm_status(error);
	}

	uvm_mutex_unlock(&block->lock);
	error = managed->calls->make_room(space, block->start, own);
	uvm_mutex_lock(&block->lock);
	return error ? gvm_uvm_status(error) : NV_ERR_MORE_PROCESSING_REQUIRED;
}

/*
 * nvidia-uvm remembers which pages of a block were evicted from a GPU and did not come back
 * there: that is what its payer has swapped out. Before the mask changes the hooks count what
 * is new in it. The block is locked.
 */
static void gvm_uvm_swapped(uvm_va_block_t *block, uvm_gpu_id_t id, s64 pages)
{
	struct gvm_uvm_space *space = NULL;
	uvm_va_space_t *va_space = uvm_va_block_get_va_space_maybe_dead(block);

	if (pages && va_space)
		space = gvm_uvm_space_on(va_space, id);
	if (space)
		space->gpu->calls->swapped(space, block->start, pages * (s64)PAGE_SIZE);
}

void gvm_uvm_swapped_out(uvm_va_block_t *block, uvm_gpu_id_t id, const uvm_page_mask_t *pages)
{
	uvm_page_mask_t added;

	uvm_page_mask_andnot(&added, pages, &uvm_va_block_gpu_state_get(block, id)->evicted);
	gvm_uvm_swapped(block, id, uvm_page_mask_weight(&added));
}

void gvm_uvm_swapped_in(uvm_va_block_t *block, uvm_gpu_id_t id, const uvm_page_mask_t *pages)
{
	uvm_page_mask_t back;

	uvm_page_mask_and(&back, pages, &uvm_va_block_gpu_state_get(block, id)->evicted);
	gvm_uvm_swapped(block, id, -(s64)uvm_page_mask_weight(&back));
}

void gvm_uvm_swap_gone(uvm_va_block_t *block, uvm_gpu_id_t id)
{
	gvm_uvm_swapped(
		block, id,
		-(s64)uvm_page_mask_weight(&uvm_va_block_gpu_state_get(block, id)->evicted));
}
