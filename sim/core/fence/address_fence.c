// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Address fences: kernels of several tenants in one address space, each kept in its own part.
 *
 * Layer: fence. Pure functions; nothing waits or locks.
 *
 *
 * The idea (Guardian 4.3 and 4.4)
 *
 * Kernels run side by side only in one GPU context, so they share one address space. Each
 * tenant gets a contiguous partition of it. Before every load and store of a kernel a few
 * instructions force the address into the tenant's partition:
 *
 *                base = 0x7fa2d0000000, 16 MB, mask = 0x000000ffffff
 *
 *      0x7fa2cf123456   wild, in a neighbour's partition
 *    & 0x000000ffffff
 *    | 0x7fa2d0000000
 *    = 0x7fa2d0123456   the tenant's own memory
 *
 * A correct program's addresses do not change. A wild one damages its own tenant only.
 *
 *   mode     instructions       partition                        a wild access
 *   fence    AND, OR            a power of two, aligned          wraps into the partition
 *   once     AND, OR            the same, with two margins       wraps, or ends in a margin
 *   4g       AND, OR, 32 bit    the same, 4 GiB or more          wraps
 *   modulo   seven and two      any                              wraps
 *   check    two comparisons    any                              is detected
 *   count    as fence, and one  as fence                         wraps, and is counted
 *
 * The paper has fence, check and modulo. The others are ours. check stops the kernel, and with
 * it the context that all tenants share. count finds the same accesses and stops nobody.
 *
 *
 * once
 *
 * Many accesses are [register + constant], and unrolled loops use one register for many of
 * them. The full fence adds the constant first and so costs an addition and two operations for
 * each. once fences the register and keeps the constant, so that one fence serves them all. The
 * constant is at most the margin. A margin holds no data: the access ends in the tenant's
 * partition, or in the margin of a neighbour, and neither reads nor changes anyone's data. A
 * correct register lies inside the partition, since the data are a margin away from its ends.
 *
 *
 * How this differs from the paper
 *
 *   1. An access is also rounded down to its own width: one AND does both. A misaligned access
 *      would end the context that all tenants share.
 *   2. The paper's remainder by one reciprocal multiplication is wrong for about a quarter of
 *      all random addresses and sizes: the result is one size too large, which is outside of
 *      the partition. One subtraction and one minimum correct it.
 *   3. The paper accepts a copy from the byte after the partition, and does not say what
 *      happens if address + length wraps. Here zero bytes may lie there, and nothing wraps.
 */
#include "gvm/address_fence.h"

static const char *const mode_names[GVM_FENCE_MODES] = {
	[GVM_FENCE_NONE] = "none",     [GVM_FENCE_NOPROT] = "noprot",
	[GVM_FENCE_MASK] = "fence",    [GVM_FENCE_ONCE] = "once",
	[GVM_FENCE_4G] = "4g",	       [GVM_FENCE_CHECK] = "check",
	[GVM_FENCE_MODULO] = "modulo", [GVM_FENCE_COUNT] = "count",
};

const char *gvm_fence_mode_name(enum gvm_fence_mode mode)
{
	return mode_names[mode];
}

int gvm_fence_mode_find(const char *name)
{
	for (int mode = 0; mode < GVM_FENCE_MODES; mode++)
		if (!strcmp(name, mode_names[mode]))
			return mode;
	return -EINVAL;
}

int gvm_address_fence_init(struct gvm_address_fence *fence, enum gvm_fence_mode mode, u64 base,
			   u64 bytes, u64 margin)
{
	bool masks = gvm_fence_masks(mode);

	if ((unsigned int)mode >= GVM_FENCE_MODES || !bytes || base + (bytes - 1) < base)
		return -EINVAL;
	/* With an unaligned base, OR would not be an addition. */
	if (masks && (bytes & (bytes - 1) || base & (bytes - 1)))
		return -EINVAL;
	if (mode == GVM_FENCE_4G && bytes < GVM_FENCE_4G_BYTES)
		return -EINVAL;
	if (mode == GVM_FENCE_ONCE &&
	    (margin % GVM_FENCE_ALIGNMENT || margin >= bytes || bytes - margin <= margin))
		return -EINVAL;
	if (mode == GVM_FENCE_MODULO && bytes > 1ull << 63)
		return -EINVAL;
	*fence = (struct gvm_address_fence){
		.mode = mode,
		.base = base,
		.bytes = bytes,
		.mask = masks ? bytes - 1 : 0,
		.reciprocal = mode == GVM_FENCE_MODULO ? div64_u64(U64_MAX, bytes) : 0,
		.margin = mode == GVM_FENCE_ONCE ? margin : 0,
	};
	return 0;
}

int gvm_address_fence_access(const struct gvm_address_fence *fence, u64 reg, s64 offset,
			     u32 width, u64 *ret_address)
{
	u64 address = reg + (u64)offset, aligned = gvm_fence_align(address, width);

	switch (fence->mode) {
	case GVM_FENCE_MASK:
	case GVM_FENCE_COUNT:
		*ret_address = gvm_fence_mask(aligned, fence->base, fence->mask);
		return 0;
	case GVM_FENCE_ONCE:
		if (gvm_fence_keeps_offset(fence->margin, offset, width))
			*ret_address = gvm_fence_mask(gvm_fence_align(reg, width), fence->base,
						      fence->mask) +
				       (u64)offset;
		else
			*ret_address = gvm_fence_mask(aligned, fence->base, fence->mask);
		return 0;
	case GVM_FENCE_4G:
		*ret_address = gvm_fence_4g(aligned, fence->base, fence->mask);
		return 0;
	case GVM_FENCE_MODULO:
		*ret_address =
			gvm_fence_modulo(aligned, fence->base, fence->bytes, fence->reciprocal);
		return 0;
	case GVM_FENCE_CHECK:
		if (!gvm_fence_check(address, width, fence->base, fence->bytes))
			return -EFAULT;
		*ret_address = address;
		return 0;
	case GVM_FENCE_NONE:
	case GVM_FENCE_NOPROT:
	case GVM_FENCE_MODES:
		break;
	}
	*ret_address = address;
	return 0;
}

int gvm_address_fence_copy(const struct gvm_address_fence *fence, enum gvm_fence_copy direction,
			   u64 destination, u64 source, u64 bytes)
{
	if (direction != GVM_FENCE_COPY_OUT &&
	    !gvm_address_fence_holds(fence, destination, bytes))
		return -EACCES;
	if (direction != GVM_FENCE_COPY_IN && !gvm_address_fence_holds(fence, source, bytes))
		return -EACCES;
	return 0;
}
