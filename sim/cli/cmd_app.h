/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* gvmsim app: applications from profiles of real programs, and from models. */
#ifndef SIM_CLI_CMD_APP_H
#define SIM_CLI_CMD_APP_H

#include "terminal/command.h"

extern const struct command command_app;

#endif
