// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * How fast is mma.sync?
 *
 * mma.sync is the matrix instruction of Ampere. FlashAttention 2 uses it on every GPU. On
 * Hopper only wgmma reaches the peak of the data sheet, so a kernel's share of that peak on
 * Hopper says nothing about an A100. All warps run m16n8k16 on bf16 with fp32 sums, on
 * registers alone, with as many independent sums as the latency needs.
 *
 *     nvcc -O3 -arch=native -o mma_peak mma_peak.cu && ./mma_peak
 */
#include <stdio.h>
#include <stdlib.h>

#define SUMS  8
#define STEPS 4096
#define FLOP  (2.0 * 16 * 8 * 16)

static void check(cudaError_t error)
{
	if (error != cudaSuccess) {
		fprintf(stderr, "mma_peak: %s\n", cudaGetErrorString(error));
		exit(1);
	}
}

__global__ void run(float *out, unsigned seed)
{
	unsigned a[4], b[2];
	float sum[SUMS][4] = {};

	for (int i = 0; i < 4; i++)
		a[i] = seed + threadIdx.x + i;
	for (int i = 0; i < 2; i++)
		b[i] = seed * 3 + threadIdx.x + i;
	for (int step = 0; step < STEPS; step++) {
#pragma unroll
		for (int i = 0; i < SUMS; i++)
			asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
				     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
				     : "+f"(sum[i][0]), "+f"(sum[i][1]), "+f"(sum[i][2]),
				       "+f"(sum[i][3])
				     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
				       "r"(b[1]));
	}
	for (int i = 0; i < SUMS; i++)
		out[blockIdx.x * blockDim.x + threadIdx.x] +=
			sum[i][0] + sum[i][1] + sum[i][2] + sum[i][3];
}

int main(void)
{
	static const int warps[] = { 4, 8, 16, 32 };
	cudaDeviceProp gpu;
	cudaEvent_t begin, end;
	float *out;

	check(cudaGetDeviceProperties(&gpu, 0));
	check(cudaMalloc(&out, (size_t)gpu.multiProcessorCount * 1024 * sizeof(*out)));
	check(cudaEventCreate(&begin));
	check(cudaEventCreate(&end));
	printf("# %s, %d SMs\n", gpu.name, gpu.multiProcessorCount);
	printf("# warps an SM, TFLOP/s of mma.sync m16n8k16 bf16 in five runs\n");
	for (int i = 0; i < 4; i++) {
		printf("%d", warps[i]);
		for (int round = 0; round < 6; round++) {
			float ms;

			check(cudaEventRecord(begin));
			run<<<gpu.multiProcessorCount, warps[i] * 32>>>(out, 0);
			check(cudaEventRecord(end));
			check(cudaEventSynchronize(end));
			check(cudaEventElapsedTime(&ms, begin, end));
			if (round)
				printf(" %.0f", FLOP * SUMS * STEPS * warps[i] *
							gpu.multiProcessorCount / ms / 1e9);
		}
		printf("\n");
	}
	check(cudaFree(out));
	return 0;
}
