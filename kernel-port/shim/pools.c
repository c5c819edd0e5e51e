// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Stream-ordered memory. A driver with pools of managed memory (CUDA 13.0) gives
 * managed memory. An older driver gives device memory, which is counted: it frees
 * managed memory only by a call that waits for the GPU, and an application that frees
 * in stream order does not expect to wait.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fence.h"

struct device_pools {
	struct CUmemPoolHandle_st *ours; /* of managed memory; NULL: none */
	bool tried;
	struct CUmemPoolHandle_st *chosen; /* the application's; NULL: none */
};

struct asked_pool {
	struct CUmemPoolHandle_st *pool;
	struct asked_pool *next;
};

static struct device_pools pools_of[SHIM_DEVICES];
static struct asked_pool *asked_pools;
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Our pool of managed memory becomes the device's current one, so that all of its
 * attributes are those of the memory that is handed out. NULL: this driver has none;
 * the driver's pool stays.
 */
static struct CUmemPoolHandle_st *managed_pool(const struct shim_real *real, int device)
{
	const struct memory_facts *fact = memory_facts_of(real, device);
	struct device_pools *pools = &pools_of[device];
	struct shim_pool_props props = {
		.type = CU_ALLOC_MANAGED,
		.location_type = CU_LOCATION_DEVICE,
		.location_id = device,
	};
	cu_result result = CU_OK;

	if (!shim_settings.managed || !fact->managed || !real->cuMemPoolCreate)
		return NULL;
	pthread_mutex_lock(&pools_lock);
	if (!pools->tried) {
		pools->tried = true;
		result = real->cuMemPoolCreate(&pools->ours,
					       (const struct CUmemPoolProps_st *)&props);
		if (result == CU_OK)
			result = real->cuDeviceSetMemPool(device, pools->ours);
		if (result != CU_OK) {
			pools->ours = NULL;
			shim_log("GPU %d: no pool of managed memory (error %u): stream-ordered "
				 "memory stays device memory, and is counted",
				 device, result);
		}
	}
	pthread_mutex_unlock(&pools_lock);
	return pools->ours;
}

SHIM_EXPORT cu_result cuDeviceGetDefaultMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	const struct shim_real *real = shim_real();
	struct CUmemPoolHandle_st *ours = NULL;

	if (!real)
		return CU_NOT_INITIALIZED;
	if (pool && device >= 0 && device < SHIM_DEVICES)
		ours = managed_pool(real, device);
	if (!ours)
		return real->cuDeviceGetDefaultMemPool(pool, device);
	*pool = ours;
	return CU_OK;
}

/*
 * The pool that the application chooses takes the place of ours, and not the other way round.
 */
SHIM_EXPORT cu_result cuDeviceSetMemPool(int device, struct CUmemPoolHandle_st *pool)
{
	const struct shim_real *real = shim_real();
	cu_result result;

	if (!real || !real->cuDeviceSetMemPool)
		return CU_NOT_INITIALIZED;
	if (device < 0 || device >= SHIM_DEVICES)
		return real->cuDeviceSetMemPool(device, pool);
	managed_pool(real, device);
	result = real->cuDeviceSetMemPool(device, pool);
	if (result == CU_OK) {
		pthread_mutex_lock(&pools_lock);
		pools_of[device].chosen = pool;
		pthread_mutex_unlock(&pools_lock);
	}
	return result;
}

/* CUDA 13 has the same calls for a location. Does this one mean device memory? */
static bool means_device(const struct CUmemLocation_st *location, unsigned int type)
{
	const struct shim_location *at = (const struct shim_location *)location;

	return at && at->type == CU_LOCATION_DEVICE && type == CU_ALLOC_PINNED;
}

