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

/* Under pools_lock. */
struct device_pools {
	struct CUmemPoolHandle_st *ours; /* of managed memory; NULL: none */
	bool tried;
	struct CUmemPoolHandle_st *chosen; /* the application's; NULL: none */
};

/* A pool that the application made. */
struct known_pool {
	struct CUmemPoolHandle_st *pool;
	int device;	 /* -1: its memory is the host's */
	bool managed;	 /* as the application asked for */
	bool redirected; /* managed, and the application does not know */
	struct known_pool *next;
};

static struct device_pools pools_of[SHIM_DEVICES];
static struct known_pool *known_pools;
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

static bool valid(int device)
{
	return device >= 0 && device < SHIM_DEVICES;
}

/*
 * Our pool of managed memory, which is the device's default pool for the application. NULL:
 * this driver has none; the driver's pool stays.
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
	unsigned int mode;
	cu_result result;

	if (!shim_settings.managed || !fact->managed || !real->cuMemPoolCreate)
		return NULL;
	pthread_mutex_lock(&pools_lock);
	if (!pools->tried) {
		pools->tried = true;
		mode = streams_relax(real); /* the application did not ask for it */
		result = real->cuMemPoolCreate(&pools->ours,
					       (const struct CUmemPoolProps_st *)&props);
		streams_strict(real, mode);
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

/* The pool that the application has chosen for a device; NULL: none. */
static struct CUmemPoolHandle_st *chosen_pool(int device)
{
	struct CUmemPoolHandle_st *chosen;

	pthread_mutex_lock(&pools_lock);
	chosen = pools_of[device].chosen;
	pthread_mutex_unlock(&pools_lock);
	return chosen;
}

/* Under pools_lock. NULL: not known, as a driver's own one. */
static const struct known_pool *find_pool_locked(const struct CUmemPoolHandle_st *pool)
{
	const struct known_pool *known = known_pools;

	while (known && known->pool != pool)
		known = known->next;
	return known;
}

/* Is its memory managed, and the application does not know? */
static bool is_redirected(const struct CUmemPoolHandle_st *pool)
{
	const struct known_pool *known;
	bool redirected;

	pthread_mutex_lock(&pools_lock);
	known = find_pool_locked(pool);
	redirected = known && known->redirected;
	pthread_mutex_unlock(&pools_lock);
	return redirected;
}

/* The driver is asked first, since it does not answer in each state of a process. */

SHIM_EXPORT cu_result cuDeviceGetDefaultMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	const struct shim_real *real = shim_real();
	struct CUmemPoolHandle_st *ours;
	cu_result result;

	if (!real || !real->cuDeviceGetDefaultMemPool)
		return CU_NOT_INITIALIZED;
	result = real->cuDeviceGetDefaultMemPool(pool, device);
	if (result != CU_OK || !pool || !valid(device))
		return result;
	ours = managed_pool(real, device);
	if (ours)
		*pool = ours;
	return CU_OK;
}

SHIM_EXPORT cu_result cuDeviceGetMemPool(struct CUmemPoolHandle_st **pool, int device)
{
	const struct shim_real *real = shim_real();
	struct CUmemPoolHandle_st *ours;
	cu_result result;

	if (!real || !real->cuDeviceGetMemPool)
		return CU_NOT_INITIALIZED;
	result = real->cuDeviceGetMemPool(pool, device);
	if (result != CU_OK || !pool || !valid(device))
		return result;
	ours = chosen_pool(device);
	if (!ours)
		ours = managed_pool(real, device);
	if (ours)
		*pool = ours;
	return CU_OK;
}

/*
 * May the application choose a pool now? The driver refuses that in a capture, say, and breaks the
 * capture. It is given the current pool again.
 */
static cu_result may_choose(const struct shim_real *real, int device)
{
	struct CUmemPoolHandle_st *current = NULL;
	cu_result result;

	if (!real->cuDeviceGetMemPool)
		return CU_OK;
	result = real->cuDeviceGetMemPool(&current, device);
	return result == CU_OK ? real->cuDeviceSetMemPool(device, current) : result;
}

/*
 * The driver takes a pool of managed memory, says that all is well, and leaves the current pool
 * as it was (580.159 on an H200). So pools of ours are not given to it: memory is asked from
 * them by their handle. Of any other pool the driver says whether it is the current one.
 */
static cu_result choose(const struct shim_real *real, int device,
			struct CUmemPoolHandle_st *pool, struct CUmemPoolHandle_st **ret_chosen)
{
	bool redirected = is_redirected(pool);
	struct CUmemPoolHandle_st *current = NULL;
	cu_result result;

	if (redirected || pool == managed_pool(real, device)) {
		result = may_choose(real, device);
		if (result == CU_OK)
			*ret_chosen = redirected ? pool : NULL;
		return result;
	}
	result = real->cuDeviceSetMemPool(device, pool);
	if (result == CU_OK && real->cuDeviceGetMemPool &&
	    real->cuDeviceGetMemPool(&current, device) == CU_OK && current == pool)
		*ret_chosen = pool;
	return result;
}

