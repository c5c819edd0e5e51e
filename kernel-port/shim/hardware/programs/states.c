// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What CUDA answers to each call that the shim hooks or makes, in each state of a process: lines
 * "STATE CALL ANSWER" for all states, or for the one that is named. So a run with the shim is
 * compared with one without. It needs no CUDA toolkit.
 *
 *     early      before cuInit()
 *     bare       cuInit() alone: no context is current
 *     ready      a context, with one object of each kind
 *     execed     likewise, in a program that another one which has used CUDA has become
 *     captured0  the thread captures the stream, in the mode "global"; 1 "thread local", 2 "relaxed".
 *                The answer has the capture after the call: active, broken or ended
 *     first0     likewise, of a process that has made no other call with its context; 1, 2
 *     failed     a kernel has failed, which is the context's end
 *     destroyed  the context has been destroyed, and is the thread's current one
 *     forked     in a child of a process that has used CUDA
 *     ended      in an exit handler after the driver's
 *
 * A call that ends the process says by which signal, and the ones after it get another process.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_api.h"

#define MIB	(1ull << 20)
#define PAGE	(2 * MIB)
#define SECONDS 20 /* of one process */
#define FILE_NO "/nonexistent/module"
#define VERSION 12080

struct CUipcMemHandle_st {
	char bytes[64];
};

static const char code[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
			   ".visible .entry nothing()\n{\n\tret;\n}\n"
			   ".visible .entry broken()\n{\n\ttrap;\n}\n";

static const char *const state_names[] = { "early",	"bare",	     "ready",	  "execed",
					   "captured0", "captured1", "captured2", "first0",
					   "first1",	"first2",    "failed",	  "destroyed",
					   "forked",	"ended",     NULL };
enum state {
	EARLY,
	BARE,
	READY,
	EXECED,
	CAPTURED_GLOBAL,
	CAPTURED_LOCAL,
	CAPTURED_RELAXED,
	FIRST_GLOBAL,
	FIRST_LOCAL,
	FIRST_RELAXED,
	FAILED,
	DESTROYED,
	FORKED,
	ENDED,
};

/* CUDA's calls; NULL: this driver has none of that name. */
static struct {
#define POINTER(symbol, ...) __typeof__(&(symbol)) symbol;
	SHIM_HOOKED(POINTER)
	SHIM_MADE(POINTER)
#undef POINTER
} cu;

static cu_result (*init)(unsigned int flags);
static cu_result (*set_current)(struct CUctx_st *context);
static cu_result (*create_context)(struct CUctx_st **context, unsigned int flags, int device);
static cu_result (*get_function)(struct CUfunc_st **f, struct CUmod_st *module,
				 const char *name);
/* Of tests/shim/fake_cuda.h: which state it is. NULL: this is NVIDIA's. */
static void (*tell_state)(const char *name);

/* One object of each kind; those called "last" are for the call that ends them. */
static struct {
	struct CUctx_st *context, *last_context;
	struct CUstream_st *stream, *last_stream;
	struct CUevent_st *event, *last_event;
	struct CUmod_st *module, *last_module;
	struct CUlib_st *library, *last_library;
	struct CUfunc_st *function, *broken;
	struct CUgraph_st *graph, *captured;
	struct CUgraphNode_st *node;
	struct CUgraphExec_st *exec, *last_exec;
	struct CUmemPoolHandle_st *pool, *last_pool;
	struct CUarray_st *last_array;
	struct CUmipmappedArray_st *last_levels;
	struct CUipcMemHandle_st handle;
	cu_ptr memory, managed, exported, last_exported, late_memory, last_memory,
		last_ordered[2];
	cu_ptr range, mapped; /* reserved; the second one has memory */
	unsigned long long vmm, last_vmm;
} o;

static int state;
static bool again; /* this is the second program of the state "execed" */
static int *row;   /* shared with the process that watches */

static void need(cu_result result, const char *what)
{
	if (result == CU_OK)
		return;
	printf("%s %s: error %u\n", state_names[state], what, result);
	_exit(1);
}

#define NEED(call) need(call, #call)

/* What rows write to, and descriptions that they read. */
static struct {
	cu_ptr ptr;
	size_t bytes, size;
	unsigned int number;
	unsigned long long handle;
	void *pointer;
	int integer;
	char text[256];
	struct CUipcMemHandle_st ipc;
	struct shim_allocation_prop_whole prop;
} out;

static unsigned int attributes[2] = { CU_POINTER_MEMORY_TYPE, CU_POINTER_SIZE };
static void *attribute_data[2] = { &out.number, &out.size };
static struct shim_location here = { CU_LOCATION_DEVICE, 0 };
static struct shim_access access_all = { CU_LOCATION_DEVICE, 0, CU_ACCESS_ALL };
static struct shim_array flat = { 64, 64, 0x20, 4 };
static struct shim_array3d deep = { 64, 64, 0, 0x20, 4, 0 };
static struct shim_allocation_prop_whole prop = { .head = { CU_ALLOC_PINNED, CU_HANDLE_FD,
							    CU_LOCATION_DEVICE, 0 } };
static struct shim_pool_props pool_props = {
	CU_ALLOC_PINNED, 0, CU_LOCATION_DEVICE, 0, NULL, 0, ""
};
static struct {
	struct shim_launch_config head;
	void *attributes;
	unsigned int count;
} config = { .head = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } } };
static struct shim_launch_params params = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
static struct {
	unsigned long long flags;
	struct CUstream_st *upload;
	void *node;
	unsigned int result;
} graph_params;
static const unsigned int on = 1;

