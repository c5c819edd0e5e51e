// SPDX-License-Identifier: MIT OR GPL-2.0
//
// Reads and writes of host memory by kernels, one by one: how long a read takes, how the rate grows with the
// reads in flight, what the size of a request costs, and how fast two processors count by memory.
//
//	nvcc -O2 -std=c++17 -arch=native -o pcie_reads pcie_reads.cu
//	./pcie_reads [GROUP...]		groups: chase flight near writes copies count; without one all of them
//
// A "read" is that of one warp. With width 128 its 32 lanes read a line of 128 bytes, with 64 the first 16 of
// them, with 32 the first 8. Each warp waits for its read before it makes the next one, so there are as many
// reads in flight as warps. Addresses of a warp lie 4 KB apart and are used once, so no cache has them. In the
// group near a warp goes through lines that follow each other, so it seldom comes to another page.
// Host memory is pinned, 1 GiB. Each row is the median of 9.
//
// Groups chase, flight, writes and copies take one GPU. Group count takes a second one, where there is one.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <time.h>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                       \
	do {                                                              \
		cudaError_t error_ = (call);                              \
		if (error_ != cudaSuccess) {                              \
			printf("error %s line %d: %s\n", #call, __LINE__, \
			       cudaGetErrorString(error_));               \
			exit(1);                                          \
		}                                                         \
	} while (0)

static const size_t HOST_BYTES = 1ull << 30;
static const int REPEATS = 9;
static char *host;

static double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values[values.size() / 2];
}

// The time of a kernel in ns, without its launch: the median of runs.
template <typename F> static double kernel_ns(F launch)
{
	std::vector<double> times;
	cudaEvent_t begin, end;

	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	for (int i = 0; i <= REPEATS; i++) {
		float ms;

		CHECK(cudaEventRecord(begin));
		launch();
		CHECK(cudaEventRecord(end));
		CHECK(cudaEventSynchronize(end));
		CHECK(cudaEventElapsedTime(&ms, begin, end));
		if (i)
			times.push_back(ms * 1e6);
	}
	CHECK(cudaEventDestroy(begin));
	CHECK(cudaEventDestroy(end));
	return median(times);
}

static __device__ uint32_t read_host(const char *address)
{
	uint32_t value;

	asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
	return value;
}

// Each warp makes @count reads, one after the other. The memory is 0, which the compiler does not know.
static __global__ void reads(const char *memory, size_t bytes, int count, int width, bool near, uint32_t *sink)
{
	size_t warp = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) / 32;
	size_t warps = gridDim.x * (size_t)blockDim.x / 32;
	int lane = threadIdx.x % 32;
	uint32_t value = 0;

	if (lane * 4 >= width)
		return;
	for (int i = 0; i < count; i++) {
		size_t at = near ? (warp * count + i) * 128 + value : (i * warps + warp) * 4096 + value;

		// Past the end it goes on with the next line of each page.
		at = at % bytes + (near ? 0 : at / bytes * 128 % 4096);
		value = read_host(memory + at % bytes + lane * 4);
	}
	if (value)
		*sink = value;
}

static __global__ void writes(char *memory, size_t bytes, int count, int width)
{
	size_t warp = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) / 32;
	size_t warps = gridDim.x * (size_t)blockDim.x / 32;
	int lane = threadIdx.x % 32;

	if (lane * 4 >= width)
		return;
	for (int i = 0; i < count; i++) {
		size_t at = (i * warps + warp) * 4096;

		at = (at % bytes + at / bytes * 128 % 4096) % bytes;
		asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(memory + at + lane * 4), "r"(0u) : "memory");
	}
}

static void group_chase(uint32_t *sink)
{
	const int count = 4000;

	for (int width : { 32, 64, 128 }) {
		double ns = kernel_ns([&] { reads<<<1, 32>>>(host, HOST_BYTES, count, width, false, sink); });

		printf("chase,%d,1,%.1f,ns a read\n", width, ns / count);
	}
}

static void group_flight(const char *name, bool near, uint32_t *sink)
{
	for (int width : { 32, 64, 128 })
		for (int warps = 1; warps <= 4096; warps *= 2) {
			int threads = warps < 8 ? 32 * warps : 256;
			int blocks = warps * 32 / threads;
			int count = std::max(64, 20000 / warps);
			double ns = kernel_ns([&] {
				reads<<<blocks, threads>>>(host, HOST_BYTES, count, width, near, sink);
			});

			printf("%s,%d,%d,%.4f,GB/s\n", name, width, warps, (double)width * warps * count / ns);
		}
}

static void group_writes(void)
{
	for (int width : { 32, 64, 128 }) {
		const int warps = 2048, count = 400;
		double ns = kernel_ns([&] { writes<<<warps / 8, 256>>>(host, HOST_BYTES, count, width); });

		printf("writes,%d,%d,%.4f,GB/s\n", width, warps, (double)width * warps * count / ns);
	}
}

