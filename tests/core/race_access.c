// SPDX-License-Identifier: MIT OR GPL-2.0
#include "race_access.h"

#include "gvm/activity.h"

/*
 * How long an access waits for a replay before it faults again: its fault record may be lost.
 */
#define RACE_PATIENCE_NS 1000000ull

/* Page of the space where a range begins, and its pages. */
static u32 race_range_first(u32 range)
{
	return range ? (RACE_BIG + range - 1) * GVM_PAGES_PER_BLOCK : 0;
}

static u32 race_range_pages(u32 range)
{
	return range ? RACE_SMALL : RACE_BIG * GVM_PAGES_PER_BLOCK;
}

void race_map(struct race_space *space, struct gvm_container *container, bool on_host)
{
	memset(space->host, 0, sizeof(space->host));
	for (u32 i = 0; i < RACE_RANGES; i++) {
		struct gvm_range_config config = {
			.container = container,
			.space = space,
			.va = RACE_VA + race_range_first(i) * GVM_PAGE_BYTES,
			.bytes = race_range_pages(i) * GVM_PAGE_BYTES,
			.on_host = on_host,
		};

		GVM_ASSERT(gvm_range_init(&race_gpu.memory, &space->ranges[i], &config) == 0);
	}
	gvm_spin_lock(&space->lock);
	space->open = true;
	gvm_spin_unlock(&space->lock);
}

void race_unmap(struct race_space *space)
{
	gvm_spin_lock(&space->lock);
	space->open = false;
	gvm_spin_unlock(&space->lock);
	for (u32 i = 0; i < RACE_RANGES; i++)
		gvm_range_destroy(&space->ranges[i]);
	for (u32 i = 0; i < RACE_BLOCKS; i++)
		GVM_ASSERT(!space->ptes[i].pages && !space->ptes[i].remote);
}

static u32 race_range_of(u32 page)
{
	u32 block = page / GVM_PAGES_PER_BLOCK;

	return block < RACE_BIG ? 0 : 1 + block - RACE_BIG;
}

u32 race_page(struct race_dice *dice)
{
	u32 page = race_roll(dice, RACE_PAGES);
	u32 range = race_range_of(page), first = race_range_first(range);

	return first + (page - first) % race_range_pages(range);
}

u32 race_discard(struct race_space *space, u32 page, u32 count)
{
	u32 range = race_range_of(page), in_range = page - race_range_first(range);
	u32 pages = min(count, race_range_pages(range) - in_range);

	(void)gvm_range_discard(&space->ranges[range], in_range * GVM_PAGE_BYTES,
				pages * GVM_PAGE_BYTES);
	return pages;
}

void race_fault(struct race_space *space, u32 page, enum gvm_access access)
{
	struct gvm_fault fault = {
		.space = space,
		.va = RACE_VA + ((u64)page << GVM_PAGE_SHIFT),
		.tsg = (u32)(space - race_gpu.spaces),
		.access = (u8)access,
	};

	gvm_spin_lock(&race_gpu.lock);
	if (race_gpu.queued < RACE_QUEUE)
		race_gpu.queue[race_gpu.queued++] = fault;
	gvm_spin_unlock(&race_gpu.lock);
	gvm_wake_up_all(&race_gpu.faulted);
}

/* Find the page if its PTE permits the access. NULL: the access faults. Space's lock held. */
static u32 *race_place_locked(struct race_space *space, u32 page, bool write)
{
	u32 block = page / GVM_PAGES_PER_BLOCK, in_block = page % GVM_PAGES_PER_BLOCK;
	const struct race_pte *pte = &space->ptes[block];

	if (pte->remote & 1u << in_block)
		return &space->host[block][in_block];
	if (!((write ? pte->writable : pte->pages) & 1u << in_block))
		return NULL;
	return &race_gpu.contents[pte->chunk][pte->offset_pages + in_block];
}

/* Try the access once. Returns whether a PTE allowed it. */
static bool race_try(struct race_space *space, u32 page, bool write, u32 *tag)
{
	u32 *place;

	gvm_spin_lock(&space->lock);
	place = race_place_locked(space, page, write);
	if (place && write)
		*place = *tag;
	else if (place)
		*tag = *place;
	space->accesses += place != NULL;
	gvm_spin_unlock(&space->lock);
	return place;
}

