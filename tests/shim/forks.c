// SPDX-License-Identifier: MIT OR GPL-2.0
/* Tasks that fork, and that end without exit(): program.c runs them. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

/* A function of the driver library of these tests. */
static void *of_driver(const char *name)
{
	return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}

static void *allocate_both_ways(void *unused)
{
	struct CUctx_st *context;
	cu_ptr ptr;

	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cu.cuCtxSetCurrent(context));
	CHECK(cu.cuMemAlloc_v2(&ptr, MIB));
	CHECK(cu.cuMemAllocAsync(&ptr, MIB, NULL));
	return unused;
}

/*
 * A thread is in the driver while another one forks. The child allocates, too: it must
 * not wait for that thread.
 */
static void task_fork_amid(int number)
{
	static const char *const calls[] = { "cuDeviceGetAttribute", "cuMemPoolCreate" };
	__typeof__(&fake_stay) stay = of_driver("fake_stay");
	__typeof__(&fake_await_stay) await_stay = of_driver("fake_await_stay");
	pthread_t thread;
	pid_t child;
	int status;

	open_device();
	stay(calls[number]);
	pthread_create(&thread, NULL, allocate_both_ways, NULL);
	await_stay();
	child = fork();
	if (!child) {
		alarm(20);
		allocate_both_ways(NULL);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		fail("the child of a fork amid a call");
	_exit(0);
}

/*
 * The shim's thread is in the driver when the program forks: for NUMBER milliseconds, 0: for
 * ever. The child would have the locks of the driver that this thread holds.
 */
static void task_fork_beside(int number)
{
	__typeof__(&fake_linger) linger = of_driver("fake_linger");
	__typeof__(&fake_stays) stays = of_driver("fake_stays");
	__typeof__(&fake_await_stay) await_stay = of_driver("fake_await_stay");
	pid_t child;
	int status;

	open_device();
	allocate_numbers();
	linger("cuEventQuery", (unsigned int)number);
	launch(NULL);
	await_stay();
	child = fork();
	if (!child)
		_exit(stays());
	if (waitpid(child, &status, 0) != child || status != (number ? 0 : 1 << 8))
		fail("the child of a fork beside the shim's thread");
	_exit(0);
}

static void fork_and_wait(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

/* A library forks while the program forks, as a signal handler may, too. */
static void task_fork_in_fork(int number)
{
	__typeof__(&fake_in_fork) in_fork = of_driver("fake_in_fork");

	open_device();
	allocate_numbers();
	hold();
	launch(NULL);
	for (int i = 0; i < number; i++) {
		in_fork(fork_and_wait);
		fork_and_wait();
	}
	wait_for_line();
	release();
	wait_for_line();
}

/* It runs no handlers of exit(), and calls the C library's own _exit(). */
static void task_quick_exit(int number)
{
	open_device();
	allocate_numbers();
	for (int i = 0; i < number; i++)
		launch(NULL);
	wait_for_line();
	quick_exit(0);
}

/* Children of the system call alone, which end by exit(), and run the handlers of their parent. */
static void task_bare_fork(int number)
{
	pid_t child;

	open_device();
	allocate_numbers();
	for (int i = 0; i < number; i++) {
		launch(NULL);
		child = _Fork();
		if (!child)
			exit(0);
		waitpid(child, NULL, 0);
	}
}

const struct task fork_tasks[] = {
	{ "fork_amid", task_fork_amid },       { "fork_beside", task_fork_beside },
	{ "fork_in_fork", task_fork_in_fork }, { "quick_exit", task_quick_exit },
	{ "bare_fork", task_bare_fork },       { NULL, NULL },
};
