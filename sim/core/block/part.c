// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Parts: small blocks that share a chunk.
 *
 * Layer: block. Works over struct gvm_mmu_ops. Only on a device with sub_chunks.
 *
 *
 * The idea
 *
 * A range of 64 KB needs one page of device memory, and a chunk has 32. A hundred such ranges
 * would take 200 MB. So a block that covers less than 2 MB (a small range, or the end of any
 * range) takes a part of a chunk: a run of as many pages as it covers. The rest of the chunk is
 * for other small blocks:
 *
 *     page   0   1   2   3   4   5   6   7   8  ...            31
 *            [ range A ][ B ][  end of range C     ][    room    ]
 *                        ^
 *                        gvm_block.offset_pages of B's block is 3
 *
 * The container pays for the pages of its parts only. The chunk stays the unit of the clock and
 * of eviction: a pick takes the chunk, and all of its blocks leave. A block that is in service
 * stays, and then the chunk stays, charged for what is left (struct gvm_eviction.left_bytes).
 *
 * PTEs protect the pages of a block from the other blocks of its chunk, since a part consists
 * of whole pages of 64 KB and a PTE maps one such page.
 *
 *
 * The neighbours of a part
 *
 * All parts of a chunk belong to ranges of one container, maybe of several address spaces. With
 * parts of two containers, one tenant's limit would evict its neighbour's pages, and the
 * neighbour's gmem.limit.low would protect the tenant's.
 *
 * A part goes into the first chunk of the container that has a long enough run of free pages,
 * among the PART_LOOKS_MAX chunks that were refused longest ago. A chunk that is being evicted
 * gets no new part. If there is no such chunk, the container takes a whole chunk, within its
 * gmem.limit.high (gvm_charge_reserve_chunk()). Nothing is moved to make a run.
 *
 *
 * Locks
 *
 * parts_lock makes each change of a chunk's parts one step: the pages, the frame, the charge.
 * It nests inside a range's lock. So whether a part was the last one of its chunk has one
 * answer, and the chunk is freed once.
 *
 *
 * How it differs from NVIDIA's driver
 *
 *   1. The driver splits a root chunk into sub-chunks of 4 KB to 1 MB, powers of two, aligned
 *      to their size (uvm_pmm_gpu.c). Here a part has any number of pages and any place.
 *   2. The driver mixes VA blocks of different VA spaces, and so of different tenants, in a
 *      root chunk. An eviction takes them all.
 *   3. The driver also serves a block of 2 MB with sub-chunks if only some of its pages are
 *      wanted. Here such a block has a chunk of its own.
 */
#include "gvm/range.h"

/* Chunks with room that the search for a place looks at. */
#define PART_LOOKS_MAX 64u

/* No run of pages is long enough. */
#define PART_NO_PLACE GVM_PAGES_PER_BLOCK

/* The first page of a run of @pages pages that are not in @used, or PART_NO_PLACE. */
static u32 part_find_run(u32 used, u32 pages)
{
	u32 runs = ~used; /* pages from which a run of the length so far begins */

	for (u32 length = 1; length < pages; length++)
		runs &= runs >> 1;
	return runs ? (u32)__ffs(runs) : PART_NO_PLACE;
}

static u32 part_mask(u32 first_page, u32 pages)
{
	return (u32)((BIT(pages) - 1) << first_page);
}

/* The block gets its charged pages. It is in service before an evictor can find it. */
static void part_add_locked(struct gvm_range *range, u32 index, u32 chunk, u32 first_page)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_root *root = &memory->roots[chunk];
	struct gvm_block *block = &range->blocks[index];

	root->used |= part_mask(first_page, gvm_block_pages(memory, block));
	block->chunk = chunk;
	block->offset_pages = (u8)first_page;
	gvm_block_set_in_service(memory, block, true);
	gvm_frame_set(memory, chunk, first_page, range, index);
}

/* A place in a chunk that the container has: 0; -EDQUOT; or -ENOMEM: there is none. */
static int part_join_locked(struct gvm_range *range, u32 index)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_container *container = range->container;
	u32 pages = gvm_block_pages(memory, &range->blocks[index]);
	const struct gvm_root *refused = NULL;

	for (u32 looks = 0; looks < PART_LOOKS_MAX && !list_empty(&container->roomy); looks++) {
		struct gvm_root *root =
			list_first_entry(&container->roomy, struct gvm_root, node);
		u32 chunk = (u32)(root - memory->roots);
		u32 first_page = part_find_run(root->used, pages);
		int status = -EBUSY;

		if (root == refused)
			break;
		if (first_page != PART_NO_PLACE)
			status = gvm_charge_join(container, chunk, first_page, pages);
		if (status && status != -EBUSY)
			return status;
		if (!status) {
			part_add_locked(range, index, chunk, first_page);
			if (root->used == GVM_BLOCK_FULL)
				list_del_init(&root->node);
			return 0;
		}
		refused = refused ? refused : root;
		list_move_tail(&root->node, &container->roomy);
	}
	return -ENOMEM;
}

