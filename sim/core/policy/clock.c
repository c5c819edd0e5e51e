// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The dual CLOCK: which chunk leaves the device next.
 *
 * Layer: policy. Never waits; calls back only the memory manager's atomic evictable(); takes
 * only the device's leaf lock.
 *
 *
 * Two orders, two hands
 *
 * Two callers ask for a victim, and they want different ones. A container at its
 * gmem.limit.high must give up the coldest chunk of its own. A full device must find the
 * coldest chunk of all containers that may lose one. So every bound chunk stands in two rings
 * at once, threaded through the flat chunk array by index, and each ring has a hand of its own:
 *
 *              .-> A1 --> B1 --> A2 --> B2 --> B3 -.       -> is "next": where the
 *     global   '-----------------------------------'          hand goes
 *                                 ^ hand
 *
 *              .-> A1 --> A2 -.               .-> B1 --> B2 --> B3 -.
 *     own A    '--------------'      own B    '---------------------'
 *                   ^ hand                                   ^ hand
 *
 * A hand is plain CLOCK. It passes over each chunk that was used since its last turn and clears
 * the chunk's reference bit. It takes the first chunk that was not used. A new chunk goes in
 * just behind the hand with its bit clear, so the hand comes to it last. When a victim has just
 * left the ring, "just behind the hand" is the victim's slot. So the rings make exactly the
 * misses of CLOCK on a circular array; a test compares the two.
 *
 * Each hand has its own reference bit, and a use sets both. With one shared bit, each hand
 * would clear what the other one has yet to see. A container that thrashes at its own limit
 * sweeps its ring many times a second: all its chunks would look cold to the global hand.
 *
 * Only events that a driver sees count as a use: faults, migrations, prefetches, mappings. This
 * generation of GPUs keeps no accessed bits that a driver could read, so a million reads of a
 * resident page leave no trace. Expect behaviour near FIFO. A better signal, such as hint
 * faults (policy/hint.c), only calls gvm_clock_touch(). Another order of insertion, which
 * survives loops, is in policy/lirs.c.
 *
 *
 * Shielded containers
 *
 * A global pick spares containers that gmem.limit.low or hmem.limit shields. The hand moves
 * their chunks to a ring of their own, from which they come back when the shield ends
 * (policy/shield.c).
 *
 *
 * The pick is bounded
 *
 * A pick runs under spinlocks, some of them not the core's, so it looks at no more than
 * GVM_PICK_LOOKS entries and may then answer "none". A global pick spends its looks in three
 * steps:
 *
 *   1. The stash: cold chunks that gvm_clock_refill_stash() found ahead of time, with the lock
 *      given up now and then. Each is validated again.
 *   2. The global hand.
 *   3. If the hand met obstacles (chunks that are shielded, in service, or being evicted): the
 *      chunk of an unshielded container that this container's own hand comes to first, used or
 *      not. CLOCK_RESERVE_LOOKS are kept back for this. A used chunk now is better than a cold
 *      chunk after many shielded ones.
 *
 * After a hand that met only used chunks there is no step 3. The next pick goes on from there,
 * and CLOCK's order does not change. So the bound alone changes the number of calls, never the
 * victim.
 *
 *
 * How it differs from the papers (GVM 4.3, Ghost 4.2) and the published driver
 *
 *   1. The papers' two lists share one reference bit ("a consistent view of page access
 *      recency"). Here each hand has its own, for the reason above.
 *   2. The published driver moves a used chunk to the end of two linked lists, under a lock,
 *      and once allocated memory there. Here a use is one byte store without a lock.
 *   3. In the published driver only the search for a container's own victims knows the
 *      container; the global list offers any container's chunks. Here gmem.limit.low holds for
 *      every global pick, also for a process that is in no container.
 *   4. The published search for a victim of the same container walked off the end of its list,
 *      and once span for ever. Here every loop has a budget, and "none" is an answer.
 *   5. A victim is marked under the lock under which it was found. It stays charged and on its
 *      rings until its eviction ends, so the books are right all the time.
 */
#include "gvm/clock.h"
#include "gvm/charge.h"
#include "gvm/lirs.h"
#include "gvm/ring.h"
#include "gvm/shield.h"

/* The looks of a global pick that are left for its last step. */
#define CLOCK_RESERVE_LOOKS (GVM_PICK_LOOKS - GVM_PICK_SWEEP_LOOKS)

