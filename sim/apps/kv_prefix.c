// SPDX-License-Identifier: MIT OR GPL-2.0
#include "apps/kv_prefix.h"

int kv_prefix_init(struct kv_prefix *prefix, u32 block_count)
{
	*prefix = (struct kv_prefix){ .bucket_count = block_count };
	prefix->keys = gvm_alloc(block_count * sizeof(*prefix->keys));
	prefix->users = gvm_alloc(block_count * sizeof(*prefix->users));
	prefix->next = gvm_alloc(block_count * sizeof(*prefix->next));
	prefix->buckets = gvm_alloc(block_count * sizeof(*prefix->buckets));
	if (!prefix->keys || !prefix->users || !prefix->next || !prefix->buckets)
		return -ENOMEM;
	return 0;
}

void kv_prefix_destroy(struct kv_prefix *prefix)
{
	gvm_free(prefix->keys);
	gvm_free(prefix->users);
	gvm_free(prefix->next);
	gvm_free(prefix->buckets);
	*prefix = (struct kv_prefix){ 0 };
}

/* Keys are random numbers, so any digits of them spread evenly. */
static u32 *key_bucket(const struct kv_prefix *prefix, u64 key)
{
	return &prefix->buckets[((unsigned __int128)key * prefix->bucket_count) >> 64];
}

u32 kv_prefix_find(const struct kv_prefix *prefix, u64 key)
{
	u32 block = *key_bucket(prefix, key);

	while (block && prefix->keys[block] != key)
		block = prefix->next[block];
	return block;
}

void kv_prefix_add(struct kv_prefix *prefix, u32 block, u64 key)
{
	u32 *bucket = key_bucket(prefix, key);

	GVM_ASSERT(prefix->keys[block] == KV_NO_KEY && key != KV_NO_KEY);
	if (kv_prefix_find(prefix, key))
		return;
	prefix->keys[block] = key;
	prefix->next[block] = *bucket;
	*bucket = block;
}

void kv_prefix_forget(struct kv_prefix *prefix, u32 block)
{
	u32 *link;

	if (prefix->keys[block] == KV_NO_KEY)
		return;
	link = key_bucket(prefix, prefix->keys[block]);
	while (*link != block)
		link = &prefix->next[*link];
	*link = prefix->next[block];
	prefix->keys[block] = KV_NO_KEY;
}
