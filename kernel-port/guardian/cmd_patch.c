// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cmd_patch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "patch.h"
#include "retarget.h"
#include "source.h"

static int run_patch(int argc, char **argv, struct sim_error *err);
static int run_stats(int argc, char **argv, struct sim_error *err);

/* clang-format off */
#define MODE_OPTIONS \
	{ "mode", "MODE", false, \
"how an address is confined:\n" \
"fence: mask and base, of every address (default)\n" \
"once: of the register alone; constant offsets stay, inside of a margin\n" \
"4g: as once, of the upper 32 bits; partitions of 4 GiB and more\n" \
"check: compare, and stop with a trap; partitions of any size\n" \
"modulo: wrap around in partitions of any size\n" \
"count: as fence; addresses that it changes are counted in gvmf_found" }, \
	{ "pass", "HOW", false, \
"where the bounds are:\n" \
"const: in constants of the module (default)\n" \
"params: in the last parameters of each kernel\n" \
"auto: const, or params where the module's constants leave no room" }, \
	{ "index", "HOW", false, \
"of a jump through a table: clamp (default), or modulo, as in the\n" \
"paper, which costs more instructions" }, \
	{ "margin", "BYTES", false, \
"the largest offset that stays, with once and 4g; 8388608 by default.\n" \
"As much has to lie empty at both ends of each partition." }

static const struct command_option patch_options[] = {
	{ "out", "FILE", false, "Write the patched module here, and not to standard output." },
	MODE_OPTIONS,
	{ "retarget", "ARCH", false,
"sm_70 or newer: the .target of PTX for newer GPUs becomes ARCH. ptxas or\n"
"the driver then decides whether it has instructions that ARCH has not;\n"
"nothing is promised. sm_100a and the like are refused." },
	{ "ptx-version", "X.Y", false,
"a newer .version becomes X.Y, for an older ptxas or driver; likewise" },
	{ NULL, NULL, false, NULL },
};

static const struct command_option stats_options[] = {
	MODE_OPTIONS,
	{ NULL, NULL, false, NULL },
};

const struct command command_patch = {
	.name = "gvmfence patch",
	.operands = "FILE",
	.summary = "confine the kernels of a PTX file to a partition of memory",
	.about =
"Puts instructions in front of each access of FILE that may reach device memory. They force the\n"
"address into a partition, whose bounds are set when the module is loaded. A file with a construct\n"
"that cannot be confined is refused, with its line. \"-\" is standard input.\n",
	.options = patch_options,
	.examples =
"    gvmfence patch saxpy.ptx --out fenced.ptx\n"
"    gvmfence patch saxpy.ptx --mode check --pass params\n"
"    gvmfence patch blackwell.ptx --retarget sm_90 --out fenced.ptx\n",
	.run = run_patch,
};

const struct command command_stats = {
	.name = "gvmfence stats",
	.operands = "FILE",
	.summary = "what a PTX file does to memory, by kernel, as JSON",
	.about =
"Prints for each kernel and function: accesses by state space and kind, those to variables of the\n"
"module, fenced ones, instructions inserted in front of them, jumps through tables, and each\n"
"construct for which gvmfence patch refuses the file. \"refused\" after the functions has those of\n"
"the module itself.\n",
	.options = stats_options,
	.examples = "    gvmfence stats saxpy.ptx --mode once\n",
	.run = run_stats,
};
/* clang-format on */

struct patch_args {
	const struct command *command;
	const char *out;
	struct patch_options options;
};

/* "sm_90": 90; 0: no architecture that a target may be lowered to. */
static u32 parse_target(const char *value)
{
	char *end;
	unsigned long number;

	if (strncmp(value, "sm_", 3) || value[3] < '1' || value[3] > '9')
		return 0;
	number = strtoul(value + 3, &end, 10);
	return *end || number < RETARGET_OLDEST || number > 999 ? 0 : (u32)number;
}

/* "8.4": 84; 0: no version of PTX that is read. */
static u32 parse_version(const char *value)
{
	u32 version;

	if (strlen(value) != 3 || value[0] < '1' || value[0] > '9' || value[1] != '.' ||
	    value[2] < '0' || value[2] > '9')
		return 0;
	version = (u32)(10 * (value[0] - '0') + value[2] - '0');
	return version > 10 * PTX_ISA_MAJOR + PTX_ISA_MINOR ? 0 : version;
}

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct patch_args *args = data;
	char *end;

	if (!strcmp(option, "out")) {
		args->out = value;
		return 0;
	}
	if (!strcmp(option, "margin")) {
		args->options.margin = strtoull(value, &end, 10);
		if (end == value || *end || args->options.margin < 256 ||
		    args->options.margin > PATCH_MARGIN_MAX || args->options.margin % 128)
			return command_bad_value(args->command, option, err,
						 "'%s' is no multiple of 128 from 256 to %llu",
						 value, PATCH_MARGIN_MAX);
		return 0;
	}
	if (!strcmp(option, "retarget")) {
		args->options.target = parse_target(value);
		return args->options.target ?
			       0 :
			       command_bad_value(args->command, option, err,
						 "'%s' is no architecture from sm_%u on, "
						 "such as sm_90",
						 value, RETARGET_OLDEST);
	}
	if (!strcmp(option, "ptx-version")) {
		args->options.version = parse_version(value);
		return args->options.version ?
			       0 :
			       command_bad_value(args->command, option, err,
						 "'%s' is no version of PTX up to %u.%u", value,
						 PTX_ISA_MAJOR, PTX_ISA_MINOR);
	}
	for (u32 i = 0; i < PATCH_MODES && !strcmp(option, "mode"); i++)
		if (!strcmp(value, patch_mode_names[i])) {
			args->options.mode = (enum patch_mode)i;
			return 0;
		}
	if (!strcmp(option, "pass") && !strcmp(value, "auto")) {
		args->options.pass = PATCH_CONST;
		args->options.full = PATCH_FULL_PARAMS;
		return 0;
	}
	for (u32 i = 0; i < 2 && !strcmp(option, "pass"); i++)
		if (!strcmp(value, patch_pass_names[i])) {
			args->options.pass = (enum patch_pass)i;
			args->options.full = PATCH_FULL_FAILS;
			return 0;
		}
	for (u32 i = 0; i < 2 && !strcmp(option, "index"); i++)
		if (!strcmp(value, patch_index_names[i])) {
			args->options.index = (enum patch_index)i;
			return 0;
		}
	return command_bad_value(args->command, option, err, "'%s' is not known; %s", value,
				 option[0] == 'i' ? "clamp or modulo" :
				 option[0] == 'm' ? "fence, once, 4g, check, modulo or count" :
						    "const, params or auto");
}

