// SPDX-License-Identifier: MIT OR GPL-2.0
/* The page tables of an address space; see page_table.h. */
#include "uvm/page_table.h"

#include <stdlib.h>

#define WORD_BITS 64u

static u32 words_for(u32 bits)
{
	return (u32)(((u64)bits + WORD_BITS - 1) / WORD_BITS);
}

void page_table_init(struct page_table *table, void *space)
{
	*table = (struct page_table){ .space = space };
}

static int holes_init(struct page_table_holes *holes, u32 block_count)
{
	u32 words = words_for(block_count);

	holes->blocks = calloc(words, sizeof(*holes->blocks));
	holes->summary = calloc(words_for(words), sizeof(*holes->summary));
	return holes->blocks && holes->summary ? 0 : -ENOMEM;
}

static void holes_destroy(struct page_table_holes *holes)
{
	free(holes->blocks);
	free(holes->summary);
}

/* Block @index lacked the pages @before, and now lacks the pages @after. */
static void holes_change(struct page_table_holes *holes, u32 index, u32 before, u32 after)
{
	u32 word = index / WORD_BITS;
	u64 bit = 1ull << (index % WORD_BITS);
	u64 summary_bit = 1ull << (word % WORD_BITS);

	holes->pages += hweight32(after);
	holes->pages -= hweight32(before);
	if (after)
		holes->blocks[word] |= bit;
	else
		holes->blocks[word] &= ~bit;
	if (holes->blocks[word])
		holes->summary[word / WORD_BITS] |= summary_bit;
	else
		holes->summary[word / WORD_BITS] &= ~summary_bit;
}

/* Make the tables of a range. No page is valid yet. */
static int region_init(struct page_table_region *region, u64 va, u64 bytes)
{
	u64 pages = (bytes + GVM_PAGE_BYTES - 1) >> GVM_PAGE_SHIFT;
	u32 count = (u32)((pages - 1) / GVM_PAGES_PER_BLOCK + 1);
	u32 last = (u32)(pages - (u64)(count - 1) * GVM_PAGES_PER_BLOCK);

	*region = (struct page_table_region){
		.va = va,
		.block_count = count,
		.last_pages = GVM_BLOCK_FULL >> (GVM_PAGES_PER_BLOCK - last),
	};
	region->entries = calloc(count, sizeof(*region->entries));
	if (!region->entries || holes_init(&region->reads, count) ||
	    holes_init(&region->writes, count))
		return -ENOMEM;
	for (u32 i = 0; i < count; i++) {
		holes_change(&region->reads, i, 0, page_table_covered(region, i));
		holes_change(&region->writes, i, 0, page_table_covered(region, i));
	}
	return 0;
}

static void region_destroy(struct page_table_region *region)
{
	free(region->entries);
	holes_destroy(&region->reads);
	holes_destroy(&region->writes);
}

void page_table_destroy(struct page_table *table)
{
	for (u32 i = 0; i < table->region_count; i++)
		region_destroy(&table->regions[i]);
	free(table->regions);
	page_table_init(table, NULL);
}

