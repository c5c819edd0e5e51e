// SPDX-License-Identifier: MIT OR GPL-2.0
/* See inject.h, and Documentation/fault-injection in the kernel's sources. */
#define _GNU_SOURCE
#include "inject.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define INJECT_MAX   5000    /* more allocations of an entry are an endless loop */
#define INJECT_TIMES 1000000 /* the count of random failures starts here and goes down */

static const char *const inject_kinds[] = { "failslab", "fail_page_alloc" };

#define INJECT_KINDS (sizeof(inject_kinds) / sizeof(inject_kinds[0]))

/* The result of all runs of an entry. */
struct inject_outcome {
	unsigned int failed;  /* failed allocations */
	unsigned int refused; /* runs of these that returned an error */
	const char *problem;  /* the first problem, or NULL */
	unsigned int nth;     /* the allocation that failed then */
	int error;
};

static int inject_set(const char *kind, const char *setting, const char *value)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", kind, setting);
	return guest_write(path, value);
}

/*
 * A failed allocation is not logged: its stack trace would count as a complaint. The kernel
 * itself warns when it has no memory to load a module's tracepoints; boot.sh knows where.
 */
bool inject_begin(void)
{
	if (access("/proc/self/fail-nth", F_OK) || access(GUEST_DEBUGFS "/failslab", F_OK)) {
		guest_check(true, "test_injection # SKIP the kernel has no fault injection");
		return false;
	}
	for (size_t i = 0; i < INJECT_KINDS; i++) {
		inject_set(inject_kinds[i], "verbose", "0");
		guest_check(inject_set(inject_kinds[i], "ignore-gfp-wait", "N") == 0,
			    "%s: allocations that may sleep fail as well", inject_kinds[i]);
	}
	guest_check(inject_set("fail_page_alloc", "min-order", "0") == 0 &&
			    inject_set("fail_page_alloc", "ignore-gfp-highmem", "N") == 0,
		    "pages of any kind, too");
	guest_allow_warnings();
	guest_log("# injection begins");
	return true;
}

void inject_end(void)
{
	inject_nothing();
	guest_log("# injection ends");
}

static int inject_open(pid_t task)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fail-nth", task, task);
	return open(path, O_RDWR | O_CLOEXEC);
}

static bool inject_arm(int fd, unsigned int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", nth);

	return pwrite(fd, text, (size_t)length, 0) == length;
}

/* How many allocations until the failure: 0 if it has happened. */
static long inject_left(int fd)
{
	char text[16] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) : -1;
}

static void inject_problem(struct inject_outcome *outcome, const char *problem,
			   unsigned int nth, int error)
{
	if (outcome->problem)
		return;
	outcome->problem = problem;
	outcome->nth = nth;
	outcome->error = error;
}

/* A run in which no allocation fails. */
static void inject_plain_run(const struct inject_entry *entry, struct inject_outcome *outcome,
			     unsigned int nth)
{
	int error;

	if (entry->prepare && !entry->prepare())
		inject_problem(outcome, "cannot be prepared afterwards", nth, errno);
	error = entry->run();
	if (error)
		inject_problem(outcome, "does not work afterwards", nth, error);
	if (entry->undo)
		entry->undo();
}

/* Let the nth allocation of a run fail. Returns whether there was an nth. */
static bool inject_run(const struct inject_entry *entry, int fd, unsigned int nth,
		       struct inject_outcome *outcome)
{
	bool armed, failed;
	int error;

	if (entry->prepare && !entry->prepare())
		inject_problem(outcome, "cannot be prepared", nth, errno);
	armed = inject_arm(fd, nth);
	error = entry->run();
	failed = armed && inject_left(fd) == 0;
	inject_arm(fd, 0);
	if (entry->undo)
		entry->undo();
	if (!armed)
		inject_problem(outcome, "cannot be armed", nth, 0);
	if (error && !(failed && (error == ENOMEM || error == entry->also)))
		inject_problem(outcome, "fails otherwise", nth, error);
	outcome->failed += failed;
	outcome->refused += failed && error;
	return failed;
}

