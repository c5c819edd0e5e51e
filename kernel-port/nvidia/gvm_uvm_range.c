// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A source of nvidia-uvm.ko: managed memory comes, is cut in two, and goes. Its addresses tell
 * whether the VA space's container pays for it, or a child.
 *
 * The VA space is locked for writing.
 */
#include "gvm_uvm_hooks.h"

#include "gvm_uvm.h"
#include "uvm_range_tree.h"
#include "uvm_va_space.h"

static int gvm_uvm_made_on(struct gvm_uvm_space *space, u64 first, u64 last)
{
	return space->gpu->calls->range_made(space, first, last);
}

static int gvm_uvm_split_on(struct gvm_uvm_space *space, u64 first, u64 last)
{
	(void)last;
	return space->gpu->calls->range_split(space, first);
}

static int gvm_uvm_gone_on(struct gvm_uvm_space *space, u64 first, u64 last)
{
	space->gpu->calls->range_gone(space, first, last);
	return 0;
}

/* The caller destroys a range that is refused: gvm_uvm_range_gone(). */
NV_STATUS gvm_uvm_range_made(const uvm_va_space_t *va_space, NvU64 first, NvU64 last)
{
	int error = gvm_uvm_each_space(va_space, gvm_uvm_made_on, first, last);

	/* For mmap() it is EINVAL. */
	return error == -EINVAL ? NV_ERR_INVALID_ARGUMENT : gvm_uvm_status(error);
}

/* Should the split fail later, two parts with one payer are left, which is as good as one. */
NV_STATUS gvm_uvm_range_split(const uvm_va_space_t *va_space, NvU64 first)
{
	return gvm_uvm_status(gvm_uvm_each_space(va_space, gvm_uvm_split_on, first, first));
}

/*
 * The driver also destroys ranges that were never in its tree: one that collides with another,
 * and the second part of a split that failed. Such addresses are another range's, which stays.
 */
void gvm_uvm_range_gone(uvm_va_space_t *va_space, NvU64 first, NvU64 last)
{
	if (!uvm_range_tree_iter_first(&va_space->va_range_tree, first, last))
		gvm_uvm_each_space(va_space, gvm_uvm_gone_on, first, last);
}