/* A hand's verdict on the chunk under it. */
enum clock_verdict {
	CLOCK_VICTIM,	     /* cold, and the device would let it go */
	CLOCK_SECOND_CHANCE, /* used since the hand last came by; the bit is clear now */
	CLOCK_OBSTACLE,	     /* shielded, being evicted, stashed or in service */
};

/* Rings. */

/* Move the hand of a ring that is not empty by one chunk; returns the chunk that it left. */
static u32 ring_advance(const struct gvm_chunk *chunks, struct gvm_ring *ring,
			enum gvm_order order)
{
	u32 chunk = ring->hand;

	ring->hand = chunks[chunk].next[order];
	if (ring->lead && chunk != ring->front) {
		ring->lead--;
		return chunk;
	}
	ring->lead = 0;
	gvm_ring_pass_window(ring, chunk);
	return chunk;
}

/* The stash. */

static void stash_append(struct gvm_device *device, u32 chunk)
{
	device->stash[device->stash_count++] = chunk;
	device->chunks[chunk].stashed = 1;
}

/*
 * Has the chunk been used since the hand of @order last came by? With GVM_LIRS the arrival of a
 * cold chunk is no use (policy/lirs.c).
 */
static inline bool clock_was_used(const struct gvm_device *device, enum gvm_order order,
				  u32 chunk)
{
	return gvm_ring_was_used(device, order, chunk) &&
	       !gvm_lirs_is_cold(device, order, chunk);
}

/* Is a stashed chunk still cold, bound and not shielded? */
static bool stash_entry_is_good(const struct gvm_device *device, u32 chunk)
{
	const struct gvm_chunk *entry = &device->chunks[chunk];

	return entry->state == GVM_CHUNK_BOUND &&
	       !clock_was_used(device, GVM_ORDER_GLOBAL, chunk) &&
	       !gvm_container_is_shielded(entry->owner);
}

/* Remove @leaving from the stash, and all entries that are not good any more. */
static void stash_prune(struct gvm_device *device, u32 leaving)
{
	u32 count = device->stash_count;

	device->stash_count = 0;
	for (u32 i = 0; i < count; i++) {
		u32 chunk = device->stash[i];

		device->chunks[chunk].stashed = 0;
		if (chunk != leaving && stash_entry_is_good(device, chunk))
			stash_append(device, chunk);
	}
}

/* The hands. */

/* Is the chunk bound and not being evicted, and does its memory manager let it go? */
static bool clock_is_evictable(const struct gvm_device *device, u32 chunk)
{
	return device->chunks[chunk].state == GVM_CHUNK_BOUND &&
	       device->memory_ops->evictable(device->memory, chunk);
}

/* One look of the hand of @order at @chunk. */
static inline enum clock_verdict clock_judge(struct gvm_device *device, enum gvm_order order,
					     u32 chunk)
{
	if (clock_was_used(device, order, chunk)) {
		gvm_ring_clear_used(device, order, chunk);
		return CLOCK_SECOND_CHANCE;
	}
	return clock_is_evictable(device, chunk) ? CLOCK_VICTIM : CLOCK_OBSTACLE;
}

/*
 * One look of the global hand, whose ring is not empty. A chunk of a shielded container moves
 * to that container's shielded ring (policy/shield.c).
 */
static enum clock_verdict clock_step_global(struct gvm_device *device, u32 *ret_chunk)
{
	u32 chunk = ring_advance(device->chunks, &device->global, GVM_ORDER_GLOBAL);
	const struct gvm_chunk *entry = &device->chunks[chunk];

	*ret_chunk = chunk;
	if (gvm_container_is_shielded(entry->owner)) {
		gvm_ring_step_off(device->chunks, &device->global, GVM_ORDER_GLOBAL, chunk);
		gvm_ring_unlink(device->chunks, GVM_ORDER_GLOBAL, chunk);
		gvm_ring_insert(device->chunks, &entry->owner->shielded, GVM_ORDER_GLOBAL,
				chunk);
		return CLOCK_OBSTACLE;
	}
	/*
	 * The bit stays set: it tells that a stashed chunk was used and is not good any more.
	 */
	if (entry->stashed)
		return CLOCK_OBSTACLE;
	return clock_judge(device, GVM_ORDER_GLOBAL, chunk);
}

