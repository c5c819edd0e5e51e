/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Charging device memory to containers: reserve, then allocate, then bind.
 *
 * The published driver checks its limit before an allocation and adds to the usage after it, and
 * so overshoots by up to 64 chunks when its allocator hands out memory in batches. Here a chunk
 * is charged before it exists; the books can never exceed the limit, whatever the allocator does.
 *
 *   gvm_charge_reserve()  the container's usage rises by one chunk, or the call is refused
 *   (allocate a chunk)
 *   gvm_charge_bind()     the reservation becomes that chunk's charge; the clock knows it
 *   gvm_charge_cancel()   ... or the allocation failed, and the reservation is returned
 *   gvm_uncharge()        exactly once per bind, by the owner recorded in the chunk
 *
 * Memory that no clock has to know, page tables and context buffers, is charged likewise; its chunk
 * is whoever took it to remember:
 *
 *   gvm_charge_pin()      in place of bind
 *   gvm_charge_unpin()    in place of uncharge
 */
#ifndef GVM_CHARGE_H
#define GVM_CHARGE_H

#include "gvm/container.h"

/*
 * Charge one chunk ahead of its allocation. Returns 0, or -EDQUOT at gmem.limit.high (rounded
 * down to chunks), counted as GVM_EVENT_HIGH. CONTEXT: under a VA-block lock.
 */
int gvm_charge_reserve(struct gvm_container *container);

/*
 * Charge one chunk whatever the limit is: for memory that is there already, and whose owner only
 * has to be told. Usage above the limit is then the reclaimer's to lower. CONTEXT: atomic.
 */
void gvm_charge_force(struct gvm_container *container);

/* Return a reservation. CONTEXT: atomic. */
void gvm_charge_cancel(struct gvm_container *container);

/*
 * Bind a reservation to a free chunk, which enters both clock orders with its reference bits
 * clear, just behind each hand. CONTEXT: atomic.
 */
void gvm_charge_bind(struct gvm_container *container, u32 chunk);

/* A reservation becomes pinned memory: charged, and never a victim. CONTEXT: atomic. */
void gvm_charge_pin(struct gvm_container *container);

/* One chunk of pinned memory goes back to the device. CONTEXT: atomic. */
void gvm_charge_unpin(struct gvm_container *container);

/* The chunk goes back to the device: leaves the clock, lowers its owner's usage. CONTEXT: atomic. */
void gvm_uncharge(struct gvm_device *device, u32 chunk);

/* By how many chunks a container is above its gmem.limit.high. CONTEXT: atomic. */
u32 gvm_charge_excess(struct gvm_container *container);

/* @bytes of the container moved to host memory, or came back from it. CONTEXT: atomic. */
void gvm_swap_charge(struct gvm_container *container, u64 bytes);
void gvm_swap_uncharge(struct gvm_container *container, u64 bytes);

/*
 * Of a part of the container's memory, host memory held copies of @before bytes, and now does so of
 * @after bytes. Counted, and charged to no limit: see block/clean.c. CONTEXT: atomic.
 */
void gvm_clean_charge(struct gvm_container *container, u64 before, u64 after);

/*
 * Set a limit in bytes; any value is legal, also above the device. It holds for the next charge
 * at once; usage above it is the reclaimer's to lower, and gmem.current reports reality.
 * CONTEXT: process.
 */
void gvm_limit_set_high(struct gvm_container *container, u64 bytes);
void gvm_limit_set_low(struct gvm_container *container, u64 bytes);

/*
 * Set hmem.limit in bytes: from now on no chunk is picked unless all of it would fit, beside what is
 * swapped out and what is on its way. What is on the host already stays there. CONTEXT: process.
 */
void gvm_limit_set_hmem(struct gvm_container *container, u64 bytes);

/* Bytes charged now, and the most ever. CONTEXT: atomic. */
u64 gvm_charged_bytes(struct gvm_container *container);
u64 gvm_peak_bytes(struct gvm_container *container);

#endif
