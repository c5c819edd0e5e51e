/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmcollect logs": application logs into a folder that was collected. */
#ifndef SIM_COLLECT_CMD_LOGS_H
#define SIM_COLLECT_CMD_LOGS_H

#include "terminal/command.h"

extern const struct command command_logs;

#endif
