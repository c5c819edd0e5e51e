// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_app_lora.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "apps/hf_config.h"
#include "cli/replaced.h"
#include "config/config.h"
#include "config/models.h"
#include "config/paths.h"
#include "config/units.h"
#include "engine/error.h"
#include "engine/whole_file.h"
#include "gvm/port.h"
#include "import/lora.h"
#include "import/lora_app.h"
#include "trace/trace_read.h"

#define GB 1e9

static const struct command_option lora_options[] = {
	{ "rank", "N", false, "the rank of LoRA (default: 8)" },
	{ "micro-batch", "N", false, "examples of a micro-batch (default: 4)" },
	{ "accumulate", "N", false, "micro-batches of a step (default: 8)" },
	{ "remat", NULL, false,
	  "keep activations, and compute them again under\n"
	  "pressure only; by default the layers are always\n"
	  "computed again" },
	{ "trace", "FILE", false,
	  "lengths of the examples, a trace as app.trace.file\n"
	  "names it (default: " LORA_TRACE ")" },
	{ NULL, NULL, false, NULL },
};

static int run_lora(int argc, char **argv, struct sim_error *err);

/* clang-format off */
const struct command command_app_lora = {
	.name = "gvmsim app lora",
	.operands = "MODEL OUT",
	.summary = "make a LoRA trainer of a model",
	.about =
"Writes an application of type \"phases\" that fine-tunes MODEL by LoRA: a config.json of\n"
"Hugging Face's format, a folder with one, or a model of gvmsim, as app.model of a\n"
"server. What follows from the model's shape is computed, and the estimates of\n"
"lora-llama-3.2-3b go over by rules: each number has its source beside it. The time of a\n"
"launch is the host's. If a step was measured, set app.kernel_launch to fit it.\n"
"\n"
"Models with experts, with weights in fp8, with an MLP without a gate, or with a sliding\n"
"window shorter than the longest example are refused.\n",
	.options = lora_options,
	.examples =
"  Train Qwen2.5-7B beside an LLM server:\n"
"    gvmsim app lora Qwen2.5-7B scenarios/apps/lora-qwen2.5-7b.json\n"
"    gvmsim run vllm-lora-80g --set containers.trainer.app.profile=lora-qwen2.5-7b\n",
	.run = run_lora,
};
/* clang-format on */

/* A parsed command line. Strings are borrowed from argv. */
struct lora_args {
	struct lora_options options;
	const char *trace;
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct lora_args *args = data;
	const struct {
		const char *name;
		u64 *number;
		u64 max;
	} numbers[] = {
		{ "rank", &args->options.rank, LORA_RANK_MAX },
		{ "micro-batch", &args->options.micro_batch, LORA_SAMPLES_MAX },
		{ "accumulate", &args->options.accumulate, LORA_SAMPLES_MAX },
	};

	if (!strcmp(option, "remat"))
		args->options.remat = true;
	if (!strcmp(option, "trace"))
		args->trace = value;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(option, numbers[i].name) != 0)
			continue;
		if (units_parse_integer(value, numbers[i].number) || !*numbers[i].number ||
		    *numbers[i].number > numbers[i].max)
			return command_bad_value(&command_app_lora, option, err,
						 "\"%s\", allowed: an integer from 1 to %llu",
						 value, numbers[i].max);
	}
	return 0;
}

/* Find the trace and write a name that is good in any folder. */
static int find_trace(const char *name, char ret_file[CFG_TEXT_MAX], const char **ret_name,
		      struct sim_error *err)
{
	char folders[2 * PATH_MAX] = "";
	char folder[PATH_MAX];

	*ret_name = ret_file;
	if (cfg_path_folder("./", folder, sizeof(folder)) &&
	    cfg_path_find(folder, name, "", ret_file, CFG_TEXT_MAX))
		return 0;
	*ret_name = name;
	if (cfg_path_find_data("traces", name, "", ret_file, CFG_TEXT_MAX))
		return 0;
	cfg_path_list_data("traces", folders, sizeof(folders));
	return command_bad_value(&command_app_lora, "trace", err,
				 "no file \"%s\", allowed: one in the current folder or in %s",
				 name, folders);
}

