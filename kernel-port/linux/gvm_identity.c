// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * See gvm_identity.h. A process is its struct pid: the kernel gives the number to another
 * process one day, and the struct to none. A cgroup is its struct cgroup: the path may belong
 * to another one later.
 */
#include "gvm_identity.h"

#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

struct pid *gvm_pid_get(u32 tgid)
{
	struct pid *pid;

	if (!tgid)
		return get_pid(task_tgid(current));
	rcu_read_lock();
	pid = tgid > INT_MAX ? NULL : find_vpid((int)tgid);
	if (pid && pid_task(pid, PIDTYPE_TGID))
		get_pid(pid);
	else
		pid = NULL; /* the number of a thread, of a session: of no process */
	rcu_read_unlock();
	return pid;
}

struct pid *gvm_pid_get_parent(struct pid *pid)
{
	struct pid *parent = NULL;
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_TGID);
	task = task ? rcu_dereference(task->real_parent) : NULL;
	/* The parent of the first process is the idle task, whose number is 0. */
	if (task && task_tgid_nr(task))
		parent = get_pid(task_tgid(task));
	rcu_read_unlock();
	return parent;
}

bool gvm_pid_is_alive(struct pid *pid)
{
	bool is_alive;

	rcu_read_lock();
	is_alive = pid_task(pid, PIDTYPE_TGID);
	rcu_read_unlock();
	return is_alive;
}

bool gvm_pid_is_permitted(struct pid *pid)
{
	const struct cred *own = current_cred();
	const struct cred *other;
	struct task_struct *task;
	bool is_permitted;

	if (pid == task_tgid(current))
		return true;
	task = get_pid_task(pid, PIDTYPE_TGID);
	if (!task)
		return false;
	other = get_task_cred(task);
	put_task_struct(task);
	is_permitted = uid_eq(own->uid, other->euid) && uid_eq(own->uid, other->suid) &&
		       uid_eq(own->uid, other->uid) && gid_eq(own->gid, other->egid) &&
		       gid_eq(own->gid, other->sgid) && gid_eq(own->gid, other->gid);
	if (!is_permitted)
		is_permitted = ns_capable(other->user_ns, CAP_SYS_PTRACE);
	put_cred(other);
	return is_permitted;
}

int gvm_cgroup_get(const char *path, struct cgroup **ret_cgroup)
{
	struct cgroup *cgroup = cgroup_get_from_path(path);
	int status = 0;

	if (IS_ERR(cgroup))
		return PTR_ERR(cgroup);
	if (!cgroup_parent(cgroup))
		status = -EINVAL;
	else if (READ_ONCE(cgroup->dom_cgrp) != cgroup)
		status = -EOPNOTSUPP;
	if (status)
		cgroup_put(cgroup);
	else
		*ret_cgroup = cgroup;
	return status;
}

bool gvm_cgroup_is_removed(struct cgroup *cgroup)
{
	return css_is_dying(&cgroup->self);
}

bool gvm_cgroup_has(struct cgroup *cgroup, struct pid *pid)
{
	struct task_struct *task;
	bool has = false;

	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_TGID);
	if (task)
		has = cgroup_is_descendant(READ_ONCE(task_dfl_cgroup(task)->dom_cgrp), cgroup);
	rcu_read_unlock();
	return has;
}
