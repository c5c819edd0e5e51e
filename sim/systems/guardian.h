/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Keys of the system guardian, and what its fences cost. Private to sim/systems/guardian*.c. */
#ifndef SIM_SYSTEMS_GUARDIAN_H
#define SIM_SYSTEMS_GUARDIAN_H

#include "config/config.h"
#include "fifo/fifo.h"
#include "gvm/address_fence.h"

enum guardian_manager { GUARDIAN_IN_PROCESS, GUARDIAN_PROCESS };
enum guardian_partitions { GUARDIAN_POW2, GUARDIAN_ANY, GUARDIAN_VIRTUAL };
enum guardian_memory { GUARDIAN_STOCK, GUARDIAN_GHOST };

/* The scenario's keys system.*, as guardian_rows has them. */
struct guardian_keys {
	u64 mode; /* enum gvm_fence_mode */
	bool native_when_alone;
	u64 manager;	/* enum guardian_manager */
	u64 partitions; /* enum guardian_partitions */
	u64 memory;	/* enum guardian_memory */
	u64 group_high; /* bytes: limits of all containers together */
	u64 group_low;
	u64 sample; /* one launch of so many is counted; 0: none */
	u64 hide;   /* ppm */
	u64 lookup; /* cycles of the CPU */
	u64 augment;
	u64 host_clock; /* Hz */
};

static inline enum gvm_fence_mode guardian_mode(const struct guardian_keys *keys)
{
	return (enum gvm_fence_mode)keys->mode;
}

/*
 * Lengthen the kernels of @burst, of @container on @gpu, by the fence of its accesses. @every:
 * one launch of so many is counted; 0: none.
 */
void guardian_fence_burst(const struct guardian_keys *keys, const struct cfg_gpu *gpu,
			  const struct cfg_container *container, u64 every,
			  struct fifo_burst *burst);

#endif
