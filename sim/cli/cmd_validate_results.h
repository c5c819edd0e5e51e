/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim validate results": a measured results folder beside a simulated one. */
#ifndef SIM_CLI_CMD_VALIDATE_RESULTS_H
#define SIM_CLI_CMD_VALIDATE_RESULTS_H

#include "terminal/command.h"

extern const struct command command_validate_results;

/*
 * Run the command line from the word "results" on, which is argv[0]. The comparison goes to
 * stdout, one line for an error to stderr. Returns an enum sim_exit.
 */
int cmd_validate_results(int argc, char **argv);

#endif
