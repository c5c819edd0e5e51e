// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The partition of a fenced process: a power of two of bytes at a multiple of its
 * size, with device memory behind all of it. Wherever a fence leads a wild access,
 * memory of this process is there.
 *
 *      | margin | allocations of a heap (sim/core/fence/fence_heap.c) | margin |
 *
 * Margins are there with the modes once and 4g, which leave constant offsets in an access.
 */
#include <pthread.h>

#include "bounds.h"
#include "fence.h"
#include "gvm/fence_table.h"
#include "patch.h"

#define GRANULE	    512u /* as cuMemAlloc() aligns */
#define ALLOCATIONS 65536u

struct partition {
	bool open, failed;
	u64 base, bytes;
	unsigned long long memory; /* handle */
	struct gvm_fence_heap heap;
};

static struct partition partitions[SHIM_DEVICES];
static pthread_mutex_t partition_lock = PTHREAD_MUTEX_INITIALIZER;

static u64 power_of_two_up_to(u64 bytes)
{
	u64 power = 1;

	while (power <= bytes / 2)
		power *= 2;
	return power;
}

/* GVM_FENCE_SIZE; without it half of the GPU's memory. A power of two. */
static u64 wanted_bytes(const struct shim_real *real, int device)
{
	u64 bytes = shim_settings.fence_bytes;
	size_t total = 0;

	if (bytes)
		return power_of_two_up_to(bytes) == bytes ? bytes :
							    2 * power_of_two_up_to(bytes);
	if (real->cuDeviceTotalMem_v2(&total, device) != CU_OK)
		return 0;
	return power_of_two_up_to(total / 2);
}

/* Addresses, memory, the mapping and the right to use it; NULL, or which step failed. */
static const char *map(const struct shim_real *real, int device, struct partition *partition)
{
	struct shim_allocation_prop_whole prop = { .head = { .type = CU_ALLOC_PINNED,
							     .location_type =
								     CU_LOCATION_DEVICE,
							     .location_id = device } };
	struct shim_access access = { CU_LOCATION_DEVICE, device, CU_ACCESS_ALL };
	u64 bytes = partition->bytes;
	const char *failed = NULL;
	cu_ptr base = 0;

	if (!real->cuMemAddressReserve || !real->cuMemSetAccess || !real->cuMemCreate)
		return "this driver cannot reserve addresses";
	if (real->cuMemAddressReserve(&base, bytes, bytes, 0, 0) != CU_OK)
		return "no such range of addresses is free";
	if (base & (bytes - 1))
		failed = "the driver's range is not aligned";
	else if (real->cuMemCreate(&partition->memory, bytes,
				   (const struct CUmemAllocationProp_st *)&prop, 0) != CU_OK)
		failed = "the GPU has not as much free memory; set GVM_FENCE_SIZE";
	if (failed) {
		real->cuMemAddressFree(base, bytes);
		return failed;
	}
	if (real->cuMemMap(base, bytes, 0, partition->memory, 0) != CU_OK)
		failed = "its memory cannot be mapped";
	else if (real->cuMemSetAccess(base, bytes, (const struct CUmemAccessDesc_st *)&access,
				      1) != CU_OK) {
		real->cuMemUnmap(base, bytes);
		failed = "its memory cannot be made accessible";
	}
	if (failed) {
		real->cuMemRelease(partition->memory);
		real->cuMemAddressFree(base, bytes);
	}
	partition->base = base;
	return failed;
}

/* The device's partition, or NULL. LOCKING: partition_lock. */
static struct partition *open_locked(const struct shim_real *real, int device)
{
	struct partition *partition = &partitions[device];
	bool margins = shim_settings.fence == PATCH_ONCE || shim_settings.fence == PATCH_4G;
	u64 margin = margins ? PATCH_MARGIN_DEFAULT : 0;
	struct patch_bounds bounds;
	const char *why;

	if (partition->open || partition->failed)
		return partition->open ? partition : NULL;
	partition->bytes = wanted_bytes(real, device);
	/* The base does not matter here: it is a multiple of the size. */
	if (!patch_bounds_set(&bounds, (enum patch_mode)shim_settings.fence, partition->bytes,
			      partition->bytes) ||
	    partition->bytes <= 2 * margin)
		why = "it is too small for this mode";
	else
		why = map(real, device, partition);
	if (!why &&
	    gvm_fence_heap_init(&partition->heap, partition->base + margin,
				partition->bytes - 2 * margin, GRANULE, 2 * ALLOCATIONS + 1))
		why = "no memory for its heap";
	partition->open = !why;
	partition->failed = why;
	if (why)
		shim_warn("GPU %d: no partition of %llu bytes: %s", device, partition->bytes,
			  why);
	else
		shim_log("GPU %d: partition of %llu bytes at 0x%llx", device, partition->bytes,
			 partition->base);
	return why ? NULL : partition;
}

cu_result partition_alloc(const struct shim_real *real, int device, size_t bytes,
			  cu_ptr *ret_ptr)
{
	struct partition *partition;
	u64 address = 0;
	int status = -1;

	pthread_mutex_lock(&partition_lock);
	partition = open_locked(real, device);
	if (partition)
		status = gvm_fence_heap_alloc(&partition->heap, bytes, &address);
	pthread_mutex_unlock(&partition_lock);
	*ret_ptr = address;
	return status ? CU_OUT_OF_MEMORY : CU_OK;
}

/* The open partition that holds @ptr, or NULL. LOCKING: partition_lock. */
static struct partition *find_locked(cu_ptr ptr)
{
	for (int i = 0; i < SHIM_DEVICES; i++)
		if (partitions[i].open && ptr >= partitions[i].base &&
		    ptr - partitions[i].base < partitions[i].bytes)
			return &partitions[i];
	return NULL;
}

bool partition_free(cu_ptr ptr)
{
	struct partition *partition;
	bool freed = false;

	pthread_mutex_lock(&partition_lock);
	partition = find_locked(ptr);
	if (partition)
		freed = gvm_fence_heap_free(&partition->heap, ptr);
	pthread_mutex_unlock(&partition_lock);
	return freed;
}

bool partition_holds(cu_ptr ptr)
{
	bool holds;

	pthread_mutex_lock(&partition_lock);
	holds = find_locked(ptr);
	pthread_mutex_unlock(&partition_lock);
	return holds;
}

bool partition_room(const struct shim_real *real, int device, u64 *ret_bytes, u64 *ret_used)
{
	struct partition *partition;

	pthread_mutex_lock(&partition_lock);
	partition = open_locked(real, device);
	if (partition) {
		*ret_bytes = partition->heap.bytes;
		*ret_used = partition->heap.used_bytes;
	}
	pthread_mutex_unlock(&partition_lock);
	return partition;
}

bool partition_bounds(const struct shim_real *real, int device, struct patch_bounds *ret_bounds)
{
	struct partition *partition;

	pthread_mutex_lock(&partition_lock);
	partition = open_locked(real, device);
	if (partition)
		patch_bounds_set(ret_bounds, (enum patch_mode)shim_settings.fence,
				 partition->base, partition->bytes);
	pthread_mutex_unlock(&partition_lock);
	return partition;
}

/* The child of a fork has no GPU memory. */
void partition_reset(void)
{
	pthread_mutex_init(&partition_lock, NULL);
	for (int i = 0; i < SHIM_DEVICES; i++) {
		if (partitions[i].open)
			gvm_fence_heap_destroy(&partitions[i].heap);
		partitions[i].open = partitions[i].failed = false;
	}
}
