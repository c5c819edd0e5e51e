// SPDX-License-Identifier: MIT OR GPL-2.0
/* The driver library's calls for memory: blocks of the host's, each managed or not. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	struct fake_memory seen = { 0, wrong_frees, managed_made, to_host, to_gpu };

	for (int i = 0; i < BLOCKS; i++)
		seen.live += blocks[i].ptr != NULL;
	return seen;
}

static void *host_memory(size_t bytes, bool managed, bool host)
{
	void *ptr = aligned_alloc(512, (bytes + 511) / 512 * 512);

	pthread_mutex_lock(&lock);
	managed_made += managed;
	for (int i = 0; i < BLOCKS; i++) {
		if (blocks[i].ptr)
			continue;
		blocks[i] = (struct block){ ptr, bytes, managed, host, false };
		break;
	}
	pthread_mutex_unlock(&lock);
	return ptr;
}

static bool give_back(cu_ptr ptr)
{
	bool known = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; !known && i < BLOCKS; i++) {
		if (!ptr || (cu_ptr)(uintptr_t)blocks[i].ptr != ptr)
			continue;
		free(blocks[i].ptr);
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
	size_t bytes = 0;

	for (int i = 0; i < BLOCKS; i++)
		bytes += blocks[i].ptr && !blocks[i].managed && !blocks[i].host ?
				 blocks[i].bytes :
				 0;
	return bytes;
}

static cu_result allocate(cu_ptr *ptr, size_t bytes, bool managed)
{
	if (!bytes)
		return CU_INVALID_VALUE;
	if (!managed && in_use() + bytes > memory())
		return CU_OUT_OF_MEMORY;
	*ptr = (cu_ptr)(uintptr_t)host_memory(bytes, managed, false);
	return CU_OK;
}

FAKE cu_result cuMemAlloc_v2(cu_ptr *ptr, size_t bytes)
{
	return allocate(ptr, bytes, false);
}

FAKE cu_result cuMemAllocManaged(cu_ptr *ptr, size_t bytes, unsigned int flags)
{
	return flags ? allocate(ptr, bytes, true) : CU_INVALID_VALUE;
}

FAKE cu_result cuMemAllocPitch_v2(cu_ptr *ptr, size_t *pitch, size_t width, size_t height,
				  unsigned int element)
{
	(void)element;
	*pitch = (width + 511) / 512 * 512;
	return allocate(ptr, *pitch * height, false);
}

FAKE cu_result cuMemFree_v2(cu_ptr ptr)
{
	if (getenv("FAKE_NO_FREE"))
		return CU_INVALID_VALUE;
	return give_back(ptr) ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuMemAllocFromPoolAsync(cu_ptr *ptr, size_t bytes,
				       struct CUmemPoolHandle_st *pool,
				       struct CUstream_st *stream)
{
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
	return cuMemAllocFromPoolAsync(ptr, bytes, pool, stream);
}

FAKE cu_result cuMemAllocAsync(cu_ptr *ptr, size_t bytes, struct CUstream_st *stream)
{
	int device = 0;

	cuCtxGetDevice(&device);
	return cuMemAllocFromPoolAsync(ptr, bytes, current_pool[device], stream);
}

FAKE cu_result cuMemAllocAsync_ptsz(cu_ptr *ptr, size_t bytes, struct CUstream_st *stream)
{
	return cuMemAllocAsync(ptr, bytes, stream);
}

/* As driver 580 on an H200: what cuMemAlloc() gave is freed, what cuMemAllocManaged() gave is not. */
FAKE cu_result cuMemFreeAsync(cu_ptr ptr, struct CUstream_st *stream)
{
	const struct block *block = block_of(ptr);

	(void)stream;
	if (block && block->managed && !block->pool)
		return CU_NOT_SUPPORTED;
	return cuMemFree_v2(ptr);
}

FAKE cu_result cuMemFreeAsync_ptsz(cu_ptr ptr, struct CUstream_st *stream)
{
	return cuMemFreeAsync(ptr, stream);
}

FAKE cu_result cuMemPoolCreate(struct CUmemPoolHandle_st **pool,
			       const struct CUmemPoolProps_st *props)
{
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
	*pool = current_pool[device];
	return CU_OK;
}

FAKE cu_result cuDeviceGetDefaultMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	if (!fake_initialized)
		return CU_NOT_INITIALIZED;
	*pool = &default_pool[device];
	return CU_OK;
}

