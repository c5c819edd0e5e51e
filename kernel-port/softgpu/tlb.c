// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The TLB. It forgets nothing by itself: a translation that was used once is used until the
 * driver invalidates it, even if the page tables say something else by then. Real TLBs are
 * small and forget early, so a driver that lacks an invalidate works most of the time. Here it
 * always shows: an access through a stale entry reads or writes memory that belongs to
 * something else by then.
 *
 * Only translations are cached, no page directories; and only valid ones, as on hardware, where
 * a driver need not invalidate what was not mapped. A cached entry that permits too little is
 * looked up again. An address with more bits than page tables have leads nowhere. It must not be
 * cached as another one: no driver would invalidate it.
 */
#include "softgpu.h"

#include "hwref/ampere/ga100/dev_fault.h" /* types of faults, which all chips share */

static const u32 softgpu_tlb_shift[SOFTGPU_TLB_SIZES] = { 12, 16, 21 };

/*
 * The bits of an entry: 0 and 1 aperture, 2 read only, 3 no atomics, 4 uncounted, 5 to 7 peer,
 * 8 and up the address in 4 KB.
 */
static void *softgpu_tlb_encode(const struct softgpu_mapping *mapping, u64 page)
{
	return xa_mk_value(mapping->aperture | mapping->read_only << 2 |
			   mapping->no_atomics << 3 | mapping->uncounted << 4 |
			   mapping->peer << 5 | page >> 12 << 8);
}

static void softgpu_tlb_decode(void *entry, u64 va, u32 shift,
			       struct softgpu_mapping *ret_mapping)
{
	u64 value = xa_to_value(entry);

	ret_mapping->aperture = value & 3;
	ret_mapping->read_only = value & 4;
	ret_mapping->no_atomics = value & 8;
	ret_mapping->uncounted = value & 16;
	ret_mapping->peer = value >> 5 & 7;
	ret_mapping->page_bytes = BIT_ULL(shift);
	ret_mapping->address = (value >> 8 << 12) | (va & (BIT_ULL(shift) - 1));
}

void softgpu_tlb_init(struct softgpu_tlb *tlb)
{
	for (u32 i = 0; i < SOFTGPU_TLB_SIZES; i++)
		xa_init(&tlb->pages[i]);
}

void softgpu_tlb_flush(struct softgpu_space *space)
{
	for (u32 i = 0; i < SOFTGPU_TLB_SIZES; i++)
		xa_destroy(&space->tlb.pages[i]);
}

/* Whether the mapping permits the access; else the type of fault. */
static bool softgpu_permits(const struct softgpu_mapping *mapping, enum softgpu_op op,
			    u32 *ret_fault)
{
	if (op != SOFTGPU_READ && mapping->read_only) {
		*ret_fault = NV_PFAULT_FAULT_TYPE_RO_VIOLATION;
		return false;
	}
	if (op == SOFTGPU_ATOMIC && mapping->no_atomics) {
		*ret_fault = NV_PFAULT_FAULT_TYPE_ATOMIC_VIOLATION;
		return false;
	}
	return true;
}

bool softgpu_tlb_translate(struct softgpu_space *space, u64 va, enum softgpu_op op,
			   struct softgpu_mapping *ret_mapping, u32 *ret_fault)
{
	u32 size = 0;

	if (va >> space->gpu->chip->va_bits) {
		*ret_fault = NV_PFAULT_FAULT_TYPE_VA_LIMIT_VIOLATION;
		return false;
	}
	for (u32 i = 0; i < SOFTGPU_TLB_SIZES; i++) {
		void *entry = xa_load(&space->tlb.pages[i], va >> softgpu_tlb_shift[i]);

		if (!entry)
			continue;
		softgpu_tlb_decode(entry, va, softgpu_tlb_shift[i], ret_mapping);
		if (softgpu_permits(ret_mapping, op, ret_fault)) {
			space->gpu->stats.tlb_hits++;
			return true;
		}
	}
	space->gpu->stats.tlb_misses++;
	if (!space->gpu->chip->walk(space, va, ret_mapping, ret_fault) ||
	    !softgpu_permits(ret_mapping, op, ret_fault))
		return false;
	/* A page of 512 MB is cached as the 2 MB of it that were touched. */
	while (size + 1 < SOFTGPU_TLB_SIZES &&
	       BIT_ULL(softgpu_tlb_shift[size + 1]) <= ret_mapping->page_bytes)
		size++;
	/* Without memory for it the entry is not cached. */
	xa_store(&space->tlb.pages[size], va >> softgpu_tlb_shift[size],
		 softgpu_tlb_encode(ret_mapping,
				    ret_mapping->address >> softgpu_tlb_shift[size]
								    << softgpu_tlb_shift[size]),
		 GFP_KERNEL);
	return true;
}

static void softgpu_tlb_drop(struct softgpu_space *space, u64 first, u64 last)
{
	for (u32 i = 0; i < SOFTGPU_TLB_SIZES; i++) {
		unsigned long index;
		void *entry;

		xa_for_each_range(&space->tlb.pages[i], index, entry,
				  first >> softgpu_tlb_shift[i], last >> softgpu_tlb_shift[i])
			xa_erase(&space->tlb.pages[i], index);
	}
}

void softgpu_tlb_invalidate(struct softgpu *gpu, u64 directory, u64 va, u32 order)
{
	struct softgpu_space *space;

	gpu->stats.invalidates++;
	if (softgpu_fails(gpu, SOFTGPU_FAIL_INVALIDATE)) {
		gpu->stats.invalidates_lost++;
		return;
	}
	down_write(&gpu->walkers);
	list_for_each_entry(space, &gpu->spaces, node) {
		if (directory != U64_MAX &&
		    (!space->has_directory || space->directory != directory))
			continue;
		if (order + PAGE_SHIFT >= 64) {
			softgpu_tlb_flush(space);
		} else {
			u64 bytes = BIT_ULL(order + PAGE_SHIFT);
			u64 first = va & ~(bytes - 1);

			softgpu_tlb_drop(space, first, first + bytes - 1);
		}
	}
	up_write(&gpu->walkers);
}
