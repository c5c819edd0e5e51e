// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Root chunks of 2 MB and who goes next: a model of open-gpu-kernel-modules 575, uvm_pmm_gpu.c,
 * and of what the published GVM driver adds to it.
 *
 *
 * "LRU" is a queue of the last faults
 *
 *      RM's allocator --- refill of 64 ---> free ---> a block's
 *           ^                                            |
 *           |                                            v unpin, migration
 *           +------ free --------- victim <--- head | used     | tail
 *                                  victim <--- head | unused   | tail   (no page resident)
 *
 * A chunk goes to the tail of the used list when it is unpinned after its allocation
 * (chunk_update_lists_locked), and whenever data migrates to its block
 * (block_mark_memory_used). The GPU's own accesses are invisible. A block that every kernel
 * reads and that never faults reaches the head as soon as a block that no kernel reads any
 * more. A cyclic walk over a little more than the device's memory misses every time. A comment
 * in NVIDIA's code asks for mappings to count, too.
 *
 * The search for a victim (pick_root_chunk_to_evict) takes the head of the unused list, whose
 * blocks have lost their pages by other means than eviction; then the head of the used list.
 * The published GVM looks for the first chunk of a process in both. It keeps each used chunk on
 * a second list by process, in the same order; before it had that list, it walked (walk.c).
 *
 * How this differs from the drivers:
 *  1. A batch may be larger than memory. Its last victim would be a chunk that the same batch
 *     has filled. On a GPU each warp continues as soon as its own page is there. Our GMMU has
 *     one cursor for all warps, so that might go on for ever. Chunks that the batch in service
 *     has migrated to are no victims; service.c says what happens instead.
 *  2. NVIDIA's driver splits root chunks into sub-chunks for blocks of less than 2 MB. The
 *     model does so with gvm_device_config.sub_chunks (sim/core/block/part.c), and else gives
 *     each block a whole chunk. A victim is a root chunk in both, and all of its blocks leave
 *     (pick_and_evict_root_chunk). In the model, blocks of one container only share a root
 *     chunk; NVIDIA's driver mixes those of all VA spaces. Sub-chunks are charged to the byte,
 *     against the limit, so the model has none with the published GVM's limits: its driver does
 *     not look at its limit for a sub-chunk of a root chunk that it has split already.
 *  3. A freed chunk goes to the device's allocator while its copy out is in flight,
 *     and its next user is served after that copy. NVIDIA's driver waits for the
 *     copy first (free_root_chunk). Only an exit frees chunks like this, and it
 *     waits for all copies anyway.
 */
#include "nvuvm/pmm.h"

#include "nvuvm/walk.h"

static struct nvuvm_list list_empty_new(void)
{
	return (struct nvuvm_list){ GVM_NO_CHUNK, GVM_NO_CHUNK, 0 };
}

static void list_append(struct nvuvm *nvuvm, struct nvuvm_list *list, enum nvuvm_order order,
			u32 chunk)
{
	struct nvuvm_chunk *entry = &nvuvm->chunks[chunk];

	entry->next[order] = GVM_NO_CHUNK;
	entry->prev[order] = list->tail;
	if (list->tail == GVM_NO_CHUNK)
		list->head = chunk;
	else
		nvuvm->chunks[list->tail].next[order] = chunk;
	list->tail = chunk;
	list->count++;
}

static void list_remove(struct nvuvm *nvuvm, struct nvuvm_list *list, enum nvuvm_order order,
			u32 chunk)
{
	const struct nvuvm_chunk *entry = &nvuvm->chunks[chunk];

	GVM_ASSERT(list->count > 0);
	if (entry->prev[order] == GVM_NO_CHUNK)
		list->head = entry->next[order];
	else
		nvuvm->chunks[entry->prev[order]].next[order] = entry->next[order];
	if (entry->next[order] == GVM_NO_CHUNK)
		list->tail = entry->prev[order];
	else
		nvuvm->chunks[entry->next[order]].prev[order] = entry->prev[order];
	list->count--;
}

