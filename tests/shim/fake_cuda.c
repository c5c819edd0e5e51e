// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A CUDA driver library over host memory: libcuda.so.1 for tests of the shim. Memory is the
 * host's, and a kernel is a function of the program, which runs when it is launched. Events
 * come at once, or when fake_release() is called after fake_hold().
 *
 * FAKE_MEMORY: bytes of each of the two devices. FAKE_REPORT: a file to which the library
 * appends what it saw, when its process ends. FAKE_NO_MANAGED_POOLS: as a driver of CUDA 12.
 * FAKE_QUERY: microseconds of its thread that a question about an event takes.
 * FAKE_NO_FREE: memory cannot be freed. FAKE_DEVICE: a file that it opens and keeps, as
 * NVIDIA's keeps /dev/nvidia-uvm. Calls for memory are in fake_memory.c and fake_vmm.c.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_inside.h"

#define NODES	       64
#define BLOCKS	       65536
#define DEVICES	       2
#define WRONG_THREAD   908 /* CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD */
#define WRONG_CONTEXT  201 /* CUDA_ERROR_INVALID_CONTEXT */
#define WRONG_HANDLE   400 /* CUDA_ERROR_INVALID_HANDLE */
#define ILLEGAL_STATE  401
#define CAPTURE_BROKEN 901 /* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED */

struct CUctx_st {
	int device;
	int owners;
	bool lost;
};

struct CUstream_st {
	struct CUctx_st *context; /* NULL: a default stream */
	unsigned long launched;
	struct CUgraph_st *capture;
	pthread_t capturer;
};

struct CUevent_st {
	struct CUctx_st *context;
	unsigned long after; /* launches of all streams */
};

struct CUgraphNode_st {
	unsigned int type;
	void (*kernel)(void **parameters);
	void **parameters;
	struct CUgraph_st *child;
};

struct CUgraph_st {
	struct CUgraphNode_st nodes[NODES];
	size_t count;
};

struct CUgraphExec_st {
	struct CUgraph_st graph;
	bool disabled[NODES];
	struct CUgraph_st *source;
};

static struct CUctx_st primary[DEVICES] = { { .device = 0 }, { .device = 1 } };
static struct CUstream_st legacy_stream;
static __thread struct CUstream_st own_stream;
static __thread struct CUctx_st *stack[16];
static __thread int depth;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long launches, ended, events_live, after_end;
static unsigned long device_asks; /* calls of cuCtxGetDevice */
bool fake_initialized;
unsigned int fake_captures;
static bool captures_broken;
static __thread unsigned int thread_mode;
static bool held;
static bool finished;

/* Where a thread is to stay, and for how long; 0: for ever. */
static const char *_Atomic stay_in;
static unsigned int stay_ms;
static _Atomic bool stays;

FAKE void fake_linger(const char *call, unsigned int milliseconds)
{
	stay_ms = milliseconds;
	stay_in = call;
}

FAKE void fake_stay(const char *call)
{
	fake_linger(call, 0);
}

FAKE void fake_await_stay(void)
{
	while (!stays)
		usleep(1000);
}

void fake_enter(const char *call)
{
	if (!stay_in || strcmp(stay_in, call))
		return;
	stay_in = NULL;
	stays = true;
	while (!stay_ms)
		pause();
	usleep(stay_ms * 1000);
	stays = false;
}

FAKE bool fake_stays(void)
{
	return stays;
}

/* Where the program is linked with this library, its handlers come before those of the shim. */
static void (*in_fork)(void);

static void prepare_fork(void)
{
	void (*call)(void) = in_fork;

	in_fork = NULL;
	if (call)
		call();
}

__attribute__((constructor)) static void prepare_forks(void)
{
	pthread_atfork(prepare_fork, NULL, NULL);
}

FAKE void fake_in_fork(void (*call)(void))
{
	in_fork = call;
}

FAKE void fake_hold(void)
{
	held = true;
}

FAKE void fake_release(void)
{
	held = false;
	ended = launches;
}

