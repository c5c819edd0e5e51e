/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Parts of chunks for containers, as NVIDIA's driver gives sub-chunks. */
#ifndef TESTS_CORE_GIVE_H
#define TESTS_CORE_GIVE_H

#include "core_world.h"

/* Give @pages of a chunk to a container. */
static inline void give(struct gvm_container *container, u32 chunk, u32 first, u32 pages)
{
	ck_assert_int_eq(gvm_charge_reserve_bytes(container, pages * GVM_PAGE_BYTES), 0);
	gvm_charge_allocated_part(container, chunk, first, pages);
	gvm_charge_bind(container, chunk);
}

/* Give a piece of a page, as NVIDIA's driver gives a chunk of 4 KB. Returns as the core. */
static inline int give_piece(struct gvm_container *container, u32 chunk, u32 page)
{
	int status;

	ck_assert_int_eq(gvm_charge_reserve_bytes(container, GVM_PIECE_BYTES), 0);
	status = gvm_charge_bind_piece(container, chunk, page);
	if (status)
		gvm_charge_cancel_bytes(container, GVM_PIECE_BYTES);
	return status;
}

#endif
