// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_trace.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/replaced.h"
#include "engine/error.h"
#include "engine/whole_file.h"
#include "engine/types.h"
#include "trace/trace_file.h"
#include "trace/trace_info.h"
#include "trace/trace_read.h"

static const struct command_option import_options[] = {
	{ "skip-bad", NULL, false,
	  "count malformed rows and go on; without it, the first one\n"
	  "is an error that names its line" },
	{ "attribution", "TEXT", false,
	  "author and licence of the trace; by default those of the\n"
	  "public file, and none of other files" },
	{ "container", "NAME", false,
	  "of a results folder: the container whose requests are\n"
	  "imported, if several have some" },
	{ NULL, NULL, false, NULL },
};

static const struct command_option info_options[] = {
	{ "divide", "NUMBER", false,
	  "divide all times first, as a replay at NUMBER times the\nspeed does" },
	{ NULL, NULL, false, NULL },
};

static int run_import(int argc, char **argv, struct sim_error *err);
static int run_info(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command command_import = {
	.name = "gvmsim trace import",
	.operands = "IN OUT",
	.summary = "check a trace and write it in the compact form",
	.about =
"import checks every row of IN and writes OUT in the compact form. Rows with 0\n"
"response tokens are requests that failed when they were recorded: counted and left\n"
"out. So are requests of a measurement that have an error or no complete answer.\n",
	.options = import_options,
	.examples =
"  Import the first public file and keep going over damaged rows:\n"
"    gvmsim trace import BurstGPT_1.csv burstgpt1.trace --skip-bad\n"
"  Import the conversations of Mooncake, with the hashes of their prefixes:\n"
"    gvmsim trace import conversation_trace.jsonl mooncake.trace\n"
"  Import what \"vllm bench serve --save-result --save-detailed\" sent, and when:\n"
"    gvmsim trace import bench.json mine.trace\n"
"  Import the requests of a run, simulated or measured:\n"
"    gvmsim trace import results/hardware/requests.csv mine.trace --container vllm\n"
"  Import a trace of your own, with the columns Timestamp (seconds), Request tokens\n"
"  and Response tokens:\n"
"    gvmsim trace import mine.csv mine.trace --attribution \"J. Doe, CC0-1.0\"\n",
	.run = run_import,
};
/* clang-format on */

/* clang-format off */
static const struct command command_info = {
	.name = "gvmsim trace info",
	.operands = "FILE",
	.summary = "print counts, lengths and burstiness of a trace",
	.about =
"info prints counts, lengths in tokens, and how bursty the arrivals are (index of\n"
"dispersion: variance / mean of the requests per window, 1 for a Poisson process).\n",
	.options = info_options,
	.examples =
"  Look at the shipped trace as the GVM paper replayed it, in ten minutes:\n"
"    gvmsim trace info traces/burstgpt1_gvm3256.trace --divide 200\n",
	.run = run_info,
};
/* clang-format on */

static const struct command *const commands[] = { &command_import, &command_info, NULL };

/* clang-format off */
const struct command command_trace = {
	.name = "gvmsim trace",
	.operands = "import|info ...",
	.summary = "import request traces and look at them",
	.about =
"A trace says when each request arrived, how long its prompt was and how long its\n"
"response. Seven forms are read, told apart by their content:\n"
"\n"
"  BurstGPT CSV    the public files; columns Timestamp, Request tokens, Response\n"
"                  tokens and any others, in any order\n"
"  Azure CSV       the public files of 2023 and 2024; columns TIMESTAMP,\n"
"                  ContextTokens, GeneratedTokens\n"
"  Mooncake JSONL  the public files: an object a line with timestamp, input_length,\n"
"                  output_length and hash_ids, the hashes of its prefixes\n"
"  arrivals CSV    the requests that the GVM paper replayed; columns t_trace_s,\n"
"                  request_tokens, response_tokens_gvm_generated,\n"
"                  response_tokens_true_est\n"
"  vLLM's result   what \"vllm bench serve --save-result --save-detailed\" writes in\n"
"                  versions since January 2026: a JSON object with start_times,\n"
"                  input_lens, output_lens, ttfts, itls and errors\n"
"  requests.csv    of a results folder, which gvmsim and gvmcollect write; columns\n"
"                  container, kind, arrival_ns, prompt_tokens, output_tokens, outcome\n"
"  compact         the output of import: compressed, with a checksum\n"
"\n"
"Text can be compressed by zstd. Of vLLM's result and requests.csv, the first request\n"
"that was answered arrives at 0.\n",
	.commands = commands,
};
/* clang-format on */

/* A parsed command line. Strings are borrowed from argv. */
struct trace_args {
	const char *files[2];
	const char *attribution; /* NULL: that of the trace */
	const char *container;	 /* NULL: the only one */
	struct trace_divisor divisor;
	enum trace_bad_rows bad_rows;
};

static int read(const struct trace_args *args, struct trace *trace, struct sim_error *err)
{
	trace_init(trace);
	return trace_read_container(args->files[0], args->container, args->bad_rows, trace,
				    err);
}

static int attribute(struct trace *trace, const char *text, struct sim_error *err)
{
	size_t len = strlen(text);

	if (len >= sizeof(trace->attribution))
		return command_bad_value(&command_import, "attribution", err,
					 "%zu bytes, allowed are %zu", len,
					 sizeof(trace->attribution) - 1);
	memset(trace->attribution, 0, sizeof(trace->attribution));
	memcpy(trace->attribution, text, len);
	return 0;
}

/* The size in bytes; 0 if it is not known (a pipe). */
static s64 file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (s64)st.st_size;
}

