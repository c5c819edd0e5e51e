/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim sweep": many runs that differ in a few keys, and the best of them. */
#ifndef SIM_CLI_CMD_SWEEP_H
#define SIM_CLI_CMD_SWEEP_H

#include "terminal/command.h"

extern const struct command command_sweep;

#endif
