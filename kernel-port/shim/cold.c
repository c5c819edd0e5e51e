// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * User-space limits: cold ranges live on the host
 * ===============================================
 *
 * Without a kernel module nothing decides what is evicted. But the application's memory is
 * managed, and CUDA lets a process say where its memory is to be. So a process keeps itself
 * within a share of the GPU: the allocations that it has not used for longest get the host as
 * their preferred location, and are copied there. A kernel that touches them reads and writes
 * them over the bus: slowly, and the page stays on the host, because the GPU can map it.
 *
 *     memory   |  A  |  B  |  C  |  D  |      GVM_RESIDENT = 2 of 4
 *     used at     9     1     8     2         B and D go to the host
 *
 * "Used" is what the shim sees: the allocation itself, and pointers in the arguments of one
 * launch out of LAUNCHES. Arguments are searched for addresses, eight bytes at a time, since an
 * argument may be a struct with pointers. Not seen: pointers that a kernel reads from memory,
 * launches of graphs, and copies.
 *
 * An allocation on the host comes back when there is room. If another one was last used SWAP_NS
 * earlier, that one makes room: one in ROUND_NS, so a working set above the share does not make
 * the bus busy with copies.
 *
 * A limit that is lowered below the use (gmem.limit.high) is such a share, too, after
 * GRACE_NS. Until then the application, which hears of it by a pressure event, may give
 * memory that it does not need.
 *
 * What cannot move counts all the same: device memory, pools and memory of
 * cuMemCreate(). If it alone is above the share, all the rest is on the host. This is
 * placement by whole allocations, and a wish: the driver may place pages elsewhere.
 * docs/shim.md says what it cannot promise.
 *
 * cold_lock is below books_lock. Under it a launch asks the driver for the arguments of
 * its kernel, which waits for nothing; no other call is made under it. move_lock is
 * above both: under it a piece of a range is moved. A free of that range, and the end
 * of any context, wait for the piece.
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

#define LAUNCHES   16u
#define ROUND_NS   (250 * SHIM_MS)
#define SWAP_NS	   (1000 * SHIM_MS)
#define GRACE_NS   (2000 * SHIM_MS)
#define PARAMETERS 64u
/* 3 ms on a link of 25 GB/s: the longest wait of a free, and of the process's end. */
#define PIECE_BYTES (64ull << 20)

/* An allocation that can move. */
struct cold_range {
	cu_ptr ptr;
	u64 bytes;
	u64 serial; /* of the allocation: an address can come again */
	struct CUctx_st *context;
	int device;
	bool host;
	_Atomic u64 used_ns; /* written by launches, too */
};

static struct cold_range *ranges; /* by address */
static size_t range_count;
static pthread_mutex_t cold_lock = PTHREAD_MUTEX_INITIALIZER;
/* Is any process above its share? Launches are looked at only then. */
static _Atomic bool looking;
static _Atomic u64 host_bytes[SHIM_DEVICES];
static u64 round_ns; /* of the worker's thread */
static pthread_mutex_t move_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic cu_ptr moving; /* the range of which a piece is moved; 0: none */

u64 cold_host_bytes(int device)
{
	return host_bytes[device];
}

/* The most bytes that may be on the GPU, by GVM_RESIDENT; SHIM_NO_LIMIT: all. */
static u64 resident_of(int device)
{
	u64 bytes = SHIM_NO_LIMIT;

	shim_size_of(&shim_settings.resident, device,
		     memory_facts_of(shim_real(), device)->total, &bytes);
	return bytes;
}

static u64 limit_of(int device)
{
	const struct memory_facts *fact = memory_facts_of(shim_real(), device);

	return fact->known ? books_limit(device, fact->total) : SHIM_NO_LIMIT;
}

static bool above_limit(int device)
{
	return books_limit_given(device) && books_used(device) > limit_of(device);
}

