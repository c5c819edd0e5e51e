// SPDX-License-Identifier: MIT OR GPL-2.0
/* The driver library's calls for memory: blocks of the host's, each managed or not. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_inside.h"

#define BLOCKS	65536
#define DEVICES 2

struct CUmemPoolHandle_st {
	unsigned int type;
	bool host; /* its memory is the host's */
	unsigned long long used;
};

struct block {
	char *ptr;
	size_t bytes;
	size_t range; /* of addresses that are its own; 0: it lies in a granule */
	bool managed;
	bool host;
	bool pool; /* it was asked from a pool */
};

static struct block blocks[BLOCKS];
static struct CUmemPoolHandle_st default_pool[DEVICES] = { { .type = CU_ALLOC_PINNED },
							   { .type = CU_ALLOC_PINNED } };
static struct CUmemPoolHandle_st *current_pool[DEVICES] = { &default_pool[0],
							    &default_pool[1] };
static unsigned long wrong_frees, managed_made, to_host, to_gpu;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct fake_memory fake_memory(void)
{
	struct fake_memory seen = { fake_vmm_live(), wrong_frees, managed_made, to_host,
				    to_gpu };

	for (int i = 0; i < BLOCKS; i++)
		seen.live += blocks[i].ptr != NULL;
	return seen;
}

/*
 * Managed memory as driver 580 has it on an H200. Up to 24 MiB it comes from granules of 32 MiB,
 * whose addresses are the driver's for ever. From 30 MiB on it has a range of its own, at a
 * multiple of 32 MiB, which can be reserved after cuMemFree(). Between the two nothing was
 * measured: it is taken for a granule.
 */
#define GRANULE	 (32ull << 20)
#define OWN	 (30ull << 20)
#define GRANULES 8192

static struct granule {
	char *ptr;
	size_t bytes, used;
	unsigned int live;
} granules[GRANULES];

/* Addresses with memory behind them, at a multiple of a granule. */
static char *map_aligned(size_t bytes)
{
	char *range = mmap(NULL, bytes + GRANULE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t head = (size_t)(-(uintptr_t)range & (GRANULE - 1));

	if (range == MAP_FAILED)
		return NULL;
	if (head)
		munmap(range, head);
	if (head != GRANULE)
		munmap(range + head + bytes, GRANULE - head);
	return range + head;
}

/* Under the lock. */
static void *from_granule(size_t bytes)
{
	size_t whole = (bytes + 511) / 512 * 512;

	for (int i = 0; i < GRANULES; i++) {
		struct granule *granule = &granules[i];
		char *ptr;

		if (!granule->ptr) {
			granule->bytes = (whole + GRANULE - 1) / GRANULE * GRANULE;
			granule->ptr = map_aligned(granule->bytes);
			if (!granule->ptr)
				return NULL;
		}
		if (granule->bytes - granule->used < whole)
			continue;
		ptr = granule->ptr + granule->used;
		granule->used += whole;
		granule->live++;
		return ptr;
	}
	return NULL;
}

static void to_granule(const char *ptr)
{
	for (int i = 0; i < GRANULES && granules[i].ptr; i++)
		if (ptr >= granules[i].ptr && ptr < granules[i].ptr + granules[i].bytes &&
		    !--granules[i].live)
			granules[i].used = 0;
}

static void *host_memory(size_t bytes, bool managed, bool host)
{
	size_t range = managed && bytes >= OWN ? (bytes + GRANULE - 1) / GRANULE * GRANULE : 0;
	void *ptr;

	pthread_mutex_lock(&lock);
	if (range)
		ptr = map_aligned(range);
	else if (managed)
		ptr = from_granule(bytes);
	else
		ptr = aligned_alloc(512, (bytes + 511) / 512 * 512);
	managed_made += managed;
	for (int i = 0; i < BLOCKS; i++) {
		if (blocks[i].ptr)
			continue;
		blocks[i] = (struct block){ ptr, bytes, range, managed, host, false };
		break;
	}
	pthread_mutex_unlock(&lock);
	return ptr;
}

static void unmap_block(const struct block *block)
{
	if (block->range)
		fake_vmm_free((cu_ptr)(uintptr_t)block->ptr, block->range);
	else if (block->managed)
		to_granule(block->ptr);
	else
		free(block->ptr);
}

static bool give_back(cu_ptr ptr)
{
	bool known = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; !known && i < BLOCKS; i++) {
		if (!ptr || (cu_ptr)(uintptr_t)blocks[i].ptr != ptr)
			continue;
		unmap_block(&blocks[i]);
		blocks[i].ptr = NULL;
		known = true;
	}
	wrong_frees += !known && ptr;
	pthread_mutex_unlock(&lock);
	return known || !ptr;
}

