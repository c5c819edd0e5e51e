// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Eight processes at once, each over its limit, on a GPU that is smaller than their limits
 * together. Two of them are killed in between.
 */
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

void test_storms(struct softgpu_tenant *tenant)
{
	struct hooked_process storms[STORMS];
	unsigned int killed = 0;

	(void)tenant;
	for (unsigned int i = 0; i < STORMS; i++)
		storms[i] = hooked_start(storm_life, i);
	for (unsigned int i = 0; i < STORMS; i++)
		hooked_wait_ready(&storms[i]);
	for (unsigned int i = 0; i < STORMS; i++)
		hooked_go(&storms[i]);
	usleep(2000000);
	for (unsigned int i = 0; i < 2; i++)
		killed += kill(storms[i].pid, SIGKILL) == 0;
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