/*
 * Chunks of a container whose hmem.limit is used up stay, but for those that are clean as a
 * whole: their pages have their place on the host already.
 */
static u32 clock_sweep_own(struct gvm_container *container)
{
	struct gvm_device *device = container->device;
	/* One turn clears every bit, the second finds the first cold chunk. */
	u32 looks = min(GVM_PICK_LOOKS, 2 * container->bound_chunks);

	if (container->is_swap_full && !container->clean_bytes)
		return GVM_NO_CHUNK;
	while (looks--) {
		u32 chunk = ring_advance(device->chunks, &container->own, GVM_ORDER_OWN);
		const struct gvm_chunk *entry = &device->chunks[chunk];

		if (container->is_swap_full && entry->clean_bytes < entry->bytes)
			continue;
		if (clock_judge(device, GVM_ORDER_OWN, chunk) == CLOCK_VICTIM)
			return chunk;
	}
	return GVM_NO_CHUNK;
}

/* Step 1 of a global pick. */
static u32 clock_take_stashed(struct gvm_device *device, u32 *looks)
{
	u32 victim = GVM_NO_CHUNK, seen = 0;

	while (seen < device->stash_count && victim == GVM_NO_CHUNK) {
		u32 chunk = device->stash[seen++];

		device->chunks[chunk].stashed = 0;
		if (stash_entry_is_good(device, chunk) && clock_is_evictable(device, chunk))
			victim = chunk;
	}
	device->stash_count -= seen;
	for (u32 i = 0; i < device->stash_count; i++)
		device->stash[i] = device->stash[i + seen];
	*looks -= seen;
	return victim;
}

/* Step 2. */
static u32 clock_sweep_global(struct gvm_device *device, u32 looks, bool *ret_obstructed)
{
	*ret_obstructed = false;
	looks = min(looks, 2 * device->bound_chunks);
	while (looks-- && device->global.hand != GVM_NO_CHUNK) {
		u32 chunk;
		enum clock_verdict verdict = clock_step_global(device, &chunk);

		if (verdict == CLOCK_VICTIM)
			return chunk;
		if (verdict == CLOCK_OBSTACLE)
			*ret_obstructed = true;
	}
	return GVM_NO_CHUNK;
}

/* The first evictable chunk that the container's own hand comes to, used or not. */
static u32 clock_oldest_of(struct gvm_container *container, u32 *looks)
{
	struct gvm_device *device = container->device;
	u32 turn = min(*looks, container->bound_chunks);

	*looks -= turn;
	while (turn--) {
		u32 chunk = ring_advance(device->chunks, &container->own, GVM_ORDER_OWN);

		if (clock_is_evictable(device, chunk))
			return chunk;
	}
	return GVM_NO_CHUNK;
}

/*
 * Step 3. A container costs a look, too. A list of owners serves as a ring: a container that
 * was asked goes to the end. So all others are asked before it gives a second chunk, and the
 * next pick continues where this one ran out of looks. Containers without chunks are in no
 * list, since a user can make any number of them. Shielded ones have a list of their own: with
 * 19 of 20 containers protected, a list of all of them let two picks of five find none.
 */
static u32 clock_take_oldest(struct list_head *owners, u32 *looks)
{
	u32 victim = GVM_NO_CHUNK;

	if (list_empty(owners))
		return GVM_NO_CHUNK;
	while (*looks && victim == GVM_NO_CHUNK) {
		struct gvm_container *container =
			list_first_entry(owners, struct gvm_container, owner_node);

		list_move_tail(&container->owner_node, owners);
		--*looks;
		if (!container->is_swap_full)
			victim = clock_oldest_of(container, looks);
	}
	return victim;
}

static u32 clock_find_global(struct gvm_device *device)
{
	u32 looks = GVM_PICK_LOOKS, victim;
	bool obstructed;

	victim = clock_take_stashed(device, &looks);
	if (victim != GVM_NO_CHUNK)
		return victim;
	looks -= CLOCK_RESERVE_LOOKS;
	victim = clock_sweep_global(device, looks, &obstructed);
	if (victim != GVM_NO_CHUNK || !obstructed)
		return victim;
	looks = CLOCK_RESERVE_LOOKS;
	return clock_take_oldest(&device->owners, &looks);
}

