/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim report": all that there is to say, as one HTML page. */
#ifndef SIM_CLI_CMD_REPORT_H
#define SIM_CLI_CMD_REPORT_H

#include "terminal/command.h"

extern const struct command command_report;

#endif
