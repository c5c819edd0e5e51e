// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Hint faults: a reference bit that means it.
 *
 * Layer: policy. Never waits; takes only the device's leaf lock.
 *
 *
 * What the reference bit says without it
 *
 * A chunk's reference bit is set by faults, and a chunk that is resident does not fault. So every
 * chunk has been "used" once, when it was brought in, and never again: CLOCK is FIFO. The weights of a
 * model that are read fifty times a second leave in their turn, like memory that was read once.
 *
 *
 * The front hand
 *
 * To see whether a chunk is in use, take its mappings away and leave its data where it is. The next
 * access faults, and finds everything in place: PTEs and a replay, no copy. That sets the bit:
 *
 *                                spread
 *                     hand <-----------------> front
 *        ring  ... c c [x] . . o . o . . . o . [ ] m m m m m ...
 *                   |                           |
 *          evicts, if x has not faulted         unmaps, clears the bit
 *          since the front hand was here
 *
 *        m mapped, never asked    . unmapped, not used since    o used since, mapped again
 *
 * A chunk has for as long as the hand needs to get from the front's place to its own: time to
 * prove itself, the same for all. If both were done by one hand, a turn that clears all bits would
 * be followed at once by victims that had no time at all.
 *
 *
 * What it costs, and what bounds it
 *
 * A minor fault of each chunk that is in use, once a turn of the hand: about 45 us from interrupt to
 * replay on the hardware modelled here, shared by as many chunks as miss side by side; and the
 * unmapping, which the evictor does. A wrong victim costs its way out and back in: 262 us at
 * 16 GB/s. So it pays if one victim in six was wrong. It cannot pay where every access is one of a
 * scan that is longer than memory: there nothing is used again before it has to go, FIFO is as good
 * as anything, and hints find that out at their price.
 *
 * Only evictors do it, a step for each victim, ahead of it by a quarter of the ring, and no more
 * than GVM_HINTS_PER_VICTIM: nothing is unmapped unless something is being evicted, an atomic pick
 * unmaps nothing, and a chunk is asked once a turn. When hands go faster than the fronts may
 * follow, since nearly all is in use, the front skips: it never unmaps nearer to the hand than half
 * of the spread.
 *
 *
 * Where it comes from
 *
 *   1. 4.3BSD on the VAX, which had no reference bit, either: Babaoglu and Joy (SOSP 1981) unmapped
 *      pages to have one. Its pager got two hands later, "handspread" apart; so did SunOS.
 *   2. NUMA balancing in Linux unmaps 256 MB of an address space at a time, at most once a second
 *      (numa_balancing_scan_size_mb), to see from where it is used: "NUMA hinting faults".
 *   3. Neither paper has it. GVM 4.3 speaks of CLOCK with reference bits, on GPUs that have none.
 *      GPUs with access counters (UVM can use Volta's and later) count remote accesses only.
 */
#include "gvm/hint.h"

/* The front is ahead of the hand by this share of the ring. */
#define HINT_SPREAD_SHARE 4u

/* May the chunk be unmapped, to see whether it is in use? Then its reference bit is cleared. */
static bool hint_ask(struct gvm_device *device, enum gvm_order order, u32 chunk)
{
	struct gvm_chunk *entry = &device->chunks[chunk];
	bool spared = order == GVM_ORDER_GLOBAL && gvm_container_is_shielded(entry->owner);

	if (entry->state != GVM_CHUNK_BOUND || entry->stashed || spared)
		return false;
	WRITE_ONCE(device->referenced[chunk],
		   (u8)(READ_ONCE(device->referenced[chunk]) & ~GVM_REFERENCED(order)));
	return true;
}

/* Move the front on, up to its spread, to the next chunk that may be unmapped. */
static u32 hint_next_locked(struct gvm_device *device, struct gvm_container *container)
{
	enum gvm_order order = container ? GVM_ORDER_OWN : GVM_ORDER_GLOBAL;
	struct gvm_ring *ring = container ? &container->own : &device->global;
	u32 chunks = container ? container->bound_chunks : device->exposed_chunks;
	u32 spread = chunks / HINT_SPREAD_SHARE;
	u32 looks = GVM_PICK_LOOKS;

	if (container && container->is_swap_full)
		return GVM_NO_CHUNK;
	while (looks-- && ring->lead < spread && ring->hand != GVM_NO_CHUNK) {
		u32 chunk = ring->lead ? ring->front : ring->hand;

		ring->front = device->chunks[chunk].next[order];
		ring->lead++;
		if (ring->lead > spread / 2 && hint_ask(device, order, chunk))
			return chunk;
	}
	return GVM_NO_CHUNK;
}

/* CONTEXT: atomic. */
u32 gvm_hint_next(struct gvm_device *device, struct gvm_container *container)
{
	u32 chunk;

	gvm_spin_lock(&device->lock);
	chunk = hint_next_locked(device, container);
	gvm_spin_unlock(&device->lock);
	return chunk;
}
