// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Directories of control files, each behind two doors: debugfs and sysfs. Below the registry,
 * which makes them. Both doors show the core's table of control files.
 *
 * A path has an owner, the identity of a process. When a new process gets the number of one
 * that has gone and whose context lives on, the directory of the old one makes way: it is
 * renamed <tgid>.<n>.
 */
#include "gvm_control_files.h"

#include <linux/cred.h>
#include <linux/debugfs.h>
#include <linux/kobject.h>

#include "gvm_files_debugfs.h"
#include "gvm_files_sysfs.h"

/* A part of a path, shared by what lies below it. Guarded by the registry's mutex. */
struct gvm_control_path {
	struct list_head node;		 /* in gvm_control_paths */
	struct gvm_control_path *parent; /* NULL: the root */
	const void *owner;
	u32 users;	 /* paths and directories in it */
	bool is_renamed; /* another owner has the name */
	struct dentry *debugfs;
	struct kobject *sysfs;
	char name[];
};

/* <path>/<gpu>/, or a directory in one. Set once. */
struct gvm_control_dir {
	struct gvm_control_path *path;	 /* NULL: in another one */
	struct gvm_debugfs_dir *debugfs; /* NULL: there was no memory */
	struct gvm_sysfs_dir *sysfs;
};

static LIST_HEAD(gvm_control_paths);
static u32 gvm_control_renamed; /* number of paths that were renamed */

/* Let another owner have the name. Returns 0 or -errno. */
static int gvm_control_path_rename(struct gvm_control_path *path)
{
	char name[32];
	int status;

	scnprintf(name, sizeof(name), "%.16s.%u", path->name, ++gvm_control_renamed);
	status = kobject_rename(path->sysfs, name);
	if (status)
		return status;
	debugfs_rename(gvm_files_debugfs_root(), path->debugfs, gvm_files_debugfs_root(), name);
	path->is_renamed = true;
	return 0;
}

/*
 * Find @parent/@name of @owner, or make it, and count a user. Returns NULL when out of memory.
 */
static struct gvm_control_path *gvm_control_path_get(struct gvm_control_path *parent,
						     const char *name, size_t length,
						     const void *owner)
{
	struct gvm_control_path *path;

	list_for_each_entry(path, &gvm_control_paths, node) {
		if (path->parent != parent || strlen(path->name) != length ||
		    memcmp(path->name, name, length) != 0 || path->is_renamed)
			continue;
		if (path->owner == owner) {
			path->users++;
			return path;
		}
		if (gvm_control_path_rename(path))
			return NULL;
	}
	path = kzalloc(struct_size(path, name, length + 1), GFP_KERNEL);
	if (!path)
		return NULL;
	memcpy(path->name, name, length);
	path->owner = owner;
	path->users = 1;
	path->debugfs = debugfs_create_dir(path->name,
					   parent ? parent->debugfs : gvm_files_debugfs_root());
	path->sysfs = kobject_create_and_add(path->name,
					     parent ? parent->sysfs : gvm_files_sysfs_root());
	if (gvm_files_debugfs_error(path->debugfs) || !path->sysfs) {
		debugfs_remove(path->debugfs);
		kobject_put(path->sysfs);
		kfree(path);
		return NULL;
	}
	path->parent = parent;
	if (parent)
		parent->users++;
	list_add_tail(&path->node, &gvm_control_paths);
	return path;
}

/* Drop a user of a path. A path without users is removed, and so are empty paths above it. */
static void gvm_control_path_put(struct gvm_control_path *path)
{
	while (path && --path->users == 0) {
		struct gvm_control_path *parent = path->parent;

		list_del(&path->node);
		debugfs_remove(path->debugfs);
		/* The name is free from here on, whenever the kernel frees the kobject. */
		kobject_del(path->sysfs);
		kobject_put(path->sysfs);
		kfree(path);
		path = parent;
	}
}

/* The path at the end of @text, whose parts are divided by slashes. NULL when out of memory. */
static struct gvm_control_path *gvm_control_path_walk(const char *text, const void *owner)
{
	struct gvm_control_path *parent = NULL;

	for (;;) {
		size_t length = strcspn(text, "/");
		struct gvm_control_path *path =
			gvm_control_path_get(parent, text, length, owner);

		/* From here on the new part holds the one above it. */
		if (parent)
			gvm_control_path_put(parent);
		if (!path || !text[length])
			return path;
		parent = path;
		text += length + 1;
	}
}

int gvm_control_dir_create(const char *path, const void *owner, u32 gpu,
			   struct gvm_container *container, struct gvm_control_dir **ret_dir)
{
	struct gvm_control_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	char name[16];
	int status;

	*ret_dir = dir;
	if (!dir)
		return -ENOMEM;
	dir->path = gvm_control_path_walk(path, owner);
	if (!dir->path)
		return -ENOMEM;
	scnprintf(name, sizeof(name), "%u", gpu);
	status = gvm_files_debugfs_create(dir->path->debugfs, name, container, &dir->debugfs);
	if (status)
		return status;
	dir->sysfs = gvm_files_sysfs_create(dir->path->sysfs, name, container, GLOBAL_ROOT_UID,
					    GLOBAL_ROOT_GID);
	return dir->sysfs ? 0 : -ENOMEM;
}

int gvm_control_dir_create_in(struct gvm_control_dir *parent, const char *name,
			      struct gvm_container *container, struct gvm_control_dir **ret_dir)
{
	struct gvm_control_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	int status;

	*ret_dir = dir;
	if (!dir)
		return -ENOMEM;
	status = gvm_files_debugfs_create(gvm_files_debugfs_entry(parent->debugfs), name,
					  container, &dir->debugfs);
	if (status)
		return status;
	dir->sysfs = gvm_files_sysfs_create(gvm_files_sysfs_kobject(parent->sysfs), name,
					    container, current_euid(), current_egid());
	return dir->sysfs ? 0 : -ENOMEM;
}

void gvm_control_dir_remove(struct gvm_control_dir *dir)
{
	if (dir && dir->debugfs)
		gvm_files_debugfs_remove(dir->debugfs);
	if (dir && dir->sysfs)
		gvm_files_sysfs_remove(dir->sysfs);
}

void gvm_control_dir_free(struct gvm_control_dir *dir)
{
	if (!dir)
		return;
	if (dir->debugfs)
		gvm_files_debugfs_free(dir->debugfs);
	if (dir->sysfs)
		gvm_files_sysfs_free(dir->sysfs);
	gvm_control_path_put(dir->path);
	kfree(dir);
}
