// SPDX-License-Identifier: MIT OR GPL-2.0
extern "C" __global__ void add_one(unsigned int *numbers, unsigned int count)
{
	unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;

	if (at < count)
		numbers[at] = numbers[at] * 3 + at;
}
