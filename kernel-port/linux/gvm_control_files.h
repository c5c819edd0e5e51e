/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* /sys/kernel/debug/gvm/<tgid>/<gpu>/<control file>: the core's table of control files, aliases included. */
#ifndef GVM_CONTROL_FILES_H
#define GVM_CONTROL_FILES_H

#include "gvm/container.h"

struct dentry;
struct gvm_control_dir;

/* Make and remove /sys/kernel/debug/gvm. init returns it. CONTEXT: process. */
struct dentry *gvm_control_files_init(void);
void gvm_control_files_exit(void);

/* What became of an entry of debugfs: 0 or -ENOMEM. CONTEXT: atomic. */
int gvm_control_files_error(const struct dentry *entry);

/*
 * Make <tgid>/<gpu>/ with the control files of @container, which must outlive it: all of them, or none.
 * Returns 0 or -ENOMEM. CONTEXT: process, the registry's mutex held.
 */
int gvm_control_dir_create(u32 tgid, u32 gpu, struct gvm_container *container,
			   struct gvm_control_dir **ret_dir);

/*
 * Remove it. On return no operation on its files is under way, and none will begin: files that
 * are still open answer -EIO. CONTEXT: process, the registry's mutex not held.
 */
void gvm_control_dir_remove(struct gvm_control_dir *dir);

/* Free it, and remove <tgid>/ with its last one. CONTEXT: process, the registry's mutex held. */
void gvm_control_dir_free(struct gvm_control_dir *dir);

#endif
