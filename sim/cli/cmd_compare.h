/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * "gvmsim compare": any number of results folders side by side, as table, CSV file and picture.
 */
#ifndef SIM_CLI_CMD_COMPARE_H
#define SIM_CLI_CMD_COMPARE_H

#include "terminal/command.h"

extern const struct command command_compare;

#endif
