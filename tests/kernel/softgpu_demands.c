// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * RM's demands: a range of device memory, whoever is there, and one while
 * the driver lets the GPU go.
 */
#include "softgpu_guest.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES	 (16 * SOFTGPU_MB)
#define GPU_MB	 112ul /* without RM's own part */
#define CHUNK_MB 2ul
#define WAIT_US	 1000u
#define WAITS	 10000u

/*
 * RM wants each chunk of the GPU, one by one, and later all of them at once.
 * Pinned ones it does not get.
 */
static void ranges(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, BYTES);
	size_t pages = BYTES / SOFTGPU_PAGE, wrong = 0;
	unsigned int taken = 0, pinned = 0, other = 0;
	struct softgpu_stats before, after;
	struct softgpu_access access =
		softgpu_touch(tenant, p, pages, SOFTGPU_PAGE, SOFTGPU_WRITE, 500, 64);

	guest_check(access.errors == 0, "the GPU writes 16 MB");
	before = softgpu_stats();
	for (uint64_t mb = 0; mb < GPU_MB; mb += CHUNK_MB) {
		int status = softgpu_rm_take_range(mb * SOFTGPU_MB, CHUNK_MB * SOFTGPU_MB);

		*(status == 0 ? &taken : status == EBUSY ? &pinned : &other) += 1;
	}
	after = softgpu_stats();
	guest_check(taken >= GPU_MB / 2 - 8 && taken + pinned == GPU_MB / 2 && other == 0,
		    "RM asks for each chunk and gets %u; %u are pinned, %u failed", taken,
		    pinned, other);
	guest_check(after.copy_bytes[SOFTGPU_FROM_VIDMEM] -
				    before.copy_bytes[SOFTGPU_FROM_VIDMEM] >=
			    BYTES,
		    "all 16 MB went to the host");
	guest_check(softgpu_resident(tenant, p) == SOFTGPU_ON_HOST, "and are there");
	softgpu_rm_give();
	access = softgpu_touch(tenant, p, pages, SOFTGPU_PAGE, SOFTGPU_READ, 0, 64);
	guest_check(access.errors == 0 && access.sum == 500 * pages + pages * (pages - 1) / 2,
		    "the GPU reads them as they were");
	guest_check(softgpu_rm_take_range(0, GPU_MB * SOFTGPU_MB) == EBUSY,
		    "all chunks at once it does not get: some are pinned");
	guest_check(softgpu_rm_take_range(GPU_MB * SOFTGPU_MB, CHUNK_MB * SOFTGPU_MB) ==
				    EINVAL &&
			    softgpu_rm_take_range(0, ~(2 * SOFTGPU_MB) + 1) == EINVAL &&
			    softgpu_rm_take_range(SOFTGPU_PAGE, 2 * SOFTGPU_MB) == EINVAL,
		    "and none that there are not");
	guest_check(softgpu_rm_take(UINT64_MAX) == ENOMEM &&
			    softgpu_rm_take((GPU_MB + 1) * SOFTGPU_MB) == ENOMEM,
		    "nor more than there is");
	for (size_t i = 0; i < pages; i++)
		wrong += p[i * SOFTGPU_PAGE / sizeof(*p)] != 500 + i;
	guest_check(wrong == 0, "the CPU reads them, too: %zu are wrong", wrong);
	munmap(p, BYTES);
}

static void *take_main(void *unused)
{
	(void)unused;
	softgpu_rm_take(CHUNK_MB * SOFTGPU_MB);
	return NULL;
}

static volatile bool closed;

static void *close_main(void *tenant)
{
	softgpu_detach(tenant);
	closed = true;
	return NULL;
}

/*
 * RM asks for memory, and before the driver hears that, the last process goes. The driver then
 * frees what it would look for memory in. RM has to keep it waiting.
 */
static void last_close(struct softgpu_tenant *tenant)
{
	unsigned long long demands;
	pthread_t taker, closer;
	bool waited;

	while (softgpu_rm_take(CHUNK_MB * SOFTGPU_MB) == 0)
		continue;
	demands = softgpu_stats().pma_demands;
	softgpu_fail(SOFTGPU_HOLD_DEMAND, 0, 1);
	guest_check(pthread_create(&taker, NULL, take_main, NULL) == 0, "RM asks for memory");
	for (unsigned int i = 0; i < WAITS && softgpu_stats().pma_demands == demands; i++)
		usleep(WAIT_US);
	guest_check(softgpu_stats().pma_demands > demands, "and waits");
	closed = false;
	guest_check(pthread_create(&closer, NULL, close_main, tenant) == 0,
		    "the last process closes the driver");
	for (unsigned int i = 0; i < WAITS / 20 && !closed; i++)
		usleep(WAIT_US);
	waited = !closed;
	softgpu_fail(SOFTGPU_HOLD_DEMAND, 0, 0);
	pthread_join(taker, NULL);
	pthread_join(closer, NULL);
	guest_check(waited, "and gets back when RM's question has been answered");
	softgpu_rm_give();
	guest_check(softgpu_attach(tenant, 1000) == 0, "another one comes");
}

void test_demands(struct softgpu_tenant *tenant)
{
	ranges(tenant);
	last_close(tenant);
}
