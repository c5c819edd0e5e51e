// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Containers of cgroups: the administrator sets them up before the first process, and they stay
 * after the last.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define CGROUPS "/sys/fs/cgroup"
#define DIR_A	"gvm/cgroup/tenants/a/0"
#define DIR_B	"gvm/cgroup/tenants/b/0"

static volatile uint32_t *step;
static volatile pid_t *other;

/* Write to a cgroup's file. Returns 0 or the errno. */
static int cgroup_write(const char *file, const char *text)
{
	char path[128];
	int error = 0;
	int fd;

	snprintf(path, sizeof(path), CGROUPS "/%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

static void enter(const char *cgroup)
{
	char file[64];

	snprintf(file, sizeof(file), "%s/cgroup.procs", cgroup);
	require(cgroup_write(file, "0") == 0, "enter %s: %s", cgroup, guest_error_name(errno));
}

static void expect_limit(const char *who, long long limit)
{
	long long found = control_get(getpid(), "gmem.limit.high");

	require(found == limit, "%s: limit %lld, expected %lld", who, found, limit);
}

/*
 * Try to leave the container: by a fork, a new session, an orphan, and by the tgid of a process
 * outside.
 */
static void fugitive(uint32_t index)
{
	int context, error;

	(void)index;
	enter("tenants/a");
	context = tenant_open(0);
	expect_limit("a process of the cgroup", 6 * CHUNK);
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			while (getppid() != 1)
				sleep_ms(1);
			close(context);
			error = fakegpu_open(0, (uint32_t)*other, 1, &context);
			require(error == EPERM, "it joins a process outside: %s",
				guest_error_name(error));
			context = tenant_open(0);
			expect_limit("an orphan of the cgroup", 6 * CHUNK);
			*step = 2;
			_exit(0);
		}
		_exit(0);
	}
	wait_for_step(step, 2);
	*other = getpid();
	*step = 3;
	wait_for_step(step, 4);
	close(context);
}

/* A process outside the cgroup. It may not join a process in the cgroup either. */
static void outsider(uint32_t index)
{
	int context = tenant_open(0);
	int second, error;

	(void)index;
	*other = getpid();
	*step = 1;
	wait_for_step(step, 3);
	expect_limit("a process outside", 0); /* "max" */
	close(context);
	error = fakegpu_open(0, (uint32_t)*other, 1, &second);
	require(error == EPERM, "joins the cgroup's container: %s", guest_error_name(error));
	*step = 4;
}

/*
 * A process moves to another cgroup. Its memory on the GPU stays in its old container; its
 * child is in the new one.
 */
static void migrant(uint32_t index)
{
	int context, status = 1;
	uint64_t va;

	(void)index;
	enter("tenants/a");
	context = tenant_open(0);
	va = tenant_map(context, 2 * CHUNK);
	require(fakegpu_fill(context, va, 2 * CHUNK, 1) == 0, "fill");
	enter("tenants/b");
	require(fakegpu_fill(context, va, 2 * CHUNK, 2) == 0, "fill after it has moved");
	expect_limit("a process that has moved", 6 * CHUNK);
	if (fork() == 0) {
		close(context);
		context = tenant_open(0);
		expect_limit("its child", 3 * CHUNK);
		_exit(0);
	}
	wait(&status);
	require(status == 0, "the child");
	close(context);
	context = tenant_open(0);
	expect_limit("with its next context", 3 * CHUNK);
	close(context);
}

static void expect_error(const char *text, int error)
{
	guest_expect_write("gvm/cgroups", text, error);
}

static bool is_there(const char *path)
{
	char full[128];

	snprintf(full, sizeof(full), GUEST_DEBUGFS "/%s", path);
	return access(full, F_OK) == 0;
}

static void expect_gone(const char *path)
{
	for (uint32_t i = 0; i < 100 && is_there(path); i++)
		sleep_ms(100);
	guest_check(!is_there(path), "%s has gone", path);
}

static void test_names(void)
{
	guest_check(mkdir(CGROUPS "/tenants", 0755) == 0 &&
			    mkdir(CGROUPS "/tenants/a", 0755) == 0 &&
			    mkdir(CGROUPS "/tenants/a/below", 0755) == 0 &&
			    mkdir(CGROUPS "/tenants/b", 0755) == 0 &&
			    mkdir(CGROUPS "/tenants/7", 0755) == 0 &&
			    mkdir(CGROUPS "/tenants/t", 0755) == 0,
		    "cgroups");
	expect_error("+/tenants/a", 0);
	guest_expect_read("gvm/cgroups", "/tenants/a\n");
	expect_error("+/tenants/a", EEXIST);
	expect_error("+/tenants/a/below", EBUSY);
	expect_error("+/tenants", EBUSY);
	expect_error("+/tenants/7", EINVAL);
	expect_error("+/", EINVAL);
	expect_error("+/tenants/none", ENOENT);
	expect_error("/tenants/b", EINVAL);
	expect_error("-/tenants/b", ENOENT);
	guest_check(cgroup_write("tenants/t/cgroup.type", "threaded") == 0,
		    "a threaded cgroup");
	expect_error("+/tenants/t", EOPNOTSUPP);
	guest_check(rmdir(CGROUPS "/tenants/t") == 0, "rmdir");
}

static void test_before_and_after(void)
{
	pid_t pids[2];

	guest_expect_read(DIR_A "/gmem.limit.high", "max\n");
	guest_expect_write(DIR_A "/gmem.limit.high", "12M", 0);
	*step = 0;
	pids[0] = tenant_start(outsider, 0);
	for (uint32_t i = 0; i < 2000 && *step < 1; i++)
		sleep_ms(1);
	pids[1] = tenant_start(fugitive, 0);
	guest_check(tenant_finish(pids[1]), "no process gets out of the cgroup's container");
	guest_check(tenant_finish(pids[0]), "no process from outside gets in");
	while (waitpid(-1, NULL, 0) > 0)
		;
	guest_expect_read(DIR_A "/gmem.limit.high", "12582912\n");
	guest_expect_read(DIR_A "/gmem.current", "0\n");
}

