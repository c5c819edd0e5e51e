// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Page tables. An access goes through them with their lock held, 4 KB at a time. So no access
 * is under way after unmap has returned, as after a TLB invalidation.
 *
 * The core maps a page while its data is still on its way. A real driver pushes the PTE behind
 * the copy. Here a PTE names the copies and clears that have to be done before it counts.
 */
#include "fakegpu.h"

void fakegpu_page_table_init(struct fakegpu_page_table *table, struct fakegpu *gpu)
{
	table->gpu = gpu;
	spin_lock_init(&table->lock);
	xa_init(&table->ptes);
}

void fakegpu_page_table_destroy(struct fakegpu_page_table *table)
{
	WARN_ON_ONCE(!xa_empty(&table->ptes));
	xa_destroy(&table->ptes);
}

int fakegpu_page_table_reserve(struct fakegpu_page_table *table, u64 va,
			       struct fakegpu_pte *ptes, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (xa_err(xa_store(&table->ptes, (va >> GVM_CHUNK_SHIFT) + i, &ptes[i],
				    GFP_KERNEL))) {
			fakegpu_page_table_release(table, va, i);
			return -ENOMEM;
		}
		cond_resched();
	}
	return 0;
}

void fakegpu_page_table_release(struct fakegpu_page_table *table, u64 va, u32 count)
{
	struct fakegpu_pte *pte;
	u32 i;

	for (i = 0; i < count; i++) {
		spin_lock(&table->lock);
		pte = xa_erase(&table->ptes, (va >> GVM_CHUNK_SHIFT) + i);
		WARN_ON_ONCE(!pte || pte->pages);
		spin_unlock(&table->lock);
		cond_resched();
	}
}

static struct fakegpu_pte *table_pte(struct fakegpu_page_table *table, u64 va)
{
	return xa_load(&table->ptes, va >> GVM_CHUNK_SHIFT);
}

/* The page table of a space that has mappings. */
static struct fakegpu_page_table *space_table(struct fakegpu *gpu, void *space)
{
	struct fakegpu_context *context = xa_load(&gpu->contexts, (u32)(unsigned long)space);

	return &context->table;
}

void fakegpu_map(void *data, void *space, u64 va, u32 chunk, u32 offset_pages, u32 page_mask,
		 enum gvm_access access)
{
	struct fakegpu *gpu = data;
	struct fakegpu_page_table *table = space_table(gpu, space);
	struct gvm_fence fence = fakegpu_chunk_fence(gpu, chunk);
	void *bytes =
		fakegpu_chunk_bytes(gpu, chunk) + ((size_t)offset_pages << GVM_PAGE_SHIFT);
	struct fakegpu_pte *pte;

	spin_lock(&table->lock);
	pte = table_pte(table, va);
	WARN_ON_ONCE(pte->pages && pte->chunk != bytes);
	pte->chunk = bytes;
	pte->pages |= page_mask;
	if (access >= GVM_ACCESS_WRITE)
		pte->writable |= page_mask;
	else
		pte->writable &= ~page_mask;
	pte->arrived_in = fence.sequence[GVM_ENGINE_IN];
	pte->arrived_clear = fence.sequence[GVM_ENGINE_CLEAR];
	spin_unlock(&table->lock);
}

void fakegpu_unmap(void *data, void *space, u64 va, u32 page_mask)
{
	struct fakegpu_page_table *table = space_table(data, space);
	struct fakegpu_pte *pte;

	spin_lock(&table->lock);
	pte = table_pte(table, va);
	pte->pages &= ~page_mask;
	pte->writable &= ~page_mask;
	spin_unlock(&table->lock);
}

static bool pte_permits(struct fakegpu *gpu, const struct fakegpu_pte *pte, u64 va, bool write)
{
	u32 page = 1u << ((va >> GVM_PAGE_SHIFT) & (GVM_PAGES_PER_BLOCK - 1));
	struct gvm_fence arrived = { 0 };

	if (!((write ? pte->writable : pte->pages) & page))
		return false;
	arrived.sequence[GVM_ENGINE_IN] = pte->arrived_in;
	arrived.sequence[GVM_ENGINE_CLEAR] = pte->arrived_clear;
	return fakegpu_fence_passed(gpu, &arrived);
}

void *fakegpu_access_begin(struct fakegpu_page_table *table, u64 va, bool write)
	__acquires(&table->lock)
{
	struct fakegpu_pte *pte;

	spin_lock(&table->lock);
	pte = table_pte(table, va);
	if (pte && pte_permits(table->gpu, pte, va, write))
		return pte->chunk + (va & (GVM_CHUNK_BYTES - 1));
	spin_unlock(&table->lock);
	return NULL;
}

void fakegpu_access_end(struct fakegpu_page_table *table) __releases(&table->lock)
{
	spin_unlock(&table->lock);
}
