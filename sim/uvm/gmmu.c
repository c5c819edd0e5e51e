// SPDX-License-Identifier: MIT OR GPL-2.0
/* The simulated GMMU; see gmmu.h. */
#include "uvm/gmmu.h"

#include <stdlib.h>

#define WORD_BITS 64u

int gmmu_init(struct gmmu *gmmu, u32 entries)
{
	*gmmu = (struct gmmu){ .entries = entries };
	gmmu->buffer = calloc(entries, sizeof(*gmmu->buffer));
	return gmmu->buffer ? 0 : -ENOMEM;
}

void gmmu_destroy(struct gmmu *gmmu)
{
	free(gmmu->buffer);
	gmmu->buffer = NULL;
}

void gmmu_index_masks(const u32 *masks, u32 count, u64 *ret_groups)
{
	memset(ret_groups, 0, GMMU_GROUP_WORDS(count) * sizeof(*ret_groups));
	for (u32 i = 0; i < count; i++)
		if (masks[i])
			ret_groups[i / WORD_BITS] |= 1ull << (i % WORD_BITS);
}

/* A touch with its region's tables. */
struct touch_view {
	const struct gmmu_touch *touch;
	const struct page_table_region *region; /* NULL: there is none at its address */
	u32 first;	/* block of the region that the touch begins with */
	u32 mapped_end; /* blocks of the touch that lie in the region */
};

static struct touch_view touch_view(const struct gmmu_walk *walk, u32 index)
{
	const struct gmmu_touch *touch = &walk->touches[index];
	const struct page_table_region *region = page_table_find(walk->table, touch->va);
	struct touch_view view = { .touch = touch, .region = region };

	if (region) {
		view.first = (u32)((touch->va - region->va) >> GVM_CHUNK_SHIFT);
		view.mapped_end = min(touch->block_count, region->block_count - view.first);
	}
	return view;
}

bool gmmu_all_resident(struct gmmu_walk *walk)
{
	if (walk->resident == walk->table->losses + 1)
		return true;
	for (u32 i = 0; i < walk->count; i++) {
		struct touch_view view = touch_view(walk, i);

		if (view.mapped_end < view.touch->block_count ||
		    (view.region && page_table_holes(view.region, view.touch->access)->pages))
			return false;
	}
	walk->resident = walk->table->losses + 1;
	return true;
}

/* The pages of block number @index that a touch wants. */
static u32 touch_pages(const struct touch_view *view, u32 index)
{
	const struct gmmu_touch *touch = view->touch;
	u32 pages =
		touch->masks ? touch->masks[index / touch->blocks_per_mask] : GVM_BLOCK_FULL;

	return index < view->mapped_end ?
		       pages & page_table_covered(view->region, view->first + index) :
		       pages;
}

static u32 touch_missing(const struct touch_view *view, u32 index)
{
	u32 pages = touch_pages(view, index);

	if (index >= view->mapped_end)
		return pages;
	return pages &
	       ~page_table_accessible(view->region, view->first + index, view->touch->access);
}

/* Set bits before bit @bit, with the ranks of the words. */
static u32 rank_bit(const u64 *words, const u32 *ranks, u32 bit)
{
	u32 word = bit / WORD_BITS, rest = bit % WORD_BITS;

	if (!rest)
		return ranks[word];
	return ranks[word] + (u32)__builtin_popcountll(words[word] << (WORD_BITS - rest));
}

/* Count the set bits from bit @from on, before bit @end. */
static u32 count_bits(const u64 *words, u32 from, u32 end)
{
	u32 count = 0;

	while (from < end) {
		u64 word = words[from / WORD_BITS] >> (from % WORD_BITS);
		u32 bits = min(WORD_BITS - from % WORD_BITS, end - from);

		if (bits < WORD_BITS)
			word &= (1ull << bits) - 1;
		count += (u32)__builtin_popcountll(word);
		from += bits;
	}
	return count;
}

/*
 * Count the blocks of a touch, from @from on and before @to, that have touched pages. The work
 * is proportional to groups, not to blocks; with ranks it is constant.
 */
