// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/app.h"
#include "cli/replaced.h"
#include "config/load.h"
#include "config/message.h"
#include "config/units.h"
#include "engine/error.h"
#include "import/measured.h"
#include "machine/machine.h"

#define LEAD_STANDARD "10s" /* twice the usual app.boot of an LLM server */

static const struct command_option import_options[] = {
	{ "app", "NAME=PROFILE", true,
	  "the application of a container, a profile of scenarios/apps;\n"
	  "NAME=TYPE:PROFILE where no log says what it was" },
	{ "gpu", "PROFILE", false, "a profile of scenarios/gpus; by default the card's own" },
	{ "lead", "DURATION", false,
	  "time before the collection, in which applications load;\n"
	  "by default " LEAD_STANDARD },
	{ NULL, NULL, false, NULL },
};

static int run_import(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command command_import = {
	.name = "gvmsim scenario import",
	.operands = "RESULTS OUT",
	.summary = "make a scenario of a results folder of gvmcollect",
	.about =
"RESULTS is what gvmcollect measured on a real GPU, with the logs of applications.\n"
"Writes the scenario OUT: the card, the length, each container with its settings,\n"
"every later change as an event. The requests of a server are a trace beside it,\n"
"OUT's name with -CONTAINER.trace. What the folder cannot know is \"TODO\" in OUT and\n"
"in a line here. With all applications named, OUT runs at once. A vLLM server whose\n"
"command line gvmcollect has seen needs no name.\n",
	.options = import_options,
	.more =
"Images and steps have no trace: their application makes one after the other.\n"
"docs/collector.md says what is left to do by hand.\n",
	.examples =
"  What a server and a pipeline did together, simulated and compared:\n"
"    gvmsim scenario import results/hardware mine.json \\\n"
"        --app vllm=vllm-llama-3.2-3b --app diffusion=sd3.5-medium\n"
"    gvmsim run mine.json --out results/simulated\n"
"    gvmsim validate results results/hardware results/simulated\n",
	.run = run_import,
};
/* clang-format on */

static const struct command *const commands[] = { &command_import, NULL };

const struct command command_scenario = {
	.name = "gvmsim scenario",
	.operands = "import ...",
	.summary = "scenarios from what was measured",
	.about = "Makes a scenario of a run on real hardware.\n",
	.commands = commands,
};

/* A parsed command line. Strings are borrowed from argv. */
struct import_args {
	struct measured_request request;
	struct measured_app *apps;
};

/* Is this an application type of a scenario? If not, all of them are in @text. */
static bool is_type(const char *type, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; sim_app_types[i]; i++) {
		if (!strcmp(sim_app_types[i]->name, type))
			return true;
		cfg_append(text, size, "%s%s", i ? ", " : "", sim_app_types[i]->name);
	}
	return false;
}

/* NAME=PROFILE or NAME=TYPE:PROFILE */
static int take_app(struct import_args *args, const char *value, struct sim_error *err)
{
	struct measured_app *app = &args->apps[args->request.app_count];
	const char *equal = strchr(value, '='), *colon = equal ? strchr(equal, ':') : NULL;
	const char *profile = colon ? colon + 1 : equal ? equal + 1 : NULL;
	char types[160];

	if (!equal || equal == value || !*profile || strchr(profile, '/') ||
	    (size_t)(equal - value) >= sizeof(app->container) ||
	    strlen(equal) >= sizeof(app->profile))
		return command_bad_value(&command_import, "app", err,
					 "'%s' is wrong, allowed: NAME=PROFILE or "
					 "NAME=TYPE:PROFILE",
					 value);
	*app = (struct measured_app){ 0 };
	memcpy(app->container, value, (size_t)(equal - value));
	if (colon)
		memcpy(app->type, equal + 1, (size_t)(colon - equal - 1));
	strcpy(app->profile, profile);
	if (colon && !is_type(app->type, types, sizeof(types)))
		return command_bad_value(&command_import, "app", err,
					 "'%s' is no application type, allowed: %s", app->type,
					 types);
	for (size_t i = 0; i < args->request.app_count; i++)
		if (!strcmp(args->apps[i].container, app->container))
			return command_bad_value(&command_import, "app", err,
						 "'%s' is there twice", app->container);
	args->request.app_count++;
	return 0;
}

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct import_args *args = data;

	if (!strcmp(option, "app"))
		return take_app(args, value, err);
	if (!strcmp(option, "gpu")) {
		args->request.gpu = value;
		return 0;
	}
	if (units_parse_duration(value, &args->request.lead_ns) != UNITS_OK ||
	    args->request.lead_ns > 3600000000000ull)
		return command_bad_value(&command_import, option, err,
					 "'%s' is wrong, allowed: a duration up to 1h", value);
	return 0;
}

