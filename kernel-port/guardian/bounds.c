// SPDX-License-Identifier: MIT OR GPL-2.0
#include "bounds.h"

#include "gvm/address_fence.h"

_Static_assert(PATCH_FENCE + GVM_FENCE_MASK == GVM_FENCE_MASK &&
		       PATCH_ONCE + GVM_FENCE_MASK == GVM_FENCE_ONCE &&
		       PATCH_4G + GVM_FENCE_MASK == GVM_FENCE_4G &&
		       PATCH_CHECK + GVM_FENCE_MASK == GVM_FENCE_CHECK &&
		       PATCH_MODULO + GVM_FENCE_MASK == GVM_FENCE_MODULO &&
		       PATCH_COUNT + GVM_FENCE_MASK == GVM_FENCE_COUNT,
	       "the modes of both have one order");

bool patch_bounds_set(struct patch_bounds *ret_bounds, enum patch_mode mode, u64 base, u64 size)
{
	const u64 widest = 1ull << PATCH_WIDTH_SHIFT;
	struct gvm_address_fence fence;

	*ret_bounds = (struct patch_bounds){ .base = base, .size = size };
	if (size < 2 * widest || (base | size) % widest ||
	    gvm_address_fence_init(&fence, (enum gvm_fence_mode)(mode + GVM_FENCE_MASK), base,
				   size, 0))
		return false;
	ret_bounds->reciprocal = fence.reciprocal;
	for (u32 i = 0; i <= PATCH_WIDTH_SHIFT; i++)
		ret_bounds->masks[i] = gvm_fence_align(size - 1, 1u << i);
	return true;
}
