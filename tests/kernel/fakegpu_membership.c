// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Containers of processes without cgroups: children inherit the container, strangers may not
 * join.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"
#include "gvm_ioctl.h"

#define STRANGER 1000

static volatile uint32_t *step;
static volatile pid_t *other;

/* A child opens a context of its own without a name of a container, and is in its parent's. */
static void limited_parent(uint32_t index)
{
	int context = tenant_open(0);
	int status = 1;
	pid_t child;

	(void)index;
	require(control_set_number(getpid(), "gmem.limit.high", 5 * CHUNK) == 0, "limit");
	child = fork();
	if (child == 0) {
		close(context);
		if (fork() == 0) { /* a grandchild, before its parent has a context */
			context = tenant_open(0);
			require(control_get(getpid(), "gmem.limit.high") ==
					(long long)(5 * CHUNK),
				"the grandchild has no limit");
			_exit(0);
		}
		wait(&status);
		require(status == 0, "the grandchild");
		context = tenant_open(0);
		require(control_get(getpid(), "gmem.limit.high") == (long long)(5 * CHUNK),
			"the child has no limit");
		require(control_set(getpid(), "compute.freeze", "1") == 0, "freeze");
		require(control_get(getppid(), "compute.freeze") == 1, "freeze of the parent");
		require(control_set(getpid(), "compute.freeze", "0") == 0, "thaw");
		_exit(0);
	}
	require(waitpid(child, &status, 0) == child && status == 0, "the child");
	close(context);
}

/* A container of root's, which a stranger tries to use. */
static void host(uint32_t index)
{
	int context = tenant_open(0);

	(void)index;
	*other = getpid();
	*step = 1;
	wait_for_step(step, 2);
	for (uint32_t i = 0; i < 4; i++)
		require(tenant_listen() >= 0, "listener %u", i);
	close(context);
}

static void stranger(uint32_t index)
{
	uint32_t tgid;
	int context, error;

	(void)index;
	wait_for_step(step, 1);
	require(setgroups(0, NULL) == 0 && setgid(STRANGER) == 0 && setuid(STRANGER) == 0,
		"setuid");
	tgid = (uint32_t)*other;
	error = fakegpu_open(0, tgid, 1, &context);
	require(error == EPERM, "joins another user's container: %s", guest_error_name(error));
	context = tenant_open(0);
	require(ioctl(context, GVM_FAKEGPU_SHARE, &tgid) < 0 && errno == EPERM,
		"shares its TSG with another user's container: %s", guest_error_name(errno));
	close(context);
}

/* The first process of a pid namespace: its pid is 1 inside, as init's is outside. */
static void inside(void)
{
	int context = tenant_open(1);
	int status = 1;
	pid_t child;

	require(getpid() == 1, "a pid namespace");
	child = fork();
	if (child == 0) {
		context = tenant_open(1);
		_exit(0);
	}
	require(waitpid(child, &status, 0) == child && status == 0, "its child");
	require(fakegpu_open(0, 2, 1, &status) == ESRCH, "a number of the outer namespace");
	close(context);
	_exit(0);
}

static void make_namespace(uint32_t index)
{
	int status = 1;
	pid_t pid;

	(void)index;
	require(unshare(CLONE_NEWPID) == 0, "unshare");
	pid = fork();
	if (pid == 0)
		inside();
	require(waitpid(pid, &status, 0) == pid && status == 0, "the process inside");
}

void test_membership(void)
{
	pid_t pids[2];

	step = shared_alloc(sizeof(*step));
	other = shared_alloc(sizeof(*other));
	gpu_load("chunks=16");
	chmod("/dev/gvm_fakegpu0", 0666);
	guest_check(tenants_run(limited_parent, 1) == 1,
		    "a child that opens a context is in its parent's container");
	pids[0] = tenant_start(host, 0);
	pids[1] = tenant_start(stranger, 0);
	guest_check(tenant_finish(pids[1]),
		    "a stranger joins no container and shares with none");
	*step = 2;
	guest_check(tenant_finish(pids[0]), "and all listeners are left");
	guest_check(tenants_run(make_namespace, 1) == 1,
		    "numbers are those of the caller's pid namespace");
	gpu_unload();
}
