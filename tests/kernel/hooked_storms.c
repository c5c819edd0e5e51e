// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Eight processes at once, each over its limit, on a GPU that is smaller than their limits
 * together, beside a quiet one whose memory is protected. Their control files are read and
 * written meanwhile. Two of them are killed in between.
 */
#include "fakegpu_guest.h"
#include "hooked_guest.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define STORMS	    8u
#define STORM_BYTES (32 * SOFTGPU_MB)
#define STORM_LIMIT (18 * SOFTGPU_MB)
#define ROUNDS	    3u
#define QUIET_BYTES (16 * SOFTGPU_MB)
#define QUIET_VALUE 77u

static const long long limit = STORM_LIMIT;

static int storm_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	int failed = softgpu_attach(&tenant, 4000 + number) != 0;
	uint64_t *p = softgpu_managed(&tenant, STORM_BYTES);
	char text[32];

	snprintf(text, sizeof(text), "%lu", STORM_LIMIT);
	failed += hooked_set(getpid(), "gmem.limit.high", text) != 0;
	hooked_ready();
	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t value = 1000 * number + round;

		failed += !hooked_write(&tenant, p, STORM_BYTES, value);
		failed += !hooked_read(&tenant, p, STORM_BYTES, value);
	}
	failed += !hooked_cpu_reads(p, STORM_BYTES, 1000 * number + ROUNDS - 1);
	failed += hooked_get(getpid(), "gmem.peak") > limit;
	hooked_ready();
	softgpu_detach(&tenant);
	return failed;
}

/* It fills its memory, protects it, and leaves it alone. */
static int quiet_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	int failed = softgpu_attach(&tenant, 4000 + number) != 0;
	uint64_t *p = softgpu_managed(&tenant, QUIET_BYTES);

	failed += hooked_set(getpid(), "gmem.limit.low", "16M") != 0;
	failed += !hooked_write(&tenant, p, QUIET_BYTES, QUIET_VALUE);
	hooked_ready();
	failed += hooked_resident_mb(&tenant, p, QUIET_BYTES) != QUIET_BYTES / SOFTGPU_MB;
	failed += !hooked_read(&tenant, p, QUIET_BYTES, QUIET_VALUE);
	failed += !hooked_cpu_reads(p, QUIET_BYTES, QUIET_VALUE);
	softgpu_detach(&tenant);
	return failed;
}

/*
 * Read and write control files of all storms for @seconds. Files of memory are read
 * without a mutex and leave nothing in the trace; compute.* is written under the
 * device's. Limits are raised and said again: a write that lowers one has to evict.
 * Returns how many steps failed.
 */
static unsigned int look_at_storms(const struct hooked_process *storms, long seconds)
{
	static const char *const reads[] = { "gmem.current",	 "gmem.peak",
					     "gmem.events",	 "gmem.swap.current",
					     "gmem.limit.high",	 "gmem.limit.low",
					     "hmem.limit",	 "compute.freeze",
					     "compute.priority", "compute.timeslice" };
	char text[32];
	long end = guest_seconds() + seconds;
	unsigned int failed = 0;

	snprintf(text, sizeof(text), "%lu", STORM_LIMIT);
	while (guest_seconds() < end) {
		for (unsigned int i = 0; i < STORMS; i++) {
			pid_t pid = storms[i].pid;

			for (size_t file = 0; file < sizeof(reads) / sizeof(reads[0]); file++)
				failed += hooked_get(pid, reads[file]) < 0;
			failed += hooked_set(pid, "compute.priority", "2") != 0;
			failed += hooked_set(pid, "compute.timeslice", "1ms") != 0;
			failed += hooked_set(pid, "gmem.limit.low", "0") != 0;
			failed += hooked_set(pid, "gmem.limit.high", text) != 0;
			failed += hooked_set(pid, "hmem.limit", "max") != 0;
		}
		usleep(10000);
	}
	return failed;
}

void test_storms(struct softgpu_tenant *tenant)
{
	struct hooked_process storms[STORMS];
	struct hooked_process quiet = hooked_start(quiet_life, STORMS);
	unsigned long long faults;
	unsigned int killed = 0, failed;

	(void)tenant;
	hooked_wait_ready(&quiet);
	for (unsigned int i = 0; i < STORMS; i++)
		storms[i] = hooked_start(storm_life, i);
	for (unsigned int i = 0; i < STORMS; i++)
		hooked_wait_ready(&storms[i]);
	waits_begin();
	for (unsigned int i = 0; i < STORMS; i++)
		hooked_go(&storms[i]);
	faults = softgpu_stats().faults;
	failed = look_at_storms(storms, 2);
	faults = softgpu_stats().faults - faults;
	guest_check(failed == 0 && faults > STORMS,
		    "control files of storms are read and written: %u errors, %llu faults "
		    "meanwhile",
		    failed, faults);
	faults = softgpu_stats().faults;
	for (unsigned int i = 0; i < 2; i++)
		killed += kill(storms[i].pid, SIGKILL) == 0;
	waits_end_of(getpid());
	guest_check(killed == 2, "two of eight are killed");
	for (unsigned int i = 0; i < 1000 && softgpu_stats().faults == faults; i++)
		usleep(10000);
	guest_check(softgpu_stats().faults > faults, "in the middle: the others go on");
	for (unsigned int i = 2; i < STORMS; i++) {
		hooked_wait_ready(&storms[i]);
		guest_check(hooked_get(storms[i].pid, "gmem.peak") <= limit,
			    "a tenant under 18 MB had %lld at most",
			    hooked_get(storms[i].pid, "gmem.peak"));
		hooked_go(&storms[i]);
	}
	guest_check(hooked_get(quiet.pid, "gmem.current") == (long long)QUIET_BYTES &&
			    hooked_get(quiet.pid, "gmem.swap.current") == 0 &&
			    hooked_event(quiet.pid, "taken") == 0,
		    "the quiet one has all of its protected 16 MB, and nothing was taken");
	hooked_go(&quiet);
	guest_check(hooked_end(&quiet) == 0, "where they were, as they were");
	for (unsigned int i = 0; i < STORMS; i++) {
		int status = hooked_end(&storms[i]);

		guest_check(status == (i < 2 ? 256 + SIGKILL : 0), "tenant %u ended with %d", i,
			    status);
	}
}
