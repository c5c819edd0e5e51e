/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Migration by a prefetch or by a touch of the CPU; migrate.c describes it. */
#ifndef SIM_NVUVM_MIGRATE_H
#define SIM_NVUVM_MIGRATE_H

#include "nvuvm/types.h"

/*
 * The CPU touches @pages of a block. Pages on the device migrate to the host, and the call
 * waits for the copies. New pages are created on the host. Returns 0, -EFAULT (after the end
 * of the range), -EINTR or the error of a copy. CONTEXT: process, no range's lock held.
 */
int nvuvm_cpu_touch(struct nvuvm *nvuvm, struct gvm_range *range, u32 index, u32 pages);

/*
 * cudaMemPrefetchAsync() of a whole range to the GPU or to the CPU, and the wait for it.
 * Returns 0, -EAGAIN (no room for all of it now), or an error that gvm_range_service() gives to
 * a fault. CONTEXT: process, no range's lock held.
 */
int nvuvm_migrate(struct nvuvm *nvuvm, struct gvm_range *range, enum nvuvm_processor to);

#endif