#define OUT(type)   ((type *)(void *)&out.pointer)
#define CONFIG	    ((const struct CUlaunchConfig_st *)&config)
#define GRAPHPARAMS ((struct CUDA_GRAPH_INSTANTIATE_PARAMS_st *)&graph_params)
#define LAUNCH	    o.function, 1, 1, 1, 1, 1, 1, 0, o.stream, NULL

/* The mode of a thread's captures is exchanged, and then is as it was. */
static cu_result exchange_mode(void)
{
	unsigned int mode = CU_CAPTURE_RELAXED;
	cu_result result = cu.cuThreadExchangeStreamCaptureMode(&mode);

	if (result == CU_OK)
		cu.cuThreadExchangeStreamCaptureMode(&mode);
	return result;
}

/* A context is pushed, and popped again. */
static cu_result push(void)
{
	struct CUctx_st *popped;
	cu_result result = cu.cuCtxPushCurrent_v2(o.context);

	if (result == CU_OK)
		cu.cuCtxPopCurrent_v2(&popped);
	return result;
}

static cu_result pop(void)
{
	struct CUctx_st *popped;
	cu_result result = cu.cuCtxPopCurrent_v2(&popped);

	if (result == CU_OK)
		set_current(popped);
	return result;
}

#define R(symbol, ...) X(symbol, cu.symbol(__VA_ARGS__))

/* Calls of which the shim makes others: "CALL:WHAT". */
#define MORE_ROWS                                                                      \
	Y(free_of_nothing, "cuMemFree_v2:nothing", cu.cuMemFree_v2(0))                 \
	Y(free_of_exported, "cuMemFree_v2:exported", cu.cuMemFree_v2(o.last_exported)) \
	Y(free_on_other, "cuMemFreeAsync:other_stream",                                \
	  cu.cuMemFreeAsync(o.late_memory, o.last_stream))                             \
	Y(pool_on_other, "cuMemAllocAsync:other_stream",                               \
	  cu.cuMemAllocAsync(&out.ptr, MIB, o.last_stream))                            \
	Y(wait_for_other, "cuStreamSynchronize:other_stream",                          \
	  cu.cuStreamSynchronize(o.last_stream))

