/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The calls of CUDA's driver API (libcuda.so.1) that the shim hooks or makes, so that it is
 * built without a CUDA toolkit.
 *
 * Sources: the driver API reference of CUDA 12 and 13 (docs.nvidia.com/cuda/cuda-driver-api),
 * which gives each prototype and the version in which it appeared. tests/shim/abi.c includes
 * this header and NVIDIA's cuda.h in one file, where a host has it: a prototype that differs
 * does not compile. Enumerations are unsigned int here, which C calls compatible.
 *
 * A name ending in _ptsz is the variant for programs whose default stream is one per thread.
 */
#ifndef GVM_SHIM_CUDA_API_H
#define GVM_SHIM_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned int cu_result;
typedef unsigned long long cu_ptr;

#define CU_OK		    0u
#define CU_INVALID_VALUE    1u
#define CU_OUT_OF_MEMORY    2u
#define CU_NOT_INITIALIZED  3u
#define CU_INVALID_CONTEXT  201u
#define CU_MAP_FAILED	    205u
#define CU_INVALID_HANDLE   400u
#define CU_SYMBOL_NOT_FOUND 500u
#define CU_FILE_NOT_FOUND   301u
#define CU_NOT_READY	    600u
#define CU_IN_CAPTURE	    900u
#define CU_CAPTURED_EVENT   907u
#define CU_NO_BINARY	    209u
#define CU_INVALID_PTX	    218u
#define CU_NOT_SUPPORTED    801u

/* Streams that are no objects: the context's default stream, and the calling thread's. */
#define CU_LEGACY	       ((struct CUstream_st *)0x1)
#define CU_PER_THREAD	       ((struct CUstream_st *)0x2)

#define CU_PROC_PER_THREAD     2u /* a flag of cuGetProcAddress */
#define CU_MANAGED_GLOBAL      1u
#define CU_EVENT_NO_TIMING     2u
#define CU_STREAM_NONBLOCKING  1u
#define CU_CAPTURE_RELAXED     2u
#define CU_NODE_KERNEL	       0u
#define CU_NODE_GRAPH	       4u
#define CU_NODE_MEM_ALLOC      10u
#define CU_NODE_CONDITIONAL    13u
#define CU_ADVISE_LOCATION     3u
#define CU_DEVICE_CPU	       (-1)
#define CU_EXTRA_BUFFER	       ((void *)1)
#define CU_EXTRA_SIZE	       ((void *)2)
#define CU_LOCATION_DEVICE     1u
#define CU_ALLOC_PINNED	       1u
#define CU_ALLOC_MANAGED       2u /* pools of managed memory: CUDA 13.0 */
#define CU_HANDLE_FD	       1u /* memory can be handed on as a file descriptor */
#define CU_IPC_PEER	       1u /* the only flag of cuIpcOpenMemHandle */
#define CU_POINTER_CONTEXT     1u
#define CU_POINTER_MEMORY_TYPE 2u
#define CU_POINTER_HOST	       4u
#define CU_POINTER_SYNC_MEMOPS 6u
#define CU_POINTER_IS_MANAGED  8u
#define CU_POINTER_CAN_IPC     10u
#define CU_POINTER_START       11u
#define CU_POINTER_SIZE	       12u
#define CU_POINTER_HANDLES     14u /* of cuMemExportToShareableHandle() */
#define CU_MEMORY_DEVICE       2u
#define CU_DEVICE_MANAGED      83u
#define CU_DEVICE_CONCURRENT   89u
#define CU_DEVICE_MAJOR	       75u /* of the compute capability */
#define CU_DEVICE_MINOR	       76u
#define CU_ACCESS_ALL	       3u /* a device may read and write */
#define CU_ARRAY_LAYERED       0x01u
#define CU_ARRAY_CUBEMAP       0x04u
#define CU_ARRAY_SPARSE	       0x40u
#define CU_ARRAY_DEFERRED      0x80u

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUfunc_st;
struct CUkern_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUmemPoolHandle_st;
struct CUarray_st;
struct CUmipmappedArray_st;
struct CUDA_ARRAY_DESCRIPTOR_st;
struct CUDA_ARRAY3D_DESCRIPTOR_st;
struct CUmod_st;
struct CUlib_st;
struct CUmemAccessDesc_st;
struct CUlaunchConfig_st;
struct CUmemAllocationProp_st;
struct CUmemPoolProps_st;
struct CUmemLocation_st;
struct CUipcMemHandle_st;
struct CUDA_LAUNCH_PARAMS_st;
struct CUDA_GRAPH_INSTANTIATE_PARAMS_st;
struct CUgraphEdgeData_st;

