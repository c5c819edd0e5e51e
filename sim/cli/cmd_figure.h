/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim figure": make a figure, see sim/figures. */
#ifndef SIM_CLI_CMD_FIGURE_H
#define SIM_CLI_CMD_FIGURE_H

#include "terminal/command.h"

extern const struct command command_figure;

/*
 * Run the command line from the word "figure" on, which is argv[0]. Results go to stdout, one line
 * for an error to stderr. Returns an enum sim_exit.
 */
int cmd_figure(int argc, char **argv);

#endif
