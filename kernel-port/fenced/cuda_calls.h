/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The calls of CUDA's driver library that gvmfenced makes and that its client library offers,
 * beside those of the shim's cuda_api.h. Source: the driver API reference of CUDA 13.
 */
#ifndef KERNEL_PORT_FENCED_CUDA_CALLS_H
#define KERNEL_PORT_FENCED_CUDA_CALLS_H

#include "cuda_api.h"

cu_result cuInit(unsigned int flags);
cu_result cuDriverGetVersion(int *version);
cu_result cuDeviceGet(int *device, int ordinal);
cu_result cuDeviceGetCount(int *count);
cu_result cuDeviceGetName(char *name, int length, int device);
cu_result cuCtxCreate_v2(struct CUctx_st **context, unsigned int flags, int device);
cu_result cuCtxSetCurrent(struct CUctx_st *context);
cu_result cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module,
			      const char *name);
cu_result cuFuncSetAttribute(struct CUfunc_st *function, unsigned int attribute, int value);
cu_result cuFuncGetAttribute(int *value, unsigned int attribute, struct CUfunc_st *function);
cu_result cuMemcpyDtoH_v2(void *to, cu_ptr from, size_t bytes);
cu_result cuMemcpyDtoD_v2(cu_ptr to, cu_ptr from, size_t bytes);
cu_result cuMemcpyHtoDAsync_v2(cu_ptr to, const void *from, size_t bytes,
			       struct CUstream_st *stream);
cu_result cuMemcpyDtoHAsync_v2(void *to, cu_ptr from, size_t bytes, struct CUstream_st *stream);
cu_result cuMemcpyDtoDAsync_v2(cu_ptr to, cu_ptr from, size_t bytes,
			       struct CUstream_st *stream);
cu_result cuMemsetD8_v2(cu_ptr to, unsigned char value, size_t count);
cu_result cuMemsetD8Async(cu_ptr to, unsigned char value, size_t count,
			  struct CUstream_st *stream);
cu_result cuMemsetD32_v2(cu_ptr to, unsigned int value, size_t count);
cu_result cuMemsetD32Async(cu_ptr to, unsigned int value, size_t count,
			   struct CUstream_st *stream);
cu_result cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned int flags);
cu_result cuMemHostUnregister(void *ptr);
cu_result cuStreamQuery(struct CUstream_st *stream);
cu_result cuStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event,
			    unsigned int flags);
cu_result cuEventSynchronize(struct CUevent_st *event);
cu_result cuEventElapsedTime(float *ms, struct CUevent_st *start, struct CUevent_st *end);

/* X(call): what gvmfenced finds in libcuda.so.1. */
#define FENCED_CUDA(X)              \
	X(cuInit)                   \
	X(cuDeviceGet)              \
	X(cuDeviceGetName)          \
	X(cuDeviceGetAttribute)     \
	X(cuDeviceTotalMem_v2)      \
	X(cuCtxSetCurrent)          \
	X(cuDevicePrimaryCtxRetain) \
	X(cuModuleLoadDataEx)       \
	X(cuModuleUnload)           \
	X(cuModuleGetFunction)      \
	X(cuModuleGetGlobal_v2)     \
	X(cuFuncGetParamInfo)       \
	X(cuFuncSetAttribute)       \
	X(cuFuncGetAttribute)       \
	X(cuMemAddressReserve)      \
	X(cuMemCreate)              \
	X(cuMemMap)                 \
	X(cuMemSetAccess)           \
	X(cuMemcpyHtoD_v2)          \
	X(cuMemcpyHtoDAsync_v2)     \
	X(cuMemcpyDtoHAsync_v2)     \
	X(cuMemcpyDtoDAsync_v2)     \
	X(cuMemsetD8Async)          \
	X(cuMemsetD32Async)         \
	X(cuMemHostRegister_v2)     \
	X(cuMemHostUnregister)      \
	X(cuLaunchKernel)           \
	X(cuStreamCreate)           \
	X(cuStreamDestroy_v2)       \
	X(cuStreamQuery)            \
	X(cuStreamSynchronize)      \
	X(cuStreamWaitEvent)        \
	X(cuEventCreate)            \
	X(cuEventDestroy_v2)        \
	X(cuEventRecord)            \
	X(cuEventQuery)             \
	X(cuEventSynchronize)       \
	X(cuEventElapsedTime)

#endif
