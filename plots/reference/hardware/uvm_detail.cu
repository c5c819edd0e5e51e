// SPDX-License-Identifier: MIT OR GPL-2.0
//
// What NVIDIA's driver does about page faults, in more detail than its overall speed tells: how long a
// fault takes by its place in a VA block and by how long the driver slept before it, how long bursts of
// known shape take, and what a process that faults does to another one's short kernels.
//
//	nvcc -O2 -std=c++17 -arch=native -o uvm_detail uvm_detail.cu
//	./uvm_detail walk|idle|burst|bulk|neighbour ...                               # all, if none is named
//
// A row is "name parameters... values...". Managed memory stays at 2 GiB.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                       \
	do {                                                                              \
		cudaError_t error_ = (call);                                              \
		if (error_ != cudaSuccess) {                                              \
			printf("error %s line %d: %s\n", #call, __LINE__,                 \
			       cudaGetErrorString(error_));                               \
			exit(1);                                                          \
		}                                                                         \
	} while (0)

static const size_t KIB = 1024, MIB = 1024 * KIB, GIB = 1024 * MIB;
static const size_t PAGE = 64 * KIB, BLOCK = 2 * MIB;

static double now_us()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static double quantile(std::vector<double> v, double q)
{
	if (v.empty())
		return 0;
	std::sort(v.begin(), v.end());
	return v[std::min(v.size() - 1, (size_t)(q * v.size()))];
}

__device__ __forceinline__ uint64_t gpu_ns()
{
	uint64_t t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

// One thread reads one address after the other, each after it has done nothing for idle_ns.
__global__ void chase(const char *base, const uint64_t *offsets, int n, uint64_t idle_ns,
		      uint64_t *ret_ns)
{
	for (int i = 0; i < n; i++) {
		uint64_t start = gpu_ns();
		while (gpu_ns() - start < idle_ns)
			;
		start = gpu_ns();
		// The store waits for the value, and the clock is read behind the store.
		*(volatile uint64_t *)&ret_ns[i] = *(volatile const char *)(base + offsets[i]);
		ret_ns[i] = gpu_ns() - start;
	}
}

// Every thread writes one address. The first one wakes the driver up with a few faults of its own
// before it lets them start, all at once.
__global__ void burst(char *base, const uint64_t *offsets, int n, char *warm_up, int warm_ups,
		      volatile int *go, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i == 0) {
		for (int k = 0; k < warm_ups; k++)
			*(volatile uint64_t *)ret_start_ns = *(volatile char *)(warm_up + k * BLOCK);
		*ret_start_ns = gpu_ns();
		__threadfence();
		*go = 1;
	}
	while (!*go)
		;
	if (i < n) {
		volatile char *at = base + offsets[i];
		*at = *at + 1;
		ret_end_ns[i] = gpu_ns();
	}
}

__global__ void spin(uint64_t ns)
{
	uint64_t start = gpu_ns();
	while (gpu_ns() - start < ns)
		;
}

static char *managed(size_t bytes, bool on_host)
{
	char *p;
	CHECK(cudaMallocManaged(&p, bytes));
	if (on_host)
		memset(p, 1, bytes);
	return p;
}

template <class T> static T *to_device(const std::vector<T> &v)
{
	T *p;
	CHECK(cudaMalloc(&p, v.size() * sizeof(T)));
	CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	return p;
}

// Latencies in us of reading the offsets one by one.
static std::vector<double> run_chase(size_t bytes, const std::vector<uint64_t> &offsets,
				     uint64_t idle_ns)
{
	char *p = managed(bytes, true);
	uint64_t *device = to_device(offsets), *ns;
	CHECK(cudaMallocHost(&ns, offsets.size() * 8));
	chase<<<1, 1>>>(p, device, (int)offsets.size(), idle_ns, ns);
	CHECK(cudaDeviceSynchronize());
	std::vector<double> us;
	for (size_t i = 0; i < offsets.size(); i++)
		us.push_back(ns[i] * 1e-3);
	CHECK(cudaFree(p));
	CHECK(cudaFree(device));
	CHECK(cudaFreeHost(ns));
	return us;
}

// A thread walks page by page through 128 blocks: latency by place in the block; and which miss.
static void walk()
{
	const int blocks = 128, pages = 32;
	std::vector<uint64_t> offsets;
	for (int i = 0; i < blocks * pages; i++)
		offsets.push_back(i * PAGE);
	std::vector<double> us = run_chase(blocks * BLOCK, offsets, 0);
	for (int page = 0; page < pages; page++) {
		std::vector<double> at;
		int misses = 0;
		for (int b = 1; b < blocks; b++) {
			at.push_back(us[b * pages + page]);
			misses += at.back() > 10;
		}
		printf("walk page %d missed %d of %d p10 %.1f p50 %.1f p90 %.1f us\n", page, misses,
		       blocks - 1, quantile(at, .1), quantile(at, .5), quantile(at, .9));
	}
}

