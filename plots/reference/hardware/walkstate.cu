// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Does the CPU time that a fault costs for each page of 64 KB belong to pages that the CPU wrote? One
 * thread walks through managed memory, a page of 64 KB at a time ("walk"), or one thread for each
 * block of 2 MiB does, all at once ("wide"). Before, the memory was
 *
 *   written   by the CPU
 *   back      written by the CPU, moved to the GPU and back to the host
 *   evicted   written by the GPU alone and moved to the host, where it gets whole chunks
 *
 * Build: nvcc -O2 -arch=sm_90 -o walkstate walkstate.cu
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <time.h>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(x)                                                                  \
	do {                                                                      \
		cudaError_t error_ = (x);                                         \
		if (error_) {                                                     \
			printf("%s: %s\n", #x, cudaGetErrorString(error_));       \
			exit(1);                                                  \
		}                                                                 \
	} while (0)

static const size_t PAGE = 65536, BLOCK = 2 << 20;

static double now_us()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

__global__ void fill(char *p, size_t n)
{
	size_t step = (size_t)gridDim.x * blockDim.x * 4;

	for (size_t i = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * 4; i < n; i += step)
		*(int *)(p + i) = (int)i;
}

__global__ void walk(const volatile char *p, size_t n, int *out)
{
	int sum = 0;

	p += blockIdx.x * n;
	for (size_t i = 0; i < n; i += PAGE)
		sum += p[i];
	*out = sum;
}

static void move(char *p, size_t n, bool to_gpu)
{
	cudaMemLocation where = {};

	where.type = to_gpu ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
	CHECK(cudaMemPrefetchAsync(p, n, where, 0, 0));
	CHECK(cudaDeviceSynchronize());
}

static double run(size_t blocks, const std::string &state, const std::string &how, int *out)
{
	size_t n = blocks * BLOCK;
	double start;
	char *p;

	CHECK(cudaMallocManaged(&p, n));
	if (state == "evicted") {
		fill<<<264, 256>>>(p, n);
		CHECK(cudaDeviceSynchronize());
	} else {
		memset(p, 1, n);
	}
	if (state == "back")
		move(p, n, true);
	if (state != "written")
		move(p, n, false);
	start = now_us();
	if (how == "walk")
		walk<<<1, 1>>>(p, n, out);
	else
		walk<<<blocks, 1>>>(p, BLOCK, out);
	CHECK(cudaDeviceSynchronize());
	start = now_us() - start;
	CHECK(cudaFree(p));
	return start;
}

int main()
{
	int *out;

	CHECK(cudaMalloc(&out, 4));
	walk<<<1, 1>>>((char *)out, 1, out);
	CHECK(cudaDeviceSynchronize());
	for (size_t blocks : { 64, 256 })
		for (std::string state : { "written", "back", "evicted" })
			for (std::string how : { "walk", "wide" }) {
				std::vector<double> us;

				for (int r = 0; r < 9; r++)
					us.push_back(run(blocks, state, how, out));
				std::sort(us.begin(), us.end());
				printf("%s %s blocks %zu p50 %.0f us, a block %.1f, min %.0f max %.0f\n",
				       how.c_str(), state.c_str(), blocks, us[4], us[4] / blocks,
				       us[0], us[8]);
				fflush(stdout);
			}
	return 0;
}
