// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Registered devices, and which process is in which container; see gvm_registry.h.
 *
 * The core knows containers, each by the tgid of one of its processes. This file knows the processes:
 * a member is a process on a device, with a directory of its own. So a container is always named after
 * a living process, and a tgid that is used again never leads to it.
 *
 * A member leaves in three steps, because operations on its control files may be running: it is
 * marked, its directory is removed without the mutex, it is freed. A process that attaches with the
 * same tgid meanwhile waits for the last step.
 */
#include "gvm_registry.h"

#include <linux/idr.h>
#include <linux/seq_file.h>

#include "gvm/charge.h"
#include "gvm_control_files.h"

/* A registered device. Guarded by gvm_registry_mutex but for what is set once. */
struct gvm_registration {
	struct gvm_device device;
	struct list_head node;	  /* in gvm_registrations */
	struct list_head members; /* gvm_member.node */
	u32 index;		  /* set once */
};

/* A process on a device. Guarded by gvm_registry_mutex. */
struct gvm_member {
	struct list_head node; /* in gvm_registration.members */
	u32 tgid;
	u32 spaces;			 /* attached by anybody */
	bool by_hand;			 /* one of these */
	bool leaving;			 /* its directory is being removed: not to be joined */
	struct gvm_container *container; /* held by each of the spaces */
	struct gvm_control_dir *dir;
};

/* Guards all of this file; see gvm_registry.h for its place in the order of locks. */
static DEFINE_MUTEX(gvm_registry_mutex);
static LIST_HEAD(gvm_registrations);
static DEFINE_IDA(gvm_indices);
static DECLARE_WAIT_QUEUE_HEAD(gvm_member_left);

/* Set before the first device is registered. */
static void (*gvm_registry_unregister_hook)(struct gvm_device *device);

void gvm_registry_on_unregister(void (*hook)(struct gvm_device *device))
{
	gvm_registry_unregister_hook = hook;
}

int gvm_device_register(const struct gvm_device_config *config, struct gvm_device **ret_device)
{
	struct gvm_registration *registration;
	int ret;

	registration = kzalloc(sizeof(*registration), GFP_KERNEL);
	if (!registration)
		return -ENOMEM;
	ret = gvm_device_init(&registration->device, config);
	if (ret)
		goto err_free;
	ret = ida_alloc(&gvm_indices, GFP_KERNEL);
	if (ret < 0)
		goto err_destroy;
	registration->index = ret;
	INIT_LIST_HEAD(&registration->members);

	mutex_lock(&gvm_registry_mutex);
	list_add_tail(&registration->node, &gvm_registrations);
	mutex_unlock(&gvm_registry_mutex);

	gvm_info("gpu %u is %s with %u chunks", registration->index, config->name,
		 config->chunk_count);
	*ret_device = &registration->device;
	return 0;

err_destroy:
	gvm_device_destroy(&registration->device);
err_free:
	kfree(registration);
	return ret;
}

static struct gvm_registration *gvm_registration_of(const struct gvm_device *device)
{
	return container_of(device, struct gvm_registration, device);
}

u32 gvm_device_index(const struct gvm_device *device)
{
	return gvm_registration_of(device)->index;
}

/* The device number @gpu, or NULL. */
static struct gvm_registration *gvm_registration_find_locked(u32 gpu)
{
	struct gvm_registration *registration;

	list_for_each_entry(registration, &gvm_registrations, node)
		if (registration->index == gpu)
			return registration;
	return NULL;
}

/* The process @tgid, leaving or not; or NULL. */
static struct gvm_member *gvm_member_find_locked(struct gvm_registration *registration,
						 u32 tgid)
{
	struct gvm_member *member;

	lockdep_assert_held(&gvm_registry_mutex);
	list_for_each_entry(member, &registration->members, node)
		if (member->tgid == tgid)
			return member;
	return NULL;
}

static struct gvm_member *gvm_member_find_staying_locked(struct gvm_registration *registration,
							 u32 tgid)
{
	struct gvm_member *member = gvm_member_find_locked(registration, tgid);

	return member && !member->leaving ? member : NULL;
}

static bool gvm_member_is_leaving_locked(struct gvm_registration *registration, u32 tgid)
{
	struct gvm_member *member = gvm_member_find_locked(registration, tgid);

	return member && member->leaving;
}

/* Another process of the container, if need be one that leaves as well; or NULL. */
static struct gvm_member *gvm_member_other_locked(struct gvm_registration *registration,
						  const struct gvm_member *member)
{
	struct gvm_member *found = NULL;
	struct gvm_member *other;

	list_for_each_entry(other, &registration->members, node) {
		if (other == member || other->container != member->container)
			continue;
		found = other;
		if (!other->leaving)
			break;
	}
	return found;
}

