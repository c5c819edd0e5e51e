/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * NVIDIA's own decisions at its hook points; with nvuvm_config.limits and fast_path the
 * published GVM's.
 */
#ifndef SIM_NVUVM_DRIVER_H
#define SIM_NVUVM_DRIVER_H

#include "nvuvm/hooks.h"

extern const struct nvuvm_hooks nvuvm_driver_hooks;

#endif
