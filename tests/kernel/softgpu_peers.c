// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Two GPUs. First a block goes from one to the other by way of the host; then each may access
 * the other's memory, over PCIe or NVLink: it is copied straight, or mapped and read where it
 * is, also while it is evicted.
 */
#include "softgpu_guest.h"

#include <sys/mman.h>

/* What 535 calls NVLink's peers are static peers by 595. */
#ifndef UVM_TEST_ENABLE_NVLINK_PEER_ACCESS
#define UVM_TEST_ENABLE_NVLINK_PEER_ACCESS	   UVM_TEST_ENABLE_STATIC_PEER_ACCESS
#define UVM_TEST_DISABLE_NVLINK_PEER_ACCESS	   UVM_TEST_DISABLE_STATIC_PEER_ACCESS
#define UVM_TEST_ENABLE_NVLINK_PEER_ACCESS_PARAMS  UVM_TEST_ENABLE_STATIC_PEER_ACCESS_PARAMS
#define UVM_TEST_DISABLE_NVLINK_PEER_ACCESS_PARAMS UVM_TEST_DISABLE_STATIC_PEER_ACCESS_PARAMS
#endif

#define BYTES (8 * SOFTGPU_MB)

static const char *const peers_names[] = { "the first GPU", "the second GPU" };

/* One GPU writes all words, or looks at all of them; @value is the words' key. */
static bool fill(struct softgpu_tenant *tenant, unsigned int gpu, void *p, size_t bytes,
		 uint64_t value)
{
	struct softgpu_access access;

	softgpu_use(gpu);
	access = softgpu_touch(tenant, p, bytes / SOFTGPU_PAGE, SOFTGPU_PAGE, SOFTGPU_FILL,
			       value, 32);
	softgpu_use(0);
	return access.errors == 0;
}

static void verify(struct softgpu_tenant *tenant, unsigned int gpu, void *p, size_t bytes,
		   uint64_t value, const char *what)
{
	struct softgpu_access access;

	softgpu_use(gpu);
	access = softgpu_touch(tenant, p, bytes / SOFTGPU_PAGE, SOFTGPU_PAGE, SOFTGPU_VERIFY,
			       value, 32);
	softgpu_use(0);
	guest_check(access.errors == 0 && access.sum == 0,
		    "%s: %s finds %llu wrong words, after %llu faults", what, peers_names[gpu],
		    access.sum, access.faults);
}

/* The statistics of both. */
static struct softgpu_stats both(void)
{
	struct softgpu_stats first = softgpu_stats(), second;

	softgpu_use(1);
	second = softgpu_stats();
	softgpu_use(0);
	first.peer_copy_bytes += second.peer_copy_bytes;
	first.peer_accesses += second.peer_accesses;
	first.bad_addresses += second.bad_addresses;
	for (unsigned int i = 0; i < 4; i++)
		first.copy_bytes[i] += second.copy_bytes[i];
	return first;
}

static int set_peers(struct softgpu_tenant *tenant, bool nvlink, bool on)
{
	UVM_ENABLE_PEER_ACCESS_PARAMS enable = { softgpu_uuid_of(0), softgpu_uuid_of(1), 0 };
	UVM_DISABLE_PEER_ACCESS_PARAMS disable = { softgpu_uuid_of(0), softgpu_uuid_of(1), 0 };
	UVM_TEST_ENABLE_NVLINK_PEER_ACCESS_PARAMS link = { softgpu_uuid_of(0),
							   softgpu_uuid_of(1), 0 };
	UVM_TEST_DISABLE_NVLINK_PEER_ACCESS_PARAMS unlink = { softgpu_uuid_of(0),
							      softgpu_uuid_of(1), 0 };

	if (nvlink)
		return on ? softgpu_uvm(tenant->fd, UVM_TEST_ENABLE_NVLINK_PEER_ACCESS, &link) :
			    softgpu_uvm(tenant->fd, UVM_TEST_DISABLE_NVLINK_PEER_ACCESS,
					&unlink);
	return on ? softgpu_uvm(tenant->fd, UVM_ENABLE_PEER_ACCESS, &enable) :
		    softgpu_uvm(tenant->fd, UVM_DISABLE_PEER_ACCESS, &disable);
}

static uint64_t references(struct softgpu_tenant *tenant)
{
	UVM_TEST_PEER_REF_COUNT_PARAMS params = { .gpu_uuid_1 = softgpu_uuid_of(0),
						  .gpu_uuid_2 = softgpu_uuid_of(1) };
	int status = softgpu_uvm(tenant->fd, UVM_TEST_PEER_REF_COUNT, &params);

	guest_check(status == 0, "PEER_REF_COUNT: %x", status);
	return params.ref_count;
}

