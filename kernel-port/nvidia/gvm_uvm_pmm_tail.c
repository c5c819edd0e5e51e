// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The end of nvidia-uvm's uvm_pmm_gpu.c, which includes it, since it uses that file's static
 * functions: the hooks of the PMM, and what gvm_nvidia.ko asks of it.
 */
#include "gvm_uvm.h"

/* How many victims of the policy one pick looks at that turn out to be in use. */
#define GVM_UVM_VICTIMS_MAX 4u

static u32 gvm_uvm_index(const uvm_gpu_chunk_t *chunk)
{
	return (u32)(chunk->address / UVM_CHUNK_SIZE_MAX);
}

/* The services. */

/*
 * Start the eviction of a root chunk, if it is evictable. Returns as gvm_uvm_services.evict.
 */
static int gvm_uvm_start(uvm_pmm_gpu_t *pmm, uvm_gpu_root_chunk_t *root)
{
	uvm_gpu_chunk_t *chunk = &root->chunk;
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);
	int status = 0;

	uvm_spin_lock(&pmm->list_lock);
	if (chunk_is_in_eviction(pmm, chunk) ||
	    !gpu->calls->is_picked(gpu, gvm_uvm_index(chunk))) {
		status = -ENOENT;
	} else if (!chunk_is_evictable(pmm, chunk)) {
		gpu->calls->putback(gpu, gvm_uvm_index(chunk));
		status = -EBUSY;
	} else {
		chunk_start_eviction(pmm, chunk);
	}
	uvm_spin_unlock(&pmm->list_lock);
	return status;
}

static int gvm_uvm_evict_root(uvm_pmm_gpu_t *pmm, u32 index, bool keep)
{
	uvm_gpu_root_chunk_t *root = &pmm->root_chunks.array[index];
	int error = gvm_uvm_start(pmm, root);
	NV_STATUS status;

	if (error)
		return error;
	uvm_mutex_lock(&pmm->lock);
	status = evict_root_chunk(pmm, root, PMM_CONTEXT_DEFAULT);
	uvm_mutex_unlock(&pmm->lock);
	if (status == NV_OK && !keep)
		free_chunk(pmm, &root->chunk);
	/* It has left, and went to RM's allocator with an elevated page. */
	if (status == NV_ERR_IN_USE)
		return keep ? -ENOENT : 0;
	return status == NV_OK ? 0 : -EIO;
}

static int gvm_uvm_evict(void *pmm, u32 index, bool keep)
{
	UVM_ENTRY_RET(gvm_uvm_evict_root(pmm, index, keep));
}

/*
 * If the PMM keeps a free chunk, the victim's goes to the end of that list, and the first one
 * is taken, whose copies have most likely ended. So the copy in need not wait for the copy out.
 * A chunk on the list has a tracker of its copies, so nothing waits here. The rest is as
 * uvm_pmm_gpu_alloc() ends.
 */
NV_STATUS gvm_uvm_chunk_take(uvm_pmm_gpu_t *pmm, u32 index, uvm_tracker_t *tracker,
			     uvm_gpu_chunk_t **ret_chunk)
{
	uvm_gpu_root_chunk_t *root = &pmm->root_chunks.array[index];
	uvm_tracker_t copies = UVM_TRACKER_INIT();
	uvm_gpu_chunk_t *other;
	NV_STATUS status;

	other = claim_free_chunk(pmm, root->chunk.type, UVM_CHUNK_SIZE_MAX);
	if (other) {
		try_chunk_free(pmm, &root->chunk);
		root = root_chunk_from_chunk(pmm, other);
	}
	root_chunk_lock(pmm, root);
	uvm_tracker_remove_completed(&root->tracker);
	status = uvm_tracker_add_tracker_safe(&copies, &root->tracker);
	root_chunk_unlock(pmm, root);
	/* Others must not see channels of a GPU that they have not registered. */
	if (status == NV_OK)
		status = uvm_tracker_wait_for_other_gpus(&copies, uvm_pmm_to_gpu(pmm));
	if (status == NV_OK)
		status = uvm_tracker_add_tracker_safe(tracker, &copies);
	uvm_tracker_deinit(&copies);
	if (status == NV_OK)
		*ret_chunk = &root->chunk;
	else
		free_chunk(pmm, &root->chunk);
	return status;
}

static bool gvm_uvm_evictable(void *void_pmm, u32 index)
{
	uvm_pmm_gpu_t *pmm = void_pmm;
	const uvm_gpu_chunk_t *chunk = &pmm->root_chunks.array[index].chunk;

	return !chunk->in_eviction && (chunk->state == UVM_PMM_GPU_CHUNK_STATE_ALLOCATED ||
				       chunk->state == UVM_PMM_GPU_CHUNK_STATE_IS_SPLIT);
}

