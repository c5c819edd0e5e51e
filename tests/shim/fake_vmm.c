// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The driver library's reserved addresses, and memory of cuMemCreate(): files in memory, which
 * are mapped there. So two processes share such memory, and it is there until the last of them
 * unmaps it.
 *
 * Addresses of managed memory are freed, and wished for, by the calls of the C library that an
 * H200's driver makes: traced, the shim's held.c has it. FAKE_KEEPS_ADDRESSES: freed ones stay
 * the driver's. FAKE_SYSTEM_CALLS: the calls are made past the C library. FAKE_WISHES: so many
 * wishes are granted; the first one is of the shim's trial. FAKE_ROOM: so many reservations find
 * room in addresses that the driver has and does not use. It gives those first, whatever is
 * wished for, as an H200's does in a process with PyTorch.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_inside.h"

#define RESERVED 4096
#define MEMORIES 4096
#define MAPPINGS 4096
#define PAGE	 (2ull << 20) /* as on an H200 */

struct range {
	cu_ptr ptr;
	size_t bytes;
};

struct memory {
	int fd;
	size_t bytes;
	int device;
	bool for_others;
	bool imported;
	unsigned int handles, mappings; /* both 0: a free place */
};

struct mapping {
	struct range at;
	struct memory *memory;
	bool accessible;
};

static struct {
	struct range at;
	bool in_room;
} reserved[RESERVED];
static unsigned long in_room;
static struct memory memories[MEMORIES];
static struct mapping mappings[MAPPINGS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool lies_in(const struct range *range, cu_ptr ptr, size_t bytes)
{
	return range->ptr && ptr >= range->ptr && ptr - range->ptr < range->bytes &&
	       bytes <= range->bytes - (ptr - range->ptr);
}

static bool is_reserved(cu_ptr ptr, size_t bytes)
{
	for (int i = 0; i < RESERVED; i++)
		if (lies_in(&reserved[i].at, ptr, bytes))
			return true;
	return false;
}

static struct mapping *mapping_of(cu_ptr ptr)
{
	for (int i = 0; i < MAPPINGS; i++)
		if (lies_in(&mappings[i].at, ptr, 1))
			return &mappings[i];
	return NULL;
}

/* A handle is the place of its memory, and one. */
static struct memory *memory_of(unsigned long long handle)
{
	return handle && handle <= MEMORIES && memories[handle - 1].handles ?
		       &memories[handle - 1] :
		       NULL;
}

unsigned long fake_vmm_live(void)
{
	unsigned long live = 0;

	for (int i = 0; i < MEMORIES; i++)
		live += memories[i].handles || memories[i].mappings;
	return live;
}

size_t fake_vmm_bytes(void)
{
	size_t bytes = 0;

	for (int i = 0; i < MEMORIES; i++)
		if ((memories[i].handles || memories[i].mappings) && !memories[i].imported)
			bytes += memories[i].bytes;
	return bytes;
}

cu_result fake_vmm_attribute(void *data, unsigned int attribute, cu_ptr ptr)
{
	const struct mapping *mapping = mapping_of(ptr);

	if (!mapping)
		return CU_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_IS_MANAGED:
	case CU_POINTER_CAN_IPC:
		*(unsigned char *)data = 0;
		return CU_OK;
	case CU_POINTER_MEMORY_TYPE:
		*(unsigned int *)data = CU_MEMORY_DEVICE;
		return CU_OK;
	case CU_POINTER_START:
		*(cu_ptr *)data = mapping->at.ptr;
		return CU_OK;
	case CU_POINTER_SIZE:
		*(size_t *)data = mapping->at.bytes;
		return CU_OK;
	case CU_POINTER_HANDLES:
		*(unsigned int *)data = mapping->memory->for_others ? CU_HANDLE_FD : 0;
		return CU_OK;
	}
	return CU_INVALID_VALUE;
}

/* Is the wish for an address granted? */
static bool is_granted(void)
{
	static unsigned long wishes;
	const char *granted = getenv("FAKE_WISHES");

	return !granted || ++wishes <= strtoul(granted, NULL, 10);
}

static void *map(cu_ptr ptr, size_t bytes, int flags)
{
	void *start = (void *)(uintptr_t)ptr;

	flags |= MAP_PRIVATE | MAP_ANONYMOUS;
	if (getenv("FAKE_SYSTEM_CALLS"))
		return (void *)syscall(SYS_mmap, start, bytes, PROT_NONE, flags, -1, 0);
	return mmap(start, bytes, PROT_NONE, flags, -1, 0);
}

static void unmap(cu_ptr ptr, size_t bytes)
{
	if (getenv("FAKE_SYSTEM_CALLS"))
		syscall(SYS_munmap, ptr, bytes);
	else
		munmap((void *)(uintptr_t)ptr, bytes);
}

