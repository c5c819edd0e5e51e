// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * MIG: each instance is a GPU of its own for gvm.ko, with its number and memory. Two instances
 * of 32 MB, and a process on each.
 */
#define _GNU_SOURCE
#include "hooked_guest.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECOND	    5000u /* clients */
#define NO_CLIENT   5001u
#define MIG	    "instances=2 vidmem_mb=80"
#define SMALL_MB    16u
#define LARGE_MB    48u /* more than an instance */
#define INSTANCE    (32ll << 20)
#define NO_SUCH_GPU "gvm/%d/0/gmem.current"

static const long long mb = SOFTGPU_MB;

/* It has 16 MB under a limit of 4, and leaves them alone meanwhile. */
static int second_life(unsigned int instance)
{
	struct softgpu_tenant tenant;
	pid_t me = getpid();
	uint64_t *p;
	int failed;

	softgpu_instance = instance;
	failed = softgpu_attach(&tenant, SECOND) != 0;
	p = softgpu_managed(&tenant, SMALL_MB * SOFTGPU_MB);
	failed += hooked_set(me, "gmem.limit.high", "4M") != 0;
	failed += !hooked_write(&tenant, p, SMALL_MB * SOFTGPU_MB, 2);
	failed += hooked_get(me, "gmem.current") != 4 * mb;
	hooked_ready();
	failed += hooked_get(me, "gmem.current") != 4 * mb;
	failed += hooked_get(me, "gmem.swap.current") != 12 * mb;
	failed += !hooked_read(&tenant, p, SMALL_MB * SOFTGPU_MB, 2);
	failed += hooked_get(me, "gmem.peak") != 4 * mb;
	softgpu_detach(&tenant);
	return failed;
}

/* The first process, on the first instance. */
static void first_instance(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, LARGE_MB * SOFTGPU_MB);
	char path[64], text[GUEST_TEXT_MAX];
	pid_t me = getpid();

	snprintf(path, sizeof(path), NO_SUCH_GPU, (int)me);
	guest_check(hooked_get(me, "gmem.current") == 0 &&
			    guest_read(path, text, sizeof(text)) != 0,
		    "the first instance of the first GPU is 17, and there is no 0");
	guest_check(hooked_set(me, "gmem.limit.high", "8M") == 0, "its limit becomes 8 MB");
	guest_check(hooked_write(tenant, p, SMALL_MB * SOFTGPU_MB, 1), "the GPU writes 16 MB");
	guest_check(hooked_get(me, "gmem.current") == 8 * mb, "8 MB are charged: %lld",
		    hooked_get(me, "gmem.current"));
	guest_check(hooked_set(me, "gmem.limit.high", "max") == 0 &&
			    hooked_write(tenant, p, LARGE_MB * SOFTGPU_MB, 1) &&
			    hooked_read(tenant, p, LARGE_MB * SOFTGPU_MB, 1),
		    "without a limit it writes and reads 48 MB, more than the instance has");
	guest_check(hooked_get(me, "gmem.peak") <= INSTANCE &&
			    hooked_get(me, "gmem.peak") > INSTANCE / 2,
		    "it had most of the instance, and no more: %lld",
		    hooked_get(me, "gmem.peak"));
	guest_check(hooked_cpu_reads(p, LARGE_MB * SOFTGPU_MB, 1), "all data is right");
	munmap(p, LARGE_MB * SOFTGPU_MB);
}

/* Without an instance a process gets nothing of a GPU with MIG. */
static void no_instance(void)
{
	struct softgpu_tenant tenant;

	softgpu_instance = 0;
	guest_check(softgpu_attach(&tenant, NO_CLIENT) != 0,
		    "a process that names no instance is refused by RM");
	softgpu_detach(&tenant);
	softgpu_instance = 1;
}

void test_mig(void)
{
	struct softgpu_tenant tenant;
	struct hooked_process second;

	softgpu_instance = 1;
	if (hooked_begin(&tenant, true, MIG, "")) {
		no_instance();
		second = hooked_start(second_life, 2);
		hooked_wait_ready(&second);
		first_instance(&tenant);
		guest_check(hooked_set(getpid(), "compute.freeze", "1") == 0 &&
				    hooked_get(getpid(), "compute.freeze") == 1 &&
				    hooked_set(getpid(), "compute.freeze", "0") == 0,
			    "it can be frozen and thawed");
		hooked_go(&second);
		guest_check(
			hooked_end(&second) == 0,
			"the second instance has what it had: 18, under a limit of its own");
	}
	hooked_finish(&tenant, true);
	softgpu_instance = 0;
}
