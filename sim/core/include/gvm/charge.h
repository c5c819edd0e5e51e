/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Charging device memory to containers: reserve, allocate, bind, uncharge.
 *
 * The published driver checks its limit before an allocation and adds to the usage after it. It
 * overshoots by up to 64 chunks when its allocator hands out memory in batches. Here memory is
 * charged before it exists, so usage never exceeds the limit, whatever the allocator does.
 *
 *   gvm_charge_reserve()         the container's usage rises, or the call is refused
 *   (the device allocates a chunk)
 *   gvm_charge_allocated_part()  the reservation is tied to that chunk, or to a part of it
 *   gvm_charge_bind()            the chunk enters the clock
 *   gvm_charge_cancel()          the allocation failed: the reservation is returned
 *   gvm_uncharge()               exactly once per chunk, credited to the recorded payers
 *
 * A whole chunk needs no step of its own: gvm_charge_bind() of a free chunk does both.
 *
 * Parts of a chunk. NVIDIA's driver splits a root chunk of 2 MB into sub-chunks of 64 KB and
 * more, which may serve several VA blocks, even of several containers. With
 * gvm_device_config.sub_chunks the books charge exactly the bytes that the driver allocates and
 * frees: its hooks see both, at block_alloc_gpu_chunk() and free_chunk(). The clock works on
 * root chunks, as eviction does. A root chunk stands on the rings of the container that got its
 * first part. The core's block layer puts parts of one container only into a chunk
 * (block/part.c):
 *
 *   gvm_charge_reserve_chunk()  a part that needs a chunk of its own: the limit holds for the
 *                               container's bytes and for its chunks
 *   gvm_charge_join()           a part in a chunk that is bound already
 *
 * That driver also has chunks of 4 KB. A page of 64 KB whose pieces of 4 KB are charged one by
 * one has one payer, too:
 *
 *   gvm_charge_bind_piece()     a piece of a page for which no other container pays
 *   gvm_uncharge_piece()        one piece less of a page, also of one charged as a whole
 *   gvm_charge_adopt_piece()    a piece that was unevictable, since the page had a payer
 *
 * Contexts and page tables are charged as unevictable memory, which no clock sees:
 *
 *   gvm_charge_bind_unevictable()  in place of bind
 *   gvm_uncharge_unevictable()     in place of uncharge
 */
#ifndef GVM_CHARGE_H
#define GVM_CHARGE_H

#include "gvm/container.h"

/*
 * Charge @bytes ahead of their allocation. Returns 0; -EDQUOT at gmem.limit.high, counted as
 * GVM_EVENT_HIGH; or -EIO: the device is dead. CONTEXT: under a VA-block lock.
 */
int gvm_charge_reserve_bytes(struct gvm_container *container, u64 bytes);

/*
 * The same for @bytes, at most a chunk, in a chunk that the container does not have yet. With
 * sub_chunks the container also gets no more chunks than gmem.limit.high has, rounded up:
 * chunks that are partly charged do not let it take more of the device. CONTEXT: under a
 * VA-block lock.
 */
int gvm_charge_reserve_chunk(struct gvm_container *container, u64 bytes);

/* The same for all of a chunk. */
static inline int gvm_charge_reserve(struct gvm_container *container)
{
	return gvm_charge_reserve_chunk(container, GVM_CHUNK_BYTES);
}

/*
 * Charge one chunk without a look at the limit: for memory that the device has already given
 * away. Reclaim lowers a usage above the limit. CONTEXT: atomic.
 */
void gvm_charge_force(struct gvm_container *container);

/* Return a reservation of @bytes, or of one chunk. CONTEXT: atomic. */
void gvm_charge_cancel_bytes(struct gvm_container *container, u64 bytes);
static inline void gvm_charge_cancel(struct gvm_container *container)
{
	gvm_charge_cancel_bytes(container, GVM_CHUNK_BYTES);
}

/*
 * With sub_chunks: tie a reservation to @pages pages from @first_page on. None of them is
 * charged yet, and the chunk is not being evicted. A free chunk becomes GVM_CHUNK_ALLOCATED: it
 * cannot be picked yet, and gvm_uncharge() returns the reservation. A part of a bound chunk is
 * bound at once. CONTEXT: atomic.
 */
