// SPDX-License-Identifier: MIT OR GPL-2.0
/* The pool of KV blocks; see kv_pool.h. */
#include "apps/kv_pool.h"

/* Where the free block number @index of the queue, counted from its head, stands. */
static u32 *pool_slot(struct kv_pool *pool, u32 index)
{
	return &pool->queue[((u64)pool->first + index) % pool->block_count];
}

static u32 pool_queued(const struct kv_pool *pool)
{
	return pool->free_count - pool->parked_blocks;
}

static void pool_append_free(struct kv_pool *pool, u32 block)
{
	*pool_slot(pool, pool_queued(pool)) = block;
	pool->free_count++;
}

/* The blocks of a group that there are to hand out: from *ret_first on. */
static u32 group_blocks(const struct kv_pool *pool, u32 group, u32 *ret_first)
{
	u32 begin = max(group * KV_GROUP_BLOCKS, 1u);
	u32 end = min((group + 1) * KV_GROUP_BLOCKS, pool->block_count);

	*ret_first = begin;
	return end - begin;
}

int kv_pool_init(struct kv_pool *pool, u32 block_count)
{
	GVM_ASSERT(block_count >= 2);
	*pool = (struct kv_pool){ .block_count = block_count };
	pool->group_count = (block_count + KV_GROUP_BLOCKS - 1) / KV_GROUP_BLOCKS;
	pool->queue = gvm_alloc(block_count * sizeof(*pool->queue));
	pool->previous = gvm_alloc(block_count * sizeof(*pool->previous));
	pool->parked = gvm_alloc(pool->group_count * sizeof(*pool->parked));
	pool->used = gvm_alloc(pool->group_count * sizeof(*pool->used));
	pool->masks = gvm_alloc(pool->group_count * sizeof(*pool->masks));
	pool->present = gvm_alloc((pool->group_count + 63) / 64 * sizeof(*pool->present));
	if (!pool->queue || !pool->previous || !pool->parked || !pool->used || !pool->masks ||
	    !pool->present) {
		kv_pool_destroy(pool);
		return -ENOMEM;
	}
	for (u32 block = 1; block < block_count; block++)
		pool_append_free(pool, block);
	return 0;
}

void kv_pool_destroy(struct kv_pool *pool)
{
	gvm_free(pool->queue);
	gvm_free(pool->previous);
	gvm_free(pool->parked);
	gvm_free(pool->used);
	gvm_free(pool->masks);
	gvm_free(pool->present);
	*pool = (struct kv_pool){ 0 };
}

static u32 block_page(u32 block)
{
	return 1u << (block % KV_GROUP_BLOCKS / 2);
}

/* The group that has been parked longest goes back to the queue. */
static void pool_unpark(struct kv_pool *pool)
{
	u32 group = pool->parked[pool->parked_first];
	u32 block, count = group_blocks(pool, group, &block);

	pool->parked_first = (pool->parked_first + 1) % pool->group_count;
	pool->parked_count--;
	pool->parked_blocks -= count;
	pool->free_count -= count;
	while (count--)
		pool_append_free(pool, block++);
}

static u32 pool_take(struct kv_pool *pool)
{
	u32 block, group;

	if (!pool_queued(pool))
		pool_unpark(pool);
	block = pool->queue[pool->first];
	group = block / KV_GROUP_BLOCKS;
	pool->first = (pool->first + 1) % pool->block_count;
	pool->free_count--;
	pool->used[group] |= 1ull << (block % KV_GROUP_BLOCKS);
	pool->masks[group] |= block_page(block);
	pool->present[group / 64] |= 1ull << group % 64;
	return block;
}

/* A page is left only when neither of the two blocks on it is in use. */
static void pool_give(struct kv_pool *pool, u32 block)
{
	u32 group = block / KV_GROUP_BLOCKS;
	u64 pair = 3ull << (block % KV_GROUP_BLOCKS & ~1u);

	GVM_ASSERT(pool->used[group] & 1ull << (block % KV_GROUP_BLOCKS));
	pool->used[group] &= ~(1ull << (block % KV_GROUP_BLOCKS));
	if (!(pool->used[group] & pair))
		pool->masks[group] &= ~block_page(block);
	if (!pool->masks[group])
		pool->present[group / 64] &= ~(1ull << group % 64);
	pool_append_free(pool, block);
}

bool kv_pool_grow(struct kv_pool *pool, struct kv_blocks *blocks, u32 count)
{
	u32 block;

	if (count > blocks->count && count - blocks->count > pool->free_count)
		return false;
	for (; blocks->count < count; blocks->count++) {
		block = pool_take(pool);
		pool->previous[block] = blocks->newest;
		blocks->newest = block;
	}
	return true;
}

void kv_pool_release(struct kv_pool *pool, struct kv_blocks *blocks)
{
	u32 before;

	for (; blocks->count; blocks->count--) {
		before = pool->previous[blocks->newest];
		pool_give(pool, blocks->newest);
		blocks->newest = before;
	}
}

/* The group of the queue's newest block whose group is all free. */
static u32 pool_find_idle(struct kv_pool *pool)
{
	for (u32 i = pool_queued(pool); i--;) {
		u32 group = *pool_slot(pool, i) / KV_GROUP_BLOCKS;

		if (!pool->used[group])
			return group;
	}
	return KV_NO_GROUP;
}

/* What stays moves up in the queue, in its order. */
u32 kv_pool_take_group(struct kv_pool *pool)
{
	u32 queued = pool_queued(pool), kept = 0, i;
	u32 group = pool_find_idle(pool);

	for (i = 0; i < queued && group != KV_NO_GROUP; i++) {
		u32 block = *pool_slot(pool, i);

		if (block / KV_GROUP_BLOCKS != group)
			*pool_slot(pool, kept++) = block;
	}
	if (group != KV_NO_GROUP)
		pool->free_count -= queued - kept;
	return group;
}

void kv_pool_park_group(struct kv_pool *pool, u32 group)
{
	u32 first, count = group_blocks(pool, group, &first);
	u64 slot = (u64)pool->parked_first + pool->parked_count++;

	pool->parked[slot % pool->group_count] = group;
	pool->parked_blocks += count;
	pool->free_count += count;
}

u32 kv_chunks_per_group(u64 block_bytes)
{
	GVM_ASSERT(block_bytes <= KV_BLOCK_BYTES_MAX);
	return (u32)((KV_GROUP_BLOCKS * block_bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT);
}
