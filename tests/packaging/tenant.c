// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An application for gvm-first-boot on the software GPU: 32 MB of managed memory that the GPU
 * writes and reads until it is ended by a signal. Ends with 1 if it reads
 * what it did not write.
 */
#define _GNU_SOURCE
#include "softgpu_guest.h"

#include <stdio.h>
#include <unistd.h>

#define TENANT_BYTES  (32 * SOFTGPU_MB)
#define TENANT_PAGES  (TENANT_BYTES / SOFTGPU_PAGE)
#define TENANT_WINDOW 64

int main(void)
{
	struct softgpu_tenant tenant;
	uint64_t *p;
	int status;

	if (!softgpu_open()) {
		fprintf(stderr, "tenant: no device\n");
		return 1;
	}
	status = softgpu_attach(&tenant, (unsigned int)getpid());
	p = status ? NULL : softgpu_managed(&tenant, TENANT_BYTES);
	if (!p) {
		fprintf(stderr, "tenant: no memory, status %d\n", status);
		return 1;
	}
	for (uint64_t value = 1;; value++) {
		struct softgpu_access wrote =
			softgpu_touch(&tenant, p, TENANT_PAGES, SOFTGPU_PAGE, SOFTGPU_WRITE,
				      value, TENANT_WINDOW);
		struct softgpu_access read = softgpu_touch(
			&tenant, p, TENANT_PAGES, SOFTGPU_PAGE, SOFTGPU_READ, 0, TENANT_WINDOW);

		if (wrote.errors || read.errors ||
		    read.sum != value * TENANT_PAGES + TENANT_PAGES * (TENANT_PAGES - 1) / 2) {
			fprintf(stderr, "tenant: wrong data in round %llu\n",
				(unsigned long long)value);
			return 1;
		}
		usleep(10000);
	}
}