FAKE void fake_end_first(unsigned long count)
{
	ended = count;
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("FAKE_REPORT");
	FILE *file = path ? fopen(path, "a") : NULL;
	struct fake_memory seen = fake_memory();

	finished = true;
	if (!file)
		return;
	fprintf(file,
		"fake pid %d launches %lu live %lu wrong_frees %lu managed %lu events %lu "
		"after_end %lu to_host %lu to_gpu %lu device_asks %lu\n",
		(int)getpid(), launches, seen.live, seen.wrong_frees, seen.managed, events_live,
		after_end, seen.to_host, seen.to_gpu, device_asks);
	fclose(file);
}

static struct CUstream_st *stream_of(struct CUstream_st *stream, bool per_thread)
{
	if (stream == CU_PER_THREAD || (!stream && per_thread))
		return &own_stream;
	return !stream || stream == CU_LEGACY ? &legacy_stream : stream;
}

static cu_result start(struct CUstream_st *stream, void (*kernel)(void **parameters),
		       void **parameters)
{
	if (finished)
		after_end++;
	if (!kernel)
		return CU_INVALID_VALUE;
	if (stream->capture) {
		stream->capture->nodes[stream->capture->count++] =
			(struct CUgraphNode_st){ CU_NODE_KERNEL, kernel, parameters, NULL };
		return CU_OK;
	}
	pthread_mutex_lock(&lock);
	stream->launched++;
	launches++;
	if (!held)
		ended = launches;
	pthread_mutex_unlock(&lock);
	kernel(parameters);
	return CU_OK;
}

/* Devices and contexts. */

static bool has_ended;

static void end_driver(void)
{
	has_ended = true;
}

FAKE bool fake_has_ended(void)
{
	return has_ended;
}

FAKE cu_result cuInit(unsigned int flags)
{
	const char *device = getenv("FAKE_DEVICE");

	if (device && !fake_initialized && open(device, O_RDONLY | O_CLOEXEC) < 0)
		return CU_NOT_INITIALIZED;
	if (!fake_initialized)
		atexit(end_driver);
	fake_initialized = true;
	return flags ? CU_INVALID_VALUE : CU_OK;
}

FAKE cu_result cuDeviceGetAttribute(int *value, unsigned int attribute, int device)
{
	MEASURED();
	(void)device;
	if (!fake_initialized)
		return CU_NOT_INITIALIZED;
	fake_enter("cuDeviceGetAttribute");
	*value = attribute == CU_DEVICE_MANAGED || attribute == CU_DEVICE_CONCURRENT;
	if (attribute == CU_DEVICE_MAJOR)
		*value = 9;
	return CU_OK;
}

FAKE cu_result cuDeviceGetCount(int *count)
{
	MEASURED();
	*count = DEVICES;
	return CU_OK;
}

FAKE cu_result cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	MEASURED();
	*can = device != peer;
	return CU_OK;
}

FAKE cu_result cuDeviceGetPCIBusId(char *text, int length, int device)
{
	MEASURED();
	snprintf(text, (size_t)length, "0000:0%d:00.0", device + 1);
	return CU_OK;
}

FAKE cu_result cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
	MEASURED();
	primary[device].owners++;
	*context = &primary[device];
	return CU_OK;
}

FAKE cu_result cuDevicePrimaryCtxRelease_v2(int device)
{
	MEASURED();
	primary[device].owners--;
	return CU_OK;
}

FAKE cu_result cuDevicePrimaryCtxReset_v2(int device)
{
	MEASURED();
	primary[device].owners = 0;
	return CU_OK;
}

FAKE cu_result cuDevicePrimaryCtxGetState(int device, unsigned int *flags, int *active)
{
	MEASURED();
	*flags = 0;
	*active = primary[device].owners > 0;
	return CU_OK;
}

FAKE cu_result cuCtxDestroy_v2(struct CUctx_st *context)
{
	MEASURED();
	(void)context;
	return CU_OK;
}