/* What the shim reads of NVIDIA's structs: their first fields, with the same layout. */
struct shim_launch_config {
	unsigned int grid[3], block[3], shared_bytes;
	struct CUstream_st *stream;
};

struct shim_launch_params {
	struct CUfunc_st *function;
	unsigned int grid[3], block[3], shared_bytes;
	struct CUstream_st *stream;
	void **parameters;
};

struct shim_allocation_prop {
	unsigned int type, handle_types, location_type;
	int location_id;
};

/* All of it, for the shim's own allocations. */
struct shim_allocation_prop_whole {
	struct shim_allocation_prop head;
	void *security;
	unsigned char flags[8];
};

/* All of it. */
struct shim_array {
	size_t width, height;
	unsigned int format, channels;
};

/* All of it. */
struct shim_array3d {
	size_t width, height, depth;
	unsigned int format, channels, flags;
};

struct shim_location {
	unsigned int type;
	int id;
};

struct shim_access {
	unsigned int location_type;
	int location_id;
	unsigned int flags;
};

struct shim_pool_props {
	unsigned int type, handle_types, location_type;
	int location_id;
	void *security;
	size_t max_bytes;
	unsigned char rest[56];
};

/* Hooked. */
cu_result cuGetProcAddress(const char *symbol, void **pfn, int version, uint64_t flags);
cu_result cuGetProcAddress_v2(const char *symbol, void **pfn, int version, uint64_t flags,
			      unsigned int *found);
cu_result cuMemAlloc_v2(cu_ptr *ptr, size_t bytes);
cu_result cuMemAllocPitch_v2(cu_ptr *ptr, size_t *pitch, size_t width, size_t height,
			     unsigned int element);
cu_result cuMemAllocManaged(cu_ptr *ptr, size_t bytes, unsigned int flags);
cu_result cuMemFree_v2(cu_ptr ptr);
cu_result cuMemAllocAsync(cu_ptr *ptr, size_t bytes, struct CUstream_st *stream);
cu_result cuMemAllocAsync_ptsz(cu_ptr *ptr, size_t bytes, struct CUstream_st *stream);
cu_result cuMemAllocFromPoolAsync(cu_ptr *ptr, size_t bytes, struct CUmemPoolHandle_st *pool,
				  struct CUstream_st *stream);
cu_result cuMemAllocFromPoolAsync_ptsz(cu_ptr *ptr, size_t bytes,
				       struct CUmemPoolHandle_st *pool,
				       struct CUstream_st *stream);
cu_result cuMemFreeAsync(cu_ptr ptr, struct CUstream_st *stream);
cu_result cuMemFreeAsync_ptsz(cu_ptr ptr, struct CUstream_st *stream);
cu_result cuMemPoolCreate(struct CUmemPoolHandle_st **pool,
			  const struct CUmemPoolProps_st *props);
cu_result cuMemPoolDestroy(struct CUmemPoolHandle_st *pool);
cu_result cuDeviceGetDefaultMemPool(struct CUmemPoolHandle_st **pool, int device);
cu_result cuDeviceGetMemPool(struct CUmemPoolHandle_st **pool, int device);
cu_result cuDeviceSetMemPool(int device, struct CUmemPoolHandle_st *pool);
cu_result cuMemGetDefaultMemPool(struct CUmemPoolHandle_st **pool,
				 struct CUmemLocation_st *location, unsigned int type);
cu_result cuMemGetMemPool(struct CUmemPoolHandle_st **pool, struct CUmemLocation_st *location,
			  unsigned int type);
cu_result cuMemSetMemPool(struct CUmemLocation_st *location, unsigned int type,
			  struct CUmemPoolHandle_st *pool);
