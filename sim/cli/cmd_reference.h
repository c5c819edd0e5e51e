/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * "gvmsim reference": the tables of the program as Markdown, and as lists of words for the
 * shell. It makes docs/reference/, and a test compares the two.
 */
#ifndef SIM_CLI_CMD_REFERENCE_H
#define SIM_CLI_CMD_REFERENCE_H

#include "terminal/command.h"

extern const struct command command_reference;

#endif