static u64 touch_count_blocks(const struct touch_view *view, u32 from, u32 to)
{
	const struct gmmu_touch *touch = view->touch;
	u32 per_mask = touch->blocks_per_mask;
	u32 first, last;
	u64 count;

	if (!touch->masks || from >= to)
		return to - min(from, to);
	first = from / per_mask;
	last = (to - 1) / per_mask;
	count = touch->ranks ? rank_bit(touch->groups, touch->ranks, last + 1) -
				       rank_bit(touch->groups, touch->ranks, first) :
			       count_bits(touch->groups, first, last + 1);
	count *= per_mask;
	/* Subtract the blocks of the first and the last group that lie outside. */
	if (touch->masks[first])
		count -= from - first * per_mask;
	if (touch->masks[last])
		count -= (last + 1) * (u64)per_mask - to;
	/* A region may end within its last block, before all pages of the mask. */
	if (view->mapped_end && from < view->mapped_end && view->mapped_end <= to &&
	    touch->masks[(view->mapped_end - 1) / per_mask] &&
	    !touch_pages(view, view->mapped_end - 1))
		count--;
	return count;
}

/* Blocks with touched pages of a whole touch. Without masks these are all: no look-up. */
static u64 touch_count_all(const struct gmmu_walk *walk, u32 index)
{
	const struct gmmu_touch *touch = &walk->touches[index];
	struct touch_view view;

	if (!touch->masks)
		return touch->block_count;
	view = touch_view(walk, index);
	return touch_count_blocks(&view, 0, touch->block_count);
}

u64 gmmu_count_blocks(const struct gmmu_walk *walk)
{
	u64 blocks = 0;

	for (u32 i = 0; i < walk->count; i++)
		blocks += touch_count_all(walk, i);
	return blocks;
}

/*
 * The first block of a touch, from @from on, whose group has touched pages; else its block
 * count.
 */
static u32 touch_next_touched(const struct gmmu_touch *touch, u32 from)
{
	u32 per_mask = touch->blocks_per_mask;
	u32 groups, group;

	if (!touch->masks || from >= touch->block_count || touch->masks[from / per_mask])
		return from;
	groups = (touch->block_count - 1) / per_mask + 1;
	group = page_table_next_bit(touch->groups, from / per_mask, groups);
	return group == groups ? touch->block_count : group * per_mask;
}

/*
 * The first block of a touch, from @from on, with a missing page; else its block count. Skips
 * groups without touched pages, and blocks without missing pages.
 */
static u32 touch_next_miss(const struct touch_view *view, u32 from)
{
	const struct gmmu_touch *touch = view->touch;

	for (u32 index = from;; index++) {
		u32 touched = touch_next_touched(touch, index);

		if (touched >= touch->block_count)
			return touch->block_count;
		index = touched;
		if (index < view->mapped_end)
			index = page_table_next_hole(view->region, touch->access,
						     view->first + index,
						     view->first + view->mapped_end) -
				view->first;
		if (index < touch->block_count && touch_missing(view, index))
			return index;
	}
}

bool gmmu_find_miss(const struct gmmu_walk *walk, struct gmmu_cursor *cursor)
{
	for (; cursor->touch < walk->count; cursor->touch++, cursor->block = 0) {
		struct touch_view view = touch_view(walk, cursor->touch);
		u32 miss = touch_next_miss(&view, cursor->block);

		cursor->ordinal += touch_count_blocks(&view, cursor->block, miss);
		cursor->block = miss;
		if (miss < view.touch->block_count)
			return true;
	}
	return false;
}

/*
 * The touched pages in host memory of block number @index of a touch, which lies in a region.
 */
static u32 touch_remote(const struct touch_view *view, u32 index)
{
	return touch_pages(view, index) & view->region->entries[view->first + index].remote;
}

/*
 * The first block of a touch, from @from on, with a touched page in host memory; else its block
 * count.
 */
static u32 touch_next_remote(const struct touch_view *view, u32 from)
{
	const struct gmmu_touch *touch = view->touch;

	if (!view->region || !view->region->remote_pages)
		return touch->block_count;
	for (u32 index = from;; index++) {
		index = touch_next_touched(touch, index);
		if (index >= view->mapped_end)
			return touch->block_count;
		if (touch_remote(view, index))
			return index;
	}
}

bool gmmu_find_remote(const struct gmmu_walk *walk, struct gmmu_cursor *cursor)
{
	for (; cursor->touch < walk->count; cursor->touch++, cursor->block = 0) {
		struct touch_view view = touch_view(walk, cursor->touch);
		u32 remote = touch_next_remote(&view, cursor->block);

		cursor->ordinal += touch_count_blocks(&view, cursor->block, remote);
		cursor->block = remote;
		if (remote < view.touch->block_count)
			return true;
	}
	return false;
}