/* Calls that free or close what other calls use come last. */
#define ROWS                                                                                   \
	R(cuGetProcAddress, "cuMemAlloc", &out.pointer, VERSION, 0)                            \
	R(cuGetProcAddress_v2, "cuMemAlloc", &out.pointer, VERSION, 0, &out.number)            \
	R(cuMemAlloc_v2, &out.ptr, MIB)                                                        \
	R(cuMemAllocPitch_v2, &out.ptr, &out.bytes, 1000, 100, 4)                              \
	R(cuMemAllocManaged, &out.ptr, MIB, CU_MANAGED_GLOBAL)                                 \
	R(cuMemAllocAsync, &out.ptr, MIB, o.stream)                                            \
	R(cuMemAllocAsync_ptsz, &out.ptr, MIB, o.stream)                                       \
	R(cuMemAllocFromPoolAsync, &out.ptr, MIB, o.pool, o.stream)                            \
	R(cuMemAllocFromPoolAsync_ptsz, &out.ptr, MIB, o.pool, o.stream)                       \
	R(cuMemPoolCreate, OUT(struct CUmemPoolHandle_st *),                                   \
	  (const struct CUmemPoolProps_st *)&pool_props)                                       \
	R(cuDeviceGetDefaultMemPool, OUT(struct CUmemPoolHandle_st *), 0)                      \
	R(cuDeviceGetMemPool, OUT(struct CUmemPoolHandle_st *), 0)                             \
	R(cuDeviceSetMemPool, 0, o.pool)                                                       \
	R(cuMemGetDefaultMemPool, OUT(struct CUmemPoolHandle_st *),                            \
	  (struct CUmemLocation_st *)&here, CU_ALLOC_PINNED)                                   \
	R(cuMemGetMemPool, OUT(struct CUmemPoolHandle_st *), (struct CUmemLocation_st *)&here, \
	  CU_ALLOC_PINNED)                                                                     \
	R(cuMemSetMemPool, (struct CUmemLocation_st *)&here, CU_ALLOC_PINNED, o.pool)          \
	R(cuArrayCreate_v2, OUT(struct CUarray_st *),                                          \
	  (const struct CUDA_ARRAY_DESCRIPTOR_st *)&flat)                                      \
	R(cuArray3DCreate_v2, OUT(struct CUarray_st *),                                        \
	  (const struct CUDA_ARRAY3D_DESCRIPTOR_st *)&deep)                                    \
	R(cuMipmappedArrayCreate, OUT(struct CUmipmappedArray_st *),                           \
	  (const struct CUDA_ARRAY3D_DESCRIPTOR_st *)&deep, 1)                                 \
	R(cuMemGetInfo_v2, &out.bytes, &out.size)                                              \
	R(cuDeviceTotalMem_v2, &out.bytes, 0)                                                  \
	R(cuMemCreate, &out.handle, PAGE, (const struct CUmemAllocationProp_st *)&prop, 0)     \
	R(cuMemMap, o.range, PAGE, 0, o.vmm, 0)                                                \
	R(cuMemSetAccess, o.range, PAGE, (const struct CUmemAccessDesc_st *)&access_all, 1)    \
	R(cuMemRetainAllocationHandle, &out.handle, (void *)(uintptr_t)o.mapped)               \
	R(cuMemExportToShareableHandle, &out.integer, o.vmm, CU_HANDLE_FD, 0)                  \
	R(cuMemImportFromShareableHandle, &out.handle, (void *)(intptr_t)-1, CU_HANDLE_FD)     \
	R(cuMemGetAllocationGranularity, &out.bytes,                                           \
	  (const struct CUmemAllocationProp_st *)&prop, 0)                                     \
	R(cuMemGetAllocationPropertiesFromHandle, (struct CUmemAllocationProp_st *)&out.prop,  \
	  o.vmm)                                                                               \
	R(cuMemAddressReserve, &out.ptr, PAGE, 0, 0, 0)                                        \
	R(cuMemGetAddressRange_v2, &out.ptr, &out.bytes, o.memory + 1)                         \
	R(cuPointerGetAttribute, &out.number, CU_POINTER_MEMORY_TYPE, o.memory)                \
	R(cuPointerGetAttributes, 2, attributes, attribute_data, o.memory)                     \
	R(cuPointerSetAttribute, &on, CU_POINTER_SYNC_MEMOPS, o.memory)                        \
	R(cuIpcGetMemHandle, &out.ipc, o.memory)                                               \
	R(cuIpcOpenMemHandle, &out.ptr, o.handle, CU_IPC_PEER)                                 \
	R(cuIpcOpenMemHandle_v2, &out.ptr, o.handle, CU_IPC_PEER)                              \
	R(cuIpcCloseMemHandle, o.managed)                                                      \
	R(cuMemGetHandleForAddressRange, &out.integer, o.memory, PAGE, 1, 0)                   \
	R(cuMemcpyHtoD_v2, o.memory, out.text, sizeof(out.text))                               \
	R(cuMemcpyDtoD_v2, o.memory, o.memory + MIB, 4096)                                     \
	R(cuMemAdvise, o.managed, MIB, CU_ADVISE_LOCATION, 0)                                  \
	R(cuMemPrefetchAsync, o.managed, MIB, 0, o.stream)                                     \
	R(cuDeviceGetCount, &out.integer)                                                      \
	R(cuDeviceCanAccessPeer, &out.integer, 0, 0)                                           \
	R(cuDeviceGetAttribute, &out.integer, CU_DEVICE_MAJOR, 0)                              \
	R(cuDeviceGetPCIBusId, out.text, sizeof(out.text), 0)                                  \
	R(cuCtxGetCurrent, OUT(struct CUctx_st *))                                             \
	R(cuCtxGetDevice, &out.integer)                                                        \
	X(cuCtxPushCurrent_v2, push())                                                         \
	R(cuDevicePrimaryCtxGetState, 0, &out.number, &out.integer)                            \
	R(cuEventCreate, OUT(struct CUevent_st *), CU_EVENT_NO_TIMING)                         \
	R(cuEventRecord, o.event, o.stream)                                                    \
	R(cuEventQuery, o.last_event)                                                          \
	R(cuStreamIsCapturing, o.stream, &out.number)                                          \
	R(cuStreamCreate, OUT(struct CUstream_st *), CU_STREAM_NONBLOCKING)                    \
	R(cuStreamGetCtx, o.stream, OUT(struct CUctx_st *))                                    \
	X(cuThreadExchangeStreamCaptureMode, exchange_mode())                                  \
	R(cuGraphGetNodes, o.graph, NULL, &out.size)                                           \
	R(cuGraphNodeGetType, o.node, &out.number)                                             \
	R(cuGraphChildGraphNodeGetGraph, o.node, OUT(struct CUgraph_st *))                     \
	R(cuFuncGetParamInfo, o.function, 0, &out.bytes, &out.size)                            \
	R(cuKernelGetParamInfo, NULL, 0, &out.bytes, &out.size)                                \
	R(cuLaunchKernel, LAUNCH, NULL)                                                        \
	R(cuLaunchKernel_ptsz, LAUNCH, NULL)                                                   \
	R(cuLaunchKernelEx, CONFIG, o.function, NULL, NULL)                                    \
	R(cuLaunchKernelEx_ptsz, CONFIG, o.function, NULL, NULL)                               \
	R(cuLaunchCooperativeKernel, LAUNCH)                                                   \
	R(cuLaunchCooperativeKernel_ptsz, LAUNCH)                                              \
	R(cuLaunchCooperativeKernelMultiDevice, (struct CUDA_LAUNCH_PARAMS_st *)&params, 1, 0) \
	R(cuLaunch, o.function)                                                                \
	R(cuLaunchGrid, o.function, 1, 1)                                                      \
	R(cuLaunchGridAsync, o.function, 1, 1, o.stream)                                       \
	R(cuGraphLaunch, o.exec, o.stream)                                                     \
	R(cuGraphLaunch_ptsz, o.exec, o.stream)                                                \
	R(cuGraphInstantiate, OUT(struct CUgraphExec_st *), o.graph, NULL, NULL, 0)            \
	R(cuGraphInstantiate_v2, OUT(struct CUgraphExec_st *), o.graph, NULL, NULL, 0)         \
	R(cuGraphInstantiateWithFlags, OUT(struct CUgraphExec_st *), o.graph, 0)               \
	R(cuGraphInstantiateWithParams, OUT(struct CUgraphExec_st *), o.graph, GRAPHPARAMS)    \
	R(cuGraphInstantiateWithParams_ptsz, OUT(struct CUgraphExec_st *), o.graph,            \
	  GRAPHPARAMS)                                                                         \
	R(cuGraphNodeSetEnabled, o.exec, o.node, 1)                                            \
	R(cuStreamBeginCapture, o.stream)                                                      \
	R(cuStreamBeginCapture_ptsz, o.stream)                                                 \
	R(cuStreamBeginCapture_v2, o.stream, 0)                                                \
	R(cuStreamBeginCapture_v2_ptsz, o.stream, 0)                                           \
	R(cuStreamBeginCaptureToGraph, o.stream, o.captured, NULL, NULL, 0, 0)                 \
	R(cuStreamBeginCaptureToGraph_ptsz, o.stream, o.captured, NULL, NULL, 0, 0)            \
	R(cuStreamEndCapture, o.stream, OUT(struct CUgraph_st *))                              \
	R(cuStreamEndCapture_ptsz, o.stream, OUT(struct CUgraph_st *))                         \
	R(cuModuleLoad, OUT(struct CUmod_st *), FILE_NO)                                       \
	R(cuModuleLoadData, OUT(struct CUmod_st *), code)                                      \
	R(cuModuleLoadDataEx, OUT(struct CUmod_st *), code, 0, NULL, NULL)                     \
	R(cuModuleLoadFatBinary, OUT(struct CUmod_st *), code)                                 \
	R(cuModuleGetGlobal_v2, &out.ptr, &out.bytes, o.module, "no_such_name")                \
	R(cuLibraryLoadData, OUT(struct CUlib_st *), code, NULL, NULL, 0, NULL, NULL, 0)       \
	R(cuLibraryLoadFromFile, OUT(struct CUlib_st *), FILE_NO, NULL, NULL, 0, NULL, NULL,   \
	  0)                                                                                   \
	R(cuLibraryGetGlobal, &out.ptr, &out.bytes, o.library, "no_such_name")                 \
	R(cuStreamSynchronize, o.stream)                                                       \
	R(cuCtxSynchronize)                                                                    \
	R(cuMemFree_v2, o.last_memory)                                                         \
	R(cuMemFreeAsync, o.last_ordered[0], o.stream)                                         \
	R(cuMemFreeAsync_ptsz, o.last_ordered[1], o.stream)                                    \
	R(cuMemUnmap, o.mapped, PAGE)                                                          \
	R(cuMemAddressFree, o.mapped, PAGE)                                                    \
	R(cuMemRelease, o.last_vmm)                                                            \
	R(cuArrayDestroy, o.last_array)                                                        \
	R(cuMipmappedArrayDestroy, o.last_levels)                                              \
	R(cuMemPoolDestroy, o.last_pool)                                                       \
	R(cuEventDestroy_v2, o.last_event)                                                     \
	R(cuGraphExecDestroy, o.last_exec)                                                     \
	R(cuModuleUnload, o.last_module)                                                       \
	R(cuLibraryUnload, o.last_library)                                                     \
	R(cuStreamDestroy_v2, o.last_stream)                                                   \
	X(cuCtxPopCurrent_v2, pop())                                                           \
	R(cuCtxDestroy_v2, o.last_context)                                                     \
	R(cuDevicePrimaryCtxRetain, OUT(struct CUctx_st *), 0)                                 \
	R(cuDevicePrimaryCtxRelease, 0)                                                        \
	R(cuDevicePrimaryCtxRelease_v2, 0)                                                     \
	R(cuDevicePrimaryCtxReset, 0)                                                          \
	R(cuDevicePrimaryCtxReset_v2, 0)

