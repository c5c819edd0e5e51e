/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* By how much a fence in software lengthens a kernel: the formula of system guardian. */
#ifndef SIM_SYSTEMS_GUARDIAN_COST_H
#define SIM_SYSTEMS_GUARDIAN_COST_H

#include "config/config.h"
#include "gvm/address_fence.h"

/* The growth of a fenced kernel: @part of @whole of its time. */
struct guardian_growth {
	unsigned __int128 part, whole; /* cycles of an access, x ppm x ppm */
};

/*
 * Cycles x CFG_PPM that the fence of an access adds on @gpu; @offsets: the share of accesses
 * with an offset, in ppm. 0 for modes without a fence.
 */
u64 guardian_fence_cycles(const struct cfg_gpu *gpu, enum gvm_fence_mode mode, u64 offsets);

/*
 * The growth of a kernel that computes, by a fence of @cycles (x CFG_PPM). Its accesses hit L1
 * with the share @l1 and L2 with the share @l2 of the others; other warps do not hide the share
 * @hide of the fence. Shares are in ppm.
 */
struct guardian_growth guardian_growth(const struct cfg_gpu *gpu, u64 l1, u64 l2, u64 cycles,
				       u64 hide);

#endif
