/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim validate": the simulator held against measurements, with an exit status. */
#ifndef SIM_CLI_CMD_VALIDATE_H
#define SIM_CLI_CMD_VALIDATE_H

#include "terminal/command.h"

extern const struct command command_validate;

/*
 * Run the command line from the word "validate" on, which is argv[0]. Results go to stdout, one line
 * for an error to stderr. Returns an enum sim_exit; a prediction
 * that is not good enough is SIM_EXIT_RUNTIME.
 */
int cmd_validate(int argc, char **argv);

#endif
