/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmsim validate published": all published values beside their predictions, and a score. */
#ifndef SIM_CLI_CMD_VALIDATE_PUBLISHED_H
#define SIM_CLI_CMD_VALIDATE_PUBLISHED_H

#include "terminal/command.h"

extern const struct command command_validate_published;

#endif