/* Free pages of RM's allocator. Free chunks that the PMM keeps are not counted. */
static u32 gvm_uvm_free_chunks(void *void_pmm)
{
	uvm_pmm_gpu_t *pmm = void_pmm;

	return (u32)READ_ONCE(pmm->pma_stats->numFreePages2m);
}

#define GVM_UVM_KEPT_MAX 64u

/*
 * Free root chunks that the PMM keeps, GVM_UVM_KEPT_MAX at most. They are on two lists, of zeroed
 * chunks and of others. An allocation for a user takes one from either.
 */
static u32 gvm_uvm_kept_chunks(void *void_pmm)
{
	static const uvm_pmm_list_zero_t lists[] = { UVM_PMM_LIST_ZERO, UVM_PMM_LIST_NO_ZERO };
	uvm_pmm_gpu_t *pmm = void_pmm;
	struct list_head *node;
	u32 kept = 0;

	uvm_spin_lock(&pmm->list_lock);
	for (u32 i = 0; i < ARRAY_SIZE(lists); i++)
		list_for_each(node, find_free_list(pmm, UVM_PMM_GPU_MEMORY_TYPE_USER,
						   UVM_CHUNK_SIZE_MAX, lists[i]))
			if (++kept >= GVM_UVM_KEPT_MAX)
				break;
	uvm_spin_unlock(&pmm->list_lock);
	return min(kept, GVM_UVM_KEPT_MAX);
}

const struct gvm_uvm_services gvm_uvm_services = {
	.evict = gvm_uvm_evict,
	.evictable = gvm_uvm_evictable,
	.free_chunks = gvm_uvm_free_chunks,
	.kept_chunks = gvm_uvm_kept_chunks,
	.tsg_set_timeslice = gvm_uvm_tsg_set_timeslice,
	.tsg_preempt = gvm_uvm_tsg_preempt,
	.channels_disable = gvm_uvm_channels_disable,
};

/* The hooks. */

static void gvm_uvm_chunk_leaves(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	if (gpu)
		gpu->calls->leaves(gpu, chunk->address, uvm_gpu_chunk_get_size(chunk));
}

void gvm_uvm_chunk_freed(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	gvm_uvm_chunk_leaves(pmm, chunk);
}

void gvm_uvm_chunk_evicted(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	gvm_uvm_chunk_leaves(pmm, chunk);
}

/*
 * A VA block is cut in two, and with it its chunk, or a walk that failed has put that back. The
 * driver tells the PMM of blocks of 2 MB whether they have data, and of others not. So a root
 * chunk that had none would stay on the list of those, the first ones to be evicted, while its
 * parts are used. Put it back on the list of the others, as the driver does when a part of it is
 * freed. A root chunk in eviction is on no list.
 */
void gvm_uvm_chunk_split(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	if (!gpu)
		return;
	uvm_spin_lock(&pmm->list_lock);
	if (gpu->calls->split(gpu, gvm_uvm_index(chunk)) && !chunk_is_in_eviction(pmm, chunk))
		chunk_update_lists_locked(pmm, chunk);
	uvm_spin_unlock(&pmm->list_lock);
}

void gvm_uvm_chunk_used(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	if (gpu)
		gpu->calls->used(gpu, gvm_uvm_index(chunk), true);
}

void gvm_uvm_chunk_unused(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	if (gpu)
		gpu->calls->used(gpu, gvm_uvm_index(chunk), false);
}

void gvm_uvm_chunk_discarded(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	gvm_uvm_chunk_unused(pmm, chunk);
}

/*
 * The stock driver would evict @first, or has no victim. The chunk to evict instead, or NULL.
 * The policy's choice may be in use: only here, under the PMM list lock, this is known.
 */
uvm_gpu_chunk_t *gvm_uvm_victim(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *first)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);
	uvm_gpu_chunk_t *chunk = NULL;

	if (!gpu)
		return first;
	for (u32 i = 0; i < GVM_UVM_VICTIMS_MAX; i++) {
		bool is_free = first && first->state == UVM_PMM_GPU_CHUNK_STATE_FREE;
		u32 index = first ? gvm_uvm_index(first) : GVM_UVM_NO_CHUNK;

		index = gpu->calls->victim(gpu, gvm_uvm_requester(pmm), index, is_free);
		if (index == GVM_UVM_NO_CHUNK)
			return NULL;
		chunk = &pmm->root_chunks.array[index].chunk;
		if (chunk_is_evictable(pmm, chunk))
			return chunk;
		gpu->calls->putback(gpu, index);
	}
	return NULL;
}

void gvm_uvm_eviction_starts(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	if (gpu)
		gpu->calls->eviction_starts(gpu, gvm_uvm_index(chunk));
}

void gvm_uvm_eviction_fails(uvm_pmm_gpu_t *pmm, uvm_gpu_chunk_t *chunk)
{
	struct gvm_uvm_gpu *gpu = gvm_uvm_find(pmm);

	if (gpu)
		gpu->calls->eviction_fails(gpu, gvm_uvm_index(chunk));
}
