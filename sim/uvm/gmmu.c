// SPDX-License-Identifier: MIT OR GPL-2.0
/* The fault buffer of the simulated GMMU; see gmmu.h. */
#include "uvm/gmmu.h"

#include <stdlib.h>

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

static void gmmu_push(struct gmmu *gmmu, const struct gvm_fault *fault)
{
	gmmu->buffer[gmmu->put++ % gmmu->entries] = *fault;
}

/* A report in the making: the misses of a walk in a window. */
struct report {
	struct gmmu *gmmu;
	const struct gmmu_walk *walk;
	const struct gmmu_window *window;
	u32 tsg;
	u32 left; /* faults that it may still add */
};

/*
 * The bit of missing page number @nth of a block, counted from 0; 0: fewer pages are missing.
 */
static u32 nth_missing(u32 missing, u32 nth)
{
	while (nth-- && missing)
		missing &= missing - 1;
	return missing & -missing;
}

/*
 * Report missing page number @nth of the block at @cursor. Each thread that misses in the page
 * makes one fault.
 */
static void report_page(struct report *report, const struct gmmu_cursor *cursor, u32 nth)
{
	struct gmmu_view view = gmmu_view(report->walk, cursor->touch);
	u32 page = nth_missing(gmmu_view_missing(&view, cursor->block), nth);
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
static void report_round(struct report *report, struct gmmu_cursor cursor, u32 nth, u32 pages)
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

/* Report side by side, a page of each block in a round; or in order, all in one round. */
static void report_blocks(struct report *report, const struct gmmu_cursor *cursor)
{
	u32 most = report->window->pages_per_block, pages = report->window->in_order ? most : 1;
	u32 before = U32_MAX;

	/* A round without a fault is the last one: later pages are not missing either. */
	for (u32 nth = 0; nth < most && report->left && report->left != before; nth += pages) {
		before = report->left;
		report_round(report, *cursor, nth, pages);
	}
}

/*
 * A kernel that misses SM by SM: a product of few tokens. Rows are counted from its beginning.
 */
struct product {
	struct gmmu_view view;
	u32 first_block; /* of the touch: the kernel begins there */
	u64 rows;	 /* of the kernel; each SM has an equal part */
	u64 window_first, window_end;
};

/*
 * Does the kernel at the cursor miss SM by SM? Then *ret_product is it. A product touches all
 * pages of its weights, so a touch with masks is none.
 */
static bool product_at(const struct report *report, const struct gmmu_cursor *cursor,
		       struct product *ret_product)
{
	const struct gmmu_window *window = report->window;
	struct gmmu_footprint kernel;
	struct gmmu_view view;
	u64 rows_per_block;

	if (!window->faults_per_sm || cursor->touch >= report->walk->count)
		return false;
	view = gmmu_view(report->walk, cursor->touch);
	if (!view.touch->rows_per_page || view.touch->masks)
		return false;
	kernel = gmmu_kernel_footprint(report->walk, cursor);
	if (kernel.first == kernel.end)
		return false;
	rows_per_block = (u64)GVM_PAGES_PER_BLOCK * view.touch->rows_per_page;
	*ret_product = (struct product){
		.view = view,
		.first_block = cursor->block - (u32)(cursor->ordinal - kernel.first),
		.rows = (kernel.end - kernel.first) * rows_per_block,
		.window_first = (cursor->ordinal - kernel.first) * rows_per_block,
		.window_end =
			(min(kernel.end, window->end_ordinal) - kernel.first) * rows_per_block,
	};
	return true;
}

/*
 * Misses of the last report come again, up to their share of this one. Those on memory that was
 * freed since do not. The share stays free where fewer come, so the first report of a product
 * is smaller: on an H200 its first two batches have 256 and 70 records.
 */
static void report_again(struct report *report)
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

/*
 * Report new misses of one SM, which reads the rows from @row on, before row @end. They will
 * come again.
 */
static void report_sm(struct report *report, const struct product *product, u64 row, u64 end)
{
	struct gmmu *gmmu = report->gmmu;
	const struct gmmu_touch *touch = product->view.touch;
	u32 left = min(report->window->faults_per_sm, report->left);

	while (row < end && left) {
		u64 page = row / touch->rows_per_page;
		u64 next_page_row = (page + 1) * touch->rows_per_page;
		u32 block = product->first_block + (u32)(page / GVM_PAGES_PER_BLOCK);
		u32 missing = gmmu_view_missing(&product->view, block);
		struct gvm_fault fault = {
			.space = report->walk->table->space,
			.tsg = report->tsg,
			.access = touch->access,
			.va = touch->va + ((u64)product->first_block << GVM_CHUNK_SHIFT) +
			      (page << GVM_PAGE_SHIFT),
		};

		if (!(missing & (1u << page % GVM_PAGES_PER_BLOCK))) {
			row = next_page_row;
			continue;
		}
		for (; row < min(end, next_page_row) && left; row++, left--) {
			gmmu_push(gmmu, &fault);
			if (gmmu->again_count < GMMU_AGAIN_MAX)
				gmmu->again[gmmu->again_count++] = fault;
			report->left--;
		}
	}
}

static void report_product(struct report *report, const struct product *product)
{
	struct gmmu *gmmu = report->gmmu;
	u32 sms = report->window->sms;

	report_again(report);
	for (u32 i = 0; i < sms && report->left; i++) {
		u32 sm = gmmu->next_sm++ % sms;

		report_sm(report, product, max(product->rows * sm / sms, product->window_first),
			  min(product->rows * (sm + 1) / sms, product->window_end));
	}
}

u32 gmmu_report(struct gmmu *gmmu, u32 tsg, const struct gmmu_walk *walk,
		struct gmmu_cursor cursor, const struct gmmu_window *window)
{
	u32 room = gmmu->entries - (u32)(gmmu->put - gmmu->get);
	u64 put = gmmu->put;
	struct report report = {
		.gmmu = gmmu,
		.walk = walk,
		.window = window,
		.tsg = tsg,
		.left = min(room, window->faults),
	};
	struct product product;

	if (product_at(&report, &cursor, &product))
		report_product(&report, &product);
	else
		report_blocks(&report, &cursor);
	eng_wake_one(&gmmu->waitq);
	return (u32)(gmmu->put - put);
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
