// SPDX-License-Identifier: MIT OR GPL-2.0
// Hostile kernels for fence_gpu.c: one for each kind and width of access. Each access goes to an address that
// the attacker must not reach. "found" counts: [0] values that carry the neighbour's secret tag, [1] values
// that differ from the attacker's own memory at the wrapped address.
#define TAG 0x5ec2e7ULL

typedef unsigned long long u64;
typedef unsigned int u32;

struct target {
	u64 own, size;	      // the attacker's partition
	u64 neighbour, bytes; // what it wants: the part of a neighbour that holds canaries
	u64 seed;
	u32 rounds;
	u32 wild;    // also addresses anywhere, at the borders, and misaligned by (align - 1)
	u64 align;   // addresses are multiples of this
	u32 *found;
};

__device__ __forceinline__ u64 random64(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

// The neighbour; with @wild in turn its border, the border of the own partition, or anywhere.
__device__ __forceinline__ u64 pick(const struct target *t, u64 *state)
{
	u64 r = random64(state), kind = r & 7, where = random64(state);

	if (!t->wild || kind < 4)
		where = t->neighbour + where % (t->bytes - 64);
	else if (kind == 4)
		where = t->neighbour - 256 + where % 512;
	else if (kind == 5)
		where = t->own + t->size - 256 + where % 512;
	else if (kind == 6)
		where = t->own - 256 + where % 512;
	return where & ~(t->align - 1);
}

#define BEGIN(name)                                                                         \
	extern "C" __global__ void name(struct target t)                                    \
	{                                                                                   \
		u64 state = t.seed + 0x100000001b3ULL * (blockIdx.x * blockDim.x + threadIdx.x); \
		u32 tags = 0, others = 0;                                                   \
                                                                                            \
		for (u32 round = 0; round < t.rounds; round++) {                            \
			u64 a = pick(&t, &state);

#define END                                                                                 \
		}                                                                           \
		/* Five copies: a hostile access that wraps around may hit one of them. */   \
		for (int copy = 0; copy < 5; copy++) {                                      \
			if (tags)                                                           \
				atomicAdd(&t.found[copy << 20], tags);                      \
			if (others)                                                         \
				atomicAdd(&t.found[(copy << 20) + 1], others);              \
		}                                                                           \
	}

// A word of a secret is 0x5ec2e740 + 0 to 63: all its bytes are 0x40 or more. All bytes of own memory are less.
#define OWN(width) (t.own + ((a - t.own) & (t.size - 1) & ~((u64)(width)-1)))

#define LOAD(name, opcode, type, constraint, width)                                         \
	BEGIN(name)                                                                         \
	type x, y;                                                                          \
	asm volatile(opcode " %0, [%1];" : "=" constraint(x) : "l"(a) : "memory");          \
	asm volatile("ld.global.b" #width " %0, [%1];" : "=" constraint(y) : "l"(OWN(width / 8)) : "memory"); \
	tags += ((u64)x & 0xff) >= 0x40;                                                    \
	others += x != y;                                                                   \
	END

LOAD(ld_8, "ld.global.u8", u32, "r", 8)
LOAD(ld_16, "ld.global.u16", unsigned short, "h", 16)
LOAD(ld_32, "ld.global.u32", u32, "r", 32)
LOAD(ld_64, "ld.global.u64", u64, "l", 64)
LOAD(ld_nc_32, "ld.global.nc.u32", u32, "r", 32)
LOAD(ld_volatile_32, "ld.volatile.global.u32", u32, "r", 32)
LOAD(ld_acquire_32, "ld.acquire.gpu.global.u32", u32, "r", 32)
LOAD(ld_evict_64, "ld.global.L1::no_allocate.L2::128B.u64", u64, "l", 64)
LOAD(ldu_32, "ldu.global.u32", u32, "r", 32)
LOAD(ld_generic_8, "ld.u8", u32, "r", 8)
LOAD(ld_generic_32, "ld.u32", u32, "r", 32)
LOAD(ld_generic_64, "ld.u64", u64, "l", 64)

#define LOAD_OFFSET(name, opcode, offset)                                                   \
	BEGIN(name)                                                                         \
	u32 x;                                                                              \
	asm volatile(opcode " %0, [%1+" #offset "];" : "=r"(x) : "l"(a - (u64)(long long)(offset)) : "memory"); \
	tags += (x & 0xff) >= 0x40;                                                         \
	END
LOAD_OFFSET(ld_offset_4, "ld.global.u32", 4)
LOAD_OFFSET(ld_offset_4096, "ld.global.u32", 4096)
LOAD_OFFSET(ld_offset_minus, "ld.global.u32", -128)
LOAD_OFFSET(ld_offset_1m, "ld.global.u32", 1048576)
LOAD_OFFSET(ld_offset_12m, "ld.global.u32", 12582912)
LOAD_OFFSET(ld_generic_offset, "ld.u32", 65536)

BEGIN(ld_v2_64)
	u64 x, y;
	asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(x), "=l"(y) : "l"(a) : "memory");
	tags += (x & 0xff) >= 0x40 || (y & 0xff) >= 0x40;
END
BEGIN(ld_v4_32)
	u32 x, y, z, w;
	asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(a) : "memory");
	tags += ((x | y | z | w) & 0xff) >= 0x40;
END
BEGIN(ld_predicated)
	u32 x = 0;
	asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.u32 %0, [%1]; }"
		     : "+r"(x) : "l"(a), "r"(round & 1) : "memory");
	tags += (x & 0xff) >= 0x40;
