// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Launches by stream, and how many have ended (GVM 4.4).
 *
 * A launch adds to its stream's count. At each look the worker records an event after what
 * was launched since the last one, and asks for earlier ones: when one has come, all before
 * it has ended (marks.c). So a burst is complete at its last event, however short, and a
 * launch costs an addition.
 *
 * The default stream of a thread means another stream in every thread. So the launching thread
 * records the events there, and the last one moves with each launch.
 *
 * Streams of a context and their counts stay in place until the process ends; a destroyed one
 * is used again for the next stream.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

#define STREAMS_MAX 4096

struct shim_stream {
	struct CUctx_st *context;
	struct CUstream_st *stream;
	pid_t thread; /* of a per-thread default stream, else 0 */
	int device;
	_Atomic u64 launched;
	_Atomic u64 ended;
	atomic_flag marks_busy; /* guards what follows */
	struct shim_marks marks;
	bool gone; /* destroyed: nothing more is recorded */
	bool used;
};

static struct shim_stream streams[STREAMS_MAX];
static _Atomic u32 stream_count;   /* places ever used */
static _Atomic u64 generation = 1; /* changes when a stream goes: caches are stale then */
static _Atomic u32 captures;
static _Atomic u32 disturbing;	/* calls under way that would break a capture */
static _Atomic u32 device_used; /* a bit for each */
static _Atomic u64
	lost_launched[SHIM_DEVICES]; /* of places that were used again; all have ended */
/* Odd while counts move to lost_launched: a reader starts over. */
static _Atomic u64 moves;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t poll_lock = PTHREAD_MUTEX_INITIALIZER; /* outer to streams_lock */

/*
 * Streams that this thread launched on lately, in sets by their handles. With one place for a
 * handle, two of eight streams often share it, and each launch on either searches all streams.
 */
#define RECENT_SETS 32
#define RECENT_WAYS 4
struct recent_stream {
	u64 generation;
	struct CUctx_st *context;
	struct CUstream_st *stream;
	struct shim_stream *entry;
};

static __thread struct recent_set {
	struct recent_stream ways[RECENT_WAYS];
	u32 next; /* the way that is replaced next */
} recent_sets[RECENT_SETS];

/*
 * Handles are addresses at equal distances, and their low bits are alike. So bits are mixed
 * first, with a factor of MurmurHash3. A product with the golden ratio alone puts ten of 32
 * handles that are 144 bytes apart into one set, as 144 is a Fibonacci number.
 */
static struct recent_set *recent_set_of(const struct CUstream_st *stream)
{
	u64 mixed = (uintptr_t)stream;

	mixed = (mixed ^ mixed >> 7) * 0xff51afd7ed558ccdull;
	return &recent_sets[(mixed ^ mixed >> 32) % RECENT_SETS];
}

/* NULL: it is not known, or may be another stream by now. */
static struct shim_stream *find_recent(const struct recent_set *set,
				       const struct CUctx_st *context,
				       const struct CUstream_st *stream)
{
	for (u32 i = 0; i < RECENT_WAYS; i++) {
		const struct recent_stream *way = &set->ways[i];

		if (way->stream == stream && way->context == context &&
		    way->generation == generation)
			return way->entry;
	}
	return NULL;
}

void streams_note_device(int device)
{
	if (device < 0 || device >= SHIM_DEVICES || device_used >> device & 1)
		return;
	report_know(device); /* first: others tell of each GPU that is used */
	atomic_fetch_or(&device_used, 1u << device);
}

int streams_next_device(int device)
{
	u32 used = device_used;

	for (device++; device < SHIM_DEVICES; device++)
		if (used >> device & 1)
			return device;
	return -1;
}

u32 streams_count(void)
{
	return stream_count;
}

static void lock_marks(struct shim_stream *entry)
{
	while (atomic_flag_test_and_set_explicit(&entry->marks_busy, memory_order_acquire))
		sched_yield();
}

static void unlock_marks(struct shim_stream *entry)
{
	atomic_flag_clear_explicit(&entry->marks_busy, memory_order_release);
}

/* The default stream of a thread is not destroyed by a call: it goes with the thread. */
static bool thread_has_ended(const struct shim_stream *entry)
{
	return entry->thread && syscall(SYS_tgkill, getpid(), entry->thread, 0) &&
	       errno == ESRCH;
}

static void empty_locked(struct shim_stream *entry)
{
	lock_marks(entry);
	marks_drop(shim_real(), &entry->marks, true);
	moves++;
	lost_launched[entry->device] += entry->launched;
	entry->launched = 0;
	entry->ended = 0;
	moves++;
	entry->gone = false;
	entry->used = false;
	unlock_marks(entry);
}