#define X(symbol, call)	     ROW_##symbol,
#define Y(name, label, call) ROW_##name,
enum { MORE_ROWS MORE_COUNT, ROW_BEFORE = MORE_COUNT - 1, ROWS ROW_COUNT };
#undef X
#undef Y

/* A call of cuda_api.h without a row does not compile. */
#define HAS_ROW(symbol, ...) +(ROW_##symbol >= 0)
_Static_assert((0 SHIM_HOOKED(HAS_ROW) SHIM_MADE(HAS_ROW)) == ROW_COUNT - MORE_COUNT,
	       "a row for each call");

struct row {
	const char *name;
	cu_result (*call)(void);
	const void *pointer; /* to the driver's call */
};

/* clang-format off */
#define X(symbol, call) static cu_result do_##symbol(void) { return call; }
#define Y(name, label, call) X(name, call)
MORE_ROWS
ROWS
#undef X
#undef Y
/* clang-format on */

#define X(symbol, call)	     { #symbol, do_##symbol, &cu.symbol },
#define Y(name, label, call) { label, do_##name, &cu.cuMemFree_v2 },
	static const struct row rows[] = { MORE_ROWS ROWS };
#undef X
#undef Y

static bool capturing(void)
{
	return state >= CAPTURED_GLOBAL && state <= FIRST_RELAXED;
}

