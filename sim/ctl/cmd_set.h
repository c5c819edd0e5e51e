/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmctl set": write a control file of a running process. */
#ifndef SIM_CTL_CMD_SET_H
#define SIM_CTL_CMD_SET_H

#include "terminal/command.h"

extern const struct command command_set;

#endif