END

#define STORE(name, opcode, constraint, value)                                              \
	BEGIN(name)                                                                         \
	asm volatile(opcode " [%0], %1;" : : "l"(a), constraint(value) : "memory");         \
	END
STORE(st_8, "st.global.u8", "r", 1)
STORE(st_16, "st.global.u16", "h", (unsigned short)0x101)
STORE(st_32, "st.global.u32", "r", 0x1010101)
STORE(st_64, "st.global.u64", "l", 0x101010101010101ULL)
STORE(st_volatile_32, "st.volatile.global.u32", "r", 0x1010101)
STORE(st_release_32, "st.release.gpu.global.u32", "r", 0x1010101)
STORE(st_generic_8, "st.u8", "r", 1)
STORE(st_generic_32, "st.u32", "r", 0x1010101)
STORE(st_generic_64, "st.u64", "l", 0x101010101010101ULL)
#define STORE_OFFSET(name, opcode, offset)                                                  \
	BEGIN(name)                                                                         \
	asm volatile(opcode " [%0+" #offset "], %1;" : : "l"(a - (u64)(long long)(offset)), "r"(0x1010101) : "memory"); \
	END
STORE_OFFSET(st_offset_4, "st.global.u32", 4)
STORE_OFFSET(st_offset_minus, "st.global.u32", -4096)
STORE_OFFSET(st_offset_1m, "st.global.u32", 1048576)
STORE_OFFSET(st_offset_12m, "st.global.u32", 12582912)
BEGIN(st_v2_64)
	asm volatile("st.global.v2.u64 [%0], {%1, %1};" : : "l"(a), "l"(0x101010101010101ULL) : "memory");
END
BEGIN(st_v4_32)
	asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" : : "l"(a), "r"(0x1010101) : "memory");
END
BEGIN(st_predicated)
	asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @!p st.global.u32 [%0], %1; }"
		     : : "l"(a), "r"(round & 1) : "memory");
END

// Atomics read and write.
#define ATOMIC32(name, opcode)                                                              \
	BEGIN(name)                                                                         \
	u32 x;                                                                              \
	asm volatile(opcode " %0, [%1], %2;" : "=r"(x) : "l"(a), "r"(0x1010101) : "memory"); \
	tags += (x & 0xff) >= 0x40 && !t.wild;                                              \
	tags += x >> 8 == 0x5ec2e7;                                                         \
	END
