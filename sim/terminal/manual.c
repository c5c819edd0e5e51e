// SPDX-License-Identifier: MIT OR GPL-2.0
#include "terminal/manual.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "terminal/command.h"

/*
 * Print a text of a help as text of the page. Each sentence begins a line. roff reads a
 * backslash anywhere, and a dot or quote that begins a line.
 */
static void print_text(const char *text)
{
	char before = '\n';

	for (; *text; before = *text++) {
		if (before == '.' && text[0] == ' ' && isupper((unsigned char)text[1])) {
			putchar('\n');
			continue;
		}
		if (before == '\n' && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
}

/*
 * Print the summary of a command or the help of an option, which has neither capital nor full
 * stop.
 */
static void print_sentence(const char *text)
{
	putchar(toupper((unsigned char)*text));
	print_text(text + 1);
	puts(strchr(".?", text[strlen(text) - 1]) ? "" : ".");
}

/* ".Ar SCENARIO", or ".Op Ar FILE" for "[FILE]"; then the options. */
static void print_synopsis(const struct command *command)
{
	const char *operands = command->operands ? command->operands : "";

	printf(".Nm\n.Cm %s\n", command_words(command));
	if (*operands == '[')
		printf(".Op Ar %.*s\n", (int)strcspn(operands + 1, "]"), operands + 1);
	else if (*operands)
		printf(".Ar %s\n", operands);
	for (const struct command_option *option = command->options; option && option->name;
	     option++)
		printf(".Op Fl -%s%s%s%s\n", option->name, option->value ? " Ar " : "",
		       option->value ? option->value : "", option->repeats ? " ..." : "");
}

static void print_command(const struct command *command)
{
	printf(".It Cm %s\n", command_words(command));
	print_sentence(command->summary);
	if (!command->options || !command->options->name)
		return;
	printf(".Bl -tag -width Ds\n");
	for (const struct command_option *option = command->options; option->name; option++) {
		printf(".It Fl -%s%s%s\n", option->name, option->value ? " Ar " : "",
		       option->value ? option->value : "");
		print_sentence(option->help);
	}
	printf(".El\n");
}

/* Call @print for each command that runs, below @list. */
static void each_command(const struct command *const *list,
			 void (*print)(const struct command *command))
{
	for (; *list; list++) {
		if ((*list)->commands)
			each_command((*list)->commands, print);
		else
			print(*list);
	}
}

void manual_print(const struct command *program)
{
	printf(".\\\" Printed by \"%s --manual\". Do not edit: change the program's table.\n"
	       ".Sh SYNOPSIS\n",
	       program->name);
	each_command(program->commands, print_synopsis);
	printf(".Nm\n.Fl -help | Fl -version | Fl -manual\n"
	       ".Sh DESCRIPTION\n");
	print_text(program->about);
	printf(".Sh COMMANDS\n"
	       "Each command has a\n.Fl -help\nwith examples.\n"
	       ".Bl -tag -width Ds\n");
	each_command(program->commands, print_command);
	printf(".El\n.\\\" End of \"%s --manual\".\n", program->name);
}
