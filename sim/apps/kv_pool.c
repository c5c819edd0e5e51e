// SPDX-License-Identifier: MIT OR GPL-2.0
/* The pool of KV blocks; see kv_pool.h. */
#include "apps/kv_pool.h"

static u32 pool_queued(const struct kv_pool *pool)
{
	return pool->free_count - pool->parked_blocks;
}

static void pool_append_free(struct kv_pool *pool, u32 block)
{
	u32 last = pool->queue_before[0];

	pool->queue_next[last] = block;
	pool->queue_before[block] = last;
	pool->queue_next[block] = 0;
	pool->queue_before[0] = block;
	pool->free_count++;
}

static void pool_unlink_free(struct kv_pool *pool, u32 block)
{
	u32 before = pool->queue_before[block], next = pool->queue_next[block];

	pool->queue_next[before] = next;
	pool->queue_before[next] = before;
	pool->free_count--;
}

/* The blocks of a group that there are to hand out: from *ret_first on. */
static u32 group_blocks(const struct kv_pool *pool, u32 group, u32 *ret_first)
{
	u32 begin = max(group * KV_GROUP_BLOCKS, 1u);
	u32 end = min((group + 1) * KV_GROUP_BLOCKS, pool->block_count);

	*ret_first = begin;
	return end - begin;
}

int kv_pool_init(struct kv_pool *pool, u32 block_count, bool prefix_caching)
{
	GVM_ASSERT(block_count >= 2);
	*pool = (struct kv_pool){ .block_count = block_count };
	pool->group_count = (block_count + KV_GROUP_BLOCKS - 1) / KV_GROUP_BLOCKS;
	pool->queue_next = gvm_alloc(block_count * sizeof(*pool->queue_next));
	pool->queue_before = gvm_alloc(block_count * sizeof(*pool->queue_before));
	pool->previous = gvm_alloc(block_count * sizeof(*pool->previous));
	pool->parked = gvm_alloc(pool->group_count * sizeof(*pool->parked));
	pool->used = gvm_alloc(pool->group_count * sizeof(*pool->used));
	pool->masks = gvm_alloc(pool->group_count * sizeof(*pool->masks));
	pool->present = gvm_alloc((pool->group_count + 63) / 64 * sizeof(*pool->present));
	if (!pool->queue_next || !pool->queue_before || !pool->previous || !pool->parked ||
	    !pool->used || !pool->masks || !pool->present ||
	    (prefix_caching && kv_prefix_init(&pool->prefix, block_count))) {
		kv_pool_destroy(pool);
		return -ENOMEM;
	}
	for (u32 block = 1; block < block_count; block++)
		pool_append_free(pool, block);
	return 0;
}

