// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_trace.h"

#include "engine/error.h"
#include "trace/trace.h"
#include "trace/trace_info.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char cmd_trace_help[] =
	"Usage: gvmsim trace import IN OUT [--skip-bad] [--attribution TEXT]\n"
	"       gvmsim trace info FILE [--divide NUMBER]\n"
	"\n"
	"A trace says when each request arrived, how long its prompt was and how long its\n"
	"response. Three forms are read, told apart by their content:\n"
	"\n"
	"  BurstGPT CSV    the public files; columns Timestamp, Request tokens, Response "
	"tokens\n"
	"                  and any others, in any order\n"
	"  arrivals CSV    the requests that the GVM paper replayed; columns t_trace_s,\n"
	"                  request_tokens, response_tokens_gvm_generated,\n"
	"                  response_tokens_true_est\n"
	"  compact         what import writes: compressed, with a checksum\n"
	"\n"
	"import checks every row of IN and writes OUT in the compact form. Rows with 0 "
	"response\n"
	"tokens are requests that failed when they were recorded: counted and left out.\n"
	"\n"
	"  --skip-bad          count malformed rows and go on; without it, the first one is "
	"an\n"
	"                      error that names its line\n"
	"  --attribution TEXT  who made the trace and under which licence; by default what is\n"
	"                      known of the form\n"
	"\n"
	"info prints counts, lengths in tokens, and how bursty the arrivals are (index of\n"
	"dispersion: variance / mean of the requests per window, 1 for a Poisson process).\n"
	"\n"
	"  --divide NUMBER     divide all times first, as a replay at NUMBER times the speed "
	"does\n"
	"\n"
	"Examples:\n"
	"  Import the first public file and keep going over damaged rows:\n"
	"    gvmsim trace import BurstGPT_1.csv burstgpt1.trace --skip-bad\n"
	"  Look at the shipped trace as the GVM paper replayed it, in ten minutes:\n"
	"    gvmsim trace info traces/burstgpt1_gvm3256.trace --divide 198.9\n"
	"  Import a trace of your own:\n"
	"    gvmsim trace import mine.csv mine.trace --attribution \"J. Doe, CC0-1.0\"\n";

/* A parsed command line. Strings are borrowed from argv. */
struct cmd_trace_args {
	const char *files[2];
	const char *attribution; /* NULL: whatever the trace brings */
	struct trace_divisor divisor;
	enum trace_bad_rows bad_rows;
	bool help;
};

/* One word after "trace". */
struct cmd_trace_verb {
	const char *name;
	const char *usage;
	int files; /* how many it takes */
	const struct option *options;
	int (*run)(const struct cmd_trace_args *args, struct sim_error *err);
};

static int cmd_trace_read(const char *path, enum trace_bad_rows bad_rows, struct trace *trace,
			  struct sim_error *err)
{
	trace_init(trace);
	return trace_read(path, bad_rows, trace, err);
}

/* Results that did not reach the user are a failure, even if all was computed. */
static int cmd_trace_flush(struct sim_error *err)
{
	if (fflush(stdout) || ferror(stdout))
		return sim_runtime_error(err, "standard output: cannot write: %s",
					 strerror(errno));
	return 0;
}

static int cmd_trace_attribute(struct trace *trace, const char *text, struct sim_error *err)
{
	size_t len = strlen(text);

	if (len >= sizeof(trace->attribution))
		return sim_user_error(err,
				      "trace import: --attribution: %zu bytes, allowed are %zu",
				      len, sizeof(trace->attribution) - 1);
	memset(trace->attribution, 0, sizeof(trace->attribution));
	memcpy(trace->attribution, text, len);
	return 0;
}

