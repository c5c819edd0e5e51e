// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A GH100. Beside the page tables, which are another version, it has more than a GA100
 * at three places: addresses of 57 bits, so the ring sets the upper bits of push
 * buffers (channel.c); memsets by the scrubber of the copy engine (copy_engine.c);
 * engine numbers of its own for faults.
 */
#include "softgpu.h"

#include "hwref/hopper/gh100/dev_fault.h"

#define SOFTGPU_COMPUTE_CLASS 0xcbc0 /* HOPPER_COMPUTE_A */

const struct softgpu_chip softgpu_hopper = {
	.name = "hopper",
	.architecture = NV2080_CTRL_MC_ARCH_INFO_ARCHITECTURE_GH100,
	.host_class = HOPPER_CHANNEL_GPFIFO_A,
	.copy_class = HOPPER_DMA_COPY_A,
	.compute_class = SOFTGPU_COMPUTE_CLASS,
	.graphics_engine = NV_PFAULT_MMU_ENG_ID_GRAPHICS,
	.copy_engine = NV_PFAULT_MMU_ENG_ID_CE0,
	.host_engine = NV_PFAULT_MMU_ENG_ID_HOST0,
	.scrubs = true,
	.vidmem_most = 1ull << 40,
	.va_bits = 57,
	.walk = softgpu_mmu_v3_walk,
};