SHIM_EXPORT cu_result cuDeviceSetMemPool(int device, struct CUmemPoolHandle_st *pool)
{
	const struct shim_real *real = shim_real();
	struct CUmemPoolHandle_st *chosen;
	cu_result result;

	if (!real || !real->cuDeviceSetMemPool)
		return CU_NOT_INITIALIZED;
	if (!pool || !valid(device))
		return real->cuDeviceSetMemPool(device, pool);
	chosen = chosen_pool(device);
	result = choose(real, device, pool, &chosen);
	pthread_mutex_lock(&pools_lock);
	pools_of[device].chosen = chosen;
	pthread_mutex_unlock(&pools_lock);
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

SHIM_EXPORT cu_result cuMemGetMemPool(struct CUmemPoolHandle_st **pool,
				      struct CUmemLocation_st *location, unsigned int type)
{
	const struct shim_real *real = shim_real();

	if (!real || !real->cuMemGetMemPool)
		return CU_NOT_INITIALIZED;
	if (means_device(location, type))
		return cuDeviceGetMemPool(pool, ((struct shim_location *)location)->id);
	return real->cuMemGetMemPool(pool, location, type);
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

/* Take a pool out. Under pools_lock. */
static void forget_pool_locked(const struct CUmemPoolHandle_st *pool)
{
	struct known_pool **link = &known_pools, *gone;

	while (*link && (*link)->pool != pool)
		link = &(*link)->next;
	gone = *link;
	if (!gone)
		return;
	*link = gone->next;
	free(gone);
}

/* Enter a pool by what the application asked for. A handle may be one that was given before. */
static void note_pool(struct CUmemPoolHandle_st *pool, const struct shim_pool_props *asked,
		      bool redirected)
{
	struct known_pool *known = calloc(1, sizeof(*known));
	bool host =
		asked->type == CU_ALLOC_PINNED && asked->location_type != CU_LOCATION_DEVICE;

	pthread_mutex_lock(&pools_lock);
	forget_pool_locked(pool);
	if (known) {
		*known = (struct known_pool){ pool, host ? -1 : asked->location_id,
					      asked->type == CU_ALLOC_MANAGED, redirected,
					      known_pools };
		known_pools = known;
	}
	pthread_mutex_unlock(&pools_lock);
}

/*
 * Whose memory an allocation would be: sets its device, which is the current one's so far, and
 * its kind. @pool NULL: the device's own. False: it is the host's memory.
 */
static bool set_owner(struct shim_allocation *made, const struct CUmemPoolHandle_st *pool)
{
	const struct known_pool *known;
	bool gpu = true;

	pthread_mutex_lock(&pools_lock);
	known = find_pool_locked(pool);
	if (known) {
		gpu = known->device >= 0;
		made->kind = known->managed ? SHIM_MANAGED : SHIM_POOL;
		/* Managed memory may have a place on the host. */
		if (valid(known->device) && !known->managed)
			made->device = known->device;
	}
	pthread_mutex_unlock(&pools_lock);
	return gpu;
}

/* May a pool be of managed memory, if the application asked for this one? */
static bool may_be_managed(const struct shim_real *real, const struct shim_pool_props *asked)
{
	return asked->type == CU_ALLOC_PINNED && !asked->handle_types &&
	       asked->location_type == CU_LOCATION_DEVICE && valid(asked->location_id) &&
	       managed_pool(real, asked->location_id);
}

SHIM_EXPORT cu_result cuMemPoolCreate(struct CUmemPoolHandle_st **pool,
				      const struct CUmemPoolProps_st *props)
{
	const struct shim_real *real = shim_real();
	const struct shim_pool_props *asked = (const struct shim_pool_props *)props;
	bool redirected = false;
	cu_result result = CU_OK;

	if (!real || !real->cuMemPoolCreate)
		return CU_NOT_INITIALIZED;
	if (pool && asked && may_be_managed(real, asked)) {
		struct shim_pool_props managed = *asked;

		managed.type = CU_ALLOC_MANAGED;
		redirected = real->cuMemPoolCreate(
				     pool, (const struct CUmemPoolProps_st *)&managed) == CU_OK;
	}
	if (!redirected)
		result = real->cuMemPoolCreate(pool, props);
	if (result == CU_OK)
		note_pool(*pool, asked, redirected);
	return result;
}

/* A device whose current pool goes has its default one again. That cannot be destroyed. */
SHIM_EXPORT cu_result cuMemPoolDestroy(struct CUmemPoolHandle_st *pool)
{
	const struct shim_real *real = shim_real();
	cu_result result = CU_OK;

	if (!real || !real->cuMemPoolDestroy)
		return CU_NOT_INITIALIZED;
	pthread_mutex_lock(&pools_lock);
	for (int i = 0; pool && i < SHIM_DEVICES; i++)
		if (pools_of[i].ours == pool)
			result = CU_INVALID_VALUE;
	/* Under the lock: once it is destroyed, another thread may get the same handle. */
	if (result == CU_OK)
		result = real->cuMemPoolDestroy(pool);
	if (result == CU_OK)
		forget_pool_locked(pool);
	for (int i = 0; result == CU_OK && i < SHIM_DEVICES; i++)
		if (pools_of[i].chosen == pool)
			pools_of[i].chosen = NULL;
	pthread_mutex_unlock(&pools_lock);
	return result;
}

/* The driver's call. @pool NULL: of the device's current pool. */
static cu_result call_driver(const struct shim_real *real, cu_ptr *ptr, size_t bytes,
			     struct CUmemPoolHandle_st *pool, struct CUstream_st *stream,
			     bool per_thread)
{
	if (pool && per_thread)
		return real->cuMemAllocFromPoolAsync_ptsz(ptr, bytes, pool, stream);
	if (pool)
		return real->cuMemAllocFromPoolAsync(ptr, bytes, pool, stream);
	return per_thread ? real->cuMemAllocAsync_ptsz(ptr, bytes, stream) :
			    real->cuMemAllocAsync(ptr, bytes, stream);
}

/*
 * @pool NULL: of the device's current pool. Memory of a pool is no context's, and outlives it.
 */
static cu_result pool_allocate(cu_ptr *ptr, size_t bytes, struct CUmemPoolHandle_st *pool,
			       struct CUstream_st *stream, bool per_thread)
{
	const struct shim_real *real = shim_real();
	struct CUstream_st *meant = per_thread && !stream ? CU_PER_THREAD : stream;
	struct shim_allocation made = { .bytes = bytes, .kind = SHIM_POOL };
	struct CUmemPoolHandle_st *from = pool;
	struct CUctx_st *context;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	if (shim_settings.fence != SHIM_NO_FENCE)
		return streams_capturing(meant) ? memory_not_fenced("cuMemAllocAsync") :
						  memory_allocate(ptr, bytes);
	/* Captured, it is a node of a graph, which has memory of its own. */
	if (!ptr || !bytes || !memory_current(real, &made.device, &context) ||
	    streams_capturing(meant))
		return call_driver(real, ptr, bytes, pool, stream, per_thread);
	if (!from) {
		from = chosen_pool(made.device);
		if (!from || is_redirected(from))
			pool = from ? from : managed_pool(real, made.device);
	}
	if (!set_owner(&made, from))
		return call_driver(real, ptr, bytes, pool, stream, per_thread);
	if (!memory_charge(made.device, made.kind, bytes,
			   memory_facts_of(real, made.device)->total))
		return CU_OUT_OF_MEMORY;
	result = call_driver(real, ptr, bytes, pool, stream, per_thread);
	if (result != CU_OK) {
		books_uncharge(made.device, made.kind, bytes);
		return result;
	}
	memory_made(&made, *ptr);
	return CU_OK;
}

SHIM_EXPORT cu_result cuMemAllocAsync(cu_ptr *ptr, size_t bytes, struct CUstream_st *stream)
{
	return pool_allocate(ptr, bytes, NULL, stream, false);
}

SHIM_EXPORT cu_result cuMemAllocAsync_ptsz(cu_ptr *ptr, size_t bytes,
					   struct CUstream_st *stream)
{
	return pool_allocate(ptr, bytes, NULL, stream, true);
}

/* Of no pool: the driver says what is wrong. */
static cu_result from_pool(cu_ptr *ptr, size_t bytes, struct CUmemPoolHandle_st *pool,
			   struct CUstream_st *stream, bool per_thread)
{
	const struct shim_real *real = shim_real();

	if (pool || !real)
		return pool_allocate(ptr, bytes, pool, stream, per_thread);
	return per_thread ? real->cuMemAllocFromPoolAsync_ptsz(ptr, bytes, NULL, stream) :
			    real->cuMemAllocFromPoolAsync(ptr, bytes, NULL, stream);
}

SHIM_EXPORT cu_result cuMemAllocFromPoolAsync(cu_ptr *ptr, size_t bytes,
					      struct CUmemPoolHandle_st *pool,
					      struct CUstream_st *stream)
{
	return from_pool(ptr, bytes, pool, stream, false);
}

SHIM_EXPORT cu_result cuMemAllocFromPoolAsync_ptsz(cu_ptr *ptr, size_t bytes,
						   struct CUmemPoolHandle_st *pool,
						   struct CUstream_st *stream)
{
	return from_pool(ptr, bytes, pool, stream, true);
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
	known_pools = NULL; /* the parent's: a handle of the child may have the same number */
}
