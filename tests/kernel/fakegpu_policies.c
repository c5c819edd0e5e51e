// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The daemon gvmd over the control files of gvm.ko: its policies move limits, and what they
 * have changed is as before when they end, crash or hang.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"

#define TENANT_CHUNKS 6u
#define LIMIT	      (8ull << 20)
#define LOG	      "/gvmd.log"
#define WAIT_STEPS    6000u /* of 10 ms */

enum { HIGH, LOW, TENANTS };

static pid_t pids[TENANTS];

static void tenants_begin(void)
{
	for (uint32_t i = 0; i < TENANTS; i++)
		pids[i] = tenant_start(rounds_work, i);
	guest_check(rounds_go_on(HIGH) && rounds_go_on(LOW), "two tenants share the GPU");
}

/* Start gvmd with a policy of /policies. */
static pid_t gvmd_start(const char *policy)
{
	char file[64], high[32], low[32];
	pid_t pid;

	snprintf(file, sizeof(file), "/policies/%s.json", policy);
	snprintf(high, sizeof(high), "high=%d", pids[HIGH]);
	snprintf(low, sizeof(low), "low=%d", pids[LOW]);
	pid = fork();
	if (pid == 0) {
		int log = open(LOG, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
		execl("/gvmd", "gvmd", "run", file, "--container", high, "--container", low,
		      NULL);
		_exit(127);
	}
	return pid;
}

/* Wait for gvmd, after a signal if it is not 0. Returns its exit code, or -1. */
static int gvmd_end(pid_t pid, int signal)
{
	int status = 0;

	if (signal)
		kill(pid, signal);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Does gvmd's log have @text? */
static bool gvmd_said(const char *text)
{
	char log[GUEST_TEXT_MAX] = "";
	int fd = open(LOG, O_RDONLY);
	ssize_t length = read(fd, log, sizeof(log) - 1);

	close(fd);
	log[length > 0 ? length : 0] = '\0';
	if (strstr(log, text))
		return true;
	guest_log("# gvmd: %.300s", log);
	return false;
}

static bool reaches(pid_t pid, const char *file, long long value)
{
	for (uint32_t i = 0; i < WAIT_STEPS && control_get(pid, file) != value; i++)
		sleep_ms(10);
	return control_get(pid, file) == value;
}

/* "max" reads as 0. */
static bool is_as_before(void)
{
	return control_get(pids[LOW], "gmem.limit.high") == 0 &&
	       control_get(pids[LOW], "compute.weight") == 100 &&
	       control_get(pids[LOW], "compute.freeze") == 0;
}

static void test_rules(void)
{
	pid_t gvmd = gvmd_start("rules");

	guest_check(reaches(pids[LOW], "gmem.limit.high", LIMIT) &&
			    reaches(pids[LOW], "compute.weight", 7),
		    "a rule limits the neighbour");
	guest_check(control_get(pids[LOW], "gmem.current") <= (long long)LIMIT &&
			    rounds_go_on(LOW) && rounds_go_on(HIGH),
		    "both get on");
	guest_check(gvmd_end(gvmd, SIGTERM) == 0, "a signal ends gvmd");
	guest_check(is_as_before() && gvmd_said("low: gmem.limit.high max, as before"),
		    "and the limit is as before");
}

static void test_crash(const char *policy, const char *reason)
{
	pid_t gvmd = gvmd_start(policy);

	guest_check(gvmd_end(gvmd, 0) == 1 && gvmd_said(reason), "gvmd reports: %s", reason);
	guest_check(gvmd_said("low: compute.freeze 1\n") && is_as_before() && rounds_go_on(LOW),
		    "the container that it had frozen gets on");
}

static void test_timeshare(void)
{
	pid_t gvmd = gvmd_start("timeshare");

	guest_check(reaches(pids[HIGH], "compute.freeze", 1) &&
			    reaches(pids[LOW], "compute.freeze", 1),
		    "each tenant is frozen in its turn");
	for (uint32_t i = 0; i < 3; i++)
		guest_check(rounds_go_on(LOW) && rounds_go_on(HIGH),
			    "and gets on in its slices");
	guest_check(gvmd_end(gvmd, SIGINT) == 0, "a signal ends gvmd");
	guest_check(is_as_before() && control_get(pids[HIGH], "compute.freeze") == 0,
		    "none is frozen");
}

/* The last one: its important tenant ends. */
static void test_dyn(void)
{
	pid_t gvmd = gvmd_start("dyn");

	guest_check(reaches(pids[LOW], "compute.freeze", 1) &&
			    reaches(pids[LOW], "gmem.limit.high", LIMIT),
		    "work of the one stops the other");
	guest_check(rounds_go_on(HIGH), "which does not disturb it");
	guest_check(tenant_kill(pids[HIGH]), "it ends");
	guest_check(reaches(pids[LOW], "compute.freeze", 0) &&
			    reaches(pids[LOW], "gmem.limit.high", 0) && rounds_go_on(LOW),
		    "the other has the GPU");
	guest_check(tenant_kill(pids[LOW]) && gvmd_end(gvmd, 0) == 0,
		    "gvmd ends with the last container");
}

void test_policies(void)
{
	rounds_begin(TENANT_CHUNKS);
	gpu_load("chunks=16 sms=2");
	tenants_begin();
	test_rules();
	test_crash("crash", "stopped: it crashed: Aborted");
	test_crash("hang", "stopped: it hangs: no answer within 3000 ms");
	test_timeshare();
	test_dyn();
	gpu_unload();
}
