/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef SIM_GVMD_HOST_CMD_PRESSURE_H
#define SIM_GVMD_HOST_CMD_PRESSURE_H

#include "terminal/command.h"

/* "gvmd pressure": events for applications, until a signal. */
extern const struct command command_pressure;

#endif
