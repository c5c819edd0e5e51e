// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Which process is in which container: groups made by hand, forked children that a GPU's driver
 * attaches, two GPUs. gvm.ko and gvm_selftest.ko are loaded, and no process is attached.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN     8
#define CHURN_ROUNDS 200

static void expect_gone(const char *path)
{
	char full[128];

	snprintf(full, sizeof(full), GUEST_DEBUGFS "/%s", path);
	guest_check(access(full, F_OK) != 0 && errno == ENOENT, "%s has gone", path);
}

/*
 * F2, D5: the directory of each member shows the same container, whichever member it joined by.
 */
static void test_group(void)
{
	guest_expect_write("gvm/attach", "2000 0", 0);
	guest_expect_write("gvm/attach", "2001 0 2000", 0);
	guest_expect_write("gvm/attach", "2002 0 2001", 0);
	guest_expect_write("gvm/attach", "2003 0 2999", ESRCH);
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 1\n");
	guest_expect_write("gvm/2001/0/gmem.limit.high", "8M", 0);
	guest_expect_write("gvm_selftest/charge", "2000 4", 0);
	guest_expect_read("gvm/2000/0/gmem.limit.high", "8388608\n");
	guest_expect_read("gvm/2002/0/memory.limit", "8388608\n");
	guest_expect_read("gvm/2002/0/gmem.current", "8388608\n");
	guest_expect_read("gvm_selftest/check", "ok\n");
}

/* D14, F16: the process that gave the group its name leaves, and a stranger gets its tgid. */
static void test_leader_leaves(void)
{
	guest_expect_write("gvm/detach", "2000 0", 0);
	expect_gone("gvm/2000");
	guest_expect_read("gvm/2001/0/gmem.current", "8388608\n");
	guest_expect_write("gvm/attach", "2000 0", 0);
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 2\n");
	guest_expect_read("gvm/2000/0/gmem.limit.high", "max\n");
	guest_expect_read("gvm/2000/0/gmem.current", "0\n");
	guest_expect_write("gvm_selftest/space", "2000",
			   0); /* init joins, and leaves at once */
	guest_expect_read("gvm_selftest/check", "ok\n");
	guest_expect_write("gvm/detach", "2000 0", 0);
}

static void test_last_leaves(void)
{
	guest_expect_write("gvm/detach", "2001 0", 0);
	guest_expect_write("gvm/detach", "2002 0",
			   EBUSY); /* it would leave chunks without owner */
	guest_expect_read("gvm/2002/0/gmem.current", "8388608\n");
	guest_expect_write("gvm_selftest/uncharge", "2002 4", 0);
	guest_expect_write("gvm/detach", "2002 0", 0);
	expect_gone("gvm/2002");
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 0\n");
	guest_expect_read("gvm_selftest/check", "ok\n");
}

