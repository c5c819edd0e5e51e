// SPDX-License-Identifier: MIT OR GPL-2.0
// Kernels that gvmfence leaves unfenced, since the hardware confines these spaces: does it (spaces_gpu.c)?
// found[0]: words with the keeper's tag, found[1]: other words that are not 0. @from is an address in the space.

typedef unsigned long long u64;
typedef unsigned int u32;

#define TAG    0x5ec2e740u
#define ROUNDS 256u // words, from @from on

static __device__ void look(u32 word, u32 *found)
{
	if ((word & ~63u) == TAG)
		atomicAdd(found, 1);
	else if (word)
		atomicAdd(found + 1, 1);
}

#define LOAD(name, opcode, more)                                                            \
	extern "C" __global__ void name(u64 from, u32 *found)                               \
	{                                                                                   \
		u32 word;                                                                   \
                                                                                            \
		more;                                                                       \
		for (u32 i = threadIdx.x; i < ROUNDS; i += blockDim.x) {                    \
			asm volatile(opcode " %0, [%1];" : "=r"(word) : "l"(from + 4 * i) : "memory"); \
			look(word, found);                                                  \
		}                                                                           \
	}

#define STORE(name, opcode, more)                                                           \
	extern "C" __global__ void name(u64 from, u32 *found)                               \
	{                                                                                   \
		more;                                                                       \
		for (u32 i = threadIdx.x; i < ROUNDS; i += blockDim.x)                      \
			asm volatile(opcode " [%0], %1;" : : "l"(from + 4 * i), "r"(7) : "memory"); \
		atomicAdd(found + 1, 1);                                                    \
	}

#define SHARED                              \
	__shared__ volatile u32 own[256];   \
	own[threadIdx.x & 255] = 0;         \
	__syncthreads()
#define LOCAL                               \
	volatile u32 own[16];               \
	for (u32 j = 0; j < 16; j++)        \
		own[j] = 0

extern "C" __constant__ u32 small[16] = { 1 };

LOAD(load_shared, "ld.volatile.shared.u32", SHARED)
STORE(store_shared, "st.volatile.shared.u32", SHARED)
// Shared memory of other blocks of the cluster, by the number of the block in the address; here the cluster is one block.
LOAD(load_cluster, "ld.volatile.shared::cluster.u32", SHARED)
STORE(store_cluster, "st.volatile.shared::cluster.u32", SHARED)
LOAD(load_local, "ld.local.u32", LOCAL)
STORE(store_local, "st.local.u32", LOCAL)
LOAD(load_const, "ld.const.u32", look(small[threadIdx.x & 15] - 1, found))
LOAD(load_param, "ld.param.u32", )

// A product of what lies at @from in shared memory and of ones. The secret's halves are 432.5 and -1856 to -1919: a sum of 16
// of them is -11388 to -11892.
extern "C" __global__ void load_wgmma(u64 from, u32 *found)
{
	__shared__ __align__(1024) unsigned short ones[2048];
	u64 where = from >> 4 & 0x3fff, shape = 8ull << 16 | 16ull << 32, own;
	float d[4] = { 0, 0, 0, 0 };

	for (u32 i = threadIdx.x; i < 2048; i += blockDim.x)
		ones[i] = 0x3c00;
	own = (__cvta_generic_to_shared(ones) >> 4 & 0x3fff) | shape;
	__syncthreads();
	asm volatile("fence.proxy.async.shared::cta;\n\twgmma.fence.sync.aligned;" : : : "memory");
	asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, 0, 0;\n\t"
		     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n\t}"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "l"(where | shape), "l"(own)
		     : "memory");
	asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" : : : "memory");
	for (u32 i = 0; i < 4; i++)
		if (d[i] > -12000 && d[i] < -11000)
			atomicAdd(found, 1);
		else if (d[i] != 0)
			atomicAdd(found + 1, 1);
}

// What mode check writes: does the store behind a trap happen? @from is the address of 64 words of the host.
extern "C" __global__ void store_behind_trap(u64 from, u32 *found)
{
	u64 to = from + 4 * (threadIdx.x & 63);

	asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u64 p, %0, 0;\n\t@p trap;\n\t"
		     "st.volatile.global.u32 [%0], 7;\n\t}" : : "l"(to) : "memory");
	atomicAdd(found + 1, 1);
}
