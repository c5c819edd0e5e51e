// SPDX-License-Identifier: MIT OR GPL-2.0
/* How long the software GPU waits for a driver that is slow, and for one that hangs. */
#include "softgpu_guest.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES	    (4 * SOFTGPU_MB)
#define PATIENCE_MS 1000 /* of softgpu.ko, in this part */
#define WAIT_US	    1000

/* A kernel that runs beside the test. */
struct kernel {
	struct softgpu_tenant *tenant;
	uint64_t *p;
	struct softgpu_access access;
	volatile bool over;
};

static void *kernel_main(void *data)
{
	struct kernel *kernel = data;

	kernel->access = softgpu_touch(kernel->tenant, kernel->p, 1, 8, SOFTGPU_WRITE, 7, 1);
	kernel->over = true;
	return NULL;
}

/*
 * The driver does not hear of a kernel's fault. As long as it does other work, it is taken for
 * slow, and the kernel waits for more than PATIENCE_MS. Once it does nothing, it hangs, and the
 * kernel ends.
 */
void test_patience(struct softgpu_tenant *tenant)
{
	struct kernel kernel = { .tenant = tenant, .p = softgpu_managed(tenant, BYTES) };
	uint64_t *other = softgpu_managed(tenant, BYTES);
	uint64_t faults = softgpu_stats().faults, pushes = softgpu_stats().pushes;
	pthread_t thread;
	long end;
	bool over;

	softgpu_fail(SOFTGPU_HOLD_INTERRUPT, 0, 1);
	guest_check(pthread_create(&thread, NULL, kernel_main, &kernel) == 0, "a kernel runs");
	while (softgpu_stats().faults == faults && !kernel.over)
		usleep(WAIT_US);
	end = guest_seconds() + 4;
	for (bool to_gpu = true; guest_seconds() < end; to_gpu = !to_gpu)
		softgpu_migrate(tenant, other, BYTES, to_gpu);
	over = kernel.over;
	pushes = softgpu_stats().pushes - pushes;
	softgpu_fail(SOFTGPU_HOLD_INTERRUPT, 0, 0);
	pthread_join(thread, NULL);
	guest_check(!over && kernel.access.errors == 0,
		    "a kernel waits as long as the driver works: %llu pushes",
		    (unsigned long long)pushes);
	guest_check(softgpu_stats().replay_wait_ms >= 3 * PATIENCE_MS, "it waited %llu ms",
		    (unsigned long long)softgpu_stats().replay_wait_ms);

	munmap(kernel.p, BYTES);
	kernel.p = softgpu_managed(tenant, BYTES);
	softgpu_fail(SOFTGPU_HOLD_INTERRUPT, 0, 1);
	kernel_main(&kernel);
	guest_check(kernel.access.errors == 1, "and ends where the driver does nothing");
	softgpu_fail(SOFTGPU_HOLD_INTERRUPT, 0, 0);
	kernel_main(&kernel);
	guest_check(kernel.access.errors == 0 && kernel.p[0] == 7,
		    "one that comes later is served");
	munmap(kernel.p, BYTES);
	munmap(other, BYTES);
}