// One fault after the other in blocks of their own, each after a pause.
static void idle()
{
	for (double pause_us : { 0., 20., 50., 100., 200., 500., 1000., 5000., 20000., 100000. }) {
		int n = pause_us > 10000 ? 25 : 100;
		std::vector<uint64_t> offsets;
		for (int i = 0; i < n; i++)
			offsets.push_back(i * BLOCK + 5 * PAGE);
		std::vector<double> us = run_chase(n * BLOCK, offsets, (uint64_t)(pause_us * 1e3));
		printf("idle pause_us %.0f n %d p10 %.1f p50 %.1f p90 %.1f us\n", pause_us, n,
		       quantile(us, .1), quantile(us, .5), quantile(us, .9));
	}
}

struct shape {
	const char *name;
	size_t bytes;
	bool on_host;
	std::vector<uint64_t> offsets; // one for each thread
};

// Time from the common start until 10 %, 50 % and all of the accesses are made.
static std::vector<double> run_burst(const shape &shape, int warm_ups)
{
	int n = (int)shape.offsets.size();
	char *p = managed(shape.bytes, shape.on_host), *warm = managed(16 * BLOCK, true);
	uint64_t *device = to_device(shape.offsets), *ns;
	int *go;
	CHECK(cudaMalloc(&ns, (n + 1) * 8));
	CHECK(cudaMalloc(&go, 4));
	CHECK(cudaMemset(go, 0, 4));
	CHECK(cudaDeviceSynchronize());
	burst<<<(n + 255) / 256, n < 256 ? (n + 31) / 32 * 32 : 256>>>(p, device, n, warm, warm_ups,
								       go, ns + n, ns);
	CHECK(cudaDeviceSynchronize());
	std::vector<uint64_t> all(n + 1);
	CHECK(cudaMemcpy(all.data(), ns, (n + 1) * 8, cudaMemcpyDeviceToHost));
	std::vector<double> us;
	for (int i = 0; i < n; i++)
		us.push_back((double)(all[i] - all[n]) * 1e-3);
	for (void *q : { (void *)p, (void *)warm, (void *)device, (void *)ns, (void *)go })
		CHECK(cudaFree(q));
	return { quantile(us, .1), quantile(us, .5), *std::max_element(us.begin(), us.end()) };
}

static shape make_shape(const char *name, int blocks, int per_block, size_t stride, bool on_host)
{
	shape s = { name, blocks * BLOCK, on_host, {} };
	for (int b = 0; b < blocks; b++)
		for (int i = 0; i < per_block; i++)
			s.offsets.push_back(b * BLOCK + i * stride);
	return s;
}

static shape shuffled(shape s, const char *name)
{
	uint32_t state = 7;
	s.name = name;
	for (size_t i = s.offsets.size(); i > 1; i--) {
		state = state * 1664525u + 1013904223u;
		std::swap(s.offsets[i - 1], s.offsets[((uint64_t)state * i) >> 32]);
	}
	return s;
}

static std::vector<shape> burst_shapes()
{
	std::vector<shape> shapes;
	for (int k : { 1, 2, 4, 8, 16, 32 })
		shapes.push_back(make_shape("pages_of_a_block", 1, k, PAGE, true));
	for (int n : { 1, 2, 4, 8, 16, 64, 256, 1024 })
		shapes.push_back(make_shape("page_a_block", n, 1, PAGE, true));
	for (int n : { 2, 4, 8, 16, 32, 64, 128, 256, 1024 })
		shapes.push_back(make_shape("all_pages", n, 32, PAGE, true));
	for (int n : { 8, 64, 256, 1024 })
		shapes.push_back(
			shuffled(make_shape("", n, 32, PAGE, true), "all_pages_shuffled"));
	for (int n : { 1, 8, 64, 256 })
		shapes.push_back(make_shape("all_4k_pages", n, 512, 4 * KIB, true));
	for (int n : { 8, 64, 256, 1024 })
		shapes.push_back(make_shape("populate_all_pages", n, 32, PAGE, false));
	for (int n : { 8, 64, 256 })
		shapes.push_back(make_shape("populate_4k_pages", n, 512, 4 * KIB, false));
	return shapes;
}

