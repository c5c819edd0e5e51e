// SPDX-License-Identifier: MIT OR GPL-2.0
/* The pool of KV blocks; see kv_pool.h. */
#include "apps/kv_pool.h"

static void pool_append_free(struct kv_pool *pool, u32 block)
{
	u64 slot = (u64)pool->first + pool->free_count++;

	pool->queue[slot % pool->block_count] = block;
}

int kv_pool_init(struct kv_pool *pool, u32 block_count)
{
	u32 block;

	GVM_ASSERT(block_count >= 2);
	*pool = (struct kv_pool){ .block_count = block_count };
	pool->group_count = (block_count + KV_GROUP_BLOCKS - 1) / KV_GROUP_BLOCKS;
	pool->queue = gvm_alloc(block_count * sizeof(*pool->queue));
	pool->previous = gvm_alloc(block_count * sizeof(*pool->previous));
	pool->used = gvm_alloc(pool->group_count * sizeof(*pool->used));
	pool->masks = gvm_alloc(pool->group_count * sizeof(*pool->masks));
	if (!pool->queue || !pool->previous || !pool->used || !pool->masks) {
		kv_pool_destroy(pool);
		return -ENOMEM;
	}
	for (block = 1; block < block_count; block++)
		pool_append_free(pool, block);
	return 0;
}

void kv_pool_destroy(struct kv_pool *pool)
{
	gvm_free(pool->queue);
	gvm_free(pool->previous);
	gvm_free(pool->used);
	gvm_free(pool->masks);
	*pool = (struct kv_pool){ 0 };
}

static u32 block_page(u32 block)
{
	return 1u << (block % KV_GROUP_BLOCKS / 2);
}

static u32 pool_take(struct kv_pool *pool)
{
	u32 block = pool->queue[pool->first];
	u32 group = block / KV_GROUP_BLOCKS;

	pool->first = (pool->first + 1) % pool->block_count;
	pool->free_count--;
	pool->used[group] |= 1ull << (block % KV_GROUP_BLOCKS);
	pool->masks[group] |= block_page(block);
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

u32 kv_chunks_per_group(u64 block_bytes)
{
	GVM_ASSERT(block_bytes <= KV_BLOCK_BYTES_MAX);
	return (u32)((KV_GROUP_BLOCKS * block_bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT);
}