static void group_copies(void)
{
	char *device;

	CHECK(cudaMalloc(&device, 64 << 20));
	for (size_t bytes = 4096; bytes <= 64 << 20; bytes *= 4) {
		int count = (int)std::max<size_t>(1, (64 << 20) / bytes / 4);
		double in = kernel_ns([&] {
			for (int i = 0; i < count; i++)
				CHECK(cudaMemcpyAsync(device, host + i * bytes, bytes, cudaMemcpyHostToDevice));
		});
		double out = kernel_ns([&] {
			for (int i = 0; i < count; i++)
				CHECK(cudaMemcpyAsync(host + i * bytes, device, bytes, cudaMemcpyDeviceToHost));
		});

		printf("copies,in,%zu,%.3f,GB/s\n", bytes, bytes * count / in);
		printf("copies,out,%zu,%.3f,GB/s\n", bytes, bytes * count / out);
	}
	CHECK(cudaFree(device));
}

// One thread counts: it waits for number i in @look and writes it to @tell. The first one begins.
static __global__ void counts(volatile uint32_t *look, volatile uint32_t *tell, uint32_t rounds, bool first)
{
	for (uint32_t i = 1; i <= rounds; i++) {
		uint32_t value;

		if (first)
			asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(tell), "r"(i) : "memory");
		do
			asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(look) : "memory");
		while (value < i);
		if (!first)
			asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(tell), "r"(i) : "memory");
	}
}

static double now_ns(void)
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

// There and back between a GPU and a CPU, by host memory.
static void count_with_cpu(volatile uint32_t *flags)
{
	const uint32_t rounds = 20000;
	std::vector<double> times;

	for (int i = 0; i < REPEATS; i++) {
		flags[0] = flags[64] = 0;
		CHECK(cudaSetDevice(0));
		counts<<<1, 1>>>((volatile uint32_t *)&flags[0], (volatile uint32_t *)&flags[64], rounds, false);
		// The first round tells that the kernel runs.
		flags[0] = 1;
		while (flags[64] < 1)
			;
		double begin = now_ns();
		for (uint32_t k = 2; k <= rounds; k++) {
			flags[0] = k;
			while (flags[64] < k)
				;
		}
		times.push_back((now_ns() - begin) / (rounds - 1));
		CHECK(cudaDeviceSynchronize());
	}
	printf("count,cpu,host,%.1f,ns there and back\n", median(times));
}

// Likewise between two GPUs. @looks: where each of them looks.
static void count_of_two(const char *name, volatile uint32_t *looks[2])
{
	const uint32_t rounds = 20000;
	std::vector<double> times;

	for (int i = 0; i < REPEATS; i++) {
		cudaEvent_t begin, end;
		float ms;

		for (int gpu = 0; gpu < 2; gpu++) {
			CHECK(cudaMemset((void *)looks[gpu], 0, 4));
			CHECK(cudaDeviceSynchronize());
		}
		CHECK(cudaSetDevice(1));
		counts<<<1, 1>>>(looks[1], looks[0], rounds, false);
		CHECK(cudaSetDevice(0));
		CHECK(cudaEventCreate(&begin));
		CHECK(cudaEventCreate(&end));
		CHECK(cudaEventRecord(begin));
		counts<<<1, 1>>>(looks[0], looks[1], rounds, true);
		CHECK(cudaEventRecord(end));
		CHECK(cudaEventSynchronize(end));
		CHECK(cudaEventElapsedTime(&ms, begin, end));
		CHECK(cudaSetDevice(1));
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaSetDevice(0));
		times.push_back(ms * 1e6 / rounds);
	}
	printf("count,gpu,%s,%.1f,ns there and back\n", name, median(times));
}

static void group_count(void)
{
	uint32_t *flags, *own[2];
	volatile uint32_t *looks[2];
	int gpus, peers;

	CHECK(cudaHostAlloc(&flags, 4096, cudaHostAllocPortable | cudaHostAllocMapped));
	count_with_cpu(flags);
	CHECK(cudaGetDeviceCount(&gpus));
	if (gpus < 2)
		return;
	looks[0] = &flags[0];
	looks[1] = &flags[64];
	count_of_two("host", looks);
	CHECK(cudaDeviceCanAccessPeer(&peers, 0, 1));
	if (!peers)
		return;
	for (int gpu = 0; gpu < 2; gpu++) {
		CHECK(cudaSetDevice(gpu));
		CHECK(cudaDeviceEnablePeerAccess(!gpu, 0));
		CHECK(cudaMalloc(&own[gpu], 4096));
		looks[gpu] = own[gpu];
	}
	CHECK(cudaSetDevice(0));
	count_of_two("peer", looks);
}

int main(int argc, char **argv)
{
	std::vector<std::string> groups(argv + 1, argv + argc);
	auto wanted = [&](const char *name) {
		return groups.empty() || std::find(groups.begin(), groups.end(), name) != groups.end();
	};
	cudaDeviceProp properties;
	int driver;
	uint32_t *sink;

	CHECK(cudaGetDeviceProperties(&properties, 0));
	CHECK(cudaDriverGetVersion(&driver));
	printf("# %s, CUDA driver %d\n# group,width or way,warps or bytes,value,unit\n", properties.name, driver);
	CHECK(cudaHostAlloc(&host, HOST_BYTES, cudaHostAllocPortable | cudaHostAllocMapped));
	memset(host, 0, HOST_BYTES);
	CHECK(cudaMalloc(&sink, 4));
	if (wanted("chase"))
		group_chase(sink);
	if (wanted("flight"))
		group_flight("flight", false, sink);
	if (wanted("near"))
		group_flight("near", true, sink);
	if (wanted("writes"))
		group_writes();
	if (wanted("copies"))
		group_copies();
	if (wanted("count"))
		group_count();
	return 0;
}
