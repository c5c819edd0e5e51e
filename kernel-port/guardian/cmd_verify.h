/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmfence verify". */
#ifndef KERNEL_PORT_GUARDIAN_CMD_VERIFY_H
#define KERNEL_PORT_GUARDIAN_CMD_VERIFY_H

#include "terminal/command.h"

extern const struct command command_verify;

#endif