/* From one GPU to the other and back. @straight: not by way of the host. */
static void moves(struct softgpu_tenant *tenant, bool straight, bool counted)
{
	uint64_t *p = softgpu_managed(tenant, BYTES);
	struct softgpu_stats before, after;

	guest_check(fill(tenant, 0, p, BYTES, 11), "the first GPU writes 8 MB");
	before = both();
	verify(tenant, 1, p, BYTES, 11, straight ? "straight" : "by way of the host");
	guest_check(softgpu_resident(tenant, p) == SOFTGPU_ON_SECOND, "they are there now");
	guest_check(fill(tenant, 1, p, BYTES, 12), "it writes them");
	verify(tenant, 0, p, BYTES, 12, "and back");
	after = both();
	if (counted) {
		uint64_t host = after.copy_bytes[SOFTGPU_FROM_VIDMEM] -
				before.copy_bytes[SOFTGPU_FROM_VIDMEM];
		uint64_t peer = after.peer_copy_bytes - before.peer_copy_bytes;

		guest_check(host == (straight ? 0 : 2 * BYTES) &&
				    peer == (straight ? 2 * BYTES : 0),
			    "%llu bytes went to the host, and %llu straight",
			    (unsigned long long)host, (unsigned long long)peer);
	}
	munmap(p, BYTES);
}

/* The second GPU accesses what stays on the first, also after that was evicted. */
static uint64_t *mapped(struct softgpu_tenant *tenant)
{
	uint64_t *p = softgpu_managed(tenant, BYTES);
	size_t other_bytes = 40 * SOFTGPU_MB;
	uint64_t *other = softgpu_managed(tenant, other_bytes);
	UVM_SET_PREFERRED_LOCATION_PARAMS preferred = {
		.requestedBase = (uintptr_t)p,
		.length = BYTES,
		.preferredLocation = softgpu_uuid_of(0),
	};
	UVM_SET_ACCESSED_BY_PARAMS accessed = {
		.requestedBase = (uintptr_t)p,
		.length = BYTES,
		.accessedByUuid = softgpu_uuid_of(1),
	};
	struct softgpu_stats before;

	guest_check(softgpu_uvm(tenant->fd, UVM_SET_PREFERRED_LOCATION, &preferred) == 0 &&
			    softgpu_uvm(tenant->fd, UVM_SET_ACCESSED_BY, &accessed) == 0,
		    "8 MB prefer the first GPU, and the second accesses them");
	guest_check(fill(tenant, 0, p, BYTES, 21), "the first GPU writes them");
	before = both();
	verify(tenant, 1, p, BYTES, 21, "where they are");
	guest_check(softgpu_resident(tenant, p) == SOFTGPU_ON_GPU &&
			    both().peer_accesses - before.peer_accesses == BYTES / SOFTGPU_PAGE,
		    "they have stayed, and were accessed there");
	guest_check(fill(tenant, 1, p, BYTES, 22) &&
			    softgpu_resident(tenant, p) == SOFTGPU_ON_GPU,
		    "the second GPU writes them there");
	verify(tenant, 0, p, BYTES, 22, "what the other one wrote");
	guest_check(fill(tenant, 0, other, other_bytes, 23) &&
			    softgpu_resident(tenant, p) == SOFTGPU_ON_HOST,
		    "40 MB on 30 MB evict them to the host");
	verify(tenant, 1, p, BYTES, 22, "on the host");
	verify(tenant, 1, other, other_bytes, 23, "40 MB, to 30 MB on the second GPU");
	guest_check(fill(tenant, 0, p, BYTES, 24), "the first GPU takes the 8 MB back");
	verify(tenant, 1, p, BYTES, 24, "mapped again");
	munmap(other, other_bytes);
	return p;
}

void test_peers(struct softgpu_tenant *tenant)
{
	UVM_TEST_PEER_IDENTITY_MAPPINGS_PARAMS identity = { .gpuA = softgpu_uuid_of(0),
							    .gpuB = softgpu_uuid_of(1) };
	UVM_UNREGISTER_GPU_PARAMS unregister = { .gpu_uuid = softgpu_uuid_of(1) };
	struct softgpu_stats before;
	bool nvlink, physical;
	uint64_t *p;
	int status;

	softgpu_use(1);
	status = softgpu_register(tenant, tenant->client);
	softgpu_use(0);
	if (!guest_check(status == 0, "a second GPU is registered: %x", status))
		return;
	nvlink = references(tenant) > 0;
	guest_log("# they are connected by %s", nvlink ? "NVLink" : "PCIe");
	if (nvlink)
		guest_check(set_peers(tenant, nvlink, false) == 0,
			    "peer access is disabled, which NVLink has from the beginning");
	moves(tenant, false, true);
	status = set_peers(tenant, nvlink, true);
	guest_check(status == 0 && references(tenant) > 0, "peer access is enabled: %x",
		    status);
	status = softgpu_uvm(tenant->fd, UVM_TEST_PEER_IDENTITY_MAPPINGS, &identity);
	physical = status == NV_WARN_NOTHING_TO_DO;
	guest_check(physical || status == 0, "PEER_IDENTITY_MAPPINGS: %x, copies are %s",
		    status, physical ? "physical" : "virtual");
	/* Of a copy between virtual addresses the GPU does not count where they lead. */
	moves(tenant, true, physical);
	p = mapped(tenant);
	status = set_peers(tenant, nvlink, false);
	guest_check(status == 0, "peer access is disabled: %x", status);
	before = both();
	verify(tenant, 1, p, BYTES, 24, "without peer access");
	guest_check(both().peer_accesses == before.peer_accesses, "the other was not accessed");
	status = softgpu_uvm(tenant->fd, UVM_UNREGISTER_GPU, &unregister);
	guest_check(status == 0, "the second GPU is unregistered: %x", status);
	verify(tenant, 0, p, BYTES, 24, "after that");
	munmap(p, BYTES);
	guest_check(both().bad_addresses == 0, "the GPUs met no bad address");
}
