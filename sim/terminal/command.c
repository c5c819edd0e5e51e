// SPDX-License-Identifier: MIT OR GPL-2.0
#include "terminal/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "engine/guess.h"

#define OPTIONS_MAX 16
#define USAGE_MAX   512
#define HELP_COLUMN 22
/* Above all characters, so that getopt's optopt tells short options from long ones. */
#define OPTION_BASE 256

static size_t count_options(const struct command *command)
{
	size_t count = 0;

	while (command->options && command->options[count].name)
		count++;
	return count;
}

const char *command_words(const struct command *command)
{
	const char *blank = strchr(command->name, ' ');

	return blank ? blank + 1 : "";
}

/* "import" of "gvmsim trace import" */
static const char *last_word(const struct command *command)
{
	const char *blank = strrchr(command->name, ' ');

	return blank ? blank + 1 : command->name;
}

static void append(char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *fmt, ...)
{
	size_t length = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + length, size - length, fmt, args);
	va_end(args);
}

/* "gvmsim run SCENARIO [--set PATH=VALUE]... [--quiet]" */
static void command_usage(const struct command *command, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s", command->name, command->operands ? " " : "",
		 command->operands ? command->operands : "");
	for (size_t i = 0; i < count_options(command); i++) {
		const struct command_option *option = &command->options[i];

		append(text, size, " [--%s%s%s]%s", option->name, option->value ? " " : "",
		       option->value ? option->value : "", option->repeats ? "..." : "");
	}
}