/*
 * Print what was made, and whether it runs. If a key is still missing, a line names it. Returns 0
 * or -SIM_EXIT_RUNTIME.
 */
static int print_made(const struct measured *measured, struct sim_error *err)
{
	const struct measured_request *request = measured->request;
	const char *gpu = json_string_value(
		json_object_get(json_object_get(measured->scenario, "gpu"), "profile"));
	struct sim_error missing = { 0 };
	struct config config;
	size_t todos = measured->todos;

	printf("scenario    %s\n", request->out);
	printf("GPU         %s%s%s\n", gpu, *measured->card ? ", for " : "", measured->card);
	printf("containers  %zu, with %zu trace%s and %zu event%s\n",
	       measured->folder.summary.container_count, measured->trace_count,
	       measured->trace_count == 1 ? "" : "s", measured->event_count,
	       measured->event_count == 1 ? "" : "s");
	for (size_t i = 0; i < json_array_size(measured->notes); i++) {
		const char *text = json_string_value(json_array_get(measured->notes, i));
		int length = (int)strcspn(text, " ");

		printf("%-11.*s%s\n", length, text, text + length);
	}
	if (!todos) {
		int status = config_load(&machine_registry, request->out, NULL, 0, &config,
					 &missing);

		if (status == -SIM_EXIT_RUNTIME) {
			*err = missing;
			return status;
		}
		todos = status != 0;
		if (todos)
			printf("TODO        %s\n", missing.text);
		else
			config_destroy(&config);
	}
	if (todos)
		printf("%s does not run yet: %zu TODO\n", request->out, todos);
	return command_flush(err);
}

static int import_results(const struct import_args *args, struct sim_error *err)
{
	struct replaced replaced;
	struct measured measured;
	int status = measured_open(&measured, &args->request, err);

	if (!status)
		status = replaced_check(&replaced, args->request.out, &replaced_scenario, err);
	if (!status)
		status = measured_write(&measured, err);
	if (!status)
		replaced_note(&replaced);
	if (!status)
		status = print_made(&measured, err);
	measured_close(&measured);
	return status;
}

static int run_import(int argc, char **argv, struct sim_error *err)
{
	struct import_args args = { 0 };
	struct command_line line;
	int status;

	args.apps = calloc((size_t)argc + 1, sizeof(*args.apps));
	if (!args.apps)
		return sim_runtime_error(err, "out of memory");
	args.request.apps = args.apps;
	units_parse_duration(LEAD_STANDARD, &args.request.lead_ns);
	status = command_parse(&command_import, argc, argv, take_option, &args, &line, err);
	if (!status && line.help) {
		status = command_print_help(&command_import, err);
	} else if (!status && line.operand_count != 2) {
		status = command_mistake(&command_import, err, "%d names, expected 2",
					 line.operand_count);
	} else if (!status) {
		args.request.results = line.operands[0];
		args.request.out = line.operands[1];
		status = import_results(&args, err);
	}
	free(args.apps);
	return status;
}
