/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A model of NVIDIA's UVM driver (open-gpu-kernel-modules 575, uvm_*.c) and, by two switches,
 * of the published GVM driver, which is a patch to it. It manages the memory of one simulated
 * GPU in place of the core's block layer, through the calls of memory.h. nvuvm.c describes the
 * whole. Simulator only.
 */
#ifndef SIM_NVUVM_NVUVM_H
#define SIM_NVUVM_NVUVM_H

#include "nvuvm/types.h"

/*
 * Make the model for a device. Returns NULL when there is no memory.
 * destroy: after stop, when no range is left.
 */
struct nvuvm *nvuvm_create(const struct nvuvm_config *config);
void nvuvm_destroy(struct nvuvm *nvuvm);

/*
 * Start and stop its thread, which exists only with fast_path. start returns 0 or -ENOMEM. stop
 * returns all free chunks of the model to the device; no other call may be running. CONTEXT:
 * process.
 */
int nvuvm_start(struct nvuvm *nvuvm);
void nvuvm_stop(struct nvuvm *nvuvm);

const struct nvuvm_stats *nvuvm_stats(const struct nvuvm *nvuvm);

#endif