int command_mistake(const struct command *command, struct sim_error *err, const char *fmt, ...)
{
	char mistake[768], usage[USAGE_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(mistake, sizeof(mistake), fmt, args);
	va_end(args);
	command_usage(command, usage, sizeof(usage));
	/* The program prints its own name before every error. */
	return sim_user_error(err, "%s: %s, usage: %s", command_words(command), mistake, usage);
}

int command_bad_value(const struct command *command, const char *option, struct sim_error *err,
		      const char *fmt, ...)
{
	char mistake[sizeof(err->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(mistake, sizeof(mistake), fmt, args);
	va_end(args);
	return sim_user_error(err, "%s: option '--%s': %s", command_words(command), option,
			      mistake);
}

/* May @command's keys be set, by "--set PATH=VALUE"? */
static bool sets_keys(const struct command *command)
{
	for (size_t i = 0; i < count_options(command); i++)
		if (!strcmp(command->options[i].name, "set"))
			return true;
	return false;
}

/* Report @option, as the user wrote it: no option of @command, or one that @needs_value. */
static int wrong_option(const struct command *command, const char *option, bool needs_value,
			struct sim_error *err)
{
	struct guess guess;
	char name[GUESS_NAME_MAX];

	if (needs_value)
		return command_mistake(command, err, "option '%s' needs a value", option);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(option, "="), option);
	guess_begin(&guess, name);
	for (size_t i = 0; i < count_options(command); i++) {
		char known[GUESS_NAME_MAX];

		snprintf(known, sizeof(known), "--%s", command->options[i].name);
		guess_offer(&guess, known);
	}
	if (*guess.name)
		return command_mistake(command, err,
				       "option '%s' is not valid here, did you mean '%s'?",
				       option, guess.name);
	if (!strncmp(name, "--", 2) && sets_keys(command))
		return command_mistake(command, err,
				       "option '%s' is not valid here (a key of the scenario "
				       "is set by '--set %s=VALUE')",
				       option, name + 2);
	return command_mistake(command, err, "option '%s' is not valid here", option);
}

/*
 * Take an option. A second value of one that has room for one is refused: either may be the one
 * that was meant.
 */
static int take_one(const struct command *command, const struct command_option *option,
		    bool again, const char *value,
		    int (*take)(void *data, const char *option, const char *value,
				struct sim_error *err),
		    void *data, struct sim_error *err)
{
	if (again && option->value && !option->repeats)
		return command_bad_value(command, option->name, err,
					 "is given twice, allowed: once");
	return take(data, option->name, value, err);
}

int command_parse(const struct command *command, int argc, char **argv,
		  int (*take)(void *data, const char *option, const char *value,
			      struct sim_error *err),
		  void *data, struct command_line *ret_line, struct sim_error *err)
{
	struct option options[OPTIONS_MAX + 2] = { 0 };
	bool taken[OPTIONS_MAX] = { 0 };
	size_t count = count_options(command);
	int found, status = 0;

	*ret_line = (struct command_line){ 0 };
	for (size_t i = 0; i < count && i < OPTIONS_MAX; i++)
		options[i] = (struct option){ command->options[i].name,
					      command->options[i].value ? required_argument :
									  no_argument,
					      NULL, OPTION_BASE + (int)i };
	options[count] = (struct option){ "help", no_argument, NULL, 'h' };
	optind = 0; /* glibc: start anew, and forget the state of the last parse */
	opterr = 0;
	while (!status && (found = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		const char letter[] = { '-', (char)optopt, '\0' };

		if (found == 'h') {
			ret_line->help = true;
			return 0;
		}
		if (found >= OPTION_BASE) {
			size_t i = (size_t)(found - OPTION_BASE);

			status = take_one(command, &command->options[i], taken[i], optarg, take,
					  data, err);
			taken[i] = true;
			continue;
		}
		/*
		 * In a word of several short options, getopt has not moved on: name the letter.
		 */
		status =
			wrong_option(command,
				     optopt && optopt < OPTION_BASE ? letter : argv[optind - 1],
				     found == ':', err);
	}
	ret_line->operands = argv + optind;
	ret_line->operand_count = argc - optind;
	return status;
}

/* "  --out DIR           where files go", with more lines below the first. */
static void print_option(const struct command_option *option)
{
	char name[64];

	snprintf(name, sizeof(name), "--%s%s%s", option->name, option->value ? " " : "",
		 option->value ? option->value : "");
	printf("  %-*s", HELP_COLUMN - 3, name);
	if (strlen(name) > HELP_COLUMN - 3)
		printf("\n%*s", HELP_COLUMN - 1, "");
	for (const char *line = option->help;; line += strcspn(line, "\n") + 1) {
		printf(" %.*s\n", (int)strcspn(line, "\n"), line);
		if (!line[strcspn(line, "\n")])
			return;
		printf("%*s", HELP_COLUMN - 1, "");
	}
}

void command_print_head(const struct command *command)
{
	char usage[USAGE_MAX];

	command_usage(command, usage, sizeof(usage));
	printf("Usage: %s\n\n%s\n", usage, command->about);
	for (size_t i = 0; i < count_options(command); i++)
		print_option(&command->options[i]);
	if (count_options(command))
		putchar('\n');
}

void command_print_tail(const struct command *command)
{
	if (command->more)
		printf("%s\n", command->more);
	if (command->examples)
		printf("Examples:\n%s", command->examples);
}

int command_print_help(const struct command *command, struct sim_error *err)
{
	command_print_head(command);
	command_print_tail(command);
	return command_flush(err);
}

int command_flush(struct sim_error *err)
{
	if (fflush(stdout) || ferror(stdout))
		return sim_runtime_error(err, "standard output: cannot write: %s",
					 strerror(errno));
	return 0;
}

static void offer_own(struct guess *guess, const struct command *command)
{
	for (size_t i = 0; command->commands[i]; i++)
		guess_offer(guess, last_word(command->commands[i]));
}

/* Report that @argv names none of @command's own commands. */
static int no_such_command(const struct command *command, int argc, char **argv,
			   struct sim_error *err)
{
	const char *words = command_words(command);
	bool is_program = !*words;
	char allowed[USAGE_MAX] = "";
	struct guess guess;

	guess_begin(&guess, argc < 2 ? "" : argv[1]);
	offer_own(&guess, command);
	guess_offer(&guess, "help");
	guess_offer(&guess, "--help");
	if (is_program)
		guess_offer(&guess, "--version");
	if (*guess.name)
		return sim_user_error(err, "%s%sunknown command '%s', did you mean '%s'?",
				      words, is_program ? "" : ": ", argv[1], guess.name);
	for (size_t i = 0; command->commands[i]; i++)
		append(allowed, sizeof(allowed), "%s%s", i ? ", " : "",
		       last_word(command->commands[i]));
	append(allowed, sizeof(allowed), "%s",
	       is_program ? ", --help and --version" : " and --help");
	if (argc < 2)
		return sim_user_error(err, "%s%sno command is given, allowed are %s", words,
				      is_program ? "" : ": ", allowed);
	return sim_user_error(err, "%s%sunknown command '%s', allowed are %s", words,
			      is_program ? "" : ": ", argv[1], allowed);
}

/* The own command of @command that is called @word; NULL: there is none. */
static const struct command *find_own(const struct command *command, const char *word)
{
	for (const struct command *const *own = command->commands; *own; own++)
		if (!strcmp(last_word(*own), word))
			return *own;
	return NULL;
}

/*
 * "help COMMAND ..." is "COMMAND ... --help". Other topics are for the own command "help", if
 * there is one; a misspelt command is no such topic.
 */
static int run_help(const struct command *command, int argc, char **argv, struct sim_error *err)
{
	const struct command *help = find_own(command, "help");
	char option[] = "--help";
	struct guess guess;
	char **words;
	int status;

	if (!find_own(command, argv[2])) {
		guess_begin(&guess, argv[2]);
		offer_own(&guess, command);
		if (*guess.name)
			return sim_user_error(err, "help: '%s' is no topic, did you mean '%s'?",
					      argv[2], guess.name);
		return help ? help->run(argc - 1, argv + 1, err) :
			      no_such_command(command, argc - 1, argv + 1, err);
	}
	words = calloc((size_t)argc + 1, sizeof(*words));
	if (!words)
		return sim_runtime_error(err, "out of memory");
	words[0] = argv[0];
	for (int i = 2; i < argc; i++)
		words[i - 1] = argv[i];
	words[argc - 1] = option;
	status = command_run_own(command, argc, words, err);
	free(words);
	return status;
}

int command_run_own(const struct command *command, int argc, char **argv, struct sim_error *err)
{
	const struct command *const *own = command->commands;
	const char *word = argc > 1 ? argv[1] : "";
	const struct command *found = find_own(command, word);

	if (argc > 2 && !strcmp(word, "help") && *argv[2] != '-')
		return run_help(command, argc, argv, err);
	if (!strcmp(word, "--help") || !strcmp(word, "-h") ||
	    (!found && !strcmp(word, "help"))) {
		command_print_head(command);
		for (; *own; own++) {
			command_print_head(*own);
			command_print_tail(*own);
			putchar('\n');
		}
		command_print_tail(command);
		return command_flush(err);
	}
	if (!found)
		return no_such_command(command, argc, argv, err);
	return found->run ? found->run(argc - 1, argv + 1, err) :
			    command_run_own(found, argc - 1, argv + 1, err);
}
