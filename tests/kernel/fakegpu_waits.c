// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Which thread waits for which, from the tracepoints gvm:gvm_lock and gvm:gvm_wait. Processes
 * read and write control files, open contexts and exit meanwhile. They take three kinds of
 * mutex. No holder of one of these may wait for a fault, a reclaim, a preemption or another
 * mutex, since all threads that want the mutex would wait, too:
 *
 *     gvm registry   one for all devices: no wait
 *     gvm tsg        one for a device: no wait, and RPCs of one TSG only
 *     gvm range      one for an allocation: a wait for a copy engine only
 *
 * The waits of the processes themselves are judged by their names.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakegpu_guest.h"

#define WAITS_PIDS    32768
#define WAITS_KB      "24576" /* of trace for each CPU */
#define WAITS_LOG_MAX 10u

enum waits_lock { WAITS_REGISTRY, WAITS_TSG, WAITS_RANGE, WAITS_LOCKS };

static const char *const waits_locks[WAITS_LOCKS] = { "gvm registry", "gvm tsg", "gvm range" };

/* The waits of a process that depend on the copy engines or on the process itself. */
static const char *const waits_of_a_process[] = {
	"fence",
	"a place in a copy queue",
	"its own TSG",
	"range_is_idle(range)", /* a chunk of it is on its way out */
	"gvm_activity_should_end(device, GVM_ACTIVITY_WRITERS)", /* the freeze that it wrote */
};

/* The process of waits_end_of(), or 0. */
static pid_t waits_pid;

static struct {
	uint8_t held[WAITS_PIDS][WAITS_LOCKS];
	uint32_t taken_of_pid, waits_of_pid; /* of waits_pid */
	uint32_t rpcs[WAITS_PIDS];	     /* since the thread took its mutex */
	uint32_t taken[WAITS_LOCKS], contended[WAITS_LOCKS];
	uint32_t waits, waits_of_processes;
	uint32_t most_rpcs; /* in one hold of the mutex of TSGs */
	uint32_t wrong, strange, lost;
} waits;

void waits_begin(void)
{
	guest_expect_write("tracing/trace_clock", "counter", 0);
	guest_expect_write("tracing/buffer_size_kb", WAITS_KB, 0);
	guest_expect_write("tracing/trace", "", 0);
	guest_expect_write("tracing/events/gvm/gvm_lock/enable", "1", 0);
	guest_expect_write("tracing/events/gvm/gvm_wait/enable", "1", 0);
}

/*
 * The pid in the line of an event: "   <...>-71  [001] ..... 512: gvm_wait: begin by=kernel
 * what=fence". 0: there is none.
 */
static int line_pid(const char *line)
{
	const char *cpu = strstr(line, " [");
	int pid;

	while (cpu && cpu > line && *cpu != '-')
		cpu--;
	pid = cpu && *cpu == '-' ? atoi(cpu + 1) : 0;
	return pid > 0 && pid < WAITS_PIDS ? pid : 0;
}

static void waits_complain(uint32_t *count, const char *why, const char *line)
{
	if (++*count <= WAITS_LOG_MAX)
		guest_log("# %s: %s", why, line + strspn(line, " "));
}

static void waits_read_lock(const char *line, const char *event, int pid)
{
	uint8_t *held = waits.held[pid];
	enum waits_lock lock = 0;

	while (lock < WAITS_LOCKS && !strstr(event, waits_locks[lock]))
		lock++;
	if (lock == WAITS_LOCKS)
		return;
	if (strstr(event, "step=take")) {
		held[lock]++;
		waits.taken[lock]++;
		waits.taken_of_pid += pid == waits_pid;
		waits.rpcs[pid] = 0;
	} else if (strstr(event, "step=release")) {
		/* The hold may have begun before the trace. */
		held[lock] -= held[lock] > 0;
	} else {
		waits.contended[lock]++;
		if (held[WAITS_REGISTRY] || held[WAITS_TSG] || held[WAITS_RANGE])
			waits_complain(&waits.wrong, "with a mutex it waits for another", line);
	}
}

