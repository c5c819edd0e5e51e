/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Address fences: the arithmetic that keeps every access of a kernel in one partition of the
 * GPU's address space. fence/address_fence.c explains the modes. Pure functions: no state, no
 * lock, the same in the simulator, in a kernel, in a manager and in a patcher of kernels.
 * Not to be mixed up with struct gvm_fence of ops.h, which stands for copies in flight.
 */
#ifndef GVM_ADDRESS_FENCE_H
#define GVM_ADDRESS_FENCE_H

#include "gvm/port.h"

/* What is done to each load and store of a kernel. */
enum gvm_fence_mode {
	GVM_FENCE_NONE,	  /* nothing; the tenant's own context, without a manager */
	GVM_FENCE_NOPROT, /* nothing, in the common context: through the manager, unprotected */
	GVM_FENCE_MASK,	  /* "fence": AND with the mask, OR with the base */
	GVM_FENCE_ONCE,	  /* "once": the register alone, with an unused margin at both ends */
	GVM_FENCE_4G,	  /* "4g": the upper 32 bits alone, of partitions of 4 GiB and more */
	GVM_FENCE_CHECK,  /* "check": two comparisons; a violation is detected */
	GVM_FENCE_MODULO, /* "modulo": remainder by the size, which may be any */
	GVM_FENCE_COUNT,  /* "count": as MASK; an address that it changes is counted */
	GVM_FENCE_MODES,
};

/* The widest access of one thread, in bytes, and the alignment of all partitions. */
#define GVM_FENCE_WIDTH_MAX 32u
#define GVM_FENCE_ALIGNMENT 256u

/* The smallest partition whose fence may leave the lower half of addresses alone. */
#define GVM_FENCE_4G_BYTES (1ull << 32)

/*
 * The constants that a fenced kernel uses. Filled by gvm_address_fence_init(), then constant.
 */
struct gvm_address_fence {
	enum gvm_fence_mode mode;
	u64 base;	/* first byte of the partition */
	u64 bytes;	/* its size: base + bytes - 1 does not wrap */
	u64 mask;	/* bytes - 1, of MASK, ONCE, 4G and COUNT; else 0 */
	u64 reciprocal; /* floor((2^64 - 1) / bytes), of MODULO; else 0 */
	u64 margin;	/* of ONCE: unused bytes at each end; else 0 */
};

/* Does @mode mask addresses, so that a partition is a power of two? CONTEXT: atomic. */
static inline bool gvm_fence_masks(enum gvm_fence_mode mode)
{
	return mode == GVM_FENCE_MASK || mode == GVM_FENCE_ONCE || mode == GVM_FENCE_4G ||
	       mode == GVM_FENCE_COUNT;
}

/* The upper 64 bits of a product, as PTX has it (mul.hi.u64). CONTEXT: atomic. */
static inline u64 gvm_multiply_high(u64 a, u64 b)
{
	u64 a_low = (u32)a, a_high = a >> 32, b_low = (u32)b, b_high = b >> 32;
	u64 first = a_low * b_low, second = a_high * b_low, third = a_low * b_high;
	u64 middle = (first >> 32) + (u32)second + (u32)third;

	return a_high * b_high + (second >> 32) + (third >> 32) + (middle >> 32);
}

/*
 * An address, or a mask of addresses, rounded down to @width, a power of two. CONTEXT: atomic.
 */
static inline u64 gvm_fence_align(u64 address, u32 width)
{
	return address & ~(u64)(width - 1);
}

/*
 * MASK: the address itself, if it is in the partition; else one that is. @base is a multiple of
 * the size, mask + 1. CONTEXT: atomic.
 */
static inline u64 gvm_fence_mask(u64 address, u64 base, u64 mask)
{
	return (address & mask) | base;
}

/*
 * 4G: the same, for a mask of at least 32 bits; only the upper half changes. CONTEXT: atomic.
 */
static inline u64 gvm_fence_4g(u64 address, u64 base, u64 mask)
{
	u32 upper = ((u32)(address >> 32) & (u32)(mask >> 32)) | (u32)(base >> 32);

	return (u64)upper << 32 | (u32)address;
}

