/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* gvmsim app lora: a LoRA trainer of any model. */
#ifndef SIM_CLI_CMD_APP_LORA_H
#define SIM_CLI_CMD_APP_LORA_H

#include "terminal/command.h"

extern const struct command command_app_lora;

#endif
