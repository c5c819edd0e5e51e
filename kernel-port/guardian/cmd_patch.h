/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmfence patch" and "gvmfence stats". */
#ifndef KERNEL_PORT_GUARDIAN_CMD_PATCH_H
#define KERNEL_PORT_GUARDIAN_CMD_PATCH_H

#include "terminal/command.h"

extern const struct command command_patch;
extern const struct command command_stats;

#endif
