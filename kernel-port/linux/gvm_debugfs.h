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

/*
 * Make and remove the tree. init: 0 or -ENOMEM. publish: from now on the files can be opened; before,
 * that gives -ENXIO. At exit, all directories of containers must have gone. CONTEXT: process.
 */
int gvm_debugfs_init(void);
void gvm_debugfs_publish(void);
void gvm_debugfs_exit(void);

#endif