FAKE cu_result cuCtxCreate_v2(struct CUctx_st **context, unsigned int flags, int device)
{
	(void)flags;
	*context = calloc(1, sizeof(**context));
	(*context)->device = device;
	return cuCtxPushCurrent_v2(*context);
}

FAKE cu_result cuCtxSetCurrent(struct CUctx_st *context)
{
	depth = depth ? depth : 1;
	stack[depth - 1] = context;
	return CU_OK;
}

FAKE cu_result cuCtxGetCurrent(struct CUctx_st **context)
{
	MEASURED();
	*context = depth ? stack[depth - 1] : NULL;
	return CU_OK;
}

FAKE void fake_lose_context(struct CUctx_st *context)
{
	context->lost = true;
}

FAKE cu_result cuCtxPushCurrent_v2(struct CUctx_st *context)
{
	MEASURED();
	if (context->lost)
		return WRONG_CONTEXT;
	stack[depth++] = context;
	return CU_OK;
}

FAKE cu_result cuCtxPopCurrent_v2(struct CUctx_st **context)
{
	MEASURED();
	*context = stack[--depth];
	return CU_OK;
}

FAKE cu_result cuCtxGetDevice(int *device)
{
	MEASURED();
	__atomic_fetch_add(&device_asks, 1, __ATOMIC_SEQ_CST);
	*device = depth ? stack[depth - 1]->device : 0;
	return depth ? CU_OK : 201;
}

/* Streams and events. */

FAKE cu_result cuStreamCreate(struct CUstream_st **stream, unsigned int flags)
{
	MEASURED();
	(void)flags;
	*stream = calloc(1, sizeof(**stream));
	return cuCtxGetCurrent(&(*stream)->context);
}

FAKE cu_result cuStreamGetCtx(struct CUstream_st *stream, struct CUctx_st **context)
{
	MEASURED();
	if (!stream_of(stream, false)->context)
		return cuCtxGetCurrent(context);
	*context = stream->context;
	return CU_OK;
}

FAKE cu_result cuStreamDestroy_v2(struct CUstream_st *stream)
{
	MEASURED();
	free(stream);
	return CU_OK;
}

FAKE cu_result cuStreamSynchronize(struct CUstream_st *stream)
{
	MEASURED_AS(fake_is_beside_capture(stream) ? "cuStreamSynchronize:other_stream" :
						     __func__);
	while (held)
		usleep(100);
	if (!stream)
		fake_make_staged_copy();
	return CU_OK;
}

FAKE cu_result cuCtxSynchronize(void)
{
	MEASURED();
	return cuStreamSynchronize(NULL);
}

FAKE cu_result cuEventCreate(struct CUevent_st **event, unsigned int flags)
{
	MEASURED();
	(void)flags;
	*event = calloc(1, sizeof(**event));
	__atomic_fetch_add(&events_live, 1, __ATOMIC_SEQ_CST);
	return cuCtxGetCurrent(&(*event)->context);
}

FAKE cu_result cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream)
{
	MEASURED();
	struct CUctx_st *context = stream_of(stream, false)->context;

	if (context && context != event->context)
		return WRONG_HANDLE;
	if (stream_of(stream, false)->capture)
		return 906;
	event->after = launches;
	return CU_OK;
}

static long long own_time_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

/* What a call takes of its thread's processor: FAKE_QUERY microseconds. */
static void compute_for_a_query(void)
{
	const char *microseconds = getenv("FAKE_QUERY");
	long long until_ns;

	if (!microseconds)
		return;
	until_ns = own_time_ns() + strtol(microseconds, NULL, 10) * 1000;
	while (own_time_ns() < until_ns)
		;
}

FAKE cu_result cuEventQuery(struct CUevent_st *event)
{
	MEASURED();
	fake_enter(__func__);
	compute_for_a_query();
	return event->after <= ended ? CU_OK : CU_NOT_READY;
}

