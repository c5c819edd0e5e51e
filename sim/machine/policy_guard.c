// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A step of a plug-in, which may crash or hang
 *
 * On a host a policy has a process of its own (gvmd/host/host_child.c). Here a plug-in steps in
 * the process of the simulator, so that a run stays one process. While it steps, signals of a
 * crash jump back, out of the plug-in. Its deadline is in computing time of this process: a
 * busy host must not end a policy that is well. A plug-in that sleeps for ever is not
 * found, and one that has written over the simulator's memory may still take it along.
 *
 * One that calls exit() ends the simulator, whose results cannot be trusted then: nothing is
 * written, and the program says who ended it.
 *
 * The plug-in's step is a copy. A jump out of it leaves nothing half written, and of what it
 * says only its writes are taken, as many as there may be.
 */
#include "machine/policy_guard.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "engine/error.h"

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull
#define NS_PER_US 1000ull

static const int guard_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM };

#define GUARD_SIGNALS (sizeof(guard_signals) / sizeof(guard_signals[0]))

static sigjmp_buf guard_return;
/* Not on the stack of the actor, which is small. */
static struct gvmd_step guard_step;

/* The policy that steps; NULL: none does. */
static const char *guard_stepping;

/* The program ends. In a step it is the plug-in's doing. */
static void guard_exit(void)
{
	if (!guard_stepping)
		return;
	fprintf(stderr, "gvmsim: policy %s: it called exit(), allowed: return an error\n",
		guard_stepping);
	_exit(SIM_EXIT_RUNTIME);
}

static void guard_jump(int signal_number)
{
	siglongjmp(guard_return, signal_number);
}

/* Let the timer of computing time end a step after @deadline_ns; 0: no more. */
static void guard_set_timer(u64 deadline_ns)
{
	struct itimerval timer = {
		.it_value = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
			      .tv_usec = (suseconds_t)(deadline_ns % NS_PER_S / NS_PER_US) },
	};

	setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

/* Take the writes of the copy. Returns 0 or -EINVAL. */
static int guard_take_writes(struct gvmd_step *step)
{
	step->write_count = guard_step.write_count;
	if (step->write_count > GVMD_WRITES_MAX) {
		step->write_count = 0;
		return gvmd_fail(step, -EINVAL, "it says that it asks for %u writes",
				 guard_step.write_count);
	}
	memcpy(step->writes, guard_step.writes, sizeof(step->writes));
	for (u32 i = 0; i < step->write_count; i++) {
		step->writes[i].file[GVMD_NAME_MAX - 1] = '\0';
		step->writes[i].text[GVMD_TEXT_MAX - 1] = '\0';
	}
	return 0;
}

int policy_guarded_step(struct gvmd_plan *plan, struct gvmd_step *step)
{
	struct sigaction before[GUARD_SIGNALS];
	struct sigaction action = { .sa_handler = guard_jump, .sa_flags = SA_ONSTACK };
	volatile int status = 0;
	static bool watched;
	int came;

	if (!watched && atexit(guard_exit))
		return gvmd_fail(step, -ENOMEM, "out of memory");
	watched = true;
	guard_step = *step;
	for (size_t i = 0; i < GUARD_SIGNALS; i++)
		sigaction(guard_signals[i], &action, &before[i]);
	came = sigsetjmp(guard_return, 1);
	if (!came) {
		guard_set_timer(plan->deadline_ns);
		guard_stepping = plan->policy->name;
		status = plan->policy->step(plan->state, &guard_step);
		guard_set_timer(0);
	}
	guard_stepping = NULL;
	guard_set_timer(0);
	for (size_t i = 0; i < GUARD_SIGNALS; i++)
		sigaction(guard_signals[i], &before[i], NULL);
	if (came)
		plan->opened = false;
	if (came == SIGVTALRM)
		return gvmd_fail(step, -ETIMEDOUT,
				 "it hangs: no answer within %llu ms of computing",
				 plan->deadline_ns / NS_PER_MS);
	if (came)
		return gvmd_fail(step, -ECHILD, "it crashed: %s", strsignal(came));
	memcpy(step->why, guard_step.why, sizeof(step->why));
	step->why[GVMD_WHY_MAX - 1] = '\0';
	if (status)
		return status > 0 ? -EINVAL : status;
	return guard_take_writes(step);
}
