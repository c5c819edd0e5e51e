/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What it costs to give chunks of 2 MB back to RM. cudaFree() of managed memory that is on the GPU unmaps it, and
 * frees each chunk to RM's allocator of pages, which clears it on the GPU ("scrub on free"). The same memory on
 * the host has no chunks: the difference is theirs.
 *
 * nvcc -O2 -o release release.cu && ./release
 *
 * A row: MiB, us of cudaFree() for each block of 2 MB with memory on the GPU, on the host; medians of 7. Then the
 * first touch of fresh memory for each block, just after such a free and after a pause of a second.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

static double now_us(void)
{
	return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

__global__ void touch(char *p, size_t bytes)
{
	for (size_t i = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * 4096; i < bytes;
	     i += (size_t)gridDim.x * blockDim.x * 4096)
		p[i] = 1;
}

static double touch_us(char *p, size_t bytes)
{
	double begin = now_us();

	touch<<<132, 128>>>(p, bytes);
	cudaDeviceSynchronize();
	return now_us() - begin;
}

static double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values[values.size() / 2];
}

int main()
{
	cudaFree(0);
	for (size_t mib : { 128, 512, 2048 }) {
		size_t bytes = mib << 20;
		double blocks = mib / 2;
		std::vector<double> gpu, host, soon, late;

		for (int round = 0; round < 7; round++) {
			char *p;
			double begin;

			cudaMallocManaged(&p, bytes);
			touch_us(p, bytes);
			begin = now_us();
			cudaFree(p);
			gpu.push_back((now_us() - begin) / blocks);
			cudaMallocManaged(&p, bytes);
			soon.push_back(touch_us(p, bytes) / blocks);
			cudaFree(p);
			std::this_thread::sleep_for(std::chrono::seconds(1));
			cudaMallocManaged(&p, bytes);
			late.push_back(touch_us(p, bytes) / blocks);
			cudaFree(p);
			cudaMallocManaged(&p, bytes);
			for (size_t i = 0; i < bytes; i += 4096)
				p[i] = 1;
			cudaDeviceSynchronize();
			begin = now_us();
			cudaFree(p);
			host.push_back((now_us() - begin) / blocks);
		}
		std::printf("%5zu MiB  free on the GPU %7.1f us a block  on the host %7.1f  touch soon %7.1f  late %7.1f\n", mib,
			    median(gpu), median(host), median(soon), median(late));
		std::fflush(stdout);
	}
	return 0;
}
