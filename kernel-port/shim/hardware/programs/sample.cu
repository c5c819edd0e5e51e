// SPDX-License-Identifier: MIT OR GPL-2.0
// A CUDA sample of ours: every way to launch and to allocate that the runtime has, on threads with
// default streams of their own (build: nvcc --default-stream per-thread) and on 64 streams. Prints a hash and
// how many kernels it launched. Arguments: rounds; a second one lets a thread launch while the process ends.
#include <cooperative_groups.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("ERR %s line %d: %s\n", #x, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

__global__ void twist(uint32_t *x, int n, uint32_t a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] = x[i] * 1664525u + a + i;
}

__global__ void together(uint32_t *x, int n)
{
	cooperative_groups::grid_group grid = cooperative_groups::this_grid();
	for (int i = grid.thread_rank(); i < n; i += grid.size())
		x[i] ^= x[i] >> 13;
	grid.sync();
	for (int i = grid.thread_rank(); i < n; i += grid.size())
		x[i] *= 5;
}

static const int N = 1 << 16;
static unsigned long long launches;

static void go(uint32_t *x, uint32_t a, cudaStream_t s, bool counted = true)
{
	twist<<<N / 256, 256, 0, s>>>(x, N, a);
	CK(cudaGetLastError());
	if (counted)
		__atomic_fetch_add(&launches, 1, __ATOMIC_SEQ_CST);
}

static uint64_t hash_of(const uint32_t *x)
{
	std::vector<uint32_t> h(N);
	uint64_t hash = 1469598103934665603ull;
	CK(cudaMemcpy(h.data(), x, N * 4, cudaMemcpyDeviceToHost));
	for (uint32_t v : h)
		hash = (hash ^ v) * 1099511628211ull;
	return hash;
}

static void own_stream(int rounds, uint64_t *hash)
{
	uint32_t *x;
	CK(cudaMalloc(&x, N * 4));
	CK(cudaMemsetAsync(x, 0, N * 4, 0));
	for (int i = 0; i < rounds; i++)
		go(x, i, 0);
	CK(cudaStreamSynchronize(0));
	*hash = hash_of(x);
	CK(cudaFree(x));
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	uint64_t hash = 0;
	uint32_t *x, *y;
	size_t pitch;
	CK(cudaMalloc(&x, N * 4));
	CK(cudaMemset(x, 0, N * 4));
	// pitched, managed, stream-ordered, pinned
	CK(cudaMallocPitch(&y, &pitch, 1000, N * 4 / 512));
	CK(cudaMemset2D(y, pitch, 0, 1000, N * 4 / 512));
	go(y, 3, 0);
	hash += hash_of(y);
	CK(cudaFree(y));
	CK(cudaMallocManaged(&y, N * 4));
	for (int i = 0; i < N; i++)
		y[i] = i;
	go(y, 4, 0);
	CK(cudaDeviceSynchronize());
	hash += y[N - 1];
	CK(cudaFree(y));
	cudaStream_t s[64];
	for (auto &e : s)
		CK(cudaStreamCreateWithFlags(&e, cudaStreamNonBlocking));
	for (int i = 0; i < rounds; i++) {
		CK(cudaMallocAsync(&y, N * 4, s[0]));
		CK(cudaMemsetAsync(y, 1, N * 4, s[0]));
		go(y, i, s[0]);
		CK(cudaMemcpyAsync(x, y, N * 4, cudaMemcpyDeviceToDevice, s[0]));
		CK(cudaFreeAsync(y, s[0]));
	}
	CK(cudaStreamSynchronize(s[0]));
	hash += hash_of(x);
	// 64 streams
	uint32_t *many[64];
	for (int k = 0; k < 64; k++) {
		CK(cudaMalloc(&many[k], N * 4));
		CK(cudaMemsetAsync(many[k], k, N * 4, s[k]));
	}
	for (int i = 0; i < rounds; i++)
		for (int k = 0; k < 64; k++)
			go(many[k], i, s[k]);
	CK(cudaDeviceSynchronize());
	for (int k = 0; k < 64; k++)
		hash += hash_of(many[k]);
	// cooperative, and the extended launch
	int n = N;
	void *args[] = { &x, &n };
	CK(cudaLaunchCooperativeKernel((void *)together, dim3(64), dim3(256), args, 0, s[1]));
	cudaLaunchConfig_t config = {};
	config.gridDim = N / 256;
	config.blockDim = 256;
	config.stream = s[1];
	CK(cudaLaunchKernelEx(&config, twist, x, n, 9u));
	launches += 2;
	// graphs: captured, with a child, updated
	cudaGraph_t graph, outer;
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	CK(cudaStreamBeginCapture(s[2], cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 10; i++)
		go(x, i, s[2], false);
	CK(cudaStreamEndCapture(s[2], &graph));
	CK(cudaGraphCreate(&outer, 0));
	CK(cudaGraphAddChildGraphNode(&node, outer, nullptr, 0, graph));
	cudaKernelNodeParams kernel = {};
	uint32_t a = 11;
	void *kargs[] = { &x, &n, &a };
	kernel.func = (void *)twist;
	kernel.gridDim = N / 256;
	kernel.blockDim = 256;
	kernel.kernelParams = kargs;
	cudaGraphNode_t last;
	CK(cudaGraphAddKernelNode(&last, outer, &node, 1, &kernel));
	CK(cudaGraphInstantiate(&exec, outer, 0));
	CK(cudaDeviceSynchronize());
	for (int i = 0; i < rounds; i++)
		CK(cudaGraphLaunch(exec, s[2]));
	launches += 11ull * rounds;
	CK(cudaGraphNodeSetEnabled(exec, last, 0));
	CK(cudaGraphLaunch(exec, s[2]));
	launches += 10;
	CK(cudaStreamSynchronize(s[2]));
	hash += hash_of(x);
	// threads, each with a default stream of its own
	uint64_t hashes[4];
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back(own_stream, rounds, &hashes[i]);
	for (auto &t : threads)
		t.join();
	for (uint64_t h : hashes)
		hash += h;
	for (int k = 0; k < 64; k++) {
		CK(cudaFree(many[k]));
		CK(cudaStreamDestroy(s[k]));
	}
	printf("hash %016llx\nkernels %llu\n", (unsigned long long)hash, launches);
	fflush(stdout);
	if (argc > 2) {
		std::thread([x] { for (;;) twist<<<1, 32>>>(x, 32, 1); }).detach();
		return 0;
	}
	CK(cudaFree(x));
	CK(cudaDeviceReset());
	return 0;
}
