// SPDX-License-Identifier: MIT OR GPL-2.0
/* "gvmsim reference", see cmd_reference.h. */
#include "cli/cmd_reference.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/reference_pages.h"
#include "config/paths.h"
#include "config/schema.h"
#include "engine/error.h"
#include "engine/guess.h"
#include "figures/figure_find.h"
#include "gvm/control.h"
#include "gvmd/metrics.h"
#include "machine/machine.h"
#include "sweep/sweep.h"
#include "systems/system.h"

/* The longest list of names in a message. */
#define NAMES_MAX 512

/* Lists of words, a line each. */
static int words_documents(void)
{
	for (const struct reference *page = reference_pages; page->name; page++)
		puts(page->name);
	return 0;
}

static int words_systems(void)
{
	for (const struct cfg_keys *const *keys = sim_systems; *keys; keys++)
		puts((*keys)->name);
	return 0;
}

static int words_applications(void)
{
	for (const struct cfg_keys *const *keys = sim_app_types; *keys; keys++)
		puts((*keys)->name);
	return 0;
}

static int words_control_files(void)
{
	for (u32 i = 0; i < gvm_control_count(); i++)
		puts(gvm_control_at(i)->name);
	return 0;
}

static int words_metrics(void)
{
	for (int i = 0; i < GVMD_METRICS; i++)
		puts(gvmd_metrics[i].name);
	return 0;
}

/* Print the names in "a, b" as lines. */
static void print_names(char *text)
{
	char *name;

	while ((name = strsep(&text, ",")))
		if (*name)
			puts(name + strspn(name, " "));
}

static int words_scenarios(void)
{
	char text[4096] = "";

	config_list_scenarios(text, sizeof(text));
	print_names(text);
	return 0;
}

static int words_sweeps(void)
{
	char text[4096] = "";

	sweep_list_names(text, sizeof(text));
	print_names(text);
	return 0;
}

static int words_figures(void)
{
	char text[4096] = "";

	figure_list_names(text, sizeof(text));
	print_names(text);
	return 0;
}

static int words_keys(void)
{
	struct cfg_schema schema;

	if (cfg_schema_init(&schema, &machine_registry))
		return -ENOMEM;
	cfg_schema_for_each(&schema, key)
	{
		puts(key->path);
	}
	cfg_schema_destroy(&schema);
	return 0;
}

static const struct reference word_lists[] = {
	{ "documents", "the documents above", words_documents },
	{ "systems", "what --system takes", words_systems },
	{ "applications", "what containers.NAME.app.type takes", words_applications },
	{ "control-files", "control files", words_control_files },
	{ "metrics", "what a policy of gvmd sees of a container", words_metrics },
	{ "scenarios", "scenarios that come with gvmsim", words_scenarios },
	{ "sweeps", "sweeps that come with gvmsim", words_sweeps },
	{ "figures", "figures in plots/figures", words_figures },
	{ "keys", "paths for --set, with * for a container and # for an event", words_keys },
	{ NULL, NULL, NULL },
};

static const struct command_option options[] = {
	{ "words", "LIST", false, "print names, one a line, for scripts and completion" },
	{ NULL, NULL, false, NULL },
};

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
const struct command command_reference = {
	.name = "gvmsim reference",
	.operands = "[DOCUMENT]",
	.summary = "the reference documents: keys, systems, results",
	.about =
"Prints the tables that the program works by, as Markdown: the documents in\n"
"docs/reference.\n",
	.options = options,
	.examples =
"    gvmsim reference scenario\n"
"    gvmsim reference --words keys\n",
	.run = run,
};
/* clang-format on */

static void print_list(const char *title, const struct reference *list)
{
	printf("%s:\n", title);
	for (; list->name; list++)
		printf("  %-15s %s\n", list->name, list->summary);
	printf("\n");
}

static void print_help(void)
{
	command_print_head(&command_reference);
	print_list("Documents", reference_pages);
	print_list("Lists of words", word_lists);
	command_print_tail(&command_reference);
}

static int print_named(const struct reference *list, const char *what, const char *name,
		       struct sim_error *err)
{
	char allowed[NAMES_MAX] = "", right[NAMES_MAX + 16];

	for (size_t i = 0; list[i].name; i++) {
		if (!strcmp(list[i].name, name))
			return list[i].print() ?
				       sim_runtime_error(err, "reference: out of memory") :
				       0;
		snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), "%s%s",
			 i ? ", " : "", list[i].name);
	}
	guess_describe(name, allowed, right, sizeof(right));
	return sim_user_error(err, "reference: unknown %s '%s', %s", what, name, right);
}

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	const char **list = data;

	(void)option;
	(void)err;
	*list = value;
	return 0;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	const char *list = NULL;
	struct command_line line;
	int status =
		command_parse(&command_reference, argc, argv, take_option, &list, &line, err);

	if (status)
		return status;
	if (line.help) {
		print_help();
		return command_flush(err);
	}
	if (line.operand_count != !list)
		return command_mistake(&command_reference, err, "%d documents, expected %d",
				       line.operand_count, !list);
	if (list)
		status = print_named(word_lists, "list", list, err);
	else
		status = print_named(reference_pages, "document", line.operands[0], err);
	return status ? status : command_flush(err);
}