cu_result cuArrayCreate_v2(struct CUarray_st **array,
			   const struct CUDA_ARRAY_DESCRIPTOR_st *asked);
cu_result cuArray3DCreate_v2(struct CUarray_st **array,
			     const struct CUDA_ARRAY3D_DESCRIPTOR_st *asked);
cu_result cuArrayDestroy(struct CUarray_st *array);
cu_result cuMipmappedArrayCreate(struct CUmipmappedArray_st **array,
				 const struct CUDA_ARRAY3D_DESCRIPTOR_st *asked,
				 unsigned int levels);
cu_result cuMipmappedArrayDestroy(struct CUmipmappedArray_st *array);
cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
cu_result cuDeviceTotalMem_v2(size_t *bytes, int device);
cu_result cuMemCreate(unsigned long long *handle, size_t bytes,
		      const struct CUmemAllocationProp_st *prop, unsigned long long flags);
cu_result cuMemRelease(unsigned long long handle);
cu_result cuMemRetainAllocationHandle(unsigned long long *handle, void *address);
cu_result cuMemMap(cu_ptr ptr, size_t bytes, size_t offset, unsigned long long handle,
		   unsigned long long flags);
cu_result cuMemUnmap(cu_ptr ptr, size_t bytes);
cu_result cuMemGetAddressRange_v2(cu_ptr *start, size_t *bytes, cu_ptr ptr);
cu_result cuPointerGetAttribute(void *data, unsigned int attribute, cu_ptr ptr);
cu_result cuPointerGetAttributes(unsigned int count, unsigned int *attributes, void **data,
				 cu_ptr ptr);
cu_result cuPointerSetAttribute(const void *value, unsigned int attribute, cu_ptr ptr);
cu_result cuIpcGetMemHandle(struct CUipcMemHandle_st *handle, cu_ptr ptr);
cu_result cuIpcOpenMemHandle(cu_ptr *ptr, struct CUipcMemHandle_st handle, unsigned int flags);
cu_result cuIpcOpenMemHandle_v2(cu_ptr *ptr, struct CUipcMemHandle_st handle,
				unsigned int flags);
cu_result cuIpcCloseMemHandle(cu_ptr ptr);
cu_result cuMemGetHandleForAddressRange(void *handle, cu_ptr ptr, size_t bytes,
					unsigned int type, unsigned long long flags);
cu_result cuLaunchKernel(struct CUfunc_st *f, unsigned int gx, unsigned int gy, unsigned int gz,
			 unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
			 struct CUstream_st *stream, void **parameters, void **extra);
cu_result cuLaunchKernel_ptsz(struct CUfunc_st *f, unsigned int gx, unsigned int gy,
			      unsigned int gz, unsigned int bx, unsigned int by,
			      unsigned int bz, unsigned int shared, struct CUstream_st *stream,
			      void **parameters, void **extra);
cu_result cuLaunchKernelEx(const struct CUlaunchConfig_st *config, struct CUfunc_st *f,
			   void **parameters, void **extra);
cu_result cuLaunchKernelEx_ptsz(const struct CUlaunchConfig_st *config, struct CUfunc_st *f,
				void **parameters, void **extra);
cu_result cuLaunchCooperativeKernel(struct CUfunc_st *f, unsigned int gx, unsigned int gy,
				    unsigned int gz, unsigned int bx, unsigned int by,
				    unsigned int bz, unsigned int shared,
				    struct CUstream_st *stream, void **parameters);
cu_result cuLaunchCooperativeKernel_ptsz(struct CUfunc_st *f, unsigned int gx, unsigned int gy,
					 unsigned int gz, unsigned int bx, unsigned int by,
					 unsigned int bz, unsigned int shared,
					 struct CUstream_st *stream, void **parameters);
cu_result cuLaunchCooperativeKernelMultiDevice(struct CUDA_LAUNCH_PARAMS_st *list,
					       unsigned int count, unsigned int flags);
cu_result cuLaunch(struct CUfunc_st *f);
cu_result cuLaunchGrid(struct CUfunc_st *f, int width, int height);
cu_result cuLaunchGridAsync(struct CUfunc_st *f, int width, int height,
			    struct CUstream_st *stream);
