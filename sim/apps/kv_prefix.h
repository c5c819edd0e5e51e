/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Which KV blocks hold which prefix: the table of vLLM's automatic prefix caching.
 *
 * A full block of a prompt has a key, which stands for its tokens and all tokens before them.
 * Requests with the same key use one block: it counts its users. A block that has no user any
 * more is free, and keeps its key until it is handed out for something else. So free blocks are
 * a cache. The pool's queue is its order: the block that was freed first is handed out first.
 *
 *     key -> bucket -> block -> next block of the bucket
 *
 * One block has a key at a time. Two requests that compute the same prefix side by side have
 * blocks of their own, of which the first one is found.
 */
#ifndef SIM_APPS_KV_PREFIX_H
#define SIM_APPS_KV_PREFIX_H

#include "gvm/port.h"

/* No key. */
#define KV_NO_KEY 0ull

/* All-zero: nothing is cached. Block 0 is no block. */
struct kv_prefix {
	u64 *keys;    /* of each block; KV_NO_KEY: none */
	u32 *users;   /* of each block */
	u32 *next;    /* of each block: another one of its bucket, 0 at the end */
	u32 *buckets; /* first block of each bucket */
	u32 bucket_count;
};

/* Returns 0 or -ENOMEM; kv_prefix_destroy() is due in both cases. */
int kv_prefix_init(struct kv_prefix *prefix, u32 block_count);
void kv_prefix_destroy(struct kv_prefix *prefix);

static inline bool kv_prefix_is_on(const struct kv_prefix *prefix)
{
	return prefix->keys;
}

/* The block with @key, or 0. */
u32 kv_prefix_find(const struct kv_prefix *prefix, u64 key);

/* Give @block, which has none, a key, unless another block has that key. */
void kv_prefix_add(struct kv_prefix *prefix, u32 block, u64 key);

/* Take the key of @block away, if it has one. */
void kv_prefix_forget(struct kv_prefix *prefix, u32 block);

#endif
