/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim trace": import request traces and look at them. */
#ifndef SIM_CLI_CMD_TRACE_H
#define SIM_CLI_CMD_TRACE_H

#include "terminal/command.h"

extern const struct command command_trace;

/*
 * Run the command line from the word "trace" on, which is argv[0]. Results go to stdout, one
 * line for an error to stderr. Returns an enum sim_exit.
 */
int cmd_trace(int argc, char **argv);

#endif