void kv_pool_destroy(struct kv_pool *pool)
{
	kv_prefix_destroy(&pool->prefix);
	gvm_free(pool->queue_next);
	gvm_free(pool->queue_before);
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

/* A free block of the queue gets its first user. */
static void pool_use(struct kv_pool *pool, u32 block)
{
	u32 group = block / KV_GROUP_BLOCKS;

	pool_unlink_free(pool, block);
	if (kv_prefix_is_on(&pool->prefix))
		pool->prefix.users[block] = 1;
	pool->used[group] |= 1ull << (block % KV_GROUP_BLOCKS);
	pool->masks[group] |= block_page(block);
	pool->present[group / 64] |= 1ull << group % 64;
}

/* The head of the queue, for new content. */
static u32 pool_take(struct kv_pool *pool)
{
	u32 block;

	if (!pool_queued(pool))
		pool_unpark(pool);
	block = pool->queue_next[0];
	if (kv_prefix_is_on(&pool->prefix))
		kv_prefix_forget(&pool->prefix, block);
	pool_use(pool, block);
	return block;
}

/*
 * A block loses a user. With the last one it is free. A page is left only when neither of the
 * two blocks on it is in use.
 */
static void pool_give(struct kv_pool *pool, u32 block)
{
	u32 group = block / KV_GROUP_BLOCKS;
	u64 pair = 3ull << (block % KV_GROUP_BLOCKS & ~1u);

	GVM_ASSERT(pool->used[group] & 1ull << (block % KV_GROUP_BLOCKS));
	if (kv_prefix_is_on(&pool->prefix) && --pool->prefix.users[block])
		return;
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

	for (; blocks->count > blocks->shared_count; blocks->count--) {
		before = pool->previous[blocks->newest];
		pool_give(pool, blocks->newest);
		blocks->newest = before;
	}
	while (blocks->count)
		pool_give(pool, blocks->shared[--blocks->count]);
	blocks->shared_count = 0;
}

void kv_pool_give_oldest(struct kv_pool *pool, struct kv_blocks *blocks, u32 count)
{
	u32 block = blocks->newest, before;

	GVM_ASSERT(!blocks->shared_count);
	count = min(count, blocks->count);
	for (u32 kept = blocks->count - count; kept; kept--)
		block = pool->previous[block];
	blocks->count -= count;
	for (; count; count--, block = before) {
		before = pool->previous[block];
		pool_give(pool, block);
	}
}

u32 kv_pool_find(const struct kv_pool *pool, struct kv_blocks *blocks, const u64 *keys,
		 u32 count)
{
	u32 hits = 0;

	for (; hits < count; hits++) {
		blocks->shared[hits] = kv_prefix_find(&pool->prefix, keys[hits]);
		if (!blocks->shared[hits])
			break;
	}
	return hits;
}

bool kv_pool_share(struct kv_pool *pool, struct kv_blocks *blocks, u32 hits, u32 count)
{
	u32 needed = count - hits;

	GVM_ASSERT(!blocks->count && hits <= count);
	for (u32 i = 0; i < hits; i++)
		needed += !pool->prefix.users[blocks->shared[i]];
	if (needed > pool->free_count)
		return false;
	for (u32 i = 0; i < hits; i++) {
		u32 block = blocks->shared[i];

		if (pool->prefix.users[block])
			pool->prefix.users[block]++;
		else
			pool_use(pool, block);
	}
	blocks->count = blocks->shared_count = hits;
	return true;
}

void kv_pool_publish(struct kv_pool *pool, const struct kv_blocks *blocks, const u64 *keys,
		     u32 from, u32 to)
{
	u32 block = blocks->newest;

	for (u32 i = blocks->count; i-- > from; block = pool->previous[block])
		if (i < to)
			kv_prefix_add(&pool->prefix, block, keys[i]);
}

/* The group of the queue's newest block whose group is all free. */
static u32 pool_find_idle(struct kv_pool *pool)
{
	for (u32 block = pool->queue_before[0]; block; block = pool->queue_before[block])
		if (!pool->used[block / KV_GROUP_BLOCKS])
			return block / KV_GROUP_BLOCKS;
	return KV_NO_GROUP;
}

u32 kv_pool_take_group(struct kv_pool *pool)
{
	u32 group = pool_find_idle(pool);
	u32 block, count;

	if (group == KV_NO_GROUP)
		return group;
	count = group_blocks(pool, group, &block);
	for (; count; count--, block++) {
		pool_unlink_free(pool, block);
		if (kv_prefix_is_on(&pool->prefix))
			kv_prefix_forget(&pool->prefix, block);
	}
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

void kv_pool_forget(struct kv_pool *pool)
{
	GVM_ASSERT(pool->free_count == kv_pool_capacity(pool));
	while (pool->parked_count)
		pool_unpark(pool);
	for (u32 block = 1; kv_prefix_is_on(&pool->prefix) && block < pool->block_count;
	     block++)
		kv_prefix_forget(&pool->prefix, block);
}

u32 kv_chunks_per_group(u64 block_bytes)
{
	GVM_ASSERT(block_bytes <= KV_BLOCK_BYTES_MAX);
	return (u32)((KV_GROUP_BLOCKS * block_bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT);
}