/* The list of its container that a chunk in this state is on, or NULL. */
static struct nvuvm_list *own_list(struct nvuvm_container *owner, u8 state)
{
	switch (state) {
	case NVUVM_USED:
		return &owner->used;
	case NVUVM_UNUSED:
		return &owner->unused;
	}
	return NULL;
}

/* The list that a chunk in this state is on, or NULL. */
static struct nvuvm_list *state_list(struct nvuvm *nvuvm, u8 state)
{
	switch (state) {
	case NVUVM_FREE:
		return &nvuvm->free;
	case NVUVM_USED:
		return &nvuvm->used;
	case NVUVM_UNUSED:
		return &nvuvm->unused;
	case NVUVM_LAZY:
		return &nvuvm->lazy;
	}
	return NULL;
}

static bool state_is_listed(u8 state)
{
	return state == NVUVM_USED || state == NVUVM_UNUSED;
}

static bool state_is_in_hands(u8 state)
{
	return state == NVUVM_TEMP_PINNED || state == NVUVM_EVICTING;
}

/* Change a chunk's state: off its lists, to the tails of the new ones. Lock held. */
static void chunk_move_locked(struct nvuvm *nvuvm, u32 chunk, enum nvuvm_chunk_state state)
{
	struct nvuvm_chunk *entry = &nvuvm->chunks[chunk];
	struct nvuvm_list *from = state_list(nvuvm, entry->state);
	struct nvuvm_list *to = state_list(nvuvm, (u8)state);

	if (from == &nvuvm->used)
		nvuvm_walk_remove(nvuvm, chunk);
	if (from)
		list_remove(nvuvm, from, NVUVM_ORDER_STATE, chunk);
	if (state_is_listed(entry->state))
		list_remove(nvuvm, own_list(entry->owner, entry->state), NVUVM_ORDER_OWN,
			    chunk);
	nvuvm->in_hands -= state_is_in_hands(entry->state);
	nvuvm->in_hands += state_is_in_hands((u8)state);
	entry->state = (u8)state;
	if (to)
		list_append(nvuvm, to, NVUVM_ORDER_STATE, chunk);
	if (to == &nvuvm->used)
		nvuvm_walk_appended(nvuvm, chunk);
	if (state_is_listed(entry->state))
		list_append(nvuvm, own_list(entry->owner, entry->state), NVUVM_ORDER_OWN,
			    chunk);
}

int nvuvm_pmm_init(struct nvuvm *nvuvm)
{
	u32 count = nvuvm->config.device->chunk_count;

	nvuvm->free = list_empty_new();
	nvuvm->unused = list_empty_new();
	nvuvm->used = list_empty_new();
	nvuvm->lazy = list_empty_new();
	nvuvm->held = GVM_NO_CHUNK;
	nvuvm->chunks = gvm_alloc((size_t)count * sizeof(*nvuvm->chunks));
	return nvuvm->chunks ? 0 : -ENOMEM;
}

void nvuvm_pmm_destroy(struct nvuvm *nvuvm)
{
	gvm_free(nvuvm->chunks);
	nvuvm->chunks = NULL;
}

static u32 take_head_locked(struct nvuvm *nvuvm, const struct nvuvm_list *list)
{
	u32 chunk = list->head;

	if (chunk != GVM_NO_CHUNK)
		chunk_move_locked(nvuvm, chunk, NVUVM_TEMP_PINNED);
	return chunk;
}

u32 nvuvm_pmm_claim(struct nvuvm *nvuvm)
{
	u32 chunk;

	gvm_spin_lock(&nvuvm->lock);
	chunk = take_head_locked(nvuvm, &nvuvm->free);
	gvm_spin_unlock(&nvuvm->lock);
	return chunk;
}

