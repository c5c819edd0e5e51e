// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Start, fork, exec and exit of the process.
 *
 * exit() and a return of main() run worker.c's exit handler, which stops the thread before
 * libcuda ends. Threads that still launch then are served by the driver, and no more counted.
 * _exit() runs no handler, so it is hooked: Python's child processes end by it. quick_exit() calls
 * the C library's _exit(), and has a handler. exec() starts over in the new program, which
 * removes what the old one left. A process that is killed leaves its directory; the next process
 * with the shim removes it. So does the parent in daemon(), which calls the C library's _exit().
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fence.h"

static bool forked; /* descriptors may be the parent's */
static pid_t owner;

bool shim_is_own_process(void)
{
	return getpid() == owner;
}

static void tell_summary(void)
{
	u64 launched, ended, fenced, allowed, refused;

	if (!shim_log_wanted() || !shim_real_if_used())
		return;
	for (int i = streams_next_device(-1); i >= 0; i = streams_next_device(i)) {
		streams_counts(i, &launched, &ended);
		shim_log("GPU %d: launched %llu ended %llu streams %u peak %llu current %llu",
			 i, launched, ended, streams_count(), books_peak(i), books_used(i));
	}
	shim_log("allocations: redirected %llu pool %llu device %llu managed %llu; channel "
		 "groups %u",
		 books_count(SHIM_REDIRECTED), books_count(SHIM_POOL), books_count(SHIM_DEVICE),
		 books_count(SHIM_MANAGED), turns_groups());
	modules_counts(&fenced, &allowed, &refused);
	if (shim_settings.fence != SHIM_NO_FENCE)
		shim_log("modules: fenced %llu without a fence %llu refused %llu", fenced,
			 allowed, refused);
}

static void close_all(void)
{
	static atomic_flag once = ATOMIC_FLAG_INIT;

	if (!shim_is_own_process() || atomic_flag_test_and_set(&once))
		return;
	shim_close_begins();
	worker_stop();
	passing_close();
	unseen_tell(forked, false);
	tell_summary();
	streams_end_all();
	report_publish(true);
	report_close();
	shared_close();
}

static void after_fork(void)
{
	owner = getpid();
	forked = true;
	shim_real_reset();
	memory_reset();
	pools_reset();
	worker_reset();
	streams_reset();
	books_reset();
	cold_reset();
	rm_reset();
	turns_reset();
	freeze_reset();
	report_reset();
	shared_reset();
	vmm_reset();
	pinned_reset();
	ipc_reset();
	passing_reset();
	graphs_reset();
	partition_reset();
	modules_reset();
}

/* It may be a signal handler, with any lock of ours or of malloc() held below it. */
static void abandon_all(void)
{
	if (!shim_is_own_process() || shim_closing())
		return;
	shim_close_begins();
	unseen_tell(forked, true);
	tell_summary();
	report_abandon();
	shared_abandon();
}

__attribute__((constructor)) static void start(void)
{
	held_init();
	owner = getpid();
	shim_log_open();
	shim_settings_read();
	folder_init();
	worker_init();
	at_quick_exit(abandon_all); /* it does not call our _exit() */
	pthread_atfork(worker_before_fork, worker_after_fork, after_fork);
	shim_log("loaded: managed %d place %d limit %s timeslice %llu us",
		 shim_settings.managed, shim_settings.place,
		 shim_settings.limit.all.given || shim_settings.limit.by_gpu ? "yes" : "no",
		 shim_settings.timeslice_us);
}

__attribute__((destructor)) static void end(void)
{
	close_all();
}

static void quit(int status)
{
	abandon_all();
	for (;;)
		syscall(SYS_exit_group, status);
}

SHIM_EXPORT void _exit(int status)
{
	quit(status);
	__builtin_unreachable();
}

SHIM_EXPORT void _Exit(int status)
{
	quit(status);
	__builtin_unreachable();
}
