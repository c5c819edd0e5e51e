// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Eight processes at once, each over its limit, on a GPU that is smaller than their limits
 * together. Their control files are read and written meanwhile. Two of them
 * are killed in between.
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

/*
 * Read and write control files of all storms for @seconds. Files of memory are read
 * without a mutex and leave nothing in the trace; compute.* is written under the
 * device's. Returns how many steps failed.
 */
static unsigned int look_at_storms(const struct hooked_process *storms, long seconds)
{
	static const char *const reads[] = { "gmem.current",   "gmem.peak",
					     "gmem.events",    "gmem.swap.current",
					     "compute.freeze", "compute.timeslice" };
	long end = guest_seconds() + seconds;
	unsigned int failed = 0;

	while (guest_seconds() < end) {
		for (unsigned int i = 0; i < STORMS; i++) {
			pid_t pid = storms[i].pid;

			for (size_t file = 0; file < sizeof(reads) / sizeof(reads[0]); file++)
				failed += hooked_get(pid, reads[file]) < 0;
			failed += hooked_set(pid, "compute.priority", "2") != 0;
			failed += hooked_set(pid, "gmem.limit.low", "0") != 0;
		}
		usleep(10000);
	}
	return failed;
}

void test_storms(struct softgpu_tenant *tenant)
{
	struct hooked_process storms[STORMS];
	unsigned int killed = 0, failed;

	(void)tenant;
	for (unsigned int i = 0; i < STORMS; i++)
		storms[i] = hooked_start(storm_life, i);
	for (unsigned int i = 0; i < STORMS; i++)
		hooked_wait_ready(&storms[i]);
	waits_begin();
	for (unsigned int i = 0; i < STORMS; i++)
		hooked_go(&storms[i]);
	failed = look_at_storms(storms, 2);
	guest_check(failed == 0, "control files of storms are read and written: %u errors",
		    failed);
	for (unsigned int i = 0; i < 2; i++)
		killed += kill(storms[i].pid, SIGKILL) == 0;
	waits_end_of(getpid());
	guest_check(killed == 2, "two of eight are killed");
	for (unsigned int i = 2; i < STORMS; i++) {
		hooked_wait_ready(&storms[i]);
		guest_check(hooked_get(storms[i].pid, "gmem.peak") <= limit,
			    "a tenant under 18 MB had %lld at most",
			    hooked_get(storms[i].pid, "gmem.peak"));
		hooked_go(&storms[i]);
	}
	for (unsigned int i = 0; i < STORMS; i++) {
		int status = hooked_end(&storms[i]);

		guest_check(status == (i < 2 ? 256 + SIGKILL : 0), "tenant %u ended with %d", i,
			    status);
	}
}