void fake_vmm_free(cu_ptr ptr, size_t bytes)
{
	map(ptr, bytes, MAP_FIXED);
	if (!getenv("FAKE_KEEPS_ADDRESSES"))
		unmap(ptr, bytes);
}

/* Addresses that are free now. */
static bool take(cu_ptr wished, size_t bytes)
{
	void *got = map(wished, bytes, 0);

	if (got == (void *)(uintptr_t)wished)
		return true;
	if (got != MAP_FAILED)
		unmap((cu_ptr)(uintptr_t)got, bytes);
	return false;
}

/* Addresses without memory, at a multiple of @alignment. Returns 0 if there are none. */
static cu_ptr find_addresses(size_t bytes, size_t alignment)
{
	char *range;
	cu_ptr at;

	range = mmap(NULL, bytes + alignment, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (range == MAP_FAILED)
		return 0;
	at = ((cu_ptr)(uintptr_t)range + alignment - 1) / alignment * alignment;
	if (at != (cu_ptr)(uintptr_t)range)
		munmap(range, at - (cu_ptr)(uintptr_t)range);
	munmap((char *)(uintptr_t)at + bytes, alignment - (at - (cu_ptr)(uintptr_t)range));
	return at;
}

FAKE cu_result cuMemAddressReserve(cu_ptr *ptr, size_t bytes, size_t alignment, cu_ptr address,
				   unsigned long long flags)
{
	MEASURED();
	const char *room = getenv("FAKE_ROOM");
	bool has_room;
	cu_ptr at;

	if (!bytes || bytes % PAGE || flags)
		return CU_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	has_room = room && in_room < strtoul(room, NULL, 10);
	if (!has_room && address && is_granted() && take(address, bytes))
		at = address;
	else
		at = find_addresses(bytes, alignment ? alignment : PAGE);
	for (int i = 0; at && i < RESERVED; i++) {
		if (reserved[i].at.ptr)
			continue;
		reserved[i].at = (struct range){ at, bytes };
		reserved[i].in_room = has_room;
		in_room += has_room;
		*ptr = at;
		break;
	}
	pthread_mutex_unlock(&lock);
	return at ? CU_OK : CU_OUT_OF_MEMORY;
}

FAKE cu_result cuMemAddressFree(cu_ptr ptr, size_t bytes)
{
	MEASURED();
	cu_result result = CU_INVALID_VALUE;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < RESERVED; i++)
		if (reserved[i].at.ptr == ptr && reserved[i].at.bytes == bytes) {
			munmap((void *)(uintptr_t)ptr, bytes);
			in_room -= reserved[i].in_room;
			reserved[i].at.ptr = 0;
			result = CU_OK;
			break;
		}
	pthread_mutex_unlock(&lock);
	return result;
}

FAKE cu_result cuMemGetAllocationGranularity(size_t *bytes,
					     const struct CUmemAllocationProp_st *prop,
					     unsigned int option)
{
	MEASURED();
	*bytes = PAGE;
	return prop && option <= 1 ? CU_OK : CU_INVALID_VALUE;
}

/* Under the lock. */
static cu_result take_place(unsigned long long *handle, const struct memory *made)
{
	for (int i = 0; i < MEMORIES; i++) {
		if (memories[i].handles || memories[i].mappings)
			continue;
		memories[i] = *made;
		*handle = (unsigned long long)i + 1;
		return CU_OK;
	}
	return CU_OUT_OF_MEMORY;
}

FAKE cu_result cuMemCreate(unsigned long long *handle, size_t bytes,
			   const struct CUmemAllocationProp_st *prop, unsigned long long flags)
{
	MEASURED();
	const struct shim_allocation_prop *wanted = (const struct shim_allocation_prop *)prop;
	struct memory made = { .bytes = bytes,
			       .device = wanted->location_id,
			       .for_others = wanted->handle_types & CU_HANDLE_FD,
			       .handles = 1 };
	cu_result result;

	if (!bytes || bytes % PAGE || flags)
		return CU_INVALID_VALUE;
	if (!fake_has_room(bytes))
		return CU_OUT_OF_MEMORY;
	made.fd = memfd_create("gpu", MFD_CLOEXEC);
	if (made.fd < 0 || ftruncate(made.fd, (off_t)bytes))
		return CU_OUT_OF_MEMORY;
	pthread_mutex_lock(&lock);
	result = take_place(handle, &made);
	pthread_mutex_unlock(&lock);
	return result;
}

static void end_if_unused(struct memory *memory)
{
	if (!memory->handles && !memory->mappings)
		close(memory->fd);
}

