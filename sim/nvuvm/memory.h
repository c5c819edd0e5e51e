/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The model as a memory manager. */
#ifndef SIM_NVUVM_MEMORY_H
#define SIM_NVUVM_MEMORY_H

#include "gvm/memory.h"

/* The argument of the calls is a struct nvuvm. */
extern const struct gvm_memory_ops nvuvm_memory_ops;

#endif