static bool has_ended(const struct shim_stream *place)
{
	return place->launched == place->ended;
}

/* A place whose stream has gone; NULL: none. */
static struct shim_stream *free_place_locked(void)
{
	for (u32 i = 0; i < stream_count; i++)
		if (!streams[i].used && has_ended(&streams[i])) {
			empty_locked(&streams[i]);
			return &streams[i];
		}
	return NULL;
}

/* Empty the places of all threads that have ended, and take one; NULL: there is none. */
static struct shim_stream *place_of_ended_thread_locked(void)
{
	struct shim_stream *found = NULL;

	for (u32 i = 0; i < stream_count; i++)
		if (has_ended(&streams[i]) && thread_has_ended(&streams[i])) {
			empty_locked(&streams[i]);
			found = &streams[i];
		}
	return found;
}

/* NULL: more streams than places. */
static struct shim_stream *take_place_locked(struct CUctx_st *context,
					     struct CUstream_st *stream, pid_t thread,
					     int device)
{
	struct shim_stream *place = free_place_locked();
	bool new = !place &&stream_count < STREAMS_MAX;

	if (new)
		place = &streams[stream_count];
	else if (!place)
		place = place_of_ended_thread_locked();
	if (!place)
		return NULL;
	place->context = context;
	place->stream = stream;
	place->thread = thread;
	place->device = device;
	place->used = true;
	if (new)
		stream_count++; /* last: the worker looks at places below it */
	return place;
}

static struct shim_stream *find_place_locked(const struct CUctx_st *context,
					     const struct CUstream_st *stream, pid_t thread)
{
	for (u32 i = 0; i < stream_count; i++)
		if (streams[i].used && streams[i].context == context &&
		    streams[i].stream == stream && streams[i].thread == thread)
			return &streams[i];
	return NULL;
}

/* The place of a stream, which gets one if it has none. NULL: more streams than places. */
static struct shim_stream *find(const struct shim_real *real, struct CUctx_st *context,
				struct CUstream_st *stream)
{
	struct recent_set *set = recent_set_of(stream);
	struct shim_stream *place = find_recent(set, context, stream);
	u64 now = generation; /* before the search: what goes meanwhile makes it stale */
	int device = 0;
	pid_t thread;

	if (place)
		return place;
	thread = stream == CU_PER_THREAD ? (pid_t)syscall(SYS_gettid) : 0;
	real->cuCtxGetDevice(&device);
	if (device < 0 || device >= SHIM_DEVICES)
		return NULL;
	pthread_mutex_lock(&streams_lock);
	place = find_place_locked(context, stream, thread);
	if (!place)
		place = take_place_locked(context, stream, thread, device);
	pthread_mutex_unlock(&streams_lock);
	streams_note_device(device);
	set->ways[set->next++ % RECENT_WAYS] =
		(struct recent_stream){ now, context, stream, place };
	return place;
}

bool streams_any_capture(void)
{
	return captures;
}

bool streams_capturing(struct CUstream_st *stream)
{
	const struct shim_real *real;
	unsigned int status = 0;

	if (!captures)
		return false;
	real = shim_real();
	return real->cuStreamIsCapturing(stream, &status) == CU_OK && status;
}

/*
 * An event that is recorded while a capture begins may spoil it, and so does a wait for the GPU.
 * So a capture waits for what is under way, and none is made until the last capture has ended.
 */
void streams_capture_began(void)
{
	atomic_fetch_add(&captures, 1);
	for (int i = 0; disturbing && i < 100000; i++)
		sched_yield();
}

bool streams_disturb(void)
{
	atomic_fetch_add(&disturbing, 1);
	if (!captures)
		return true;
	atomic_fetch_sub(&disturbing, 1);
	return false;
}

void streams_disturbed(void)
{
	atomic_fetch_sub(&disturbing, 1);
}

void streams_capture_ended(void)
{
	u32 now = captures;

	while (now && !atomic_compare_exchange_weak(&captures, &now, now - 1))
		;
	shim_wake_if_idle(); /* memory may wait for it: pinned.c */
}

unsigned int streams_relax(const struct shim_real *real)
{
	unsigned int mode = CU_CAPTURE_RELAXED;

	if (!real->cuThreadExchangeStreamCaptureMode ||
	    real->cuThreadExchangeStreamCaptureMode(&mode) != CU_OK)
		return CU_CAPTURE_RELAXED;
	return mode;
}