/* Mark a picked chunk. It is counted against its owner's hmem.limit until the eviction ends. */
static void clock_mark_victim(struct gvm_device *device, u32 victim)
{
	struct gvm_container *owner;

	if (victim == GVM_NO_CHUNK)
		return;
	owner = device->chunks[victim].owner;
	device->chunks[victim].state = GVM_CHUNK_EVICTING;
	device->evicting_chunks++;
	owner->evicting_bytes += device->chunks[victim].bytes;
	owner->evicting_clean_bytes += device->chunks[victim].clean_bytes;
	gvm_container_update_shield_locked(owner);
}

/* CONTEXT: atomic. */
u32 gvm_clock_pick_own(struct gvm_container *container)
{
	struct gvm_device *device = container->device;
	u32 victim;

	if (!gvm_books_lock(device))
		return GVM_NO_CHUNK;
	gvm_lirs_fill_zone_locked(device, container);
	victim = clock_sweep_own(container);
	clock_mark_victim(device, victim);
	gvm_spin_unlock(&device->lock);
	return victim;
}

/* CONTEXT: atomic. */
u32 gvm_clock_pick_global(struct gvm_device *device)
{
	u32 victim;

	if (!gvm_books_lock(device))
		return GVM_NO_CHUNK;
	gvm_lirs_fill_zone_locked(device, NULL);
	victim = clock_find_global(device);
	clock_mark_victim(device, victim);
	gvm_spin_unlock(&device->lock);
	return victim;
}

/* CONTEXT: atomic. */
u32 gvm_clock_pick_protected(struct gvm_device *device)
{
	u32 looks = GVM_PICK_LOOKS, victim;

	if (!gvm_books_lock(device))
		return GVM_NO_CHUNK;
	victim = clock_take_oldest(&device->owners, &looks);
	if (victim == GVM_NO_CHUNK)
		victim = clock_take_oldest(&device->shielded_owners, &looks);
	clock_mark_victim(device, victim);
	gvm_spin_unlock(&device->lock);
	return victim;
}

/* CONTEXT: atomic. */
bool gvm_clock_take(struct gvm_device *device, u32 chunk)
{
	struct gvm_chunk *entry = &device->chunks[chunk];
	bool taken;

	if (!gvm_books_lock(device))
		return false;
	taken = entry->state == GVM_CHUNK_BOUND && !entry->owner->is_swap_full;
	if (taken)
		clock_mark_victim(device, chunk);
	gvm_spin_unlock(&device->lock);
	return taken;
}

/*
 * Takes the lock for one chunk at a time, so that a large range delays no other thread.
 * CONTEXT: atomic.
 */
u32 gvm_clock_take_range(struct gvm_device *device, u32 first, u32 count)
{
	u32 taken = 0;

	if (gvm_is_broken(device,
			  first <= device->chunk_count && count <= device->chunk_count - first))
		return 0;
	for (u32 chunk = first; chunk < first + count; chunk++) {
		struct gvm_chunk *entry = &device->chunks[chunk];

		if (!gvm_books_lock(device))
			break;
		if (entry->state == GVM_CHUNK_BOUND) {
			entry->owner->events[GVM_EVENT_TAKEN]++;
			clock_mark_victim(device, chunk);
			taken++;
		}
		gvm_spin_unlock(&device->lock);
	}
	return taken;
}

/* CONTEXT: atomic. */
bool gvm_clock_force(struct gvm_device *device, u32 chunk)
{
	bool picked;

	if (!gvm_books_lock(device))
		return false;
	picked = device->chunks[chunk].state == GVM_CHUNK_BOUND;
	if (picked)
		clock_mark_victim(device, chunk);
	gvm_spin_unlock(&device->lock);
	return picked;
}