static void inject_report(const struct inject_entry *entry,
			  const struct inject_outcome *outcome)
{
	if (outcome->problem)
		guest_check(false, "injection: %s: with allocation %u failed: %s: %s",
			    entry->name, outcome->nth, outcome->problem,
			    guest_error_name(outcome->error));
	else
		guest_check(true, "injection: %s: %u allocations failed, %u times it did too",
			    entry->name, outcome->failed, outcome->refused);
}

void inject_entry(const struct inject_entry *entry)
{
	int fd = inject_open(entry->task ? entry->task : getpid());
	struct inject_outcome outcome = { 0 };
	unsigned int nth = 1;
	long gvm, gpu;

	inject_plain_run(entry, &outcome, 0); /* allocations that happen once happen here */
	gvm = guest_count_objects("gvm");
	gpu = guest_count_objects("gvm_fakegpu");
	while (nth < INJECT_MAX && !outcome.problem && inject_run(entry, fd, nth, &outcome)) {
		inject_plain_run(entry, &outcome, nth);
		nth++;
	}
	close(fd);
	inject_report(entry, &outcome);
	guest_expect_no_leak("gvm", gvm);
	guest_expect_no_leak("gvm_fakegpu", gpu);
}

static void inject_let_fail(const char *task)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/make-it-fail", task);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		guest_log("# %s: %s", path, guest_error_name(errno));
	close(fd);
}

void inject_into_me(void)
{
	inject_let_fail("self");
}

static bool inject_read_name(const char *task, char *name, size_t size)
{
	char path[300];
	ssize_t length = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/comm", task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		length = read(fd, name, size - 1);
	close(fd);
	if (length <= 0)
		return false;
	name[length - 1] = '\0'; /* replaces the newline */
	return true;
}

/* The next process in any order, and its name; NULL at the end. */
static const char *inject_next_task(DIR *dir, char *name, size_t size)
{
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    inject_read_name(entry->d_name, name, size))
			return entry->d_name;
	return NULL;
}

pid_t inject_find_thread(const char *wanted)
{
	DIR *dir = opendir("/proc");
	pid_t found = 0;
	const char *task;
	char name[32];

	while (!found && (task = inject_next_task(dir, name, sizeof(name))))
		if (strcmp(name, wanted) == 0)
			found = atoi(task);
	closedir(dir);
	return found;
}

void inject_into_threads(void)
{
	DIR *dir = opendir("/proc");
	const char *task;
	char name[32];

	while ((task = inject_next_task(dir, name, sizeof(name))))
		if (strncmp(name, "gvm ", 4) == 0 || strncmp(name, "fakegpu ", 8) == 0)
			inject_let_fail(task);
	closedir(dir);
}

void inject_at_random(unsigned int one_in)
{
	char interval[16], times[16];

	snprintf(interval, sizeof(interval), "%u", one_in);
	snprintf(times, sizeof(times), "%d", INJECT_TIMES);
	for (size_t i = 0; i < INJECT_KINDS; i++) {
		inject_set(inject_kinds[i], "task-filter", "Y");
		inject_set(inject_kinds[i], "interval", interval);
		inject_set(inject_kinds[i], "times", times);
		inject_set(inject_kinds[i], "probability", "100");
	}
}

void inject_nothing(void)
{
	for (size_t i = 0; i < INJECT_KINDS; i++)
		inject_set(inject_kinds[i], "probability", "0");
}

unsigned long inject_random_count(void)
{
	unsigned long count = 0;
	char path[64], text[32];

	for (size_t i = 0; i < INJECT_KINDS; i++) {
		snprintf(path, sizeof(path), "%s/times", inject_kinds[i]);
		if (guest_read(path, text, sizeof(text)) == 0)
			count += INJECT_TIMES - strtoul(text, NULL, 10);
	}
	return count;
}
