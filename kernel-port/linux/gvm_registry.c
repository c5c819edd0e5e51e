// SPDX-License-Identifier: MIT OR GPL-2.0
/* Registered devices, and the calls by which processes come and go; see gvm_registry.h. */
#include "gvm_registry.h"

#include <linux/idr.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/seq_file.h>

#include "gvm/activity.h"
#include "gvm/charge.h"
#include "gvm_cgroups.h"
#include "gvm_identity.h"
#include "gvm_members.h"

static DEFINE_IDA(gvm_indices);

/* Set before the first device is registered. */
static void (*gvm_registry_unregister_hook)(struct gvm_device *device);

void gvm_registry_on_unregister(void (*hook)(struct gvm_device *device))
{
	gvm_registry_unregister_hook = hook;
}

static struct gvm_registration *gvm_registration_of(const struct gvm_device *device)
{
	return container_of(device, struct gvm_registration, device);
}

u32 gvm_device_index(const struct gvm_device *device)
{
	return gvm_registration_of(device)->index;
}

struct gvm_container *gvm_member_container(const struct gvm_member *member)
{
	return member->container;
}

void gvm_process_detach(struct gvm_member *member)
{
	gvm_mutex_lock(&gvm_registry_mutex);
	if (!WARN_ON_ONCE(member->leaving || member->spaces == member->by_hand))
		gvm_member_detach_locked(member);
	gvm_mutex_unlock(&gvm_registry_mutex);
}

/* Does @pid leave just now? */
static bool gvm_member_is_leaving_locked(struct gvm_registration *registration,
					 const struct pid *pid)
{
	struct gvm_member *member = gvm_member_find_locked(registration, pid);

	return member && member->leaving;
}

int gvm_process_attach(struct gvm_device *device, u32 group_tgid,
		       struct gvm_member **ret_member)
{
	struct gvm_registration *registration = gvm_registration_of(device);
	struct pid *pid = task_tgid(current);
	struct pid *group = NULL;
	int status;

	if (group_tgid) {
		group = gvm_pid_get(group_tgid);
		if (!group)
			return -ESRCH;
	}
	gvm_mutex_lock(&gvm_registry_mutex);
	wait_event_cmd(gvm_member_left, !gvm_member_is_leaving_locked(registration, pid),
		       gvm_mutex_unlock(&gvm_registry_mutex),
		       gvm_mutex_lock(&gvm_registry_mutex));
	status = gvm_member_attach_locked(registration, group == pid ? NULL : group, pid,
					  ret_member);
	gvm_mutex_unlock(&gvm_registry_mutex);
	put_pid(group);
	return status;
}

int gvm_process_find(u32 tgid, u32 gpu, struct gvm_container **ret_container)
{
	struct gvm_registration *registration;
	struct gvm_member *member = NULL;
	struct pid *pid = gvm_pid_get(tgid);
	int status = -ESRCH;

	gvm_mutex_lock(&gvm_registry_mutex);
	registration = gvm_registration_find_locked(gpu);
	if (registration)
		member = gvm_member_find_staying_locked(registration, pid);
	else
		status = -ENODEV;
	if (member)
		status = gvm_pid_is_permitted(pid) ? 0 : -EPERM;
	if (!status) {
		gvm_container_get(member->container);
		*ret_container = member->container;
	}
	gvm_mutex_unlock(&gvm_registry_mutex);
	put_pid(pid);
	return status;
}

/* Processes that are attached by hand. */

int gvm_registry_attach(u32 tgid, u32 gpu, u32 group_tgid)
{
	struct gvm_registration *registration;
	struct gvm_member *member;
	struct pid *pid, *group;
	int status;

	if (tgid == 0 || group_tgid == 0)
		return -EINVAL;
	pid = gvm_pid_get(tgid);
	group = gvm_pid_get(group_tgid);
	gvm_mutex_lock(&gvm_registry_mutex);
	registration = gvm_registration_find_locked(gpu);
	member = registration && pid ? gvm_member_find_locked(registration, pid) : NULL;
	if (!registration)
		status = -ENODEV;
	else if (!pid || !group || !gvm_pid_is_alive(pid))
		status = -ESRCH; /* its number may have become another process's meanwhile */
	else if (member && member->leaving)
		status = -EBUSY; /* the device itself may go: nothing to wait for */
	else if (member && member->by_hand)
		status = -EEXIST;
	else
		status = gvm_member_attach_locked(registration, group == pid ? NULL : group,
						  pid, &member);
	if (!status)
		member->by_hand = true;
	gvm_mutex_unlock(&gvm_registry_mutex);
	put_pid(pid);
	put_pid(group);
	return status;
}

/* Has the container any memory on the device or on the host? */
static bool gvm_container_has_memory(struct gvm_container *container)
{
	bool has_memory;

	/* The books of a dead device are not valid, and its memory is never freed. */
	if (!gvm_books_lock(container->device))
		return false;
	has_memory = container->charged_bytes || container->swapped_bytes;
	gvm_spin_unlock(&container->device->lock);
	return has_memory;
}

