// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Control files in debugfs.
 *
 * Lifetime. debugfs counts the operations that are inside each file. Removing a directory waits
 * for them and turns later ones away with -EIO, also through files that stay open. So a control
 * file needs no reference to its container: while an operation runs the container is there, and
 * release, which debugfs lets through at any time, touches only what open allocated. An open
 * file keeps this module loaded. The dead alternative, a reference to the container in each
 * open file, would let a device be unregistered under files that can still reach its ops.
 */
#include "gvm_files_debugfs.h"

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "gvm/control.h"

/* What a control file's inode points to. Set once. */
struct gvm_debugfs_file {
	struct gvm_container *container;
	const struct gvm_control_file *control;
};

/* <gpu>/. Set once. */
struct gvm_debugfs_dir {
	struct dentry *dir;
	struct gvm_debugfs_file files[]; /* one per entry of the core's table */
};

/* An open control file: the text that is being read. */
struct gvm_debugfs_open {
	struct mutex lock; /* guards the fields below */
	size_t length;
	char text[GVM_CONTROL_TEXT_MAX];
};

static struct dentry *gvm_debugfs_root;

/* root passes every mode bit, so the modes of the table are enforced here as well. */
static int gvm_control_open(struct inode *inode, struct file *file)
{
	const struct gvm_debugfs_file *entry = inode->i_private;
	struct gvm_debugfs_open *open;

	if ((file->f_mode & FMODE_READ) && !(entry->control->mode & 0444))
		return -EACCES;
	if ((file->f_mode & FMODE_WRITE) && !(entry->control->mode & 0222))
		return -EACCES;
	open = kzalloc(sizeof(*open), GFP_KERNEL);
	if (!open)
		return -ENOMEM;
	mutex_init(&open->lock);
	file->private_data = open;
	return 0;
}

static int gvm_control_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

/*
 * Take the value as it is now. Returns 0 or -errno; -EAGAIN: @wait is false, and a mutex is
 * held.
 */
static int gvm_control_snapshot(const struct gvm_debugfs_file *entry,
				struct gvm_debugfs_open *open, bool wait)
{
	int ret = wait ? gvm_control_read(entry->container, entry->control->name, open->text,
					  sizeof(open->text)) :
			 gvm_control_peek(entry->container, entry->control->name, open->text,
					  sizeof(open->text));

	if (ret < 0)
		return ret;
	open->length = min_t(size_t, ret, sizeof(open->text) - 1);
	return 0;
}

/* Another thread may be reading the same open file. Returns 0, -EAGAIN or -ERESTARTSYS. */
static int gvm_control_lock(struct file *file, struct gvm_debugfs_open *open)
{
	if (file->f_flags & O_NONBLOCK)
		return mutex_trylock(&open->lock) ? 0 : -EAGAIN;
	return mutex_lock_interruptible(&open->lock) ? -ERESTARTSYS : 0;
}

/*
 * A read from the start takes a snapshot and later ones go on in it: short reads fit together,
 * and a daemon that keeps the file open sees news by pread() at 0.
 */
static ssize_t gvm_control_file_read(struct file *file, char __user *buf, size_t size,
				     loff_t *offset)
{
	const struct gvm_debugfs_file *entry = file_inode(file)->i_private;
	struct gvm_debugfs_open *open = file->private_data;
	ssize_t ret = gvm_control_lock(file, open);

	if (ret)
		return ret;
	if (*offset == 0)
		ret = gvm_control_snapshot(entry, open, !(file->f_flags & O_NONBLOCK));
	if (ret == 0)
		ret = simple_read_from_buffer(buf, size, offset, open->text, open->length);
	mutex_unlock(&open->lock);
	return ret;
}

/*
 * Each write is one whole value, wherever the file offset is. With O_NONBLOCK a lowered limit
 * holds and nothing is reclaimed for it, as memory.high of cgroup v2 does.
 */
static ssize_t gvm_control_file_write(struct file *file, const char __user *buf, size_t size,
				      loff_t *offset)
{
	const struct gvm_debugfs_file *entry = file_inode(file)->i_private;
	char text[GVM_CONTROL_TEXT_MAX];
	int ret;

	if (size >= sizeof(text))
		return -E2BIG;
	if (copy_from_user(text, buf, size))
		return -EFAULT;
	if (file->f_flags & O_NONBLOCK)
		ret = gvm_control_set(entry->container, entry->control->name, text, size);
	else
		ret = gvm_control_write(entry->container, entry->control->name, text, size);
	/* A signal came before it changed anything: it starts again, as it must after a freeze. */
	if (ret == -EINTR)
		return -ERESTARTSYS;
	return ret ? ret : (ssize_t)size;
}

/* debugfs wraps these in its own operations. So a file can be removed while it is open. */
static const struct file_operations gvm_control_fops = {
	.owner = THIS_MODULE,
	.open = gvm_control_open,
	.release = gvm_control_release,
	.read = gvm_control_file_read,
	.write = gvm_control_file_write,
	.llseek = default_llseek,
};

/*
 * A container that lacks a control file cannot be limited, which is worse than no container.
 * Where debugfs refuses, since it is not built in or locked down, entries are missing and it is
 * no error, as everywhere in Linux.
 */
int gvm_files_debugfs_error(const struct dentry *entry)
{
	return PTR_ERR_OR_ZERO(entry) == -ENOMEM ? -ENOMEM : 0;
}

/* Make the file of one entry of the core's table, and its alias. Returns 0 or -ENOMEM. */
static int gvm_debugfs_add_control(struct gvm_debugfs_dir *dir, struct gvm_debugfs_file *file)
{
	const struct gvm_control_file *control = file->control;
	struct dentry *entry;

	entry = debugfs_create_file(control->name, control->mode, dir->dir, file,
				    &gvm_control_fops);
	if (control->alias && !gvm_files_debugfs_error(entry))
		entry = debugfs_create_file(control->alias, control->mode, dir->dir, file,
					    &gvm_control_fops);
	return gvm_files_debugfs_error(entry);
}

int gvm_files_debugfs_create(struct dentry *parent, const char *name,
			     struct gvm_container *container, struct gvm_debugfs_dir **ret_dir)
{
	struct gvm_debugfs_dir *dir;
	u32 count = gvm_control_count();
	int status;

	dir = kzalloc(struct_size(dir, files, count), GFP_KERNEL);
	*ret_dir = dir;
	if (!dir)
		return -ENOMEM;
	dir->dir = debugfs_create_dir(name, parent);
	status = gvm_files_debugfs_error(dir->dir);
	for (u32 i = 0; i < count && !status; i++) {
		dir->files[i].container = container;
		dir->files[i].control = gvm_control_at(i);
		status = gvm_debugfs_add_control(dir, &dir->files[i]);
	}
	return status;
}

struct dentry *gvm_files_debugfs_entry(struct gvm_debugfs_dir *dir)
{
	return dir->dir;
}

void gvm_files_debugfs_remove(struct gvm_debugfs_dir *dir)
{
	debugfs_remove(dir->dir);
}

void gvm_files_debugfs_free(struct gvm_debugfs_dir *dir)
{
	kfree(dir);
}

void gvm_files_debugfs_init(void)
{
	gvm_debugfs_root = debugfs_create_dir("gvm", NULL);
}

void gvm_files_debugfs_exit(void)
{
	debugfs_remove(gvm_debugfs_root);
}

struct dentry *gvm_files_debugfs_root(void)
{
	return gvm_debugfs_root;
}
