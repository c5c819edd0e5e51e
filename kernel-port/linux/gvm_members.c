// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * See gvm_members.h. A process is its struct pid and a cgroup its struct cgroup, so a number or
 * a path that is used again never leads to an older container. The core's name of a container
 * is the number of a living process in it, or 0, and is for people alone.
 *
 * A member leaves in three steps, because operations on its control files may be running: it is
 * marked, its directory is removed without the mutex, it is freed. A process that attaches
 * meanwhile with the same identity waits for the last step. A member whose directory could not
 * be made leaves in the same way, since one of its files may be open.
 */
#include "gvm_members.h"

#include <linux/cgroup.h>
#include <linux/pid.h>

#include "gvm_control_files.h"
#include "gvm_identity.h"

/*
 * Parents that are asked for a container. A process with more above it could have left it by
 * two forks.
 */
#define GVM_PARENTS_MAX 64u

struct gvm_mutex gvm_registry_mutex; /* gvm_init() prepares it */
LIST_HEAD(gvm_registrations);
LIST_HEAD(gvm_cgroups);
DECLARE_WAIT_QUEUE_HEAD(gvm_member_left);

struct gvm_registration *gvm_registration_find_locked(u32 gpu)
{
	struct gvm_registration *registration;

	gvm_mutex_assert_held(&gvm_registry_mutex);
	list_for_each_entry(registration, &gvm_registrations, node)
		if (registration->index == gpu)
			return registration;
	return NULL;
}

struct gvm_member *gvm_member_find_locked(struct gvm_registration *registration,
					  const struct pid *pid)
{
	struct gvm_member *member;

	gvm_mutex_assert_held(&gvm_registry_mutex);
	list_for_each_entry(member, &registration->members, node)
		if (member->pid && member->pid == pid)
			return member;
	return NULL;
}

struct gvm_member *gvm_member_find_staying_locked(struct gvm_registration *registration,
						  const struct pid *pid)
{
	struct gvm_member *member = gvm_member_find_locked(registration, pid);

	return member && !member->leaving ? member : NULL;
}

/* Name a container after one of its living processes, or after none: 0. */
static void gvm_container_name_locked(struct gvm_registration *registration,
				      struct gvm_container *container)
{
	struct gvm_member *member;
	u32 tgid = 0;

	list_for_each_entry(member, &registration->members, node) {
		if (member->container != container || !member->pid || member->leaving ||
		    !gvm_pid_is_alive(member->pid))
			continue;
		tgid = (u32)pid_nr(member->pid);
		if (tgid == container->tgid)
			return;
	}
	gvm_container_rename(container, tgid);
}

/*
 * The last address space goes. Until the directory is removed, operations on its files may be
 * running; until then the container keeps this member's reference.
 */
static void gvm_member_leave_locked(struct gvm_member *member)
{
	struct gvm_registration *registration = member->registration;
	struct gvm_container *container = member->container;

	member->leaving = true;
	WARN_ON_ONCE(!list_empty(&member->named) || !list_empty(&member->children));
	gvm_mutex_unlock(&gvm_registry_mutex);
	gvm_control_dir_remove(member->dir);
	gvm_mutex_lock(&gvm_registry_mutex);
	gvm_control_dir_free(member->dir);
	list_del(&member->node);
	gvm_container_name_locked(registration, container);
	gvm_container_detach(container);
	put_pid(member->pid);
	if (member->cgroup)
		member->cgroup->members--;
	kfree(member);
	wake_up_all(&gvm_member_left);
}

/*
 * Take the number @tgid from a container whose process has gone while its context is still there.
 * @pid has it now.
 */
static void gvm_free_name_locked(struct gvm_registration *registration, const struct pid *pid,
				 u32 tgid)
{
	struct gvm_member *other;

	list_for_each_entry(other, &registration->members, node)
		if (tgid && other->pid != pid && other->container->tgid == tgid)
			gvm_container_name_locked(registration, other->container);
}

/*
 * Join @container as a process called @tgid (0: a cgroup), or (NULL) make one. Returns 0 or
 * -errno.
 */
static int gvm_member_join_locked(struct gvm_registration *registration, u32 tgid,
				  struct gvm_container *container,
				  struct gvm_container **ret_container)
{
	if (!container)
		return gvm_container_create(&registration->device, tgid, ret_container);
	gvm_container_join(container);
	if (tgid && !container->tgid)
		gvm_container_rename(container, tgid);
	*ret_container = container;
	return 0;
}

int gvm_member_create_locked(struct gvm_registration *registration,
			     struct gvm_container *container, struct pid *pid,
			     struct gvm_cgroup *cgroup, struct gvm_member **ret_member)
{
	u32 tgid = pid ? (u32)pid_nr(pid) : 0;
	struct gvm_member *member;
	char name[16];
	int status;

