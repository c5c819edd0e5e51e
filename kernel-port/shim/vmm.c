// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Memory of cuMemCreate(): it stays device memory, because it may be exported and mapped
 * anywhere, and is charged to the container until it is released and unmapped.
 */
#include <pthread.h>
#include <stdlib.h>

#include "shim.h"

struct vmm_memory {
	unsigned long long handle; /* the newest that names it; 0 once all are released */
	u64 bytes;
	int device;
	u32 handles; /* not released */
	u32 mappings;
	struct vmm_memory *next;
};

struct vmm_mapping {
	cu_ptr ptr;
	u64 bytes;
	struct vmm_memory *memory;
	struct vmm_mapping *next;
};

static struct vmm_memory *memories;
static struct vmm_mapping *mappings;
static pthread_mutex_t vmm_lock = PTHREAD_MUTEX_INITIALIZER;

static struct vmm_memory *find(unsigned long long handle)
{
	struct vmm_memory *memory = memories;

	while (memory && (memory->handle != handle || !memory->handles))
		memory = memory->next;
	return memory;
}

/* Nothing refers to it any more: the driver has freed it. */
static void drop_if_unused(struct vmm_memory *memory)
{
	struct vmm_memory **link = &memories;

	if (memory->handles || memory->mappings)
		return;
	while (*link != memory)
		link = &(*link)->next;
	*link = memory->next;
	books_uncharge(memory->device, SHIM_DEVICE, memory->bytes);
	free(memory);
	shim_wake_if_idle();
}

SHIM_EXPORT cu_result cuMemCreate(unsigned long long *handle, size_t bytes,
				  const struct CUmemAllocationProp_st *prop,
				  unsigned long long flags)
{
	const struct shim_real *real = shim_real();
	const struct shim_allocation_prop *wanted = (const struct shim_allocation_prop *)prop;
	struct vmm_memory *memory;
	size_t total = 0;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	/* No such device, or a driver that has not begun or has ended: it says so. */
	if (!handle || !prop || wanted->location_type != CU_LOCATION_DEVICE ||
	    real->cuDeviceTotalMem_v2(&total, wanted->location_id) != CU_OK)
		return real->cuMemCreate(handle, bytes, prop, flags);
	if (shim_settings.fence != SHIM_NO_FENCE)
		return memory_not_fenced("cuMemCreate");
	if (!memory_charge(wanted->location_id, SHIM_DEVICE, bytes, total))
		return CU_OUT_OF_MEMORY;
	result = real->cuMemCreate(handle, bytes, prop, flags);
	memory = result == CU_OK ? calloc(1, sizeof(*memory)) : NULL;
	if (!memory) {
		books_uncharge(wanted->location_id, SHIM_DEVICE, bytes);
		return result;
	}
	*memory = (struct vmm_memory){ *handle, bytes, wanted->location_id, 1, 0, NULL };
	pthread_mutex_lock(&vmm_lock);
	memory->next = memories;
	memories = memory;
	pthread_mutex_unlock(&vmm_lock);
	streams_note_device(wanted->location_id);
	shim_wake_if_idle();
	return CU_OK;
}

SHIM_EXPORT cu_result cuMemRetainAllocationHandle(unsigned long long *handle, void *address)
{
	const struct shim_real *real = shim_real();
	cu_ptr ptr = (cu_ptr)(uintptr_t)address;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	pthread_mutex_lock(&vmm_lock);
	result = real->cuMemRetainAllocationHandle(handle, address);
	for (struct vmm_mapping *mapping = result == CU_OK ? mappings : NULL; mapping;
	     mapping = mapping->next) {
		if (ptr < mapping->ptr || ptr - mapping->ptr >= mapping->bytes)
			continue;
		mapping->memory->handles++;
		mapping->memory->handle = *handle;
		break;
	}
	pthread_mutex_unlock(&vmm_lock);
	return result;
}

SHIM_EXPORT cu_result cuMemRelease(unsigned long long handle)
{
	const struct shim_real *real = shim_real();
	struct vmm_memory *memory;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	pthread_mutex_lock(&vmm_lock);
	result = real->cuMemRelease(handle);
	memory = result == CU_OK ? find(handle) : NULL;
	if (memory) {
		memory->handles--;
		drop_if_unused(memory);
	}
	pthread_mutex_unlock(&vmm_lock);
	return result;
}

SHIM_EXPORT cu_result cuMemMap(cu_ptr ptr, size_t bytes, size_t offset,
			       unsigned long long handle, unsigned long long flags)
{
	const struct shim_real *real = shim_real();
	struct vmm_mapping *mapping;
	struct vmm_memory *memory;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	pthread_mutex_lock(&vmm_lock);
	result = real->cuMemMap(ptr, bytes, offset, handle, flags);
	memory = result == CU_OK ? find(handle) : NULL;
	mapping = memory ? malloc(sizeof(*mapping)) : NULL;
	if (mapping) {
		*mapping = (struct vmm_mapping){ ptr, bytes, memory, mappings };
		mappings = mapping;
		memory->mappings++;
	}
	pthread_mutex_unlock(&vmm_lock);
	return result;
}

/* One call may end several mappings, but no part of one. */
SHIM_EXPORT cu_result cuMemUnmap(cu_ptr ptr, size_t bytes)
{
	const struct shim_real *real = shim_real();
	struct vmm_mapping **link = &mappings;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	pthread_mutex_lock(&vmm_lock);
	result = real->cuMemUnmap(ptr, bytes);
	while (result == CU_OK && *link) {
		struct vmm_mapping *mapping = *link;

		if (mapping->ptr < ptr || mapping->ptr - ptr >= bytes) {
			link = &mapping->next;
			continue;
		}
		*link = mapping->next;
		mapping->memory->mappings--;
		drop_if_unused(mapping->memory);
		free(mapping);
	}
	pthread_mutex_unlock(&vmm_lock);
	return result;
}

/* The lists are the parent's: their memory is left where it is, as it is once for each fork. */
void vmm_reset(void)
{
	pthread_mutex_init(&vmm_lock, NULL);
	memories = NULL;
	mappings = NULL;
}