static void bursts()
{
	for (const shape &s : burst_shapes())
		for (int warm_ups : { 10, 0 }) {
			std::vector<double> first, half, all;
			if (!warm_ups && s.offsets.size() > 64)
				continue;
			for (int r = 0; r < 9; r++) {
				std::vector<double> us = run_burst(s, warm_ups);
				first.push_back(us[0]);
				half.push_back(us[1]);
				all.push_back(us[2]);
				if (!warm_ups)
					usleep(20000);
			}
			printf("burst %s %s blocks %zu pages %zu p10 %.1f p50 %.1f all %.1f min %.1f "
			       "max %.1f us\n",
			       s.name, warm_ups ? "warm" : "cold", s.bytes / BLOCK, s.offsets.size(),
			       quantile(first, .5), quantile(half, .5), quantile(all, .5),
			       quantile(all, 0), quantile(all, 1));
			fflush(stdout);
		}
}

static double run_prefetch(char *p, size_t bytes, bool to_gpu)
{
	cudaMemLocation where = {};
	where.type = to_gpu ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
	double start = now_us();
	CHECK(cudaMemPrefetchAsync(p, bytes, where, 0, 0));
	CHECK(cudaDeviceSynchronize());
	return now_us() - start;
}

// cudaMemPrefetchAsync there, back, and there again: the second time the host memory is there.
static void bulk()
{
	for (size_t bytes : { 64 * MIB, 512 * MIB, 2 * GIB }) {
		std::vector<double> in, out, again;
		for (int r = 0; r < 7; r++) {
			char *p = managed(bytes, true);
			in.push_back(run_prefetch(p, bytes, true));
			out.push_back(run_prefetch(p, bytes, false));
			again.push_back(run_prefetch(p, bytes, true));
			CHECK(cudaFree(p));
		}
		printf("prefetch bytes %zu in %.0f out %.0f in_again %.0f us (out min %.0f max %.0f)\n",
		       bytes, quantile(in, .5), quantile(out, .5), quantile(again, .5),
		       quantile(out, 0), quantile(out, 1));
	}
}

// Be the busy process for some seconds: "compute" keeps 5 ms kernels queued, "fault" pages 512 MiB in
// by a page of each thread, again and again.
static void be_busy(const std::string &how, double seconds)
{
	double end = now_us() + seconds * 1e6;
	shape s = make_shape("", 256, 32, PAGE, true);
	char *p = managed(s.bytes, true);
	uint64_t *device = to_device(s.offsets), *ns;
	int *go, n = (int)s.offsets.size(), one = 1;
	CHECK(cudaMalloc(&ns, (n + 1) * 8));
	CHECK(cudaMalloc(&go, 4));
	CHECK(cudaMemcpy(go, &one, 4, cudaMemcpyHostToDevice));
	while (now_us() < end) {
		if (how == "compute") {
			spin<<<132, 1024>>>(5000000);
		} else {
			burst<<<n / 256, 256>>>(p, device, n, p, 0, go, ns + n, ns);
			CHECK(cudaDeviceSynchronize());
			run_prefetch(p, s.bytes, false);
		}
		CHECK(cudaDeviceSynchronize());
	}
}

// A 100 us kernel every millisecond, beside a process that is busy: how long does it take?
static void neighbour()
{
	for (std::string how : { "nothing", "compute", "fault" }) {
		pid_t busy = 0;
		if (how != "nothing" && !(busy = fork())) {
			be_busy(how, 4);
			_exit(0);
		}
		pid_t self = fork();
		if (!self) {
			spin<<<1, 32>>>(1000);
			CHECK(cudaDeviceSynchronize());
			sleep(2);
			std::vector<double> us;
			for (double end = now_us() + 1.5e6; now_us() < end; usleep(1000)) {
				double start = now_us();
				spin<<<1, 32>>>(100000);
				CHECK(cudaDeviceSynchronize());
				us.push_back(now_us() - start);
			}
			printf("neighbour %s n %zu p50 %.1f p90 %.1f p99 %.1f max %.1f us\n",
			       how.c_str(), us.size(), quantile(us, .5), quantile(us, .9),
			       quantile(us, .99), quantile(us, 1));
			fflush(stdout);
			_exit(0);
		}
		waitpid(self, NULL, 0);
		if (busy)
			waitpid(busy, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	std::vector<std::string> names(argv + 1, argv + argc);
	auto wanted = [&](const char *name) {
		return names.empty() || std::count(names.begin(), names.end(), name);
	};
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (wanted("neighbour"))
		neighbour(); // first: no context may exist before its forks
	if (wanted("walk"))
		walk();
	if (wanted("idle"))
		idle();
	if (wanted("burst"))
		bursts();
	if (wanted("bulk"))
		bulk();
	return 0;
}
