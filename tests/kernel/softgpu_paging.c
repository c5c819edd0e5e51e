// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Paging by nvidia-uvm: migration, faults, cancelled faults, oversubscription, memory that RM
 * takes; and after each, every word that was written is looked at.
 */
#define _GNU_SOURCE
#include "softgpu_guest.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TENANTS	     3u
#define TENANT_BYTES (64 * SOFTGPU_MB)

/* How many of @pages pages do not begin with value + their number. */
static size_t wrong_pages(const uint64_t *p, size_t pages, uint64_t value)
{
	size_t wrong = 0;

	for (size_t i = 0; i < pages; i++)
		wrong += p[i * SOFTGPU_PAGE / 8] != value + i;
	return wrong;
}

/* The sum of value + i for i < n. */
static uint64_t sum_of(uint64_t value, uint64_t n)
{
	return value * n + n * (n - 1) / 2;
}

static void migrate_and_back(struct softgpu_tenant *tenant)
{
	size_t bytes = 8 * SOFTGPU_MB;
	uint64_t *p = softgpu_managed(tenant, bytes);
	struct softgpu_stats before = softgpu_stats(), after;
	size_t wrong = 0;

	if (!guest_check(p, "8 MB of managed memory"))
		return;
	for (size_t i = 0; i < bytes / 8; i++)
		p[i] = i * 3 + 1;
	guest_check(softgpu_resident(tenant, p) == SOFTGPU_ON_HOST,
		    "what the CPU wrote is on the host");
	guest_check(softgpu_migrate(tenant, p, bytes, true) == 0, "it migrates to the GPU");
	guest_check(softgpu_resident(tenant, p) == SOFTGPU_ON_GPU, "and is there");
	guest_check(softgpu_migrate(tenant, p, bytes, false) == 0, "and back");
	guest_check(softgpu_resident(tenant, p) == SOFTGPU_ON_HOST, "and is on the host");
	for (size_t i = 0; i < bytes / 8; i++)
		wrong += p[i] != i * 3 + 1;
	guest_check(wrong == 0, "%zu words of 8 MB are wrong", wrong);
	after = softgpu_stats();
	guest_check(after.copy_bytes[SOFTGPU_TO_VIDMEM] -
				    before.copy_bytes[SOFTGPU_TO_VIDMEM] >=
			    bytes,
		    "8 MB were copied to vidmem");
	guest_check(after.copy_bytes[SOFTGPU_FROM_VIDMEM] -
				    before.copy_bytes[SOFTGPU_FROM_VIDMEM] ==
			    bytes,
		    "and 8 MB from it");
	munmap(p, bytes);
}

static void fault_in(struct softgpu_tenant *tenant)
{
	size_t bytes = 8 * SOFTGPU_MB, pages = bytes / SOFTGPU_PAGE, wrong = 0;
	uint64_t *p = softgpu_managed(tenant, bytes);
	struct softgpu_access access;

	for (size_t i = 0; i < pages; i++)
		p[i * 512] = i + 5;
	access = softgpu_touch(tenant, p, pages, SOFTGPU_PAGE, SOFTGPU_READ, 0, 1);
	guest_check(access.errors == 0 && access.faults > 0,
		    "the GPU reads 8 MB by %llu faults", access.faults);
	guest_check(access.sum == sum_of(5, pages), "and reads what the CPU wrote");
	guest_check(softgpu_resident(tenant, p) == SOFTGPU_ON_GPU,
		    "the memory has moved to it");
	access = softgpu_touch(tenant, p, bytes / 64, 64, SOFTGPU_WRITE, 77, 1);
	guest_check(access.errors == 0, "the GPU writes 8 MB");
	for (size_t i = 0; i < bytes / 8; i++)
		wrong += p[i] != (i % 8 ? 0 : i / 8 + 77);
	guest_check(wrong == 0, "the CPU reads %zu wrong words of it", wrong);
	munmap(p, bytes);

	p = softgpu_managed(tenant, bytes);
	access = softgpu_touch(tenant, p, pages, SOFTGPU_PAGE, SOFTGPU_WRITE, 9, 64);
	guest_check(access.errors == 0, "the GPU touches 8 MB first, 64 pages at once");
	access = softgpu_touch(tenant, p, pages, SOFTGPU_PAGE, SOFTGPU_ATOMIC, 1, 64);
	guest_check(access.errors == 0, "and adds 1 to each page");
	for (size_t i = 0; i < bytes / 8; i++)
		wrong += p[i] != (i % 512 ? 0 : i / 512 + 10);
	guest_check(wrong == 0, "its words are right, and all others are zero: %zu wrong",
		    wrong);
	munmap(p, bytes);
}

static void cancelled(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, SOFTGPU_MB);
	struct softgpu_access access;

	munmap(p, SOFTGPU_MB);
	access = softgpu_touch(tenant, p, 1, 8, SOFTGPU_READ, 0, 1);
	guest_check(access.errors == 1 && access.faults > 0,
		    "an access to no memory is cancelled: %llu errors, %llu faults",
		    access.errors, access.faults);
	p = softgpu_managed(tenant, SOFTGPU_MB);
	access = softgpu_touch(tenant, p, 1, 8, SOFTGPU_WRITE, 3, 1);
	guest_check(access.errors == 0 && p[0] == 3, "and the channel goes on");
	munmap(p, SOFTGPU_MB);
}

