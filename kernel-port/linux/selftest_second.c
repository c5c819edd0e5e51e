// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * /sys/kernel/debug/gvm_selftest/second: a GPU that is added and removed while processes use
 * it. Nothing runs on it, so the core never calls its ops.
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

/* Also returns -EEXIST or -ENOENT: the GPU is there or gone already. */
int selftest_second_set(bool present)
{
	static const struct gvm_device_config config = {
		.name = "second",
		.chunk_count = 16,
		.ops = &selftest_second_ops,
		.default_timeslice_us = 1024,
	};
	int status = 0;

	mutex_lock(&selftest_second_mutex);
	if (present == !!selftest_second) {
		status = present ? -EEXIST : -ENOENT;
	} else if (present) {
		status = gvm_device_register(&config, 0, &selftest_second);
	} else {
		gvm_device_unregister(selftest_second);
		selftest_second = NULL;
	}
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