FAKE cu_result cuEventDestroy_v2(struct CUevent_st *event)
{
	MEASURED();
	free(event);
	__atomic_fetch_sub(&events_live, 1, __ATOMIC_SEQ_CST);
	return CU_OK;
}

FAKE cu_result cuThreadExchangeStreamCaptureMode(unsigned int *mode)
{
	unsigned int now = thread_mode;

	MEASURED();
	thread_mode = *mode;
	*mode = now;
	return CU_OK;
}

bool fake_is_beside_capture(struct CUstream_st *stream)
{
	return fake_captures && !stream_of(stream, false)->capture;
}

bool fake_is_relaxed(void)
{
	return thread_mode == CU_CAPTURE_RELAXED;
}

void fake_break_captures(void)
{
	captures_broken = true;
}

/* Launches. */

/*
 * The kernel's arguments: an address and a number. As on a driver, a CUkernel is no function.
 */
FAKE cu_result cuFuncGetParamInfo(struct CUfunc_st *f, size_t index, size_t *offset,
				  size_t *size)
{
	MEASURED();
	if (!f || index > 1)
		return CU_INVALID_VALUE;
	*offset = 8 * index;
	*size = index ? sizeof(unsigned int) : sizeof(cu_ptr);
	return CU_OK;
}

FAKE cu_result cuKernelGetParamInfo(struct CUkern_st *kernel, size_t index, size_t *offset,
				    size_t *size)
{
	MEASURED();
	(void)kernel, (void)index, (void)offset, (void)size;
	return CU_INVALID_VALUE;
}

FAKE cu_result cuLaunchKernel(struct CUfunc_st *f, unsigned int gx, unsigned int gy,
			      unsigned int gz, unsigned int bx, unsigned int by,
			      unsigned int bz, unsigned int shared, struct CUstream_st *stream,
			      void **parameters, void **extra)
{
	MEASURED();
	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)extra;
	return start(stream_of(stream, false), (void (*)(void **))(uintptr_t)f, parameters);
}

FAKE cu_result cuLaunchKernel_ptsz(struct CUfunc_st *f, unsigned int gx, unsigned int gy,
				   unsigned int gz, unsigned int bx, unsigned int by,
				   unsigned int bz, unsigned int shared,
				   struct CUstream_st *stream, void **parameters, void **extra)
{
	MEASURED();
	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)extra;
	return start(stream_of(stream, true), (void (*)(void **))(uintptr_t)f, parameters);
}

FAKE cu_result cuLaunchKernelEx(const struct CUlaunchConfig_st *config, struct CUfunc_st *f,
				void **parameters, void **extra)
{
	MEASURED();
	const struct shim_launch_config *launch = (const struct shim_launch_config *)config;

	(void)extra;
	return start(stream_of(launch->stream, false), (void (*)(void **))(uintptr_t)f,
		     parameters);
}

FAKE cu_result cuLaunchCooperativeKernel(struct CUfunc_st *f, unsigned int gx, unsigned int gy,
					 unsigned int gz, unsigned int bx, unsigned int by,
					 unsigned int bz, unsigned int shared,
					 struct CUstream_st *stream, void **parameters)
{
	MEASURED();
	return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, NULL);
}

FAKE cu_result cuLaunchCooperativeKernelMultiDevice(struct CUDA_LAUNCH_PARAMS_st *list,
						    unsigned int count, unsigned int flags)
{
	MEASURED();
	const struct shim_launch_params *launch = (const struct shim_launch_params *)list;

	(void)flags;
	if (!launch)
		return CU_INVALID_VALUE;
	for (unsigned int i = 0; i < count; i++)
		start(stream_of(launch[i].stream, false),
		      (void (*)(void **))(uintptr_t)launch[i].function, launch[i].parameters);
	return CU_OK;
}

/* Graphs. */

FAKE cu_result fake_graph_create(struct CUgraph_st **graph)
{
	*graph = calloc(1, sizeof(**graph));
	return CU_OK;
}