FAKE cu_result cuMemRelease(unsigned long long handle)
{
	MEASURED();
	struct memory *memory;

	pthread_mutex_lock(&lock);
	memory = memory_of(handle);
	if (memory) {
		memory->handles--;
		end_if_unused(memory);
	}
	pthread_mutex_unlock(&lock);
	return memory ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuMemRetainAllocationHandle(unsigned long long *handle, void *address)
{
	MEASURED();
	struct mapping *mapping;

	pthread_mutex_lock(&lock);
	mapping = mapping_of((cu_ptr)(uintptr_t)address);
	if (mapping) {
		mapping->memory->handles++;
		*handle = (unsigned long long)(mapping->memory - memories) + 1;
	}
	pthread_mutex_unlock(&lock);
	return mapping ? CU_OK : CU_INVALID_VALUE;
}

static struct mapping *free_mapping(void)
{
	for (int i = 0; i < MAPPINGS; i++)
		if (!mappings[i].at.ptr)
			return &mappings[i];
	return NULL;
}

/* Nobody may use it before cuMemSetAccess(). */
FAKE cu_result cuMemMap(cu_ptr ptr, size_t bytes, size_t offset, unsigned long long handle,
			unsigned long long flags)
{
	MEASURED();
	struct mapping *place;
	struct memory *memory;
	cu_result result = CU_INVALID_VALUE;

	pthread_mutex_lock(&lock);
	memory = memory_of(handle);
	place = free_mapping();
	if (memory && place && !offset && !flags && bytes <= memory->bytes &&
	    is_reserved(ptr, bytes) && !mapping_of(ptr) &&
	    mmap((void *)(uintptr_t)ptr, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->fd,
		 0) != MAP_FAILED) {
		*place = (struct mapping){ { ptr, bytes }, memory, false };
		memory->mappings++;
		result = CU_OK;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

FAKE cu_result cuMemUnmap(cu_ptr ptr, size_t bytes)
{
	MEASURED();
	struct mapping *mapping;

	pthread_mutex_lock(&lock);
	mapping = mapping_of(ptr);
	if (mapping && (mapping->at.ptr != ptr || mapping->at.bytes != bytes))
		mapping = NULL;
	if (mapping) {
		mmap((void *)(uintptr_t)ptr, bytes, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		mapping->at.ptr = 0;
		mapping->memory->mappings--;
		end_if_unused(mapping->memory);
	}
	pthread_mutex_unlock(&lock);
	return mapping ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuMemSetAccess(cu_ptr ptr, size_t bytes, const struct CUmemAccessDesc_st *access,
			      size_t count)
{
	MEASURED();
	const struct shim_access *wanted = (const struct shim_access *)access;
	struct mapping *mapping;

	if (count != 1 || wanted->flags != CU_ACCESS_ALL)
		return CU_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	mapping = mapping_of(ptr);
	if (mapping) {
		mprotect((void *)(uintptr_t)ptr, bytes, PROT_READ | PROT_WRITE);
		mapping->accessible = true;
	}
	pthread_mutex_unlock(&lock);
	return mapping ? CU_OK : CU_INVALID_VALUE;
}

/* Descriptors. */

FAKE cu_result cuMemExportToShareableHandle(void *shared, unsigned long long handle,
					    unsigned int type, unsigned long long flags)
{
	MEASURED();
	const struct memory *memory;
	int fd = -1;

	pthread_mutex_lock(&lock);
	memory = memory_of(handle);
	if (memory && memory->for_others && type == CU_HANDLE_FD && !flags)
		fd = dup(memory->fd);
	pthread_mutex_unlock(&lock);
	if (fd < 0)
		return CU_INVALID_VALUE;
	*(int *)shared = fd;
	return CU_OK;
}

FAKE cu_result cuMemImportFromShareableHandle(unsigned long long *handle, void *shared,
					      unsigned int type)
{
	MEASURED();
	struct memory made = { .fd = dup((int)(intptr_t)shared),
			       .for_others = true,
			       .imported = true,
			       .handles = 1 };
	off_t bytes = made.fd < 0 ? -1 : lseek(made.fd, 0, SEEK_END);
	cu_result result;

	if (bytes <= 0 || type != CU_HANDLE_FD)
		return CU_INVALID_VALUE;
	made.bytes = (size_t)bytes;
	pthread_mutex_lock(&lock);
	result = take_place(handle, &made);
	pthread_mutex_unlock(&lock);
	return result;
}

FAKE cu_result cuMemGetAllocationPropertiesFromHandle(struct CUmemAllocationProp_st *prop,
						      unsigned long long handle)
{
	MEASURED();
	struct shim_allocation_prop_whole *whole = (struct shim_allocation_prop_whole *)prop;
	const struct memory *memory = memory_of(handle);

	if (!memory)
		return CU_INVALID_VALUE;
	*whole = (struct shim_allocation_prop_whole){
		.head = { CU_ALLOC_PINNED, CU_HANDLE_FD, CU_LOCATION_DEVICE, memory->device }
	};
	return CU_OK;
}

FAKE cu_result cuMemcpyDtoD_v2(cu_ptr to, cu_ptr from, size_t bytes)
{
	MEASURED();
	memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
	return CU_OK;
}
