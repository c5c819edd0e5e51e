// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Thrashing: when two processors use one page in turn, one of them has to wait. A model of
 * open-gpu-kernel-modules 575, uvm_perf_thrashing.c.
 *
 *
 * Few migrations count
 *
 * thrashing_event_cb() sees migrations and revocations. It ignores migrations by eviction
 * (UVM_MAKE_RESIDENT_CAUSE_EVICTION), since the VA space cannot be locked there. So a page that
 * is evicted and faulted back 1000 times a second is not thrashing. Migrations by faults and by
 * the prefetcher count, to either processor. But single pages have records only after two
 * migrations of their block within a lapse went to different processors (last_processor). With
 * one GPU the other processor is the CPU. A block that the CPU does not touch never has
 * records, however often the GPU loses it. Our applications fill their memory on the CPU before
 * the GPU uses it, and never touch it there again. So the detector does nothing in the papers'
 * experiments.
 *
 *
 * What a thrashing page gets
 *
 *     migrations within 500 us of the one before:  1   2   3 --> the page is thrashing
 *     fault of a thrashing page   throttling periods of 500 us: in each of them one processor
 *                                 may have the page, not the same one twice running. Faults of
 *                                 the other one come again
 *     after 10 throttlings        it is pinned for 150 ms: to the processor that faults; to the
 *                                 CPU as soon as the other processor may have it. The GPU can
 *                                 map host memory; the CPU cannot map the GPU's
 *     1 s without thrashing       the block's history is forgotten, up to 4 times
 *
 * How this differs from the driver:
 *  1. One GPU and the CPU, no NVLink, no preferred location: the branches for these are left
 *     out of get_hint_for_migration_thrashing(), and revocations (system-wide atomics) with
 *     them.
 *  2. A pin ends when its block is next looked at after its deadline, and not by a work item at
 *     the deadline. Nothing else depends on it.
 *  3. Dates have a resolution of 1 ns, there it is 64 ns.
 *  4. The fault handler ends its turn after 5 batches with throttled faults
 *     (uvm_perf_fault_max_throttle_per_service). The core's loop knows only the 20 batches.
 *  5. The service of a GPU fault does not obey a pin to the CPU: the page is migrated. The
 *     driver maps it in host memory. Only advice does that here (advice.c).
 *  6. Faults of the CPU are not throttled (block_cpu_fault_locked asks for a hint as well), and
 *     bring in no neighbours: the driver's prefetcher fills the host's part of a block by its
 *     density, too. No application here touches memory on the CPU once the GPU has it.
 */
#include "nvuvm/thrash.h"

/* A pin ends this much before its deadline. */
#define UNPIN_GRANULARITY_NS 20000ull

/* Counters of 3 and 8 bits. */
#define EVENTS_MAX 7u
#define COUNT_MAX  255u

static void saturating_inc(u8 *counter, u8 most)
{
	*counter = (u8)(*counter + (*counter < most));
}

/*
 * Forget that a page was thrashing. Its favoured processor and its count of throttles are kept.
 */
static void thrash_reset_page(struct nvuvm_thrash *thrash, u32 number)
{
	struct nvuvm_thrash_page *page = &thrash->pages[number];

	if (page->throttled)
		page->throttle_end_ns = 0;
	page->throttled = 0;
	page->pinned_to = NVUVM_NOBODY;
	page->last_ns = 0;
	page->events = 0;
	page->processors = 0;
	thrash->pinned &= ~(1u << number);
	thrash->thrashing &= ~(1u << number);
}

static void thrash_unpin(struct nvuvm_thrash *thrash, u64 now_ns)
{
	for (u32 pinned = thrash->pinned; pinned; pinned &= pinned - 1) {
		u32 number = (u32)__ffs(pinned);

		if (thrash->pages[number].pin_deadline_ns <= now_ns + UNPIN_GRANULARITY_NS)
			thrash_reset_page(thrash, number);
	}
}

