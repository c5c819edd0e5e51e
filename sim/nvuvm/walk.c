// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * How far the published GVM walks to find a victim
 *
 * Until its commit 919ce57a (October 2025, "group va_block_used by pid to accelerate evict
 * policy") the published driver had one used list for all processes. A container above its
 * limit has to give one of its own chunks. So pick_root_chunk_to_evict() walked that list from
 * its head until a chunk was the container's (list_first_chunk_of_pid()):
 *
 *     head | server server server ... server | diffusion server diffusion ... | tail
 *            `------- walked, again for each victim -----'
 *
 * An idle neighbour's chunks do not move in the list, because the GPU's accesses are invisible.
 * They collect at its head, while a container that pages at its limit moves its own to the
 * tail. So each victim costs a walk over the whole memory of all idle neighbours: 16,000 chunks
 * of a server that holds 34 GB, 0.4 ms at 27 ns a chunk. That is more than all else that an
 * eviction takes.
 *
 * The model has the walk where it has the published limits and one list. Without fast paging it
 * always has one: that is how the driver was before its authors made paging fast. Which commit
 * the paper's bars without fast paging ran is not published. Their images take as long as with
 * this walk (DEVIATIONS.md).
 *
 * The model counts the chunks passed and does not visit them. For each container it keeps the
 * first used chunk and how many chunks of others are in front. A chunk that is appended is
 * after all others. A removed chunk was in front if its place is lower. When a container's
 * first chunk is removed, the next one is searched from there on. A search goes forward only,
 * so over time it passes each chunk once for each move of that chunk.
 *
 * The software GPU shows the walk: commit 7ec0a4c5, the last one with one list, passes 104
 * chunks for each victim beside an idle neighbour that has 40. These are the 40, the victim,
 * and 63 that the refill has put on the free list. The list is in the order of the chunks'
 * addresses, but for chunks that were evicted and came back while the GPU was full.
 *
 * How this differs from the driver: it walks the free and the unused list first. Both are short
 * where a container is above its limit and no refill is tried, as before commit 03519869.
 */
#include "nvuvm/walk.h"

static bool driver_walks(const struct nvuvm *nvuvm)
{
	return nvuvm->config.limits && nvuvm->config.one_list;
}

void nvuvm_walk_init(struct nvuvm_container *owner)
{
	owner->walk_first = GVM_NO_CHUNK;
	owner->walk_ahead = 0;
}

void nvuvm_walk_appended(struct nvuvm *nvuvm, u32 chunk)
{
	struct nvuvm_chunk *entry = &nvuvm->chunks[chunk];

	if (!driver_walks(nvuvm))
		return;
	entry->place = ++nvuvm->last_place;
	if (entry->owner->walk_first == GVM_NO_CHUNK) {
		entry->owner->walk_first = chunk;
		entry->owner->walk_ahead = nvuvm->used.count - 1;
	}
}

/* The container's first chunk goes: its next one is after it in the list. */
static void walk_advance(struct nvuvm *nvuvm, struct nvuvm_container *owner)
{
	u32 chunk = nvuvm->chunks[owner->walk_first].next[NVUVM_ORDER_STATE];

	while (chunk != GVM_NO_CHUNK && nvuvm->chunks[chunk].owner != owner) {
		owner->walk_ahead++;
		chunk = nvuvm->chunks[chunk].next[NVUVM_ORDER_STATE];
	}
	owner->walk_first = chunk;
}

void nvuvm_walk_remove(struct nvuvm *nvuvm, u32 chunk)
{
	struct nvuvm_container *owner;

	if (!driver_walks(nvuvm))
		return;
	list_for_each_entry(owner, &nvuvm->containers, node) {
		if (owner->walk_first == chunk)
			walk_advance(nvuvm, owner);
		else if (owner->walk_first != GVM_NO_CHUNK &&
			 nvuvm->chunks[chunk].place < nvuvm->chunks[owner->walk_first].place)
			owner->walk_ahead--;
	}
}

void nvuvm_walk_cost(struct nvuvm *nvuvm, const struct nvuvm_container *owner)
{
	if (!driver_walks(nvuvm) || owner->walk_first == GVM_NO_CHUNK)
		return;
	nvuvm->stats.walked += owner->walk_ahead;
	gvm_cost(GVM_COST_WALK, owner->walk_ahead);
}
