// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Children: containers inside of a container, by address range.
 *
 * Layer: policy. Waits for memory only, never calls back, takes only the device's leaf lock.
 *
 *
 * Tenants that share an address space
 *
 * A GPU context that serves several tenants (gvmfenced, an inference server, system guardian)
 * is one process and one container. Its driver sees one address space, so one tenant's faults
 * evict another one's pages, and one limit holds for all. But a fence confines each tenant to
 * a partition, a run of addresses. Therefore an address tells the tenant, and the driver needs
 * nothing else:
 *
 *     container          A                                    the process and its context
 *                        |-------.---------------.
 *     window             |     A/1             A/2            gvm_child_open()
 *                        |   [.......]       [.............]
 *     ranges           [===] [==][==]           [====]        who pays is fixed when a range
 *                        A     A/1               A/2          is made
 *
 * A range has a pointer to its container, as before; gvm_range_init() asks gvm_child_payer()
 * whose addresses the new range has. So faults, charges, clocks and evictions work without any
 * change: they go by the range's container. A container without children is asked one question
 * for each new range.
 *
 * A range that has a part of a window only has no payer and is refused. Ranges that were made
 * before a window was opened or resized keep their payer. The rejected alternative, a payer for
 * each block, would let a window cut ranges in two, at the cost of a look-up in each fault.
 *
 * A child is a container in all but three things: no tgid finds it, it has no TSGs, and its
 * parent's limits hold for it as well (policy/family.c). Children have no children.
 *
 *
 * Lives
 *
 *     open      the window holds a reference to the child, the child one to its parent
 *     range     holds a reference to its payer, as always
 *     close     the window is gone: by the owner, or with its address space
 *     freed     with the last range or reader of its files; then the parent may go, too
 *
 * While a closed child has ranges, its charges count, its limits hold, and its number may be
 * taken by a new child.
 *
 *
 * Locks: windows and lists are guarded by the device's lock. No call here takes another one.
 *
 * No paper has this. Guardian has partitions without paging. GVM and Ghost have limits and
 * paging for whole processes. On NVIDIA's driver gvm_nvidia.ko asks gvm_child_payer() when a
 * managed range is made. Processes reach it by /dev/gvm.
 */
#include "gvm/child.h"

static bool window_is_valid(const struct gvm_window *window)
{
	return window->bytes && !((window->va | window->bytes) & (GVM_CHUNK_BYTES - 1)) &&
	       window->bytes - 1 <= U64_MAX - window->va;
}

/* Has @a an address of @b? Neither wraps; an empty one has none. */
static bool window_meets(const struct gvm_window *a, const struct gvm_window *b)
{
	return a->space == b->space && a->bytes && b->bytes &&
	       a->va <= b->va + (b->bytes - 1) && b->va <= a->va + (a->bytes - 1);
}

/* Does @a have all addresses of @b, which meets it? */
static bool window_contains(const struct gvm_window *a, const struct gvm_window *b)
{
	return a->va <= b->va && b->va + (b->bytes - 1) <= a->va + (a->bytes - 1);
}

/* May @parent have an open child called @number with this window, beside all but @but? */
static int child_check_locked(const struct gvm_container *parent,
			      const struct gvm_container *but, const struct gvm_window *window,
			      u32 number)
{
	const struct gvm_container *other;

	list_for_each_entry(other, &parent->children, sibling) {
		if (other != but && other->window.bytes &&
		    (other->child_number == number || window_meets(&other->window, window)))
			return -EEXIST;
	}
	return 0;
}

static int child_publish_locked(struct gvm_container *parent, struct gvm_container *child)
{
	int status = parent->child_count < GVM_CHILDREN_MAX ? 0 : -ENOSPC;

	if (!status)
		status = child_check_locked(parent, NULL, &child->window, child->child_number);
	if (status)
		return status;
	parent->refs++;
	child->parent = parent;
	child->refs = 2; /* of the window, and of the caller */
	list_add_tail(&child->sibling, &parent->children);
	WRITE_ONCE(parent->child_count, parent->child_count + 1);
	list_add_tail(&child->node, &parent->device->containers);
	parent->device->container_count++;
	gvm_family_share_low_locked(child);
	return 0;
}