static bool is_first(void)
{
	return state >= FIRST_GLOBAL && state <= FIRST_RELAXED;
}

/*
 * Handles of streams and graphs of a context that has gone lead nowhere: the driver crashes, or
 * does not return. No program may use them, and no call with them is made here.
 */
static bool is_left_out(void)
{
	static const int first[] = { ROW_free_of_nothing,
				     ROW_wait_for_other,
				     ROW_pool_on_other,
				     ROW_cuMemAlloc_v2,
				     ROW_cuMemAllocPitch_v2,
				     ROW_cuMemAllocManaged,
				     ROW_cuMemAllocAsync,
				     ROW_cuMemPoolCreate,
				     ROW_cuDeviceGetDefaultMemPool,
				     ROW_cuDeviceGetMemPool,
				     ROW_cuMemGetDefaultMemPool,
				     ROW_cuMemGetMemPool,
				     ROW_cuArrayCreate_v2,
				     ROW_cuMemGetInfo_v2,
				     ROW_cuDeviceTotalMem_v2,
				     ROW_cuMemCreate,
				     ROW_cuEventCreate,
				     ROW_cuStreamCreate,
				     ROW_cuModuleLoadData,
				     ROW_cuLibraryLoadData };

	for (size_t i = 0; is_first() && i < sizeof(first) / sizeof(first[0]); i++)
		if (*row == first[i])
			return false;
	if (is_first())
		return true;
	return (state == DESTROYED || state == FORKED) &&
	       (*row == ROW_cuEventDestroy_v2 || *row == ROW_free_on_other ||
		*row == ROW_pool_on_other || *row == ROW_wait_for_other ||
		*row == ROW_cuStreamDestroy_v2 || *row == ROW_cuGraphExecDestroy ||
		*row == ROW_cuGraphLaunch || *row == ROW_cuGraphLaunch_ptsz);
}