/* A first address space of @tgid, in the container called @key. Returns 0 or -ENOMEM. */
static int gvm_member_create_locked(struct gvm_registration *registration, u32 key, u32 tgid)
{
	struct gvm_member *member;
	int ret;

	member = kzalloc(sizeof(*member), GFP_KERNEL);
	if (!member)
		return -ENOMEM;
	member->tgid = tgid;
	member->spaces = 1;
	ret = gvm_container_attach(&registration->device, key, &member->container);
	if (ret)
		goto err_free;
	ret = gvm_control_dir_create(tgid, registration->index, member->container,
				     &member->dir);
	if (ret)
		goto err_detach;
	list_add_tail(&member->node, &registration->members);
	return 0;

err_detach:
	gvm_container_detach(member->container);
err_free:
	kfree(member);
	return ret;
}

/* One more address space. A container that has a process is found, so this makes none. */
static int gvm_member_add_space_locked(struct gvm_registration *registration,
				       struct gvm_member *member)
{
	struct gvm_container *container;
	int ret = gvm_container_attach(&registration->device, member->container->tgid,
				       &container);

	if (ret == 0)
		member->spaces++;
	return ret;
}

static int gvm_member_attach_locked(struct gvm_registration *registration, u32 group_tgid,
				    u32 tgid)
{
	struct gvm_member *member;
	struct gvm_member *leader;

	member = gvm_member_find_locked(registration, tgid);
	leader = gvm_member_find_staying_locked(registration, group_tgid);
	if (!leader && group_tgid != tgid)
		return -ESRCH;
	if (!member)
		return gvm_member_create_locked(registration,
						leader ? leader->container->tgid : tgid, tgid);
	if (member->container != leader->container)
		return -EEXIST;
	return gvm_member_add_space_locked(registration, member);
}

int gvm_process_attach(struct gvm_device *device, u32 group_tgid, u32 tgid,
		       struct gvm_container **ret_container)
{
	struct gvm_registration *registration = gvm_registration_of(device);
	int ret;

	if (tgid == 0 || group_tgid == 0)
		return -EINVAL;
	mutex_lock(&gvm_registry_mutex);
	wait_event_cmd(gvm_member_left, !gvm_member_is_leaving_locked(registration, tgid),
		       mutex_unlock(&gvm_registry_mutex), mutex_lock(&gvm_registry_mutex));
	ret = gvm_member_attach_locked(registration, group_tgid, tgid);
	if (ret == 0)
		*ret_container = gvm_member_find_locked(registration, tgid)->container;
	mutex_unlock(&gvm_registry_mutex);
	return ret;
}

/*
 * The last address space goes. Until the directory is removed, operations on its files may be running;
 * until then the container keeps a process, and this one's reference.
 */
static void gvm_member_leave_locked(struct gvm_registration *registration,
				    struct gvm_member *member)
{
	struct gvm_container *container = member->container;
	struct gvm_member *heir;

	member->leaving = true;
	mutex_unlock(&gvm_registry_mutex);
	gvm_control_dir_remove(member->dir);
	mutex_lock(&gvm_registry_mutex);
	gvm_control_dir_free(member->dir);
	heir = gvm_member_other_locked(registration, member);
	if (heir && container->tgid == member->tgid)
		gvm_container_rename(container, heir->tgid);
	list_del(&member->node);
	gvm_container_detach(container);
	kfree(member);
	wake_up_all(&gvm_member_left);
}

static void gvm_member_detach_locked(struct gvm_registration *registration,
				     struct gvm_member *member)
{
	if (member->spaces == 1) {
		gvm_member_leave_locked(registration, member);
		return;
	}
	member->spaces--;
	gvm_container_detach(member->container);
}

void gvm_process_detach(struct gvm_device *device, u32 tgid, struct gvm_container *container)
{
	struct gvm_registration *registration = gvm_registration_of(device);
	struct gvm_member *member;

	mutex_lock(&gvm_registry_mutex);
	member = gvm_member_find_staying_locked(registration, tgid);
	if (!WARN_ON_ONCE(!member || member->container != container ||
			  member->spaces == member->by_hand))
		gvm_member_detach_locked(registration, member);
	mutex_unlock(&gvm_registry_mutex);
}

