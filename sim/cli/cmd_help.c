// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_help.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/json_schema.h"
#include "config/message.h"
#include "config/schema.h"
#include "engine/error.h"
#include "engine/guess.h"
#include "machine/machine.h"

#define TEXT_MAX 512

extern const struct command command_help;

/* Print a key: its path, what it accepts with unit and default, and what it means. */
static void print_key(const struct cfg_key *key)
{
	char allowed[TEXT_MAX];
	const char *unit = cfg_type_unit(key->type);
	char *examples;

	cfg_describe_allowed(key, allowed, sizeof(allowed));
	examples = strstr(allowed, " such as ");
	if (examples)
		*examples = '\0';
	printf("%s\n    %s", key->path, allowed);
	if (*unit)
		printf(", in %s", unit);
	if (!key->fallback)
		printf("; required");
	else if (*key->fallback)
		printf("; default: %s", key->fallback);
	if (key->set)
		printf("; of %s", key->set->name);
	printf("\n    %s%s\n", key->help,
	       key->unused ? " (checked, but read by nothing yet)" : "");
}

/* Print the keys with @part in their paths; NULL: all. */
static int print_keys(const struct cfg_schema *schema, const char *part, struct sim_error *err)
{
	struct guess guess;
	bool any = false;

	guess_begin(&guess, part ? part : "");
	cfg_schema_for_each(schema, key)
	{
		/* Further GPUs have the keys of "gpu". */
		if (!strncmp(key->path, "gpus.", strlen("gpus.")) && !part)
			continue;
		guess_offer(&guess, key->path);
		guess_offer(&guess, cfg_key_leaf(key));
		if (part && !strstr(key->path, part))
			continue;
		print_key(key);
		any = true;
	}
	if (any)
		return 0;
	if (*guess.name)
		return sim_user_error(err, "help keys: no key has '%s', did you mean '%s'?",
				      part, guess.name);
	return sim_user_error(err, "help keys: no key has '%s', usage: gvmsim help keys [PART]",
			      part);
}

static int print_schema(const struct cfg_schema *schema, struct sim_error *err)
{
	json_t *root = cfg_json_schema(schema);
	char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;

	json_decref(root);
	if (!text)
		return sim_runtime_error(err, "help: out of memory");
	puts(text);
	free(text);
	return 0;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct command_line line;
	struct cfg_schema schema;
	const char *topic;
	int status = command_parse(&command_help, argc, argv, NULL, NULL, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_help, err);
	topic = line.operand_count ? line.operands[0] : "";
	if (line.operand_count && strcmp(topic, "keys") && strcmp(topic, "schema")) {
		struct guess guess;

		guess_begin(&guess, topic);
		guess_offer_list(&guess, "keys, schema");
		if (*guess.name)
			return command_mistake(&command_help, err,
					       "'%s' is no topic, did you mean '%s'?", topic,
					       guess.name);
	}
	if (line.operand_count > 1 + !strcmp(topic, "keys") &&
	    (!strcmp(topic, "keys") || !strcmp(topic, "schema")))
		return command_mistake(&command_help, err, "%d words after '%s', expected %s",
				       line.operand_count - 1, topic,
				       strcmp(topic, "keys") ? "none" : "1 at most");
	if (line.operand_count > 2 ||
	    (strcmp(topic, "keys") && (strcmp(topic, "schema") || line.operand_count > 1)))
		return command_mistake(&command_help, err, "'%s' is no topic, allowed are %s",
				       topic, "a command, keys, keys PART, schema");
	if (cfg_schema_init(&schema, &machine_registry))
		return sim_runtime_error(err, "help: out of memory");
	if (!strcmp(topic, "keys"))
		status = print_keys(&schema, line.operand_count > 1 ? line.operands[1] : NULL,
				    err);
	else
		status = print_schema(&schema, err);
	cfg_schema_destroy(&schema);
	return status ? status : command_flush(err);
}

/* clang-format off */
const struct command command_help = {
	.name = "gvmsim help",
	.operands = "COMMAND|keys|schema [PART]",
	.summary = "a command, a scenario's keys, or their JSON Schema",
	.about =
"COMMAND: the same as gvmsim COMMAND --help.\n"
"\n"
"keys: each key with its allowed values, unit, default and meaning. With PART: only keys\n"
"whose path contains PART. In a path, * stands for the name of a container and # for the\n"
"index of an event.\n"
"\n"
"schema: a JSON Schema. An editor that is given it checks and completes a scenario.\n"
"A scenario can name it, as \"$schema\".\n",
	.examples =
"    gvmsim help run\n"
"    gvmsim help keys\n"
"    gvmsim help keys gpu.link\n"
"    gvmsim help schema >scenario.schema.json\n",
	.run = run,
};
/* clang-format on */
