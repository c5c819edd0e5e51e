// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Families: the limits of a container with children hold for all of its members.
 *
 * Layer: policy. Never waits, never calls back, takes only the device's leaf lock.
 *
 *
 * Charges and limits
 *
 * A member's books stay its own: chunks, rings and counts. The parent also has the sum of its
 * children's charges, so that a charge checks two limits and walks over no list:
 *
 *     parent   charged_bytes        memory of no child       |  gmem.limit.high of the parent
 *              children_bytes       all children             |  holds for the sum
 *     child    charged_bytes        its own                  |  its own gmem.limit.high
 *
 * gmem.current, gmem.peak, gmem.swap.current, gmem.clean.current and gmem.events of the parent
 * are those of the family, as in cgroups. A child that goes leaves its events to the parent.
 *
 *
 * The victim
 *
 * A child at its own limit gives its own coldest chunk. At the parent's limit, the member gives
 * that has the most memory above its protected part. So members without limits tend to equal
 * shares of the parent's limit, and a child that takes memory does not empty a small one.
 *
 * If all members are within their protected parts, the rule is that of a full device
 * (service/evict.c): a member below its own part takes a chunk of another one, and any other
 * member gives a chunk of its own or is refused. Else a tenant could take its neighbours'
 * protected memory by making its own unevictable. If the member that has to give cannot, the
 * one that asks gives a chunk of its own. A child's evictor takes chunks of that child only.
 * The rejected alternative is a ring for the family's order, a third pair of links for each
 * chunk of every container.
 *
 *
 * Protection and host memory
 *
 * The parent's gmem.limit.low is what the family is promised. Children get their parts of it
 * first, in the order of their making, up to their own gmem.limit.low; the rest protects the
 * memory of no child. So a process cannot promise its children more than it was promised. Each
 * member is protected by itself, from other members as well. hmem.limit of the parent counts
 * the host memory of all members: without room for one more chunk, no member can give one.
 */
#include "gvm/family.h"
#include "gvm/clock.h"
#include "gvm/shield.h"

/*
 * In family_rank(): the member is above its protected part; or not, and may give all the same.
 */
#define FAMILY_IS_ABOVE	    (1ull << 63)
#define FAMILY_IS_PROTECTED (1ull << 62)

/* The container that has the children. */
static struct gvm_container *family_head(struct gvm_container *member)
{
	return member->parent ? member->parent : member;
}

/* CONTEXT: atomic. */
u64 gvm_family_swapped_bytes(struct gvm_container *container)
{
	const struct gvm_container *child;
	u64 bytes;

	gvm_spin_lock(&container->device->lock);
	bytes = container->swapped_bytes;
	list_for_each_entry(child, &container->children, sibling)
		bytes += child->swapped_bytes;
	gvm_spin_unlock(&container->device->lock);
	return bytes;
}

/* CONTEXT: atomic. */
u64 gvm_family_clean_bytes(struct gvm_container *container)
{
	const struct gvm_container *child;
	u64 bytes;

	gvm_spin_lock(&container->device->lock);
	bytes = container->clean_bytes;
	list_for_each_entry(child, &container->children, sibling)
		bytes += child->clean_bytes;
	gvm_spin_unlock(&container->device->lock);
	return bytes;
}

/* CONTEXT: atomic. */
u64 gvm_family_events(struct gvm_container *container, enum gvm_event event)
{
	const struct gvm_container *child;
	u64 count;

	gvm_spin_lock(&container->device->lock);
	count = container->events[event];
	list_for_each_entry(child, &container->children, sibling)
		count += child->events[event];
	gvm_spin_unlock(&container->device->lock);
	return count;
}

/* CONTEXT: atomic, device's lock held. */
struct gvm_container *gvm_family_refuser_locked(struct gvm_container *container, u64 bytes)
{
	struct gvm_container *parent = container->parent;

	if (gvm_family_bytes(container) + bytes > container->gmem_high_bytes)
		return container;
	return parent && gvm_family_bytes(parent) + bytes > parent->gmem_high_bytes ? parent :
										      NULL;
}

/* May the container have one more chunk, of which it pays for @bytes, by its own limit? */
static bool family_has_chunk(const struct gvm_container *container, u64 bytes)
{
	u64 high = container->gmem_high_bytes;
	u64 most = (high >> GVM_CHUNK_SHIFT) + ((high & (GVM_CHUNK_BYTES - 1)) != 0);

	if (gvm_family_bytes(container) + bytes > high)
		return false;
	/* Without parts of chunks, a family occupies what it pays for. */
	return !container->device->payers ||
	       (gvm_family_occupied_bytes(container) + 2 * GVM_CHUNK_BYTES - 1) >>
		       GVM_CHUNK_SHIFT <= most;
}