/* CONTEXT: atomic. */
void gvm_clock_count_taken(struct gvm_device *device, u32 chunk)
{
	if (!gvm_books_lock(device))
		return;
	if (device->chunks[chunk].state == GVM_CHUNK_EVICTING)
		device->chunks[chunk].owner->events[GVM_EVENT_TAKEN]++;
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: atomic. */
bool gvm_clock_is_picked(struct gvm_device *device, u32 chunk)
{
	bool picked;

	gvm_spin_lock(&device->lock);
	picked = device->chunks[chunk].state == GVM_CHUNK_EVICTING;
	gvm_spin_unlock(&device->lock);
	return picked;
}

static void clock_putback_locked(struct gvm_device *device, u32 chunk)
{
	struct gvm_chunk *entry = &device->chunks[chunk];

	entry->state = GVM_CHUNK_BOUND;
	device->evicting_chunks--;
	entry->owner->evicting_bytes -= entry->bytes;
	entry->owner->evicting_clean_bytes -= entry->clean_bytes;
	gvm_container_update_shield_locked(entry->owner);
	gvm_clock_touch(device, chunk);
}

/* CONTEXT: atomic. */
void gvm_clock_putback(struct gvm_device *device, u32 chunk)
{
	if (!gvm_books_lock(device))
		return;
	if (!gvm_is_broken(device, device->chunks[chunk].state == GVM_CHUNK_EVICTING))
		clock_putback_locked(device, chunk);
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: atomic. */
u64 gvm_clock_putback_rest(struct gvm_device *device, u32 chunk)
{
	u64 bytes = 0;

	if (!gvm_books_lock(device))
		return 0;
	if (device->chunks[chunk].state == GVM_CHUNK_EVICTING) {
		clock_putback_locked(device, chunk);
		bytes = device->chunks[chunk].bytes;
	}
	gvm_spin_unlock(&device->lock);
	return bytes;
}

/*
 * The hand passes the chunks that it stashes. A stashed chunk stays charged and on its rings,
 * and a use before it is picked saves it. The lock is released between two steps. CONTEXT:
 * process.
 */
u32 gvm_clock_refill_stash(struct gvm_device *device, u32 looks)
{
	u32 held = 0;

	do {
		u32 step = min(looks, GVM_PICK_LOOKS);

		if (!gvm_books_lock(device))
			break;
		stash_prune(device, GVM_NO_CHUNK);
		gvm_lirs_fill_zone_locked(device, NULL);
		for (u32 look = 0; look < step && device->stash_count < GVM_STASH_SIZE &&
				   device->global.hand != GVM_NO_CHUNK;
		     look++) {
			u32 chunk;

			if (clock_step_global(device, &chunk) == CLOCK_VICTIM)
				stash_append(device, chunk);
		}
		held = device->stash_count;
		gvm_spin_unlock(&device->lock);
		looks -= step;
	} while (looks && held < GVM_STASH_SIZE);
	return held;
}

/* Shielded rings have no hot and cold parts, since they give no victims. */
static void clock_insert(struct gvm_device *device, struct gvm_ring *ring, enum gvm_order order,
			 u32 chunk)
{
	if (!device->lirs || ring == &device->chunks[chunk].owner->shielded)
		gvm_ring_insert(device->chunks, ring, order, chunk);
	else
		gvm_lirs_insert_locked(device, ring, order, chunk);
}

/* CONTEXT: atomic, device's lock held. */
void gvm_clock_insert_locked(struct gvm_device *device, u32 chunk)
{
	struct gvm_chunk *entry = &device->chunks[chunk];
	struct gvm_container *owner = entry->owner;
	struct gvm_ring *ring =
		gvm_container_is_shielded(owner) ? &owner->shielded : &device->global;

	gvm_spin_assert_held(&device->lock);
	WRITE_ONCE(device->referenced[chunk], 0);
	clock_insert(device, ring, GVM_ORDER_GLOBAL, chunk);
	clock_insert(device, &owner->own, GVM_ORDER_OWN, chunk);
	gvm_shield_join_locked(owner);
}

/* CONTEXT: atomic, device's lock held. */
void gvm_clock_remove_locked(struct gvm_device *device, u32 chunk)
{
	struct gvm_container *owner = device->chunks[chunk].owner;

	gvm_spin_assert_held(&device->lock);
	if (device->chunks[chunk].stashed)
		stash_prune(device, chunk);
	if (device->lirs)
		device->lirs->chunks[chunk] = (struct gvm_lirs_chunk){ .slot = GVM_NO_CHUNK };
	gvm_ring_step_off(device->chunks, &device->global, GVM_ORDER_GLOBAL, chunk);
	gvm_ring_step_off(device->chunks, &owner->shielded, GVM_ORDER_GLOBAL, chunk);
	gvm_ring_unlink(device->chunks, GVM_ORDER_GLOBAL, chunk);
	gvm_ring_step_off(device->chunks, &owner->own, GVM_ORDER_OWN, chunk);
	gvm_ring_unlink(device->chunks, GVM_ORDER_OWN, chunk);
	gvm_shield_leave_locked(owner);
}
