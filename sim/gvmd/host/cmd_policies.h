/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef SIM_GVMD_HOST_CMD_POLICIES_H
#define SIM_GVMD_HOST_CMD_POLICIES_H

#include "terminal/command.h"

/* "gvmd check" and "gvmd policies": what needs no GPU. */
extern const struct command command_check;
extern const struct command command_policies;

#endif