cu_result cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *stream);
cu_result cuGraphLaunch_ptsz(struct CUgraphExec_st *exec, struct CUstream_st *stream);
cu_result cuGraphInstantiate(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
			     struct CUgraphNode_st **node, char *log, size_t size);
cu_result cuGraphInstantiate_v2(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				struct CUgraphNode_st **node, char *log, size_t size);
cu_result cuGraphInstantiateWithFlags(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				      unsigned long long flags);
cu_result cuGraphInstantiateWithParams(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				       struct CUDA_GRAPH_INSTANTIATE_PARAMS_st *params);
cu_result cuGraphInstantiateWithParams_ptsz(struct CUgraphExec_st **exec,
					    struct CUgraph_st *graph,
					    struct CUDA_GRAPH_INSTANTIATE_PARAMS_st *params);
cu_result cuGraphNodeSetEnabled(struct CUgraphExec_st *exec, struct CUgraphNode_st *node,
				unsigned int enabled);
cu_result cuGraphExecDestroy(struct CUgraphExec_st *exec);
cu_result cuStreamBeginCapture(struct CUstream_st *stream);
cu_result cuStreamBeginCapture_ptsz(struct CUstream_st *stream);
cu_result cuStreamBeginCapture_v2(struct CUstream_st *stream, unsigned int mode);
cu_result cuStreamBeginCapture_v2_ptsz(struct CUstream_st *stream, unsigned int mode);
cu_result cuStreamBeginCaptureToGraph(struct CUstream_st *stream, struct CUgraph_st *graph,
				      struct CUgraphNode_st *const *dependencies,
				      const struct CUgraphEdgeData_st *edges, size_t count,
				      unsigned int mode);
cu_result cuStreamBeginCaptureToGraph_ptsz(struct CUstream_st *stream, struct CUgraph_st *graph,
					   struct CUgraphNode_st *const *dependencies,
					   const struct CUgraphEdgeData_st *edges, size_t count,
					   unsigned int mode);
cu_result cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph);
cu_result cuStreamEndCapture_ptsz(struct CUstream_st *stream, struct CUgraph_st **graph);
cu_result cuStreamDestroy_v2(struct CUstream_st *stream);
cu_result cuCtxDestroy_v2(struct CUctx_st *context);
cu_result cuDevicePrimaryCtxRelease(int device);
cu_result cuDevicePrimaryCtxRelease_v2(int device);
cu_result cuDevicePrimaryCtxReset(int device);
cu_result cuDevicePrimaryCtxReset_v2(int device);
cu_result cuModuleLoad(struct CUmod_st **module, const char *path);
cu_result cuModuleLoadData(struct CUmod_st **module, const void *image);
cu_result cuModuleLoadDataEx(struct CUmod_st **module, const void *image, unsigned int count,
			     unsigned int *options, void **values);
cu_result cuModuleLoadFatBinary(struct CUmod_st **module, const void *image);
cu_result cuModuleUnload(struct CUmod_st *module);
cu_result cuLibraryLoadData(struct CUlib_st **library, const void *image, unsigned int *options,
			    void **values, unsigned int count, unsigned int *library_options,
			    void **library_values, unsigned int library_count);
cu_result cuLibraryLoadFromFile(struct CUlib_st **library, const char *path,
				unsigned int *options, void **values, unsigned int count,
				unsigned int *library_options, void **library_values,
				unsigned int library_count);
cu_result cuLibraryUnload(struct CUlib_st *library);

/* Made by the shim, not hooked. */
cu_result cuCtxSynchronize(void);
cu_result cuModuleGetGlobal_v2(cu_ptr *ptr, size_t *bytes, struct CUmod_st *module,
			       const char *name);
cu_result cuLibraryGetGlobal(cu_ptr *ptr, size_t *bytes, struct CUlib_st *library,
			     const char *name);
cu_result cuMemcpyHtoD_v2(cu_ptr to, const void *from, size_t bytes);
cu_result cuMemcpyDtoD_v2(cu_ptr to, cu_ptr from, size_t bytes);
cu_result cuMemGetAllocationGranularity(size_t *bytes,
					const struct CUmemAllocationProp_st *prop,
					unsigned int option);
