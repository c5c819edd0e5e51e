/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The core's decisions at the hook points of NVIDIA's driver. */
#ifndef SIM_NVUVM_POLICY_H
#define SIM_NVUVM_POLICY_H

#include "nvuvm/hooks.h"

extern const struct nvuvm_hooks nvuvm_policy_hooks;

#endif
