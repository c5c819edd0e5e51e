/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim run": simulate one scenario and write its results folder. */
#ifndef SIM_CLI_CMD_RUN_H
#define SIM_CLI_CMD_RUN_H

#include "terminal/command.h"

extern const struct command command_run;

/*
 * Run the command line from the word "run" on, which is argv[0]. Results go to stdout, one line
 * for an error to stderr. Returns an enum sim_exit. Once a process, because a simulation is.
 */
int cmd_run(int argc, char **argv);

#endif