/* CONTEXT: process. */
int gvm_child_open(struct gvm_container *parent, const struct gvm_window *window, u32 number,
		   struct gvm_container **ret_child)
{
	struct gvm_container *child;
	int status = -EIO;

	*ret_child = NULL;
	if (!window_is_valid(window) || parent->parent)
		return -EINVAL;
	child = gvm_container_alloc(parent->device, 0);
	if (!child)
		return -ENOMEM;
	child->window = *window;
	child->child_number = number;
	if (gvm_books_lock(parent->device)) {
		status = child_publish_locked(parent, child);
		gvm_spin_unlock(&parent->device->lock);
	}
	if (status)
		gvm_free(child);
	else
		*ret_child = child;
	return status;
}

/* CONTEXT: atomic. */
int gvm_child_resize(struct gvm_container *child, u64 bytes)
{
	struct gvm_window window;
	int status = -EINVAL;

	if (!gvm_books_lock(child->device))
		return -EIO;
	window = child->window;
	window.bytes = bytes;
	if (!child->window.bytes)
		status = -ENOENT;
	else if (window_is_valid(&window))
		status = child_check_locked(child->parent, child, &window, child->child_number);
	if (!status)
		child->window.bytes = bytes;
	gvm_spin_unlock(&child->device->lock);
	return status;
}

/* CONTEXT: process. */
void gvm_child_close(struct gvm_container *child)
{
	bool was_open;

	if (!gvm_books_lock(child->device))
		return;
	was_open = child->window.bytes;
	child->window.bytes = 0;
	gvm_spin_unlock(&child->device->lock);
	if (was_open)
		gvm_container_put(child);
}

/* Close one child of the space. Returns it, with the reference of its window; NULL: none. */
static struct gvm_container *children_close_one(struct gvm_container *parent, const void *space)
{
	struct gvm_container *child, *closed = NULL;

	if (!gvm_books_lock(parent->device))
		return NULL;
	list_for_each_entry(child, &parent->children, sibling) {
		if (child->window.bytes && child->window.space == space) {
			child->window.bytes = 0;
			closed = child;
			break;
		}
	}
	gvm_spin_unlock(&parent->device->lock);
	return closed;
}

/* CONTEXT: process. */
void gvm_children_close(struct gvm_container *parent, const void *space)
{
	for (u32 most = GVM_CHILDREN_MAX; most && READ_ONCE(parent->child_count); most--) {
		struct gvm_container *child = children_close_one(parent, space);

		if (!child)
			return;
		gvm_container_put(child);
	}
}

/* CONTEXT: atomic. */
struct gvm_container *gvm_child_find(struct gvm_container *parent, u32 number)
{
	struct gvm_container *child, *found = NULL;

	if (!gvm_books_lock(parent->device))
		return NULL;
	list_for_each_entry(child, &parent->children, sibling) {
		if (child->window.bytes && child->child_number == number)
			found = child;
	}
	if (found)
		found->refs++;
	gvm_spin_unlock(&parent->device->lock);
	return found;
}

/* CONTEXT: atomic. */
int gvm_child_payer(struct gvm_container *container, const struct gvm_window *addresses,
		    struct gvm_container **ret_payer)
{
	struct gvm_container *payer = container, *child;

	if (!gvm_books_lock(container->device))
		return -EIO;
	list_for_each_entry(child, &container->children, sibling) {
		if (!window_meets(&child->window, addresses))
			continue;
		payer = window_contains(&child->window, addresses) ? child : NULL;
		break;
	}
	if (payer)
		payer->refs++;
	gvm_spin_unlock(&container->device->lock);
	*ret_payer = payer;
	return payer ? 0 : -EINVAL;
}