/* The same, with the limit, once the application has not given memory for GRACE_NS. */
static u64 share_of(int device, u64 now)
{
	static u64 above_since[SHIM_DEVICES];
	u64 share = resident_of(device);
	u64 limit = limit_of(device);

	if (!above_limit(device))
		above_since[device] = 0;
	else if (!above_since[device])
		above_since[device] = now;
	if (above_since[device] && now - above_since[device] >= GRACE_NS && limit < share)
		share = limit;
	return share;
}

bool cold_due(void)
{
	if (!shim_settings.managed)
		return false;
	if (looking)
		return true;
	for (int i = streams_next_device(-1); i >= 0; i = streams_next_device(i))
		if (books_used(i) > resident_of(i) || above_limit(i))
			return true;
	return false;
}

u64 cold_round_ns(void)
{
	return cold_due() ? ROUND_NS : 0;
}

static int by_address(const void *a, const void *b)
{
	const struct cold_range *left = a, *right = b;

	return left->ptr < right->ptr ? -1 : left->ptr > right->ptr;
}

/* The range with @ptr in it, or NULL. Under cold_lock. */
static struct cold_range *find_locked(cu_ptr ptr)
{
	size_t low = 0, high = range_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].ptr <= ptr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || ptr - ranges[low - 1].ptr >= ranges[low - 1].bytes)
		return NULL;
	return &ranges[low - 1];
}

/* Mark what an argument of @size bytes points to. */
static void touch_locked(const char *argument, size_t size, u64 now)
{
	for (size_t i = 0; i + sizeof(cu_ptr) <= size; i += sizeof(cu_ptr)) {
		struct cold_range *range;
		cu_ptr word;

		memcpy(&word, argument + i, sizeof(word));
		range = find_locked(word);
		if (range)
			range->used_ns = now;
	}
}

/* An argument of a kernel. False: it has no more. */
static bool argument_of(const struct shim_real *real, struct CUfunc_st *f, u32 index,
			size_t *ret_size)
{
	size_t offset;

	if (real->cuFuncGetParamInfo(f, index, &offset, ret_size) == CU_OK)
		return true;
	/* The CUDA runtime passes a CUkernel in the place of a function. */
	return real->cuKernelGetParamInfo &&
	       real->cuKernelGetParamInfo((struct CUkern_st *)f, index, &offset, ret_size) ==
		       CU_OK;
}

/* Arguments that are given one by one: the driver knows their sizes. */
static void touch_arguments_locked(const struct shim_real *real, struct CUfunc_st *f,
				   void **arguments, u64 now)
{
	size_t size;

	for (u32 i = 0; i < PARAMETERS && argument_of(real, f, i, &size); i++)
		touch_locked(arguments[i], size, now);
}

/* Arguments that are given as one buffer: pairs of a name and a value, up to a NULL. */
static void touch_buffer_locked(void **extra, u64 now)
{
	const char *buffer = NULL;
	size_t size = 0;

	for (; *extra; extra += 2) {
		if (*extra == CU_EXTRA_BUFFER)
			buffer = extra[1];
		else if (*extra == CU_EXTRA_SIZE)
			size = *(size_t *)extra[1];
	}
	if (buffer)
		touch_locked(buffer, size, now);
}

/*
 * Is this launch one of those that are looked at? By the golden ratio: a loop of kernels must
 * not meet the same one of them each time.
 */
static bool is_looked_at(void)
{
	static _Atomic u32 launches;

	return launches++ * 0x9e3779b9u <= UINT_MAX / LAUNCHES;
}

void cold_launched(struct CUfunc_st *f, void **parameters, void **extra)
{
	const struct shim_real *real;

	if (!looking || !is_looked_at() || pthread_mutex_trylock(&cold_lock))
		return;
	real = shim_real();
	if (parameters && real->cuFuncGetParamInfo)
		touch_arguments_locked(real, f, parameters, shim_now_ns());
	else if (extra)
		touch_buffer_locked(extra, shim_now_ns());
	pthread_mutex_unlock(&cold_lock);
}

