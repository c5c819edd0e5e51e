/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * /sys/kernel/debug/gvm:
 *
 *   devices                     read: the registered devices
 *   attach                      write "<tgid> <gpu> [<group tgid>]": see gvm_registry_attach()
 *   detach                      write "<tgid> <gpu>"
 *   <tgid>/<gpu>/<control file> the core's table of control files, aliases included
 */
#ifndef GVM_DEBUGFS_H
#define GVM_DEBUGFS_H

#include "gvm/container.h"

struct gvm_debugfs_dir;

/*
 * Make and remove the tree. init: 0 or -ENOMEM. At exit, all directories of containers must have gone.
 * CONTEXT: process.
 */
int gvm_debugfs_init(void);
void gvm_debugfs_exit(void);

/*
 * Make <tgid>/<gpu>/ with the control files of @container, which must outlive it: all of them, or none.
 * Returns 0 or -ENOMEM. CONTEXT: process, the registry's mutex held.
 */
int gvm_debugfs_dir_create(u32 tgid, u32 gpu, struct gvm_container *container,
			   struct gvm_debugfs_dir **ret_dir);

/*
 * Remove it. On return no operation on its files is under way, and none will begin: files that
 * are still open answer -EIO. CONTEXT: process, the registry's mutex not held.
 */
void gvm_debugfs_dir_remove(struct gvm_debugfs_dir *dir);

/* Free it, and remove <tgid>/ with its last one. CONTEXT: process, the registry's mutex held. */
void gvm_debugfs_dir_free(struct gvm_debugfs_dir *dir);

#endif
