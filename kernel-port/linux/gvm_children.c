// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * See gvm_children.h; the core's part is policy/child.c.
 *
 * Whose addresses
 *
 * A process names addresses, and no address space: CUDA has one for each process. The driver
 * says which it is (gvm_space_begin()). A process that has several on a GPU is refused, since
 * its addresses would be ambiguous.
 *
 * Why a process may do this without privileges: the limits of its container hold for the sum of
 * its children, and their gmem.limit.low is a part of the container's own. So a process divides
 * what it has, and gets no more. It can use up the 64 children and the numbers of its own
 * container; processes that share a container share these.
 *
 * Lives
 *
 * A child leaves as a member does (gvm_members.c): it is marked, its directory is removed
 * without the mutex, it is freed. Its number stays taken until then, so no two directories have
 * one name. Its address space waits for that, and the member for its address spaces. The core's
 * child lives on while it has memory.
 */
#include "gvm_children.h"

#include <linux/pid.h>

#include "gvm/charge.h"
#include "gvm/child.h"
#include "gvm/swap.h"
#include "gvm_control_files.h"
#include "gvm_members.h"
#include "gvm_registry.h"

/* An address space whose driver has named it. Guarded by gvm_registry_mutex. */
struct gvm_space {
	struct list_head node; /* in gvm_member.named */
	void *space;
};

/* A child that a member has made. Guarded by gvm_registry_mutex. */
struct gvm_child {
	struct list_head node; /* in gvm_member.children */
	void *space;
	u32 number;
	bool leaving;
	struct gvm_container *container; /* a reference */
	struct gvm_control_dir *dir;
};

/*
 * The mutex is dropped meanwhile. The child may have memory, for which the parent's limits hold
 * alone from now on. They are set without the control files, so that a GPU that is suspended
 * keeps no process waiting here.
 */
static void child_leave_locked(struct gvm_child *child)
{
	child->leaving = true;
	gvm_mutex_unlock(&gvm_registry_mutex);
	gvm_control_dir_remove(child->dir);
	gvm_limit_set_high(child->container, GVM_NO_LIMIT);
	gvm_limit_set_low(child->container, 0);
	gvm_limit_set_hmem(child->container, GVM_NO_LIMIT);
	gvm_mutex_lock(&gvm_registry_mutex);
	gvm_control_dir_free(child->dir);
	gvm_child_close(child->container);
	gvm_container_put(child->container);
	list_del(&child->node);
	kfree(child);
	wake_up_all(&gvm_member_left);
}

int gvm_space_begin(struct gvm_member *member, void *space)
{
	struct gvm_space *named = kzalloc(sizeof(*named), GFP_KERNEL);

	if (!named)
		return -ENOMEM;
	named->space = space;
	gvm_mutex_lock(&gvm_registry_mutex);
	list_add_tail(&named->node, &member->named);
	gvm_mutex_unlock(&gvm_registry_mutex);
	return 0;
}

/* A child of @space, leaving or not; or NULL. */
static struct gvm_child *space_child_locked(struct gvm_member *member, const void *space)
{
	struct gvm_child *child;

	list_for_each_entry(child, &member->children, node)
		if (child->space == space)
			return child;
	return NULL;
}

/* One that another thread closes just now is waited for. */
static void space_close_children_locked(struct gvm_member *member, const void *space)
{
	struct gvm_child *child;

	while ((child = space_child_locked(member, space))) {
		if (child->leaving)
			wait_event_cmd(gvm_member_left,
				       space_child_locked(member, space) != child,
				       gvm_mutex_unlock(&gvm_registry_mutex),
				       gvm_mutex_lock(&gvm_registry_mutex));
		else
			child_leave_locked(child);
	}
}

void gvm_space_end(struct gvm_member *member, void *space)
{
	struct gvm_space *named, *next;

	gvm_mutex_lock(&gvm_registry_mutex);
	list_for_each_entry_safe(named, next, &member->named, node) {
		if (named->space != space)
			continue;
		list_del(&named->node);
		kfree(named);
	}
	space_close_children_locked(member, space);
	gvm_mutex_unlock(&gvm_registry_mutex);
}

/* The calling process on device number @gpu. Returns 0, -ENODEV or -ESRCH. */
static int own_member_locked(u32 gpu, struct gvm_member **ret_member)
{
	struct gvm_registration *registration = gvm_registration_find_locked(gpu);

	if (!registration)
		return -ENODEV;
	*ret_member = gvm_member_find_staying_locked(registration, task_tgid(current));
	return *ret_member ? 0 : -ESRCH;
}

/* The caller's child, which does not leave yet. Returns 0, -ENODEV, -ESRCH or -ENOENT. */
static int own_child_locked(u32 gpu, u32 number, struct gvm_child **ret_child)
{
	struct gvm_member *member;
	struct gvm_child *child;
	int status = own_member_locked(gpu, &member);

	if (status)
		return status;
	list_for_each_entry(child, &member->children, node) {
		if (child->number == number && !child->leaving) {
			*ret_child = child;
			return 0;
		}
	}
	return -ENOENT;
}

/* The member's only address space. Returns 0, -EOPNOTSUPP or -ENOTUNIQ. */
static int member_space_locked(const struct gvm_member *member, void **ret_space)
{
	const struct gvm_space *named;

	if (list_empty(&member->named))
		return -EOPNOTSUPP;
	if (!list_is_singular(&member->named))
		return -ENOTUNIQ;
	named = list_first_entry(&member->named, struct gvm_space, node);
	*ret_space = named->space;
	return 0;
}

/* On error the mutex may have been dropped. */
static int child_create_locked(struct gvm_member *member, const struct gvm_window *window,
			       u32 number)
{
	struct gvm_child *child = kzalloc(sizeof(*child), GFP_KERNEL);
	char name[24];
	int status;

	if (!child)
		return -ENOMEM;
	status = gvm_child_open(member->container, window, number, &child->container);
	if (status) {
		kfree(child);
		return status;
	}
	child->space = window->space;
	child->number = number;
	list_add_tail(&child->node, &member->children);
	scnprintf(name, sizeof(name), "child.%u", number);
	status = gvm_control_dir_create_in(member->dir, name, child->container, &child->dir);
	if (status)
		child_leave_locked(child);
	return status;
}

int gvm_own_child_open(u32 gpu, u32 number, u64 va, u64 bytes)
{
	struct gvm_window window = { .va = va, .bytes = bytes };
	struct gvm_member *member;
	int status;

	gvm_mutex_lock(&gvm_registry_mutex);
	status = own_member_locked(gpu, &member);
	if (!status)
		status = member_space_locked(member, &window.space);
	if (!status)
		status = child_create_locked(member, &window, number);
	gvm_mutex_unlock(&gvm_registry_mutex);
	return status;
}

int gvm_own_child_resize(u32 gpu, u32 number, u64 bytes)
{
	struct gvm_child *child;
	int status;

	gvm_mutex_lock(&gvm_registry_mutex);
	status = own_child_locked(gpu, number, &child);
	if (!status)
		status = gvm_child_resize(child->container, bytes);
	gvm_mutex_unlock(&gvm_registry_mutex);
	return status;
}

int gvm_own_child_close(u32 gpu, u32 number)
{
	struct gvm_child *child;
	int status;

	gvm_mutex_lock(&gvm_registry_mutex);
	status = own_child_locked(gpu, number, &child);
	if (!status)
		child_leave_locked(child);
	gvm_mutex_unlock(&gvm_registry_mutex);
	return status;
}
