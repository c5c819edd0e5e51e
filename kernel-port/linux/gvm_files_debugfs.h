/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Control files in debugfs: the door for root, on kernels that are not locked down. */
#ifndef GVM_FILES_DEBUGFS_H
#define GVM_FILES_DEBUGFS_H

#include "gvm/container.h"

struct dentry;
struct gvm_debugfs_dir;

/* Make and remove /sys/kernel/debug/gvm. CONTEXT: process. */
void gvm_files_debugfs_init(void);
void gvm_files_debugfs_exit(void);

/* /sys/kernel/debug/gvm, or an error pointer. CONTEXT: atomic. */
struct dentry *gvm_files_debugfs_root(void);

/* Was there memory for an entry of debugfs? 0 or -ENOMEM. CONTEXT: atomic. */
int gvm_files_debugfs_error(const struct dentry *entry);

/*
 * Make @parent/@name/ with the control files of @container, which must outlive it. Returns 0,
 * or -ENOMEM: some are missing, or *ret_dir is NULL. CONTEXT: process.
 */
int gvm_files_debugfs_create(struct dentry *parent, const char *name,
			     struct gvm_container *container, struct gvm_debugfs_dir **ret_dir);

/* Its directory in debugfs. CONTEXT: atomic. */
struct dentry *gvm_files_debugfs_entry(struct gvm_debugfs_dir *dir);

/*
 * Remove it. On return no operation on its files is under way, and none will begin: files that
 * are still open answer -EIO. free comes after it. CONTEXT: process, no lock held.
 */
void gvm_files_debugfs_remove(struct gvm_debugfs_dir *dir);
void gvm_files_debugfs_free(struct gvm_debugfs_dir *dir);

#endif
