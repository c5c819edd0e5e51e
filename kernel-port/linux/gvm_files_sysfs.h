/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Control files in sysfs: the door that lockdown leaves open, and whose files can change their
 * owner.
 */
#ifndef GVM_FILES_SYSFS_H
#define GVM_FILES_SYSFS_H

#include <linux/uidgid.h>

#include "gvm/container.h"

struct gvm_sysfs_dir;
struct kobject;

/* Make and remove /sys/kernel/gvm. init: 0 or -ENOMEM. CONTEXT: process. */
int gvm_files_sysfs_init(void);
void gvm_files_sysfs_exit(void);

/* /sys/kernel/gvm. CONTEXT: atomic. */
struct kobject *gvm_files_sysfs_root(void);

/*
 * Make @parent/@name/ with the control files of @container, which must outlive it: all of them,
 * or none. They belong to @user and @group. remove: no operation on its files is under way any
 * more, and none will begin: files that are still open answer -ENODEV. free comes after it.
 * create: NULL when out of memory. CONTEXT: process.
 */
struct gvm_sysfs_dir *gvm_files_sysfs_create(struct kobject *parent, const char *name,
					     struct gvm_container *container, kuid_t user,
					     kgid_t group);
void gvm_files_sysfs_remove(struct gvm_sysfs_dir *dir);
void gvm_files_sysfs_free(struct gvm_sysfs_dir *dir);

/* Its directory in sysfs. CONTEXT: atomic. */
struct kobject *gvm_files_sysfs_kobject(struct gvm_sysfs_dir *dir);

#endif
