// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * LIRS over hint faults: an order of eviction that survives loops.
 *
 * Layer: policy. Never waits; takes only the device's leaf lock.
 *
 *
 * Loops
 *
 * Models are read in loops: the weights of an LLM once a step, those of a diffusion model once
 * a denoising step. FIFO, LRU and CLOCK evict the oldest block. In a loop that is a little
 * longer than memory, the oldest block is the one that is needed next. So each access misses,
 * though nine tenths of the loop would fit. Hint faults (policy/hint.c) do not help: no block
 * is used again before it has to go.
 *
 *
 * LIRS
 *
 * Jiang and Zhang (SIGMETRICS 2002) order blocks by reuse distance: how much else was used
 * between the last two uses of a block. A block keeps its place unless another one has proved a
 * shorter reuse distance. In a loop all blocks have the same one. So most of the loop stays,
 * and only the rest is paged, through a small part of memory.
 *
 * LIRS has to see every use. Here the driver sees only misses, and what hint faults tell it. So
 * this is an approximation, as CLOCK-Pro (Jiang, Chen and Zhang, USENIX 2005) is one with
 * reference bits. Each ring of policy/clock.c is used in three parts:
 *
 *          hand            front             ask
 *           |     zone       |     window     |            hot
 *           c c c d c c d c [ ] a a a u a a a [ ] h h h h h h h h h h h h (to the hand)
 *           |                |
 *         evicts          a cold newcomer goes in here; a hot one behind the hand
 *
 *        c came in cold    d demoted    a asked: unmapped, not used since    u used since
 *
 * A block that comes in is cold. It goes to the end of the zone, and is evicted when the hand
 * has passed through the zone. The uses that its arrival counts for are of no interest, so the
 * hand ignores the reference bit of a cold chunk. The hot chunks do not move.
 *
 * Evictors unmap the oldest hot chunks: the window. The first of them is the candidate for
 * demotion. If it was used, it goes to the end of the hot part. If not, its idle time is known:
 * the number of blocks that came in since it was unmapped. Now a block comes in again that had
 * come in before. If its reuse distance, counted likewise, is less than the candidate's idle
 * time, the block is in more use than the candidate. It comes in hot, behind the hand, and the
 * candidate moves into the zone: the front steps over it. There it has a last chance, since it
 * is unmapped, and the hand passes over a demoted chunk that was used.
 *
 * In a loop, a candidate is used within one turn of the loop, and a block that comes back has
 * been away for a whole turn. So nothing is demoted. After a change of phase the candidates are
 * idle, and each block of the new phase takes the place of one at its second arrival.
 *
 *
 * The costs and the bounds
 *
 * The window is between a 32nd and a quarter of the ring: it doubles with each demotion and
 * halves with each candidate that was used. A window of 16 chunks adapts too slowly: in
 * memory-contention the server served 138 requests, where CLOCK served 240 and this window 376.
 * A chunk that is asked costs a minor fault, once a turn of the loop at most. The zone is a
 * 16th of the ring, at least 32 chunks. A smaller one evicts blocks of the batch that brought
 * them in; in a larger one, less of a loop stays. Each insertion and each pick takes at most
 * LIRS_STEPS steps at the front.
 *
 * The date of a block that has left is kept in a table by a hash of its address and its
 * container's name, four slots for each chunk of the device. A slot has one block; a newer
 * block takes it. A process whose container has no name of its own shares its slots with
 * others. A wrong date makes a block hot or cold too early, nothing else. Parts of chunks
 * (block/part.c) have no dates: such a chunk comes in cold.
 *
 *
 * What it brings
 *
 * Misses in % of the accesses of page streams (tests/core/test_lirs.c):
 *
 *                                              CLOCK    LIRS here    Belady
 *     a loop of 110 % of memory                100.0         19.0      13.6
 *     LLM, weights and KV above memory         100.0         11.1       3.8
 *     diffusion in 6 GB                         22.7         24.9      17.8
 *
 * Diffusion changes its phase so often that the second arrivals cost more than the kept
 * blocks bring. docs/ideas.md has what the simulator says of whole scenarios.
 *
 *
 * How it differs from LIRS and CLOCK-Pro
 *
 *   1. LIRS knows the recency of each hot block. Here only candidates are observed, and only
 *      from the time when they were unmapped. So a hot block is never demoted unobserved,
 *      except to fill the zone.
 *   2. Time is counted in blocks that came in, not in blocks that were used. Uses of resident
 *      blocks are not seen.
 *   3. CLOCK-Pro moves the boundary between hot and cold with the share of blocks that return.
 *      Here the zone has a fixed share: the blocks that return take hot places one by one.
 *   4. A new block is never hot, not even on its first arrival into free memory behind a zone
 *      that is in use. Before the first victim is looked for there is no zone, and all blocks
 *      are hot.
 */
#include "gvm/lirs.h"
#include "gvm/ring.h"

