// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Windows of NTBs. A window is cut into segments of equal size, and hardware keeps a target for
 * each: remote = target + (address - base of the segment).
 */
#include "fabric/fabric.h"

#include <errno.h>

static u64 segment_bytes(const struct fabric_element *ntb)
{
	return ntb->bytes / ntb->segment_count;
}

static bool are_free(const struct fabric_element *ntb, u32 first, u32 count)
{
	for (u32 i = first; i < first + count; i++)
		if (ntb->segments[i].used)
			return false;
	return true;
}

/*
 * The first of @count free segments in a row, or segment_count. A power of two begins at a
 * multiple of it, so that a window of such a size is aligned to it: a fence needs that.
 */
static u32 find_free(const struct fabric_element *ntb, u32 count)
{
	u32 step = count & (count - 1) ? 1 : count;

	for (u32 first = 0; first + count <= ntb->segment_count; first += step)
		if (are_free(ntb, first, count))
			return first;
	return ntb->segment_count;
}

/* How many segments @bytes at an offset of @address in a segment touch. */
static u64 count_touched(const struct fabric_element *ntb, u64 address, u64 bytes)
{
	u64 size = segment_bytes(ntb);

	return (address % size + bytes + size - 1) / size;
}

int fabric_ntb_map(struct fabric *fabric, u32 number, u64 target, u64 bytes, u64 *ret_address)
{
	struct fabric_element *ntb = &fabric->elements[number];
	u64 size = segment_bytes(ntb), count;
	u32 first;

	if (!bytes || ntb->far == FABRIC_NONE)
		return -EINVAL;
	if (bytes > ntb->bytes)
		return -ENOSPC;
	count = count_touched(ntb, target, bytes);
	if (count > ntb->segment_count)
		return -ENOSPC;
	first = find_free(ntb, (u32)count);
	if (first == ntb->segment_count)
		return -ENOSPC;
	for (u32 i = 0; i < count; i++)
		ntb->segments[first + i] =
			(struct fabric_segment){ true, target - target % size + i * size };
	*ret_address = ntb->base + first * size + target % size;
	return 0;
}

void fabric_ntb_unmap(struct fabric *fabric, u32 number, u64 address, u64 bytes)
{
	struct fabric_element *ntb = &fabric->elements[number];
	u64 offset = address - ntb->base;
	u64 first = offset / segment_bytes(ntb);
	u64 count = count_touched(ntb, offset, bytes);

	for (u64 i = first; i < first + count && i < ntb->segment_count; i++)
		ntb->segments[i] = (struct fabric_segment){ 0 };
}

u64 fabric_ntb_segment(const struct fabric *fabric, u32 number)
{
	return segment_bytes(&fabric->elements[number]);
}

int fabric_ntb_translate(const struct fabric *fabric, u32 number, u64 address, u64 *ret_target,
			 u64 *ret_bytes)
{
	const struct fabric_element *ntb = &fabric->elements[number];
	u64 size = segment_bytes(ntb), offset = address - ntb->base;
	const struct fabric_segment *segment;

	if (address < ntb->base || offset >= ntb->bytes)
		return -EFAULT;
	segment = &ntb->segments[offset / size];
	if (!segment->used)
		return -EFAULT;
	*ret_target = segment->target + offset % size;
	*ret_bytes = size - offset % size;
	return 0;
}
