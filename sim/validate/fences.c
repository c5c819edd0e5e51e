// SPDX-License-Identifier: MIT OR GPL-2.0
/* What fences in software cost, by the formula of system guardian; see hardware.h. */
#include "systems/guardian_cost.h"
#include "validate/hardware.h"

void hw_predict_fences(const struct cfg_gpu *gpu, struct hw_rows *rows)
{
	for (size_t i = 0; i < rows->fence_count; i++) {
		struct hw_fence *fence = &rows->fences[i];

		for (enum gvm_fence_mode mode = 0; mode < GVM_FENCE_MODES; mode++) {
			u64 cycles = guardian_fence_cycles(gpu, mode, fence->offsets);
			struct guardian_growth growth =
				guardian_growth(gpu, fence->l1, fence->l2, cycles, CFG_PPM);

			fence->predicted[mode] = (double)growth.part / (double)growth.whole;
		}
	}
}

double hw_fence_error(const struct hw_fence *fence, enum gvm_fence_mode mode)
{
	double ratio = (1 + fence->predicted[mode]) / (1 + fence->measured[mode]);

	return (ratio > 1 ? ratio : 1 / ratio) - 1;
}
