/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim advise": which way of sharing keeps the promises of a scenario's containers. */
#ifndef SIM_CLI_CMD_ADVISE_H
#define SIM_CLI_CMD_ADVISE_H

#include "terminal/command.h"

extern const struct command command_advise;

#endif