cu_result cuMemGetAllocationPropertiesFromHandle(struct CUmemAllocationProp_st *prop,
						 unsigned long long handle);
cu_result cuMemExportToShareableHandle(void *shared, unsigned long long handle,
				       unsigned int type, unsigned long long flags);
cu_result cuMemImportFromShareableHandle(unsigned long long *handle, void *shared,
					 unsigned int type);
cu_result cuDeviceGetCount(int *count);
cu_result cuDeviceCanAccessPeer(int *can, int device, int peer);
cu_result cuMemAddressReserve(cu_ptr *ptr, size_t bytes, size_t alignment, cu_ptr address,
			      unsigned long long flags);
cu_result cuMemAddressFree(cu_ptr ptr, size_t bytes);
cu_result cuMemSetAccess(cu_ptr ptr, size_t bytes, const struct CUmemAccessDesc_st *access,
			 size_t count);
cu_result cuCtxGetCurrent(struct CUctx_st **context);
cu_result cuCtxGetDevice(int *device);
cu_result cuCtxPushCurrent_v2(struct CUctx_st *context);
cu_result cuCtxPopCurrent_v2(struct CUctx_st **context);
cu_result cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device);
cu_result cuDevicePrimaryCtxGetState(int device, unsigned int *flags, int *active);
cu_result cuDeviceGetAttribute(int *value, unsigned int attribute, int device);
cu_result cuDeviceGetPCIBusId(char *text, int length, int device);
cu_result cuEventCreate(struct CUevent_st **event, unsigned int flags);
cu_result cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream);
cu_result cuEventQuery(struct CUevent_st *event);
cu_result cuEventDestroy_v2(struct CUevent_st *event);
cu_result cuStreamIsCapturing(struct CUstream_st *stream, unsigned int *status);
cu_result cuStreamCreate(struct CUstream_st **stream, unsigned int flags);
cu_result cuStreamGetCtx(struct CUstream_st *stream, struct CUctx_st **context);
cu_result cuStreamSynchronize(struct CUstream_st *stream);
cu_result cuThreadExchangeStreamCaptureMode(unsigned int *mode);
cu_result cuGraphGetNodes(struct CUgraph_st *graph, struct CUgraphNode_st **nodes,
			  size_t *count);
cu_result cuGraphNodeGetType(struct CUgraphNode_st *node, unsigned int *type);
cu_result cuGraphChildGraphNodeGetGraph(struct CUgraphNode_st *node, struct CUgraph_st **graph);
cu_result cuFuncGetParamInfo(struct CUfunc_st *f, size_t index, size_t *offset, size_t *size);
cu_result cuKernelGetParamInfo(struct CUkern_st *kernel, size_t index, size_t *offset,
			       size_t *size);
cu_result cuMemAdvise(cu_ptr ptr, size_t bytes, unsigned int advice, int device);
cu_result cuMemPrefetchAsync(cu_ptr ptr, size_t bytes, int device, struct CUstream_st *stream);

/*
 * X(symbol of libcuda, name for cuGetProcAddress, first version with that meaning, variant for
 * per-thread default streams)
 */