/* The index of the first region that begins after @va. */
static u32 table_place_behind(const struct page_table *table, u64 va)
{
	u32 low = 0, high = table->region_count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (table->regions[middle].va > va)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static struct page_table_region *table_find(const struct page_table *table, u64 va)
{
	u32 behind = table_place_behind(table, va);
	struct page_table_region *region;

	if (!behind)
		return NULL;
	region = &table->regions[behind - 1];
	return va - region->va < (u64)region->block_count << GVM_CHUNK_SHIFT ? region : NULL;
}

const struct page_table_region *page_table_find(const struct page_table *table, u64 va)
{
	return table_find(table, va);
}

int page_table_reserve(struct page_table *table, u64 va, u64 bytes)
{
	u32 place = table_place_behind(table, va);
	u64 space = place < table->region_count ? table->regions[place].va - va : 0 - va;
	struct page_table_region region;
	struct page_table_region *regions;

	if (va % GVM_CHUNK_BYTES || !bytes || bytes - 1 > space - 1 || table_find(table, va) ||
	    (bytes - 1) >> GVM_CHUNK_SHIFT >= U32_MAX)
		return -EINVAL;
	regions = realloc(table->regions, (table->region_count + 1) * sizeof(*regions));
	if (!regions)
		return -ENOMEM;
	table->regions = regions;
	if (region_init(&region, va, bytes)) {
		region_destroy(&region);
		return -ENOMEM;
	}
	memmove(&regions[place + 1], &regions[place],
		(table->region_count - place) * sizeof(*regions));
	regions[place] = region;
	table->region_count++;
	return 0;
}

void page_table_release(struct page_table *table, u64 va)
{
	struct page_table_region *region = table_find(table, va);
	u32 place;

	GVM_ASSERT(region && region->va == va);
	place = (u32)(region - table->regions);
	table->losses++;
	table->remote_pages -= region->remote_pages;
	table->remote_changes += region->remote_pages > 0;
	region_destroy(region);
	table->region_count--;
	memmove(region, region + 1, (table->region_count - place) * sizeof(*region));
}

/* Write an entry, and keep the holes and the losses in step with it. */
static void region_write(struct page_table *table, struct page_table_region *region, u32 index,
			 u32 valid, u32 writable)
{
	struct page_table_entry *entry = &region->entries[index];
	u32 covered = page_table_covered(region, index);

	GVM_ASSERT(!(valid & ~covered));
	table->losses += (entry->valid & ~valid) || (entry->writable & ~writable);
	holes_change(&region->reads, index, covered & ~entry->valid, covered & ~valid);
	holes_change(&region->writes, index, covered & ~entry->writable, covered & ~writable);
	entry->valid = valid;
	entry->writable = writable;
}

static void region_set_remote(struct page_table *table, struct page_table_region *region,
			      u32 index, u32 remote)
{
	struct page_table_entry *entry = &region->entries[index];
	u32 before = hweight32(entry->remote), after = hweight32(remote);

	table->remote_changes += remote != entry->remote;
	table->remote_pages = table->remote_pages - before + after;
	region->remote_pages = region->remote_pages - before + after;
	entry->remote = remote;
}

/*
 * The region of the block at @va, and the index of the block in it. Asserts that there is a
 * region.
 */
static struct page_table_region *table_block(struct page_table *table, u64 va, u32 *ret_index)
{
	struct page_table_region *region = table_find(table, va);

	GVM_ASSERT(region);
	*ret_index = (u32)((va - region->va) >> GVM_CHUNK_SHIFT);
	return region;
}

void page_table_map(struct page_table *table, u64 va, u32 chunk, u32 offset_pages, u32 pages,
		    bool writable)
{
	u32 index;
	struct page_table_region *region = table_block(table, va, &index);
	struct page_table_entry *entry = &region->entries[index];

	region_write(table, region, index, entry->valid | pages,
		     writable ? entry->writable | pages : entry->writable & ~pages);
	region_set_remote(table, region, index, entry->remote & ~pages);
	entry->chunk = chunk;
	entry->offset_pages = offset_pages;
}

void page_table_unmap(struct page_table *table, u64 va, u32 pages)
{
	u32 index;
	struct page_table_region *region = table_block(table, va, &index);
	const struct page_table_entry *entry = &region->entries[index];

	region_write(table, region, index, entry->valid & ~pages, entry->writable & ~pages);
	region_set_remote(table, region, index, entry->remote & ~pages);
}

void page_table_map_remote(struct page_table *table, u64 va, u32 pages)
{
	u32 index;
	struct page_table_region *region = table_block(table, va, &index);
	const struct page_table_entry *entry = &region->entries[index];

	region_write(table, region, index, entry->valid | pages, entry->writable | pages);
	region_set_remote(table, region, index, entry->remote | pages);
}

u32 page_table_next_bit(const u64 *words, u32 from, u32 end)
{
	while (from < end) {
		u64 rest = words[from / WORD_BITS] >> (from % WORD_BITS);

		if (rest)
			return min(from + (u32)__builtin_ctzll(rest), end);
		from = (from / WORD_BITS + 1) * WORD_BITS;
	}
	return end;
}

u32 page_table_next_hole(const struct page_table_region *region, u8 access, u32 from, u32 end)
{
	const struct page_table_holes *holes = page_table_holes(region, access);
	u32 word = from / WORD_BITS;
	u64 rest;

	if (from >= end)
		return end;
	rest = holes->blocks[word] & ~0ull << (from % WORD_BITS);
	if (!rest) {
		u32 words = words_for(end);

		word = page_table_next_bit(holes->summary, word + 1, words);
		if (word == words)
			return end;
		rest = holes->blocks[word];
	}
	return min(word * WORD_BITS + (u32)__builtin_ctzll(rest), end);
}