void streams_strict(const struct shim_real *real, unsigned int mode)
{
	if (mode != CU_CAPTURE_RELAXED)
		real->cuThreadExchangeStreamCaptureMode(&mode);
}

void streams_launched(struct CUstream_st *stream, u64 kernels)
{
	const struct shim_real *real = shim_real();
	struct CUctx_st *context = NULL;
	struct shim_stream *entry;
	int device;

	if (shim_closing() || real->cuCtxGetCurrent(&context) != CU_OK || !context)
		return;
	if (stream == CU_LEGACY)
		stream = NULL;
	entry = find(real, context, stream);
	if (!entry) {
		if (real->cuCtxGetDevice(&device) == CU_OK && device >= 0 &&
		    device < SHIM_DEVICES)
			lost_launched[device] += kernels;
		return;
	}
	atomic_fetch_add(&entry->launched, kernels);
	if (entry->thread && !captures) {
		lock_marks(entry);
		marks_move(real, &entry->marks, stream, entry->launched);
		unlock_marks(entry);
	}
	shim_wake_if_idle();
}

/* What can be said of the stream no more counts as ended. Under the marks' lock. */
static void give_up(struct shim_stream *entry, bool destroy)
{
	entry->ended = entry->launched;
	marks_drop(shim_real(), &entry->marks, destroy);
}

/* Record a mark in the stream's context. False: the driver does not, or the context has gone. */
static bool add_mark(const struct shim_real *real, struct shim_stream *entry)
{
	struct CUctx_st *popped;
	bool added;

	if (real->cuCtxPushCurrent_v2(entry->context) != CU_OK)
		return false;
	added = marks_add(real, &entry->marks, entry->stream, entry->launched);
	real->cuCtxPopCurrent_v2(&popped);
	return added;
}

/* Mark what was launched since the last mark. Under the marks' lock. */
static void mark_next(const struct shim_real *real, struct shim_stream *entry)
{
	if (entry->thread || entry->gone || !streams_disturb())
		return;
	if (!add_mark(real, entry))
		give_up(entry, false);
	streams_disturbed();
}

static void poll_stream(const struct shim_real *real, struct shim_stream *entry)
{
	cu_result result;

	lock_marks(entry);
	result = marks_take(real, &entry->marks, &entry->ended);
	if (result == CU_CAPTURED_EVENT) {
		marks_drop(real, &entry->marks, true);
	} else if (result != CU_OK) {
		shim_log("a stream failed with error %u: its launches count as ended", result);
		give_up(entry, false);
	}
	if (entry->launched != entry->ended && !marks_has(&entry->marks, entry->launched))
		mark_next(real, entry);
	unlock_marks(entry);
}

u64 streams_poll(const struct shim_real *real)
{
	u32 count = stream_count;
	u64 pending = 0;

	pthread_mutex_lock(&poll_lock);
	for (u32 i = 0; i < count; i++) {
		struct shim_stream *entry = &streams[i];

		if (entry->launched == entry->ended)
			continue;
		poll_stream(real, entry);
		pending += entry->launched - entry->ended;
	}
	pthread_mutex_unlock(&poll_lock);
	return pending;
}

void streams_counts(int device, u64 *ret_launched, u64 *ret_ended)
{
	u64 before;

	/* Bounded: a signal handler may ask while the thread below it moves counts. */
	for (int tries = 0; tries < 1000; tries++) {
		u32 count = stream_count;

		before = moves;
		*ret_launched = lost_launched[device];
		*ret_ended = lost_launched[device];
		for (u32 i = 0; i < count; i++) {
			u64 ended =
				streams[i]
					.ended; /* first: it must not pass what is read next */

			if (streams[i].device != device)
				continue;
			*ret_ended += ended;
			*ret_launched += streams[i].launched;
		}
		if (before == moves && before % 2 == 0)
			return;
	}
}

/*
 * The stream's work may go on, but can no more be told from other work: it counts as ended. The
 * events of a context go with it.
 */
static void forget(struct shim_stream *entry, bool destroy_events)
{
	lock_marks(entry);
	entry->gone = true;
	give_up(entry, destroy_events);
	entry->used = false;
	unlock_marks(entry);
}

/* The application destroys a stream: its work counts as ended. */
static void streams_forget(struct CUstream_st *stream)
{
	u32 count = stream_count;

	if ((uintptr_t)stream <= 2) /* a default stream goes with its context */
		return;
	pthread_mutex_lock(&streams_lock);
	for (u32 i = 0; i < count; i++)
		if (streams[i].used && streams[i].stream == stream)
			forget(&streams[i], true);
	generation++;
	pthread_mutex_unlock(&streams_lock);
}