/* CONTEXT: atomic, device's lock held. */
struct gvm_container *gvm_family_chunk_refuser_locked(struct gvm_container *container,
						      u64 bytes)
{
	if (!family_has_chunk(container, bytes))
		return container;
	if (container->parent && !family_has_chunk(container->parent, bytes))
		return container->parent;
	return NULL;
}

/* CONTEXT: atomic, device's lock held. */
bool gvm_family_has_host_room(const struct gvm_container *container, u64 bytes)
{
	const struct gvm_container *head = container->parent ? container->parent : container;
	u64 used = gvm_family_host_bytes(head);

	return used <= head->hmem_limit_bytes && bytes <= head->hmem_limit_bytes - used;
}

/* CONTEXT: atomic, device's lock held. */
void gvm_family_share_low_locked(struct gvm_container *member)
{
	struct gvm_container *head = family_head(member);
	u64 rest = head->gmem_low_bytes;
	struct gvm_container *child;

	list_for_each_entry(child, &head->children, sibling) {
		child->low_bytes = min(child->gmem_low_bytes, rest);
		rest -= child->low_bytes;
		gvm_container_update_shield_locked(child);
	}
	head->low_bytes = rest;
	gvm_container_update_shield_locked(head);
}

/* CONTEXT: atomic, device's lock held. */
void gvm_family_leave_locked(struct gvm_container *child)
{
	struct gvm_container *parent = child->parent;

	if (!parent)
		return;
	list_del_init(&child->sibling);
	for (int event = 0; event < GVM_EVENTS; event++)
		parent->events[event] += child->events[event];
	WRITE_ONCE(parent->child_count, parent->child_count - 1);
	if (!parent->child_count)
		parent->is_family_full = false;
	gvm_family_share_low_locked(parent);
}

/* May the container take memory of protected members? */
static bool family_may_take_protected(const struct gvm_container *container)
{
	/* A limit was lowered below the usage: it goes before the protection of members. */
	if (!container->parent && gvm_family_bytes(container) > container->gmem_high_bytes)
		return true;
	return container->charged_bytes < container->low_bytes;
}

/*
 * The higher, the sooner the member gives a chunk; 0: not at all. First come members above
 * their protected part, by the bytes above it, then protected ones, if @protected_too. The last
 * are those that can give clean chunks only, since they may have none that is clean as a whole.
 */
static u64 family_rank(const struct gvm_container *member, bool protected_too)
{
	u64 movable = (u64)member->bound_chunks << GVM_CHUNK_SHIFT;
	u64 spare = member->charged_bytes - min(member->charged_bytes, member->evicting_bytes);

	movable -= min(movable, member->evicting_bytes);
	if (!movable || (member->is_protected && !protected_too))
		return 0;
	if (member->is_swap_full)
		return min(movable, member->clean_bytes);
	if (member->is_protected)
		return movable | FAMILY_IS_PROTECTED;
	spare -= min(spare, member->low_bytes);
	return min(movable, spare) | FAMILY_IS_ABOVE;
}

static struct gvm_container *family_giver_locked(struct gvm_container *container)
{
	bool protected_too = family_may_take_protected(container);
	struct gvm_container *head = family_head(container);
	struct gvm_container *giver = container, *child;
	u64 most;

	if (container->parent &&
	    gvm_family_chunk_refuser_locked(container, GVM_CHUNK_BYTES) == container)
		return container;
	most = family_rank(head, protected_too);
	if (most)
		giver = head;
	list_for_each_entry(child, &head->children, sibling) {
		u64 rank = family_rank(child, protected_too);

		if (rank > most) {
			giver = child;
			most = rank;
		}
	}
	return giver;
}

/* Is a chunk of the member on its way in or out, or in service? Then it may go later. */
static bool family_gives_later(const struct gvm_container *member, bool protected_too)
{
	return member->evicting_bytes || member->reserved_bytes ||
	       (member->bound_chunks && !member->is_swap_full &&
		(protected_too || !member->is_protected));
}

/* CONTEXT: atomic, device's lock held. */
bool gvm_family_gives_later_locked(struct gvm_container *container)
{
	bool protected_too = family_may_take_protected(container);
	struct gvm_container *head = family_head(container);
	const struct gvm_container *child;

	if (family_gives_later(container, true) || family_gives_later(head, protected_too))
		return true;
	list_for_each_entry(child, &head->children, sibling) {
		if (family_gives_later(child, protected_too))
			return true;
	}
	return false;
}

/* CONTEXT: atomic. */
struct gvm_container *gvm_family_giver_get(struct gvm_container *container)
{
	struct gvm_container *giver;

	gvm_spin_lock(&container->device->lock);
	giver = family_giver_locked(container);
	giver->refs++;
	gvm_spin_unlock(&container->device->lock);
	return giver;
}
