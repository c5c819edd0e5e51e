/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim validate results": a measured results folder beside a simulated one. */
#ifndef SIM_CLI_CMD_VALIDATE_RESULTS_H
#define SIM_CLI_CMD_VALIDATE_RESULTS_H

#include "terminal/command.h"

extern const struct command command_validate_results;

#endif