static u64 race_cancelled(struct race_space *space)
{
	u64 cancelled;

	gvm_spin_lock(&space->lock);
	cancelled = space->cancelled;
	gvm_spin_unlock(&space->lock);
	return cancelled;
}

static u64 race_replays(void)
{
	u64 replays;

	gvm_spin_lock(&race_gpu.lock);
	replays = race_gpu.replays;
	gvm_spin_unlock(&race_gpu.lock);
	return replays;
}

/* Does an access end before it is finished? @cancelled: faults cancelled before it. */
static bool race_gives_up(struct race_space *space, u64 cancelled)
{
	return race_cancelled(space) != cancelled || gvm_give_way() ||
	       gvm_device_is_lost(&race_gpu.device);
}

static void race_await_replay(u64 replays)
{
	(void)gvm_wait_event_timeout_ns(&race_gpu.replayed, race_replays() != replays,
					RACE_PATIENCE_NS);
}

void race_peek(struct race_dice *dice)
{
	struct race_space *space = &race_gpu.spaces[race_roll(dice, RACE_SPACES)];
	u32 page = race_roll(dice, GVM_PAGES_PER_BLOCK);

	gvm_spin_lock(&space->lock);
	for (u32 block = 0; block < RACE_BLOCKS; block++) {
		u32 remote = space->ptes[block].remote;
		volatile u32 *place;

		/* A remote page, if there is one. */
		if (remote && !(remote & 1u << page))
			page = (u32)__ffs(remote);
		place = race_place_locked(space, block * GVM_PAGES_PER_BLOCK + page, true);
		if (place)
			*place = *place;
	}
	gvm_spin_unlock(&space->lock);
}

bool race_access(struct race_space *space, u32 page, bool write, u32 *tag)
{
	u64 cancelled = race_cancelled(space);

	while (!race_try(space, page, write, tag)) {
		u64 replays = race_replays();

		if (race_gives_up(space, cancelled))
			return false;
		race_fault(space, page, write ? GVM_ACCESS_WRITE : GVM_ACCESS_READ);
		race_await_replay(replays);
	}
	return true;
}

/* Try the instruction once. Returns the blocks whose pages fault; 0: it has finished. */
static u32 race_try_together(struct race_space *space, u32 first, u32 count, u32 in_block,
			     u32 tag)
{
	u32 *places[RACE_BLOCKS], missing = 0;

	gvm_spin_lock(&space->lock);
	for (u32 i = 0; i < count; i++) {
		u32 page = (first + i) * GVM_PAGES_PER_BLOCK + in_block;

		places[i] = race_place_locked(space, page, true);
		missing |= places[i] ? 0 : 1u << i;
	}
	for (u32 i = 0; i < count && !missing; i++)
		*places[i] = tag;
	space->accesses += !missing;
	gvm_spin_unlock(&space->lock);
	return missing;
}

static void race_set_together(struct race_space *space, bool together)
{
	gvm_spin_lock(&space->lock);
	space->together = together;
	gvm_spin_unlock(&space->lock);
}

bool race_store_together(struct race_space *space, u32 first, u32 count, u32 in_block, u32 tag)
{
	u64 cancelled = race_cancelled(space);
	u32 missing;

	race_set_together(space, true);
	while ((missing = race_try_together(space, first, count, in_block, tag))) {
		u64 replays = race_replays();

		if (race_gives_up(space, cancelled))
			break;
		/* As another thread of the process would. */
		if (!race_gpu_roll(4))
			race_discard(space,
				     (first + race_gpu_roll(count)) * GVM_PAGES_PER_BLOCK +
					     in_block,
				     1);
		for (u32 i = 0; i < count; i++)
			if (missing & 1u << i)
				race_fault(space, (first + i) * GVM_PAGES_PER_BLOCK + in_block,
					   GVM_ACCESS_WRITE);
		race_await_replay(replays);
	}
	race_set_together(space, false);
	return !missing;
}
