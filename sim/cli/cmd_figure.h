/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim figure": results as tables and pictures, the published ones beside them. */
#ifndef SIM_CLI_CMD_FIGURE_H
#define SIM_CLI_CMD_FIGURE_H

/*
 * Run the command line from the word "figure" on, which is argv[0]. Results go to stdout, one
 * line for an error to stderr. getopt's state is reset first. Returns an enum sim_exit.
 */
int cmd_figure(int argc, char **argv);

#endif
