// SPDX-License-Identifier: MIT OR GPL-2.0
#include "gpu.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int find_calls(struct gpu_cuda *cuda, struct sim_error *err)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		return sim_user_error(err, "%s: is NVIDIA's driver installed?", dlerror());
#define GPU_FIND(call)                                                                      \
	cuda->call = (__typeof__(cuda->call))dlsym(library, #call);                         \
	if (!cuda->call)                                                                    \
		return sim_user_error(err, "libcuda.so.1 has no %s: its driver is too old", \
				      #call);
	FENCED_CUDA(GPU_FIND)
#undef GPU_FIND
	return 0;
}

/*
 * A range of addresses at a multiple of its size, with memory behind all of it: no wild access
 * faults. An offset that mode once keeps leads over the ends of the range, too. There the
 * driver could have anything, also the bounds of a module. So a granule at each end is ours.
 */
static int take_memory(const struct gpu *gpu, u64 bytes, u64 *ret_base, struct sim_error *err)
{
	struct shim_allocation_prop_whole prop = { .head = { .type = CU_ALLOC_PINNED,
							     .location_type =
								     CU_LOCATION_DEVICE,
							     .location_id = gpu->device } };
	struct shim_access access = { CU_LOCATION_DEVICE, gpu->device, CU_ACCESS_ALL };
	const struct gpu_cuda *cuda = &gpu->cuda;
	unsigned long long memory;
	const char *step = "reserve addresses";
	cu_ptr base = 0;
	u64 all = bytes + 2 * GPU_GRANULE;
	/* In front of the first multiple there may be nothing of ours: the second one is taken. */
	cu_result result =
		cuda->cuMemAddressReserve(&base, 2 * bytes + GPU_GRANULE, bytes, 0, 0);

	base += bytes - GPU_GRANULE;
	if (result == CU_OK) {
		step = "take memory";
		result = cuda->cuMemCreate(&memory, all,
					   (const struct CUmemAllocationProp_st *)&prop, 0);
	}
	if (result == CU_OK) {
		step = "map memory";
		result = cuda->cuMemMap(base, all, 0, memory, 0);
	}
	if (result == CU_OK)
		result = cuda->cuMemSetAccess(base, all,
					      (const struct CUmemAccessDesc_st *)&access, 1);
	if (result != CU_OK)
		return sim_user_error(err, "%s: cannot %s: %llu bytes, error %u", gpu->name,
				      step, all, result);
	*ret_base = base + GPU_GRANULE;
	return 0;
}

cu_result gpu_write(const struct gpu *gpu, cu_ptr to, const void *from, size_t bytes)
{
	cu_result result = gpu->cuda.cuMemcpyHtoD_v2(to, from, bytes);

	/* A copy of pageable memory may be under way after its call (CUDA, "API synchronization"). */
	return result == CU_OK ? gpu->cuda.cuStreamSynchronize(NULL) : result;
}

int gpu_open(struct gpu *gpu, int ordinal, u64 bytes, enum gvm_fence_mode mode,
	     struct sim_error *err)
{
	struct gvm_fence_table_config config = { .granule = GPU_GRANULE,
						 .margin = GPU_MARGIN,
						 .tenants = GPU_TENANTS,
						 .allocations = GPU_ALLOCATIONS };
	struct gpu_cuda *cuda = &gpu->cuda;
	size_t total = 0;
	int status = find_calls(cuda, err);

	if (status)
		return status;
	gpu->mode = mode;
	gpu->ordinal = ordinal;
	if (cuda->cuInit(0) != CU_OK || cuda->cuDeviceGet(&gpu->device, ordinal) != CU_OK ||
	    cuda->cuDeviceGetName(gpu->name, sizeof(gpu->name), gpu->device) != CU_OK ||
	    cuda->cuDeviceTotalMem_v2(&total, gpu->device) != CU_OK ||
	    cuda->cuDevicePrimaryCtxRetain(&gpu->context, gpu->device) != CU_OK ||
	    cuda->cuCtxSetCurrent(gpu->context) != CU_OK)
		return sim_user_error(err, "GPU %d cannot be used", ordinal);
	config.bytes = bytes ? bytes : GPU_GRANULE;
	while (!bytes && config.bytes <= total / 4)
		config.bytes *= 2;
	status = take_memory(gpu, config.bytes, &config.base, err);
	if (status)
		return status;
	if (gvm_fence_table_init(&gpu->table, &config))
		return sim_user_error(err, "%llu bytes cannot be cut into partitions",
				      config.bytes);
	return 0;
}

enum gvm_fence_mode gpu_mode_of(const struct gpu *gpu, int pid)
{
	char link[32], path[PATH_MAX];
	ssize_t length = -1;
	const char *name;

	if (!gpu->program_count || pid <= 0)
		return gpu->mode;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return gpu->mode;
	path[length] = '\0';
	name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	for (u32 i = 0; i < gpu->program_count; i++)
		if (!strcmp(gpu->programs[i].name, name))
			return gpu->programs[i].mode;
	return gpu->mode;
}
