/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Hint faults (GVM_HINT_FAULTS): which chunk to unmap next. policy/hint.c explains the idea.
 */
#ifndef GVM_HINT_H
#define GVM_HINT_H

#include "gvm/container.h"

/* Chunks that an evictor may unmap for each chunk that it evicts. */
#define GVM_HINTS_PER_VICTIM 16u

/*
 * The next chunk to unmap, so that its next use faults: in @container's own order, or (NULL) in
 * the global one. Its reference bit of that order is clear on return. Looks at no more than
 * GVM_PICK_LOOKS entries. Returns GVM_NO_CHUNK if the front hand is as far ahead as it should
 * be, if these looks found no chunk to unmap, or if @container's hmem.limit is used up.
 * CONTEXT: atomic.
 */
u32 gvm_hint_next(struct gvm_device *device, struct gvm_container *container);

#endif
