// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_validate.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_validate_results.h"
#include "terminal/table.h"
#include "machine/machine.h"
#include "validate/hardware.h"

/* What counts as good: of all rows, and of each. */
#define GOOD_MEDIAN   0.15
#define GOOD_WORST    0.40

#define OVERRIDES_MAX 64

static const char validate_help[] =
	"Usage: gvmsim validate hardware [FILE] [--gpu PROFILE] [--set PATH=VALUE]...\n"
	"       gvmsim validate results MEASURED PREDICTED    (has a --help of its own)\n"
	"\n"
	"Runs the loops that were measured on a real GPU over a simulated one with NVIDIA's "
	"driver,\n"
	"and prints for each what was measured, what is predicted, and the error, which is\n"
	"max(predicted / measured, measured / predicted) - 1. Of what was measured several "
	"times,\n"
	"the geometric mean counts. The last line has the median and the worst error.\n"
	"\n"
	"Exit status: 0 if the median is 15 % or less, no error is above 40 %, and a thread "
	"that\n"
	"walks through memory faults at exactly the pages where it did; else 1.\n"
	"\n"
	"  FILE             measurements, by default those of an H100; next to them\n"
	"                   (plots/reference/hardware) is the program that makes such a file\n"
	"  --gpu PROFILE    the GPU that was measured, by default h100-80g\n"
	"  --set PATH=VALUE change a constant of the GPU: what depends on it?\n"
	"\n"
	"Examples:\n"
	"  How well is an H100 predicted?\n"
	"    gvmsim validate hardware\n"
	"  What if servicing a block took half as long?\n"
	"    gvmsim validate hardware --set gpu.fault.block=7us\n";

/* A parsed command line. Strings are borrowed from argv. */
struct validate_args {
	const char *file;			      /* NULL: ours */
	char profile[CFG_NAME_MAX + 16];	      /* as an override */
	struct cfg_override overrides[OVERRIDES_MAX]; /* the profile first */
	size_t override_count;
	bool help;
};

static int validate_option(struct validate_args *args, int option, const char *word,
			   struct sim_error *err)
{
	switch (option) {
	case 's':
		if (args->override_count == OVERRIDES_MAX)
			return sim_user_error(err, "more than %d times --set", OVERRIDES_MAX);
		args->overrides[args->override_count++].path_and_value = optarg;
		return 0;
	case 'g':
		snprintf(args->profile, sizeof(args->profile), "gpu.profile=%s", optarg);
		return 0;
	case 'h':
		args->help = true;
		return 0;
	case ':':
		return sim_user_error(err, "%s: a value is missing", word);
	default:
		return sim_user_error(
			err, "%s: unknown option, allowed are --gpu, --set, --help", word);
	}
}

