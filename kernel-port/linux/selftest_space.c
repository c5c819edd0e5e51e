// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * /sys/kernel/debug/gvm_selftest/space: an open file of it is like an open device file of a
 * GPU's driver. A write makes an address space of the writing process. The address space lives
 * until the last descriptor of the file is closed: the end of the process closes its
 * descriptors, and a forked child has descriptors of its own.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "gvm_registry.h"
#include "selftest.h"

struct selftest_space {
	struct mutex mutex; /* guards all */
	struct gvm_device *device;
	struct gvm_member *member; /* NULL: not attached yet */
};

static int selftest_space_open(struct inode *inode, struct file *file)
{
	struct selftest_space *space = kzalloc(sizeof(*space), GFP_KERNEL);

	if (!space)
		return -ENOMEM;
	mutex_init(&space->mutex);
	space->device = inode->i_private;
	file->private_data = space;
	return 0;
}

static ssize_t selftest_space_write(struct file *file, const char __user *buf, size_t size,
				    loff_t *offset)
{
	struct selftest_space *space = file->private_data;
	u32 group_tgid;
	int status = kstrtou32_from_user(buf, size, 10, &group_tgid);

	if (status)
		return status;
	mutex_lock(&space->mutex);
	status = space->member ? -EBUSY :
				 gvm_process_attach(space->device, group_tgid, &space->member);
	mutex_unlock(&space->mutex);
	return status ? status : (ssize_t)size;
}

static int selftest_space_release(struct inode *inode, struct file *file)
{
	struct selftest_space *space = file->private_data;

	if (space->member)
		gvm_process_detach(space->member);
	kfree(space);
	return 0;
}

const struct file_operations selftest_space_fops = {
	.owner = THIS_MODULE,
	.open = selftest_space_open,
	.release = selftest_space_release,
	.write = selftest_space_write,
	.llseek = noop_llseek,
};