/* As driver 580 on an H200: a pool of managed memory does not become the current one. */
FAKE cu_result cuDeviceSetMemPool(int device, struct CUmemPoolHandle_st *pool)
{
	if (pool->type != CU_ALLOC_MANAGED)
		current_pool[device] = pool;
	return CU_OK;
}

FAKE cu_result cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	(void)device;
	if (!fake_initialized)
		return CU_NOT_INITIALIZED;
	*bytes = memory();
	return CU_OK;
}

FAKE cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	*total = memory();
	*free_bytes = *total - in_use();
	return CU_OK;
}

FAKE cu_result cuMemCreate(unsigned long long *handle, size_t bytes,
			   const struct CUmemAllocationProp_st *prop, unsigned long long flags)
{
	(void)prop;
	(void)flags;
	return allocate(handle, bytes, false);
}

FAKE cu_result cuMemRelease(unsigned long long handle)
{
	return block_of(handle) ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuMemRetainAllocationHandle(unsigned long long *handle, void *address)
{
	*handle = (unsigned long long)(uintptr_t)address;
	return CU_OK;
}

/* Reserved addresses have memory behind them from the start; others are the handle itself. */
FAKE cu_result cuMemMap(cu_ptr ptr, size_t bytes, size_t offset, unsigned long long handle,
			unsigned long long flags)
{
	(void)bytes;
	(void)flags;
	return (fake_is_reserved(ptr) || ptr == handle) && !offset ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuMemUnmap(cu_ptr ptr, size_t bytes)
{
	(void)bytes;
	return fake_is_reserved(ptr) ? CU_OK : cuMemFree_v2(ptr);
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
	const struct shim_array *flat = (const struct shim_array *)asked;

	*array = flat->channels == 3 ? NULL : new_array(flat->width);
	return *array ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuArray3DCreate_v2(struct CUarray_st **array,
				  const struct CUDA_ARRAY3D_DESCRIPTOR_st *asked)
{
	*array = new_array(((const struct shim_array3d *)asked)->width);
	return *array ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuArrayDestroy(struct CUarray_st *array)
{
	return end_array(array);
}

FAKE cu_result cuMipmappedArrayCreate(struct CUmipmappedArray_st **array,
				      const struct CUDA_ARRAY3D_DESCRIPTOR_st *asked,
				      unsigned int levels)
{
	(void)levels;
	*array = new_array(((const struct shim_array3d *)asked)->width);
	return *array ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuMipmappedArrayDestroy(struct CUmipmappedArray_st *array)
{
	return end_array(array);
}

FAKE cu_result cuPointerGetAttribute(void *data, unsigned int attribute, cu_ptr ptr)
{
	const struct block *block = block_of(ptr);

	if (!block)
		return CU_INVALID_VALUE;
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
	case CU_POINTER_HOST:
		*(void **)data = block->managed || block->host ? (void *)(uintptr_t)ptr : NULL;
		return block->managed || block->host ? CU_OK : CU_INVALID_VALUE;
	}
	return CU_INVALID_VALUE;
}

FAKE cu_result cuPointerGetAttributes(unsigned int count, unsigned int *attributes, void **data,
				      cu_ptr ptr)
{
	for (unsigned int i = 0; i < count; i++)
		cuPointerGetAttribute(data[i], attributes[i], ptr);
	return CU_OK;
}

/* Managed memory is not for other devices of the bus. Driver 580 on an H200 says CU_OK. */
FAKE cu_result cuPointerSetAttribute(const void *value, unsigned int attribute, cu_ptr ptr)
{
	const struct block *block = block_of(ptr);

	if (!value || attribute != CU_POINTER_SYNC_MEMOPS || !block)
		return CU_INVALID_VALUE;
	return block->managed ? CU_NOT_SUPPORTED : CU_OK;
}

FAKE cu_result cuIpcGetMemHandle(struct CUipcMemHandle_st *handle, cu_ptr ptr)
{
	const struct block *block = block_of(ptr);

	if (!handle || !block || block->managed)
		return CU_INVALID_VALUE;
	return CU_OK;
}

FAKE cu_result cuMemAdvise(cu_ptr ptr, size_t bytes, unsigned int advice, int device)
{
	const struct block *block = block_of(ptr);

	(void)advice;
	(void)device;
	return block && block->managed && bytes <= block->bytes ? CU_OK : CU_INVALID_VALUE;
}

FAKE cu_result cuMemPrefetchAsync(cu_ptr ptr, size_t bytes, int device,
				  struct CUstream_st *stream)
{
	(void)stream;
	if (device == CU_DEVICE_CPU)
		to_host++;
	else
		to_gpu++;
	return cuMemAdvise(ptr, bytes, 0, device);
}