static void test_migration(void)
{
	expect_error("+/tenants/b", 0);
	guest_expect_write(DIR_B "/gmem.limit.high", "6M", 0);
	guest_check(
		tenants_run(migrant, 1) == 1,
		"a process that moves keeps its container until its last context is closed");
	expect_error("-/tenants/b", 0);
	guest_check(!is_there("gvm/cgroup/tenants/b"), "the directory of b goes");
}

/* rmdir with a limit set. A new cgroup of the same path gets a new container. */
static void test_removal(void)
{
	guest_check(rmdir(CGROUPS "/tenants/a/below") == 0 && rmdir(CGROUPS "/tenants/a") == 0,
		    "rmdir");
	expect_gone("gvm/cgroup");
	guest_check(mkdir(CGROUPS "/tenants/a", 0755) == 0, "mkdir");
	expect_error("+/tenants/a", 0);
	guest_expect_read(DIR_A "/gmem.limit.high", "max\n");
}

/* A cgroup becomes a container before there is a GPU. */
static void test_before_the_gpu(void)
{
	expect_error("+/tenants/a", 0);
	gpu_load("chunks=8");
	guest_expect_read(DIR_A "/gmem.limit.high", "max\n");
	gpu_unload();
	guest_check(!is_there("gvm/cgroup"), "its directory goes with the GPU");
	expect_error("-/tenants/a", 0);
}

/*
 * A GPU may come with its first process, as NVIDIA's do: then no one can write a limit before.
 * So the limits that are said with the cgroup hold on each GPU that comes.
 */
static void test_settings(void)
{
	expect_error("+/tenants/a gmem.limit.high=much", EINVAL);
	expect_error("+/tenants/a compute.priority=17", ERANGE);
	expect_error("+/tenants/a gmem.current=1", EINVAL);
	guest_expect_read("gvm/cgroups", "");
	expect_error("+/tenants/a gmem.limit.high=6M compute.priority=2", 0);
	guest_expect_read("gvm/cgroups", "/tenants/a\n");
	for (uint32_t i = 0; i < 2; i++) {
		gpu_load("chunks=8");
		guest_expect_read(DIR_A "/gmem.limit.high", "6291456\n");
		guest_expect_read(DIR_A "/compute.priority", "2\n");
		guest_expect_write(DIR_A "/gmem.limit.high", "4M", 0);
		gpu_unload();
	}
	/* Other ones, also while the GPU is there. */
	gpu_load("chunks=8");
	expect_error("+/tenants/a gmem.limit.high=8M", 0);
	guest_expect_read(DIR_A "/gmem.limit.high", "8388608\n");
	expect_error("+/tenants/a", EEXIST);
	expect_error("+/tenants/b gmem.limit.high=2M", 0);
	guest_expect_read(DIR_B "/gmem.limit.high", "2097152\n");
	expect_error("-/tenants/b", 0);
	/* Blanks between words, and between path and settings, are no part of the path. */
	expect_error("+/tenants/b  gmem.limit.high=4M   compute.priority=3 ", 0);
	guest_expect_read("gvm/cgroups", "/tenants/a\n/tenants/b\n");
	guest_expect_read(DIR_B "/gmem.limit.high", "4194304\n");
	guest_expect_read(DIR_B "/compute.priority", "3\n");
	expect_error("-/tenants/b", 0);
	gpu_unload();
	expect_error("-/tenants/a", 0);
}

/* Settings of one GPU, which a word of its name tells. */
static void test_settings_by_gpu(void)
{
	expect_error("+/tenants/a /gmem.limit.high=4M", ENOENT); /* a path with a blank */
	expect_error("+/tenants/a gvm_fakegpu1/gmem.limit.high=much", EINVAL);
	expect_error("+/tenants/a gvm_fakegpu1/gmem.current=1", EINVAL);
	guest_expect_read("gvm/cgroups", "");
	expect_error("+/tenants/a gmem.limit.high=6M gvm_fakegpu1/gmem.limit.high=4M "
		     "gvm_fakegpu0/compute.priority=3 gvm_fakegpu1/compute.priority=5 "
		     "gvm_fakegpu/compute.priority=2",
		     0);
	gpu_load("chunks=8 gpus=2");
	guest_expect_read(DIR_A "/gmem.limit.high", "6291456\n");
	guest_expect_read(DIR_A "/compute.priority", "3\n");
	guest_expect_read("gvm/cgroup/tenants/a/1/gmem.limit.high", "4194304\n");
	guest_expect_read("gvm/cgroup/tenants/a/1/compute.priority", "5\n");
	gpu_unload();
	expect_error("-/tenants/a", 0);
}

void test_cgroups(void)
{
	step = shared_alloc(sizeof(*step));
	other = shared_alloc(sizeof(*other));
	gpu_load("chunks=16");
	mkdir(CGROUPS, 0755);
	guest_check(mount("cgroup", CGROUPS, "cgroup2", 0, NULL) == 0, "cgroup2");
	test_names();
	test_before_and_after();
	test_migration();
	test_removal();
	expect_error("-/tenants/a", 0);
	gpu_unload();
	test_before_the_gpu();
	test_settings();
	test_settings_by_gpu();
	rmdir(CGROUPS "/tenants/a");
	rmdir(CGROUPS "/tenants/b");
	rmdir(CGROUPS "/tenants/7");
	rmdir(CGROUPS "/tenants");
	umount(CGROUPS);
}
