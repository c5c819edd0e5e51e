// SPDX-License-Identifier: MIT OR GPL-2.0
#include "terminal/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/error.h"
#include "terminal/command.h"
#include "terminal/manual.h"

#ifndef GVMSIM_VERSION
#define GVMSIM_VERSION "unknown"
#endif

/* Print a line for each command that runs: the own commands of a command stand in its place. */
static void print_commands(const struct command *const *list)
{
	for (; *list; list++) {
		char words[64];

		if ((*list)->commands) {
			print_commands((*list)->commands);
			continue;
		}
		snprintf(words, sizeof(words), "%s %s", (*list)->name,
			 (*list)->operands ? (*list)->operands : "");
		printf("  %-24s %s\n", strlen(words) > 24 ? (*list)->name : words,
		       (*list)->summary);
	}
}

static void print_help(const struct command *program)
{
	char version[64], manual[64];

	snprintf(version, sizeof(version), "%s --version", program->name);
	snprintf(manual, sizeof(manual), "%s --manual", program->name);
	command_print_head(program);
	print_commands(program->commands);
	printf("  %-24s print the version\n", version);
	printf("  %-24s print the manual page's part on commands, in mdoc(7)\n", manual);
	printf("\n\"%s COMMAND --help\" teaches each command.\n\n", program->name);
	command_print_tail(program);
}

/*
 * A standard descriptor that the caller has closed would become a file of the program, and what is
 * printed would go into it. One that cannot be written takes its place: to print is an error then.
 */
static void keep_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

int program_main(const struct command *program, int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	struct sim_error err = { 0 };
	int status;

	keep_standard_descriptors();
	/*
	 * A limit on file sizes is then an error of write(), like a full disk, and kills no
	 * program.
	 */
	signal(SIGXFSZ, SIG_IGN);
	if (!strcmp(word, "--help") || !strcmp(word, "-h") ||
	    (argc == 2 && !strcmp(word, "help"))) {
		print_help(program);
		status = command_flush(&err);
	} else if (!strcmp(word, "--version")) {
		printf("%s " GVMSIM_VERSION "\n", program->name);
		status = command_flush(&err);
	} else if (!strcmp(word, "--manual")) {
		manual_print(program);
		status = command_flush(&err);
	} else {
		status = command_run_own(program, argc, argv, &err);
	}
	if (status && *err.text)
		fprintf(stderr, "%s: %s\n", program->name, err.text);
	return -status;
}
