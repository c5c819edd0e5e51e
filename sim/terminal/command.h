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
	const char *value; /* what follows it: "PATH=VALUE"; NULL: nothing */
	bool repeats;	   /* may stand several times */
	const char *help;  /* lines are separated by "\n" */
};

struct command {
	const char *name;		      /* "gvmsim trace import" */
	const char *operands;		      /* "IN OUT"; NULL: none */
	const char *summary;		      /* one line, without a full stop; NULL: none */
	const char *about;		      /* paragraphs before the options */
	const struct command_option *options; /* besides --help */
	const char *more;		      /* paragraphs after the options; NULL: none */
	const char *examples;		      /* NULL: none */
	const struct command *const
		*commands; /* its own commands; NULL ends them; NULL: none */
	int (*run)(int argc,
		   char **argv); /* from the command's last word on; an enum sim_exit */
};

/* What a command line comes to. */
struct command_line {
	bool help;	 /* --help or -h was there; what follows it is not read */
	char **operands; /* borrowed from argv */
	int operand_count;
};

/*
 * Parse @argv, whose first word is the command's last. Calls @take for each option, with the name
 * as in the table. Returns 0 or a negative enum sim_exit: a mistake of the user, or of @take.
 */
int command_parse(const struct command *command, int argc, char **argv,
		  int (*take)(void *data, const char *option, const char *value,
			      struct sim_error *err),
		  void *data, struct command_line *ret_line, struct sim_error *err);

/* "gvmsim run SCENARIO [--set PATH=VALUE]... [--quiet]" */
void command_usage(const struct command *command, char *text, size_t size);

/* Report a mistake in operands or options: "NAME: MISTAKE, usage: ...". Returns -SIM_EXIT_USER. */
int command_mistake(const struct command *command, struct sim_error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The two parts of --help on stdout: up to the options, and what follows them. */
void command_print_head(const struct command *command);
void command_print_tail(const struct command *command);

/* End stdout's present part. What did not reach the user is an error: a negative enum sim_exit. */
int command_flush(struct sim_error *err);

/* The command of that name among @commands, which NULL ends; NULL: there is none. */
const struct command *command_find(const struct command *const *commands, const char *word);

/* The last word of a command's name: "import". */
const char *command_word(const struct command *command);

#endif
