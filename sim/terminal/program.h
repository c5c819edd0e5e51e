/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A program whose command line is a table of commands: gvmsim and gvmcollect. */
#ifndef SIM_TERMINAL_PROGRAM_H
#define SIM_TERMINAL_PROGRAM_H

struct command;

/*
 * Run the command line of @program, whose own commands do all the work. Besides them it has
 * --help, --version and --manual. An error is one line on stderr that begins with the program's
 * name. Returns the exit code of main(), an enum sim_exit.
 */
int program_main(const struct command *program, int argc, char **argv);

#endif
