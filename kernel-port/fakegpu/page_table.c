// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Page tables. An access goes through them with their lock held, 4 KB at a time. So no access
 * is under way after unmap has returned, as after a TLB invalidation.
 *
 * The core maps a page while its data is still on its way. A real driver pushes the PTE after
 * the copy. Here a PTE names the copies and clears that have to be done before it counts.
 */
#include "fakegpu.h"

#include <linux/moduleparam.h>

static bool remote = true;
module_param(remote, bool, 0444);
MODULE_PARM_DESC(remote, "can the GPU access host memory?");

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
	WARN_ON_ONCE(pte->pages & ~pte->remote && pte->chunk != bytes);
	WARN_ON_ONCE(pte->remote & page_mask);
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
	pte->remote &= ~page_mask;
	spin_unlock(&table->lock);
}

/* Remote pages: their data is in host memory and stays there. */
int fakegpu_map_remote(void *data, struct gvm_range *range, u32 index, u32 page_mask,
		       u32 empty_mask)
{
	struct fakegpu_mapping *mapping = container_of(range, struct fakegpu_mapping, range);
	struct fakegpu_page_table *table = space_table(data, range->space);
	struct fakegpu_pte *pte = &mapping->ptes[index];
	struct fakegpu_host *host;

	if (!remote)
		return -ENOMEM;
	host = fakegpu_host_alloc(data, &mapping->host[index],
				  GFP_KERNEL | __GFP_RETRY_MAYFAIL);
	if (!host)
		return -ENOMEM;
	for (u32 page = 0; page < GVM_PAGES_PER_BLOCK; page++)
		if (empty_mask & (1u << page))
			memset(host->bytes + ((size_t)page << GVM_PAGE_SHIFT), 0,
			       GVM_PAGE_BYTES);
	spin_lock(&table->lock);
	WARN_ON_ONCE(pte->pages & page_mask);
	pte->host = host->bytes;
	pte->pages |= page_mask;
	pte->writable |= page_mask;
	pte->remote |= page_mask;
	spin_unlock(&table->lock);
	return 0;
}

/* The bit of an address's page in the masks of its block. */
static u32 page_bit(u64 va)
{
	return 1u << ((va >> GVM_PAGE_SHIFT) & (GVM_PAGES_PER_BLOCK - 1));
}

static bool pte_permits(struct fakegpu *gpu, const struct fakegpu_pte *pte, u64 va, bool write)
{
	u32 page = page_bit(va);
	struct gvm_fence arrived = { 0 };

	if (!((write ? pte->writable : pte->pages) & page))
		return false;
	if (pte->remote & page)
		return true;
	arrived.sequence[GVM_ENGINE_IN] = pte->arrived_in;
	arrived.sequence[GVM_ENGINE_CLEAR] = pte->arrived_clear;
	return fakegpu_fence_passed(gpu, &arrived);
}

void fakegpu_access_lock(struct fakegpu_page_table *table) __acquires(&table->lock)
{
	spin_lock(&table->lock);
}

void *fakegpu_access_find(struct fakegpu_page_table *table, u64 va, bool write)
{
	struct fakegpu_pte *pte = table_pte(table, va);
	void *bytes;

	lockdep_assert_held(&table->lock);
	if (!pte || !pte_permits(table->gpu, pte, va, write))
		return NULL;
	bytes = pte->remote & page_bit(va) ? pte->host : pte->chunk;
	return bytes + (va & (GVM_CHUNK_BYTES - 1));
}

void fakegpu_access_unlock(struct fakegpu_page_table *table) __releases(&table->lock)
{
	spin_unlock(&table->lock);
}
