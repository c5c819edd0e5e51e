// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Containers of a real runtime, crun, with "gvmd hook" as their OCI hook: gvm.ko has the
 * limit before the program starts, and holds it. boot.sh puts crun and the bundles there,
 * with GVM_TEST=runtime alone.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define CGROUPS	   "/sys/fs/cgroup"
#define LOG	   "/crun.log"
#define DIR	   "gvm/cgroup/tenants/limited/0"
#define LIMIT	   (24ull << 20)
#define WAIT_STEPS 1200u /* of 100 ms */

/* crun COMMAND... in a process of its own; what it says goes to LOG. */
static pid_t crun(char *const *words)
{
	pid_t pid = fork();

	if (pid == 0) {
		int log = open(LOG, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
		execv("/usr/bin/crun", words);
		_exit(127);
	}
	return pid;
}

/* Start the container of a bundle. */
static pid_t run(const char *name)
{
	char bundle[64];

	snprintf(bundle, sizeof(bundle), "/bundles/%s", name);
	return crun((char *[]){ "crun", "--root", "/run", "run", "--no-pivot", "--bundle",
				bundle, (char *)(uintptr_t)name, NULL });
}

static int end_of(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	return status;
}

/* Does crun's log have @text? */
static bool said(const char *text)
{
	char log[GUEST_TEXT_MAX] = "";
	int fd = open(LOG, O_RDONLY);
	bool has = fd >= 0 && read(fd, log, sizeof(log) - 1) >= 0 && strstr(log, text);

	close(fd);
	if (!has)
		guest_log("# crun: %.300s", log);
	return has;
}

static unsigned long long number_in(const char *file)
{
	char path[96], text[GUEST_TEXT_MAX] = "";

	snprintf(path, sizeof(path), DIR "/%s", file);
	return guest_read(path, text, sizeof(text)) < 0 ? 0 : strtoull(text, NULL, 10);
}

static bool is_there(void)
{
	return access(GUEST_DEBUGFS "/" DIR, F_OK) == 0;
}

/* 40 MB are stored again and again below a limit of 24 MB. */
static void test_limited(void)
{
	pid_t pid = run("limited");
	unsigned long long peak;

	for (uint32_t i = 0; i < WAIT_STEPS && !number_in("gmem.swap.current"); i++)
		sleep_ms(100);
	peak = number_in("gmem.peak");
	guest_check(peak > 0 && peak <= LIMIT && number_in("gmem.swap.current") > 0,
		    "the container's program runs within its limit: peak %llu of %llu", peak,
		    LIMIT);
	guest_expect_read(DIR "/gmem.limit.high", "25165824\n");
	guest_expect_read(DIR "/compute.priority", "2\n");
	guest_expect_read("gvm/cgroups", "/tenants/limited\n");
	end_of(crun((char *[]){ "crun", "--root", "/run", "kill", "limited", "KILL", NULL }));
	end_of(pid);
	for (uint32_t i = 0; i < WAIT_STEPS && is_there(); i++)
		sleep_ms(100);
	guest_check(!is_there(), "the container has gone, with its cgroup");
}

/*
 * The module refuses the value, so the runtime does not start the program,
 * which would end with 0.
 */
static void test_wrong(void)
{
	int status = end_of(run("wrong"));

	guest_check(WIFEXITED(status) && WEXITSTATUS(status) != 0 &&
			    said("error executing hook"),
		    "a container whose limit is refused does not start: status %x", status);
}

/* The same without a word of a limit: it starts, and is no container of gvm.ko. */
static void test_silent(void)
{
	int status = end_of(run("silent"));

	guest_check(status == 0 && said("chunks free"),
		    "a container that asks for nothing: status %x", status);
	guest_expect_read("gvm/cgroups", "");
}

/* The pod's cgroup is a container already: its limits hold, and the hook leaves them. */
static void test_below(void)
{
	int status;

	guest_check(mkdir(CGROUPS "/tenants/pod", 0755) == 0, "a cgroup of a pod");
	guest_expect_write("gvm/cgroups", "+/tenants/pod gmem.limit.high=8M", 0);
	status = end_of(run("below"));
	guest_check(status == 0 && said("chunks free"), "a container of the pod: status %x",
		    status);
	guest_expect_read("gvm/cgroups", "/tenants/pod\n");
	guest_expect_read("gvm/cgroup/tenants/pod/0/gmem.limit.high", "8388608\n");
	guest_expect_write("gvm/cgroups", "-/tenants/pod", 0);
	rmdir(CGROUPS "/tenants/pod");
}

void test_runtime(void)
{
	guest_check(mount("cgroup", CGROUPS, "cgroup2", 0, NULL) == 0, "cgroup2");
	gpu_load("chunks=32");
	test_limited();
	test_wrong();
	test_silent();
	test_below();
	gpu_unload();
	rmdir(CGROUPS "/tenants");
	umount(CGROUPS);
}