static struct block *block_of(cu_ptr ptr)
{
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].ptr && ptr >= (cu_ptr)(uintptr_t)blocks[i].ptr &&
		    ptr < (cu_ptr)(uintptr_t)blocks[i].ptr + blocks[i].bytes)
			return &blocks[i];
	return NULL;
}

static size_t memory(void)
{
	const char *text = getenv("FAKE_MEMORY");

	return text ? strtoull(text, NULL, 10) : 1ull << 30;
}

static size_t in_use(void)
{
	size_t bytes = fake_vmm_bytes();

	for (int i = 0; i < BLOCKS; i++)
		bytes += blocks[i].ptr && !blocks[i].managed && !blocks[i].host ?
				 blocks[i].bytes :
				 0;
	return bytes;
}

bool fake_has_room(size_t bytes)
{
	return in_use() + bytes <= memory();
}

static cu_result allocate(cu_ptr *ptr, size_t bytes, bool managed)
{
	if (!bytes)
		return CU_INVALID_VALUE;
	if (!managed && !fake_has_room(bytes))
		return CU_OUT_OF_MEMORY;
	*ptr = (cu_ptr)(uintptr_t)host_memory(bytes, managed, false);
	return CU_OK;
}

FAKE cu_result cuMemAlloc_v2(cu_ptr *ptr, size_t bytes)
{
	MEASURED();
	return allocate(ptr, bytes, false);
}

FAKE cu_result cuMemAllocManaged(cu_ptr *ptr, size_t bytes, unsigned int flags)
{
	MEASURED();
	return flags ? allocate(ptr, bytes, true) : CU_INVALID_VALUE;
}

FAKE cu_result cuMemAllocPitch_v2(cu_ptr *ptr, size_t *pitch, size_t width, size_t height,
				  unsigned int element)
{
	MEASURED();
	(void)element;
	*pitch = (width + 511) / 512 * 512;
	return allocate(ptr, *pitch * height, false);
}

FAKE cu_result cuMemFree_v2(cu_ptr ptr)
{
	MEASURED();
	if (getenv("FAKE_NO_FREE"))
		return CU_INVALID_VALUE;
	return give_back(ptr) ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuMemAllocFromPoolAsync(cu_ptr *ptr, size_t bytes,
				       struct CUmemPoolHandle_st *pool,
				       struct CUstream_st *stream)
{
	MEASURED_AS(fake_is_beside_capture(stream) ? "cuMemAllocAsync:other_stream" : __func__);
	cu_result result;

	(void)stream;
	pool->used += bytes;
	if (pool->host) {
		*ptr = (cu_ptr)(uintptr_t)host_memory(bytes, false, true);
		return CU_OK;
	}
	result = allocate(ptr, bytes, pool->type == CU_ALLOC_MANAGED);
	if (result == CU_OK)
		block_of(*ptr)->pool = true;
	return result;
}

FAKE cu_result cuMemAllocFromPoolAsync_ptsz(cu_ptr *ptr, size_t bytes,
					    struct CUmemPoolHandle_st *pool,
					    struct CUstream_st *stream)
{
	MEASURED();
	return cuMemAllocFromPoolAsync(ptr, bytes, pool, stream);
}

FAKE cu_result cuMemAllocAsync(cu_ptr *ptr, size_t bytes, struct CUstream_st *stream)
{
	MEASURED_AS(fake_is_beside_capture(stream) ? "cuMemAllocAsync:other_stream" : __func__);
	int device = 0;

	cuCtxGetDevice(&device);
	return cuMemAllocFromPoolAsync(ptr, bytes, current_pool[device], stream);
}

FAKE cu_result cuMemAllocAsync_ptsz(cu_ptr *ptr, size_t bytes, struct CUstream_st *stream)
{
	MEASURED();
	return cuMemAllocAsync(ptr, bytes, stream);
}

/* As driver 580 on an H200: what cuMemAlloc() gave is freed, what cuMemAllocManaged() gave is not. */
FAKE cu_result cuMemFreeAsync(cu_ptr ptr, struct CUstream_st *stream)
{
	MEASURED_AS(fake_is_beside_capture(stream) ? "cuMemFreeAsync:other_stream" : __func__);
	const struct block *block = block_of(ptr);

	(void)stream;
	if (block && block->managed && !block->pool)
		return CU_NOT_SUPPORTED;
	return cuMemFree_v2(ptr);
}

FAKE cu_result cuMemFreeAsync_ptsz(cu_ptr ptr, struct CUstream_st *stream)
{
	MEASURED();
	return cuMemFreeAsync(ptr, stream);
}

FAKE cu_result cuMemPoolCreate(struct CUmemPoolHandle_st **pool,
			       const struct CUmemPoolProps_st *props)
{
	MEASURED();
	const struct shim_pool_props *wanted = (const struct shim_pool_props *)props;
	unsigned int type = wanted->type;

	fake_enter("cuMemPoolCreate");
	if (type == CU_ALLOC_MANAGED && getenv("FAKE_NO_MANAGED_POOLS"))
		return CU_INVALID_VALUE;
	*pool = calloc(1, sizeof(**pool));
	(*pool)->type = type;
	(*pool)->host = wanted->location_type != CU_LOCATION_DEVICE;
	return CU_OK;
}

/* Where it was the current one, the default pool is that again. */
FAKE cu_result cuMemPoolDestroy(struct CUmemPoolHandle_st *pool)
{
	MEASURED();
	for (int i = 0; i < DEVICES; i++) {
		if (pool == &default_pool[i])
			return CU_INVALID_VALUE;
		if (pool == current_pool[i])
			current_pool[i] = &default_pool[i];
	}
	free(pool);
	return CU_OK;
}

FAKE cu_result cuMemPoolGetAttribute(struct CUmemPoolHandle_st *pool, unsigned int attribute,
				     void *value)
{
	if (attribute != 7)
		return CU_INVALID_VALUE;
	*(unsigned long long *)value = pool->used;
	return CU_OK;
}

FAKE cu_result cuDeviceGetMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	MEASURED();
	*pool = current_pool[device];
	return CU_OK;
}

FAKE cu_result cuDeviceGetDefaultMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	MEASURED();
	if (!fake_initialized)
		return CU_NOT_INITIALIZED;
	*pool = &default_pool[device];
	return CU_OK;
}

/* As driver 580 on an H200: a pool of managed memory does not become the current one. */
FAKE cu_result cuDeviceSetMemPool(int device, struct CUmemPoolHandle_st *pool)
{
	MEASURED();
	if (pool->type != CU_ALLOC_MANAGED)
		current_pool[device] = pool;
	return CU_OK;
}

FAKE cu_result cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	MEASURED();
	(void)device;
	if (!fake_initialized)
		return CU_NOT_INITIALIZED;
	*bytes = memory();
	return CU_OK;
}

FAKE cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	MEASURED();
	*total = memory();
	*free_bytes = *total - in_use();
	return CU_OK;
}

/*
 * Arrays have a handle, and no memory behind it. One without a width is refused, and a flat one
 * of three channels. As with the driver's, a number of levels that cannot be becomes the nearest
 * one that can.
 */

struct CUarray_st {
	char unused[64];
};

struct CUmipmappedArray_st {
	char unused[64];
};

static unsigned long arrays;

static void *new_array(size_t width)
{
	if (!width)
		return NULL;
	arrays++;
	return calloc(1, sizeof(struct CUarray_st));
}

static cu_result end_array(void *array)
{
	if (!array || !arrays)
		return CU_INVALID_VALUE;
	arrays--;
	free(array);
	return CU_OK;
}

