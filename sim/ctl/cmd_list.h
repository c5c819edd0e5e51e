/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmctl list" and "gvmctl watch": the processes that share the GPUs. */
#ifndef SIM_CTL_CMD_LIST_H
#define SIM_CTL_CMD_LIST_H

#include "terminal/command.h"

extern const struct command command_list;
extern const struct command command_watch;

#endif