#define SHIM_HOOKED(X)                                                                        \
	X(cuGetProcAddress, "cuGetProcAddress", 11030, 0)                                     \
	X(cuGetProcAddress_v2, "cuGetProcAddress", 12000, 0)                                  \
	X(cuMemAlloc_v2, "cuMemAlloc", 3020, 0)                                               \
	X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, 0)                                     \
	X(cuMemAllocManaged, "cuMemAllocManaged", 6000, 0)                                    \
	X(cuMemFree_v2, "cuMemFree", 3020, 0)                                                 \
	X(cuMemAllocAsync, "cuMemAllocAsync", 11020, 0)                                       \
	X(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, 1)                                  \
	X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, 0)                       \
	X(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 11020, 1)                  \
	X(cuMemFreeAsync, "cuMemFreeAsync", 11020, 0)                                         \
	X(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, 1)                                    \
	X(cuMemPoolCreate, "cuMemPoolCreate", 11020, 0)                                       \
	X(cuMemPoolDestroy, "cuMemPoolDestroy", 11020, 0)                                     \
	X(cuDeviceGetMemPool, "cuDeviceGetMemPool", 11020, 0)                                 \
	X(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", 11020, 0)                   \
	X(cuDeviceSetMemPool, "cuDeviceSetMemPool", 11020, 0)                                 \
	X(cuMemGetDefaultMemPool, "cuMemGetDefaultMemPool", 13000, 0)                         \
	X(cuMemGetMemPool, "cuMemGetMemPool", 13000, 0)                                       \
	X(cuMemSetMemPool, "cuMemSetMemPool", 13000, 0)                                       \
	X(cuArrayCreate_v2, "cuArrayCreate", 3020, 0)                                         \
	X(cuArray3DCreate_v2, "cuArray3DCreate", 3020, 0)                                     \
	X(cuArrayDestroy, "cuArrayDestroy", 2000, 0)                                          \
	X(cuMipmappedArrayCreate, "cuMipmappedArrayCreate", 5000, 0)                          \
	X(cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", 5000, 0)                        \
	X(cuMemGetInfo_v2, "cuMemGetInfo", 3020, 0)                                           \
	X(cuDeviceTotalMem_v2, "cuDeviceTotalMem", 3020, 0)                                   \
	X(cuMemCreate, "cuMemCreate", 10020, 0)                                               \
	X(cuMemRelease, "cuMemRelease", 10020, 0)                                             \
	X(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 11000, 0)               \
	X(cuMemMap, "cuMemMap", 10020, 0)                                                     \
	X(cuMemUnmap, "cuMemUnmap", 10020, 0)                                                 \
	X(cuMemGetAddressRange_v2, "cuMemGetAddressRange", 3020, 0)                           \
	X(cuPointerGetAttribute, "cuPointerGetAttribute", 4000, 0)                            \
	X(cuPointerGetAttributes, "cuPointerGetAttributes", 7000, 0)                          \
	X(cuPointerSetAttribute, "cuPointerSetAttribute", 6000, 0)                            \
	X(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010, 0)                                    \
	X(cuIpcOpenMemHandle, "cuIpcOpenMemHandle", 4010, 0)                                  \
	X(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000, 0)                              \
	X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010, 0)                                \
	X(cuMemGetHandleForAddressRange, "cuMemGetHandleForAddressRange", 11070, 0)           \
	X(cuLaunchKernel, "cuLaunchKernel", 4000, 0)                                          \
	X(cuLaunchKernel_ptsz, "cuLaunchKernel", 7000, 1)                                     \
	X(cuLaunchKernelEx, "cuLaunchKernelEx", 11060, 0)                                     \
	X(cuLaunchKernelEx_ptsz, "cuLaunchKernelEx", 11060, 1)                                \
	X(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000, 0)                    \
	X(cuLaunchCooperativeKernel_ptsz, "cuLaunchCooperativeKernel", 9000, 1)               \
	X(cuLaunchCooperativeKernelMultiDevice, "cuLaunchCooperativeKernelMultiDevice", 9000, \
	  0)                                                                                  \
	X(cuLaunch, "cuLaunch", 2000, 0)                                                      \
	X(cuLaunchGrid, "cuLaunchGrid", 2000, 0)                                              \
	X(cuLaunchGridAsync, "cuLaunchGridAsync", 2000, 0)                                    \
	X(cuGraphLaunch, "cuGraphLaunch", 10000, 0)                                           \
	X(cuGraphLaunch_ptsz, "cuGraphLaunch", 10000, 1)                                      \
	X(cuGraphInstantiate, "cuGraphInstantiate", 10000, 0)                                 \
	X(cuGraphInstantiate_v2, "cuGraphInstantiate", 11000, 0)                              \
	X(cuGraphInstantiateWithFlags, "cuGraphInstantiate", 12000, 0)                        \
	X(cuGraphInstantiateWithParams, "cuGraphInstantiateWithParams", 12000, 0)             \
	X(cuGraphInstantiateWithParams_ptsz, "cuGraphInstantiateWithParams", 12000, 1)        \
	X(cuGraphNodeSetEnabled, "cuGraphNodeSetEnabled", 11060, 0)                           \
	X(cuGraphExecDestroy, "cuGraphExecDestroy", 10000, 0)                                 \
	X(cuStreamBeginCapture, "cuStreamBeginCapture", 10000, 0)                             \
	X(cuStreamBeginCapture_ptsz, "cuStreamBeginCapture", 10000, 1)                        \
	X(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, 0)                          \
	X(cuStreamBeginCapture_v2_ptsz, "cuStreamBeginCapture", 10010, 1)                     \
	X(cuStreamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph", 12030, 0)               \
	X(cuStreamBeginCaptureToGraph_ptsz, "cuStreamBeginCaptureToGraph", 12030, 1)          \
	X(cuStreamEndCapture, "cuStreamEndCapture", 10000, 0)                                 \
	X(cuStreamEndCapture_ptsz, "cuStreamEndCapture", 10000, 1)                            \
	X(cuStreamDestroy_v2, "cuStreamDestroy", 4000, 0)                                     \
	X(cuCtxDestroy_v2, "cuCtxDestroy", 4000, 0)                                           \
	X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", 7000, 0)                    \
	X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000, 0)                \
	X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", 7000, 0)                        \
	X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000, 0)                    \
	X(cuModuleLoad, "cuModuleLoad", 2000, 0)                                              \
	X(cuModuleLoadData, "cuModuleLoadData", 2000, 0)                                      \
	X(cuModuleLoadDataEx, "cuModuleLoadDataEx", 2010, 0)                                  \
	X(cuModuleLoadFatBinary, "cuModuleLoadFatBinary", 2000, 0)                            \
	X(cuModuleUnload, "cuModuleUnload", 2000, 0)                                          \
	X(cuModuleGetGlobal_v2, "cuModuleGetGlobal", 3020, 0)                                 \
	X(cuLibraryLoadData, "cuLibraryLoadData", 12000, 0)                                   \
	X(cuLibraryLoadFromFile, "cuLibraryLoadFromFile", 12000, 0)                           \
	X(cuLibraryGetGlobal, "cuLibraryGetGlobal", 12000, 0)                                 \
	X(cuLibraryUnload, "cuLibraryUnload", 12000, 0)

