/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * "gvmsim validate": the simulator held against measurements. Its exit status is
 * SIM_EXIT_RUNTIME if a prediction is not good enough.
 */
#ifndef SIM_CLI_CMD_VALIDATE_H
#define SIM_CLI_CMD_VALIDATE_H

#include "terminal/command.h"

extern const struct command command_validate;

#endif
