// SPDX-License-Identifier: MIT OR GPL-2.0
/* Failures of the GPU and of RM, and what nvidia-uvm makes of them. */
#include "softgpu_guest.h"

#include <sys/mman.h>

#define BYTES (4 * SOFTGPU_MB)

/* Each allocation of RM's that a registration needs fails once. The last tenant stays. */
static void rm_allocations(struct softgpu_tenant *tenant)
{
	unsigned long long before;
	unsigned int failed = 0;
	int status;

	softgpu_detach(tenant);
	do {
		before = softgpu_stats().failures;
		softgpu_fail(SOFTGPU_FAIL_RM_ALLOC, failed, 1);
		status = softgpu_attach(tenant, 1000);
		if (status)
			softgpu_detach(tenant);
		failed += softgpu_stats().failures > before;
	} while (softgpu_stats().failures > before && status == NV_ERR_NO_MEMORY);
	softgpu_fail(SOFTGPU_FAIL_RM_ALLOC, 0, 0);
	guest_check(
		status == 0 && failed > 10,
		"registration failed for each of %u allocations of RM, and then succeeds: %x",
		failed, status);
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

void test_failures(struct softgpu_tenant *tenant)
{
	rm_allocations(tenant);
	pma_allocations(tenant);
}
