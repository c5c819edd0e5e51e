// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Hint faults: a reference bit for chunks that are resident.
 *
 * Layer: policy. Never waits; takes only the device's leaf lock.
 *
 *
 * The reference bit without hint faults
 *
 * Faults set a chunk's reference bit, and a resident chunk does not fault. So every chunk has
 * been "used" once, when it was brought in, and never again: CLOCK is FIFO. The weights of a
 * model that are read fifty times a second leave in their turn, like memory that was read once.
 *
 *
 * The front hand
 *
 * To see whether a chunk is in use, the driver unmaps it and leaves its data where it is. The
 * next access faults. Its service costs PTEs and a replay, but no copy, and sets the bit:
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
 * A chunk has time to be used while the hand moves from its own place to the front's. That time
 * is the same for all chunks. With one hand for both jobs, a turn that clears all bits would be
 * followed at once by victims that had no time at all.
 *
 *
 * The costs and the bounds
 *
 * Each chunk in use costs a minor fault, once a turn of the hand: about 45 us from interrupt to
 * replay on the hardware modelled here. Chunks that miss side by side share it. The evictor
 * also spends time on the unmapping. A wrong victim costs its way out and back in: 262 us at 16
 * GB/s. So hints pay if one victim in six was wrong. They cannot pay for a scan that is longer
 * than memory: no page is used again before it has to go, FIFO is as good as any order, and the
 * hints are only a cost.
 *
 * Only evictors unmap, ahead of the hand by up to a quarter of the ring, and at most
 * GVM_HINTS_PER_VICTIM chunks for each victim. So nothing is unmapped unless a chunk is being
 * evicted, an atomic pick unmaps nothing, and a chunk is unmapped at most once a turn. If
 * nearly all chunks are in use, the hand may go faster than the front can follow. Then the
 * front skips chunks: it never unmaps nearer to the hand than half of the spread.
 *
 *
 * Where it comes from
 *
 *   1. 4.3BSD on the VAX, which had no reference bit, either: Babaoglu and Joy (SOSP 1981)
 *      unmapped pages to have one. Later its pager got two hands, "handspread" apart. So did
 *      the pager of SunOS.
 *   2. NUMA balancing in Linux unmaps 256 MB of an address space at a time, at most once a
 *      second (numa_balancing_scan_size_mb), to see which node uses it: "NUMA hinting faults".
 *   3. Neither paper has hint faults. GVM 4.3 has CLOCK with reference bits, on GPUs that have
 *      none. GPUs with access counters (UVM can use Volta's and later) count remote accesses
 *      only.
 */
#include "gvm/hint.h"
#include "gvm/ring.h"

/* The front is ahead of the hand by this share of the ring. */
#define HINT_SPREAD_SHARE 4u

/* Move the front on, up to its spread, to the next chunk that may be unmapped. */
static u32 hint_next_locked(struct gvm_device *device, struct gvm_container *container)
{
	struct gvm_ring_choice choice = gvm_ring_choose(device, container);
	struct gvm_ring *ring = choice.ring;
	u32 spread = choice.chunks / HINT_SPREAD_SHARE;
	u32 looks = GVM_PICK_LOOKS;

	if (container && container->is_swap_full)
		return GVM_NO_CHUNK;
	while (looks-- && ring->lead < spread && ring->hand != GVM_NO_CHUNK) {
		u32 chunk = ring->lead ? ring->front : ring->hand;
		const struct gvm_chunk *entry = &device->chunks[chunk];

		ring->front = entry->next[choice.order];
		ring->lead++;
		if (ring->lead <= spread / 2 || !gvm_ring_may_ask(entry, choice.order))
			continue;
		gvm_ring_clear_used(device, choice.order, chunk);
		return chunk;
	}
	return GVM_NO_CHUNK;
}

/* CONTEXT: atomic. */
u32 gvm_hint_next(struct gvm_device *device, struct gvm_container *container)
{
	u32 chunk;

	if (!gvm_books_lock(device))
		return GVM_NO_CHUNK;
	chunk = hint_next_locked(device, container);
	gvm_spin_unlock(&device->lock);
	return chunk;
}
