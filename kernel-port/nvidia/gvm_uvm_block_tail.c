// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The end of nvidia-uvm's uvm_va_block.c, which includes it, since it uses that file's static
 * functions: the allocation of a chunk for a VA block.
 */
#include "gvm_uvm.h"

/*
 * Evict for a block, which is unlocked meanwhile, and give it the victim's chunk, or a free one
 * in exchange. The GPU orders the copies. This thread waits for none: it gives no chunk back to
 * RM, which would have to wait for the copy out. Returns as gvm_uvm_alloc_chunk().
 */
static NV_STATUS gvm_uvm_make_room(uvm_va_block_t *block, uvm_va_block_retry_t *retry,
				   uvm_gpu_t *gpu, struct gvm_uvm_space *space,
				   uvm_chunk_size_t size, bool own)
{
	bool whole = size == UVM_CHUNK_SIZE_MAX;
	u32 index = GVM_UVM_NO_CHUNK;
	uvm_gpu_chunk_t *chunk = NULL;
	NV_STATUS status;

	uvm_mutex_unlock(&block->lock);
	status = gvm_uvm_status(space->gpu->calls->make_room(space, block->start, size, own,
							     whole ? &index : NULL));
	if (index != GVM_UVM_NO_CHUNK)
		status = gvm_uvm_chunk_take(&gpu->pmm, index, &retry->tracker, &chunk);
	uvm_mutex_lock(&block->lock);
	if (chunk)
		block_retry_add_free_chunk(retry, chunk);
	return status == NV_OK ? NV_ERR_MORE_PROCESSING_REQUIRED : status;
}

/*
 * In place of block_alloc_gpu_chunk(), with its contract: NV_OK;
 * NV_ERR_MORE_PROCESSING_REQUIRED, if the block was unlocked meanwhile and its operation has to
 * start again; or an error.
 *
 * A VA space is attached before its memory can come to a managed GPU. One that is not gets no
 * memory there, since nothing would bound it.
 *
 * The chunk is charged before it exists, to the payer of the block. At its limit the payer
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
	struct gvm_uvm_space *space;
	bool own = true;
	NV_STATUS status;
	int error;

	if (!managed)
		return block_alloc_gpu_chunk(block, retry, gpu, size, ret_chunk);
	space = gvm_uvm_space_find(&gpu->pmm, uvm_va_block_get_va_space(block));
	if (!space) {
		pr_warn_ratelimited("gvm refuses memory on %s: no process pays for it\n",
				    uvm_gpu_name(gpu));
		return NV_ERR_NO_MEMORY;
	}

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

	return gvm_uvm_make_room(block, retry, gpu, space, size, own);
}

/* Has the block a page on a GPU? */
static bool gvm_uvm_is_on_gpu(const uvm_va_block_t *block)
{
	uvm_processor_id_t id;

	for_each_id_in_mask(id, &block->resident)
		if (UVM_ID_IS_GPU(id))
			return true;
	return false;
}

/*
 * May all of the block come with the pages that a fault brings? It is a whole one of 2 MB, to
 * which the driver gives one chunk, on no GPU yet, and there is no reason to keep some of its
 * pages elsewhere: none of them thrashes or may be read-duplicated, and none is in a range
 * group, which says for each page whether it may migrate.
 */
static bool gvm_uvm_may_promote(uvm_processor_id_t id, uvm_va_block_t *block,
				const uvm_service_block_context_t *service)
{
	uvm_va_space_t *va_space = uvm_va_block_get_va_space(block);
	struct gvm_uvm_space *space;

	if (!UVM_ID_IS_GPU(id) || uvm_va_block_is_hmm(block) ||
	    service->operation != UVM_SERVICE_OPERATION_REPLAYABLE_FAULTS ||
	    uvm_processor_mask_get_count(&service->resident_processors) != 1 ||
	    !uvm_processor_mask_test(&service->resident_processors, id))
		return false;
	space = gvm_uvm_space_on(va_space, id);
	if (!space || !space->gpu->calls->promotes(space))
		return false;
	return block_gpu_chunk_size(block, uvm_pmm_to_gpu(space->gpu->pmm), 0) ==
		       UVM_CHUNK_SIZE_MAX &&
	       !gvm_uvm_is_on_gpu(block) && !service->thrashing_pin_count &&
	       !uvm_perf_thrashing_get_thrashing_pages(block) &&
	       !service->read_duplicate_count &&
	       uvm_va_policy_get_region(block, service->region)->read_duplication !=
		       UVM_READ_DUPLICATION_ENABLED &&
	       uvm_page_mask_empty(&block->read_duplicated_pages) &&
	       !uvm_range_group_range_iter_first(va_space, block->start, block->end);
}

/*
 * The driver is about to serve faults on a block, and has added what it prefetches. Add the
 * rest of the block, and leave no trace of the prefetch: the driver would copy that apart. A
 * page without a fault asks for no more than reading, as a prefetched one, so it gets no access
 * that is not its own.
 */
void gvm_uvm_promote(uvm_processor_id_t id, uvm_va_block_t *block,
		     uvm_service_block_context_t *service)
{
	uvm_page_mask_t *pages;
	uvm_page_index_t page;

	if (!gvm_uvm_may_promote(id, block, service))
		return;
	service->region = uvm_va_block_region_from_block(block);
	pages = &service->per_processor_masks[uvm_id_value(id)].new_residency;
	for_each_va_block_page(page, block)
		if (!uvm_page_mask_test(pages, page))
			service->access_type[page] = UVM_FAULT_ACCESS_TYPE_PREFETCH;
	uvm_page_mask_region_fill(pages, service->region);
	uvm_page_mask_zero(&service->prefetch_hint.prefetch_pages_mask);
	service->prefetch_hint.residency = UVM_ID_INVALID;
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
