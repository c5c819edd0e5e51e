/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* GVM_FENCE: what the shim's other files ask of partition.c and modules.c. */
#ifndef GVM_SHIM_FENCE_H
#define GVM_SHIM_FENCE_H

#include "shim.h"

struct patch_bounds;

/* partition.c: one partition of device memory on each GPU, from which all memory comes. */

/*
 * Take @bytes of the current device's partition, which is made at the first call.
 * Returns CU_OK; CU_OUT_OF_MEMORY: the partition is full, or cannot be made, which a
 * line on stderr says once.
 */
cu_result partition_alloc(const struct shim_real *real, int device, size_t bytes,
			  cu_ptr *ret_ptr);
/*
 * Free it at once: the caller has waited for kernels that use it. False: it
 * is not of a partition.
 */
bool partition_free(cu_ptr ptr);
bool partition_holds(cu_ptr ptr);
/* Bytes of the device's partition and those in use. False: it cannot be made. */
bool partition_room(const struct shim_real *real, int device, u64 *ret_bytes, u64 *ret_used);
/* What fenced code needs of it, to be written into each module. False: it cannot be made. */
bool partition_bounds(const struct shim_real *real, int device,
		      struct patch_bounds *ret_bounds);
void partition_reset(void);

/* modules.c: code is fenced as it is loaded. */

/*
 * Write the bounds of code that was loaded while there was no context. Cheap if there is none.
 */
void modules_settle(const struct shim_real *real);
/* Modules so far: fenced, allowed without a fence, refused. */
void modules_counts(u64 *ret_fenced, u64 *ret_allowed, u64 *ret_refused);
void modules_reset(void);

#endif
