// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Device memory becomes managed memory, so that the driver can move it (Ghost 4.2, GVM 4.3),
 * and is charged to the container.
 *
 * Redirected: cuMemAlloc(), cuMemAllocPitch(), and stream-ordered memory (pools.c). What the
 * application hears of its pointers is in pointers.c.
 *
 * Counted, and otherwise left as it is: memory of cuMemCreate() (vmm.c), and arrays (arrays.c).
 * Not touched: pinned host memory, memory of other processes, graphics, and memory nodes of
 * graphs.
 */
#include <pthread.h>
#include <string.h>

#include "fence.h"

#define PITCH 512u

static struct memory_facts facts[SHIM_DEVICES];
static pthread_mutex_t facts_lock = PTHREAD_MUTEX_INITIALIZER;

/* The device and context that an allocation would be of. False: there is no context. */
bool memory_current(const struct shim_real *real, int *ret_device,
		    struct CUctx_st **ret_context)
{
	return real->cuCtxGetCurrent(ret_context) == CU_OK && *ret_context &&
	       real->cuCtxGetDevice(ret_device) == CU_OK && *ret_device >= 0 &&
	       *ret_device < SHIM_DEVICES;
}

const struct memory_facts *memory_facts_of(const struct shim_real *real, int device)
{
	struct memory_facts *fact = &facts[device];
	int managed = 0;
	int concurrent = 0;
	size_t total = 0;

	pthread_mutex_lock(&facts_lock);
	if (!fact->known) {
		fact->known = real->cuDeviceGetAttribute(&managed, CU_DEVICE_MANAGED, device) ==
				      CU_OK &&
			      real->cuDeviceGetAttribute(&concurrent, CU_DEVICE_CONCURRENT,
							 device) == CU_OK &&
			      real->cuDeviceTotalMem_v2(&total, device) == CU_OK;
		fact->managed = managed && concurrent;
		fact->total = total;
		if (fact->known && shim_settings.managed && !fact->managed)
			shim_warn("GPU %d cannot fault on managed memory: its memory stays "
				  "where it is, and is counted",
				  device);
	}
	pthread_mutex_unlock(&facts_lock);
	return fact;
}

void memory_reset(void)
{
	pthread_mutex_init(&facts_lock, NULL);
}

bool memory_charge(int device, enum shim_kind kind, u64 bytes, u64 total)
{
	if (books_charge(device, kind, bytes, total))
		return true;
	shim_log("GPU %d: %llu bytes are refused: %llu of %llu are in use", device, bytes,
		 books_used_all(device), books_limit(device, total));
	return false;
}

/*
 * Where new managed memory is to be. Failure does no harm: its first touch brings it to the
 * GPU. A stream of our own, so that no stream of the application waits.
 */
static void place(const struct shim_real *real, cu_ptr ptr, u64 bytes, u64 range, int device)
{
	struct CUstream_st *stream;

	if (shim_settings.place == SHIM_PLACE_NONE || !real->cuMemAdvise)
		return;
	/* All of its range: advice for a part of it would cut it in two in the kernel. */
	real->cuMemAdvise(ptr, range ? range : bytes, CU_ADVISE_LOCATION, device);
	/* A prefetch may break a capture. */
	if (shim_settings.place != SHIM_PLACE_PREFETCH || !real->cuMemPrefetchAsync ||
	    streams_any_capture())
		return;
	if (real->cuStreamCreate(&stream, CU_STREAM_NONBLOCKING) != CU_OK)
		return;
	real->cuMemPrefetchAsync(ptr, bytes, device, stream);
	real->cuStreamSynchronize(stream);
	real->cuStreamDestroy_v2(stream);
}

cu_result memory_not_fenced(const char *call)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		shim_warn("%s: not with GVM_FENCE: this memory would lie outside of the "
			  "partition",
			  call);
	return CU_NOT_SUPPORTED;
}

void memory_made(struct shim_allocation *made, cu_ptr ptr)
{
	made->ptr = ptr;
	books_add(made);
	streams_note_device(made->device);
	shim_wake_if_idle();
}

