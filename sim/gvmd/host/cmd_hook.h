/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmd hook": an OCI hook by which a container gets its limits before it starts. */
#ifndef SIM_GVMD_HOST_CMD_HOOK_H
#define SIM_GVMD_HOST_CMD_HOOK_H

#include "terminal/command.h"

extern const struct command command_hook;

#endif