static void oversubscribe(struct softgpu_tenant *tenant)
{
	size_t bytes = 192 * SOFTGPU_MB, pages = bytes / SOFTGPU_PAGE;
	uint64_t *p = softgpu_managed(tenant, bytes);
	struct softgpu_access access;
	struct softgpu_stats before = softgpu_stats(), after;

	access = softgpu_touch(tenant, p, pages, SOFTGPU_PAGE, SOFTGPU_WRITE, 1000, 64);
	guest_check(access.errors == 0, "the GPU writes 192 MB on 112 MB");
	access = softgpu_touch(tenant, p, pages, SOFTGPU_PAGE, SOFTGPU_READ, 0, 64);
	guest_check(access.errors == 0 && access.sum == sum_of(1000, pages),
		    "and reads it again");
	guest_check(softgpu_rm_take(32 * SOFTGPU_MB) == 0, "RM takes 32 MB from UVM");
	after = softgpu_stats();
	guest_check(after.pma_evictions - before.pma_evictions > 0, "by %llu evictions",
		    after.pma_evictions - before.pma_evictions);
	softgpu_rm_give();
	guest_check(wrong_pages(p, pages, 1000) == 0,
		    "the CPU reads 192 MB as they were written");
	munmap(p, bytes);
}

void test_paging(struct softgpu_tenant *tenant)
{
	migrate_and_back(tenant);
	fault_in(tenant);
	cancelled(tenant);
	oversubscribe(tenant);
	guest_check(softgpu_stats().bad_addresses == 0, "the GPU met no bad address");
}

/* The life of one of several processes. Returns how many of its checks failed. */
static int tenant_life(unsigned int number)
{
	struct softgpu_tenant tenant;
	size_t pages = TENANT_BYTES / SOFTGPU_PAGE;
	uint64_t *p;
	int failed = 0;

	if (softgpu_attach(&tenant, 2000 + number))
		return 1;
	p = softgpu_managed(&tenant, TENANT_BYTES);
	if (p) {
		uint64_t value = 100 + number;
		struct softgpu_access access = softgpu_touch(&tenant, p, pages, SOFTGPU_PAGE,
							     SOFTGPU_WRITE, value, 32);

		failed += access.errors != 0;
		access = softgpu_touch(&tenant, p, pages, SOFTGPU_PAGE, SOFTGPU_READ, 0, 32);
		failed += access.errors != 0 || access.sum != sum_of(value, pages);
	}
	failed += !p || wrong_pages(p, pages, 100 + number) != 0;
	softgpu_detach(&tenant);
	return failed;
}

void test_tenants(struct softgpu_tenant *tenant)
{
	struct softgpu_tenant again;

	for (unsigned int i = 0; i < TENANTS; i++)
		if (fork() == 0)
			_exit(tenant_life(i));
	for (unsigned int i = 0; i < TENANTS; i++) {
		int status = -1;

		wait(&status);
		guest_check(status == 0,
			    "a process of 64 MB beside two others on 112 MB: status %x",
			    status);
	}
	guest_check(softgpu_stats().bad_addresses == 0, "the GPU met no bad address");
	guest_check(softgpu_attach(&again, tenant->client) != 0,
		    "a channel is registered by one tenant only");
	softgpu_detach(&again);
}

/*
 * Three processes fight for memory, of which RM takes up to 48 MB and gives it back, time and
 * again. RM may be refused: then all chunks are in use at that moment.
 */
void test_pressure(struct softgpu_tenant *tenant)
{
	struct softgpu_stats before = softgpu_stats();
	unsigned int taken = 0, refused = 0, left = TENANTS;

	(void)tenant;
	for (unsigned int i = 0; i < TENANTS; i++)
		if (fork() == 0)
			_exit(tenant_life(i));
	for (unsigned int round = 0; left; round++) {
		int status = -1;

		for (unsigned int i = 0; i < 8 + 8 * (round % 3); i++)
			*(softgpu_rm_take(2 * SOFTGPU_MB) ? &refused : &taken) += 1;
		usleep(10000);
		softgpu_rm_give();
		if (waitpid(-1, &status, WNOHANG) > 0) {
			left--;
			guest_check(status == 0,
				    "a process of 64 MB beside two others and RM: status %x",
				    status);
		}
	}
	guest_check(taken > 0 && softgpu_stats().pma_evictions > before.pma_evictions,
		    "RM took %u chunks, %llu of them by eviction; %u times it was refused",
		    taken, softgpu_stats().pma_evictions - before.pma_evictions, refused);
	guest_check(softgpu_stats().bad_addresses == 0, "the GPU met no bad address");
}

/* 40 GB of vidmem in a machine with 1 GB: memory is allocated when it is touched. */
void test_vidmem(struct softgpu_tenant *tenant)
{
	size_t bytes = 128 * SOFTGPU_MB, pages = bytes / SOFTGPU_PAGE;
	uint64_t *p = softgpu_managed(tenant, bytes);
	struct softgpu_access access =
		softgpu_touch(tenant, p, pages, SOFTGPU_PAGE, SOFTGPU_WRITE, 7, 64);
	struct softgpu_stats stats = softgpu_stats();
	UVM_TEST_PMM_QUERY_PMA_STATS_PARAMS params = { .gpu_uuid = softgpu_uuid };
	int status;

	guest_check(access.errors == 0, "128 MB are written on a GPU of 40 GB");
	guest_check(stats.copy_bytes[SOFTGPU_FROM_VIDMEM] == 0, "nothing was evicted");
	status = softgpu_uvm(tenant->fd, UVM_TEST_PMM_QUERY_PMA_STATS, &params);
	guest_check(status == 0 && params.pma_stats.numFreePages2m > 20000,
		    "the driver sees %llu free pages of 2 MB: %x",
		    (unsigned long long)params.pma_stats.numFreePages2m, status);
	guest_check(wrong_pages(p, pages, 7) == 0, "and all of it is right");
	munmap(p, bytes);
}
