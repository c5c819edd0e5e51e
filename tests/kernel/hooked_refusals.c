// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What gvm.ko does not manage: a process with HMM, whose memory moves without its books, and
 * all GPUs of a platform with ATS, where the driver does not choose what is on them. Each is
 * said in one line of the kernel's log. The driver says whether it has either here: HMM takes a
 * kernel with CONFIG_DEVICE_PRIVATE, ATS one with CONFIG_IOMMU_SVA.
 */
#define _GNU_SOURCE
#include "hooked_guest.h"

#include <sys/mman.h>
#include <unistd.h>

#define WITH_HMM 1001u /* client */
#define BYTES	 (4 * SOFTGPU_MB)

/* Whether the driver lets the GPU access what the process has from malloc(). */
static bool has_pageable(const struct softgpu_tenant *tenant)
{
	UVM_PAGEABLE_MEM_ACCESS_PARAMS params = { 0 };

	return softgpu_uvm(tenant->fd, UVM_PAGEABLE_MEM_ACCESS, &params) == 0 &&
	       params.pageableMemAccess;
}

/* The GPU writes and reads managed memory. */
static void use(struct softgpu_tenant *tenant, const char *who)
{
	uint64_t *p = softgpu_managed(tenant, BYTES);

	guest_check(hooked_write(tenant, p, BYTES, 1) && hooked_read(tenant, p, BYTES, 1) &&
			    hooked_cpu_reads(p, BYTES, 1),
		    "%s has memory on the GPU", who);
	munmap(p, BYTES);
}

void test_hmm_refused(struct softgpu_tenant *tenant)
{
	struct softgpu_tenant with;
	int log = guest_log_open();
	unsigned int lines;
	int status;

	softgpu_init_flags = 0;
	status = softgpu_attach(&with, WITH_HMM);
	softgpu_init_flags = UVM_INIT_FLAGS_DISABLE_HMM;
	lines = guest_log_count(log, "gvm refuses process 1, which has HMM");
	if (has_pageable(&with)) {
		guest_check(status == NV_ERR_NOT_SUPPORTED && lines == 1,
			    "a process with HMM is refused, with a line in the log: %x, %u",
			    (unsigned int)status, lines);
	} else {
		guest_log("# this kernel has no HMM");
		guest_check(status == 0 && lines == 0,
			    "a process that wants HMM is served without it: %x, %u",
			    (unsigned int)status, lines);
		use(&with, "it");
	}
	softgpu_detach(&with);
	use(tenant, "the process without HMM");
}

/* It is loaded with a platform that has ATS. */
void test_ats(void)
{
	struct softgpu_tenant tenant;
	int log = guest_log_open();

	if (hooked_begin(&tenant, true, "ats=1", "")) {
		bool ats = has_pageable(&tenant);
		unsigned int lines = guest_log_count(log, ": ATS");
		long long charged = hooked_get(getpid(), "gmem.current");

		if (!ats)
			guest_log("# this kernel has no ATS");
		guest_check(lines == ats && charged == (ats ? -1 : 0),
			    "with ATS the GPU is not managed, and the log says so: %u, %lld",
			    lines, charged);
		use(&tenant, "its process");
	}
	hooked_finish(&tenant, true);
}
