// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Payers: which container or child pays for the managed memory at an address of a VA space. The
 * container pays, except for ranges that were made in the window of a child
 * (gvm/child.h). The payer is fixed when the driver makes a range. It is kept here,
 * since windows open, move and close later:
 *
 *     windows               [.....1.....][.......2.......]
 *     ranges      [=======]  [===][====]     [=====]
 *     remembered              1    1          2
 *
 * The driver cuts a range in two before it changes or frees a part of it. Then an entry is cut
 * as well, so that what goes is always a whole entry, or several, and needs no memory.
 *
 * A VA block lies in one range. The driver holds the VA space when it allocates for a block,
 * and the block when it evicts from it, and kills the blocks of a range before the range goes.
 * So a payer that was found for a block stays.
 *
 * No entry: the common case costs one load.
 */
#include "gvm_nvidia.h"

#include <linux/slab.h>

#include "gvm/child.h"

void gvm_nvidia_payers_init(struct gvm_nvidia_space *space)
{
	gvm_spin_init(&space->lock, "gvm nvidia payers");
	space->children = RB_ROOT;
}

/* The entry with the lowest address that has one of @first to @last, or NULL. */
static struct gvm_nvidia_payer *payer_find_locked(struct gvm_nvidia_space *space, u64 first,
						  u64 last)
{
	struct rb_node *node = space->children.rb_node;
	struct gvm_nvidia_payer *found = NULL;

	while (node) {
		struct gvm_nvidia_payer *payer = rb_entry(node, struct gvm_nvidia_payer, node);

		if (payer->last < first) {
			node = node->rb_right;
		} else {
			if (payer->first <= last)
				found = payer;
			node = node->rb_left;
		}
	}
	return found;
}

/* Entries have no address in common. */
static void payer_insert_locked(struct gvm_nvidia_space *space, struct gvm_nvidia_payer *payer)
{
	struct rb_node **link = &space->children.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = payer->first < rb_entry(parent, struct gvm_nvidia_payer, node)->first ?
			       &parent->rb_left :
			       &parent->rb_right;
	}
	rb_link_node(&payer->node, parent, link);
	rb_insert_color(&payer->node, &space->children);
}

struct gvm_nvidia_payer *gvm_nvidia_payer(struct gvm_nvidia_space *space, u64 va)
{
	struct gvm_nvidia_payer *payer = NULL;

	if (READ_ONCE(space->children.rb_node)) {
		gvm_spin_lock(&space->lock);
		payer = payer_find_locked(space, va, va);
		gvm_spin_unlock(&space->lock);
	}
	return payer ? payer : &space->own;
}

/*
 * A reference to @container becomes the new entry's. Returns NULL, and it
 * has none, without memory.
 */
static struct gvm_nvidia_payer *payer_new(struct gvm_container *container, u64 first, u64 last)
{
	struct gvm_nvidia_payer *payer = kzalloc(sizeof(*payer), GFP_KERNEL);

	if (!payer) {
		gvm_container_put(container);
		return NULL;
	}
	payer->container = container;
	payer->first = first;
	payer->last = last;
	return payer;
}

int gvm_nvidia_range_made(struct gvm_uvm_space *uvm, u64 first, u64 last)
{
	struct gvm_nvidia_space *space = gvm_nvidia_space(uvm);
	struct gvm_window addresses = { .space = uvm, .va = first, .bytes = last - first + 1 };
	struct gvm_nvidia_payer *payer;
	struct gvm_container *container;
	int status = gvm_child_payer(space->own.container, &addresses, &container);

	/* On a dead device nothing is charged to anyone. */
	if (status)
		return status == -EINVAL ? status : 0;
	if (container == space->own.container) {
		gvm_container_put(container);
		return 0;
	}
	payer = payer_new(container, first, last);
	if (!payer)
		return -ENOMEM;
	gvm_spin_lock(&space->lock);
	payer_insert_locked(space, payer);
	gvm_spin_unlock(&space->lock);
	return 0;
}

/* The VA space is locked for writing, so an entry that was found does not go meanwhile. */
int gvm_nvidia_range_split(struct gvm_uvm_space *uvm, u64 first)
{
	struct gvm_nvidia_space *space = gvm_nvidia_space(uvm);
	struct gvm_nvidia_payer *lower = gvm_nvidia_payer(space, first);
	struct gvm_nvidia_payer *upper;

	if (lower == &space->own || lower->first == first)
		return 0;
	gvm_container_get(lower->container);
	upper = payer_new(lower->container, first, lower->last);
	if (!upper)
		return -ENOMEM;
	gvm_spin_lock(&space->lock);
	lower->last = first - 1;
	payer_insert_locked(space, upper);
	gvm_spin_unlock(&space->lock);
	return 0;
}

void gvm_nvidia_range_gone(struct gvm_uvm_space *uvm, u64 first, u64 last)
{
	struct gvm_nvidia_space *space = gvm_nvidia_space(uvm);
	struct gvm_nvidia_payer *payer;

	while (READ_ONCE(space->children.rb_node)) {
		gvm_spin_lock(&space->lock);
		payer = payer_find_locked(space, first, last);
		if (payer)
			rb_erase(&payer->node, &space->children);
		gvm_spin_unlock(&space->lock);
		if (!payer)
			return;
		WARN_ON_ONCE(payer->first < first || payer->last > last);
		gvm_container_put(payer->container);
		kfree(payer);
	}
}

/* Ranges may outlive the GPU, which goes when the last VA space has unregistered it. */
void gvm_nvidia_payers_destroy(struct gvm_nvidia_space *space)
{
	gvm_nvidia_range_gone(&space->uvm, 0, U64_MAX);
}