static int validate_parse(int argc, char **argv, struct validate_args *args,
			  struct sim_error *err)
{
	static const struct option options[] = {
		{ "set", required_argument, NULL, 's' },
		{ "gpu", required_argument, NULL, 'g' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option, rc = 0;

	*args = (struct validate_args){ .profile = "gpu.profile=h100-80g" };
	args->overrides[args->override_count++].path_and_value = args->profile;
	optind = 0;
	opterr = 0;
	while (!rc && (option = getopt_long(argc, argv, ":h", options, NULL)) != -1)
		rc = validate_option(args, option, argv[optind - 1], err);
	if (rc || args->help)
		return rc;
	if (optind == argc)
		return sim_user_error(
			err,
			"validate: what to compare is missing, allowed: hardware, results");
	if (!strcmp(argv[optind], "results"))
		return sim_user_error(err, "validate: results takes no options, usage: gvmsim "
					   "validate results MEASURED PREDICTED");
	if (strcmp(argv[optind], "hardware") != 0)
		return sim_user_error(err, "validate: unknown '%s', allowed: hardware, results",
				      argv[optind]);
	if (argc - optind > 2)
		return sim_user_error(err, "validate: unexpected '%s'", argv[optind + 2]);
	args->file = argv[optind + 1];
	return 0;
}

static int compare_errors(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print_row(struct table *table, const struct hw_rows *rows, const struct hw_row *row)
{
	double unit = hw_is_share(row) ? 1 : 1e3;
	int digits = hw_is_share(row) ? 3 : 1;
	char label[TABLE_CELL_MAX];

	hw_label(rows, row, label, sizeof(label));
	table_add(table);
	table_set(table, 0, "%s", label);
	table_set(table, 1, "%.*f", digits, row->measured / unit);
	table_set(table, 2, "%.*f", digits, row->predicted / unit);
	table_set(table, 3, "%.1f %%", 100 * hw_error(row));
}

static void print_rows(const struct hw_rows *rows)
{
	struct table table = { 0 };

	table_add(&table);
	table_set(&table, 0, "times in us, speeds as shares");
	table_set(&table, 1, "measured");
	table_set(&table, 2, "predicted");
	table_set(&table, 3, "error");
	for (size_t i = 0; i < rows->count; i++)
		print_row(&table, rows, &rows->rows[i]);
	table_print(&table, stdout);
	table_destroy(&table);
}

/* "0 1 2 4 8 16" */
static void print_accesses(const char *label, uint64_t mask)
{
	printf("%s", label);
	for (; mask; mask &= mask - 1)
		printf(" %d", __builtin_ctzll(mask));
	putchar('\n');
}

/* The verdict. True: good enough. */
static bool print_verdict(const struct hw_rows *rows)
{
	double *errors = calloc(rows->count, sizeof(*errors));
	double median, worst;

	if (!errors)
		return false;
	for (size_t i = 0; i < rows->count; i++)
		errors[i] = hw_error(&rows->rows[i]);
	qsort(errors, rows->count, sizeof(*errors), compare_errors);
	median = (errors[(rows->count - 1) / 2] + errors[rows->count / 2]) / 2;
	worst = errors[rows->count - 1];
	free(errors);
	printf("median error %.1f %%, worst %.1f %% of %zu measurements\n", 100 * median,
	       100 * worst, rows->count);
	return median <= GOOD_MEDIAN && worst <= GOOD_WORST;
}

static int validate_print(const struct hw_rows *rows, struct sim_error *err)
{
	bool walk = rows->walk_missed == rows->walk_predicted;

	print_rows(rows);
	if (rows->walk_length) {
		print_accesses("\nwalk, accesses that fault, measured: ", rows->walk_missed);
		print_accesses("walk, accesses that fault, predicted:", rows->walk_predicted);
	}
	if (rows->others)
		printf("rows that say nothing about time, not compared: %zu\n", rows->others);
	putchar('\n');
	if (print_verdict(rows) && walk)
		return 0;
	return sim_runtime_error(err,
				 "validate: not good enough: allowed are %.0f %% and %.0f %%%s",
				 100 * GOOD_MEDIAN, 100 * GOOD_WORST,
				 walk ? "" : ", and the same accesses that fault");
}

static int validate_hardware(const struct validate_args *args, struct sim_error *err)
{
	struct config config;
	struct hw_rows rows;
	char file[PATH_MAX];
	int rc;

	if (args->file)
		snprintf(file, sizeof(file), "%s", args->file);
	else if ((rc = config_find_data("plots", "reference/hardware/h100-580.txt", file,
					sizeof(file), err)))
		return rc;
	/* Its applications do not run: of the scenario, only the machine counts. */
	rc = config_load(&machine_registry, "vllm-diffusion-80g", args->overrides,
			 args->override_count, &config, err);
	if (rc)
		return rc;
	rc = hw_load(file, &rows, err);
	if (!rc) {
		rc = hw_predict(&config, &rows, err);
		if (!rc)
			rc = validate_print(&rows, err);
		hw_destroy(&rows);
	}
	config_destroy(&config);
	return rc;
}

int cmd_validate(int argc, char **argv)
{
	struct sim_error err = { 0 };
	struct validate_args args;
	int rc;

	if (argc > 1 && !strcmp(argv[1], "results"))
		return cmd_validate_results(argc - 1, argv + 1);
	rc = validate_parse(argc, argv, &args, &err);

	if (!rc && args.help)
		fputs(validate_help, stdout);
	else if (!rc)
		rc = validate_hardware(&args, &err);
	if ((fflush(stdout) || ferror(stdout)) && !rc)
		rc = sim_runtime_error(&err, "standard output: cannot write");
	if (rc)
		fprintf(stderr, "gvmsim: %s\n", err.text);
	return -rc;
}