void nvuvm_thrash_destroy(struct nvuvm_thrash *thrash)
{
	gvm_free(thrash->pages);
	thrash->pages = NULL;
}

/* Two processors use the block within a lapse: from then on each page has a record. */
static bool thrash_watch_pages(struct nvuvm_thrash *thrash, enum nvuvm_processor to, u64 now_ns)
{
	if (thrash->pages)
		return true;
	if (!thrash->last_ns || thrash->last_processor == to ||
	    now_ns - thrash->last_ns > NVUVM_THRASH_LAPSE_NS)
		return false;
	thrash->pages = gvm_alloc(GVM_PAGES_PER_BLOCK * sizeof(*thrash->pages));
	for (u32 i = 0; thrash->pages && i < GVM_PAGES_PER_BLOCK; i++) {
		thrash->pages[i].favoured = NVUVM_NOBODY;
		thrash->pages[i].pinned_to = NVUVM_NOBODY;
	}
	return thrash->pages != NULL;
}

static void page_migrated(struct nvuvm_thrash *thrash, u32 number, enum nvuvm_processor to,
			  u64 now_ns)
{
	struct nvuvm_thrash_page *page = &thrash->pages[number];
	u64 last_ns = page->last_ns;

	page->processors = (u8)(page->processors | 1u << to);
	page->last_ns = now_ns;
	if (!last_ns)
		return;
	if (now_ns - last_ns <= NVUVM_THRASH_LAPSE_NS) {
		saturating_inc(&page->events, EVENTS_MAX);
		if (page->events < NVUVM_THRASH_THRESHOLD)
			return;
		thrash->thrashing |= 1u << number;
		thrash->last_thrashing_ns = now_ns;
	} else if (page->events >= NVUVM_THRASH_THRESHOLD && page->pinned_to == NVUVM_NOBODY) {
		thrash_reset_page(thrash, number);
	}
}

void nvuvm_thrash_migrated(struct nvuvm_thrash *thrash, u32 pages, enum nvuvm_processor to,
			   u64 now_ns)
{
	thrash_unpin(thrash, now_ns);
	/* If all pages are pinned, the pin has caused the migration. */
	if (pages && !(pages & ~thrash->pinned))
		return;
	if (thrash_watch_pages(thrash, to, now_ns))
		for (u32 left = pages; left; left &= left - 1)
			page_migrated(thrash, (u32)__ffs(left), to, now_ns);
	thrash->last_ns = now_ns;
	thrash->last_processor = (u8)to;
}

/* After a second without thrashing the block's history is reset, a few times at most. */
static bool thrash_epoch_over(struct nvuvm_thrash *thrash, u64 now_ns)
{
	if (!thrash->last_thrashing_ns || thrash->pin_count ||
	    now_ns - thrash->last_thrashing_ns <= NVUVM_THRASH_EPOCH_NS ||
	    thrash->resets >= NVUVM_THRASH_RESETS_MAX)
		return false;
	nvuvm_thrash_destroy(thrash);
	*thrash = (struct nvuvm_thrash){ .resets = (u8)(thrash->resets + 1) };
	return true;
}

/* Start a new throttling period if the last one is over, and choose its favoured processor. */
static void page_update_period(struct nvuvm_thrash_page *page, enum nvuvm_processor requester,
			       u64 now_ns)
{
	if (now_ns > page->throttle_end_ns) {
		page->throttle_end_ns = now_ns + NVUVM_THRASH_NAP_NS;
		page->favoured = (u8)(page->favoured == requester ? NVUVM_NOBODY : requester);
	} else if (page->favoured == NVUVM_NOBODY) {
		page->favoured = (u8)requester;
	}
}

/*
 * What the requester of a thrashing page is told. The GPU reaches both memories, the CPU its
 * own, so all processors reach a page that the CPU uses on the host.
 */
static enum nvuvm_hint page_hint(const struct nvuvm_thrash_page *page,
				 enum nvuvm_processor requester,
				 enum nvuvm_processor *ret_residency)
{
	bool favoured = requester == page->favoured;

