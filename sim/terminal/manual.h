/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The part of a program's manual page that is printed from its table of commands. */
#ifndef SIM_TERMINAL_MANUAL_H
#define SIM_TERMINAL_MANUAL_H

struct command;

/*
 * Print the sections SYNOPSIS, DESCRIPTION and COMMANDS of @program as mdoc(7) on stdout,
 * between two comments. docs/man/PROGRAM.1 holds them (tests/tree/reference.sh).
 */
void manual_print(const struct command *program);

#endif
