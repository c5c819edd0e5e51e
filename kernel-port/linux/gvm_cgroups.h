/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The cgroups that the administrator has made containers. Between the registry and its members.
 */
#ifndef GVM_CGROUPS_H
#define GVM_CGROUPS_H

#include "gvm/port.h"

struct gvm_registration;
struct seq_file;

/*
 * Make the cgroup v2 at @path a container on every GPU that is not lost, now and later, whether
 * a process of it uses one yet or not: cgroup/<path>/<gpu>/ appears, where <path> is that of
 * the whole hierarchy. @settings is "" or words such as "gmem.limit.high=20G", which are
 * written there: a GPU may come with its first process, and no one can write its files before.
 * "WORD/gmem.limit.high=4G" is for GPUs whose name has this word, such as "GPU-<uuid>". If
 * several settings name one file, the last one holds. A cgroup that is a container already gets
 * @settings in the place of its old ones, unless they are "". Returns 0, -ENOENT, -EINVAL (the
 * root, or a part of the path is a number), -EOPNOTSUPP (a threaded cgroup), -ERANGE (no such
 * value of a setting), -EEXIST, -EBUSY (a cgroup above or below it is one), -EAGAIN (there are
 * settings, and a GPU sleeps), -ENAMETOOLONG or -ENOMEM. CONTEXT: process.
 */
int gvm_cgroups_add(const char *path, const char *settings);

/*
 * Undo it. Processes that use a GPU stay in the container until they close it. A cgroup that
 * was removed with rmdir is removed here within a second. Returns 0 or -ENOENT. CONTEXT:
 * process.
 */
int gvm_cgroups_remove(const char *path);

/* Write a line per cgroup: its path. CONTEXT: process. */
void gvm_cgroups_show(struct seq_file *seq);

/* At module exit, when no device is registered: forget all. CONTEXT: process. */
void gvm_cgroups_exit(void);

/*
 * A device comes, and goes: give each cgroup a container on it, and take it away. add: 0 or
 * -ENOMEM, and some may have one. CONTEXT: process, the registry's mutex held; it may be
 * dropped meanwhile.
 */
int gvm_cgroups_add_device_locked(struct gvm_registration *registration);
void gvm_cgroups_remove_device_locked(struct gvm_registration *registration);

#endif