/* Tokens of the longest example in @file. */
static int longest_example(const char *file, u64 *ret_tokens, struct sim_error *err)
{
	struct trace trace;
	u64 longest = 0;
	int status;

	trace_init(&trace);
	status = trace_read(file, TRACE_BAD_ROWS_FAIL, &trace, err);
	for (size_t i = 0; i < trace.count && !status; i++) {
		const struct trace_request *row = &trace.requests[i];
		u64 tokens = (u64)row->prompt_tokens +
			     row->response_tokens[TRACE_RESPONSE_GENERATED];

		trace_pass(&trace, i);
		longest = max(longest, tokens);
	}
	*ret_tokens = longest;
	trace_destroy(&trace);
	return status;
}

/* What a model is called: its folder, if the file is a config.json. */
static void model_name(const char *file, char ret_name[CFG_TEXT_MAX])
{
	const char *end = strrchr(file, '/'), *start = end;

	if (!end || strcmp(end, "/config.json") != 0 || end == file) {
		snprintf(ret_name, CFG_TEXT_MAX, "%s", end ? end + 1 : file);
		return;
	}
	while (start > file && start[-1] != '/')
		start--;
	snprintf(ret_name, CFG_TEXT_MAX, "%.*s", (int)(end - start), start);
}

static int write_app(const struct lora_app *app, const char *path, struct sim_error *err)
{
	struct sim_error why = { 0 };
	struct whole_file file;
	int status = whole_file_open(&file, path, err);

	if (status)
		return status;
	status = lora_app_write(app, file.stream, &why);
	if (!status)
		return whole_file_commit(&file, err);
	whole_file_abort(&file);
	snprintf(err->text, sizeof(err->text), "%.300s: %.700s", path, why.text);
	return status;
}

static int print_trainer(const struct lora_app *app, struct sim_error *err)
{
	const struct lora *lora = app->lora;

	printf("model                %s, %llu parameters\n", app->model, lora->parameters);
	printf("LoRA                 rank %llu, %llu parameters\n", app->options->rank,
	       lora->adapter_parameters);
	printf("memory               %.3f GB weights, %.3f GB adapters, %.3f GB "
	       "activations%s\n",
	       (double)lora->weights / GB, (double)lora->adapters / GB,
	       (double)lora->activations / GB, app->options->remat ? ", kept" : "");
	printf("step                 %llu micro-batches of %llu examples, up to %llu tokens "
	       "each\n",
	       app->options->accumulate, app->options->micro_batch, app->options->longest);
	return command_flush(err);
}

static int make_trainer(const char *model, const char *out, struct lora_args *args,
			struct sim_error *err)
{
	char file[CFG_TEXT_MAX], trace[CFG_TEXT_MAX], name[CFG_TEXT_MAX];
	struct hf_config config;
	struct lora lora;
	struct lora_app app = { name, NULL, &config, &args->options, &lora };
	struct replaced replaced;
	json_t *root;
	int status = config_read_model(model, file, &root, err);

	if (status)
		return status;
	status = hf_config_read(root, file, &config, err);
	json_decref(root);
	if (!status)
		status = find_trace(args->trace, trace, &app.trace, err);
	if (!status)
		status = longest_example(trace, &args->options.longest, err);
	if (!status && (whole_file_is(out, file) || whole_file_is(out, trace)))
		status =
			sim_user_error(err, "%s: cannot write: is the model or the trace", out);
	if (!status)
		status = replaced_check(&replaced, out, &replaced_application, err);
	if (status)
		return status;
	model_name(file, name);
	status = lora_compute(&config, name, &args->options, &lora, err);
	if (!status)
		status = write_app(&app, out, err);
	if (!status)
		replaced_note(&replaced);
	return status ? status : print_trainer(&app, err);
}

static int run_lora(int argc, char **argv, struct sim_error *err)
{
	struct lora_args args = {
		.options = { LORA_RANK, LORA_MICRO_BATCH, LORA_ACCUMULATE, false, 0 },
		.trace = LORA_TRACE,
	};
	struct command_line line;
	int status =
		command_parse(&command_app_lora, argc, argv, take_option, &args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_app_lora, err);
	if (line.operand_count != 2)
		return command_mistake(&command_app_lora, err,
				       "%d names, expected a model and a file",
				       line.operand_count);
	return make_trainer(line.operands[0], line.operands[1], &args, err);
}