/* cuGetProcAddress knows this by a second name; the symbol is listed above. */
#define SHIM_ALIASES(X) X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040, 0)

#define SHIM_MADE(X)                              \
	X(cuCtxSynchronize)                       \
	X(cuMemcpyHtoD_v2)                        \
	X(cuMemcpyDtoD_v2)                        \
	X(cuMemGetAllocationGranularity)          \
	X(cuMemGetAllocationPropertiesFromHandle) \
	X(cuMemExportToShareableHandle)           \
	X(cuMemImportFromShareableHandle)         \
	X(cuDeviceGetCount)                       \
	X(cuDeviceCanAccessPeer)                  \
	X(cuMemAddressReserve)                    \
	X(cuMemAddressFree)                       \
	X(cuMemSetAccess)                         \
	X(cuCtxGetCurrent)                        \
	X(cuCtxGetDevice)                         \
	X(cuCtxPushCurrent_v2)                    \
	X(cuCtxPopCurrent_v2)                     \
	X(cuDevicePrimaryCtxRetain)               \
	X(cuDevicePrimaryCtxGetState)             \
	X(cuDeviceGetAttribute)                   \
	X(cuDeviceGetPCIBusId)                    \
	X(cuEventCreate)                          \
	X(cuEventRecord)                          \
	X(cuEventQuery)                           \
	X(cuEventDestroy_v2)                      \
	X(cuStreamIsCapturing)                    \
	X(cuStreamCreate)                         \
	X(cuStreamGetCtx)                         \
	X(cuStreamSynchronize)                    \
	X(cuThreadExchangeStreamCaptureMode)      \
	X(cuGraphGetNodes)                        \
	X(cuGraphNodeGetType)                     \
	X(cuGraphChildGraphNodeGetGraph)          \
	X(cuFuncGetParamInfo)                     \
	X(cuKernelGetParamInfo)                   \
	X(cuMemAdvise)                            \
	X(cuMemPrefetchAsync)

#endif
