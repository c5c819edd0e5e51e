// SPDX-License-Identifier: MIT OR GPL-2.0
/* Compiled by abi.sh: our declarations beside NVIDIA's. */
#include <cuda.h>

#include "cuda_api.h"

#define SAME(ours, field, theirs, other) \
	_Static_assert(offsetof(struct ours, field) == offsetof(struct theirs, other), #field)
#define VALUE(ours, theirs) \
	_Static_assert((unsigned int)(ours) == (unsigned int)(theirs), #ours)

SAME(shim_launch_config, block, CUlaunchConfig_st, blockDimX);
SAME(shim_launch_config, stream, CUlaunchConfig_st, hStream);
SAME(shim_launch_params, grid, CUDA_LAUNCH_PARAMS_st, gridDimX);
SAME(shim_launch_params, stream, CUDA_LAUNCH_PARAMS_st, hStream);
SAME(shim_launch_params, parameters, CUDA_LAUNCH_PARAMS_st, kernelParams);
_Static_assert(sizeof(struct shim_launch_params) == sizeof(CUDA_LAUNCH_PARAMS), "array");
SAME(shim_allocation_prop, handle_types, CUmemAllocationProp_st, requestedHandleTypes);
SAME(shim_allocation_prop, location_id, CUmemAllocationProp_st, location.id);
SAME(shim_array, format, CUDA_ARRAY_DESCRIPTOR_st, Format);
SAME(shim_array, channels, CUDA_ARRAY_DESCRIPTOR_st, NumChannels);
SAME(shim_array3d, depth, CUDA_ARRAY3D_DESCRIPTOR_st, Depth);
SAME(shim_array3d, channels, CUDA_ARRAY3D_DESCRIPTOR_st, NumChannels);
SAME(shim_array3d, flags, CUDA_ARRAY3D_DESCRIPTOR_st, Flags);
SAME(shim_location, id, CUmemLocation_st, id);
SAME(shim_pool_props, location_id, CUmemPoolProps_st, location.id);
SAME(shim_pool_props, max_bytes, CUmemPoolProps_st, maxSize);
_Static_assert(sizeof(struct shim_pool_props) == sizeof(CUmemPoolProps), "copied whole");

VALUE(CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
VALUE(CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
VALUE(CU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
VALUE(CU_NOT_READY, CUDA_ERROR_NOT_READY);
VALUE(CU_CAPTURED_EVENT, CUDA_ERROR_CAPTURED_EVENT);
VALUE(CU_PROC_PER_THREAD, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
VALUE(CU_MANAGED_GLOBAL, CU_MEM_ATTACH_GLOBAL);
VALUE(CU_EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING);
VALUE(CU_STREAM_NONBLOCKING, CU_STREAM_NON_BLOCKING);
VALUE(CU_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
VALUE(CU_NODE_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL);
VALUE(CU_NODE_GRAPH, CU_GRAPH_NODE_TYPE_GRAPH);
VALUE(CU_NODE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
VALUE(CU_ARRAY_LAYERED, CUDA_ARRAY3D_LAYERED);
VALUE(CU_ARRAY_CUBEMAP, CUDA_ARRAY3D_CUBEMAP);
VALUE(CU_ARRAY_SPARSE, CUDA_ARRAY3D_SPARSE);
VALUE(CU_ARRAY_DEFERRED, CUDA_ARRAY3D_DEFERRED_MAPPING);
VALUE(CU_ADVISE_LOCATION, CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
VALUE(CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
VALUE(CU_ALLOC_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
VALUE(CU_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
VALUE(CU_POINTER_HOST, CU_POINTER_ATTRIBUTE_HOST_POINTER);
VALUE(CU_POINTER_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED);
VALUE(CU_POINTER_START, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
VALUE(CU_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE);
VALUE(CU_DEVICE_MANAGED, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
VALUE(CU_DEVICE_CONCURRENT, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
#if CUDA_VERSION >= 12040
VALUE(CU_NODE_CONDITIONAL, CU_GRAPH_NODE_TYPE_CONDITIONAL);
#endif
#if CUDA_VERSION >= 13000
VALUE(CU_ALLOC_MANAGED, CU_MEM_ALLOCATION_TYPE_MANAGED);
#endif
