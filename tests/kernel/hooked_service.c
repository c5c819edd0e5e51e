// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What the core does on its own over NVIDIA's driver: evictors ahead of need, and rest
 * while the machine sleeps.
 */
#include "hooked_guest.h"

#include <sys/mman.h>
#include <unistd.h>

static const long long mb = SOFTGPU_MB;

/* A tenant's evictor wakes up where no chunk of 64 MB is free, and frees two. */
void test_ahead(struct softgpu_tenant *tenant)
{
	size_t bytes = 96 * SOFTGPU_MB;
	uint64_t *p = softgpu_managed(tenant, bytes);
	pid_t me = getpid();
	long long left = 64 * mb;

	guest_check(hooked_set(me, "gmem.limit.high", "64M") == 0, "the limit becomes 64 MB");
	guest_check(hooked_write(tenant, p, bytes, 8), "the GPU writes 96 MB");
	for (unsigned int i = 0; i < 500 && left == 64 * mb; i++) {
		usleep(10000);
		left = hooked_get(me, "gmem.current");
	}
	guest_check(left < 64 * mb, "a chunk or two are free before they are needed: %lld",
		    left);
	guest_check(hooked_read(tenant, p, bytes, 8) && hooked_cpu_reads(p, bytes, 8),
		    "all data is right");
	guest_check(hooked_get(me, "gmem.peak") <= 64 * mb, "never more than 64 MB: %lld",
		    hooked_get(me, "gmem.peak"));
	munmap(p, bytes);
}

/* Lower the limit of the first process. */
static int writer_life(unsigned int number)
{
	(void)number;
	hooked_ready();
	return hooked_set(getppid(), "gmem.limit.high", "8M");
}

void test_asleep(struct softgpu_tenant *tenant)
{
	struct hooked_process writer = hooked_start(writer_life, 0);
	size_t bytes = 32 * SOFTGPU_MB;
	uint64_t *p = softgpu_managed(tenant, bytes);
	pid_t me = getpid();

	hooked_wait_ready(&writer);
	guest_check(hooked_write(tenant, p, bytes, 9), "the GPU writes 32 MB");
	guest_check(hooked_set(me, "compute.freeze", "1") == 0, "the tenant is frozen");
	guest_check(softgpu_sleep(true) == 0, "the GPU goes to sleep");
	guest_check(hooked_get(me, "compute.freeze") == 1, "it is frozen while the GPU sleeps");
	hooked_go(&writer);
	usleep(500000);
	guest_check(hooked_get(me, "gmem.current") == 32 * mb,
		    "a limit of 8 MB is written: nothing leaves a GPU that sleeps: %lld",
		    hooked_get(me, "gmem.current"));
	guest_check(softgpu_sleep(false) == 0, "the GPU wakes up");
	guest_check(hooked_get(me, "compute.freeze") == 1, "it is frozen still");
	guest_check(hooked_set(me, "compute.freeze", "0") == 0, "it is thawed");
	guest_check(hooked_end(&writer) == 0, "the write ends");
	guest_check(hooked_get(me, "gmem.current") == 8 * mb, "8 MB are left: %lld",
		    hooked_get(me, "gmem.current"));
	guest_check(hooked_read(tenant, p, bytes, 9) && hooked_cpu_reads(p, bytes, 9),
		    "all data is right");
	munmap(p, bytes);
}
