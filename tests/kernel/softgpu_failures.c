// SPDX-License-Identifier: MIT OR GPL-2.0
/* Failures of the GPU and of RM, and what nvidia-uvm makes of them. */
#include "softgpu_guest.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#define BYTES (4 * SOFTGPU_MB)

/*
 * Each allocation of RM's that a registration makes fails once. Without one of them 595
 * registers all the same. The last tenant stays.
 */
static void rm_allocations(struct softgpu_tenant *tenant)
{
	unsigned long long before;
	unsigned int failed = 0, passed = 0;
	bool fails;
	int status;

	softgpu_detach(tenant);
	do {
		before = softgpu_stats().failures;
		softgpu_fail(SOFTGPU_FAIL_RM_ALLOC, failed, 1);
		status = softgpu_attach(tenant, 1000);
		fails = softgpu_stats().failures > before;
		if (status || fails)
			softgpu_detach(tenant);
		failed += fails;
		passed += fails && !status;
	} while (fails && (!status || status == NV_ERR_NO_MEMORY));
	softgpu_fail(SOFTGPU_FAIL_RM_ALLOC, 0, 0);
	guest_check(status == 0 && failed > 10 && passed <= 1,
		    "registration failed for each of %u allocations of RM but %u, and then "
		    "succeeds: %x",
		    failed, passed, status);
}

/* No device memory: a migration fails, and succeeds later. Nothing is lost. */
static void pma_allocations(struct softgpu_tenant *tenant)
{
	UVM_TEST_PMM_RELEASE_FREE_ROOT_CHUNKS_PARAMS params = { .gpu_uuid = softgpu_uuid };
	uint64_t *p = softgpu_managed(tenant, BYTES);
	size_t wrong = 0;
	int status;

	for (size_t i = 0; i < BYTES / 8; i++)
		p[i] = i;
	guest_check(softgpu_uvm(tenant->fd, UVM_TEST_PMM_RELEASE_FREE_ROOT_CHUNKS, &params) ==
			    0,
		    "UVM gives back chunks that it does not use");
	softgpu_fail(SOFTGPU_FAIL_PMA_ALLOC, 0, ~0u);
	status = softgpu_migrate(tenant, p, BYTES, true);
	guest_check(status == NV_ERR_NO_MEMORY, "without device memory a migration fails: %x",
		    status);
	softgpu_fail(SOFTGPU_FAIL_PMA_ALLOC, 0, 0);
	guest_check(softgpu_migrate(tenant, p, BYTES, true) == 0, "with some it succeeds");
	for (size_t i = 0; i < BYTES / 8; i++)
		wrong += p[i] != i;
	guest_check(wrong == 0, "and the memory is what it was");
	munmap(p, BYTES);
}

/* RM says that the machine sleeps, and that it is awake, in turn. UVM counts on that. */
static void out_of_turn(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, BYTES);

	p[0] = 8;
	guest_check(softgpu_sleep(false) == EBUSY, "what is awake cannot wake up");
	guest_check(softgpu_sleep(true) == 0 && softgpu_sleep(true) == EBUSY,
		    "what sleeps cannot go to sleep");
	guest_check(softgpu_sleep(false) == 0 && softgpu_sleep(false) == EBUSY,
		    "it wakes up once");
	guest_check(softgpu_touch(tenant, p, 1, 8, SOFTGPU_READ, 0, 1).sum == 8,
		    "and the GPU works");
	munmap(p, BYTES);
}

void test_failures(struct softgpu_tenant *tenant)
{
	out_of_turn(tenant);
	rm_allocations(tenant);
	pma_allocations(tenant);
}

/* A block on the GPU, of words that count from 1. */
static uint64_t *on_the_gpu(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, BYTES);

	softgpu_touch(tenant, p, BYTES / 8, 8, SOFTGPU_WRITE, 1, 8);
	guest_check(softgpu_resident(tenant, p) == SOFTGPU_ON_GPU, "memory is on the GPU");
	return p;
}

/*
 * UVM has met a fatal error: until it is unloaded it serves no process, and
 * its file can be closed.
 */
static void is_fatal(struct softgpu_tenant *tenant, uint64_t *p, int expected)
{
	struct softgpu_tenant other;
	int status = softgpu_migrate(tenant, p, BYTES, true);

	guest_check(status == expected, "no migration succeeds any more: %x", status);
	status = softgpu_attach(&other, 1001);
	guest_check(status != 0, "no process is taken in: %x", status);
	softgpu_detach(&other);
	munmap(p, BYTES);
}

/* One of UVM's channels stops. RM says so in its notifier. */
void test_channel_error(struct softgpu_tenant *tenant)
{
	uint64_t *p = on_the_gpu(tenant);

	softgpu_fail(SOFTGPU_FAIL_CHANNEL, 0, 1);
	guest_check(softgpu_migrate(tenant, p, BYTES, false) == NV_ERR_RC_ERROR,
		    "a migration fails");
	is_fatal(tenant, p, NV_ERR_RC_ERROR);
	guest_check(softgpu_stats().channel_errors == 1, "one channel failed");
}

static sigjmp_buf bus_error;

static void on_bus_error(int signal)
{
	siglongjmp(bus_error, signal);
}

/* Whether the CPU gets SIGBUS when it reads the word. */
static bool read_is_bus_error(const volatile uint64_t *p)
{
	bool got = true;

	signal(SIGBUS, on_bus_error);
	if (!sigsetjmp(bus_error, 1)) {
		(void)*p;
		got = false;
	}
	signal(SIGBUS, SIG_DFL);
	return got;
}

/* Device memory has lost bits. UVM looks at the notifier before it lets the CPU see them. */
void test_ecc(struct softgpu_tenant *tenant)
{
	uint64_t *p = on_the_gpu(tenant);

	softgpu_fail(SOFTGPU_FAIL_ECC, 0, 1);
	guest_check(read_is_bus_error(p), "the CPU gets no wrong word, but SIGBUS");
	is_fatal(tenant, p, NV_ERR_ECC_ERROR);
	guest_check(softgpu_stats().channel_errors == 0, "no channel failed");
}

/* The GPU falls off the bus. */
void test_lost(struct softgpu_tenant *tenant)
{
	uint64_t *p = on_the_gpu(tenant);

	softgpu_fail(SOFTGPU_FAIL_LOST, 0, 1);
	guest_check(softgpu_migrate(tenant, p, BYTES, false) == NV_ERR_RC_ERROR,
		    "the channels of the GPU have failed");
	guest_check(softgpu_touch(tenant, p, 1, 8, SOFTGPU_READ, 0, 1).errors == 1,
		    "no kernel runs on it");
	is_fatal(tenant, p, NV_ERR_RC_ERROR);
}