	member = kzalloc(sizeof(*member), GFP_KERNEL);
	if (!member)
		return -ENOMEM;
	gvm_free_name_locked(registration, pid, tgid);
	status = gvm_member_join_locked(registration, tgid, container, &member->container);
	if (status) {
		kfree(member);
		return status;
	}
	member->registration = registration;
	member->pid = get_pid(pid);
	member->cgroup = cgroup;
	member->spaces = 1;
	INIT_LIST_HEAD(&member->named);
	INIT_LIST_HEAD(&member->children);
	if (cgroup)
		cgroup->members++;
	list_add_tail(&member->node, &registration->members);
	scnprintf(name, sizeof(name), "%u", tgid);
	status = gvm_control_dir_create(cgroup ? cgroup->path : name, pid, registration->index,
					member->container, &member->dir);
	if (status)
		gvm_member_leave_locked(member);
	else
		*ret_member = member;
	return status;
}

void gvm_member_detach_locked(struct gvm_member *member)
{
	if (member->spaces == 1) {
		gvm_member_leave_locked(member);
		return;
	}
	member->spaces--;
	gvm_container_detach(member->container);
}

/* The cgroup's member whose container processes in @pid's cgroup get; or NULL. */
static struct gvm_member *gvm_member_of_cgroup_locked(struct gvm_registration *registration,
						      struct pid *pid)
{
	struct gvm_member *member;

	list_for_each_entry(member, &registration->members, node)
		if (member->cgroup && !member->leaving &&
		    gvm_cgroup_has(member->cgroup->cgroup, pid))
			return member;
	return NULL;
}

/* Is it the container of a cgroup? */
static bool gvm_container_is_cgroups_locked(struct gvm_registration *registration,
					    const struct gvm_container *container)
{
	struct gvm_member *member;

	list_for_each_entry(member, &registration->members, node)
		if (member->cgroup && member->container == container)
			return true;
	return false;
}

/*
 * The container that the nearest parent of @pid with one is in, unless it is a cgroup's; or
 * NULL.
 */
static struct gvm_container *
gvm_container_of_parents_locked(struct gvm_registration *registration, struct pid *pid)
{
	struct gvm_container *container = NULL;
	struct pid *parent = gvm_pid_get_parent(pid);

	for (u32 i = 0; parent && !container && i < GVM_PARENTS_MAX; i++) {
		struct gvm_member *member =
			gvm_member_find_staying_locked(registration, parent);
		struct pid *next = gvm_pid_get_parent(parent);

		if (member)
			container = member->container;
		put_pid(parent);
		parent = next;
	}
	put_pid(parent);
	if (container && gvm_container_is_cgroups_locked(registration, container))
		return NULL;
	return container;
}

/*
 * The container for @pid, which names @group or no process: see gvm_registry.h. NULL: a new
 * one. Returns 0, -ESRCH or -EPERM.
 */
static int gvm_container_choose_locked(struct gvm_registration *registration, struct pid *group,
				       struct pid *pid, struct gvm_container **ret_container)
{
	struct gvm_member *cgroup = gvm_member_of_cgroup_locked(registration, pid);
	struct gvm_member *leader;

	*ret_container = cgroup ? cgroup->container : NULL;
	if (!group) {
		if (!cgroup)
			*ret_container = gvm_container_of_parents_locked(registration, pid);
		return 0;
	}
	leader = gvm_member_find_staying_locked(registration, group);
	if (!leader)
		return -ESRCH;
	if (!gvm_pid_is_permitted(group))
		return -EPERM;
	if (cgroup)
		return leader->container == cgroup->container ? 0 : -EPERM;
	if (gvm_container_is_cgroups_locked(registration, leader->container))
		return -EPERM;
	*ret_container = leader->container;
	return 0;
}

/* @group is another process than @pid, or NULL. */
int gvm_member_attach_locked(struct gvm_registration *registration, struct pid *group,
			     struct pid *pid, struct gvm_member **ret_member)
{
	struct gvm_member *member = gvm_member_find_locked(registration, pid);
	struct gvm_container *container;
	int status;

	if (!member) {
		status = gvm_container_choose_locked(registration, group, pid, &container);
		return status ? status :
				gvm_member_create_locked(registration, container, pid, NULL,
							 ret_member);
	}
	if (group) {
		const struct gvm_member *leader =
			gvm_member_find_staying_locked(registration, group);

		if (!leader)
			return -ESRCH;
		if (leader->container != member->container)
			return -EEXIST;
	}
	gvm_container_join(member->container);
	member->spaces++;
	*ret_member = member;
	return 0;
}
