// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Does a kernel that faults delay another one of its own context?
 *
 *     nvcc -O2 -arch=sm_90 onecontext.cu -o onecontext && ./onecontext >RESULT
 *
 * One process, two streams. The worker's stream has kernels of 100 us and one thread block, one
 * after the other. The pager's stream has kernels that each touch managed memory on the host:
 * a number of 64 KiB pages that are not on the GPU, from a few thread blocks or from as many as
 * fill the GPU. The host moves them back between two kernels. Printed: times of the worker's
 * kernels from one end to the next, alone and beside the pager, and how long a pager's kernel
 * takes. A process of its own for the pager is turns.cu's case. Managed memory: 512 MiB.
 */
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <atomic>
#include <chrono>
#include <vector>

#define CHECK(x)                                                           \
	do {                                                               \
		cudaError_t e_ = (x);                                      \
		if (e_ != cudaSuccess) {                                   \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				cudaGetErrorString(e_));                   \
			exit(1);                                           \
		}                                                          \
	} while (0)

static const size_t PAGE = 64 << 10;

__device__ unsigned long long now(void)
{
	unsigned long long t;
	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
	return t;
}

__global__ void work(unsigned long long ns, unsigned long long *ends, int i)
{
	unsigned long long begin = now();

	while (now() - begin < ns)
		;
	if (!threadIdx.x)
		ends[i] = now();
}

/* Block b touches every @step-th byte of its part, a thread a page. */
__global__ void touch(volatile char *memory, size_t pages)
{
	size_t page = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

	if (page < pages)
		memory[page * PAGE]++;
}

static double percentile(std::vector<double> &v, double p)
{
	return v.empty() ? 0 : v[std::min(v.size() - 1, (size_t)(p * v.size()))];
}

int main(void)
{
	const int kernels = 20000;
	const size_t most = 8192;
	char *memory;
	unsigned long long *ends;
	cudaStream_t worker, pager;
	cudaDeviceProp prop;

	CHECK(cudaGetDeviceProperties(&prop, 0));
	printf("# %s, %d SMs\n", prop.name, prop.multiProcessorCount);
	printf("# onecontext pages blocks: worker's median, P99, longest us; pager's kernels, "
	       "median, longest ms\n");
	CHECK(cudaMallocManaged(&memory, most * PAGE));
	CHECK(cudaMallocHost(&ends, kernels * sizeof(*ends)));
	CHECK(cudaStreamCreateWithFlags(&worker, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&pager, cudaStreamNonBlocking));
	cudaMemLocation host = { cudaMemLocationTypeHost, 0 };
	for (size_t pages :
	     { (size_t)0, (size_t)16, (size_t)256, (size_t)1024, (size_t)4096, (size_t)8192 }) {
		for (int threads : { 32, 1024 }) {
			std::vector<double> gaps, times;
			std::atomic<bool> stop(false);
			std::thread paging([&] {
				cudaEvent_t begin, end;

				CHECK(cudaEventCreate(&begin));
				CHECK(cudaEventCreate(&end));
				while (pages && !stop) {
					float ms;

					CHECK(cudaMemPrefetchAsync(memory, pages * PAGE, host,
								   0, pager));
					CHECK(cudaStreamSynchronize(pager));
					CHECK(cudaEventRecord(begin, pager));
					touch<<<(pages + threads - 1) / threads, threads, 0,
						pager>>>(memory, pages);
					CHECK(cudaEventRecord(end, pager));
					CHECK(cudaStreamSynchronize(pager));
					CHECK(cudaEventElapsedTime(&ms, begin, end));
					times.push_back(ms);
				}
			});
			std::fill(ends, ends + kernels, 0ull);
			for (int i = 0; i < kernels; i++) {
				/* A launch into a full ring would hold CUDA's lock, and the pager up. */
				while (i >= 400 &&
				       !*(volatile unsigned long long *)&ends[i - 400])
					std::this_thread::yield();
				work<<<1, 32, 0, worker>>>(100000, ends, i);
			}
			CHECK(cudaStreamSynchronize(worker));
			stop = true;
			paging.join();
			for (int i = 100; i < kernels; i++)
				gaps.push_back((ends[i] - ends[i - 1]) / 1e3);
			std::sort(gaps.begin(), gaps.end());
			std::sort(times.begin(), times.end());
			printf("onecontext %zu %zu: %.1f %.1f %.1f; %zu %.3f %.3f\n", pages,
			       (pages + threads - 1) / threads, percentile(gaps, .5),
			       percentile(gaps, .99), gaps.back(), times.size(),
			       percentile(times, .5), times.empty() ? 0 : times.back());
			fflush(stdout);
		}
	}
	return 0;
}
