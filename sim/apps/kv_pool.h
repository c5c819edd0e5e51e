/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The pool of KV blocks of an LLM server, and which GPU pages the blocks in use lie on.
 *
 * Which block is handed out matters here, and not only how many: it decides which pages of the
 * pool are warm. vLLM keeps its free blocks in a queue, takes from the head and appends what a
 * finished request gives back to the tail, newest block first. So a lightly loaded server walks
 * through its whole pool for ever instead of staying on a few warm pages.
 *
 * Layout
 * ======
 *
 * K and V of each layer are tensors of their own, indexed by block: a block is not a run of
 * bytes but (2 x layers) pieces, one in each tensor. With 16 tokens, 8 heads of 128 and bf16 a
 * piece is 32 KB, so 64 consecutive blocks fill one 2 MB chunk of each tensor and two of them
 * share a page:
 *
 *     tensor K0   | group 0: b0 b1 .. b63 | group 1: b64 .. |      one chunk a group
 *     tensor V0   | group 0: b0 b1 .. b63 | group 1: b64 .. |
 *     ...                                                          chunks_per_group tensors
 *
 * Block b lies on page (b % 64) / 2 of every chunk of its group, so one mask describes them
 * all. Other models' pieces have other sizes; the same mask is kept for them as an
 * approximation, over as many chunks as the group's bytes need. Groups are laid out one after
 * the other here, where vLLM has tensor after tensor: paging looks at chunks and never at how
 * they are ordered.
 */
#ifndef SIM_APPS_KV_POOL_H
#define SIM_APPS_KV_POOL_H

#include "apps/kv_prefix.h"
#include "gvm/port.h"

#define KV_GROUP_BLOCKS	   64u
#define KV_BLOCK_BYTES_MAX (1ull << 40)

/*
 * Parked groups
 * =============
 *
 * A server that is asked for memory can do without the groups of which no block is in use. Such
 * a group leaves the queue, its memory is given back, and it is parked: its blocks are free
 * still, but handed out only when no others are left, and then a group at a time. So the pool
 * in use is as large as the load has been since, instead of all of it in turn.
 */

/*
 * Shared blocks
 * =============
 *
 * With prefix caching, blocks of a prompt have keys (kv_prefix.h), and a request begins
 * with the blocks that hold the beginning of its prompt already. These may have other
 * users, or be in the queue; then they leave its middle. All further blocks of a
 * request are its own at first.
 */

/* The blocks of one request. All-zero: none. */
struct kv_blocks {
	u32 newest; /* head of the chain through kv_pool.previous, of its own blocks */
	u32 count;  /* with the shared ones, which come first */
	u32 shared_count;
	u32 *shared; /* the owner of the request provides room for the keys of its prompt */
};

/* The pool. Block 0 is never handed out: it is vLLM's null block. */
struct kv_pool {
	u32 block_count;
	u32 group_count;
	/*
	 * The queue: free blocks, least recently freed first, linked in both directions. It is
	 * a circle with block 0, its end.
	 */
	u32 *queue_next;
	u32 *queue_before;
	u32 free_count; /* in the queue, or parked */
	u32 *parked;	/* ring of group_count entries: parked groups, first in first out */
	u32 parked_first;
	u32 parked_count;	 /* groups */
	u32 parked_blocks;	 /* blocks in them */
	u32 *previous;		 /* of a block in use: the one that its request got before it */
	u64 *used;		 /* per group: a bit for each block in use */
	u32 *masks;		 /* per group: pages that blocks in use lie on */
	u64 *present;		 /* a bit for each group whose mask is not zero */
	struct kv_prefix prefix; /* all-zero: no prefix caching */
};

/* Returns 0 or -ENOMEM. @block_count: at least 2. */
int kv_pool_init(struct kv_pool *pool, u32 block_count, bool prefix_caching);
void kv_pool_destroy(struct kv_pool *pool);

/* How many blocks there are to hand out in all. */
static inline u32 kv_pool_capacity(const struct kv_pool *pool)
{
	return pool->block_count - 1;
}

/* Let @blocks grow to @count; false, and nothing has happened: not so many are free. */
bool kv_pool_grow(struct kv_pool *pool, struct kv_blocks *blocks, u32 count);

/*
 * How many of the first @count @keys are cached; their blocks are written to @blocks->shared.
 * @blocks has none yet.
 */
u32 kv_pool_find(const struct kv_pool *pool, struct kv_blocks *blocks, const u64 *keys,
		 u32 count);

/*
 * Let @blocks begin with the @hits blocks that kv_pool_find() has found, if there are then
 * enough free ones to grow to @count; false, and nothing has happened: there are not.
 */
bool kv_pool_share(struct kv_pool *pool, struct kv_blocks *blocks, u32 hits, u32 count);

/* Blocks number @from to @to - 1 of @blocks are full now, with these keys. */
void kv_pool_publish(struct kv_pool *pool, const struct kv_blocks *blocks, const u64 *keys,
		     u32 from, u32 to);

/* Give all of @blocks back, newest first. */
void kv_pool_release(struct kv_pool *pool, struct kv_blocks *blocks);

/*
 * Give the @count oldest of @blocks back, newest first. None of them is shared, and no more than
 * @blocks has are given.
 */
void kv_pool_give_oldest(struct kv_pool *pool, struct kv_blocks *blocks, u32 count);

/*
 * Take a group without blocks in use out of the queue: the one whose block was freed last. What
 * its blocks hold is forgotten.
 * Returns the group, or KV_NO_GROUP. Park it when its memory has been given back.
 */
#define KV_NO_GROUP 0xffffffffu
u32 kv_pool_take_group(struct kv_pool *pool);
void kv_pool_park_group(struct kv_pool *pool, u32 group);

/*
 * The pool gets other memory while no block is in use: no prefix is found any
 * more, and no group is parked.
 */
void kv_pool_forget(struct kv_pool *pool);

/* How many 2 MB chunks a group of 64 blocks of @block_bytes lies on. */
u32 kv_chunks_per_group(u64 block_bytes);

#endif
