/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim scenario": scenarios from what was measured. */
#ifndef SIM_CLI_CMD_SCENARIO_H
#define SIM_CLI_CMD_SCENARIO_H

#include "terminal/command.h"

extern const struct command command_scenario;

#endif
