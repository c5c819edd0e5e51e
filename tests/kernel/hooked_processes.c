// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Processes that fork and that exec while they have memory on the GPU. The files of nvidia-uvm
 * that a child or a new program has from before keep the VA space, and what is in it stays
 * charged to its container.
 */
#define _GNU_SOURCE
#include "hooked_guest.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES  (32 * SOFTGPU_MB)
#define LIMIT  "16M"
#define CLIENT 4800u

static const long long limit = 16 * SOFTGPU_MB;
static int hold[2]; /* the child of test_fork() lives until the first process closes it */

/*
 * Write and read twice the limit. @before: what its container had in swap and on the GPU, of
 * which none is used. Returns how many steps failed.
 */
static int page(struct softgpu_tenant *tenant, uint64_t *p, uint64_t value, long long before)
{
	int failed = !hooked_write(tenant, p, BYTES, value);

	failed += !hooked_read(tenant, p, BYTES, value);
	failed += hooked_get(getpid(), "gmem.current") != limit;
	failed +=
		hooked_get(getpid(), "gmem.swap.current") != before + (long long)BYTES - limit;
	failed += hooked_get(getpid(), "gmem.peak") != limit;
	return failed;
}

static sigjmp_buf bus_error;

static void on_bus_error(int number)
{
	siglongjmp(bus_error, number);
}

/* Whether the CPU can read the word. */
static bool is_there(const volatile uint64_t *p)
{
	volatile bool there = false;

	signal(SIGBUS, on_bus_error);
	if (!sigsetjmp(bus_error, 1)) {
		(void)*p;
		there = true;
	}
	signal(SIGBUS, SIG_DFL);
	return there;
}

/* It has the parent's addresses, with nothing after them. */
static int child_life(const volatile uint64_t *p)
{
	int failed = is_there(p);
	char byte;

	return failed + (read(hold[0], &byte, 1) != 0);
}

static int forking_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	int failed = softgpu_attach(&tenant, CLIENT + number) != 0;
	uint64_t *p = softgpu_managed(&tenant, BYTES);

	close(hold[1]);
	failed += hooked_set(getpid(), "gmem.limit.high", LIMIT) != 0;
	failed += page(&tenant, p, 10, 0);
	/* The driver lets children have no mapping of it at all unless they are told to. */
	failed += madvise(p, BYTES, MADV_DOFORK) != 0;
	if (fork() == 0)
		_exit(child_life(p));
	failed += page(&tenant, p, 20, 0) + !hooked_cpu_reads(p, BYTES, 20);
	failed += !hooked_write(&tenant, p, BYTES, 30);
	hooked_ready();
	return failed;
}

/* A file of the container that is named after a process. */
static long long of_container(pid_t pid, const char *file)
{
	char path[96];

	snprintf(path, sizeof(path), "cgroup/t%d/0/%s", (int)pid, file);
	return hooked_get(0, path);
}

/* The parent ends, and its child, which has its files, goes on. */
static void test_fork(void)
{
	struct hooked_process parent;
	int status = -1;

	guest_check(pipe(hold) == 0, "a pipe");
	parent = hooked_start(forking_life, 0);
	hooked_wait_ready(&parent);
	guest_check(hooked_get(parent.pid, "gmem.current") == limit,
		    "a process that has forked pages under its limit");
	hooked_go(&parent);
	waitpid(parent.pid, &status, 0);
	guest_check(status == 0, "its memory was right before and after: %x",
		    (unsigned int)status);
	guest_check(of_container(parent.pid, "gmem.current") == limit &&
			    of_container(parent.pid, "gmem.swap.current") == limit,
		    "it has ended, its child has its files: its memory is charged still");
	guest_check(guest_unload("nvidia_uvm") == EAGAIN, "and the driver stays");
	close(hold[1]);
	waitpid(-1, &status, 0);
	guest_check(status == 0, "the child found nothing at the parent's addresses: %x",
		    (unsigned int)status);
	close(hold[0]);
	guest_check(of_container(parent.pid, "gmem.current") <= 0 &&
			    of_container(parent.pid, "gmem.swap.current") <= 0,
		    "nothing is left when it has ended");
	hooked_end(&parent);
}

static bool keep_after_exec(int fd)
{
	return fcntl(fd, F_SETFD, 0) == 0;
}

static int execing_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	int failed = softgpu_attach(&tenant, CLIENT + number) != 0;
	uint64_t *p = softgpu_managed(&tenant, BYTES);

	failed += hooked_set(getpid(), "gmem.limit.high", LIMIT) != 0;
	failed += page(&tenant, p, 40, 0);
	failed += !keep_after_exec(tenant.fd) + !keep_after_exec(tenant.mm);
	if (!failed)
		execl("/init", "/init", HOOKED_AFTER_EXEC, NULL);
	return 50 + failed;
}

int hooked_after_exec(void)
{
	struct softgpu_tenant tenant;
	pid_t me = getpid();
	uint64_t *p;
	int failed = hooked_get(me, "gmem.limit.high") != limit;

	failed += hooked_get(me, "gmem.current") != limit;
	failed += !softgpu_open() || softgpu_attach(&tenant, CLIENT + 9) != 0;
	p = softgpu_managed(&tenant, BYTES);
	/* All of the old program's memory is in swap then. */
	failed += page(&tenant, p, 50, BYTES) + !hooked_cpu_reads(p, BYTES, 50);
	munmap(p, BYTES);
	/* With the last file of it, the old program's memory goes. */
	failed += close_range(3, ~0u, 0) != 0;
	failed += hooked_get(me, "gmem.swap.current") > 0;
	failed += !softgpu_open() || softgpu_attach(&tenant, CLIENT + 10) != 0;
	p = softgpu_managed(&tenant, BYTES);
	failed += page(&tenant, p, 60, 0) + !hooked_cpu_reads(p, BYTES, 60);
	return failed;
}

/* The new program is in the container of the old one, and has its files. */
static void test_exec(void)
{
	struct hooked_process process = hooked_start(execing_life, 1);
	int status = hooked_end(&process);

	guest_check(status == 0,
		    "a process that has become another program pages under the same limit: %d",
		    status);
}

void test_hooked_processes(struct softgpu_tenant *tenant)
{
	(void)tenant;
	test_fork();
	test_exec();
}
