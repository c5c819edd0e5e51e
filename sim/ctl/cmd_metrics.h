/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef SIM_CTL_CMD_METRICS_H
#define SIM_CTL_CMD_METRICS_H

#include "terminal/command.h"

/* "gvmctl metrics": memory, limits and kernels of all processes, for Prometheus. */
extern const struct command command_metrics;

#endif
