/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Rings of chunks, for policy/clock.c, policy/hint.c and policy/lirs.c. CONTEXT of all calls:
 * atomic, device's lock held.
 */
#ifndef GVM_RING_H
#define GVM_RING_H

#include "gvm/container.h"

/* A ring with its order and the number of its chunks. */
struct gvm_ring_choice {
	struct gvm_ring *ring;
	enum gvm_order order;
	u32 chunks;
};

/*
 * The ring of @container, or (NULL) of the device. @chunks: how many of its chunks may be evicted.
 */
static inline struct gvm_ring_choice gvm_ring_choose(struct gvm_device *device,
						     struct gvm_container *container)
{
	if (container)
		return (struct gvm_ring_choice){ &container->own, GVM_ORDER_OWN,
						 container->bound_chunks };
	return (struct gvm_ring_choice){ &device->global, GVM_ORDER_GLOBAL,
					 device->exposed_chunks };
}

/* Has the chunk been used since the hand of @order last came by? */
static inline bool gvm_ring_was_used(const struct gvm_device *device, enum gvm_order order,
				     u32 chunk)
{
	return READ_ONCE(device->referenced[chunk]) & GVM_REFERENCED(order);
}

/* Clear the chunk's reference bit of @order. */
static inline void gvm_ring_clear_used(struct gvm_device *device, enum gvm_order order,
				       u32 chunk)
{
	WRITE_ONCE(device->referenced[chunk],
		   (u8)(READ_ONCE(device->referenced[chunk]) & ~GVM_REFERENCED(order)));
}

/* May the chunk be unmapped, to see whether it is in use? */
static inline bool gvm_ring_may_ask(const struct gvm_chunk *entry, enum gvm_order order)
{
	return entry->state == GVM_CHUNK_BOUND && !entry->stashed &&
	       (order == GVM_ORDER_OWN || !gvm_container_is_shielded(entry->owner));
}

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
