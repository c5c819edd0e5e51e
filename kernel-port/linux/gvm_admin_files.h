/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The trees of files, and the files for the administrator:
 *
 *   /sys/kernel/debug/gvm/
 *     devices                     read: the registered devices
 *     attach                      write "<tgid> <gpu> [<group tgid>]": see
 *                                 gvm_registry_attach()
 *     detach                      write "<tgid> <gpu>"
 *     cgroups                     write "+<path>", "-<path>": see gvm_cgroups_add(); read: the
 *                                 paths
 *     <tgid>/<gpu>/<control file>         the core's table of control files, aliases included
 *     cgroup/<path>/<gpu>/<control file>
 *   /sys/kernel/gvm/
 *     cgroups                     write: the same
 *     <tgid>/, cgroup/            the same
 */
#ifndef GVM_ADMIN_FILES_H
#define GVM_ADMIN_FILES_H

/*
 * Make and remove the trees. init: 0 or -ENOMEM. publish: from now on the files of debugfs can
 * be opened; before, that gives -ENXIO. At exit, all directories of processes must have gone.
 * CONTEXT: process.
 */
int gvm_admin_files_init(void);
void gvm_admin_files_publish(void);
void gvm_admin_files_exit(void);

#endif