ATOMIC32(atom_add_32, "atom.global.add.u32")
ATOMIC32(atom_exch_32, "atom.global.exch.b32")
ATOMIC32(atom_min_32, "atom.global.min.u32")
ATOMIC32(atom_and_32, "atom.global.and.b32")
ATOMIC32(atom_xor_32, "atom.global.xor.b32")
ATOMIC32(atom_inc_32, "atom.global.inc.u32")
ATOMIC32(atom_generic_32, "atom.add.u32")
#define ATOMIC64(name, opcode)                                                              \
	BEGIN(name)                                                                         \
	u64 x;                                                                              \
	asm volatile(opcode " %0, [%1], %2;" : "=l"(x) : "l"(a), "l"(1ULL) : "memory");     \
	tags += x >> 40 == TAG;                                                             \
	END
ATOMIC64(atom_add_64, "atom.global.add.u64")
ATOMIC64(atom_exch_64, "atom.global.exch.b64")
ATOMIC64(atom_min_64, "atom.global.min.u64")
BEGIN(atom_cas_32)
	u32 x;
	asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(x) : "l"(a), "r"(0x5ec2e740), "r"(1) : "memory");
	tags += x >> 8 == 0x5ec2e7;
END
BEGIN(atom_cas_16)
	unsigned short x;
	asm volatile("atom.global.cas.b16 %0, [%1], %2, %3;" : "=h"(x) : "l"(a), "h"((unsigned short)0xe740), "h"((unsigned short)1) : "memory");
	tags += x >> 8 == 0xe7;
END
STORE(red_add_32, "red.global.add.u32", "r", 1)
STORE(red_add_64, "red.global.add.u64", "l", 1ULL)
STORE(red_or_32, "red.global.or.b32", "r", 0xffffffff)
BEGIN(red_add_f32)
	asm volatile("red.global.add.f32 [%0], %1;" : : "l"(a), "f"(1e19f) : "memory");
END
BEGIN(red_add_f16x2)
	asm volatile("red.global.add.noftz.f16x2 [%0], %1;" : : "l"(a), "r"(0x3c003c00) : "memory");
END
BEGIN(red_v4_f32)
	asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" : : "l"(a), "f"(1e19f) : "memory");
END

// Copies to shared memory: what arrives is looked at.
#define COPY(name, how, bytes)                                                              \
	BEGIN(name)                                                                         \
	__shared__ u32 box[256][4];                                                         \
	u32 to = (u32)__cvta_generic_to_shared(box[threadIdx.x]);                           \
	asm volatile("cp.async." how ".shared.global [%0], [%1], " #bytes ";"               \
		     " cp.async.wait_all;" : : "r"(to), "l"(a) : "memory");                 \
	tags += (box[threadIdx.x][0] & 0xff) >= 0x40;                                       \
	END
COPY(copy_4, "ca", 4)
COPY(copy_8, "ca", 8)
COPY(copy_16, "cg", 16)

BEGIN(prefetch)
	asm volatile("prefetch.global.L2 [%0];" : : "l"(a));
END
// Chains of dependent loads: cycles of a load.
extern "C" __global__ void chain(u64 start, u32 steps, u64 *out)
{
	u64 at = start, begin, end;

	for (u32 i = 0; i < steps; i++)
		asm volatile("ld.global.u64 %0, [%0];" : "+l"(at) : : "memory");
	begin = clock64();
	for (u32 i = 0; i < steps; i += 16) {
#pragma unroll
		for (int j = 0; j < 16; j++)
			asm volatile("ld.global.u64 %0, [%0];" : "+l"(at) : : "memory");
	}
	end = clock64();
	out[0] = end - begin;
	out[1] = at;
}

// The same with an offset: the chain holds addresses less 64.
extern "C" __global__ void chain_offset(u64 start, u32 steps, u64 *out)
{
	u64 at = start - 64, begin, end;

	for (u32 i = 0; i < steps; i++)
		asm volatile("ld.global.u64 %0, [%0+64];" : "+l"(at) : : "memory");
	begin = clock64();
	for (u32 i = 0; i < steps; i += 16) {
#pragma unroll
		for (int j = 0; j < 16; j++)
			asm volatile("ld.global.u64 %0, [%0+64];" : "+l"(at) : : "memory");
	}
	end = clock64();
	out[0] = end - begin;
	out[1] = at;
}

extern "C" __global__ void nothing(u64 *a, u64 *b, u64 *c, int n)
{
	if (n == 12345)
		*a = *b + *c;
}