void gvm_charge_allocated_part(struct gvm_container *container, u32 chunk, u32 first_page,
			       u32 pages);

/*
 * With sub_chunks: reserve, allocate and bind a part of a chunk that is bound already. None of
 * its @pages pages from @first_page on is charged yet. Returns 0; -EDQUOT or -EIO as
 * gvm_charge_reserve_bytes(); or -EBUSY: the chunk is being evicted, and nothing was charged.
 * CONTEXT: under a VA-block lock.
 */
int gvm_charge_join(struct gvm_container *container, u32 chunk, u32 first_page, u32 pages);

/*
 * With sub_chunks: gvm_charge_allocated_part(), and bind the chunk, in one step. Returns 0;
 * -EBUSY: the chunk is being evicted, and the reservation is as it was; or -EIO: the books are
 * broken. CONTEXT: atomic.
 */
int gvm_charge_bind_part(struct gvm_container *container, u32 chunk, u32 first_page, u32 pages);

/*
 * With sub_chunks: the same for one piece of a page, GVM_PIECE_BYTES of the reservation.
 * Returns 0, -EBUSY or -EIO as gvm_charge_bind_part(); or -EEXIST: another container pays for
 * this page, and the reservation is as it was. CONTEXT: atomic.
 */
int gvm_charge_bind_piece(struct gvm_container *container, u32 chunk, u32 page);

/*
 * Bind an allocated chunk with all its parts, or a free chunk, which takes a reservation of
 * @container. The chunk enters both clock orders just behind each hand, with clear reference
 * bits. A bound chunk stays as it is. CONTEXT: atomic.
 */
void gvm_charge_bind(struct gvm_container *container, u32 chunk);

/*
 * Uncharge a chunk with all its parts: it leaves the clock, its payers are credited. CONTEXT:
 * atomic.
 */
void gvm_uncharge(struct gvm_device *device, u32 chunk);

/*
 * With sub_chunks: uncharge @pages charged pages from @first_page on. The chunk stays charged
 * for the rest. It is free when the last page leaves. When the last page of its owner leaves,
 * another payer becomes the owner. CONTEXT: atomic.
 */
void gvm_uncharge_part(struct gvm_device *device, u32 chunk, u32 first_page, u32 pages);

/*
 * With sub_chunks: uncharge one piece of a charged page, which stays charged for the others.
 * CONTEXT: atomic.
 */
void gvm_uncharge_piece(struct gvm_device *device, u32 chunk, u32 page);

/*
 * With sub_chunks: a piece of a page that was charged as unevictable memory, since another
 * container paid for the page, becomes one that gvm_charge_bind_piece() has charged. Returns as
 * that call; unless 0, the piece is unevictable as before. CONTEXT: atomic.
 */
int gvm_charge_adopt_piece(struct gvm_container *container, u32 chunk, u32 page);

/* bind: reserved bytes become unevictable memory. uncharge: give it back. CONTEXT: atomic. */
void gvm_charge_bind_unevictable(struct gvm_container *container, u64 bytes);
void gvm_uncharge_unevictable(struct gvm_container *container, u64 bytes);

/*
 * By how many chunks, rounded up, a container is above its gmem.limit.high, in bytes or in
 * chunks (gvm_charge_reserve_chunk()); with byte_limits in bytes alone. CONTEXT: atomic.
 */
u32 gvm_charge_excess(struct gvm_container *container);

/*
 * Set a limit in bytes. Any value is legal, also one above the device's memory. It holds for
 * the next charge. Reclaim lowers a usage above it. CONTEXT: process.
 */
void gvm_limit_set_high(struct gvm_container *container, u64 bytes);
void gvm_limit_set_low(struct gvm_container *container, u64 bytes);

/* Bytes charged now, and the most ever. CONTEXT: atomic. */
u64 gvm_charged_bytes(struct gvm_container *container);
u64 gvm_peak_bytes(struct gvm_container *container);

#endif