SHIM_EXPORT cu_result cuMemGetDefaultMemPool(struct CUmemPoolHandle_st **pool,
					     struct CUmemLocation_st *location,
					     unsigned int type)
{
	const struct shim_real *real = shim_real();

	if (!real || !real->cuMemGetDefaultMemPool)
		return CU_NOT_INITIALIZED;
	if (means_device(location, type))
		return cuDeviceGetDefaultMemPool(pool, ((struct shim_location *)location)->id);
	return real->cuMemGetDefaultMemPool(pool, location, type);
}

SHIM_EXPORT cu_result cuMemSetMemPool(struct CUmemLocation_st *location, unsigned int type,
				      struct CUmemPoolHandle_st *pool)
{
	const struct shim_real *real = shim_real();

	if (!real || !real->cuMemSetMemPool)
		return CU_NOT_INITIALIZED;
	if (means_device(location, type))
		return cuDeviceSetMemPool(((struct shim_location *)location)->id, pool);
	return real->cuMemSetMemPool(location, type, pool);
}

/*
 * Pools of managed memory that the application asked for itself: it knows what they are. A
 * handle that the driver gives again is entered anew or taken out.
 */
static void note_pool(struct CUmemPoolHandle_st *pool, bool asked_managed)
{
	struct asked_pool **link = &asked_pools;

	pthread_mutex_lock(&pools_lock);
	while (*link && (*link)->pool != pool)
		link = &(*link)->next;
	if (asked_managed && !*link) {
		*link = calloc(1, sizeof(**link));
		if (*link)
			(*link)->pool = pool;
	} else if (!asked_managed && *link) {
		struct asked_pool *gone = *link;

		*link = gone->next;
		free(gone);
	}
	pthread_mutex_unlock(&pools_lock);
}

/* @pool NULL: the device's current one. */
static enum shim_kind kind_of_pool(int device, struct CUmemPoolHandle_st *pool)
{
	struct asked_pool *asked;

	pthread_mutex_lock(&pools_lock);
	pool = pool ? pool : pools_of[device].chosen;
	for (asked = asked_pools; asked && asked->pool != pool;)
		asked = asked->next;
	pthread_mutex_unlock(&pools_lock);
	return asked ? SHIM_MANAGED : SHIM_POOL;
}

/* A pool that is not to be exported may be of managed memory. */
static cu_result create_pool(const struct shim_real *real, struct CUmemPoolHandle_st **pool,
			     const struct CUmemPoolProps_st *props)
{
	const struct shim_pool_props *wanted = (const struct shim_pool_props *)props;
	struct shim_pool_props ours;

	if (!props || wanted->type != CU_ALLOC_PINNED || wanted->handle_types ||
	    wanted->location_type != CU_LOCATION_DEVICE || wanted->location_id < 0 ||
	    wanted->location_id >= SHIM_DEVICES || !managed_pool(real, wanted->location_id))
		return real->cuMemPoolCreate(pool, props);
	ours = *wanted;
	ours.type = CU_ALLOC_MANAGED;
	if (real->cuMemPoolCreate(pool, (const struct CUmemPoolProps_st *)&ours) == CU_OK)
		return CU_OK;
	return real->cuMemPoolCreate(pool, props);
}

SHIM_EXPORT cu_result cuMemPoolCreate(struct CUmemPoolHandle_st **pool,
				      const struct CUmemPoolProps_st *props)
{
	const struct shim_real *real = shim_real();
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	result = create_pool(real, pool, props);
	if (result == CU_OK)
		note_pool(*pool,
			  ((const struct shim_pool_props *)props)->type == CU_ALLOC_MANAGED);
	return result;
}

enum pool_call { FROM_CURRENT, FROM_CURRENT_PTSZ, FROM_POOL, FROM_POOL_PTSZ };