static void waits_read_wait(const char *line, const char *what, int pid)
{
	const uint8_t *held = waits.held[pid];
	bool is_copy = strcmp(what, "fence") == 0 || strstr(what, "copy queue");
	size_t known = sizeof(waits_of_a_process) / sizeof(waits_of_a_process[0]), i = 0;

	if (strcmp(what, "rpc") == 0) {
		waits.rpcs[pid]++;
		if (held[WAITS_TSG] && waits.rpcs[pid] > waits.most_rpcs)
			waits.most_rpcs = waits.rpcs[pid];
		return;
	}
	waits.waits++;
	if (pid == waits_pid && ++waits.waits_of_pid <= WAITS_LOG_MAX)
		guest_log("# it begins to wait: %s", line + strspn(line, " "));
	if (held[WAITS_REGISTRY] || held[WAITS_TSG] || (held[WAITS_RANGE] && !is_copy))
		waits_complain(&waits.wrong, "with a mutex it begins to wait", line);
	if (waits_pid || !strstr(line, " by=process "))
		return;
	waits.waits_of_processes++;
	while (i < known && strcmp(what, waits_of_a_process[i]) != 0)
		i++;
	if (i == known)
		waits_complain(&waits.strange, "a process begins to wait", line);
}

static void waits_read_line(const char *line)
{
	const char *lock = strstr(line, " gvm_lock: ");
	const char *wait = strstr(line, " gvm_wait: begin by=");
	int pid = line_pid(line);

	if (lock && pid)
		waits_read_lock(line, lock, pid);
	else if (wait && pid)
		waits_read_wait(line, strstr(wait, "what=") + 5, pid);
	else if (strstr(line, "[LOST"))
		waits.lost++;
}

bool waits_seen(pid_t pid, const char *what)
{
	FILE *trace = fopen(GUEST_DEBUGFS "/tracing/trace", "re");
	char line[512];
	bool seen = false;

	while (trace && !seen && fgets(line, sizeof(line), trace))
		seen = (!pid || line_pid(line) == pid) && strstr(line, what);
	if (trace)
		fclose(trace);
	return seen;
}

void waits_contended(const char *lock, uint32_t least)
{
	for (uint32_t i = 0; i < WAITS_LOCKS; i++)
		if (strcmp(waits_locks[i], lock) == 0)
			guest_check(waits.contended[i] >= least,
				    "of these, %u waits for %s: at least %u",
				    waits.contended[i], lock, least);
}

/* Stop the trace and count what is in it. */
static void waits_read(void)
{
	FILE *trace;
	char line[512];

	guest_expect_write("tracing/events/gvm/enable", "0", 0);
	memset(&waits, 0, sizeof(waits));
	trace = fopen(GUEST_DEBUGFS "/tracing/trace", "re");
	while (trace && fgets(line, sizeof(line), trace)) {
		line[strcspn(line, "\n")] = '\0';
		/* "entries-in-buffer/entries-written: 5/5": all that was written is there. */
		if (strstr(line, "entries-in-buffer")) {
			unsigned long long in = 0, written = 1;
			const char *counts = strstr(line, "written: ");

			if (counts)
				sscanf(counts, "written: %llu/%llu", &in, &written);
			waits.lost += in != written;
		}
		waits_read_line(line);
	}
	if (trace)
		fclose(trace);
	guest_expect_write("tracing/trace", "", 0);
	guest_expect_write("tracing/buffer_size_kb", "64", 0);
	guest_check(waits.lost == 0, "no event was lost");
	guest_check(waits.wrong == 0,
		    "no holder of a mutex waits for another tenant (%u waits)", waits.waits);
}

void waits_end_of(pid_t pid)
{
	waits_pid = pid;
	waits_read();
	waits_pid = 0;
	guest_check(waits.taken_of_pid > 0 && waits.waits_of_pid == 0,
		    "process %d took a mutex %u times, and began %u waits", (int)pid,
		    waits.taken_of_pid, waits.waits_of_pid);
}

void waits_end(uint32_t most_rpcs)
{
	waits_read();
	guest_check(waits.waits > 0, "the trace has waits");
	for (uint32_t i = 0; i < WAITS_LOCKS; i++)
		guest_check(waits.taken[i] > 0, "%s: taken %u times, %u waits for it",
			    waits_locks[i], waits.taken[i], waits.contended[i]);
	guest_check(
		waits.strange == 0,
		"no process waits for another tenant's fault, reclaim or preemption (%u waits)",
		waits.waits_of_processes);
	guest_check(waits.most_rpcs > 0 && waits.most_rpcs <= most_rpcs,
		    "others wait for at most %u RPCs, here for %u", most_rpcs, waits.most_rpcs);
}
