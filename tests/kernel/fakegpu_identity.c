// SPDX-License-Identifier: MIT OR GPL-2.0
/* A process gets the number of an earlier one, and inherits nothing of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"
#include "gvm_ioctl.h"

#define NUMBER	   5000
#define OLD_CHUNKS 3u
#define NEW_CHUNKS 2u

static volatile uint32_t *step; /* the step that both processes have reached */
static volatile pid_t *orphan;

/*
 * A context with memory, a limit and a freeze. Its process exits; a child has inherited the
 * context.
 */
static void old_process(void)
{
	int context = tenant_open(0);
	uint64_t va = tenant_map(context, OLD_CHUNKS * CHUNK);
	pid_t child;

	require(fakegpu_fill(context, va, OLD_CHUNKS * CHUNK, 4) == 0, "fill");
	require(control_set_number(getpid(), "gmem.limit.high", 7 * CHUNK) == 0, "limit");
	child = fork();
	if (child == 0) {
		wait_for_step(step, 3);
		require(fakegpu_verify(context, va, OLD_CHUNKS * CHUNK, 4, NULL) == 0,
			"the orphan's memory");
		close(context);
		*step = 4;
		_exit(0);
	}
	*orphan = child;
	require(control_set(getpid(), "compute.freeze", "1") == 0, "freeze");
	_exit(0);
}

/* The new process of that number first tries to listen, and may not before it has a context. */
static void new_process(void)
{
	struct gvm_pressure_request request = { .gpu = 0, .flags = O_NONBLOCK };
	int dev = open("/dev/gvm", O_RDWR | O_CLOEXEC);
	int context;
	uint64_t va;

	require(dev >= 0 && ioctl(dev, GVM_IOCTL_PRESSURE_OPEN, &request) < 0 && errno == ESRCH,
		"before it has a context it hears nothing: %s", guest_error_name(errno));
	close(dev);
	context = tenant_open(0);
	require(control_get(NUMBER, "gmem.limit.high") == 0, "limit: a number, not \"max\"");
	va = tenant_map(context, NEW_CHUNKS * CHUNK);
	require(control_get(NUMBER, "compute.freeze") == 0, "it is frozen");
	require(fakegpu_fill(context, va, NEW_CHUNKS * CHUNK, 5) == 0, "fill");
	require(fakegpu_verify(context, va, NEW_CHUNKS * CHUNK, 5, NULL) == 0, "verify");
	require(control_get(NUMBER, "gmem.current") < (long long)((NEW_CHUNKS + 2) * CHUNK),
		"it pays for the old one");
	*step = 1;
	wait_for_step(step, 2);
	close(context);
	_exit(0);
}

void test_identity(void)
{
	pid_t pid;
	int status = -1;

	step = shared_alloc(sizeof(*step));
	orphan = shared_alloc(sizeof(*orphan));
	gpu_load("chunks=16");
	pid = guest_fork_as(NUMBER);
	if (pid == 0)
		old_process();
	guest_check(tenant_finish(pid), "process %d leaves its context to a child", NUMBER);
	pid = guest_fork_as(NUMBER);
	if (pid == 0)
		new_process();
	guest_check(pid == NUMBER, "another process gets its number");
	for (uint32_t i = 0; i < 2000 && *step < 1 && waitpid(pid, &status, WNOHANG) == 0; i++)
		sleep_ms(5);
	guest_check(*step == 1, "it has a container of its own: no limit, no freeze, no usage");
	guest_expect_read("gvm/5000/0/gmem.limit.high", "max\n");
	guest_expect_read("gvm/5000.1/0/gmem.limit.high", "14680064\n");
	guest_expect_read("gvm/5000.1/0/compute.freeze", "1\n");
	guest_expect_write("gvm/5000.1/0/compute.freeze", "0", 0);
	*step = 2;
	if (status == -1)
		guest_check(tenant_finish(pid), "it did well");
	*step = 3;
	for (uint32_t i = 0; i < 2000 && *step < 4; i++)
		sleep_ms(5);
	guest_check(*step == 4, "the old one's child has its memory, under <tgid>.1");
	waitpid(*orphan, NULL, 0);
	guest_check(access(GUEST_DEBUGFS "/gvm/5000.1", F_OK) < 0 && errno == ENOENT,
		    "and with it the directory goes");
	gpu_unload();
}