void gmmu_count_remote(const struct gmmu_walk *walk, struct gmmu_cursor cursor, u64 end_ordinal,
		       u64 *ret_reads, u64 *ret_writes)
{
	*ret_reads = 0;
	*ret_writes = 0;
	while (gmmu_find_remote(walk, &cursor) && cursor.ordinal < end_ordinal) {
		struct touch_view view = touch_view(walk, cursor.touch);
		u64 pages = hweight32(touch_remote(&view, cursor.block));

		if (view.touch->access >= GVM_ACCESS_WRITE)
			*ret_writes += pages;
		else
			*ret_reads += pages * max(view.touch->remote_reads, 1u);
		cursor.block++;
		cursor.ordinal++;
	}
}

/*
 * The place in a touch right after its first @count blocks with touched pages. The touch has as
 * many.
 */
static u32 touch_seek(const struct touch_view *view, u64 count)
{
	const struct gmmu_touch *touch = view->touch;
	u32 low = 0, high = touch->block_count;

	if (!touch->masks)
		return (u32)count;
	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (touch_count_blocks(view, 0, middle) >= count)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct gmmu_cursor gmmu_seek_from(const struct gmmu_walk *walk, struct gmmu_cursor *start,
				  u64 ordinal)
{
	struct gmmu_cursor cursor;

	if (start->ordinal > ordinal)
		*start = (struct gmmu_cursor){ 0 };
	for (; start->touch < walk->count; start->touch++) {
		u64 blocks = touch_count_all(walk, start->touch);

		if (start->ordinal + blocks > ordinal) {
			struct touch_view view = touch_view(walk, start->touch);

			cursor = *start;
			cursor.block = touch_seek(&view, ordinal - cursor.ordinal);
			cursor.ordinal = ordinal;
			return cursor;
		}
		start->ordinal += blocks;
	}
	return *start;
}

struct gmmu_cursor gmmu_seek(const struct gmmu_walk *walk, u64 ordinal)
{
	struct gmmu_cursor start = { 0 };

	return gmmu_seek_from(walk, &start, ordinal);
}

struct gmmu_footprint gmmu_kernel_footprint(const struct gmmu_walk *walk,
					    const struct gmmu_cursor *cursor)
{
	struct gmmu_footprint none = { cursor->ordinal, cursor->ordinal };
	struct touch_view view;
	u64 before, blocks, kernels, kernel;

	if (cursor->touch >= walk->count || !walk->touches[cursor->touch].kernels)
		return none;
	view = touch_view(walk, cursor->touch);
	before = touch_count_blocks(&view, 0, cursor->block);
	blocks = touch_count_blocks(&view, 0, view.touch->block_count);
	if (before >= blocks)
		return none;
	kernels = min((u64)view.touch->kernels, blocks);
	/* Kernel k touches the blocks from ceil(k * blocks / kernels) on. */
	kernel = before * kernels / blocks;
	return (struct gmmu_footprint){
		.first = cursor->ordinal - before + (kernel * blocks + kernels - 1) / kernels,
		.end = cursor->ordinal - before +
		       ((kernel + 1) * blocks + kernels - 1) / kernels,
	};
}

bool gmmu_find_block(const struct gmmu_walk *walk, u64 va, const struct gmmu_span *span,
		     struct gmmu_cursor *ret_cursor)
{
	bool starts = span->start.ordinal <= span->first;
	u64 before = starts ? span->start.ordinal : 0;

	for (u32 i = starts ? span->start.touch : 0; i < walk->count && before < span->end;
	     i++) {
		const struct gmmu_touch *touch = &walk->touches[i];
		u64 block = (va - touch->va) >> GVM_CHUNK_SHIFT;

		if (va >= touch->va && block < touch->block_count) {
			struct touch_view view = touch_view(walk, i);
			u64 at = before + touch_count_blocks(&view, 0, (u32)block);

			if (at >= span->first && at < span->end &&
			    touch_pages(&view, (u32)block)) {
				*ret_cursor = (struct gmmu_cursor){ i, (u32)block, at };
				return true;
			}
		}
		/*
		 * No ordinal after the last touch is needed, and its masks are the most work to
		 * count.
		 */
		if (i + 1 < walk->count)
			before += touch_count_all(walk, i);
	}
	return false;
}

static void gmmu_push(struct gmmu *gmmu, const struct gvm_fault *fault)
{
	gmmu->buffer[gmmu->put++ % gmmu->entries] = *fault;
}

/*
 * The bit of missing page number @nth of a block, counted from 0; 0: fewer pages are missing.
 */
static u32 nth_missing(u32 missing, u32 nth)
{
	while (nth-- && missing)
		missing &= missing - 1;
	return missing & -missing;
}

/* A report in the making: the misses of a walk in a window. */
struct gmmu_report {
	struct gmmu *gmmu;
	const struct gmmu_walk *walk;
	const struct gmmu_window *window;
	u32 tsg;
	u32 left; /* faults that it may still add */
};

/*
 * Report missing page number @nth of the block at @cursor. Each thread that misses in the page
 * makes one fault.
 */
static void report_page(struct gmmu_report *report, const struct gmmu_cursor *cursor, u32 nth)
{
	struct touch_view view = touch_view(report->walk, cursor->touch);
	u32 page = nth_missing(touch_missing(&view, cursor->block), nth);
	u32 faults = min(report->window->faults_per_page, report->left);
	struct gvm_fault fault = {
		.space = report->walk->table->space,
		.tsg = report->tsg,
		.access = view.touch->access,
	};

	if (!page)
		return;
	if (view.touch->rows_per_page)
		faults = min(faults, view.touch->rows_per_page);
	fault.va = view.touch->va + ((u64)cursor->block << GVM_CHUNK_SHIFT) +
		   ((u64)__ffs(page) << GVM_PAGE_SHIFT);
	for (u32 i = 0; i < faults; i++)
		gmmu_push(report->gmmu, &fault);
	report->left -= faults;
}

/*
 * Report missing pages @nth to @nth + @pages - 1 of each block from @cursor to the end of the
 * window.
 */
static void report_round(struct gmmu_report *report, struct gmmu_cursor cursor, u32 nth,
			 u32 pages)
{
	while (report->left && gmmu_find_miss(report->walk, &cursor) &&
	       cursor.ordinal < report->window->end_ordinal) {
		for (u32 i = 0; i < pages && report->left; i++)
			report_page(report, &cursor, nth + i);
		/* A block with a missing page is touched, so it has an ordinal. */
		cursor.block++;
		cursor.ordinal++;
	}
}

/* A product of few tokens that misses SM by SM: its rows from the beginning of its kernel on. */
struct product {
	struct touch_view view;
	u32 first; /* block of the touch that the kernel begins with */
	u64 rows;
	u64 from, to; /* rows in the window */
};

/* Does the kernel at the cursor miss SM by SM? Then *ret_product is it. */
static bool product_at(const struct gmmu_report *report, const struct gmmu_cursor *cursor,
		       struct product *ret_product)
{
	const struct gmmu_window *window = report->window;
	struct gmmu_footprint kernel;
	u64 rows_per_block;

	if (!window->faults_per_sm || cursor->touch >= report->walk->count)
		return false;
	*ret_product = (struct product){ .view = touch_view(report->walk, cursor->touch) };
	if (!ret_product->view.touch->rows_per_page || ret_product->view.touch->masks)
		return false;
	kernel = gmmu_kernel_footprint(report->walk, cursor);
	rows_per_block = (u64)GVM_PAGES_PER_BLOCK * ret_product->view.touch->rows_per_page;
	ret_product->first = cursor->block - (u32)(cursor->ordinal - kernel.first);
	ret_product->rows = (kernel.end - kernel.first) * rows_per_block;
	ret_product->from = (cursor->ordinal - kernel.first) * rows_per_block;
	ret_product->to =
		(min(kernel.end, window->end_ordinal) - kernel.first) * rows_per_block;
	return kernel.first < kernel.end;
}

/*
 * Faults of the last report come again, up to their part of this one, but for those on memory
 * that was freed since. The first report leaves that part free: on an H200 the first two
 * batches of a product have 256 and 70 records.
 */
static void report_again(struct gmmu_report *report)
{
	struct gmmu *gmmu = report->gmmu;
	u32 most = (u32)((u64)report->left * report->window->again_ppm / 1000000);

	if (gmmu->again_count && gmmu->again[0].tsg != report->tsg)
		gmmu->again_count = 0;
	for (u32 i = 0; i < min(gmmu->again_count, most); i++)
		if (page_table_find(report->walk->table, gmmu->again[i].va))
			gmmu_push(gmmu, &gmmu->again[i]);
	report->left -= most;
	gmmu->again_count = 0;
}

/* Report misses of one SM, which reads the rows from @row on, before row @end. */
static void report_sm(struct gmmu_report *report, const struct product *product, u64 row,
		      u64 end)
{
	struct gmmu *gmmu = report->gmmu;
	const struct gmmu_touch *touch = product->view.touch;
	u32 left = min(report->window->faults_per_sm, report->left);

	while (row < end && left) {
		u64 page = row / touch->rows_per_page;
		u64 next_page = (page + 1) * touch->rows_per_page;
		u32 block = product->first + (u32)(page / GVM_PAGES_PER_BLOCK);
		u32 missing = touch_missing(&product->view, block);
		struct gvm_fault fault = {
			.space = report->walk->table->space,
			.tsg = report->tsg,
			.access = touch->access,
			.va = touch->va + ((u64)product->first << GVM_CHUNK_SHIFT) +
			      (page << GVM_PAGE_SHIFT),
		};

		if (!(missing & (1u << page % GVM_PAGES_PER_BLOCK))) {
			row = next_page;
			continue;
		}
		for (; row < min(end, next_page) && left; row++, left--) {
			gmmu_push(gmmu, &fault);
			if (gmmu->again_count < GMMU_AGAIN_MAX)
				gmmu->again[gmmu->again_count++] = fault;
			report->left--;
		}
	}
}

static void report_product(struct gmmu_report *report, const struct product *product)
{
	struct gmmu *gmmu = report->gmmu;
	u32 sms = report->window->sms;

	report_again(report);
	for (u32 i = 0; i < sms && report->left; i++) {
		u32 sm = gmmu->next_sm++ % sms;

		report_sm(report, product, max(product->rows * sm / sms, product->from),
			  min(product->rows * (sm + 1) / sms, product->to));
	}
}

u32 gmmu_report(struct gmmu *gmmu, u32 tsg, const struct gmmu_walk *walk,
		struct gmmu_cursor cursor, const struct gmmu_window *window)
{
	u32 room = gmmu->entries - (u32)(gmmu->put - gmmu->get);
	u32 most = min(room, window->faults), before = U32_MAX;
	u32 pages = window->in_order ? window->pages_per_block : 1;
	struct product product;
	u64 put = gmmu->put;
	struct gmmu_report report = {
		.gmmu = gmmu, .walk = walk, .window = window, .tsg = tsg, .left = most
	};

	if (product_at(&report, &cursor, &product)) {
		report_product(&report, &product);
		eng_wake_one(&gmmu->waitq);
		return (u32)(gmmu->put - put);
	}
	/* A round without a fault is the last one: later pages are not missing either. */
	for (u32 nth = 0; nth < window->pages_per_block && report.left && report.left != before;
	     nth += pages) {
		before = report.left;
		report_round(&report, cursor, nth, pages);
	}
	eng_wake_one(&gmmu->waitq);
	return most - report.left;
}

u32 gmmu_fetch(struct gmmu *gmmu, struct gvm_fault *faults, u32 max)
{
	u32 count = min((u32)(gmmu->put - gmmu->get), max);

	for (u32 i = 0; i < count; i++)
		faults[i] = gmmu->buffer[gmmu->get++ % gmmu->entries];
	return count;
}

void gmmu_flush(struct gmmu *gmmu)
{
	gmmu->get = gmmu->put;
}

void gmmu_drop(struct gmmu *gmmu, const void *space)
{
	u64 kept = gmmu->get;

	if (gmmu->again_count && gmmu->again[0].space == space)
		gmmu->again_count = 0;
	for (u64 i = gmmu->get; i != gmmu->put; i++) {
		struct gvm_fault fault = gmmu->buffer[i % gmmu->entries];

		if (fault.space != space)
			gmmu->buffer[kept++ % gmmu->entries] = fault;
	}
	gmmu->put = kept;
}

bool gmmu_pending(const struct gmmu *gmmu)
{
	return gmmu->put != gmmu->get;
}