struct cold_list {
	struct cold_range *ranges;
	size_t count, room;
	bool failed;
};

static void take_allocation(void *data, const struct shim_allocation *allocation)
{
	struct cold_list *list = data;
	struct cold_range *more;

	if (allocation->kind != SHIM_REDIRECTED || list->failed)
		return;
	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 256;
		more = reallocarray(list->ranges, list->room, sizeof(*more));
		if (!more) {
			list->failed = true;
			return;
		}
		list->ranges = more;
	}
	list->ranges[list->count++] = (struct cold_range){
		.ptr = allocation->ptr,
		.bytes = allocation->bytes,
		.serial = allocation->serial,
		.context = allocation->context,
		.device = allocation->device,
	};
}

/* Take the present allocations, with what is known of them from before. */
static bool refresh(u64 now)
{
	struct cold_list list = { 0 };
	struct cold_range *old;

	books_each(take_allocation, &list);
	if (list.failed) {
		free(list.ranges);
		return false;
	}
	if (list.count)
		qsort(list.ranges, list.count, sizeof(*list.ranges), by_address);
	pthread_mutex_lock(&cold_lock);
	for (size_t i = 0; i < list.count; i++) {
		struct cold_range *range = &list.ranges[i];

		old = find_locked(range->ptr);
		if (old && old->ptr == range->ptr && old->serial == range->serial) {
			range->host = old->host;
			range->used_ns = old->used_ns;
		} else {
			range->used_ns = now;
		}
	}
	old = ranges;
	ranges = list.ranges;
	range_count = list.count;
	pthread_mutex_unlock(&cold_lock);
	free(old);
	return true;
}

/*
 * Of the ranges on the host, or not, of at most @most bytes: the one that was used last, or the
 * longest ago. Among those that are used alike, such as never, the first to be allocated counts
 * as used last. The worker alone changes the list, so it may look without the lock. Launches
 * change dates of use meanwhile.
 */
static struct cold_range *choose(int device, bool host, bool last, u64 most)
{
	struct cold_range *best = NULL;

	for (size_t i = 0; i < range_count; i++) {
		struct cold_range *range = &ranges[i];
		bool later;

		if (range->device != device || range->host != host || range->bytes > most)
			continue;
		later = best &&
			(range->used_ns == best->used_ns ? range->serial < best->serial :
							   range->used_ns > best->used_ns);
		if (!best || later == last)
			best = range;
	}
	return best;
}

/*
 * Move what begins at @offset of a range, PIECE_BYTES at most. False: it has been freed, or is
 * pinned by now. A free takes the range out of the books before it looks at @moving, and here it
 * is the other way round: one of the two sees the other.
 */
static bool move_piece(const struct shim_real *real, const struct cold_range *range, int where,
		       u64 offset)
{
	u64 bytes = range->bytes - offset < PIECE_BYTES ? range->bytes - offset : PIECE_BYTES;
	struct shim_allocation found;
	struct CUstream_st *stream;
	struct CUctx_st *popped;
	bool there;

	pthread_mutex_lock(&move_lock);
	moving = range->ptr;
	there = books_find(range->ptr, &found) && found.serial == range->serial &&
		found.kind == SHIM_REDIRECTED;
	if (there && real->cuCtxPushCurrent_v2(range->context) == CU_OK) {
		if (!offset)
			real->cuMemAdvise(range->ptr, range->bytes, CU_ADVISE_LOCATION, where);
		if (real->cuStreamCreate(&stream, CU_STREAM_NONBLOCKING) == CU_OK) {
			real->cuMemPrefetchAsync(range->ptr + offset, bytes, where, stream);
			real->cuStreamSynchronize(stream);
			real->cuStreamDestroy_v2(stream);
		}
		real->cuCtxPopCurrent_v2(&popped);
	}
	moving = 0;
	pthread_mutex_unlock(&move_lock);
	return there;
}