/* Attach the calling process as a driver does. Returns the open address space, or -1. */
static int attach_space(pid_t group)
{
	int fd = open(GUEST_DEBUGFS "/gvm_selftest/space", O_WRONLY | O_CLOEXEC);
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)group);
	if (fd >= 0 && write(fd, text, strlen(text)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * A child joins its parent's container, sees the parent's setting, and lives until it is
 * killed.
 */
static void run_child(pid_t parent, int report)
{
	char path[64], text[64];
	int fd = attach_space(parent);
	bool ok;

	snprintf(path, sizeof(path), "gvm/%d/0/gmem.limit.high", (int)getpid());
	ok = fd >= 0 && guest_read(path, text, sizeof(text)) == 0 &&
	     strcmp(text, "12345678\n") == 0;
	if (write(report, ok ? "y" : "n", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static unsigned int count_reports(int fd)
{
	unsigned int good = 0;
	char report;

	for (int i = 0; i < CHILDREN; i++)
		good += read(fd, &report, 1) == 1 && report == 'y';
	return good;
}

static void kill_all(const pid_t *children, int count)
{
	for (int i = 0; i < count; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
}

/*
 * Children join their parent all at once. The parent leaves before them, and half of them are
 * killed.
 */
static void test_forks(void)
{
	pid_t children[CHILDREN];
	int space = attach_space(getpid());
	int reports[2];

	guest_check(space >= 0 && pipe2(reports, O_CLOEXEC) == 0, "a parent attaches");
	guest_check(write(space, "1", 1) < 0 && errno == EBUSY, "a space attaches once");
	guest_expect_write("gvm/1/0/gmem.limit.high", "12345678", 0);
	for (int i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			close(space);
			run_child(getppid(), reports[1]);
		}
	}
	guest_check(count_reports(reports[0]) == CHILDREN, "%d children share its container",
		    CHILDREN);
	close(space);
	expect_gone("gvm/1");
	kill_all(children, CHILDREN / 2);
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 1\n");
	guest_expect_read("gvm_selftest/check", "ok\n");
	kill_all(children + CHILDREN / 2, CHILDREN / 2);
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 0\n");
	close(reports[0]);
	close(reports[1]);
}

/* A child inherits the open device and keeps its parent's address space, as with any driver. */
static void test_inherited(void)
{
	int space = attach_space(getpid());
	pid_t child = fork();

	if (child == 0) {
		for (;;)
			pause();
	}
	close(space);
	guest_expect_read("gvm/1/0/gmem.current", "0\n");
	kill_all(&child, 1);
	expect_gone("gvm/1");
}

/* Threads of one process open and close its first and last address spaces at the same time. */
static void *churn(void *failures)
{
	char text[64];

	for (int i = 0; i < CHURN_ROUNDS; i++) {
		int space = attach_space(getpid());

		if (space < 0 || guest_read("gvm/1/0/gmem.current", text, sizeof(text)))
			__atomic_add_fetch((int *)failures, 1, __ATOMIC_RELAXED);
		close(space);
	}
	return NULL;
}

/* D13, D14: no thread is always the first of the process. */
static void test_churn(void)
{
	pthread_t threads[3];
	int failures = 0;

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, churn, &failures);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	guest_check(failures == 0, "%d of %d attaches at once failed", failures,
		    3 * CHURN_ROUNDS);
	expect_gone("gvm/1");
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 0\n");
}

/* One process on two GPUs has a container on each, with separate settings. One GPU goes. */
static void test_two_gpus(void)
{
	int fd;

	guest_expect_write("gvm_selftest/second", "1", 0);
	guest_expect_write("gvm/attach", "2000 0", 0);
	guest_expect_write("gvm/attach", "2000 1", 0);
	guest_expect_write("gvm/attach", "2001 1 2000", 0);
	guest_expect_write("gvm/2000/1/gmem.limit.high", "4M", 0);
	guest_expect_read("gvm/2001/1/gmem.limit.high", "4194304\n");
	guest_expect_read("gvm/2000/0/gmem.limit.high", "max\n");
	expect_gone("gvm/2001/0");
	fd = open(GUEST_DEBUGFS "/gvm/2000/1/gmem.limit.high", O_RDWR | O_CLOEXEC);
	guest_expect_write("gvm_selftest/second", "0", 0); /* with two processes attached */
	guest_check(write(fd, "1", 1) < 0 && errno == EIO, "write after the GPU has gone: EIO");
	close(fd);
	expect_gone("gvm/2000/1");
	expect_gone("gvm/2001");
	guest_expect_read("gvm/2000/0/gmem.limit.high", "max\n");
	guest_expect_write("gvm/detach", "2000 0", 0);
	expect_gone("gvm/2000");
}

void guest_test_processes(void)
{
	test_group();
	test_leader_leaves();
	test_last_leaves();
	test_forks();
	test_inherited();
	test_churn();
	test_two_gpus();
	guest_expect_read("gvm_selftest/check", "ok\n");
}
