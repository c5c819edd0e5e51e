/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim trace": import request traces and look at them. */
#ifndef SIM_CLI_CMD_TRACE_H
#define SIM_CLI_CMD_TRACE_H

#include "terminal/command.h"

extern const struct command command_trace;

#endif