FAKE struct CUgraphNode_st *fake_graph_add(struct CUgraph_st *graph, struct CUfunc_st *f,
					   void **parameters, struct CUgraph_st *child)
{
	struct CUgraphNode_st *node = &graph->nodes[graph->count++];

	*node = (struct CUgraphNode_st){ child ? CU_NODE_GRAPH : CU_NODE_KERNEL,
					 (void (*)(void **))(uintptr_t)f, parameters, child };
	return node;
}

FAKE void fake_graph_add_memory(struct CUgraph_st *graph)
{
	graph->nodes[graph->count++].type = CU_NODE_MEM_ALLOC;
}

FAKE cu_result cuGraphGetNodes(struct CUgraph_st *graph, struct CUgraphNode_st **nodes,
			       size_t *count)
{
	MEASURED();
	if (nodes)
		for (size_t i = 0; i < *count; i++)
			nodes[i] = &graph->nodes[i];
	*count = graph->count;
	return CU_OK;
}

FAKE cu_result cuGraphNodeGetType(struct CUgraphNode_st *node, unsigned int *type)
{
	MEASURED();
	*type = node->type;
	return CU_OK;
}

FAKE cu_result cuGraphChildGraphNodeGetGraph(struct CUgraphNode_st *node,
					     struct CUgraph_st **graph)
{
	MEASURED();
	*graph = node->child;
	return CU_OK;
}

FAKE cu_result cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec,
					   struct CUgraph_st *graph, unsigned long long flags)
{
	MEASURED();
	(void)flags;
	*exec = calloc(1, sizeof(**exec));
	(*exec)->graph = *graph;
	(*exec)->source = graph;
	return CU_OK;
}

FAKE cu_result cuGraphInstantiate_v2(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				     struct CUgraphNode_st **node, char *log, size_t size)
{
	MEASURED();
	(void)node, (void)log, (void)size;
	return cuGraphInstantiateWithFlags(exec, graph, 0);
}

FAKE cu_result cuGraphExecDestroy(struct CUgraphExec_st *exec)
{
	MEASURED();
	free(exec);
	return CU_OK;
}

FAKE cu_result cuGraphNodeSetEnabled(struct CUgraphExec_st *exec, struct CUgraphNode_st *node,
				     unsigned int enabled)
{
	MEASURED();
	exec->disabled[node - exec->source->nodes] = !enabled;
	return CU_OK;
}

static void run_graph(const struct CUgraph_st *graph, const bool *disabled,
		      struct CUstream_st *stream)
{
	for (size_t i = 0; i < graph->count; i++) {
		const struct CUgraphNode_st *node = &graph->nodes[i];

		if (disabled && disabled[i])
			continue;
		if (node->type == CU_NODE_GRAPH)
			run_graph(node->child, NULL, stream);
		else if (node->type == CU_NODE_KERNEL)
			start(stream, node->kernel, node->parameters);
	}
}

FAKE cu_result cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
	MEASURED();
	run_graph(&exec->graph, exec->disabled, stream_of(stream, false));
	return CU_OK;
}

FAKE cu_result cuStreamBeginCapture_v2(struct CUstream_st *stream, unsigned int mode)
{
	MEASURED();
	(void)mode;
	if (stream->capture)
		return ILLEGAL_STATE;
	stream->capturer = pthread_self();
	fake_captures++;
	return fake_graph_create(&stream->capture);
}

FAKE cu_result cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph)
{
	MEASURED();
	if (stream->capture && !pthread_equal(stream->capturer, pthread_self()))
		return WRONG_THREAD;
	if (!stream->capture)
		return ILLEGAL_STATE;
	*graph = captures_broken ? NULL : stream->capture;
	stream->capture = NULL;
	fake_captures--;
	if (*graph)
		return CU_OK;
	captures_broken = false;
	return CAPTURE_BROKEN;
}

FAKE cu_result cuStreamIsCapturing(struct CUstream_st *stream, unsigned int *status)
{
	MEASURED();
	*status = stream_of(stream, false)->capture ? 1 + captures_broken : 0;
	return CU_OK;
}
