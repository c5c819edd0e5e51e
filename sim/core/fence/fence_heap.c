// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A heap of addresses: extents of any size. A tenant's memory inside its partition, and
 * partitions of any size.
 *
 * Layer: fence. No lock, no wait; all memory is allocated when the heap is made.
 *
 * Free extents are in bins by the power of two below their size. An extent of a higher bin than
 * a request's own is always large enough, and a bitmap finds the next such bin in one step. In
 * the request's own bin an extent may be too small, so up to HEAP_LOOKS extents there are
 * looked at first: they fit more closely. If there is no higher bin, all of them are looked at.
 * So a request is refused only if no free extent is large enough.
 *
 * Extents are also in one list by address, so a freed one finds its neighbours. Two free
 * neighbours never stay apart. Used extents are in a tree, by address, for free.
 */
#include "gvm/fence_table.h"

#define HEAP_LOOKS 64u

/* The bin of a free extent: the highest bit of its size. */
static u32 heap_bin_of(u64 bytes)
{
	u32 bin = 0;

	for (u32 step = GVM_FENCE_BINS / 2; step; step /= 2) {
		if (bytes >> step) {
			bin += step;
			bytes >>= step;
		}
	}
	return bin;
}

static void heap_put_in_bin(struct gvm_fence_heap *heap, struct gvm_fence_extent *extent)
{
	u32 bin = heap_bin_of(extent->bytes);

	extent->is_free = true;
	list_add(&extent->bin, &heap->bins[bin]);
	heap->full_bins |= 1ull << bin;
}

static void heap_take_from_bin(struct gvm_fence_heap *heap, struct gvm_fence_extent *extent)
{
	u32 bin = heap_bin_of(extent->bytes);

	extent->is_free = false;
	list_del_init(&extent->bin);
	if (list_empty(&heap->bins[bin]))
		heap->full_bins &= ~(1ull << bin);
}

/* An extent of the pool for [@base, @base + @bytes), after @before in the order; or NULL. */
static struct gvm_fence_extent *heap_new_extent(struct gvm_fence_heap *heap, u64 base,
						u64 bytes, struct list_head *before)
{
	struct gvm_fence_extent *extent;

	if (list_empty(&heap->spare))
		return NULL;
	extent = list_first_entry(&heap->spare, struct gvm_fence_extent, bin);
	list_del_init(&extent->bin);
	extent->base = base;
	extent->bytes = bytes;
	list_add(&extent->order, before);
	return extent;
}

int gvm_fence_heap_init(struct gvm_fence_heap *heap, u64 base, u64 bytes, u64 granule,
			u32 extents)
{
	u64 mask = granule - 1;

	if (!granule || granule & mask || !bytes || base & mask || bytes & mask ||
	    base + bytes < base || extents < 3)
		return -EINVAL;
	/* Field by field: a copy of the whole would be too large for a kernel's stack. */
	heap->extents = gvm_alloc(extents * sizeof(*heap->extents));
	heap->used = RB_ROOT;
	heap->granule = granule;
	heap->bytes = bytes;
	heap->used_bytes = 0;
	heap->full_bins = 0;
	if (!heap->extents)
		return -ENOMEM;
	INIT_LIST_HEAD(&heap->order);
	INIT_LIST_HEAD(&heap->spare);
	for (u32 bin = 0; bin < GVM_FENCE_BINS; bin++)
		INIT_LIST_HEAD(&heap->bins[bin]);
	for (u32 i = 0; i < extents; i++)
		list_add_tail(&heap->extents[i].bin, &heap->spare);
	heap_put_in_bin(heap, heap_new_extent(heap, base, bytes, &heap->order));
	return 0;
}

void gvm_fence_heap_destroy(struct gvm_fence_heap *heap)
{
	gvm_free(heap->extents);
	heap->extents = NULL;
}

/* A free extent of at least @bytes, or NULL. */
static struct gvm_fence_extent *heap_find_free(struct gvm_fence_heap *heap, u64 bytes)
{
	u32 bin = heap_bin_of(bytes), looks = 0;
	u64 higher = heap->full_bins & ~((2ull << bin) - 1);
	struct gvm_fence_extent *extent;

	list_for_each_entry(extent, &heap->bins[bin], bin) {
		if (extent->bytes >= bytes)
			return extent;
		if (higher && ++looks == HEAP_LOOKS)
			break;
	}
	if (!higher)
		return NULL;
	return list_first_entry(&heap->bins[__ffs(higher)], struct gvm_fence_extent, bin);
}

static void heap_insert_used(struct gvm_fence_heap *heap, struct gvm_fence_extent *extent)
{
	struct rb_node **link = &heap->used.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		if (extent->base < rb_entry(parent, struct gvm_fence_extent, node)->base)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&extent->node, parent, link);
	rb_insert_color(&extent->node, &heap->used);
}

int gvm_fence_heap_alloc(struct gvm_fence_heap *heap, u64 bytes, u64 *ret_address)
{
	struct gvm_fence_extent *extent;
	u64 rest;

	if (!bytes)
		return -EINVAL;
	if (bytes > heap->bytes)
		return -ENOMEM;
	bytes = (bytes + heap->granule - 1) & ~(heap->granule - 1);
	extent = heap_find_free(heap, bytes);
	if (!extent)
		return -ENOMEM;
	rest = extent->bytes - bytes;
	if (rest && list_empty(&heap->spare))
		return -ENOSPC;
	heap_take_from_bin(heap, extent);
	extent->bytes = bytes;
	if (rest)
		heap_put_in_bin(heap, heap_new_extent(heap, extent->base + bytes, rest,
						      &extent->order));
	heap_insert_used(heap, extent);
	heap->used_bytes += bytes;
	*ret_address = extent->base;
	return 0;
}

/* The allocation that begins at @address, or NULL. */
static struct gvm_fence_extent *heap_find_used(const struct gvm_fence_heap *heap, u64 address)
{
	struct rb_node *at = heap->used.rb_node;

	while (at) {
		struct gvm_fence_extent *extent = rb_entry(at, struct gvm_fence_extent, node);

		if (extent->base == address)
			return extent;
		at = address < extent->base ? at->rb_left : at->rb_right;
	}
	return NULL;
}

/* The free extent at @neighbour of the order becomes a part of @extent, which is in no bin. */
static void heap_swallow(struct gvm_fence_heap *heap, struct gvm_fence_extent *extent,
			 struct list_head *neighbour)
{
	struct gvm_fence_extent *other;

	if (neighbour == &heap->order)
		return;
	other = container_of(neighbour, struct gvm_fence_extent, order);
	if (!other->is_free)
		return;
	heap_take_from_bin(heap, other);
	extent->base = min(extent->base, other->base);
	extent->bytes += other->bytes;
	list_del_init(&other->order);
	list_add(&other->bin, &heap->spare);
}

u64 gvm_fence_heap_free(struct gvm_fence_heap *heap, u64 address)
{
	struct gvm_fence_extent *extent = heap_find_used(heap, address);
	u64 bytes;

	if (!extent)
		return 0;
	bytes = extent->bytes;
	rb_erase(&extent->node, &heap->used);
	heap->used_bytes -= bytes;
	heap_swallow(heap, extent, extent->order.prev);
	heap_swallow(heap, extent, extent->order.next);
	heap_put_in_bin(heap, extent);
	return bytes;
}
