/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A limit write of the published GVM. */
#ifndef SIM_NVUVM_LIMIT_H
#define SIM_NVUVM_LIMIT_H

#include "nvuvm/types.h"

/*
 * Evict the container's chunks in order of address, in batches of 256 blocks, until the driver
 * believes that it has no more than @bytes, and wait for the copies. The caller sets the limit
 * afterwards. Faults of the container wait meanwhile; faults between the return and the
 * new limit still see the old one. Returns 0, -EINTR, or the error of a copy. CONTEXT:
 * process, no range's lock held.
 */
int nvuvm_limit_write(struct nvuvm *nvuvm, struct gvm_container *container, u64 bytes);

#endif
