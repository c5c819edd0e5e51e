// SPDX-License-Identifier: MIT OR GPL-2.0
/* The driver library's calls that do what another one does, and how programs find them all. */
#include <stdio.h>
#include <string.h>

#include "fake_inside.h"

FAKE cu_result cuDevicePrimaryCtxRelease(int device)
{
	MEASURED();
	return cuDevicePrimaryCtxRelease_v2(device);
}

FAKE cu_result cuGetProcAddress(const char *symbol, void **pfn, int version, uint64_t flags)
{
	MEASURED();
	return cuGetProcAddress_v2(symbol, pfn, version, flags, NULL);
}

FAKE cu_result cuGraphInstantiate(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				  struct CUgraphNode_st **node, char *log, size_t size)
{
	MEASURED();
	return cuGraphInstantiate_v2(exec, graph, node, log, size);
}

FAKE cu_result cuGraphInstantiateWithParams(struct CUgraphExec_st **exec,
					    struct CUgraph_st *graph,
					    struct CUDA_GRAPH_INSTANTIATE_PARAMS_st *params)
{
	MEASURED();
	return params ? cuGraphInstantiateWithFlags(exec, graph, 0) : CU_INVALID_VALUE;
}

FAKE cu_result
cuGraphInstantiateWithParams_ptsz(struct CUgraphExec_st **exec, struct CUgraph_st *graph,
				  struct CUDA_GRAPH_INSTANTIATE_PARAMS_st *params)
{
	MEASURED();
	return cuGraphInstantiateWithParams(exec, graph, params);
}

FAKE cu_result cuGraphLaunch_ptsz(struct CUgraphExec_st *exec, struct CUstream_st *stream)
{
	MEASURED();
	return cuGraphLaunch(exec, stream ? stream : CU_PER_THREAD);
}

FAKE cu_result cuLaunchKernelEx_ptsz(const struct CUlaunchConfig_st *config,
				     struct CUfunc_st *f, void **parameters, void **extra)
{
	struct shim_launch_config own = *(const struct shim_launch_config *)config;

	MEASURED();
	own.stream = own.stream ? own.stream : CU_PER_THREAD;
	return cuLaunchKernelEx((struct CUlaunchConfig_st *)&own, f, parameters, extra);
}

FAKE cu_result cuLaunchCooperativeKernel_ptsz(struct CUfunc_st *f, unsigned int gx,
					      unsigned int gy, unsigned int gz, unsigned int bx,
					      unsigned int by, unsigned int bz,
					      unsigned int shared, struct CUstream_st *stream,
					      void **parameters)
{
	MEASURED();
	return cuLaunchKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, NULL);
}

FAKE cu_result cuLaunch(struct CUfunc_st *f)
{
	MEASURED();
	return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

FAKE cu_result cuLaunchGrid(struct CUfunc_st *f, int width, int height)
{
	MEASURED();
	return width > 0 && height > 0 ? cuLaunch(f) : CU_INVALID_VALUE;
}

FAKE cu_result cuLaunchGridAsync(struct CUfunc_st *f, int width, int height,
				 struct CUstream_st *stream)
{
	MEASURED();
	return width > 0 && height > 0 ?
		       cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL) :
		       CU_INVALID_VALUE;
}

FAKE cu_result cuLibraryLoadFromFile(struct CUlib_st **library, const char *path,
				     unsigned int *options, void **values, unsigned int count,
				     unsigned int *library_options, void **library_values,
				     unsigned int library_count)
{
	MEASURED();
	return cuLibraryLoadData(library, path, options, values, count, library_options,
				 library_values, library_count);
}

/* CUDA 13: pools by location. */

static cu_result device_of(const struct CUmemLocation_st *location, unsigned int type,
			   int *ret_device)
{
	const struct shim_location *at = (const struct shim_location *)location;

	if (!at || at->type != CU_LOCATION_DEVICE || type != CU_ALLOC_PINNED)
		return CU_INVALID_VALUE;
	*ret_device = at->id;
	return CU_OK;
}

FAKE cu_result cuMemGetDefaultMemPool(struct CUmemPoolHandle_st **pool,
				      struct CUmemLocation_st *location, unsigned int type)
{
	int device;

	MEASURED();
	return device_of(location, type, &device) == CU_OK ?
		       cuDeviceGetDefaultMemPool(pool, device) :
		       CU_INVALID_VALUE;
}

FAKE cu_result cuMemGetMemPool(struct CUmemPoolHandle_st **pool,
			       struct CUmemLocation_st *location, unsigned int type)
{
	int device;

