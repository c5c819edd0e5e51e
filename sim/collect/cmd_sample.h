/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmcollect sample": watch the control files of this host and write a results folder. */
#ifndef SIM_COLLECT_CMD_SAMPLE_H
#define SIM_COLLECT_CMD_SAMPLE_H

#include "terminal/command.h"

extern const struct command command_sample;

#endif
