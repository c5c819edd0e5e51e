// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * /sys/kernel/debug/gvm_selftest/second: a GPU that comes and goes while processes use it. Nothing
 * runs on it, so none of its calls is ever made.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kstrtox.h>
#include <linux/module.h>

#include "gvm_registry.h"
#include "selftest.h"

static const struct gvm_gpu_ops selftest_second_ops;

static DEFINE_MUTEX(selftest_second_mutex);
static struct gvm_device *selftest_second; /* or NULL; guarded by the mutex */

/* Returns 0, -EEXIST, -ENOENT or -ENOMEM. */
static int selftest_second_set_locked(bool present)
{
	static const struct gvm_device_config config = {
		.name = "second",
		.chunk_count = 16,
		.ops = &selftest_second_ops,
		.default_timeslice_us = 1024,
	};

	if (present == !!selftest_second)
		return present ? -EEXIST : -ENOENT;
	if (present)
		return gvm_device_register(&config, &selftest_second);
	gvm_device_unregister(selftest_second);
	selftest_second = NULL;
	return 0;
}

int selftest_second_set(bool present)
{
	int status;

	mutex_lock(&selftest_second_mutex);
	status = selftest_second_set_locked(present);
	mutex_unlock(&selftest_second_mutex);
	return status;
}

static ssize_t selftest_second_write(struct file *file, const char __user *buf, size_t size,
				     loff_t *offset)
{
	bool present;
	int status = kstrtobool_from_user(buf, size, &present);

	if (status == 0)
		status = selftest_second_set(present);
	return status ? status : (ssize_t)size;
}

const struct file_operations selftest_second_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = selftest_second_write,
	.llseek = noop_llseek,
};