/*
 * MODULO: base + (address - base) % bytes without a division. One multiplication by the
 * reciprocal gives a quotient that may be 1 too small, so one subtraction and one minimum
 * follow. bytes is at most 2^63. CONTEXT: atomic.
 */
static inline u64 gvm_fence_modulo(u64 address, u64 base, u64 bytes, u64 reciprocal)
{
	u64 distance = address - base;
	u64 rest = distance - gvm_multiply_high(distance, reciprocal) * bytes;

	return base + min(rest, rest - bytes);
}

/* CHECK: are @width bytes at @address in the partition? CONTEXT: atomic. */
static inline bool gvm_fence_check(u64 address, u64 width, u64 base, u64 bytes)
{
	return width <= bytes && address - base <= bytes - width;
}

/*
 * ONCE: may an access [register + offset] of @width bytes keep its offset, while only the
 * register is fenced? It may not leave the margins, and a fence that also aligns the register
 * to @width must not move a correct address. All other accesses have the full fence. CONTEXT:
 * atomic.
 */
static inline bool gvm_fence_keeps_offset(u64 margin, s64 offset, u32 width)
{
	u64 reach = offset < 0 ? -(u64)offset : (u64)offset + width;

	return reach <= margin && !((u64)offset & (width - 1));
}

/*
 * The constants of a partition. @margin is used by ONCE alone, and is a multiple of
 * GVM_FENCE_ALIGNMENT. Returns 0, or -EINVAL: the partition is empty or wraps; a mode that
 * masks (gvm_fence_masks()) wants a power of two as size and a multiple of it as base, 4G at
 * least 4 GiB, ONCE more than two margins, MODULO at most 2^63 bytes. CONTEXT: atomic.
 */
int gvm_address_fence_init(struct gvm_address_fence *fence, enum gvm_fence_mode mode, u64 base,
			   u64 bytes, u64 margin);

/*
 * The address that a patched access [@reg + @offset] of @width bytes uses, a power of two up to
 * GVM_FENCE_WIDTH_MAX. All modes that wrap also round it down to a multiple of @width, so that
 * no access is misaligned or crosses the partition's end (with a base and size that are
 * multiples of @width). ONCE may reach into its margins, and its neighbours' margins. NONE and
 * NOPROT change nothing. Returns 0, or -EFAULT: CHECK has detected a violation and *ret_address
 * is as it was. CONTEXT: atomic.
 */
int gvm_address_fence_access(const struct gvm_address_fence *fence, u64 reg, s64 offset,
			     u32 width, u64 *ret_address);

/*
 * May a host call name the bytes [@address, @address + @bytes)? Zero bytes may lie at the
 * partition's end. No sum wraps. CONTEXT: atomic.
 */
static inline bool gvm_address_fence_holds(const struct gvm_address_fence *fence, u64 address,
					   u64 bytes)
{
	return gvm_fence_check(address, bytes, fence->base, fence->bytes);
}

/* Which sides of a copy are on the GPU. */
enum gvm_fence_copy {
	GVM_FENCE_COPY_IN,     /* host to device: the destination is checked */
	GVM_FENCE_COPY_OUT,    /* device to host: the source is */
	GVM_FENCE_COPY_WITHIN, /* device to device: both are */
};

/*
 * Guardian 4.2.2: may a tenant make this copy? An address on the host's side is not looked at.
 * Returns 0 or -EACCES. CONTEXT: atomic.
 */
int gvm_address_fence_copy(const struct gvm_address_fence *fence, enum gvm_fence_copy direction,
			   u64 destination, u64 source, u64 bytes);

/*
 * A mode's name as users write it: "none", "noprot", "fence", "once", "4g", "check", "modulo",
 * "count". Find: the mode, or -EINVAL. CONTEXT: atomic.
 */
const char *gvm_fence_mode_name(enum gvm_fence_mode mode);
int gvm_fence_mode_find(const char *name);

#endif
