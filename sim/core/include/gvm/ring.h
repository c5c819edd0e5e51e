/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Rings of chunks, for policy/clock.c and policy/lirs.c. CONTEXT of all calls: atomic, device's
 * lock held.
 */
#ifndef GVM_RING_H
#define GVM_RING_H

#include "gvm/device.h"

/* Link a chunk in before @next, a chunk of the ring. */
static inline void gvm_ring_link(struct gvm_chunk *chunks, enum gvm_order order, u32 next,
				 u32 chunk)
{
	u32 prev = chunks[next].prev[order];

	chunks[chunk].next[order] = next;
	chunks[chunk].prev[order] = prev;
	chunks[prev].next[order] = chunk;
	chunks[next].prev[order] = chunk;
}

/* Link a chunk in just behind the hand. The hand comes to it last. */
static inline void gvm_ring_insert(struct gvm_chunk *chunks, struct gvm_ring *ring,
				   enum gvm_order order, u32 chunk)
{
	if (ring->hand != GVM_NO_CHUNK) {
		gvm_ring_link(chunks, order, ring->hand, chunk);
		return;
	}
	chunks[chunk].next[order] = chunk;
	chunks[chunk].prev[order] = chunk;
	ring->hand = chunk;
}

/* If a hand stands on a chunk that is about to leave, move it on. */
static inline void gvm_ring_step_off(const struct gvm_chunk *chunks, struct gvm_ring *ring,
				     enum gvm_order order, u32 chunk)
{
	u32 next = chunks[chunk].next[order];

	if (ring->hand == chunk)
		ring->hand = next == chunk ? GVM_NO_CHUNK : next;
	if (ring->lead && ring->front == chunk)
		ring->front = next;
	if (ring->asked && ring->ask == chunk)
		ring->ask = next;
	if (ring->hand == GVM_NO_CHUNK) {
		ring->lead = 0;
		ring->asked = 0;
	}
}

/* Take a chunk out of its ring; no hand stands on it. */
static inline void gvm_ring_unlink(struct gvm_chunk *chunks, enum gvm_order order, u32 chunk)
{
	u32 next = chunks[chunk].next[order];
	u32 prev = chunks[chunk].prev[order];

	chunks[prev].next[order] = next;
	chunks[next].prev[order] = prev;
	chunks[chunk].next[order] = GVM_NO_CHUNK;
	chunks[chunk].prev[order] = GVM_NO_CHUNK;
}

/*
 * @chunk, at the start of the window of chunks that are asked about, leaves the window. Only
 * with GVM_LIRS.
 */
static inline void gvm_ring_pass_window(struct gvm_ring *ring, u32 chunk)
{
	if (ring->asked)
		ring->asked = ring->ask == chunk ? 0 : ring->asked - 1;
}

#endif