/* The context has gone, by a row. */
static bool gone;

/* The process may end in any call. */
static void make_row(void)
{
	static const char *const captures[] = { "ended", "active", "broken" };
	unsigned int status = 0;
	struct CUgraph_st *graph;
	cu_result result;

	if (!*(void *const *)rows[*row].pointer || is_left_out()) {
		printf("%s %s none\n", state_names[state], rows[*row].name);
		fflush(stdout);
		return;
	}
	if (capturing() && !gone)
		NEED(cu.cuStreamBeginCapture_v2(o.stream,
						(unsigned int)(state - CAPTURED_GLOBAL) % 3));
	result = rows[*row].call();
	printf("%s %s %u", state_names[state], rows[*row].name, result);
	if (*row >= ROW_cuDevicePrimaryCtxReset)
		gone = true;
	if ((state == READY || state == EXECED || capturing()) && !gone) {
		cu.cuStreamIsCapturing(o.stream, &status);
		if (status)
			cu.cuStreamEndCapture(o.stream, &graph);
		if (capturing())
			printf(" %s", status < 3 ? captures[status] : "unknown");
	}
	printf("\n");
	fflush(stdout);
}

static void make_rows(void)
{
	bool made = false;

	if (tell_state)
		tell_state(state_names[state]);
	while (*row < ROW_COUNT && !(made && is_first())) {
		made = !is_left_out();
		make_row();
		++*row;
	}
}

