/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Ranges of the model. */
#ifndef SIM_NVUVM_RANGE_H
#define SIM_NVUVM_RANGE_H

#include "nvuvm/types.h"

/*
 * gvm_range_init() and gvm_range_destroy() of a range that the model services.
 * @small_host_pages: data that the CPU wrote is in 4 KB pages; else in 2 MB chunks where a
 * block is full. init returns the errors of gvm_range_init(). CONTEXT: process.
 */
int nvuvm_range_init(struct nvuvm *nvuvm, struct gvm_range *range,
		     const struct gvm_range_config *config, bool small_host_pages);
void nvuvm_range_destroy(struct nvuvm *nvuvm, struct gvm_range *range);

#endif
