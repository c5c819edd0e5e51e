// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * See gvm_admin_files.h. Above the registry. What a locked-down kernel must be able to do has a
 * file in sysfs as well.
 */
#include "gvm_admin_files.h"

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>

#include "gvm/control.h"
#include "gvm_cgroups.h"
#include "gvm_files_debugfs.h"
#include "gvm_files_sysfs.h"
#include "gvm_registry.h"

/* The longest text that attach and detach take: three u32, spaces, newline. */
#define GVM_ATTACH_TEXT_MAX 36

/*
 * Parse "<tgid> <gpu> [<group tgid>]"; without the last, the process' own. Returns 0, -EINVAL
 * or -ERANGE.
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

/* Take a line of attach or detach from the user. Returns 0 or -errno. */
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

/*
 * Set when the module's init cannot fail any more. If it fails, the removal of the files waits
 * for an open that is under way.
 */
static bool gvm_admin_files_published;

static int gvm_admin_open(struct inode *inode, struct file *file)
{
	return READ_ONCE(gvm_admin_files_published) ? simple_open(inode, file) : -ENXIO;
}

static const struct file_operations gvm_attach_fops = {
	.owner = THIS_MODULE,
	.open = gvm_admin_open,
	.write = gvm_attach_write,
	.llseek = noop_llseek,
};

static const struct file_operations gvm_detach_fops = {
	.owner = THIS_MODULE,
	.open = gvm_admin_open,
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
	if (!READ_ONCE(gvm_admin_files_published))
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

/*
 * Where the settings of a command begin: words such as "gmem.limit.high=20G" or
 * "GPU-<uuid>/gmem.limit.high=20G" after a path. The path may have blanks, too, so words are
 * read from the end. Without settings it is the end of @command.
 */
static char *gvm_cgroups_settings(char *command)
{
	char *settings = command + strlen(command);

	for (char *c = settings; c > command; c--) {
		size_t length = strcspn(c, "= ");
		const char *file = c;
		char name[32];

		if (c[-1] != ' ' || *c == ' ')
			continue;
		if (c[length] != '=')
			break;
		if (*c != '/' && memchr(c, '/', length))
			file = (const char *)memchr(c, '/', length) + 1;
		length -= (size_t)(file - c);
		if (length >= sizeof(name))
			break;
		strscpy(name, file, length + 1);
		if (!gvm_control_find(name))
			break;
		settings = c;
	}
	return settings;
}

/* "+/a/b gmem.limit.high=20G", "+/a/b" or "-/a/b", which is changed. Returns 0 or -errno. */
static int gvm_cgroups_command(char *text)
{
	char *command = strim(text);
	char *settings;

	switch (command[0]) {
	case '+':
		if (command[1] != '/')
			return -EINVAL;
		settings = gvm_cgroups_settings(command);
		if (*settings)
			settings[-1] = '\0';
		return gvm_cgroups_add(strim(command + 1), settings);
	case '-':
		return command[1] == '/' ? gvm_cgroups_remove(command + 1) : -EINVAL;
	}
	return -EINVAL;
}

static ssize_t gvm_cgroups_write(struct file *file, const char __user *buf, size_t size,
				 loff_t *offset)
{
	char *text;
	int status;

	if (size >= PAGE_SIZE)
		return -E2BIG;
	text = memdup_user_nul(buf, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	status = gvm_cgroups_command(text);
	kfree(text);
	return status ? status : (ssize_t)size;
}

static int gvm_cgroups_seq_show(struct seq_file *seq, void *unused)
{
	gvm_cgroups_show(seq);
	return 0;
}

static int gvm_cgroups_open(struct inode *inode, struct file *file)
{
	if (!READ_ONCE(gvm_admin_files_published))
		return -ENXIO;
	return single_open(file, gvm_cgroups_seq_show, NULL);
}

static const struct file_operations gvm_cgroups_fops = {
	.owner = THIS_MODULE,
	.open = gvm_cgroups_open,
	.read = seq_read,
	.write = gvm_cgroups_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static ssize_t cgroups_store(struct kobject *kobject, struct kobj_attribute *attribute,
			     const char *buf, size_t size)
{
	char *text = kstrndup(buf, size, GFP_KERNEL);
	int status = text ? gvm_cgroups_command(text) : -ENOMEM;

	kfree(text);
	return status ? status : (ssize_t)size;
}

static struct kobj_attribute gvm_cgroups_attribute = __ATTR(cgroups, 0200, NULL, cgroups_store);

int gvm_admin_files_init(void)
{
	struct dentry *attach, *cgroups, *detach, *devices, *root;
	int status = gvm_files_sysfs_init();

	if (status)
		return status;
	gvm_files_debugfs_init();
	root = gvm_files_debugfs_root();
	devices = debugfs_create_file("devices", 0444, root, NULL, &gvm_devices_fops);
	attach = debugfs_create_file("attach", 0200, root, NULL, &gvm_attach_fops);
	detach = debugfs_create_file("detach", 0200, root, NULL, &gvm_detach_fops);
	cgroups = debugfs_create_file("cgroups", 0600, root, NULL, &gvm_cgroups_fops);
	if (!gvm_files_debugfs_error(devices) && !gvm_files_debugfs_error(attach) &&
	    !gvm_files_debugfs_error(detach) && !gvm_files_debugfs_error(cgroups))
		status = sysfs_create_file(gvm_files_sysfs_root(), &gvm_cgroups_attribute.attr);
	else
		status = -ENOMEM;
	if (status)
		gvm_admin_files_exit();
	return status;
}

void gvm_admin_files_publish(void)
{
	WRITE_ONCE(gvm_admin_files_published, true);
}

void gvm_admin_files_exit(void)
{
	/* First the files that make cgroups containers. */
	sysfs_remove_file(gvm_files_sysfs_root(), &gvm_cgroups_attribute.attr);
	gvm_files_debugfs_exit();
	gvm_cgroups_exit();
	gvm_files_sysfs_exit();
}