static void find_calls(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		printf("%s\n", dlerror());
		_exit(1);
	}
#define FIND(symbol, ...) cu.symbol = (__typeof__(cu.symbol))dlsym(library, #symbol);
	SHIM_HOOKED(FIND)
	SHIM_MADE(FIND)
#undef FIND
	init = (__typeof__(init))dlsym(library, "cuInit");
	set_current = (__typeof__(set_current))dlsym(library, "cuCtxSetCurrent");
	create_context = (__typeof__(create_context))dlsym(library, "cuCtxCreate_v2");
	get_function = (__typeof__(get_function))dlsym(library, "cuModuleGetFunction");
	tell_state = (__typeof__(tell_state))dlsym(library, "fake_state");
}

static void make_memory(void)
{
	struct shim_allocation_prop_whole plain = prop;

	NEED(cu.cuMemAlloc_v2(&o.memory, 4 * MIB));
	NEED(cu.cuMemAlloc_v2(&o.exported, 4 * MIB));
	NEED(cu.cuMemAlloc_v2(&o.last_memory, MIB));
	NEED(cu.cuMemAllocManaged(&o.managed, MIB, CU_MANAGED_GLOBAL));
	NEED(cu.cuMemAllocAsync(&o.last_ordered[0], MIB, o.stream));
	NEED(cu.cuMemAllocAsync(&o.last_ordered[1], MIB, o.stream));
	NEED(cu.cuMemPoolCreate(&o.pool, (const struct CUmemPoolProps_st *)&pool_props));
	NEED(cu.cuMemPoolCreate(&o.last_pool, (const struct CUmemPoolProps_st *)&pool_props));
	NEED(cu.cuArrayCreate_v2(&o.last_array,
				 (const struct CUDA_ARRAY_DESCRIPTOR_st *)&flat));
	NEED(cu.cuMipmappedArrayCreate(&o.last_levels,
				       (const struct CUDA_ARRAY3D_DESCRIPTOR_st *)&deep, 1));
	NEED(cu.cuMemCreate(&o.vmm, PAGE, (const struct CUmemAllocationProp_st *)&plain, 0));
	NEED(cu.cuMemCreate(&o.last_vmm, PAGE, (const struct CUmemAllocationProp_st *)&plain,
			    0));
	NEED(cu.cuMemAddressReserve(&o.range, PAGE, 0, 0, 0));
	NEED(cu.cuMemAddressReserve(&o.mapped, PAGE, 0, 0, 0));
	NEED(cu.cuMemMap(o.mapped, PAGE, 0, o.vmm, 0));
	NEED(cu.cuMemAlloc_v2(&o.late_memory, MIB));
	NEED(cu.cuMemAlloc_v2(&o.last_exported, 2 * MIB));
	NEED(cu.cuIpcGetMemHandle(&o.handle, o.last_exported));
	NEED(cu.cuIpcGetMemHandle(&o.handle, o.exported));
}

static void make_code(void)
{
	size_t one = 1;

	NEED(cu.cuModuleLoadData(&o.module, code));
	NEED(cu.cuModuleLoadData(&o.last_module, code));
	NEED(cu.cuLibraryLoadData(&o.library, code, NULL, NULL, 0, NULL, NULL, 0));
	NEED(cu.cuLibraryLoadData(&o.last_library, code, NULL, NULL, 0, NULL, NULL, 0));
	NEED(get_function(&o.function, o.module, "nothing"));
	NEED(get_function(&o.broken, o.module, "broken"));
	NEED(cu.cuStreamBeginCapture_v2(o.stream, 0));
	NEED(cu.cuLaunchKernel(LAUNCH, NULL));
	NEED(cu.cuStreamEndCapture(o.stream, &o.graph));
	NEED(cu.cuStreamBeginCapture_v2(o.stream, 0));
	NEED(cu.cuStreamEndCapture(o.stream, &o.captured));
	NEED(cu.cuGraphGetNodes(o.graph, &o.node, &one));
	NEED(cu.cuGraphInstantiateWithFlags(&o.exec, o.graph, 0));
	NEED(cu.cuGraphInstantiateWithFlags(&o.last_exec, o.graph, 0));
	config.head.stream = params.stream = o.stream;
	params.function = o.function;
}

