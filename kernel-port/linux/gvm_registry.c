// SPDX-License-Identifier: MIT OR GPL-2.0
/* Registered devices and the containers attached to them by hand; see gvm_registry.h. */
#include "gvm_registry.h"

#include <linux/idr.h>
#include <linux/seq_file.h>

#include "gvm/charge.h"
#include "gvm_debugfs.h"

/* A registered device. Guarded by gvm_registry_mutex but for what is set once. */
struct gvm_registration {
	struct gvm_device device;
	struct list_head node;	      /* in gvm_registrations */
	struct list_head attachments; /* gvm_attachment.node */
	u32 index;		      /* set once */
};

/* A container that somebody attached through debugfs. Guarded by gvm_registry_mutex. */
struct gvm_attachment {
	struct list_head node; /* in gvm_registration.attachments */
	u32 tgid;
	struct gvm_container *container; /* the reference of its one process */
	struct gvm_debugfs_dir *dir;
};

/* Guards all of this file; see gvm_registry.h for its place in the order of locks. */
static DEFINE_MUTEX(gvm_registry_mutex);
static LIST_HEAD(gvm_registrations);
static DEFINE_IDA(gvm_indices);

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
	INIT_LIST_HEAD(&registration->attachments);

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

/*
 * The directory goes first: once it has gone, nobody is inside an operation on a control file
 * and an open file answers -EIO, so the container has no other user from there.
 */
static void gvm_attachment_destroy_locked(struct gvm_attachment *attachment)
{
	lockdep_assert_held(&gvm_registry_mutex);
	list_del(&attachment->node);
	gvm_debugfs_dir_destroy(attachment->dir);
	gvm_container_detach(attachment->container);
	kfree(attachment);
}

void gvm_device_unregister(struct gvm_device *device)
{
	struct gvm_registration *registration;
	struct gvm_attachment *attachment;
	struct gvm_attachment *next;

	registration = container_of(device, struct gvm_registration, device);
	mutex_lock(&gvm_registry_mutex);
	list_del(&registration->node);
	list_for_each_entry_safe(attachment, next, &registration->attachments, node)
		gvm_attachment_destroy_locked(attachment);
	mutex_unlock(&gvm_registry_mutex);

	gvm_device_destroy(device);
	ida_free(&gvm_indices, registration->index);
	kfree(registration);
}

u32 gvm_device_index(const struct gvm_device *device)
{
	return container_of(device, struct gvm_registration, device)->index;
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

/* What was attached of @tgid, or NULL. */
static struct gvm_attachment *gvm_attachment_find_locked(struct gvm_registration *registration,
							 u32 tgid)
{
	struct gvm_attachment *attachment;

	list_for_each_entry(attachment, &registration->attachments, node)
		if (attachment->tgid == tgid)
			return attachment;
	return NULL;
}

/* Make the container of @tgid, its directory and the record of both. Returns 0 or -ENOMEM. */
static int gvm_attachment_create_locked(struct gvm_registration *registration, u32 tgid)
{
	struct gvm_attachment *attachment;
	int ret;

	attachment = kzalloc(sizeof(*attachment), GFP_KERNEL);
	if (!attachment)
		return -ENOMEM;
	attachment->tgid = tgid;
	ret = gvm_container_attach(&registration->device, tgid, &attachment->container);
	if (ret)
		goto err_free;
	ret = gvm_debugfs_dir_create(tgid, registration->index, attachment->container,
				     &attachment->dir);
	if (ret)
		goto err_detach;
	list_add_tail(&attachment->node, &registration->attachments);
	return 0;

err_detach:
	gvm_container_detach(attachment->container);
err_free:
	kfree(attachment);
	return ret;
}

int gvm_registry_attach(u32 tgid, u32 gpu)
{
	struct gvm_registration *registration;
	int ret;

	if (tgid == 0)
		return -EINVAL;
	mutex_lock(&gvm_registry_mutex);
	registration = gvm_registration_find_locked(gpu);
	if (!registration)
		ret = -ENODEV;
	else if (gvm_attachment_find_locked(registration, tgid))
		ret = -EEXIST;
	else
		ret = gvm_attachment_create_locked(registration, tgid);
	mutex_unlock(&gvm_registry_mutex);
	return ret;
}

/*
 * Detach @tgid, unless that would leave chunks without an owner. A driver that charges a process
 * holds it attached itself, so nothing can be charged between the look and the detach.
 */
static int gvm_attachment_detach_locked(struct gvm_registration *registration, u32 tgid)
{
	struct gvm_attachment *attachment = gvm_attachment_find_locked(registration, tgid);

	if (!attachment)
		return -ENOENT;
	if (gvm_charged_bytes(attachment->container))
		return -EBUSY;
	gvm_attachment_destroy_locked(attachment);
	return 0;
}

int gvm_registry_detach(u32 tgid, u32 gpu)
{
	struct gvm_registration *registration;
	int ret;

	mutex_lock(&gvm_registry_mutex);
	registration = gvm_registration_find_locked(gpu);
	ret = registration ? gvm_attachment_detach_locked(registration, tgid) : -ENODEV;
	mutex_unlock(&gvm_registry_mutex);
	return ret;
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