int gvm_process_find(u32 tgid, u32 gpu, struct gvm_container **ret_container)
{
	struct gvm_registration *registration;
	struct gvm_member *member = NULL;

	mutex_lock(&gvm_registry_mutex);
	registration = gvm_registration_find_locked(gpu);
	if (registration)
		member = gvm_member_find_staying_locked(registration, tgid);
	if (member) {
		gvm_container_get(member->container);
		*ret_container = member->container;
	}
	mutex_unlock(&gvm_registry_mutex);
	if (!registration)
		return -ENODEV;
	return member ? 0 : -ESRCH;
}

static int gvm_registry_attach_locked(struct gvm_registration *registration, u32 group_tgid,
				      u32 tgid)
{
	struct gvm_member *member = gvm_member_find_locked(registration, tgid);
	int ret;

	if (member && member->leaving)
		return -EBUSY; /* the device itself may go: nothing to wait for */
	if (member && member->by_hand)
		return -EEXIST;
	ret = gvm_member_attach_locked(registration, group_tgid, tgid);
	if (ret == 0)
		gvm_member_find_locked(registration, tgid)->by_hand = true;
	return ret;
}

int gvm_registry_attach(u32 tgid, u32 gpu, u32 group_tgid)
{
	struct gvm_registration *registration;
	int ret;

	if (tgid == 0 || group_tgid == 0)
		return -EINVAL;
	mutex_lock(&gvm_registry_mutex);
	registration = gvm_registration_find_locked(gpu);
	ret = registration ? gvm_registry_attach_locked(registration, group_tgid, tgid) :
			     -ENODEV;
	mutex_unlock(&gvm_registry_mutex);
	return ret;
}

/* Has it anything on the device or in host memory? */
static bool gvm_container_has_memory(struct gvm_container *container)
{
	bool has_memory;

	gvm_spin_lock(&container->device->lock);
	has_memory = container->charged_bytes || container->swapped_bytes;
	gvm_spin_unlock(&container->device->lock);
	return has_memory;
}

/*
 * Detach @tgid, unless that would leave memory without an owner. A driver that charges a process
 * holds it attached itself, so nothing can be charged between the look and the detach.
 */
static int gvm_registry_detach_locked(struct gvm_registration *registration, u32 tgid)
{
	struct gvm_member *member = gvm_member_find_staying_locked(registration, tgid);
	struct gvm_member *other;

	if (!member || !member->by_hand)
		return -ENOENT;
	other = gvm_member_other_locked(registration, member);
	if (member->spaces == 1 && (!other || other->leaving) &&
	    gvm_container_has_memory(member->container))
		return -EBUSY;
	member->by_hand = false;
	gvm_member_detach_locked(registration, member);
	return 0;
}

int gvm_registry_detach(u32 tgid, u32 gpu)
{
	struct gvm_registration *registration;
	int ret;

	mutex_lock(&gvm_registry_mutex);
	registration = gvm_registration_find_locked(gpu);
	ret = registration ? gvm_registry_detach_locked(registration, tgid) : -ENODEV;
	mutex_unlock(&gvm_registry_mutex);
	return ret;
}

/* Somebody who was attached by hand and has not begun to leave; or NULL. */
static struct gvm_member *gvm_member_by_hand_locked(struct gvm_registration *registration)
{
	struct gvm_member *member;

	list_for_each_entry(member, &registration->members, node)
		if (member->by_hand && !member->leaving)
			return member;
	return NULL;
}

/* Off the list of devices first, so that no process is attached by hand any more. */
void gvm_device_unregister(struct gvm_device *device)
{
	struct gvm_registration *registration = gvm_registration_of(device);
	struct gvm_member *member;

	mutex_lock(&gvm_registry_mutex);
	list_del(&registration->node);
	while ((member = gvm_member_by_hand_locked(registration))) {
		member->by_hand = false;
		gvm_member_detach_locked(registration, member);
	}
	wait_event_cmd(gvm_member_left, list_empty(&registration->members),
		       mutex_unlock(&gvm_registry_mutex), mutex_lock(&gvm_registry_mutex));
	mutex_unlock(&gvm_registry_mutex);

	if (gvm_registry_unregister_hook)
		gvm_registry_unregister_hook(device);
	gvm_device_destroy(device);
	ida_free(&gvm_indices, registration->index);
	kfree(registration);
}

void gvm_registry_show(struct seq_file *seq)
{
	struct gvm_registration *registration;
	u32 containers;

	mutex_lock(&gvm_registry_mutex);
	list_for_each_entry(registration, &gvm_registrations, node) {
		gvm_spin_lock(&registration->device.lock);
		containers = registration->device.container_count;
		gvm_spin_unlock(&registration->device.lock);
		seq_printf(seq, "%u %s chunks %u containers %u\n", registration->index,
			   registration->device.name, registration->device.chunk_count,
			   containers);
	}
	mutex_unlock(&gvm_registry_mutex);
}
