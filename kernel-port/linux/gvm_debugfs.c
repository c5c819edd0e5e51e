// SPDX-License-Identifier: MIT OR GPL-2.0
/* The files of debugfs that are about devices: devices, attach, detach. Above the registry. */
#include "gvm_debugfs.h"

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "gvm_control_files.h"
#include "gvm_registry.h"

/* The longest text that attach and detach take: three u32, spaces, newline. */
#define GVM_ATTACH_TEXT_MAX 36

/*
 * Parse "<tgid> <gpu> [<group tgid>]"; without the last, the process' own. Returns 0, -EINVAL or
 * -ERANGE.
 */
static int gvm_parse_attach(char *text, u32 values[3])
{
	char *rest = strim(text);
	u32 count = 0;
	char *word;
	int ret;

	while ((word = strsep(&rest, " "))) {
		if (!*word)
			continue;
		if (count == 3)
			return -EINVAL;
		ret = kstrtou32(word, 10, &values[count++]);
		if (ret)
			return ret;
	}
	if (count == 2)
		values[count++] = values[0];
	return count == 3 ? 0 : -EINVAL;
}

/* What attach and detach share: take a line from the user. Returns 0 or -errno. */
static int gvm_copy_attach(const char __user *buf, size_t size, u32 values[3])
{
	char text[GVM_ATTACH_TEXT_MAX];

	if (size >= sizeof(text))
		return -E2BIG;
	if (copy_from_user(text, buf, size))
		return -EFAULT;
	text[size] = '\0';
	return gvm_parse_attach(text, values);
}

static ssize_t gvm_attach_write(struct file *file, const char __user *buf, size_t size,
				loff_t *offset)
{
	u32 values[3];
	int ret = gvm_copy_attach(buf, size, values);

	if (ret == 0)
		ret = gvm_registry_attach(values[0], values[1], values[2]);
	return ret ? ret : (ssize_t)size;
}

static ssize_t gvm_detach_write(struct file *file, const char __user *buf, size_t size,
				loff_t *offset)
{
	u32 values[3];
	int ret = gvm_copy_attach(buf, size, values);

	if (ret == 0)
		ret = gvm_registry_detach(values[0], values[1]);
	return ret ? ret : (ssize_t)size;
}

/* Set when the module's init cannot fail any more. An open that runs while it fails is waited for. */
static bool gvm_debugfs_published;

static int gvm_debugfs_open(struct inode *inode, struct file *file)
{
	return READ_ONCE(gvm_debugfs_published) ? simple_open(inode, file) : -ENXIO;
}

static const struct file_operations gvm_attach_fops = {
	.owner = THIS_MODULE,
	.open = gvm_debugfs_open,
	.write = gvm_attach_write,
	.llseek = noop_llseek,
};

static const struct file_operations gvm_detach_fops = {
	.owner = THIS_MODULE,
	.open = gvm_debugfs_open,
	.write = gvm_detach_write,
	.llseek = noop_llseek,
};

static int gvm_devices_show(struct seq_file *seq, void *unused)
{
	gvm_registry_show(seq);
	return 0;
}

static int gvm_devices_open(struct inode *inode, struct file *file)
{
	if (!READ_ONCE(gvm_debugfs_published))
		return -ENXIO;
	return single_open(file, gvm_devices_show, NULL);
}

static const struct file_operations gvm_devices_fops = {
	.owner = THIS_MODULE,
	.open = gvm_devices_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

int gvm_debugfs_init(void)
{
	struct dentry *attach, *detach, *devices;
	struct dentry *root = gvm_control_files_init();

	devices = debugfs_create_file("devices", 0444, root, NULL, &gvm_devices_fops);
	attach = debugfs_create_file("attach", 0200, root, NULL, &gvm_attach_fops);
	detach = debugfs_create_file("detach", 0200, root, NULL, &gvm_detach_fops);
	if (!gvm_control_files_error(devices) && !gvm_control_files_error(attach) &&
	    !gvm_control_files_error(detach))
		return 0;
	gvm_debugfs_exit();
	return -ENOMEM;
}

void gvm_debugfs_publish(void)
{
	WRITE_ONCE(gvm_debugfs_published, true);
}

void gvm_debugfs_exit(void)
{
	gvm_control_files_exit();
}