static void move(const struct shim_real *real, struct cold_range *range, bool host)
{
	range->host = host;
	if (host)
		host_bytes[range->device] += range->bytes;
	else
		host_bytes[range->device] -= range->bytes;
	for (u64 offset = 0; offset < range->bytes; offset += PIECE_BYTES)
		if (shim_closing() ||
		    !move_piece(real, range, host ? CU_DEVICE_CPU : range->device, offset))
			return;
	shim_log("GPU %d: %llu bytes go to the %s", range->device, range->bytes,
		 host ? "host" : "GPU");
}

void cold_await(cu_ptr ptr)
{
	if (!ptr || moving != ptr)
		return;
	pthread_mutex_lock(&move_lock);
	pthread_mutex_unlock(&move_lock);
}

void cold_stop(void)
{
	pthread_mutex_lock(&move_lock);
}

void cold_go_on(void)
{
	pthread_mutex_unlock(&move_lock);
}

/* @bytes without those of @range. Some may have been freed since they were counted. */
static u64 without(u64 bytes, const struct cold_range *range)
{
	return bytes > range->bytes ? bytes - range->bytes : 0;
}

/*
 * Bring the range that was used last, if ranges that have been cold for longer can
 * make room for it. Launches go on meanwhile: a range that is used again is not
 * cold, and ends the exchange.
 */
static void exchange(const struct shim_real *real, int device, u64 share, u64 on_gpu)
{
	struct cold_range *hot = choose(device, true, true, share), *cold;
	u64 room = share - on_gpu, used_ns;

	if (!hot)
		return;
	used_ns = hot->used_ns;
	for (size_t i = 0; i < range_count; i++)
		if (ranges[i].device == device && !ranges[i].host &&
		    ranges[i].used_ns + SWAP_NS < used_ns)
			room += ranges[i].bytes;
	if (room < hot->bytes)
		return;
	while (hot->bytes > share - on_gpu) {
		cold = choose(device, false, false, SHIM_NO_LIMIT);
		if (!cold || cold->used_ns + SWAP_NS >= used_ns || shim_closing())
			return;
		move(real, cold, true);
		on_gpu = without(on_gpu, cold);
	}
	move(real, hot, false);
}

static void balance(const struct shim_real *real, int device, u64 now)
{
	u64 share = share_of(device, now), used = books_used(device), on_host = 0, on_gpu;
	struct cold_range *cold, *hot;

	for (size_t i = 0; i < range_count; i++)
		if (ranges[i].device == device && ranges[i].host)
			on_host += ranges[i].bytes;
	host_bytes[device] = on_host;
	on_gpu = used > on_host ? used - on_host : 0;
	while (on_gpu > share && !shim_closing() &&
	       (cold = choose(device, false, false, SHIM_NO_LIMIT))) {
		move(real, cold, true);
		on_gpu = without(on_gpu, cold);
	}
	if (on_gpu > share)
		return;
	while (!shim_closing() && (hot = choose(device, true, true, share - on_gpu))) {
		move(real, hot, false);
		on_gpu += hot->bytes;
	}
	exchange(real, device, share, on_gpu);
}

void cold_apply(const struct shim_real *real)
{
	u64 now = shim_now_ns();
	bool above = false;

	if (now - round_ns < ROUND_NS || !real->cuMemAdvise || !real->cuMemPrefetchAsync)
		return;
	round_ns = now;
	if (!refresh(now))
		return;
	for (int i = streams_next_device(-1); i >= 0; i = streams_next_device(i)) {
		balance(real, i, now);
		above |= books_used(i) > resident_of(i) || above_limit(i) || host_bytes[i];
	}
	looking = above;
}

/* The child of a fork has none of its parent's memory. */
void cold_reset(void)
{
	pthread_mutex_init(&cold_lock, NULL);
	pthread_mutex_init(&move_lock, NULL);
	moving = 0;
	free(ranges);
	ranges = NULL;
	range_count = 0;
	looking = false;
	memset((void *)host_bytes, 0, sizeof(host_bytes));
}
