/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What fake_cuda.c has and its programs use beside the calls of cuda_api.h. */
#ifndef TESTS_SHIM_FAKE_CUDA_H
#define TESTS_SHIM_FAKE_CUDA_H

#include <stdbool.h>

#include "cuda_api.h"

#define FAKE __attribute__((visibility("default")))

/* Of CUDA, and not hooked. */
cu_result cuInit(unsigned int flags);
cu_result cuCtxSetCurrent(struct CUctx_st *context);
cu_result cuCtxCreate_v2(struct CUctx_st **context, unsigned int flags, int device);
cu_result cuModuleGetFunction(struct CUfunc_st **f, struct CUmod_st *module, const char *name);
cu_result cuMemPoolGetAttribute(struct CUmemPoolHandle_st *pool, unsigned int attribute,
				void *value);

/* Not of CUDA. */

/* cuMemAlloc of CUDA 99. */
cu_result cuMemAlloc_v3(cu_ptr *ptr, size_t bytes, unsigned int flags);
/* Destroy a context by a call that nobody knows. */
void fake_lose_context(struct CUctx_st *context);
/* From now on launches do not end; fake_release() ends them all. */
void fake_hold(void);
void fake_release(void);
/* The next thread in @call stays there for ever; calls that have fake_enter(). */
void fake_stay(const char *call);
/* The next thread in @call stays there for @milliseconds. */
void fake_linger(const char *call, unsigned int milliseconds);
/* Wait until it is there. */
void fake_await_stay(void);
/* It is there. */
bool fake_stays(void);
/* The next fork makes this call before it forks, after the shim has prepared for it. */
void fake_in_fork(void (*call)(void));
/* The process is in this state from now on: fake_states.c. */
void fake_state(const char *name);
/* Meanwhile the first @count of all launches have ended. */
void fake_end_first(unsigned long count);
/* The process ends, and the driver has closed its files. */
bool fake_has_ended(void);
cu_result fake_graph_create(struct CUgraph_st **graph);
/* Append a node that allocates memory. */
void fake_graph_add_memory(struct CUgraph_st *graph);
/* Append a kernel, or a graph where @child is one. */
struct CUgraphNode_st *fake_graph_add(struct CUgraph_st *graph, struct CUfunc_st *f,
				      void **parameters, struct CUgraph_st *child);

/* X(symbol, name for cuGetProcAddress, first version, per-thread variant) */
#define FAKE_CALLS(X)                                                                         \
	X(cuInit, "cuInit", 2000, 0)                                                          \
	X(cuCtxSetCurrent, "cuCtxSetCurrent", 4000, 0)                                        \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, 0)                      \
	X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000, 0)                    \
	X(cuMemAlloc_v2, "cuMemAlloc", 3020, 0)                                               \
	X(cuMemAllocManaged, "cuMemAllocManaged", 6000, 0)                                    \
	X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, 0)                                     \
	X(cuMemFree_v2, "cuMemFree", 3020, 0)                                                 \
	X(cuMemAllocAsync, "cuMemAllocAsync", 11020, 0)                                       \
	X(cuMemFreeAsync, "cuMemFreeAsync", 11020, 0)                                         \
	X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, 0)                       \
	X(cuMemPoolCreate, "cuMemPoolCreate", 11020, 0)                                       \
	X(cuMemPoolDestroy, "cuMemPoolDestroy", 11020, 0)                                     \
	X(cuMemPoolGetAttribute, "cuMemPoolGetAttribute", 11020, 0)                           \
	X(cuDeviceGetMemPool, "cuDeviceGetMemPool", 11020, 0)                                 \
	X(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", 11020, 0)                   \
	X(cuDeviceSetMemPool, "cuDeviceSetMemPool", 11020, 0)                                 \
	X(cuArrayCreate_v2, "cuArrayCreate", 3020, 0)                                         \
	X(cuArray3DCreate_v2, "cuArray3DCreate", 3020, 0)                                     \
	X(cuArrayDestroy, "cuArrayDestroy", 2000, 0)                                          \
	X(cuMipmappedArrayCreate, "cuMipmappedArrayCreate", 5000, 0)                          \
	X(cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", 5000, 0)                        \
	X(cuMemGetInfo_v2, "cuMemGetInfo", 3020, 0)                                           \
	X(cuDeviceTotalMem_v2, "cuDeviceTotalMem", 3020, 0)                                   \
	X(cuMemCreate, "cuMemCreate", 10020, 0)                                               \
	X(cuMemRelease, "cuMemRelease", 10020, 0)                                             \
	X(cuMemMap, "cuMemMap", 10020, 0)                                                     \
	X(cuMemUnmap, "cuMemUnmap", 10020, 0)                                                 \
	X(cuMemAddressReserve, "cuMemAddressReserve", 10020, 0)                               \
	X(cuMemAddressFree, "cuMemAddressFree", 10020, 0)                                     \
	X(cuMemSetAccess, "cuMemSetAccess", 10020, 0)                                         \
	X(cuMemGetAddressRange_v2, "cuMemGetAddressRange", 3020, 0)                           \
	X(cuPointerGetAttribute, "cuPointerGetAttribute", 4000, 0)                            \
	X(cuPointerSetAttribute, "cuPointerSetAttribute", 6000, 0)                            \
	X(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010, 0)                                    \
	X(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000, 0)                              \
	X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010, 0)                                \
	X(cuStreamCreate, "cuStreamCreate", 2000, 0)                                          \
	X(cuStreamDestroy_v2, "cuStreamDestroy", 4000, 0)                                     \
	X(cuStreamSynchronize, "cuStreamSynchronize", 2000, 0)                                \
	X(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, 0)                          \
	X(cuStreamEndCapture, "cuStreamEndCapture", 10000, 0)                                 \
	X(cuLaunchKernel, "cuLaunchKernel", 4000, 0)                                          \
	X(cuLaunchKernel_ptsz, "cuLaunchKernel", 7000, 1)                                     \
	X(cuLaunchKernelEx, "cuLaunchKernelEx", 11060, 0)                                     \
	X(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000, 0)                    \
	X(cuLaunchCooperativeKernelMultiDevice, "cuLaunchCooperativeKernelMultiDevice", 9000, \
	  0)                                                                                  \
	X(cuGraphInstantiate_v2, "cuGraphInstantiate", 11000, 0)                              \
	X(cuGraphInstantiateWithFlags, "cuGraphInstantiate", 12000, 0)                        \
	X(cuGraphLaunch, "cuGraphLaunch", 10000, 0)                                           \
	X(cuGraphNodeSetEnabled, "cuGraphNodeSetEnabled", 11060, 0)                           \
	X(cuGraphExecDestroy, "cuGraphExecDestroy", 10000, 0)                                 \
	X(cuModuleLoad, "cuModuleLoad", 2000, 0)                                              \
	X(cuModuleLoadData, "cuModuleLoadData", 2000, 0)                                      \
	X(cuModuleLoadDataEx, "cuModuleLoadDataEx", 2010, 0)                                  \
	X(cuModuleLoadFatBinary, "cuModuleLoadFatBinary", 2000, 0)                            \
	X(cuModuleUnload, "cuModuleUnload", 2000, 0)                                          \
	X(cuModuleGetGlobal_v2, "cuModuleGetGlobal", 3020, 0)                                 \
	X(cuLibraryLoadData, "cuLibraryLoadData", 12000, 0)                                   \
	X(cuLibraryGetGlobal, "cuLibraryGetGlobal", 12000, 0)                                 \
	X(cuLibraryUnload, "cuLibraryUnload", 12000, 0)

#endif
