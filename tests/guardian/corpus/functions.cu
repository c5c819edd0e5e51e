// SPDX-License-Identifier: MIT OR GPL-2.0
// Kernels that call functions.
extern "C" {
// Generic addresses: which of them is shared memory is known when it runs.
__device__ __noinline__ int sum_of(const int *x, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

__global__ void generic_function(int *out, const int *in, int choice)
{
	__shared__ int mine[64];

	mine[threadIdx.x] = in[threadIdx.x] * 2;
	__syncthreads();
	out[threadIdx.x] = sum_of(choice ? mine : in, 64);
}

}
