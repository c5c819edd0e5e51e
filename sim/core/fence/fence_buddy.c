// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The buddy allocator of partitions: powers of two at multiples of their size.
 *
 * Layer: fence. No lock, no wait.
 *
 * A complete binary tree over the leaves, in an array: node 1 is the whole, the halves of node
 * n are 2n and 2n + 1. Each node has the largest free part below it. So alloc goes down one
 * path and free goes up one, and both end after as many steps as the tree is deep. When both
 * halves of a node are free, the node is: buddies become one without a search.
 *
 * The tree covers an aligned power of two around the given range. Its leaves outside of the
 * range are in use for ever.
 */
#include "gvm/fence_table.h"

/* 1 + the order of a node: the number of leaves below it is 1 << order. */
static u8 buddy_whole(const struct gvm_fence_buddy *buddy, u32 level)
{
	return (u8)(buddy->depth - level + 1);
}

/* Node @node, on @level (the root's is 0), follows from its halves. */
static void buddy_renew(struct gvm_fence_buddy *buddy, u32 node, u32 level)
{
	u8 half = buddy_whole(buddy, level + 1);
	u8 left = buddy->largest[2 * node], right = buddy->largest[2 * node + 1];

	if (left == half && right == half)
		buddy->largest[node] = buddy_whole(buddy, level);
	else
		buddy->largest[node] = left > right ? left : right;
}

int gvm_fence_buddy_init(struct gvm_fence_buddy *buddy, u64 base, u64 bytes, u32 leaf_shift)
{
	u64 first = base >> leaf_shift, end = (base + bytes) >> leaf_shift, leaves;
	u32 depth = 0;

	if (!bytes || base + bytes < base || first << leaf_shift != base ||
	    end << leaf_shift != base + bytes)
		return -EINVAL;
	while (depth <= GVM_FENCE_BUDDY_DEPTH && first >> depth != (end - 1) >> depth)
		depth++;
	/* A root of 2^64 bytes has no size. */
	if (depth > GVM_FENCE_BUDDY_DEPTH || leaf_shift + depth > 63)
		return -EINVAL;
	leaves = 1ull << depth;
	*buddy = (struct gvm_fence_buddy){
		.largest = gvm_alloc((size_t)(2 * leaves)),
		.base = first >> depth << depth << leaf_shift,
		.leaf_shift = leaf_shift,
		.depth = depth,
	};
	if (!buddy->largest)
		return -ENOMEM;
	for (u64 leaf = 0; leaf < leaves; leaf++) {
		u64 at = (buddy->base >> leaf_shift) + leaf;

		buddy->largest[leaves + leaf] = at >= first && at < end;
	}
	for (u32 level = depth; level--;)
		for (u32 node = 1u << level; node < 2u << level; node++)
			buddy_renew(buddy, node, level);
	return 0;
}

void gvm_fence_buddy_destroy(struct gvm_fence_buddy *buddy)
{
	gvm_free(buddy->largest);
	buddy->largest = NULL;
}

/* Set a node and bring all nodes above it up to date. */
static void buddy_set(struct gvm_fence_buddy *buddy, u32 node, u32 level, u8 value)
{
	buddy->largest[node] = value;
	while (level--) {
		node /= 2;
		buddy_renew(buddy, node, level);
	}
}

/* The level whose nodes have @bytes; more than the depth: none has. */
static u32 buddy_level(const struct gvm_fence_buddy *buddy, u64 bytes)
{
	u32 level = 0;

	while (level <= buddy->depth &&
	       bytes != 1ull << (buddy->leaf_shift + buddy->depth - level))
		level++;
	return level;
}

/* The half with room for @want that has the smaller largest part; the left one of equals. */
static u32 buddy_choose(const struct gvm_fence_buddy *buddy, u32 left, u32 right, u8 want)
{
	if (buddy->largest[left] < want)
		return right;
	if (buddy->largest[right] < want)
		return left;
	return buddy->largest[right] < buddy->largest[left] ? right : left;
}

int gvm_fence_buddy_alloc(struct gvm_fence_buddy *buddy, u64 bytes, u64 *ret_base)
{
	u32 level = buddy_level(buddy, bytes), node = 1;
	u8 want;

	if (level > buddy->depth)
		return -ENOMEM;
	want = buddy_whole(buddy, level);
	if (buddy->largest[1] < want)
		return -ENOMEM;
	for (u32 i = 0; i < level; i++)
		node = buddy_choose(buddy, 2 * node, 2 * node + 1, want);
	*ret_base = buddy->base + ((u64)(node - (1u << level)) * bytes);
	buddy_set(buddy, node, level, 0);
	return 0;
}

void gvm_fence_buddy_free(struct gvm_fence_buddy *buddy, u64 base, u64 bytes)
{
	u32 level = buddy_level(buddy, bytes), node;

	GVM_ASSERT(level <= buddy->depth);
	node = (1u << level) +
	       (u32)((base - buddy->base) >> (buddy->leaf_shift + buddy->depth - level));
	GVM_ASSERT(!buddy->largest[node]);
	buddy_set(buddy, node, level, buddy_whole(buddy, level));
}
