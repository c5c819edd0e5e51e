/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Types of vGPUs under gvtg: which part of the memory and which weight a container has
 * ===================================================================================
 *
 * They are those of vgpu.c in i915's gvt folder: V5_1, V5_2, V5_4 and V5_8 are a whole, a half, a
 * quarter and an eighth of the memory, with weights 16, 8, 4 and 2. The host, type "host", has
 * what a V5_8 has. Without a type, containers have equal parts: the GPU is cut into 1, 2, 4 or 8.
 * vgpu.weight and vgpu.partition are in place of a type's.
 */
#ifndef SIM_SYSTEMS_GVTG_TYPES_H
#define SIM_SYSTEMS_GVTG_TYPES_H

#include <stdbool.h>

#include "config/config.h"

struct cfg_load;

/* Is the container the host itself? */
bool gvtg_is_host(const struct cfg_container *container);

/* Bytes of the GPU's memory that the container has: whole chunks. */
u64 gvtg_part_bytes(const struct config *config, const struct cfg_container *container);

/* Its weight among the vGPUs of its GPU. */
u32 gvtg_weight(const struct config *config, const struct cfg_container *container);

/*
 * Check that types are known, that a GPU has one host at most, fences for all of its vGPUs
 * (@fences: it has so many; 0: any number), and memory for all parts, and that each part holds a
 * context and a chunk. Returns 0 or the error of cfg_reject_container().
 */
int gvtg_types_check(struct cfg_load *load, const struct config *config, u64 fences);

#endif
