/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Commands of a program as data: their options, operands and help. The parser, --help, shell
 * completion and man pages are made from it. Options are long ones, read by getopt_long().
 */
#ifndef SIM_TERMINAL_COMMAND_H
#define SIM_TERMINAL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct sim_error;

struct command_option {
	const char *name;  /* "set", for --set; NULL ends a table */
	const char *value; /* the word after it: "PATH=VALUE"; NULL: none */
	bool repeats;	   /* may stand several times; a second value of others is refused */
	const char *help;  /* lines are separated by "\n" */
};

struct command {
	const char *name;		       /* "gvmsim trace import" */
	const char *operands;		       /* "IN OUT"; NULL: none */
	const char *summary;		       /* one line, without a full stop; NULL: none */
	const char *about;		       /* paragraphs before the options */
	const struct command_option *options;  /* besides --help */
	const char *more;		       /* paragraphs after the options; NULL: none */
	const char *examples;		       /* NULL: none */
	const struct command *const *commands; /* its own ones, NULL at the end; NULL: none */
	/*
	 * Run the command line from the command's last word on. Returns 0 or a negative enum
	 * sim_exit; *err has text if the user has something to read. NULL: it only has
	 * commands.
	 */
	int (*run)(int argc, char **argv, struct sim_error *err);
};

/* A parsed command line. */
struct command_line {
	bool help;	 /* --help or -h was there; the words after it are not read */
	char **operands; /* borrowed from argv */
	int operand_count;
};

/*
 * Parse @argv, whose first word is the last word of the command's name. Calls @take for each
 * option, with the name as in the table. Returns 0 or a negative enum sim_exit: a mistake of
 * the user, or the error of @take.
 */
int command_parse(const struct command *command, int argc, char **argv,
		  int (*take)(void *data, const char *option, const char *value,
			      struct sim_error *err),
		  void *data, struct command_line *ret_line, struct sim_error *err);

/*
 * Report a mistake in operands or options: "NAME: MISTAKE, usage: ...". Returns -SIM_EXIT_USER.
 */
int command_mistake(const struct command *command, struct sim_error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Report a wrong value of @option: "NAME: option '--OPTION': MISTAKE". Returns -SIM_EXIT_USER.
 */
int command_bad_value(const struct command *command, const char *option, struct sim_error *err,
		      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * Run the one of @command's own commands that @argv names after its first word, or print the
 * help of all of them. Returns 0 or a negative enum sim_exit.
 */
int command_run_own(const struct command *command, int argc, char **argv,
		    struct sim_error *err);

/* The two parts of --help on stdout: up to the options, and the text after them. */
void command_print_head(const struct command *command);
void command_print_tail(const struct command *command);

/* Both parts. Returns 0 or a negative enum sim_exit. */
int command_print_help(const struct command *command, struct sim_error *err);

/* Flush stdout. Output that did not reach the user is an error: a negative enum sim_exit. */
int command_flush(struct sim_error *err);

/* The name without the program: "trace import"; "" for the program itself. */
const char *command_words(const struct command *command);

#endif
