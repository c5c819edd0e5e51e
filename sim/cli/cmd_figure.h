/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim figure": make a figure, see sim/figures. */
#ifndef SIM_CLI_CMD_FIGURE_H
#define SIM_CLI_CMD_FIGURE_H

#include "terminal/command.h"

extern const struct command command_figure;

#endif
