// SPDX-License-Identifier: MIT OR GPL-2.0
// A tenant that keeps secrets in shared, local and constant memory while it runs (spaces_gpu.c).

typedef unsigned int u32;

#define WORDS 8192 // 32 KiB of shared memory a block
#define TAG   0x5ec2e740u

extern "C" __constant__ u32 secrets[4096] = { TAG, TAG + 1, TAG + 2, TAG + 3 };

// box[0]: blocks that have begun, box[1]: set to end them, box[2]: words that somebody has changed
extern "C" __global__ void keeper(u32 *box)
{
	extern __shared__ u32 shared[];
	volatile u32 *words = shared, *stop = box + 1;
	volatile u32 local[64];
	u32 changed = 0;

	for (u32 i = threadIdx.x; i < WORDS; i += blockDim.x)
		words[i] = TAG + (i & 63);
	for (u32 i = 0; i < 64; i++)
		local[i] = TAG + i;
	__syncthreads();
	if (!threadIdx.x)
		atomicAdd(box, 1);
	while (!*stop)
		;
	for (u32 i = threadIdx.x; i < WORDS; i += blockDim.x)
		changed += words[i] != TAG + (i & 63);
	for (u32 i = 0; i < 64; i++)
		changed += local[i] != TAG + i;
	changed += secrets[threadIdx.x & 3] != TAG + (threadIdx.x & 3);
	atomicAdd(box + 2, changed);
}