FAKE cu_result cuArrayCreate_v2(struct CUarray_st **array,
				const struct CUDA_ARRAY_DESCRIPTOR_st *asked)
{
	MEASURED();
	const struct shim_array *flat = (const struct shim_array *)asked;

	*array = flat->channels == 3 ? NULL : new_array(flat->width);
	return *array ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuArray3DCreate_v2(struct CUarray_st **array,
				  const struct CUDA_ARRAY3D_DESCRIPTOR_st *asked)
{
	MEASURED();
	*array = new_array(((const struct shim_array3d *)asked)->width);
	return *array ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuArrayDestroy(struct CUarray_st *array)
{
	MEASURED();
	return end_array(array);
}

FAKE cu_result cuMipmappedArrayCreate(struct CUmipmappedArray_st **array,
				      const struct CUDA_ARRAY3D_DESCRIPTOR_st *asked,
				      unsigned int levels)
{
	MEASURED();
	(void)levels;
	*array = new_array(((const struct shim_array3d *)asked)->width);
	return *array ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuMipmappedArrayDestroy(struct CUmipmappedArray_st *array)
{
	MEASURED();
	return end_array(array);
}

FAKE cu_result cuPointerGetAttribute(void *data, unsigned int attribute, cu_ptr ptr)
{
	MEASURED();
	const struct block *block = block_of(ptr);

	if (!block)
		return fake_vmm_attribute(data, attribute, ptr);
	switch (attribute) {
	case CU_POINTER_IS_MANAGED:
		*(unsigned char *)data = block->managed;
		return CU_OK;
	case CU_POINTER_MEMORY_TYPE:
		*(unsigned int *)data = block->host ? 1 : CU_MEMORY_DEVICE;
		return CU_OK;
	case CU_POINTER_START:
		*(cu_ptr *)data = (cu_ptr)(uintptr_t)block->ptr;
		return CU_OK;
	case CU_POINTER_SIZE:
		*(size_t *)data = block->bytes;
		return CU_OK;
	case CU_POINTER_CAN_IPC:
		*(unsigned char *)data = !block->managed && !block->host;
		return CU_OK;
	case CU_POINTER_HANDLES:
		*(unsigned int *)data = 0;
		return CU_OK;
	case CU_POINTER_CONTEXT:
		return cuCtxGetCurrent(data);
	case CU_POINTER_HOST:
		*(void **)data = block->managed || block->host ? (void *)(uintptr_t)ptr : NULL;
		return block->managed || block->host ? CU_OK : CU_INVALID_VALUE;
	}
	return CU_INVALID_VALUE;
}

FAKE cu_result cuPointerGetAttributes(unsigned int count, unsigned int *attributes, void **data,
				      cu_ptr ptr)
{
	MEASURED();
	for (unsigned int i = 0; i < count; i++)
		cuPointerGetAttribute(data[i], attributes[i], ptr);
	return CU_OK;
}

/*
 * With FAKE_NO_DEVICES managed memory is not for other devices of the bus. Driver 580 on an H200
 * says CU_OK.
 */
FAKE cu_result cuPointerSetAttribute(const void *value, unsigned int attribute, cu_ptr ptr)
{
	MEASURED();
	const struct block *block = block_of(ptr);

	if (!value || attribute != CU_POINTER_SYNC_MEMOPS || !block)
		return CU_INVALID_VALUE;
	return block->managed && getenv("FAKE_NO_DEVICES") ? CU_NOT_SUPPORTED : CU_OK;
}

FAKE cu_result cuMemGetAddressRange_v2(cu_ptr *start, size_t *bytes, cu_ptr ptr)
{
	MEASURED();
	cu_ptr at;
	size_t size;

	if (cuPointerGetAttribute(&at, CU_POINTER_START, ptr) != CU_OK ||
	    cuPointerGetAttribute(&size, CU_POINTER_SIZE, ptr) != CU_OK)
		return CU_INVALID_VALUE;
	if (start)
		*start = at;
	if (bytes)
		*bytes = size;
	return CU_OK;
}

/* IPC of device memory by itself: what an opening gives is a number, and no memory. */
#define OPENED 0x7770000ull

struct CUipcMemHandle_st {
	char bytes[64];
};

struct handle {
	char magic[8];
	cu_ptr ptr;
	int pid;
};

FAKE cu_result cuIpcGetMemHandle(struct CUipcMemHandle_st *handle, cu_ptr ptr)
{
	MEASURED();
	const struct block *block = block_of(ptr);
	struct handle made = { "driver", ptr, (int)getpid() };

	if (!handle || !block || block->managed)
		return CU_INVALID_VALUE;
	memcpy(handle, &made, sizeof(made));
	return CU_OK;
}

FAKE cu_result cuIpcOpenMemHandle_v2(cu_ptr *ptr, struct CUipcMemHandle_st handle,
				     unsigned int flags)
{
	MEASURED();
	struct handle given;

	memcpy(&given, &handle, sizeof(given));
	if (memcmp(given.magic, "driver", 7))
		return CU_INVALID_VALUE;
	if (given.pid == (int)getpid())
		return CU_INVALID_CONTEXT;
	*ptr = OPENED;
	return flags == CU_IPC_PEER ? CU_OK : CU_INVALID_VALUE;
}

/* The first version. It differs here, so that a test sees which one was called. */
FAKE cu_result cuIpcOpenMemHandle(cu_ptr *ptr, struct CUipcMemHandle_st handle,
				  unsigned int flags)
{
	MEASURED();
	cu_result result = cuIpcOpenMemHandle_v2(ptr, handle, flags);

	*ptr += result == CU_OK;
	return result;
}

FAKE cu_result cuIpcCloseMemHandle(cu_ptr ptr)
{
	MEASURED();
	return ptr == OPENED || ptr == OPENED + 1 ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuMemAdvise(cu_ptr ptr, size_t bytes, unsigned int advice, int device)
{
	MEASURED();
	const struct block *block = block_of(ptr);

	(void)advice;
	(void)device;
	return block && block->managed && bytes <= block->bytes ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuMemPrefetchAsync(cu_ptr ptr, size_t bytes, int device,
				  struct CUstream_st *stream)
{
	MEASURED();
	(void)stream;
	if (device == CU_DEVICE_CPU)
		to_host++;
	else
		to_gpu++;
	return cuMemAdvise(ptr, bytes, 0, device);
}