/* Read, parse and patch the operand. *ret_source and *ret_module are to be destroyed. */
static int patch_operand(const struct command_line *line, const struct patch_args *args,
			 struct source *ret_source, struct ptx_module *ret_module,
			 struct patch_result *ret_result, struct sim_error *err)
{
	int status;

	if (line->operand_count != 1)
		return command_mistake(args->command, err, "one file is wanted");
	status = source_read(line->operands[0], ret_source, err);
	if (status)
		return status;
	status = ptx_parse(&ret_source->text, ret_module, err);
	if (!status) {
		status = (args->command == &command_stats ? patch_count : patch_module)(
			ret_module, &args->options, ret_result, err);
		if (status)
			ptx_module_destroy(ret_module);
	}
	if (status)
		source_destroy(ret_source);
	return status;
}

/* What is refused in function number @function, or PTX_NO_FUNCTION. */
static void print_refusals(const struct patch_result *result, u32 function, const char *indent)
{
	bool any = false;

	printf("\"refused\": [");
	for (size_t i = 0; i < result->refusal_count; i++) {
		const struct patch_refusal *refusal = &result->refusals[i];

		if (refusal->function != function)
			continue;
		printf("%s\n%s  { \"line\": %u, \"why\": \"", any ? "," : "", indent,
		       refusal->line);
		for (const char *at = refusal->why; *at; at++)
			printf(*at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
		printf("\" }");
		any = true;
	}
	printf("%s%s]", any ? "\n" : "", any ? indent : "");
}

static void print_counts(const struct ptx_module *module, const struct patch_result *result)
{
	static const char *const spaces[ACCESS_SPACES] = { "generic", "global", "shared",
							   "local",   "const",	"param" };
	static const char *const kinds[ACCESS_KINDS] = { "loads", "stores", "atomics",
							 "hints" };
	const struct ptx_text *text = module->text;

	printf("{\n  \"functions\": [");
	for (size_t i = 0; i < module->function_count; i++) {
		const struct ptx_function *function = &module->functions[i];
		const struct patch_counts *counts = &result->functions[i];

		printf("%s\n    { \"name\": \"%.*s\", \"kernel\": %s,", i ? "," : "",
		       (int)text->tokens[function->name].length,
		       text->bytes + text->tokens[function->name].start,
		       function->entry ? "true" : "false");
		for (u32 space = 0; space < ACCESS_SPACES; space++) {
			printf("\n      \"%s\": {", spaces[space]);
			for (u32 kind = 0; kind < ACCESS_KINDS; kind++)
				printf("%s\"%s\": %u", kind ? ", " : " ", kinds[kind],
				       counts->accesses[space][kind]);
			printf(" },");
		}
		printf("\n      \"direct\": %u, \"fenced\": %u, \"inserted\": %u, \"tables\": "
		       "%u,\n      ",
		       counts->direct, counts->fenced, counts->instructions, counts->tables);
		print_refusals(result, (u32)i, "      ");
		printf(" }");
	}
	printf("\n  ],\n  ");
	print_refusals(result, PTX_NO_FUNCTION, "  ");
	printf("\n}\n");
}

static int run(const struct command *command, int argc, char **argv, struct sim_error *err)
{
	struct patch_args args = { .command = command, .options.margin = PATCH_MARGIN_DEFAULT };
	struct patch_result result;
	struct ptx_module module;
	struct command_line line;
	struct source source;
	int status = command_parse(command, argc, argv, take_option, &args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(command, err);
	status = patch_operand(&line, &args, &source, &module, &result, err);
	if (status)
		return status;
	if (command == &command_stats) {
		print_counts(&module, &result);
		status = command_flush(err);
	} else {
		status = source_write(args.out, result.bytes, result.size, err);
	}
	patch_result_destroy(&result);
	ptx_module_destroy(&module);
	source_destroy(&source);
	return status;
}

static int run_patch(int argc, char **argv, struct sim_error *err)
{
	return run(&command_patch, argc, argv, err);
}

static int run_stats(int argc, char **argv, struct sim_error *err)
{
	return run(&command_stats, argc, argv, err);
}
