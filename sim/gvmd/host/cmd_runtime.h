/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * "gvmd runtime": an OCI runtime around another one, for Docker and
 * containerd, which have no hooks.
 */
#ifndef SIM_GVMD_HOST_CMD_RUNTIME_H
#define SIM_GVMD_HOST_CMD_RUNTIME_H

#include "terminal/command.h"

extern const struct command command_runtime;

#endif
