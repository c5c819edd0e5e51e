// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A process registers its GPU again. It stays in its container, and all its memory is charged.
 * A GPU's number is its place on the bus, whichever is used first.
 */
#define _GNU_SOURCE
#include "hooked_guest.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define TRIES_MAX 3000u /* of 10 ms */

static const long long mb = SOFTGPU_MB;

static void *unregister_main(void *data)
{
	struct softgpu_tenant *tenant = data;
	UVM_UNREGISTER_GPU_PARAMS params = { .gpu_uuid = softgpu_uuid };
	int status = softgpu_uvm(tenant->fd, UVM_UNREGISTER_GPU, &params);

	return (void *)(intptr_t)status;
}

/* The GPU is registered as soon as it is not registered any more. */
static int register_again(struct softgpu_tenant *tenant, unsigned int client)
{
	int status = softgpu_register(tenant, client);

	for (unsigned int i = 0; i < TRIES_MAX && status == NV_ERR_INVALID_DEVICE; i++) {
		usleep(10000);
		status = softgpu_register(tenant, client);
	}
	return status;
}

/* Write and read 32 MB under a limit of 16 MB. */
static void use(struct softgpu_tenant *tenant, uint64_t value)
{
	size_t bytes = 32 * SOFTGPU_MB;
	uint64_t *p = softgpu_managed(tenant, bytes);
	pid_t me = getpid();

	guest_check(hooked_set(me, "gmem.limit.high", "16M") == 0, "the limit becomes 16 MB");
	guest_check(hooked_write(tenant, p, bytes, value) &&
			    hooked_read(tenant, p, bytes, value),
		    "the GPU writes and reads 32 MB");
	guest_check(hooked_get(me, "gmem.current") == 16 * mb, "16 MB are charged: %lld",
		    hooked_get(me, "gmem.current"));
	guest_check(hooked_get(me, "gmem.swap.current") == 16 * mb, "and 16 MB in swap: %lld",
		    hooked_get(me, "gmem.swap.current"));
	guest_check(hooked_cpu_reads(p, bytes, value), "all data is right");
	munmap(p, bytes);
	guest_check(hooked_get(me, "gmem.current") == 0 &&
			    hooked_get(me, "gmem.swap.current") == 0,
		    "nothing is left");
}

/*
 * RM holds the end of the last registration back, while a second thread registers the GPU anew.
 * What that end did with the books it did to those of the new registration.
 */
void test_again(struct softgpu_tenant *tenant)
{
	pthread_t thread;
	void *status = NULL;

	use(tenant, 3);
	softgpu_fail(SOFTGPU_HOLD_SPACE, 0, 1);
	guest_check(pthread_create(&thread, NULL, unregister_main, tenant) == 0,
		    "a thread unregisters the GPU");
	guest_check(register_again(tenant, 1100) == 0, "another one registers it anew");
	softgpu_fail(SOFTGPU_HOLD_SPACE, 0, 0);
	pthread_join(thread, &status);
	guest_check(!status, "both succeed: %x", (unsigned int)(intptr_t)status);
	use(tenant, 4);
	guest_check(!unregister_main(tenant) && register_again(tenant, 1200) == 0,
		    "once more, one after the other");
	use(tenant, 5);
}

/* The second GPU alone has a process, so the first one is not there. */
void test_numbers(void)
{
	struct softgpu_tenant tenant;
	char path[64];

	if (hooked_begin(&tenant, true, "gpus=2", "")) {
		softgpu_detach(&tenant);
		guest_check(softgpu_use(1), "there is a second GPU");
		guest_check(softgpu_attach(&tenant, 1001) == 0, "it alone is used");
		snprintf(path, sizeof(path), "gvm/%d/1/gmem.current", (int)getpid());
		guest_expect_read(path, "0\n");
		softgpu_use(0);
	}
	hooked_finish(&tenant, true);
}