	if (page->pinned_to != NVUVM_NOBODY) {
		if (favoured)
			*ret_residency =
				page->processors & 1u << NVUVM_CPU ? NVUVM_CPU : NVUVM_GPU;
		else if (page->pinned_to == requester || page->pinned_to == NVUVM_CPU)
			*ret_residency = page->pinned_to;
		else
			return NVUVM_HINT_THROTTLE;
		return NVUVM_HINT_PIN;
	}
	if (!favoured)
		return NVUVM_HINT_THROTTLE;
	if (page->throttles < NVUVM_THRASH_PIN_THRESHOLD)
		return NVUVM_HINT_NONE;
	*ret_residency = requester;
	return NVUVM_HINT_PIN;
}

static void thrash_pin(struct nvuvm_thrash *thrash, u32 number, enum nvuvm_processor residency,
		       u64 now_ns)
{
	struct nvuvm_thrash_page *page = &thrash->pages[number];

	if (page->pinned_to != residency) {
		if (page->throttled)
			page->throttle_end_ns = 0;
		page->throttled = 0;
	}
	if (page->pinned_to == NVUVM_NOBODY) {
		page->pin_deadline_ns = now_ns + NVUVM_THRASH_PIN_NS;
		page->throttles = 0;
		saturating_inc(&thrash->pin_count, COUNT_MAX);
		thrash->pinned |= 1u << number;
	}
	page->pinned_to = (u8)residency;
}

static void page_throttle(struct nvuvm_thrash_page *page, enum nvuvm_processor processor)
{
	if (page->throttled & 1u << processor)
		return;
	page->throttled = (u8)(page->throttled | 1u << processor);
	if (page->pinned_to == NVUVM_NOBODY)
		saturating_inc(&page->throttles, COUNT_MAX);
}

/* Is the page thrashing now, or pinned? Ends the requester's throttling. */
static bool page_is_thrashing(struct nvuvm_thrash_page *page, enum nvuvm_processor requester,
			      u64 now_ns)
{
	if (page->events < NVUVM_THRASH_THRESHOLD)
		return false;
	if (page->throttled & 1u << requester) {
		page->throttled = (u8)(page->throttled & ~(1u << requester));
		if (!page->throttled)
			page->throttle_end_ns = 0;
	}
	return now_ns - page->last_ns <= NVUVM_THRASH_LAPSE_NS ||
	       page->pinned_to != NVUVM_NOBODY;
}

static bool page_is_throttled(const struct nvuvm_thrash_page *page,
			      enum nvuvm_processor requester, u64 now_ns)
{
	return page->events >= NVUVM_THRASH_THRESHOLD && page->throttled & 1u << requester &&
	       now_ns < page->throttle_end_ns && requester != page->favoured;
}

enum nvuvm_hint nvuvm_thrash_hint(struct nvuvm_thrash *thrash, u32 number,
				  enum nvuvm_processor requester, u64 now_ns,
				  enum nvuvm_processor *ret_residency)
{
	struct nvuvm_thrash_page *page;
	enum nvuvm_hint hint;

	if (!thrash->pages)
		return NVUVM_HINT_NONE;
	thrash_unpin(thrash, now_ns);
	if (thrash_epoch_over(thrash, now_ns))
		return NVUVM_HINT_NONE;
	page = &thrash->pages[number];
	if (page_is_throttled(page, requester, now_ns))
		return NVUVM_HINT_THROTTLE;
	if (!page_is_thrashing(page, requester, now_ns))
		return NVUVM_HINT_NONE;
	page->processors = (u8)(page->processors | 1u << requester);
	page_update_period(page, requester, now_ns);
	hint = page_hint(page, requester, ret_residency);
	if (hint == NVUVM_HINT_PIN)
		thrash_pin(thrash, number, *ret_residency, now_ns);
	else if (hint == NVUVM_HINT_THROTTLE)
		page_throttle(page, requester);
	return hint;
}
