// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Which thread waits for which, from the tracepoints gvm:gvm_lock and gvm:gvm_wait. No thread
 * may wait for the GPU, or for another thread, while it has a mutex of the whole device: all
 * threads that want the mutex would wait, too.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakegpu_guest.h"

#define WAITS_LOCK "gvm tsg"

static struct {
	int holder; /* pid of the thread that has the mutex at this line; 0: none */
	uint32_t taken;
	uint32_t contended; /* times that a thread found it taken */
	uint32_t waits;
	uint32_t wrong;
} waits;

void waits_begin(void)
{
	guest_expect_write("tracing/trace_clock", "counter", 0);
	guest_expect_write("tracing/buffer_size_kb", "8192", 0);
	guest_expect_write("tracing/trace", "", 0);
	guest_expect_write("tracing/events/gvm/gvm_lock/filter", "lock == \"" WAITS_LOCK "\"",
			   0);
	guest_expect_write("tracing/events/gvm/gvm_lock/enable", "1", 0);
	guest_expect_write("tracing/events/gvm/gvm_wait/enable", "1", 0);
}

/*
 * The pid in the line of an event: "   <...>-71  [001] ..... 512: gvm_wait: begin what=fence".
 */
static int line_pid(const char *line)
{
	const char *cpu = strstr(line, " [");

	while (cpu && cpu > line && *cpu != '-')
		cpu--;
	return cpu && *cpu == '-' ? atoi(cpu + 1) : 0;
}

static void waits_read_line(const char *line)
{
	const char *lock = strstr(line, " gvm_lock: "),
		   *wait = strstr(line, " gvm_wait: begin");
	int pid = line_pid(line);

	if (lock && strstr(lock, "step=take")) {
		waits.holder = pid;
		waits.taken++;
	} else if (lock && strstr(lock, "step=release")) {
		waits.holder = 0;
	} else if (lock) {
		waits.contended++;
	} else if (wait) {
		waits.waits++;
		if (pid == waits.holder && ++waits.wrong < 10)
			guest_log("# with the mutex \"" WAITS_LOCK
				  "\", thread %d begins to wait:%s",
				  pid, strchr(wait + 1, ' '));
	}
}

void waits_end(void)
{
	FILE *trace;
	char line[512];

	guest_expect_write("tracing/events/gvm/enable", "0", 0);
	memset(&waits, 0, sizeof(waits));
	trace = fopen(GUEST_DEBUGFS "/tracing/trace", "re");
	while (trace && fgets(line, sizeof(line), trace)) {
		line[strcspn(line, "\n")] = '\0';
		waits_read_line(line);
	}
	if (trace)
		fclose(trace);
	guest_check(waits.taken > 0 && waits.waits > 0,
		    "the mutex was taken %u times, %u times of these after a wait; %u waits",
		    waits.taken, waits.contended, waits.waits);
	guest_check(waits.wrong == 0, "no thread waits for the GPU with the device's mutex");
	guest_expect_write("tracing/events/gvm/gvm_lock/filter", "0", 0);
}