/* Would writing @out overwrite what was read from @in? */
static bool cmd_trace_same_file(const char *in, const char *out)
{
	struct stat a, b;

	return !stat(in, &a) && !stat(out, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* In bytes, 0 if unknown (a pipe). */
static int64_t cmd_trace_file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (int64_t)st.st_size;
}

static int cmd_trace_store(const struct cmd_trace_args *args, struct trace *trace,
			   struct sim_error *err)
{
	const char *in = args->files[0], *out = args->files[1];
	int ret = 0;

	if (args->attribution)
		ret = cmd_trace_attribute(trace, args->attribution, err);
	if (!ret)
		ret = trace_write(out, trace, err);
	if (ret)
		return ret;
	printf("requests             %zu\n", trace->count);
	printf("failures skipped     %" PRIu64 "\n", trace->failures);
	printf("bad rows skipped     %" PRIu64 "\n", trace->bad_rows);
	printf("attribution          %s\n", trace->attribution);
	printf("bytes                %" PRId64 " in, %" PRId64 " out\n",
	       cmd_trace_file_size(in), cmd_trace_file_size(out));
	return cmd_trace_flush(err);
}

static int cmd_trace_import(const struct cmd_trace_args *args, struct sim_error *err)
{
	struct trace trace;
	int ret;

	if (cmd_trace_same_file(args->files[0], args->files[1]))
		return sim_user_error(err, "%s: cannot write: is the file to import",
				      args->files[1]);
	ret = cmd_trace_read(args->files[0], args->bad_rows, &trace, err);
	if (!ret)
		ret = cmd_trace_store(args, &trace, err);
	trace_destroy(&trace);
	return ret;
}

static int cmd_trace_info(const struct cmd_trace_args *args, struct sim_error *err)
{
	struct trace_info info;
	struct trace trace;
	int ret;

	ret = cmd_trace_read(args->files[0], args->bad_rows, &trace, err);
	if (ret)
		return ret;
	ret = trace_info_compute(&trace, args->divisor, &info, err);
	if (!ret) {
		if (trace.attribution[0])
			printf("attribution          %s\n", trace.attribution);
		trace_info_print(stdout, &info);
		ret = cmd_trace_flush(err);
	}
	trace_destroy(&trace);
	return ret;
}

/* Numbered above all characters, so that getopt's optopt tells short options from long ones. */
enum cmd_trace_option {
	CMD_TRACE_SKIP_BAD = 256,
	CMD_TRACE_ATTRIBUTION,
	CMD_TRACE_DIVIDE,
};

static const struct option cmd_trace_import_options[] = {
	{ "skip-bad", no_argument, NULL, CMD_TRACE_SKIP_BAD },
	{ "attribution", required_argument, NULL, CMD_TRACE_ATTRIBUTION },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const struct option cmd_trace_info_options[] = {
	{ "divide", required_argument, NULL, CMD_TRACE_DIVIDE },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const struct cmd_trace_verb cmd_trace_verbs[] = {
	{
		.name = "import",
		.usage = "trace import IN OUT [--skip-bad] [--attribution TEXT]",
		.files = 2,
		.options = cmd_trace_import_options,
		.run = cmd_trace_import,
	},
	{
		.name = "info",
		.usage = "trace info FILE [--divide NUMBER]",
		.files = 1,
		.options = cmd_trace_info_options,
		.run = cmd_trace_info,
	},
};

/* @word is where getopt stands; it has not passed a word of several short options. */
static int cmd_trace_bad_option(const struct cmd_trace_verb *verb, int kind, const char *word,
				struct sim_error *err)
{
	const char letter[] = { '-', (char)optopt, '\0' };

	if (optopt && optopt < CMD_TRACE_SKIP_BAD)
		word = letter;
	return sim_user_error(err, "trace %s: option '%s' %s, usage: gvmsim %s", verb->name,
			      word, kind == ':' ? "needs a value" : "is not valid here",
			      verb->usage);
}

static int cmd_trace_divide(const char *text, struct trace_divisor *divisor,
			    struct sim_error *err)
{
	struct sim_error inner = { 0 };

	if (!trace_divisor_parse(text, divisor, &inner))
		return 0;
	return sim_user_error(err, "trace info: option '--divide': %s", inner.text);
}

/* Take one option. */
static int cmd_trace_option(const struct cmd_trace_verb *verb, int option, const char *word,
			    struct cmd_trace_args *args, struct sim_error *err)
{
	switch (option) {
	case CMD_TRACE_SKIP_BAD:
		args->bad_rows = TRACE_BAD_ROWS_SKIP;
		return 0;
	case CMD_TRACE_ATTRIBUTION:
		args->attribution = optarg;
		return 0;
	case CMD_TRACE_DIVIDE:
		return cmd_trace_divide(optarg, &args->divisor, err);
	case 'h':
		args->help = true;
		return 0;
	default:
		return cmd_trace_bad_option(verb, option, word, err);
	}
}

/* @argv[0] is the verb. */
static int cmd_trace_parse(const struct cmd_trace_verb *verb, int argc, char **argv,
			   struct cmd_trace_args *args, struct sim_error *err)
{
	int option, ret;

	optind = 0; /* glibc: start afresh, also with what getopt remembers in secret */
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", verb->options, NULL)) != -1) {
		ret = cmd_trace_option(verb, option, argv[optind - 1], args, err);
		if (ret || args->help)
			return ret;
	}
	if (argc - optind != verb->files)
		return sim_user_error(err,
				      "trace %s: %d file names, expected %d, usage: gvmsim %s",
				      verb->name, argc - optind, verb->files, verb->usage);
	for (int i = 0; i < verb->files; i++)
		args->files[i] = argv[optind + i];
	return 0;
}

static int cmd_trace_print_help(struct sim_error *err)
{
	fputs(cmd_trace_help, stdout);
	return cmd_trace_flush(err);
}

static int cmd_trace_run_verb(const struct cmd_trace_verb *verb, int argc, char **argv,
			      struct sim_error *err)
{
	struct cmd_trace_args args = { .divisor = { 1, 1 } };
	int ret;

	ret = cmd_trace_parse(verb, argc, argv, &args, err);
	if (ret)
		return ret;
	if (args.help)
		return cmd_trace_print_help(err);
	return verb->run(&args, err);
}

static int cmd_trace_dispatch(int argc, char **argv, struct sim_error *err)
{
	if (argc < 2)
		return sim_user_error(err, "trace: what to do is missing, allowed are import, "
					   "info and --help");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return cmd_trace_print_help(err);
	for (size_t i = 0; i < sizeof(cmd_trace_verbs) / sizeof(cmd_trace_verbs[0]); i++)
		if (!strcmp(argv[1], cmd_trace_verbs[i].name))
			return cmd_trace_run_verb(&cmd_trace_verbs[i], argc - 1, argv + 1, err);
	return sim_user_error(
		err, "trace: unknown word '%s', allowed are import, info and --help", argv[1]);
}

int cmd_trace(int argc, char **argv)
{
	struct sim_error err = { 0 };
	int ret;

	ret = cmd_trace_dispatch(argc, argv, &err);
	if (ret)
		fprintf(stderr, "gvmsim: %s\n", err.text);
	return -ret;
}
