/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the parts of gvm_check() share. Steps return 0, or -EUCLEAN after logging the broken
 * invariant. CONTEXT of all: atomic, device's leaf lock held.
 */
#ifndef GVM_CHECK_H
#define GVM_CHECK_H

#include "gvm/device.h"
#include "gvm/port.h"

struct gvm_container;

/* Log the broken invariant and the number of the chunk, container or TSG. Always -EUCLEAN. */
int gvm_check_failed(const struct gvm_device *device, const char *what, u32 number);

/* Is @index a chunk that may stand on a ring? */
bool gvm_check_is_bound(const struct gvm_device *device, u32 index);

/*
 * Does the list have at most @max entries, and does each link back? Then *@ret_count is their
 * number. Such a list ends at its head: a circle elsewhere would need an entry with two
 * predecessors.
 */
bool gvm_check_list_is_closed(const struct list_head *head, u32 max, u32 *ret_count);

/* A leading front hand and the end of a window stand on their ring: @met, they were found. */
int gvm_check_front(const struct gvm_device *device, bool met);

/* Walk a ring of one owner, whose links have been checked. Add its length to *length. */
int gvm_check_owned_ring(const struct gvm_container *owner, const struct gvm_ring *ring,
			 enum gvm_order order, u32 *length);

/* Step 2, after that of chunks. */
int gvm_check_containers(const struct gvm_device *device);

#endif
