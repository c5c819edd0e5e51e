/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim explain": why one request was late. */
#ifndef SIM_CLI_CMD_EXPLAIN_H
#define SIM_CLI_CMD_EXPLAIN_H

#include "terminal/command.h"

extern const struct command command_explain;

#endif