	MEASURED();
	return device_of(location, type, &device) == CU_OK ? cuDeviceGetMemPool(pool, device) :
							     CU_INVALID_VALUE;
}

FAKE cu_result cuMemSetMemPool(struct CUmemLocation_st *location, unsigned int type,
			       struct CUmemPoolHandle_st *pool)
{
	int device;

	MEASURED();
	return device_of(location, type, &device) == CU_OK ? cuDeviceSetMemPool(device, pool) :
							     CU_INVALID_VALUE;
}

/* Memory for another device: none is given. */
FAKE cu_result cuMemGetHandleForAddressRange(void *handle, cu_ptr ptr, size_t bytes,
					     unsigned int type, unsigned long long flags)
{
	(void)handle, (void)ptr, (void)bytes, (void)type, (void)flags;
	MEASURED();
	return CU_NOT_SUPPORTED;
}

/* Captures. */

FAKE cu_result cuStreamBeginCapture(struct CUstream_st *stream)
{
	MEASURED();
	return cuStreamBeginCapture_v2(stream, 0);
}

FAKE cu_result cuStreamBeginCapture_ptsz(struct CUstream_st *stream)
{
	MEASURED();
	return cuStreamBeginCapture_v2(stream, 0);
}

FAKE cu_result cuStreamBeginCapture_v2_ptsz(struct CUstream_st *stream, unsigned int mode)
{
	MEASURED();
	return cuStreamBeginCapture_v2(stream, mode);
}

FAKE cu_result cuStreamBeginCaptureToGraph(struct CUstream_st *stream, struct CUgraph_st *graph,
					   struct CUgraphNode_st *const *dependencies,
					   const struct CUgraphEdgeData_st *edges, size_t count,
					   unsigned int mode)
{
	(void)dependencies, (void)edges, (void)count;
	MEASURED();
	return graph ? cuStreamBeginCapture_v2(stream, mode) : CU_INVALID_VALUE;
}

FAKE cu_result cuStreamBeginCaptureToGraph_ptsz(struct CUstream_st *stream,
						struct CUgraph_st *graph,
						struct CUgraphNode_st *const *dependencies,
						const struct CUgraphEdgeData_st *edges,
						size_t count, unsigned int mode)
{
	MEASURED();
	return cuStreamBeginCaptureToGraph(stream, graph, dependencies, edges, count, mode);
}

FAKE cu_result cuStreamEndCapture_ptsz(struct CUstream_st *stream, struct CUgraph_st **graph)
{
	MEASURED();
	return cuStreamEndCapture(stream, graph);
}

/* The first version, which the CUDA runtime asks for. */
FAKE cu_result cuDevicePrimaryCtxReset(int device)
{
	MEASURED();
	fflush(stdout);
	return cuDevicePrimaryCtxReset_v2(device);
}

/*
 * What a later driver may have: a call with one more argument, of the same name. It writes
 * what no other call does.
 */
FAKE cu_result cuMemAlloc_v3(cu_ptr *ptr, size_t bytes, unsigned int flags)
{
	*ptr = flags ? 3 : 0;
	return bytes ? CU_OK : CU_INVALID_VALUE;
}

/* How a statically linked CUDA runtime finds all of them. */

struct entry {
	const char *name;
	int version;
	bool per_thread;
	void *call;
};

#define ENTRY(symbol, name, version, per_thread) \
	{ name, version, per_thread, (void *)(symbol) },
static const struct entry entries[] = {
	FAKE_CALLS(ENTRY){ "cuMemAlloc", 99000, false, (void *)cuMemAlloc_v3 },
	{ "cuDevicePrimaryCtxReset", 7000, false, (void *)cuDevicePrimaryCtxReset },
	{ "cuIpcOpenMemHandle", 4010, false, (void *)cuIpcOpenMemHandle },
};

FAKE cu_result cuGetProcAddress_v2(const char *symbol, void **pfn, int version, uint64_t flags,
				   unsigned int *found)
{
	MEASURED();
	const struct entry *best = NULL;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		const struct entry *entry = &entries[i];

		if (strcmp(entry->name, symbol) != 0 || entry->version > version ||
		    (entry->per_thread && !(flags & CU_PROC_PER_THREAD)))
			continue;
		if (!best || entry->per_thread > best->per_thread ||
		    entry->version > best->version)
			best = entry;
	}
	*pfn = best ? best->call : NULL;
	if (found)
		*found = !best;
	return best ? CU_OK : CU_SYMBOL_NOT_FOUND;
}