/* One object of each kind, which is used once. */
static void make_objects(void)
{
	NEED(create_context(&o.last_context, 0, 0));
	/* Rows release it twice. */
	for (int i = 0; i < 3; i++)
		NEED(cu.cuDevicePrimaryCtxRetain(&o.context, 0));
	NEED(set_current(o.context));
	NEED(cu.cuStreamCreate(&o.stream, CU_STREAM_NONBLOCKING));
	NEED(cu.cuStreamCreate(&o.last_stream, CU_STREAM_NONBLOCKING));
	if (is_first())
		return;
	NEED(cu.cuEventCreate(&o.event, CU_EVENT_NO_TIMING));
	NEED(cu.cuEventCreate(&o.last_event, CU_EVENT_NO_TIMING));
	make_memory();
	make_code();
	NEED(cu.cuLaunchKernel(LAUNCH, NULL));
	NEED(cu.cuLaunchKernel(o.function, 1, 1, 1, 1, 1, 1, 0, o.last_stream, NULL, NULL));
	NEED(cu.cuEventRecord(o.last_event, o.stream));
	NEED(cu.cuCtxSynchronize());
}

static void fail_kernel(void)
{
	NEED(cu.cuLaunchKernel(o.broken, 1, 1, 1, 1, 1, 1, 0, o.stream, NULL, NULL));
	cu.cuStreamSynchronize(o.stream);
}

/* Rows that need a stream get the default one. */
static void forget_streams(void)
{
	o.stream = NULL;
	config.head.stream = params.stream = NULL;
}

static void in_child(void)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (!child) {
		alarm(SECONDS);
		make_rows();
		exit(0);
	}
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		kill(getpid(), WTERMSIG(status));
}

/* In a process of its own, from row *row on. */
static void enter(void)
{
	if (state == ENDED)
		atexit(make_rows); /* before the driver's handler is there: it runs after it */
	find_calls();
	if (state != EARLY)
		NEED(init(0));
	if (state > BARE)
		make_objects();
	switch (state) {
	case EXECED:
		if (again)
			break;
		fflush(stdout);
		execl("/proc/self/exe", "states", "again", (char *)NULL);
		_exit(1);
	case FAILED:
		fail_kernel();
		break;
	case DESTROYED:
		NEED(cu.cuDevicePrimaryCtxReset_v2(0));
		forget_streams();
		break;
	case FORKED:
		forget_streams();
		in_child();
		return;
	case ENDED:
		return;
	}
	make_rows();
}

static void watch(void)
{
	pid_t child;
	int status;

	*row = 0;
	while (*row < ROW_COUNT) {
		int first = *row;

		fflush(stdout);
		child = fork();
		if (!child) {
			alarm(SECONDS);
			enter();
			exit(0);
		}
		waitpid(child, &status, 0);
		if (*row < ROW_COUNT && WIFSIGNALED(status))
			printf("%s %s signal %d\n", state_names[state], rows[*row].name,
			       WTERMSIG(status));
		else if (status)
			printf("%s ends with %x\n", state_names[state], (unsigned int)status);
		if (WIFSIGNALED(status))
			++*row;
		else if (*row == first)
			return;
	}
}

int main(int argc, char **argv)
{
	row = mmap(NULL, sizeof(*row), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		   0);
	if (argc > 1 && !strcmp(argv[1], "again")) {
		again = true;
		state = EXECED;
		watch();
		return 0;
	}
	for (state = 0; state_names[state]; state++)
		if (argc < 2 || !strcmp(argv[1], state_names[state]))
			watch();
	return 0;
}
