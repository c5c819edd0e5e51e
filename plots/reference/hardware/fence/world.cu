// SPDX-License-Identifier: MIT OR GPL-2.0
// The honest kernels of fence_gpu.c: they fill memory and look at it. They are never fenced.
typedef unsigned long long u64;
typedef unsigned int u32;

__device__ u32 mixed(u64 i)
{
	i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9ULL;
	i = (i ^ i >> 27) * 0x94d049bb133111ebULL;
	return (u32)(i ^ i >> 31);
}

extern "C" __global__ void fill_secret(u32 *words, u64 count)
{
	for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (u64)blockDim.x)
		words[i] = 0x5ec2e740u + (u32)(i & 63);
}

extern "C" __global__ void fill_own(u32 *words, u64 count)
{
	for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (u64)blockDim.x)
		words[i] = mixed(i) & 0x3f3f3f3fu;
}

extern "C" __global__ void fill_floats(u32 *words, u64 count)
{
	for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (u64)blockDim.x)
		((float *)words)[i] = (float)(mixed(i) >> 8) / 16777216.0f;
}

extern "C" __global__ void fill_indices(u32 *words, u64 count)
{
	for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (u64)blockDim.x)
		words[i] = mixed(i) % (u32)count;
}

extern "C" __global__ void count_changed(u32 *words, u64 count, u64 *changed)
{
	u64 mine = 0;

	for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (u64)blockDim.x)
		mine += words[i] != 0x5ec2e740u + (u32)(i & 63);
	if (mine)
		atomicAdd(changed, mine);
}

extern "C" __global__ void checksum(u32 *words, u64 count, u64 *sum)
{
	u64 mine = 0;

	for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (u64)blockDim.x)
		mine += words[i] * (2 * i + 1);
	atomicAdd(sum, mine);
}