/* A chunk passes between the device's allocator and the model. */
static void chunk_set_state(struct nvuvm *nvuvm, u32 chunk, enum nvuvm_chunk_state state)
{
	gvm_spin_lock(&nvuvm->lock);
	chunk_move_locked(nvuvm, chunk, state);
	gvm_spin_unlock(&nvuvm->lock);
}

u32 nvuvm_pmm_refill(struct nvuvm *nvuvm)
{
	const struct nvuvm_config *config = &nvuvm->config;
	u32 first = GVM_NO_CHUNK;
	u32 chunk, i;

	for (i = 0; i < NVUVM_REFILL_CHUNKS; i++) {
		if (config->mmu->chunk_alloc(config->gpu, &chunk))
			break;
		GVM_ASSERT(nvuvm->chunks[chunk].state == NVUVM_IN_PMA);
		chunk_set_state(nvuvm, chunk, i ? NVUVM_FREE : NVUVM_TEMP_PINNED);
		if (!i)
			first = chunk;
	}
	nvuvm->stats.refills += first != GVM_NO_CHUNK;
	return first;
}

u32 nvuvm_pmm_alloc(struct nvuvm *nvuvm)
{
	u32 chunk = nvuvm_pmm_claim(nvuvm);

	return chunk == GVM_NO_CHUNK ? nvuvm_pmm_refill(nvuvm) : chunk;
}

void nvuvm_pmm_release(struct nvuvm *nvuvm, u32 chunk)
{
	chunk_set_state(nvuvm, chunk, NVUVM_IN_PMA);
	nvuvm->config.mmu->chunk_free(nvuvm->config.gpu, chunk);
}

bool nvuvm_pmm_give_back(struct nvuvm *nvuvm, u32 chunk)
{
	bool had, gives;

	gvm_spin_lock(&nvuvm->lock);
	had = nvuvm->chunks[chunk].state == NVUVM_IN_PMA;
	gives = nvuvm->chunks[chunk].state == NVUVM_FREE;
	if (gives)
		chunk_move_locked(nvuvm, chunk, NVUVM_TEMP_PINNED);
	gvm_spin_unlock(&nvuvm->lock);
	if (gives)
		nvuvm_pmm_release(nvuvm, chunk);
	return had || gives;
}

void nvuvm_pmm_trim(struct nvuvm *nvuvm)
{
	u32 chunk;

	while ((chunk = nvuvm_pmm_claim(nvuvm)) != GVM_NO_CHUNK)
		nvuvm_pmm_release(nvuvm, chunk);
}

void nvuvm_pmm_release_lazily(struct nvuvm *nvuvm, u32 chunk, u64 out_sequence)
{
	gvm_spin_lock(&nvuvm->lock);
	nvuvm->chunks[chunk].out_sequence = out_sequence;
	chunk_move_locked(nvuvm, chunk, NVUVM_LAZY);
	nvuvm->stats.lazy_given++;
	gvm_wake_up_one(&nvuvm->lazy_wait);
	gvm_spin_unlock(&nvuvm->lock);
}

u32 nvuvm_pmm_take_lazy(struct nvuvm *nvuvm, u64 *ret_out_sequence)
{
	u32 chunk;

	gvm_spin_lock(&nvuvm->lock);
	chunk = take_head_locked(nvuvm, &nvuvm->lazy);
	if (chunk != GVM_NO_CHUNK)
		*ret_out_sequence = nvuvm->chunks[chunk].out_sequence;
	gvm_spin_unlock(&nvuvm->lock);
	return chunk;
}

void nvuvm_pmm_mark_used(struct nvuvm *nvuvm, struct nvuvm_container *owner, u32 chunk,
			 u64 batch)
{
	struct nvuvm_chunk *entry = &nvuvm->chunks[chunk];

	gvm_spin_lock(&nvuvm->lock);
	if (entry->state != NVUVM_EVICTING) {
		GVM_ASSERT(!entry->owner || entry->owner == owner);
		entry->owner = owner;
		entry->batch = max(entry->batch, batch);
		chunk_move_locked(nvuvm, chunk, NVUVM_USED);
	}
	gvm_spin_unlock(&nvuvm->lock);
}

