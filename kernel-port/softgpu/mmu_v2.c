// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Page tables of version 2 (Pascal to Ampere), which UVM writes: five levels, 49 bits of
 * address.
 *
 *      bits    48:47   46:38   37:29   28:21                  20:16 of 64 KB pages, 20:12 of 4 KB
 *      level   PDE3    PDE2    PDE1    PDE0, of two words      PTE
 *
 * The first word of a PDE0 leads to PTEs of 64 KB pages, the second to PTEs of 4 KB pages; or
 * the first word is the PTE of a 2 MB page. A PDE1 may be the PTE of a 512 MB page. An invalid
 * PTE of a 64 KB page with the bit PRIVILEGE set says that its 4 KB pages are invalid, too,
 * whatever their PTEs hold.
 */
#include "softgpu.h"

#include "hwref/ampere/ga100/dev_fault.h"

#define SOFTGPU_PTE_VALID      BIT_ULL(0)
#define SOFTGPU_PTE_PRIVILEGE  BIT_ULL(5)
#define SOFTGPU_PTE_READ_ONLY  BIT_ULL(6)
#define SOFTGPU_PTE_NO_ATOMICS BIT_ULL(7)

/* The bits 2:1 of an entry: where the page or the table is. In a PDE, 0 stands for none. */
enum softgpu_entry_aperture {
	SOFTGPU_PTE_VIDMEM = 0,
	SOFTGPU_PTE_PEER = 1,
	SOFTGPU_PDE_NONE = 0,
	SOFTGPU_PDE_VIDMEM = 1,
};

static u32 softgpu_entry_aperture(u64 entry)
{
	return entry >> 1 & 3;
}

/*
 * The address in an entry, in units of 4 KB from bit 8 on: 25 bits of vidmem, 46 of host
 * memory. Of a peer's vidmem also 25, and the peer's id in the 3 bits above.
 */
static u64 softgpu_entry_address(u64 entry, enum softgpu_aperture aperture)
{
	u64 bits = aperture == SOFTGPU_SYSMEM ? 46 : 25;

	return (entry >> 8 & (BIT_ULL(bits) - 1)) << 12;
}

u64 softgpu_entry_read(struct softgpu *gpu, enum softgpu_aperture aperture, u64 address)
{
	u64 bytes = sizeof(u64);
	u64 *entry = softgpu_physical(gpu, aperture, address, &bytes);

	return entry ? READ_ONCE(*entry) : 0;
}

/* Follow a PTE. Returns whether it is valid, and leads to memory that the GPU may access. */
static bool softgpu_pte(const struct softgpu *gpu, u64 pte, u64 va, u64 page_bytes,
			struct softgpu_mapping *ret_mapping)
{
	u32 aperture = softgpu_entry_aperture(pte);

	ret_mapping->peer = aperture == SOFTGPU_PTE_PEER ? pte >> 33 & 7 : 0;
	if (!(pte & SOFTGPU_PTE_VALID) ||
	    (aperture == SOFTGPU_PTE_PEER && !softgpu_peer(gpu, ret_mapping->peer)))
		return false;
	ret_mapping->aperture = aperture == SOFTGPU_PTE_VIDMEM ? SOFTGPU_VIDMEM :
				aperture == SOFTGPU_PTE_PEER   ? SOFTGPU_PEER :
								 SOFTGPU_SYSMEM;
	ret_mapping->address = softgpu_entry_address(pte, ret_mapping->aperture);
	ret_mapping->address =
		(ret_mapping->address & ~(page_bytes - 1)) | (va & (page_bytes - 1));
	ret_mapping->page_bytes = page_bytes;
	ret_mapping->read_only = pte & SOFTGPU_PTE_READ_ONLY;
	ret_mapping->no_atomics = pte & SOFTGPU_PTE_NO_ATOMICS;
	ret_mapping->uncounted = false;
	return true;
}

/* Follow a PDE0, which lies at @address. Returns whether @va is mapped. */
static bool softgpu_pde0(struct softgpu *gpu, enum softgpu_aperture aperture, u64 address,
			 u64 va, struct softgpu_mapping *ret_mapping)
{
	u64 big = softgpu_entry_read(gpu, aperture, address);
	u64 small = softgpu_entry_read(gpu, aperture, address + 8);
	u64 pte;

	if (big & SOFTGPU_PTE_VALID)
		return softgpu_pte(gpu, big, va, SOFTGPU_CHUNK, ret_mapping);
	if (softgpu_entry_aperture(big) != SOFTGPU_PDE_NONE) {
		enum softgpu_aperture in = softgpu_entry_aperture(big) == SOFTGPU_PDE_VIDMEM ?
						   SOFTGPU_VIDMEM :
						   SOFTGPU_SYSMEM;
		/*
		 * A table of 32 entries: its address is in units of 256 bytes, from bit 4 on.
		 */
		u64 bits = in == SOFTGPU_VIDMEM ? 29 : 50;
		u64 table = (big >> 4 & (BIT_ULL(bits) - 1)) << 8;

		pte = softgpu_entry_read(gpu, in, table + (va >> 16 & 31) * 8);
		if (softgpu_pte(gpu, pte, va, SOFTGPU_BIG_PAGE, ret_mapping))
			return true;
		if (pte & SOFTGPU_PTE_PRIVILEGE)
			return false;
	}
	if (softgpu_entry_aperture(small) == SOFTGPU_PDE_NONE)
		return false;
	aperture = softgpu_entry_aperture(small) == SOFTGPU_PDE_VIDMEM ? SOFTGPU_VIDMEM :
									 SOFTGPU_SYSMEM;
	address = softgpu_entry_address(small, aperture) + (va >> 12 & 511) * 8;
	pte = softgpu_entry_read(gpu, aperture, address);
	return softgpu_pte(gpu, pte, va, PAGE_SIZE, ret_mapping);
}

bool softgpu_mmu_v2_walk(struct softgpu_space *space, u64 va,
			 struct softgpu_mapping *ret_mapping, u32 *ret_fault)
{
	static const struct {
		u32 shift;
		u32 bits;
	} levels[] = { { 47, 2 }, { 38, 9 }, { 29, 9 } };
	enum softgpu_aperture aperture = space->aperture;
	u64 table = space->directory;

	*ret_fault = NV_PFAULT_FAULT_TYPE_PDE;
	if (!space->has_directory)
		return false;
	for (u32 i = 0; i < ARRAY_SIZE(levels); i++) {
		u64 index = va >> levels[i].shift & (BIT_ULL(levels[i].bits) - 1);
		u64 entry = softgpu_entry_read(space->gpu, aperture, table + index * 8);

		if (entry & SOFTGPU_PTE_VALID)
			return levels[i].shift == 29 &&
			       softgpu_pte(space->gpu, entry, va, 512ul << 20, ret_mapping);
		if (softgpu_entry_aperture(entry) == SOFTGPU_PDE_NONE)
			return false;
		aperture = softgpu_entry_aperture(entry) == SOFTGPU_PDE_VIDMEM ?
				   SOFTGPU_VIDMEM :
				   SOFTGPU_SYSMEM;
		table = softgpu_entry_address(entry, aperture);
	}
	*ret_fault = NV_PFAULT_FAULT_TYPE_PTE;
	return softgpu_pde0(space->gpu, aperture, table + (va >> 21 & 255) * 16, va,
			    ret_mapping);
}
