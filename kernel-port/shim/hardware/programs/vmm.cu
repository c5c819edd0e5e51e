// SPDX-License-Identifier: MIT OR GPL-2.0
// Virtual memory by the driver's API: reserve, create, map, grow, unmap, remap. build: nvcc vmm.cu -lcuda
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <vector>
#define CU(x) do { CUresult r_ = (x); if (r_) { printf("ERR %s line %d: %d\n", #x, __LINE__, (int)r_); exit(1); } } while (0)

__global__ void fill(uint32_t *x, size_t n, uint32_t a)
{
	for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		x[i] = x[i] * 1664525u + a + (uint32_t)i;
}

int main()
{
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	CUdeviceptr base;
	size_t grain, chunk, freed, total;
	std::vector<CUmemGenericAllocationHandle> handles;
	CU(cuInit(0));
	CUcontext context;
	CU(cuDevicePrimaryCtxRetain(&context, 0));
	CU(cuCtxSetCurrent(context));
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	CU(cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	chunk = 16 * grain;
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CU(cuMemAddressReserve(&base, 8 * chunk, 0, 0, 0));
	for (int i = 0; i < 8; i++) {
		CUmemGenericAllocationHandle handle;
		CU(cuMemCreate(&handle, chunk, &prop, 0));
		CU(cuMemMap(base + i * chunk, chunk, 0, handle, 0));
		CU(cuMemSetAccess(base + i * chunk, chunk, &access, 1));
		CU(cuMemsetD32(base + i * chunk, 1, chunk / 4));
		fill<<<132, 256>>>((uint32_t *)base, (i + 1) * chunk / 4, i);
		handles.push_back(handle);
	}
	CU(cuCtxSynchronize());
	CU(cuMemUnmap(base, chunk));
	CU(cuMemMap(base, chunk, 0, handles[0], 0));
	CU(cuMemSetAccess(base, chunk, &access, 1));
	fill<<<132, 256>>>((uint32_t *)base, 8 * chunk / 4, 99);
	std::vector<uint32_t> h(8 * chunk / 4);
	CU(cuMemcpyDtoH(h.data(), base, 8 * chunk));
	uint64_t hash = 1469598103934665603ull;
	for (uint32_t v : h)
		hash = (hash ^ v) * 1099511628211ull;
	CU(cuMemUnmap(base, 8 * chunk));
	for (auto handle : handles)
		CU(cuMemRelease(handle));
	CU(cuMemAddressFree(base, 8 * chunk));
	CU(cuMemGetInfo(&freed, &total));
	printf("hash %016llx\nkernels 9\n", (unsigned long long)hash);
	CU(cuDevicePrimaryCtxRelease(0));
	return 0;
}
