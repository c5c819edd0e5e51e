/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Hint faults (GVM_HINT_FAULTS): whose use to ask about. The idea is told in policy/hint.c.
 */
#ifndef GVM_HINT_H
#define GVM_HINT_H

#include "gvm/container.h"

/* So many chunks, at most, are unmapped for each one that an evictor evicts. */
#define GVM_HINTS_PER_VICTIM 16u

/*
 * The next chunk to unmap, so that its use can be seen: of @container's own order, or (NULL) of the
 * global one. Its reference bit of that order is clear on return. Looks at no more than
 * GVM_PICK_LOOKS entries; GVM_NO_CHUNK: the front hand is as far ahead as it should be, or has more
 * to look at than that, or nothing of @container can go anyway. CONTEXT: atomic.
 */
u32 gvm_hint_next(struct gvm_device *device, struct gvm_container *container);

#endif