/* Is it the last member of its container on this device? */
static bool gvm_member_is_last_locked(const struct gvm_member *member)
{
	struct gvm_member *other;

	if (member->spaces > 1)
		return false;
	list_for_each_entry(other, &member->registration->members, node)
		if (other != member && !other->leaving && other->container == member->container)
			return false;
	return true;
}

/*
 * Detach @member, unless that would leave memory without an owner. A driver that charges a
 * process holds it attached itself, so nothing can be charged between the look and the detach.
 */
static int gvm_registry_detach_locked(struct gvm_member *member)
{
	if (!member)
		return -ENOENT;
	if (gvm_member_is_last_locked(member) && gvm_container_has_memory(member->container))
		return -EBUSY;
	member->by_hand = false;
	gvm_member_detach_locked(member);
	return 0;
}

/*
 * A process that was attached by hand and does not leave yet: by its number, also after its
 * death. Or NULL.
 */
static struct gvm_member *gvm_member_by_hand_locked(struct gvm_registration *registration,
						    u32 tgid)
{
	struct pid_namespace *namespace = task_active_pid_ns(current);
	struct gvm_member *found = NULL;
	struct gvm_member *member;

	list_for_each_entry(member, &registration->members, node) {
		if (!member->by_hand || member->leaving ||
		    (tgid && (u32)pid_nr_ns(member->pid, namespace) != tgid))
			continue;
		found = member;
		if (gvm_pid_is_alive(member->pid))
			break;
	}
	return found;
}

int gvm_registry_detach(u32 tgid, u32 gpu)
{
	struct gvm_registration *registration;
	int status;

	if (tgid == 0)
		return -ENOENT;
	gvm_mutex_lock(&gvm_registry_mutex);
	registration = gvm_registration_find_locked(gpu);
	status = registration ? gvm_registry_detach_locked(
					gvm_member_by_hand_locked(registration, tgid)) :
				-ENODEV;
	gvm_mutex_unlock(&gvm_registry_mutex);
	return status;
}

/* Devices. */

int gvm_device_register(const struct gvm_device_config *config, u32 number,
			struct gvm_device **ret_device)
{
	struct gvm_registration *registration;
	int status;

	registration = kzalloc(sizeof(*registration), GFP_KERNEL);
	if (!registration)
		return -ENOMEM;
	status = gvm_device_init(&registration->device, config);
	if (status)
		goto err_free;
	status = ida_alloc_range(&gvm_indices, number, number, GFP_KERNEL);
	if (status == -ENOSPC)
		status = ida_alloc(&gvm_indices, GFP_KERNEL);
	if (status < 0)
		goto err_destroy;
	registration->index = status;
	INIT_LIST_HEAD(&registration->members);

	gvm_mutex_lock(&gvm_registry_mutex);
	list_add_tail(&registration->node, &gvm_registrations);
	status = gvm_cgroups_add_device_locked(registration);
	gvm_mutex_unlock(&gvm_registry_mutex);
	if (status) {
		gvm_device_unregister(&registration->device);
		return status;
	}
	gvm_info("gpu %u is %s with %u chunks", registration->index, config->name,
		 config->chunk_count);
	*ret_device = &registration->device;
	return 0;

err_destroy:
	gvm_device_destroy(&registration->device);
err_free:
	kfree(registration);
	return status;
}

/*
 * Off the list of devices first, so that no process is attached by hand any more, and no
 * cgroup.
 */
void gvm_device_unregister(struct gvm_device *device)
{
	struct gvm_registration *registration = gvm_registration_of(device);
	struct gvm_member *member;

	/* A writer that waits for a resume would keep its member's directory. */
	gvm_device_end(device);
	gvm_mutex_lock(&gvm_registry_mutex);
	list_del(&registration->node);
	while ((member = gvm_member_by_hand_locked(registration, 0))) {
		member->by_hand = false;
		gvm_member_detach_locked(member);
	}
	gvm_cgroups_remove_device_locked(registration);
	wait_event_cmd(gvm_member_left, list_empty(&registration->members),
		       gvm_mutex_unlock(&gvm_registry_mutex),
		       gvm_mutex_lock(&gvm_registry_mutex));
	gvm_mutex_unlock(&gvm_registry_mutex);

	if (gvm_registry_unregister_hook)
		gvm_registry_unregister_hook(device);
	gvm_device_destroy(device);
	ida_free(&gvm_indices, registration->index);
	/* Containers of a dead device are never freed, and they point to it. */
	if (!gvm_device_is_dead(device))
		kfree(registration);
}

void gvm_registry_show(struct seq_file *seq)
{
	struct gvm_registration *registration;
	u32 containers;

	gvm_mutex_lock(&gvm_registry_mutex);
	list_for_each_entry(registration, &gvm_registrations, node) {
		gvm_spin_lock(&registration->device.lock);
		containers = registration->device.container_count;
		gvm_spin_unlock(&registration->device.lock);
		seq_printf(seq, "%u %s chunks %u containers %u\n", registration->index,
			   registration->device.name, registration->device.chunk_count,
			   containers);
	}
	gvm_mutex_unlock(&gvm_registry_mutex);
}
