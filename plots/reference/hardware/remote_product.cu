// SPDX-License-Identifier: MIT OR GPL-2.0
// How often do the weights of a matrix product cross the link, if they lie in host memory? bf16, 4096 x 4096 weights
// (33.5 MB) in managed memory that is "accessed by" the GPU, all else on the GPU.
//     nvcc -O3 -arch=native -o remote_product remote_product.cu -lcublas && ./remote_product
#include <cstdio>
#include <cstring>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#define CK(x) { if ((x) != 0) { printf("ERR %s line %d\n", #x, __LINE__); return 1; } }
typedef __nv_bfloat16 bf;
int main() {
	const int K = 4096, MOST = 16384; const size_t B = 2ull * K * K;
	bf *w, *l, *x, *y; cublasHandle_t h; cudaEvent_t a, b; float one = 1, zero = 0;
	cudaMemLocation cpu = {cudaMemLocationTypeHost, 0}, gpu = {cudaMemLocationTypeDevice, 0};
	CK(cudaMallocManaged(&w, B)); memset(w, 0, B);
	CK(cudaMemAdvise(w, B, cudaMemAdviseSetPreferredLocation, cpu)); CK(cudaMemAdvise(w, B, cudaMemAdviseSetAccessedBy, gpu));
	CK(cudaMalloc(&l, B)); CK(cudaMalloc(&x, 2ull * K * MOST)); CK(cudaMalloc(&y, 2ull * K * MOST));
	CK(cudaMemset(x, 0, 2ull * K * MOST)); CK(cudaMemset(l, 0, B));
	CK(cublasCreate(&h)); CK(cudaEventCreate(&a)); CK(cudaEventCreate(&b));
	for (int m : {1, 16, 64, 256, 1024, 2048, 4096, 8192, 16384}) for (bf *p : {l, w}) {
		float best = 1e9, t;
		for (int i = 0; i < 6; i++) {
			CK(cudaEventRecord(a));
			CK(cublasGemmEx(h, CUBLAS_OP_T, CUBLAS_OP_N, K, m, K, &one, p, CUDA_R_16BF, K, x, CUDA_R_16BF, K, &zero, y,
					CUDA_R_16BF, K, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
			CK(cudaEventRecord(b)); CK(cudaDeviceSynchronize()); CK(cudaEventElapsedTime(&t, a, b));
			if (t < best) best = t; }
		printf("product rows %d weights %s ms %.3f GB/s %.2f\n", m, p == w ? "remote" : "local", best, B / best / 1e6); }
	return 0; }
