/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * "gvmsim run": simulate one scenario and write its results folder. Once a process, because a
 * simulation is.
 */
#ifndef SIM_CLI_CMD_RUN_H
#define SIM_CLI_CMD_RUN_H

#include "terminal/command.h"

extern const struct command command_run;

#endif
