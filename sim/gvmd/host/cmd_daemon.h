/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef SIM_GVMD_HOST_CMD_DAEMON_H
#define SIM_GVMD_HOST_CMD_DAEMON_H

#include "terminal/command.h"

/* "gvmd run": a policy on a host with gvm.ko, until the containers have gone. */
extern const struct command command_daemon;

#endif