/* Memory as the application asked for it: managed, or of the device. */
static cu_result allocate_as_asked(const struct shim_real *real, enum shim_kind kind,
				   int device, size_t bytes, unsigned int flags, cu_ptr *ptr)
{
	if (kind == SHIM_MANAGED)
		return real->cuMemAllocManaged(ptr, bytes, flags);
	if (shim_settings.fence != SHIM_NO_FENCE)
		return partition_alloc(real, device, bytes, ptr);
	return real->cuMemAlloc_v2(ptr, bytes);
}

/*
 * Managed memory in the place of device memory, in a range of its own where it may be exported
 * later (pinned.c). False: there is none, or it is not wanted.
 */
static bool redirect(const struct shim_real *real, struct shim_allocation *made, cu_ptr *ptr)
{
	u64 range = pinned_range(real, made->bytes);

	if (!shim_settings.managed || !memory_facts_of(real, made->device)->managed)
		return false;
	if (!range || real->cuMemAllocManaged(ptr, range, CU_MANAGED_GLOBAL) != CU_OK) {
		range = 0; /* addresses may be scarce */
		if (real->cuMemAllocManaged(ptr, made->bytes, CU_MANAGED_GLOBAL) != CU_OK)
			return false;
	}
	made->kind = SHIM_REDIRECTED;
	made->range_bytes = range;
	place(real, *ptr, made->bytes, range, made->device);
	return true;
}

/*
 * Allocate memory of a @kind, SHIM_DEVICE or SHIM_MANAGED, within the limit. In the place of
 * device memory it is managed where that can be. Both are freed by cuMemFree().
 */
static cu_result allocate(const struct shim_real *real, cu_ptr *ptr, size_t bytes,
			  enum shim_kind kind, unsigned int flags)
{
	struct shim_allocation made = { .bytes = bytes, .kind = kind };
	cu_result result = CU_OK;

	/* The driver says what is wrong. */
	if (!ptr || !bytes || !memory_current(real, &made.device, &made.context))
		return kind == SHIM_MANAGED ? real->cuMemAllocManaged(ptr, bytes, flags) :
					      real->cuMemAlloc_v2(ptr, bytes);
	if (shim_settings.fence != SHIM_NO_FENCE && kind == SHIM_MANAGED)
		return memory_not_fenced("cuMemAllocManaged");
	if (!memory_charge(made.device, kind, bytes, memory_facts_of(real, made.device)->total))
		return CU_OUT_OF_MEMORY;
	if (kind != SHIM_DEVICE || !redirect(real, &made, ptr))
		result = allocate_as_asked(real, kind, made.device, bytes, flags, ptr);
	if (result != CU_OK) {
		books_uncharge(made.device, kind, bytes);
		return result;
	}
	memory_made(&made, *ptr);
	return CU_OK;
}

cu_result memory_allocate(cu_ptr *ptr, size_t bytes)
{
	const struct shim_real *real = shim_real();

	return real ? allocate(real, ptr, bytes, SHIM_DEVICE, 0) : CU_NOT_INITIALIZED;
}

SHIM_EXPORT cu_result cuMemAlloc_v2(cu_ptr *ptr, size_t bytes)
{
	return memory_allocate(ptr, bytes);
}

SHIM_EXPORT cu_result cuMemAllocManaged(cu_ptr *ptr, size_t bytes, unsigned int flags)
{
	const struct shim_real *real = shim_real();

	return real ? allocate(real, ptr, bytes, SHIM_MANAGED, flags) : CU_NOT_INITIALIZED;
}

/* Rows of a multiple of 512 bytes, as the driver's are on every GPU since 2010. */
SHIM_EXPORT cu_result cuMemAllocPitch_v2(cu_ptr *ptr, size_t *pitch, size_t width,
					 size_t height, unsigned int element)
{
	const struct shim_real *real = shim_real();
	size_t row = (width + PITCH - 1) / PITCH * PITCH;
	size_t bytes;
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	if (!ptr || !pitch || !width || !height || row < width ||
	    __builtin_mul_overflow(row, height, &bytes) ||
	    (element != 4 && element != 8 && element != 16))
		return real->cuMemAllocPitch_v2(ptr, pitch, width, height, element);
	result = allocate(real, ptr, bytes, SHIM_DEVICE, 0);
	if (result == CU_OK)
		*pitch = row;
	return result;
}

