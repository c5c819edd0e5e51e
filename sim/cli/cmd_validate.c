// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_validate.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_validate_published.h"
#include "cli/cmd_validate_results.h"
#include "config/load.h"
#include "config/paths.h"
#include "machine/machine.h"
#include "terminal/table.h"
#include "validate/hardware.h"

/* The errors of a good prediction: the median of all rows, and each row. */
#define GOOD_MEDIAN   0.15
#define GOOD_WORST    0.40

#define OVERRIDES_MAX 64

static int run_hardware(int argc, char **argv, struct sim_error *err);

static const struct command_option options[] = {
	{ "gpu", "PROFILE", false, "the GPU that was measured, by default h100-80g" },
	{ "set", "PATH=VALUE", true, "change a constant of the GPU: what depends on it?" },
	{ NULL, NULL, false, NULL },
};

static const struct command command_hardware = {
	.name = "gvmsim validate hardware",
	.operands = "[FILE]",
	.summary = "the times of a real GPU beside those of the simulated one",
	.about = "Runs the loops that were measured on a real GPU over a simulated one with "
		 "NVIDIA's\n"
		 "driver, and prints for each the measured time, the predicted one, and the "
		 "error,\n"
		 "which is max(predicted / measured, measured / predicted) - 1. Of a loop that "
		 "was\n"
		 "measured several times, the geometric mean counts. The last line has the "
		 "median and\n"
		 "the worst error. FILE has the measurements, by default those of an H100; "
		 "next to\n"
		 "them (plots/reference/hardware) is the program that makes such a file.\n",
	.options = options,
	.more = "Exit status: 0 if the median is 15 % or less, no error is above 40 %, and a "
		"thread\n"
		"that walks through memory faults at exactly the measured pages; else 1.\n",
	.examples = "  How well is an H100 predicted?\n"
		    "    gvmsim validate hardware\n"
		    "  What if servicing a block took half as long?\n"
		    "    gvmsim validate hardware --set gpu.fault.block=7us\n",
	.run = run_hardware,
};

static const struct command *const commands[] = { &command_hardware,
						  &command_validate_published,
						  &command_validate_results, NULL };

const struct command command_validate = {
	.name = "gvmsim validate",
	.operands = "hardware|published|results ...",
	.summary = "the simulator held against measurements",
	.about = "Holds the simulator against measurements.\n",
	.commands = commands,
};

/* A parsed command line. Strings are borrowed from argv. */
struct validate_args {
	const char *file;			      /* NULL: ours */
	char profile[CFG_NAME_MAX + 16];	      /* as an override */
	struct cfg_override overrides[OVERRIDES_MAX]; /* the profile first */
	size_t override_count;
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct validate_args *args = data;

	if (!strcmp(option, "gpu")) {
		snprintf(args->profile, sizeof(args->profile), "gpu.profile=%s", value);
		return 0;
	}
	if (args->override_count == OVERRIDES_MAX)
		return command_bad_value(&command_hardware, option, err,
					 "is given more than %d times", OVERRIDES_MAX - 1);
	args->overrides[args->override_count++].path_and_value = value;
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
}

/* "0 1 2 4 8 16" */
static void print_accesses(const char *label, u64 mask)
{
	printf("%s", label);
	for (; mask; mask &= mask - 1)
		printf(" %d", __builtin_ctzll(mask));
	putchar('\n');
}

/* Print the median and the worst error, and judge them and the walk. Returns 0: good enough. */
static int print_verdict(const struct hw_rows *rows, struct sim_error *err)
{
	double *errors = calloc(rows->count, sizeof(*errors));
	bool walk = rows->walk_missed == rows->walk_predicted;
	double median, worst;

	if (!errors)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < rows->count; i++)
		errors[i] = hw_error(&rows->rows[i]);
	qsort(errors, rows->count, sizeof(*errors), compare_errors);
	median = (errors[(rows->count - 1) / 2] + errors[rows->count / 2]) / 2;
	worst = errors[rows->count - 1];
	free(errors);
	printf("median error %.1f %%, worst %.1f %% of %zu measurements\n", 100 * median,
	       100 * worst, rows->count);
	if (median <= GOOD_MEDIAN && worst <= GOOD_WORST && walk)
		return 0;
	return sim_runtime_error(err,
				 "validate: not good enough: allowed are %.0f %% and %.0f %%%s",
				 100 * GOOD_MEDIAN, 100 * GOOD_WORST,
				 walk ? "" : ", and the same accesses that fault");
}

static int validate_print(const struct hw_rows *rows, struct sim_error *err)
{
	print_rows(rows);
	if (rows->walk_length) {
		print_accesses("\nwalk, accesses that fault, measured: ", rows->walk_missed);
		print_accesses("walk, accesses that fault, predicted:", rows->walk_predicted);
	}
	if (rows->others)
		printf("rows that say nothing about time, not compared: %zu\n", rows->others);
	putchar('\n');
	return print_verdict(rows, err);
}

static int validate_hardware(const struct validate_args *args, struct sim_error *err)
{
	struct config config;
	struct hw_rows rows;
	char file[PATH_MAX];
	int status;

	if (args->file)
		snprintf(file, sizeof(file), "%s", args->file);
	else if ((status = config_find_data("plots", "reference/hardware/h100-580.txt", file,
					    sizeof(file), err)))
		return status;
	/* Its applications do not run: of the scenario, only the machine counts. */
	status = config_load(&machine_registry, "vllm-diffusion-80g", args->overrides,
			     args->override_count, &config, err);
	if (status)
		return status;
	status = hw_load(file, &rows, err);
	if (!status) {
		status = hw_predict(&config, &rows, err);
		if (!status)
			status = validate_print(&rows, err);
		hw_destroy(&rows);
	}
	config_destroy(&config);
	return status;
}

static int run_hardware(int argc, char **argv, struct sim_error *err)
{
	struct validate_args args = { .profile = "gpu.profile=h100-80g" };
	struct command_line line;
	int status;

	args.overrides[args.override_count++].path_and_value = args.profile;
	status = command_parse(&command_hardware, argc, argv, take_option, &args, &line, err);
	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_hardware, err);
	if (line.operand_count > 1)
		return command_mistake(&command_hardware, err, "%d files, expected 1 at most",
				       line.operand_count);
	args.file = line.operand_count ? line.operands[0] : NULL;
	status = validate_hardware(&args, err);
	return status ? status : command_flush(err);
}
