// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The second door to the control files, sysfs: for an owner other than root, and on a kernel
 * that is locked down as Secure Boot does it. A locked-down kernel loads no unsigned module, so
 * the test locks it down after it has loaded ours. Nothing unlocks a kernel, so that test has a
 * machine of its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define OWNER	 1000
#define SYSFS	 "/sys/kernel/gvm"
#define CGROUP	 "/sys/fs/cgroup/tenant"
#define DIR	 SYSFS "/cgroup/tenant/0"
#define LOCKDOWN "/sys/kernel/security/lockdown"

static volatile uint32_t *step;

static void expect_file(const char *path, const char *expected)
{
	char text[GUEST_TEXT_MAX] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	guest_check(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0 &&
			    strcmp(text, expected) == 0,
		    "read %s: '%.40s', expected '%.40s'", path, text, expected);
	close(fd);
}

/* A tenant of the cgroup. It opens no control file. */
static void tenant(uint32_t index)
{
	int context;
	uint64_t va;

	require(file_write(CGROUP "/cgroup.procs", "0") == 0, "enter");
	context = tenant_open(0);
	va = tenant_map(context, 8 * CHUNK);
	require(fakegpu_fill(context, va, 8 * CHUNK, index) == 0, "fill");
	*step = 1;
	wait_for_step(step, 2);
	require(fakegpu_verify(context, va, 8 * CHUNK, index, NULL) == 0, "verify");
	close(context);
}

/* The user owns two files. The others are root's. */
static void owner(uint32_t index)
{
	int error;

	(void)index;
	require(setgroups(0, NULL) == 0 && setgid(OWNER) == 0 && setuid(OWNER) == 0, "setuid");
	error = file_write(DIR "/gmem.limit.high", "12M");
	require(error == 0, "the owner's write: %s", guest_error_name(error));
	error = file_write(DIR "/compute.freeze", "0");
	require(error == 0, "the owner's write: %s", guest_error_name(error));
	error = file_write(DIR "/gmem.limit.high", "12 MB");
	require(error == EINVAL, "a mistake: %s", guest_error_name(error));
	error = file_write(DIR "/gmem.limit.low", "12M");
	require(error == EACCES, "root's file: %s", guest_error_name(error));
	error = file_write(SYSFS "/cgroups", "-/tenant");
	require(error == EACCES, "root's file: %s", guest_error_name(error));
}

static void use_sysfs(void)
{
	pid_t pid;

	*step = 0;
	guest_check(file_write(DIR "/gmem.limit.high", "16M") == 0, "root sets a limit");
	pid = tenant_start(tenant, 7);
	for (uint32_t i = 0; i < STEP_TRIES && *step < 1; i++)
		sleep_ms(5);
	guest_check(*step == 1, "a tenant of the cgroup is at work");
	guest_check(chown(DIR "/gmem.limit.high", OWNER, OWNER) == 0 &&
			    chown(DIR "/compute.freeze", OWNER, OWNER) == 0,
		    "two files get an owner");
	guest_check(tenants_run(owner, 1) == 1, "it writes these, and none of root's");
	expect_file(DIR "/gmem.limit.high", "12582912\n");
	expect_file(DIR "/memory.current", "12582912\n");
	*step = 2;
	guest_check(tenant_finish(pid), "the tenant was well under the lower limit");
}

static void begin(void)
{
	step = shared_alloc(sizeof(*step));
	gpu_load("chunks=16");
	mkdir("/sys/fs/cgroup", 0755);
	guest_check(mount("cgroup", "/sys/fs/cgroup", "cgroup2", 0, NULL) == 0 &&
			    mkdir(CGROUP, 0755) == 0,
		    "a cgroup");
}

static void end(void)
{
	guest_check(access(DIR, F_OK) < 0, "no directory any more");
	guest_check(rmdir(CGROUP) == 0 && umount("/sys/fs/cgroup") == 0, "no cgroup any more");
	gpu_unload();
}

void test_doors(void)
{
	int fd;

	begin();
	guest_check(file_write(SYSFS "/cgroups", "+/tenant") == 0, "a container");
	use_sysfs();
	guest_expect_read("gvm/cgroup/tenant/0/gmem.limit.high", "12582912\n");
	guest_expect_write("gvm/cgroup/tenant/0/memory.limit", "max", 0);
	expect_file(DIR "/gmem.limit.high", "max\n");
	fd = open(DIR "/gmem.limit.high", O_WRONLY | O_CLOEXEC);
	guest_check(file_write(SYSFS "/cgroups", "-/tenant") == 0, "no container any more");
	guest_check(fd >= 0 && write(fd, "1", 1) < 0 && errno == ENODEV,
		    "a file that is still open: ENODEV");
	close(fd);
	end();
}

void test_lockdown(void)
{
	static const char *const levels[] = { "integrity", "confidentiality" };

	begin();
	guest_check(mount("security", "/sys/kernel/security", "securityfs", 0, NULL) == 0,
		    "securityfs");
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		int error = file_write(LOCKDOWN, levels[i]);

		guest_check(error == 0, "lockdown=%s: %s", levels[i], guest_error_name(error));
		guest_expect_write("gvm/cgroups", "+/tenant", EPERM);
		error = file_write(SYSFS "/cgroups", "+/tenant");
		guest_check(error == 0, "a container: %s", guest_error_name(error));
		guest_expect_write("gvm/cgroup/tenant/0/gmem.limit.high", "16M", EPERM);
		use_sysfs();
		guest_check(file_write(SYSFS "/cgroups", "-/tenant") == 0,
			    "no container any more");
	}
	end();
}
