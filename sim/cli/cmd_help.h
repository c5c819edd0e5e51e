/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim help": the keys of a scenario for a terminal, and as a JSON Schema for editors. */
#ifndef SIM_CLI_CMD_HELP_H
#define SIM_CLI_CMD_HELP_H

#include "terminal/command.h"

extern const struct command command_help;

#endif
