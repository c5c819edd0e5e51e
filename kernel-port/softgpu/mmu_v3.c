// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Page tables of version 3 (Hopper), which UVM writes: six levels, 57 bits of address.
 *
 *      bits    56      55:47   46:38   37:29   28:21                  20:16 of 64 KB pages, 20:12 of 4 KB
 *      level   PDE4    PDE3    PDE2    PDE1    PDE0, of two words      PTE
 *
 * As in version 2, the first word of a PDE0 leads to PTEs of 64 KB pages or is the PTE of a 2
 * MB page, and the second leads to PTEs of 4 KB pages; a PDE1 may be the PTE of a 512 MB page.
 * What is new is PCF, one field for all permissions. Of an invalid PTE of a 64 KB page it says
 * whether its 4 KB pages are invalid, too.
 */
#include "softgpu.h"

#include "hwref/hopper/gh100/dev_fault.h"
#include "hwref/hopper/gh100/dev_mmu.h"

/* The bits of PCF of a valid PTE; bit 0 is for caches, bit 1 for privileged pages. */
#define SOFTGPU_PCF_READ_ONLY  BIT(2)
#define SOFTGPU_PCF_NO_ATOMICS BIT(3)
#define SOFTGPU_PCF_UNCOUNTED  BIT(4)

static u32 softgpu_v3_aperture(u64 entry)
{
	return entry >> 1 & 3;
}

static u32 softgpu_v3_pcf(u64 pte)
{
	return pte >> 3 & 0x1f;
}

/* Where a PDE leads: bits 51:@shift. Returns false if it leads nowhere. */
static bool softgpu_v3_table(u64 pde, u32 shift, enum softgpu_aperture *ret_aperture,
			     u64 *ret_address)
{
	u32 aperture = softgpu_v3_aperture(pde);

	*ret_aperture = aperture == NV_MMU_VER3_PDE_APERTURE_VIDEO_MEMORY ? SOFTGPU_VIDMEM :
									    SOFTGPU_SYSMEM;
	*ret_address = pde & GENMASK_ULL(51, shift);
	return aperture != NV_MMU_VER3_PDE_APERTURE_INVALID;
}

/* Follow a PTE. Returns whether it is valid, and leads to memory that the GPU may access. */
static bool softgpu_v3_pte(const struct softgpu *gpu, u64 pte, u64 va, u64 page_bytes,
			   struct softgpu_mapping *ret_mapping)
{
	u32 aperture = softgpu_v3_aperture(pte);
	bool vidmem = aperture == NV_MMU_VER3_PTE_APERTURE_VIDEO_MEMORY;
	bool peer = aperture == NV_MMU_VER3_PTE_APERTURE_PEER_MEMORY;
	u64 address = pte & (vidmem ? GENMASK_ULL(39, 12) : GENMASK_ULL(51, 12));

	ret_mapping->peer = peer ? pte >> 61 : 0;
	if (!(pte & NV_MMU_VER3_PTE_VALID_TRUE) ||
	    (peer && !softgpu_peer(gpu, ret_mapping->peer)))
		return false;
	ret_mapping->aperture = vidmem ? SOFTGPU_VIDMEM : peer ? SOFTGPU_PEER : SOFTGPU_SYSMEM;
	ret_mapping->address = (address & ~(page_bytes - 1)) | (va & (page_bytes - 1));
	ret_mapping->page_bytes = page_bytes;
	ret_mapping->read_only = softgpu_v3_pcf(pte) & SOFTGPU_PCF_READ_ONLY;
	ret_mapping->no_atomics = softgpu_v3_pcf(pte) & SOFTGPU_PCF_NO_ATOMICS;
	ret_mapping->uncounted = softgpu_v3_pcf(pte) & SOFTGPU_PCF_UNCOUNTED;
	return true;
}

/* Follow a PDE0, which lies at @address. Returns whether @va is mapped. */
static bool softgpu_v3_pde0(struct softgpu *gpu, enum softgpu_aperture aperture, u64 address,
			    u64 va, struct softgpu_mapping *ret_mapping)
{
	u64 big = softgpu_entry_read(gpu, aperture, address);
	u64 small = softgpu_entry_read(gpu, aperture, address + 8);
	u64 table, pte;

	if (big & NV_MMU_VER3_PTE_VALID_TRUE)
		return softgpu_v3_pte(gpu, big, va, SOFTGPU_CHUNK, ret_mapping);
	if (softgpu_v3_table(big, 8, &aperture, &table)) {
		pte = softgpu_entry_read(gpu, aperture, table + (va >> 16 & 31) * 8);
		if (softgpu_v3_pte(gpu, pte, va, SOFTGPU_BIG_PAGE, ret_mapping))
			return true;
		if (softgpu_v3_pcf(pte) == NV_MMU_VER3_PTE_PCF_NO_VALID_4KB_PAGE)
			return false;
	}
	if (!softgpu_v3_table(small, 12, &aperture, &table))
		return false;
	pte = softgpu_entry_read(gpu, aperture, table + (va >> 12 & 511) * 8);
	return softgpu_v3_pte(gpu, pte, va, PAGE_SIZE, ret_mapping);
}

bool softgpu_mmu_v3_walk(struct softgpu_space *space, u64 va,
			 struct softgpu_mapping *ret_mapping, u32 *ret_fault)
{
	static const struct {
		u32 shift;
		u32 bits;
	} levels[] = { { 56, 1 }, { 47, 9 }, { 38, 9 }, { 29, 9 } };
	enum softgpu_aperture aperture = space->aperture;
	u64 table = space->directory;

	*ret_fault = NV_PFAULT_FAULT_TYPE_PDE;
	if (!space->has_directory)
		return false;
	for (u32 i = 0; i < ARRAY_SIZE(levels); i++) {
		u64 index = va >> levels[i].shift & (BIT_ULL(levels[i].bits) - 1);
		u64 entry = softgpu_entry_read(space->gpu, aperture, table + index * 8);

		if (entry & NV_MMU_VER3_PDE_IS_PTE_TRUE)
			return levels[i].shift == 29 &&
			       softgpu_v3_pte(space->gpu, entry, va, 512ul << 20, ret_mapping);
		if (!softgpu_v3_table(entry, 12, &aperture, &table))
			return false;
	}
	*ret_fault = NV_PFAULT_FAULT_TYPE_PTE;
	return softgpu_v3_pde0(space->gpu, aperture, table + (va >> 21 & 255) * 16, va,
			       ret_mapping);
}