/* Steps of the front in one insertion or one pick. */
#define LIRS_STEPS 4u

/* CONTEXT: process. */
int gvm_lirs_init(struct gvm_device *device)
{
	u64 slots = gvm_block_table_slots(device);
	struct gvm_lirs *lirs;

	if (!gvm_has_feature(device, GVM_LIRS))
		return 0;
	lirs = gvm_alloc(sizeof(*lirs) + device->chunk_count * sizeof(*lirs->chunks) +
			 slots * sizeof(*lirs->seen));
	if (!lirs)
		return -ENOMEM;
	lirs->chunks = (struct gvm_lirs_chunk *)(lirs + 1);
	lirs->seen = (struct gvm_lirs_seen *)(lirs->chunks + device->chunk_count);
	lirs->mask = (u32)(slots - 1);
	for (u32 i = 0; i < device->chunk_count; i++)
		lirs->chunks[i].slot = GVM_NO_CHUNK;
	device->lirs = lirs;
	return 0;
}

/* CONTEXT: process. */
void gvm_lirs_destroy(struct gvm_device *device)
{
	gvm_free(device->lirs);
	device->lirs = NULL;
}

/* CONTEXT: atomic. */
void gvm_lirs_name(struct gvm_container *container, u32 chunk, u64 va)
{
	struct gvm_device *device = container->device;
	struct gvm_lirs *lirs = device->lirs;
	struct gvm_lirs_seen *seen;
	u64 hash;
	u32 tag;

	if (!lirs)
		return;
	gvm_spin_lock(&device->lock);
	hash = gvm_block_hash(container, va);
	tag = (u32)(hash >> 32) | 1;
	lirs->chunks[chunk].slot = (u32)hash & lirs->mask;
	seen = &lirs->seen[lirs->chunks[chunk].slot];
	if (seen->tag != tag)
		*seen = (struct gvm_lirs_seen){ .tag = tag };
	gvm_spin_unlock(&device->lock);
}

/* The chunk at the front: the oldest hot one. The ring is not empty. */
static u32 lirs_front(const struct gvm_ring *ring)
{
	return ring->lead ? ring->front : ring->hand;
}

/* Forget what one order knows of a chunk, and clear its reference bit. */
static void lirs_forget(struct gvm_device *device, enum gvm_order order, u32 chunk)
{
	struct gvm_lirs_chunk *entry = &device->lirs->chunks[chunk];

	entry->asked &= (u8)~GVM_REFERENCED(order);
	entry->cold &= (u8)~GVM_REFERENCED(order);
	gvm_ring_clear_used(device, order, chunk);
}

/* The chunk at the front is in use: it moves behind the hand, to the end of the hot part. */
static void lirs_keep_front(struct gvm_device *device, struct gvm_ring *ring,
			    enum gvm_order order)
{
	u32 chunk = lirs_front(ring);

	lirs_forget(device, order, chunk);
	gvm_ring_pass_window(ring, chunk);
	ring->window /= 2;
	if (!ring->lead) {
		ring->hand = device->chunks[chunk].next[order];
		return;
	}
	ring->front = device->chunks[chunk].next[order];
	gvm_ring_unlink(device->chunks, order, chunk);
	gvm_ring_insert(device->chunks, ring, order, chunk);
}

/* The chunk at the front moves into the zone. */
static void lirs_demote_front(struct gvm_device *device, struct gvm_ring *ring,
			      enum gvm_order order)
{
	u32 chunk = lirs_front(ring);

	lirs_forget(device, order, chunk);
	gvm_ring_pass_window(ring, chunk);
	ring->front = device->chunks[chunk].next[order];
	ring->lead++;
}

/* Was the chunk unmapped for @order? */
static bool lirs_is_asked(const struct gvm_device *device, enum gvm_order order, u32 chunk)
{
	return device->lirs->chunks[chunk].asked & GVM_REFERENCED(order);
}

/*
 * Has the ring a candidate for demotion at its front: an asked chunk that was not used? Used
 * ones before it move to the end of the hot part, LIRS_STEPS at most. So do chunks of the window
 * that could not be asked.
 */
static bool lirs_find_candidate(struct gvm_device *device, struct gvm_ring *ring,
				enum gvm_order order)
{
	for (u32 step = 0; step < LIRS_STEPS && ring->asked; step++) {
		u32 chunk = lirs_front(ring);

		if (chunk == ring->hand)
			return false;
		if (lirs_is_asked(device, order, chunk) &&
		    !gvm_ring_was_used(device, order, chunk))
			return true;
		lirs_keep_front(device, ring, order);
	}
	return false;
}

/* The blocks that came in since the chunk was unmapped for @order. */
static u32 lirs_idle(const struct gvm_device *device, const struct gvm_ring *ring,
		     enum gvm_order order, u32 chunk)
{
	return ring->now - device->lirs->chunks[chunk].asked_at[order];
}