/* The first part of a chunk that the container does not have yet. */
static int part_open_locked(struct gvm_range *range, u32 index)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_container *container = range->container;
	u32 pages = gvm_block_pages(memory, &range->blocks[index]);
	u64 bytes = (u64)pages << GVM_PAGE_SHIFT;
	struct gvm_root *root;
	int status;
	u32 chunk;

	status = gvm_charge_reserve_chunk(container, bytes);
	if (status)
		return status;
	status = memory->mmu->chunk_alloc(memory->gpu, &chunk);
	if (status) {
		gvm_charge_cancel_bytes(container, bytes);
		return status;
	}
	root = &memory->roots[chunk];
	root->container = container;
	list_add_tail(&root->node, &container->roomy);
	gvm_charge_allocated_part(container, chunk, 0, pages);
	part_add_locked(range, index, chunk, 0);
	gvm_charge_bind(container, chunk);
	return 0;
}

int gvm_part_populate_locked(struct gvm_range *range, u32 index)
{
	struct gvm_memory *memory = range->memory;
	int status;

	gvm_mutex_lock(&memory->parts_lock);
	status = part_join_locked(range, index);
	if (status == -ENOMEM)
		status = part_open_locked(range, index);
	gvm_mutex_unlock(&memory->parts_lock);
	return status;
}

bool gvm_part_drop_locked(struct gvm_range *range, struct gvm_block *block)
{
	struct gvm_memory *memory = range->memory;
	struct gvm_root *root = &memory->roots[block->chunk];
	u32 pages = gvm_block_pages(memory, block);
	bool last;

	gvm_mutex_lock(&memory->parts_lock);
	gvm_frame_set(memory, block->chunk, block->offset_pages, NULL, 0);
	gvm_uncharge_part(memory->device, block->chunk, block->offset_pages, pages);
	root->used &= ~part_mask(block->offset_pages, pages);
	block->chunk = GVM_NO_CHUNK;
	block->offset_pages = 0;
	last = !root->used;
	if (last) {
		list_del_init(&root->node);
		root->container = NULL;
	} else if (list_empty(&root->node)) {
		list_add(&root->node, &root->container->roomy);
	}
	gvm_mutex_unlock(&memory->parts_lock);
	return last;
}

/* Log the broken invariant of a chunk. Always -EUCLEAN. */
static int part_check_failed(const struct gvm_memory *memory, const char *what, u32 chunk)
{
	gvm_warn("%s: books of parts are broken: %s (chunk %u)", memory->device->name, what,
		 chunk);
	return -EUCLEAN;
}

/* The pages that the container pays for in a chunk; all of them have to be its own. */
static u32 part_paid_pages(const struct gvm_memory *memory, u32 chunk)
{
	struct gvm_container **payers =
		&memory->device->payers[(size_t)chunk * GVM_PAGES_PER_BLOCK];
	u32 paid = 0;

	gvm_spin_lock(&memory->device->lock);
	for (u32 page = 0; page < GVM_PAGES_PER_BLOCK; page++) {
		if (payers[page] == memory->roots[chunk].container)
			paid |= part_mask(page, 1);
	}
	gvm_spin_unlock(&memory->device->lock);
	return paid;
}

static int part_check_chunk_locked(struct gvm_memory *memory, u32 chunk)
{
	const struct gvm_root *root = &memory->roots[chunk];
	bool has_room = root->container && root->used != GVM_BLOCK_FULL;
	u32 used = 0;

	if (!root->used != !root->container)
		return part_check_failed(memory, "pages without a container, or the reverse",
					 chunk);
	if (list_empty(&root->node) == has_room)
		return part_check_failed(memory, "room that is on no list, or the reverse",
					 chunk);
	for (u32 page = 0; root->container && page < GVM_PAGES_PER_BLOCK; page++) {
		const struct gvm_frame *frame = gvm_frame(memory, chunk, page);
		const struct gvm_block *block;
		u32 pages;

		if (!frame->range)
			continue;
		block = &frame->range->blocks[frame->index];
		pages = gvm_block_pages(memory, block);
		if (frame->range->container != root->container)
			return part_check_failed(memory, "part of a foreign container", chunk);
		if (block->chunk != chunk || block->offset_pages != page)
			return part_check_failed(memory, "block has another part", chunk);
		if (page + pages > GVM_PAGES_PER_BLOCK || used & part_mask(page, pages))
			return part_check_failed(memory, "two blocks have a page", chunk);
		used |= part_mask(page, pages);
	}
	if (used != root->used)
		return part_check_failed(memory, "used pages are not the blocks'", chunk);
	if (root->container && part_paid_pages(memory, chunk) != used)
		return part_check_failed(memory, "paid pages are not the used ones", chunk);
	return 0;
}

int gvm_memory_check(struct gvm_memory *memory)
{
	int status = 0;

	gvm_mutex_lock(&memory->parts_lock);
	for (u32 chunk = 0; memory->roots && chunk < memory->device->chunk_count && !status;
	     chunk++)
		status = part_check_chunk_locked(memory, chunk);
	gvm_mutex_unlock(&memory->parts_lock);
	return status;
}
