/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Directories of control files: <path>/<gpu>/ in /sys/kernel/debug/gvm and in /sys/kernel/gvm.
 * <path> is the number of a process, or "cgroup" and the path of a cgroup.
 */
#ifndef GVM_CONTROL_FILES_H
#define GVM_CONTROL_FILES_H

#include <linux/errno.h>

#include "gvm/container.h"

struct gvm_control_dir;

/*
 * Make @path/<gpu>/ with the control files of @container, which must outlive it. Two
 * directories of one path have one @owner: with another, the older path is renamed <path>.<n>.
 * Returns 0, or -ENOMEM: *ret_dir may be NULL, and if not, it is incomplete and to be removed
 * and freed. CONTEXT: process, the registry's mutex held.
 */
int gvm_control_dir_create(const char *path, const void *owner, u32 gpu,
			   struct gvm_container *container, struct gvm_control_dir **ret_dir);

/*
 * Make the directory @name in @parent, with the control files of @container. In sysfs they
 * belong to the user and group of the calling process. The rest as above. @parent is removed
 * after it.
 */
int gvm_control_dir_create_in(struct gvm_control_dir *parent, const char *name,
			      struct gvm_container *container,
			      struct gvm_control_dir **ret_dir);

/*
 * Remove it. On return no operation on its files is under way, and none will begin. Nothing for
 * NULL. CONTEXT: process, the registry's mutex not held.
 */
void gvm_control_dir_remove(struct gvm_control_dir *dir);

/*
 * Free it, and its path with its last one. Nothing for NULL. CONTEXT: process, the registry's
 * mutex held.
 */
void gvm_control_dir_free(struct gvm_control_dir *dir);

#endif