/* A context has gone: the work of its streams counts as ended. */
static void streams_forget_context(struct CUctx_st *context)
{
	u32 count = stream_count;

	pthread_mutex_lock(&streams_lock);
	for (u32 i = 0; i < count; i++)
		if (streams[i].used && streams[i].context == context)
			forget(&streams[i], false);
	generation++;
	pthread_mutex_unlock(&streams_lock);
}

/* The process ends: nothing of it stays pending. */
void streams_end_all(void)
{
	u32 count = stream_count;

	for (u32 i = 0; i < count; i++)
		streams[i].ended = streams[i].launched;
}

void streams_reset(void)
{
	pthread_mutex_init(&streams_lock, NULL);
	pthread_mutex_init(&poll_lock, NULL);
	memset(streams, 0, stream_count * sizeof(*streams));
	memset(lost_launched, 0, sizeof(lost_launched));
	stream_count = 0;
	moves = 0;
	generation++;
	captures = 0;
	disturbing = 0;
	device_used = 0;
}

/* Streams and contexts go. */

SHIM_EXPORT cu_result cuStreamDestroy_v2(struct CUstream_st *stream)
{
	const struct shim_real *real = shim_real();

	if (!real)
		return CU_NOT_INITIALIZED;
	if (!shim_closing())
		streams_forget(stream);
	return real->cuStreamDestroy_v2(stream);
}

/*
 * The worker asks for no event of it meanwhile, and moves nothing: it waits for
 * poll_lock and in cold_stop().
 */
static cu_result context_goes(struct CUctx_st *context,
			      cu_result (*call)(struct CUctx_st *context, int device),
			      int device, bool (*gone)(int device))
{
	cu_result result;

	if (shim_closing())
		return call(context, device);
	pthread_mutex_lock(&poll_lock);
	cold_stop();
	result = call(context, device);
	if (result == CU_OK && context && gone(device)) {
		streams_forget_context(context);
		books_forget_context(context);
		pinned_forget_context(context);
		ipc_forget_context(context);
	}
	cold_go_on();
	pthread_mutex_unlock(&poll_lock);
	shim_wake_if_idle();
	return result;
}

static bool always(int device)
{
	(void)device;
	return true;
}

/* A primary context goes with its last owner, which the driver alone knows. */
static bool inactive(int device)
{
	unsigned int flags;
	int active = 1;

	return shim_real()->cuDevicePrimaryCtxGetState(device, &flags, &active) == CU_OK &&
	       !active;
}

/* NULL: it is not active. */
static struct CUctx_st *primary_of(const struct shim_real *real, int device)
{
	struct CUctx_st *context = NULL;

	if (inactive(device) || !real->cuDevicePrimaryCtxRetain ||
	    real->cuDevicePrimaryCtxRetain(&context, device) != CU_OK)
		return NULL;
	real->cuDevicePrimaryCtxRelease_v2(device);
	return context;
}

static cu_result destroy(struct CUctx_st *context, int device)
{
	(void)device;
	return shim_real()->cuCtxDestroy_v2(context);
}

static cu_result reset(struct CUctx_st *context, int device)
{
	(void)context;
	return shim_real()->cuDevicePrimaryCtxReset_v2(device);
}

static cu_result release(struct CUctx_st *context, int device)
{
	(void)context;
	return shim_real()->cuDevicePrimaryCtxRelease_v2(device);
}

SHIM_EXPORT cu_result cuCtxDestroy_v2(struct CUctx_st *context)
{
	if (!shim_real())
		return CU_NOT_INITIALIZED;
	return context_goes(context, destroy, 0, always);
}

SHIM_EXPORT cu_result cuDevicePrimaryCtxReset_v2(int device)
{
	const struct shim_real *real = shim_real();

	if (!real)
		return CU_NOT_INITIALIZED;
	return context_goes(primary_of(real, device), reset, device, always);
}

SHIM_EXPORT cu_result cuDevicePrimaryCtxRelease_v2(int device)
{
	const struct shim_real *real = shim_real();

	if (!real)
		return CU_NOT_INITIALIZED;
	return context_goes(primary_of(real, device), release, device, inactive);
}

/* The first versions have the same prototypes, and mean the same. The CUDA runtime asks for them. */

SHIM_EXPORT cu_result cuDevicePrimaryCtxReset(int device)
{
	return cuDevicePrimaryCtxReset_v2(device);
}

SHIM_EXPORT cu_result cuDevicePrimaryCtxRelease(int device)
{
	return cuDevicePrimaryCtxRelease_v2(device);
}
