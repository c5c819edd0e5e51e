// SPDX-License-Identifier: MIT OR GPL-2.0
/* A GA100. */
#include "softgpu.h"

#include "hwref/ampere/ga100/dev_fault.h"

#define SOFTGPU_COMPUTE_CLASS 0xc6c0 /* AMPERE_COMPUTE_A */

const struct softgpu_chip softgpu_ampere = {
	.name = "ampere",
	.architecture = NV2080_CTRL_MC_ARCH_INFO_ARCHITECTURE_GA100,
	.host_class = AMPERE_CHANNEL_GPFIFO_A,
	.copy_class = AMPERE_DMA_COPY_A,
	.compute_class = SOFTGPU_COMPUTE_CLASS,
	.graphics_engine = NV_PFAULT_MMU_ENG_ID_GRAPHICS,
	.copy_engine = NV_PFAULT_MMU_ENG_ID_CE0,
	.host_engine = NV_PFAULT_MMU_ENG_ID_HOST0,
	.vidmem_most = 1ull << 37,
	.va_bits = 49,
	.walk = softgpu_mmu_v2_walk,
};