static cu_result pool_allocate(enum pool_call call, cu_ptr *ptr, size_t bytes,
			       struct CUmemPoolHandle_st *pool, struct CUstream_st *stream)
{
	const struct shim_real *real = shim_real();
	struct shim_allocation made = { .bytes = bytes, .kind = SHIM_POOL };
	const struct memory_facts *fact = NULL;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	if (shim_settings.fence != SHIM_NO_FENCE)
		return streams_capturing(stream) ? memory_not_fenced("cuMemAllocAsync") :
						   memory_allocate(ptr, bytes);
	/* Captured, it is a node of a graph, which has memory of its own. */
	if (ptr && bytes && memory_current(real, &made.device, &made.context) &&
	    !streams_capturing(stream)) {
		managed_pool(real, made.device);
		made.kind = kind_of_pool(made.device, pool);
		fact = memory_facts_of(real, made.device);
		if (!books_charge(made.device, bytes, fact->total)) {
			memory_refused(made.device, bytes, fact->total);
			return CU_OUT_OF_MEMORY;
		}
	}
	switch (call) {
	case FROM_CURRENT:
		result = real->cuMemAllocAsync(ptr, bytes, stream);
		break;
	case FROM_CURRENT_PTSZ:
		result = real->cuMemAllocAsync_ptsz(ptr, bytes, stream);
		break;
	case FROM_POOL:
		result = real->cuMemAllocFromPoolAsync(ptr, bytes, pool, stream);
		break;
	default:
		result = real->cuMemAllocFromPoolAsync_ptsz(ptr, bytes, pool, stream);
		break;
	}
	if (!fact)
		return result;
	if (result != CU_OK) {
		books_uncharge(made.device, bytes);
		return result;
	}
	made.ptr = *ptr;
	books_add(&made);
	streams_note_device(made.device);
	shim_wake_if_idle();
	return CU_OK;
}

SHIM_EXPORT cu_result cuMemAllocAsync(cu_ptr *ptr, size_t bytes, struct CUstream_st *stream)
{
	return pool_allocate(FROM_CURRENT, ptr, bytes, NULL, stream);
}

SHIM_EXPORT cu_result cuMemAllocAsync_ptsz(cu_ptr *ptr, size_t bytes,
					   struct CUstream_st *stream)
{
	return pool_allocate(FROM_CURRENT_PTSZ, ptr, bytes, NULL,
			     stream ? stream : CU_PER_THREAD);
}

SHIM_EXPORT cu_result cuMemAllocFromPoolAsync(cu_ptr *ptr, size_t bytes,
					      struct CUmemPoolHandle_st *pool,
					      struct CUstream_st *stream)
{
	return pool_allocate(FROM_POOL, ptr, bytes, pool, stream);
}

SHIM_EXPORT cu_result cuMemAllocFromPoolAsync_ptsz(cu_ptr *ptr, size_t bytes,
						   struct CUmemPoolHandle_st *pool,
						   struct CUstream_st *stream)
{
	return pool_allocate(FROM_POOL_PTSZ, ptr, bytes, pool, stream ? stream : CU_PER_THREAD);
}

/* Also for memory of cuMemAlloc(): what the driver says to that is passed on. */
static cu_result free_ordered(cu_ptr ptr, struct CUstream_st *stream)
{
	if (!partition_holds(ptr))
		return shim_real()->cuMemFreeAsync(ptr, stream);
	shim_real()->cuStreamSynchronize(stream);
	return partition_free(ptr) ? CU_OK : CU_INVALID_VALUE;
}

SHIM_EXPORT cu_result cuMemFreeAsync(cu_ptr ptr, struct CUstream_st *stream)
{
	if (!shim_real())
		return CU_NOT_INITIALIZED;
	if (streams_capturing(stream))
		return free_ordered(ptr, stream);
	return memory_free(ptr, free_ordered, stream);
}

SHIM_EXPORT cu_result cuMemFreeAsync_ptsz(cu_ptr ptr, struct CUstream_st *stream)
{
	return cuMemFreeAsync(ptr, stream ? stream : CU_PER_THREAD);
}

void pools_reset(void)
{
	pthread_mutex_init(&pools_lock, NULL);
	memset(pools_of, 0, sizeof(pools_of));
}
