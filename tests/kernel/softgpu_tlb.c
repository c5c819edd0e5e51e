// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The TLB of the software GPU keeps what it has read until the driver invalidates it. So a
 * driver that misses an invalidate is found out: the GPU goes on using memory that is no longer
 * after the address. Here the invalidates themselves are lost, which is the same to the GPU.
 */
#include "softgpu_guest.h"

#include <sys/mman.h>

#define BYTES  (2 * SOFTGPU_MB)
#define STRIDE 64u /* bytes between two words that the GPU reads */
#define WORDS  (BYTES / STRIDE)
#define OLD    100u
#define NEW    200u

/*
 * Memory that the GPU has read, so that its TLB knows it, and that then was taken away to the
 * host.
 */
static uint64_t *taken_away(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, BYTES);

	for (unsigned int i = 0; i < BYTES / 8; i++)
		p[i] = OLD;
	softgpu_touch(tenant, p, WORDS, STRIDE, SOFTGPU_READ, 0, 1);
	guest_check(softgpu_migrate(tenant, p, BYTES, false) == 0,
		    "memory migrates to the host");
	for (unsigned int i = 0; i < BYTES / 8; i++)
		p[i] = NEW;
	return p;
}

/*
 * An address has 49 bits, on a Hopper 57. With more it leads nowhere. If the others were ignored,
 * the TLB would have translations that the driver cannot invalidate.
 */
static void too_far(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, BYTES);
	struct softgpu_access access;

	softgpu_touch(tenant, p, WORDS, STRIDE, SOFTGPU_WRITE, NEW, 1);
	for (unsigned int bit = 49; bit < 64; bit += 8) {
		char *far = (char *)((uintptr_t)p + (1ul << bit));

		access = softgpu_touch(tenant, far, 2, SOFTGPU_PAGE, SOFTGPU_READ, 0, 2);
		guest_check(access.errors == 2 && access.sum == 0,
			    "an address with bit %u leads nowhere: %llu errors, %llu read", bit,
			    access.errors, access.sum);
	}
	munmap(p, BYTES);
}

void test_tlb(struct softgpu_tenant *tenant)
{
	struct softgpu_stats before = softgpu_stats(), after;
	struct softgpu_access access;
	uint64_t *p = taken_away(tenant);

	after = softgpu_stats();
	guest_check(after.tlb_hits - before.tlb_hits >= WORDS - 512,
		    "accesses hit the TLB: %llu hits, %llu misses",
		    after.tlb_hits - before.tlb_hits, after.tlb_misses - before.tlb_misses);
	access = softgpu_touch(tenant, p, WORDS, STRIDE, SOFTGPU_READ, 0, 1);
	guest_check(access.errors == 0 && access.faults > 0 && access.sum == NEW * WORDS,
		    "with its invalidates the GPU faults and reads the new words");
	munmap(p, BYTES);

	softgpu_fail(SOFTGPU_FAIL_INVALIDATE, 0, ~0u);
	p = taken_away(tenant);
	access = softgpu_touch(tenant, p, WORDS, STRIDE, SOFTGPU_READ, 0, 1);
	guest_check(access.errors == 0 && access.faults == 0 && access.sum != NEW * WORDS,
		    "without them it does not fault and reads old ones: %llu", access.sum);
	softgpu_fail(SOFTGPU_FAIL_INVALIDATE, 0, 0);
	guest_check(softgpu_stats().invalidates_lost > 0, "%llu invalidates were lost",
		    softgpu_stats().invalidates_lost);

	/* The driver can mend it: a test of its own invalidates everything. */
	{
		UVM_TEST_INVALIDATE_TLB_PARAMS params = {
			.gpu_uuid = softgpu_uuid,
			.va = (uintptr_t)p,
			.target_va_mode = UvmTargetVaModeAll,
			.page_table_level = UvmInvalidatePageTableLevelAll,
			.membar = UvmInvalidateTlbMemBarSys
		};

		guest_check(softgpu_uvm(tenant->fd, UVM_TEST_INVALIDATE_TLB, &params) == 0,
			    "the TLB is invalidated");
	}
	access = softgpu_touch(tenant, p, WORDS, STRIDE, SOFTGPU_READ, 0, 1);
	guest_check(access.errors == 0 && access.sum == NEW * WORDS,
		    "after that the GPU reads the new words");
	munmap(p, BYTES);
	too_far(tenant);
}
