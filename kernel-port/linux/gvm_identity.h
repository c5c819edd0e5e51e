/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Processes and cgroups as Linux knows them: the process of a number, the permissions of one
 * process over another, the cgroup of a process.
 */
#ifndef GVM_IDENTITY_H
#define GVM_IDENTITY_H

#include "gvm/port.h"

struct cgroup;
struct pid;

/*
 * The process whose number is @tgid in the caller's pid namespace; 0: the caller's own. A
 * reference, or NULL: there is none. CONTEXT: process.
 */
struct pid *gvm_pid_get(u32 tgid);

/* The process that started @pid, or adopted it. A reference, or NULL. CONTEXT: process. */
struct pid *gvm_pid_get_parent(struct pid *pid);

/* Does a process have this identity, running or a zombie? CONTEXT: atomic. */
bool gvm_pid_is_alive(struct pid *pid);

/*
 * May the caller use the container of process @pid: is it the same process, does it run as the
 * same user and group, or has it CAP_SYS_PTRACE over it? These are ptrace's rules. No, if @pid
 * has gone. CONTEXT: process.
 */
bool gvm_pid_is_permitted(struct pid *pid);

/*
 * The cgroup v2 at @path, as the caller's cgroup namespace names it. Returns 0 and a reference
 * in *ret_cgroup; -ENOENT; -EINVAL: the root; -EOPNOTSUPP: a threaded cgroup, whose memory
 * belongs to its domain. CONTEXT: process.
 */
int gvm_cgroup_get(const char *path, struct cgroup **ret_cgroup);

/* Has it been removed? Only references are left of it then. CONTEXT: atomic. */
bool gvm_cgroup_is_removed(struct cgroup *cgroup);

/*
 * Is @pid in @cgroup, or below it? Threads of a process may be in several threaded cgroups; the
 * process is in their domain. CONTEXT: atomic.
 */
bool gvm_cgroup_has(struct cgroup *cgroup, struct pid *pid);

#endif
