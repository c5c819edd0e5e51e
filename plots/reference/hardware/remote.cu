// SPDX-License-Identifier: MIT OR GPL-2.0
// Remote mappings: a GPU that reads and writes managed memory which stays in host memory, since the
// application said so ("preferred location" CPU, "accessed by" the GPU); beside copies, too.
//     nvcc -O3 -arch=native -o remote remote.cu && ./remote
#include <cstdio>
#include <cuda_runtime.h>
#define N (1ull << 30)
#define P (32ull << 20)
#define CK(x) { if ((x) != cudaSuccess) { printf("ERR %s line %d\n", #x, __LINE__); return 1; } }
__global__ void rd(const uint4 *p, size_t n, uint4 *out) {
	uint4 s = {0, 0, 0, 0};
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
		uint4 v = p[i]; s.x ^= v.x; s.y ^= v.y; s.z ^= v.z; s.w ^= v.w; }
	if (s.x == 12345) *out = s; }
__global__ void wr(uint4 *p, size_t n) {
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		p[i] = make_uint4(i, 1, 2, 3); }
int main() {
	uint4 *m, *d, *h; cudaStream_t s[2]; cudaEvent_t a, b;
	cudaMemLocation cpu = {cudaMemLocationTypeHost, 0}, gpu = {cudaMemLocationTypeDevice, 0};
	CK(cudaMallocManaged(&m, N)); for (size_t i = 0; i < N / 16; i++) m[i].x = 1;
	CK(cudaMemAdvise(m, N, cudaMemAdviseSetPreferredLocation, cpu));
	CK(cudaMemAdvise(m, N, cudaMemAdviseSetAccessedBy, gpu));
	CK(cudaMalloc(&d, N)); CK(cudaHostAlloc(&h, N, 0));
	CK(cudaStreamCreate(&s[0])); CK(cudaStreamCreate(&s[1])); CK(cudaEventCreate(&a)); CK(cudaEventCreate(&b));
	// what: 1 remote reads, 2 remote writes, 4 copies in, 8 copies out
	for (int blocks : {8, 32, 132, 1056}) for (int round = 0; round < 2; round++) for (int w : {1, 2, 5, 9, 6, 10, 4, 8}) {
		float all = 0, t = 0; int done = 0; static cudaEvent_t c[512];
		if (!c[0]) for (auto &one : c) CK(cudaEventCreate(&one));
		CK(cudaEventRecord(a, s[0]));
		for (int i = 0; w & 3 && i < 16; i++)
			if (w & 1) rd<<<blocks, 256, 0, s[0]>>>(m, N / 16, d); else wr<<<blocks, 256, 0, s[0]>>>(m, N / 16);
		if (w & 3) CK(cudaEventRecord(b, s[0]));
		for (int i = 0; w & 12 && i < 512; i++) {
			if (w & 4) { CK(cudaMemcpyAsync(d, h, P, cudaMemcpyHostToDevice, s[1])) }
			else CK(cudaMemcpyAsync(h, d, P, cudaMemcpyDeviceToHost, s[1]));
			CK(cudaEventRecord(c[i], s[1])); }
		CK(cudaDeviceSynchronize());
		if (w & 3) { CK(cudaEventElapsedTime(&all, a, b)) } else CK(cudaEventElapsedTime(&all, a, c[511]));
		// Copies that ended before the kernels did.
		for (int i = 0; w & 12 && i < 512; i++) {
			CK(cudaEventElapsedTime(&t, a, c[i])); done += t <= all; }
		printf("remote blocks %d round %d kernels %s GB/s %.2f beside copies %s GB/s %.2f\n", blocks, round,
		       w & 1 ? "read" : w & 2 ? "write" : "-", w & 3 ? 16 * N / all / 1e6 : 0,
		       w & 4 ? "in" : w & 8 ? "out" : "-", done * P / all / 1e6); }
	return 0; }
