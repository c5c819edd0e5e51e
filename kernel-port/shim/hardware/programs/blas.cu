// SPDX-License-Identifier: MIT OR GPL-2.0
// cuBLAS: single and batched products in three precisions. build: nvcc blas.cu -lcublas
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <vector>
#define CK(x) do { int e_ = (int)(x); if (e_) { printf("ERR %s line %d: %d\n", #x, __LINE__, e_); exit(1); } } while (0)

template <typename T> __global__ void numbers(T *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] = T((i * 2654435761u >> 16) % 1000 / 1000.0f - 0.5f);
}

template <typename T> static T *matrix(int n)
{
	T *x;
	CK(cudaMalloc(&x, n * sizeof(T)));
	numbers<T><<<(n + 255) / 256, 256>>>(x, n);
	return x;
}

static uint64_t add_hash(uint64_t hash, const void *x, size_t bytes)
{
	std::vector<unsigned char> h(bytes);
	CK(cudaMemcpy(h.data(), x, bytes, cudaMemcpyDeviceToHost));
	for (unsigned char v : h)
		hash = (hash ^ v) * 1099511628211ull;
	return hash;
}

int main()
{
	const int M = 1024;
	uint64_t hash = 1469598103934665603ull;
	cublasHandle_t handle;
	CK(cublasCreate(&handle));
	float *a = matrix<float>(M * M), *b = matrix<float>(M * M), *c = matrix<float>(M * M), f1 = 1, f0 = 0;
	double *da = matrix<double>(M * M), *dc = matrix<double>(M * M), d1 = 1, d0 = 0;
	__half *ha = matrix<__half>(M * M), *hc = matrix<__half>(M * M), h1 = 1.0f, h0 = 0.0f;
	for (int i = 0; i < 50; i++) {
		CK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, M, M, M, &f1, a, M, b, M, &f0, c, M));
		CK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 512, 512, 512, &d1, da, M, da, M, &d0, dc, M));
		CK(cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, M, M, &h1, ha, M, ha, M, &h0, hc, M));
		CK(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &f1, a, 64, 4096, b, 64, 4096, &f0, c, 64, 4096, 100));
		CK(cublasSscal(handle, M * M, &f1, c, 1));
	}
	CK(cudaDeviceSynchronize());
	hash = add_hash(hash, c, M * M * 4);
	hash = add_hash(hash, dc, M * M * 8);
	hash = add_hash(hash, hc, M * M * 2);
	printf("hash %016llx\n", (unsigned long long)hash);
	cublasDestroy(handle);
	return 0;
}