void nvuvm_pmm_mark_unused(struct nvuvm *nvuvm, u32 chunk)
{
	gvm_spin_lock(&nvuvm->lock);
	if (state_is_listed(nvuvm->chunks[chunk].state))
		chunk_move_locked(nvuvm, chunk, NVUVM_UNUSED);
	gvm_spin_unlock(&nvuvm->lock);
}

bool nvuvm_pmm_is_of_batch(const struct nvuvm *nvuvm, u32 chunk)
{
	const struct nvuvm_chunk *entry = &nvuvm->chunks[chunk];

	return READ_ONCE(entry->state) == NVUVM_USED && entry->batch == nvuvm->batch;
}

/* The head of a list, unless the batch in service has just put it there. */
static u32 list_victim(const struct nvuvm *nvuvm, const struct nvuvm_list *list)
{
	u32 chunk = list->head;

	return chunk != GVM_NO_CHUNK && nvuvm_pmm_is_of_batch(nvuvm, chunk) ? GVM_NO_CHUNK :
									      chunk;
}

static u32 pick_locked(const struct nvuvm *nvuvm, const struct nvuvm_container *owner)
{
	u32 chunk = list_victim(nvuvm, owner ? &owner->unused : &nvuvm->unused);

	if (chunk == GVM_NO_CHUNK)
		chunk = list_victim(nvuvm, owner ? &owner->used : &nvuvm->used);
	return chunk;
}

u32 nvuvm_pmm_pick(struct nvuvm *nvuvm, struct nvuvm_container *owner)
{
	u32 chunk;

	gvm_spin_lock(&nvuvm->lock);
	if (owner)
		nvuvm_walk_cost(nvuvm, owner);
	chunk = pick_locked(nvuvm, owner);
	if (chunk != GVM_NO_CHUNK)
		chunk_move_locked(nvuvm, chunk, NVUVM_EVICTING);
	gvm_spin_unlock(&nvuvm->lock);
	return chunk;
}

u32 nvuvm_pmm_peek(struct nvuvm *nvuvm)
{
	u32 chunk;

	gvm_spin_lock(&nvuvm->lock);
	chunk = pick_locked(nvuvm, NULL);
	gvm_spin_unlock(&nvuvm->lock);
	return chunk;
}

bool nvuvm_pmm_take(struct nvuvm *nvuvm, u32 chunk)
{
	bool taken;

	gvm_spin_lock(&nvuvm->lock);
	taken = state_is_listed(nvuvm->chunks[chunk].state);
	if (taken)
		chunk_move_locked(nvuvm, chunk, NVUVM_EVICTING);
	gvm_spin_unlock(&nvuvm->lock);
	return taken;
}

void nvuvm_pmm_putback(struct nvuvm *nvuvm, u32 chunk)
{
	gvm_spin_lock(&nvuvm->lock);
	GVM_ASSERT(nvuvm->chunks[chunk].state == NVUVM_EVICTING);
	nvuvm->chunks[chunk].batch = nvuvm->batch;
	chunk_move_locked(nvuvm, chunk, NVUVM_USED);
	gvm_spin_unlock(&nvuvm->lock);
}

void nvuvm_pmm_leave_block(struct nvuvm *nvuvm, u32 chunk)
{
	bool evicted;

	gvm_spin_lock(&nvuvm->lock);
	evicted = nvuvm->chunks[chunk].state == NVUVM_EVICTING;
	chunk_move_locked(nvuvm, chunk, NVUVM_TEMP_PINNED);
	nvuvm->chunks[chunk].owner = NULL;
	gvm_spin_unlock(&nvuvm->lock);
	if (!evicted)
		nvuvm_pmm_release(nvuvm, chunk);
}
