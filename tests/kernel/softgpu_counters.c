// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Access counters: the GPU maps host memory, since the application said that it accesses it,
 * and counts its accesses. At the threshold the driver hears of it and migrates.
 */
#include "softgpu_guest.h"

#include <sys/mman.h>
#include <unistd.h>

#define BYTES	      (4 * SOFTGPU_MB)
#define THRESHOLD     64u
#define SETTLE_US     300000 /* a notification would have been serviced by then */
#define WAIT_MS	      10000u
#define GRANULARITY   1u /* UVM_ACCESS_COUNTER_GRANULARITY_64K */
#define NO_LIMIT      4u /* UVM_ACCESS_COUNTER_USE_LIMIT_FULL */
#define WORDS_OF_PAGE (SOFTGPU_PAGE / 8)

/* Host memory that the GPU has mapped. Word i of it is i. */
static uint64_t *mapped_memory(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, BYTES);
	UVM_SET_ACCESSED_BY_PARAMS accessed = { .requestedBase = (uintptr_t)p,
						.length = BYTES,
						.accessedByUuid = softgpu_uuid };

	for (uint64_t i = 0; i < BYTES / 8; i++)
		p[i] = i;
	guest_check(softgpu_uvm(tenant->fd, UVM_SET_ACCESSED_BY, &accessed) == 0,
		    "the GPU maps host memory");
	return p;
}

static int configure(struct softgpu_tenant *tenant)
{
	UVM_TEST_RECONFIGURE_ACCESS_COUNTERS_PARAMS params = {
		.gpu_uuid = softgpu_uuid,
#ifdef UVM_TEST_QUERY_ACCESS_COUNTERS /* 580 has one kind of counters */
		.granularity = GRANULARITY,
		.enable_migrations = true,
#else
		.mimc_granularity = GRANULARITY,
		.momc_granularity = GRANULARITY,
		.mimc_use_limit = NO_LIMIT,
		.momc_use_limit = NO_LIMIT,
		.enable_mimc_migrations = true,
#endif
		.threshold = THRESHOLD,
	};

	return softgpu_uvm(tenant->fd, UVM_TEST_RECONFIGURE_ACCESS_COUNTERS, &params);
}

static int reset(struct softgpu_tenant *tenant)
{
	UVM_TEST_RESET_ACCESS_COUNTERS_PARAMS params = {
		.gpu_uuid = softgpu_uuid, .mode = UVM_TEST_ACCESS_COUNTER_RESET_MODE_ALL
	};

	return softgpu_uvm(tenant->fd, UVM_TEST_RESET_ACCESS_COUNTERS, &params);
}

static int ignore(struct softgpu_tenant *tenant, bool yes)
{
	UVM_TEST_SET_IGNORE_ACCESS_COUNTERS_PARAMS params = { .gpu_uuid = softgpu_uuid,
							      .ignore = yes };

	return softgpu_uvm(tenant->fd, UVM_TEST_SET_IGNORE_ACCESS_COUNTERS, &params);
}

static bool is_right(const struct softgpu_access *access, uint64_t first, uint64_t count)
{
	return !access->errors && access->sum == count * first + count * (count - 1) / 2;
}

/* Read @count words of a page that stays. Returns whether they are right and none faults. */
static bool reads(struct softgpu_tenant *tenant, uint64_t *page, uint64_t first, uint64_t count)
{
	struct softgpu_access access =
		softgpu_touch(tenant, page, count, 8, SOFTGPU_READ, 0, 1);

	return is_right(&access, first, count) && !access.faults;
}

/* Read @count words of a page that may migrate meanwhile, which lets an access fault. */
static bool reads_what_moves(struct softgpu_tenant *tenant, uint64_t *page, uint64_t first,
			     uint64_t count)
{
	struct softgpu_access access =
		softgpu_touch(tenant, page, count, 8, SOFTGPU_READ, 0, 1);

	return is_right(&access, first, count);
}

static bool migrates(struct softgpu_tenant *tenant, uint64_t *page)
{
#ifdef UVM_TEST_QUERY_ACCESS_COUNTERS
	/* It drops what it is told: kernel-port/softgpu/counters.c. */
	usleep(SETTLE_US);
	return softgpu_resident(tenant, page) == SOFTGPU_ON_HOST;
#endif
	for (unsigned int ms = 0; ms < WAIT_MS; ms += 10) {
		if (softgpu_resident(tenant, page) & SOFTGPU_ON_GPU)
			return true;
		usleep(10000);
	}
	return false;
}

void test_counters(struct softgpu_tenant *tenant)
{
	uint64_t *p = mapped_memory(tenant);
	uint64_t *q = p + 2 * SOFTGPU_MB / 8; /* the second block: another counter */

	guest_check(reads(tenant, p, 0, WORDS_OF_PAGE) && softgpu_stats().notifications == 0,
		    "nothing is counted before the driver wants it");
	guest_check(configure(tenant) == 0, "counters with a threshold of %u", THRESHOLD);

	guest_check(reads(tenant, p, 0, THRESHOLD - 1) && reads(tenant, q, q - p, 1),
		    "accesses below the threshold");
	guest_check(softgpu_stats().notifications == 0, "notify nobody");
	guest_check(reset(tenant) == 0 && reads(tenant, p, 0, THRESHOLD - 1) &&
			    softgpu_stats().notifications == 0,
		    "the driver clears counters: they begin anew");
	usleep(SETTLE_US);
	guest_check(softgpu_resident(tenant, p) == SOFTGPU_ON_HOST, "memory stays");

	guest_check(reads(tenant, p, 0, 1) && softgpu_stats().notifications == 1,
		    "one more access notifies once");
	guest_check(migrates(tenant, p), "memory of that counter migrates to the GPU");
	guest_check(softgpu_resident(tenant, q) == SOFTGPU_ON_HOST,
		    "that of another one does not");
	guest_check(reads(tenant, p, 0, WORDS_OF_PAGE), "the GPU reads what the CPU wrote");

	guest_check(ignore(tenant, true) == 0 && reads(tenant, q, q - p, 4 * THRESHOLD),
		    "accesses past the threshold, while the driver ignores notifications");
	guest_check(softgpu_stats().notifications == 2, "notify once");
	usleep(SETTLE_US);
	guest_check(softgpu_resident(tenant, q) == SOFTGPU_ON_HOST, "memory stays");
	guest_check(ignore(tenant, false) == 0 && reset(tenant) == 0 &&
			    reads_what_moves(tenant, q, q - p, THRESHOLD),
		    "cleared, and no longer ignored");
	guest_check(migrates(tenant, q), "the second block migrates");
	guest_check(p[77] == 77 && q[77] == (uint64_t)(q - p) + 77,
		    "the CPU reads what it wrote");
	munmap(p, BYTES);
}