/*
 * A block of this reuse distance (0: unknown) comes in. Has the candidate been idle for longer?
 * Then the candidate is demoted.
 */
static bool lirs_takes_a_place(struct gvm_device *device, struct gvm_ring *ring,
			       enum gvm_order order, u32 reuse)
{
	if (!lirs_find_candidate(device, ring, order) || !reuse)
		return false;
	if (lirs_idle(device, ring, order, lirs_front(ring)) <= reuse)
		return false;
	lirs_demote_front(device, ring, order);
	ring->window *= 2;
	return true;
}

/* The reuse distance of the block that comes into the chunk; 0: unknown. Records its date. */
static u32 lirs_date(struct gvm_lirs *lirs, struct gvm_ring *ring, enum gvm_order order,
		     u32 chunk)
{
	u32 slot = lirs->chunks[chunk].slot;
	u32 last;

	ring->now++;
	if (slot == GVM_NO_CHUNK)
		return 0;
	last = lirs->seen[slot].at[order];
	lirs->seen[slot].at[order] = ring->now;
	return last ? ring->now - last : 0;
}

/* CONTEXT: atomic, device's lock held. */
void gvm_lirs_insert_locked(struct gvm_device *device, struct gvm_ring *ring,
			    enum gvm_order order, u32 chunk)
{
	u32 reuse = lirs_date(device->lirs, ring, order, chunk);

	lirs_forget(device, order, chunk);
	if (!ring->lead || lirs_takes_a_place(device, ring, order, reuse)) {
		gvm_ring_insert(device->chunks, ring, order, chunk);
		return;
	}
	device->lirs->chunks[chunk].cold |= (u8)GVM_REFERENCED(order);
	gvm_ring_link(device->chunks, order, ring->front, chunk);
	ring->lead++;
}

/* CONTEXT: atomic, device's lock held. */
void gvm_lirs_fill_zone_locked(struct gvm_device *device, struct gvm_container *container)
{
	struct gvm_ring_choice choice = gvm_ring_choose(device, container);
	struct gvm_ring *ring = choice.ring;
	u32 zone = min(max(choice.chunks / GVM_LIRS_ZONE_SHARE, GVM_LIRS_ZONE_LEAST),
		       choice.chunks / 2);

	if (!device->lirs || ring->hand == GVM_NO_CHUNK)
		return;
	for (u32 step = 0; step < LIRS_STEPS && ring->lead < zone; step++) {
		u32 chunk = lirs_front(ring);

		if (ring->lead && chunk == ring->hand)
			return;
		if (lirs_is_asked(device, choice.order, chunk) &&
		    gvm_ring_was_used(device, choice.order, chunk))
			lirs_keep_front(device, ring, choice.order);
		else
			lirs_demote_front(device, ring, choice.order);
	}
}

/* Keep the window between its bounds: it doubles and halves. */
static void lirs_bound_window(struct gvm_ring *ring, u32 chunks)
{
	u32 least = max(chunks / GVM_LIRS_WINDOW_LEAST_SHARE, 1u);

	ring->window = min(ring->window, max(chunks / GVM_LIRS_WINDOW_MOST_SHARE, 1u));
	if (ring->window < least)
		ring->window = least;
}

/* Let the window grow to the next chunk that may be unmapped. That chunk is asked. */
static u32 lirs_next_locked(struct gvm_device *device, const struct gvm_ring_choice *choice)
{
	struct gvm_ring *ring = choice->ring;
	u32 looks = GVM_PICK_LOOKS;

	while (looks-- && ring->lead && ring->asked < ring->window) {
		u32 chunk = ring->asked ? ring->ask : ring->front;
		const struct gvm_chunk *entry = &device->chunks[chunk];
		struct gvm_lirs_chunk *record = &device->lirs->chunks[chunk];

		if (chunk == ring->hand)
			break;
		ring->ask = entry->next[choice->order];
		ring->asked++;
		if (!gvm_ring_may_ask(entry, choice->order))
			continue;
		lirs_forget(device, choice->order, chunk);
		record->asked |= (u8)GVM_REFERENCED(choice->order);
		record->asked_at[choice->order] = ring->now;
		return chunk;
	}
	return GVM_NO_CHUNK;
}

/* CONTEXT: atomic. */
u32 gvm_lirs_next(struct gvm_device *device, struct gvm_container *container)
{
	struct gvm_ring_choice choice;
	u32 chunk = GVM_NO_CHUNK;

	if (!device->lirs || !gvm_books_lock(device))
		return GVM_NO_CHUNK;
	choice = gvm_ring_choose(device, container);
	lirs_bound_window(choice.ring, choice.chunks);
	/* With hmem.limit used up none of its chunks can go. */
	if (!container || !container->is_swap_full)
		chunk = lirs_next_locked(device, &choice);
	gvm_spin_unlock(&device->lock);
	return chunk;
}