static cu_result free_now(cu_ptr ptr, struct CUstream_st *stream)
{
	cu_result result;

	(void)stream;
	if (pinned_free(ptr, &result))
		return result;
	if (!partition_holds(ptr))
		return shim_real()->cuMemFree_v2(ptr);
	/* As cuMemFree() does: kernels may still use it. */
	shim_real()->cuCtxSynchronize();
	return partition_free(ptr) ? CU_OK : CU_INVALID_VALUE;
}

/* cuMemFree() of what @stream may still use. It breaks no capture of another stream. */
static cu_result free_behind(cu_ptr ptr, struct CUstream_st *stream)
{
	const struct shim_real *real = shim_real();
	unsigned int mode = streams_relax(real);
	cu_result result;

	real->cuStreamSynchronize(stream);
	result = free_now(ptr, stream);
	streams_strict(real, mode);
	return result;
}

/*
 * The books come first: once the driver has freed it, another thread may get the same address.
 * If the driver then refuses, the memory is still there and is entered again.
 *
 * cuMemFreeAsync() frees what cuMemAlloc() gave, but not the managed memory in its place, nor
 * what is pinned: that is freed after the stream's work.
 */
cu_result memory_free(cu_ptr ptr, cu_result (*call)(cu_ptr ptr, struct CUstream_st *stream),
		      struct CUstream_st *stream)
{
	struct shim_allocation freed;
	bool known = ptr && books_remove(ptr, &freed), pinned;
	cu_result result;

	if (known)
		cold_await(ptr);
	pinned = known && freed.kind == SHIM_EXPORTED;
	result = pinned ? CU_NOT_SUPPORTED : call(ptr, stream);
	if (pinned || (known && freed.kind == SHIM_REDIRECTED && result == CU_NOT_SUPPORTED &&
		       call != free_now))
		result = call == free_now ? free_now(ptr, stream) : free_behind(ptr, stream);
	if (known && result != CU_OK)
		books_restore(&freed);
	if (known)
		shim_wake_if_idle();
	return result;
}

SHIM_EXPORT cu_result cuMemFree_v2(cu_ptr ptr)
{
	return shim_real() ? memory_free(ptr, free_now, NULL) : CU_NOT_INITIALIZED;
}

/* What the application is told about memory. */

/*
 * Managed memory takes room on the GPU only once it is touched. So what is free is what the
 * application would find free if it had been given device memory.
 */
SHIM_EXPORT cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	const struct shim_real *real = shim_real();
	struct CUctx_st *context;
	u64 limit, left, used, whole;
	cu_result result;
	int device;

	if (!real)
		return CU_NOT_INITIALIZED;
	result = real->cuMemGetInfo_v2(free_bytes, total);
	if (result != CU_OK || !free_bytes || !total ||
	    !memory_current(real, &device, &context))
		return result;
	limit = books_limit(device, *total);
	used = books_used_all(device);
	if (!books_limit_given(device))
		used -= books_managed(device) < used ? books_managed(device) : used;
	if (limit < *total)
		*total = limit;
	if (shim_settings.fence != SHIM_NO_FENCE &&
	    partition_room(real, device, &whole, &used)) {
		*total = whole < *total ? whole : *total;
		*free_bytes = *total; /* all that is not in use is the partition's */
	}
	left = used < *total ? *total - used : 0;
	if (left < *free_bytes)
		*free_bytes = left;
	return CU_OK;
}

SHIM_EXPORT cu_result cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	const struct shim_real *real = shim_real();
	cu_result result;

	if (!real)
		return CU_NOT_INITIALIZED;
	result = real->cuDeviceTotalMem_v2(bytes, device);
	if (result == CU_OK && bytes && books_limit(device, *bytes) < *bytes)
		*bytes = books_limit(device, *bytes);
	return result;
}

bool memory_find(const struct shim_real *real, cu_ptr ptr, struct shim_allocation *ret_found)
{
	cu_ptr start = 0;

	if (!ptr)
		return false;
	if (books_find(ptr, ret_found))
		return true;
	return real->cuPointerGetAttribute(&start, CU_POINTER_START, ptr) == CU_OK && start &&
	       books_find(start, ret_found);
}