static int store(const struct trace_args *args, struct trace *trace, struct sim_error *err)
{
	const char *in = args->files[0], *out = args->files[1];
	int status = 0;

	if (args->attribution)
		status = attribute(trace, args->attribution, err);
	if (!status)
		status = trace_write(out, trace, err);
	if (status)
		return status;
	printf("requests             %zu\n", trace->count);
	printf("failures skipped     %llu\n", trace->failures);
	printf("bad rows skipped     %llu\n", trace->bad_rows);
	if (trace->attribution[0])
		printf("attribution          %s\n", trace->attribution);
	if (trace->hash_tokens)
		printf("prefix hashes        %zu, of %u tokens\n", trace->hash_count,
		       trace->hash_tokens);
	printf("bytes                %lld in, %lld out\n", file_size(in), file_size(out));
	return command_flush(err);
}

static int import_trace(const struct trace_args *args, struct sim_error *err)
{
	struct replaced replaced;
	struct trace trace;
	int status;

	if (whole_file_is(args->files[0], args->files[1]))
		return sim_user_error(err, "%s: cannot write: is the file to import",
				      args->files[1]);
	status = replaced_check(&replaced, args->files[1], &replaced_trace, err);
	if (status)
		return status;
	status = read(args, &trace, err);
	if (!status)
		status = store(args, &trace, err);
	if (!status)
		replaced_note(&replaced);
	trace_destroy(&trace);
	return status;
}

static int print_info(const struct trace_args *args, struct sim_error *err)
{
	struct trace_info info;
	struct trace trace;
	int status;

	status = read(args, &trace, err);
	if (status)
		return status;
	status = trace_info_compute(&trace, args->divisor, &info, err);
	if (!status) {
		if (trace.attribution[0])
			printf("attribution          %s\n", trace.attribution);
		if (trace.hash_tokens)
			printf("prefix hashes        %zu, of %u tokens\n", trace.hash_count,
			       trace.hash_tokens);
		trace_info_print(stdout, &info);
		status = command_flush(err);
	}
	trace_destroy(&trace);
	return status;
}

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct trace_args *args = data;
	struct sim_error inner = { 0 };

	if (!strcmp(option, "skip-bad")) {
		args->bad_rows = TRACE_BAD_ROWS_SKIP;
	} else if (!strcmp(option, "attribution")) {
		args->attribution = value;
	} else if (!strcmp(option, "container")) {
		args->container = value;
	} else if (trace_divisor_parse(value, &args->divisor, &inner)) {
		return command_bad_value(&command_info, option, err, "%s", inner.text);
	}
	return 0;
}

/* Parse the line of @command, which has @files operands, and @use it. */
static int run(const struct command *command, int files, int argc, char **argv,
	       int (*use)(const struct trace_args *args, struct sim_error *err),
	       struct sim_error *err)
{
	struct trace_args args = { .divisor = { 1, 1 } };
	struct command_line line;
	int status = command_parse(command, argc, argv, take_option, &args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(command, err);
	if (line.operand_count != files)
		return command_mistake(command, err, "%d file names, expected %d",
				       line.operand_count, files);
	for (int i = 0; i < files; i++)
		args.files[i] = line.operands[i];
	return use(&args, err);
}

static int run_import(int argc, char **argv, struct sim_error *err)
{
	return run(&command_import, 2, argc, argv, import_trace, err);
}

static int run_info(int argc, char **argv, struct sim_error *err)
{
	return run(&command_info, 1, argc, argv, print_info, err);
}
