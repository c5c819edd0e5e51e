// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_validate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd_validate_published.h"
#include "cli/cmd_validate_results.h"
#include "config/load.h"
#include "config/paths.h"
#include "gvm/port.h"
#include "machine/machine.h"
#include "terminal/table.h"
#include "validate/hardware.h"

/*
 * The errors of a good prediction: the median of all rows, and each row but those of the walk,
 * which has one sample of each access: a thread that is put off for a moment adds 0.4 ms to one
 * of them.
 */
#define GOOD_MEDIAN 0.05
#define GOOD_WORST  0.40

/*
 * The GPUs that were measured. On the H200, populating memory in random order and in order
 * differ by more than on the H100, and the model's order of faults lies between
 * (DEVIATIONS.md).
 */
static const struct measured_gpu {
	const char *profile, *file;
	double worst; /* of a good prediction */
} measured_gpus[] = {
	{ "h100-80g", "h100-580.txt", GOOD_WORST },
	{ "h200-141g", "h200-580.txt", 0.75 },
};

/* Fences in the order of the table. */
static const enum gvm_fence_mode fence_columns[] = {
	GVM_FENCE_MASK,	 GVM_FENCE_ONCE,  GVM_FENCE_4G,
	GVM_FENCE_CHECK, GVM_FENCE_COUNT, GVM_FENCE_MODULO,
};

#define OVERRIDES_MAX 64

static int run_hardware(int argc, char **argv, struct sim_error *err);

static const struct command_option options[] = {
	{ "gpu", "PROFILE", false, "the GPU that was measured; of FILE, by default h100-80g" },
	{ "set", "PATH=VALUE", true, "change a constant of the GPU: what depends on it?" },
	{ NULL, NULL, false, NULL },
};

/* clang-format off */
static const struct command command_hardware = {
	.name = "gvmsim validate hardware",
	.operands = "[FILE]",
	.summary = "the times of a real GPU beside the simulated ones",
	.about =
"Runs the loops that were measured on a real GPU over a simulated one with NVIDIA's\n"
"driver, and prints for each the measured time, the predicted one, and the error,\n"
"which is max(predicted / measured, measured / predicted) - 1. Of a loop that was\n"
"measured several times, the geometric mean counts. The last line has the median and\n"
"the worst error. FILE has the measurements. Without one, they are ours of the GPU that\n"
"--gpu names, or of an H100 and an H200, one after the other; next to them\n"
"(plots/reference/hardware) is the program that makes such a file. Of the H200 there\n"
"are fences in software, too: how much longer they make kernels and a program, beside\n"
"the formula of system guardian with the cycles of the GPU, gpu.cycles.\n",
	.options = options,
	.more =
"Exit status: 0 if the median is 5 % or less, no error is above 40 % (75 % on the H200;\n"
"accesses of the walk do not count, each is one sample), and a thread that walks through\n"
"memory faults at exactly the measured pages; else 1. Fences do not count.\n",
	.examples =
"  How well are an H100 and an H200 predicted?\n"
"    gvmsim validate hardware\n"
"  What if servicing a block took half as long?\n"
"    gvmsim validate hardware --set gpu.fault.block=7us\n",
	.run = run_hardware,
};
/* clang-format on */

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
	const char *gpu;			      /* NULL: not said */
	double worst;				      /* of a good prediction */
	char profile[CFG_NAME_MAX + 16];	      /* as an override */
	struct cfg_override overrides[OVERRIDES_MAX]; /* the profile first */
	size_t override_count;
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct validate_args *args = data;

	if (!strcmp(option, "gpu")) {
		args->gpu = value;
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

/* The median of @count errors, which it sorts. */
static double errors_median(double *errors, size_t count)
{
	qsort(errors, count, sizeof(*errors), compare_errors);
	return (errors[(count - 1) / 2] + errors[count / 2]) / 2;
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

/* "84.4 / 1.4", in percent. */
static void set_growth(struct table *table, size_t column, double measured, double predicted)
{
	table_set(table, column, "%.1f / %.1f", 100 * measured, 100 * predicted);
}

/* The means of the modes that all rows of @group have. */
static void print_mean(struct table *table, const struct hw_rows *rows, const char *group)
{
	table_add(table);
	table_set(table, 0, "mean of all %ss", group);
	for (size_t column = 0; column < ARRAY_SIZE(fence_columns); column++) {
		enum gvm_fence_mode mode = fence_columns[column];
		double measured = 0, predicted = 0;
		size_t count = 0, known = 0;

		for (size_t i = 0; i < rows->fence_count; i++) {
			if (strcmp(rows->fences[i].group, group) != 0)
				continue;
			count++;
			known += rows->fences[i].known[mode];
			measured += rows->fences[i].measured[mode];
			predicted += rows->fences[i].predicted[mode];
		}
		if (known && known == count)
			set_growth(table, 1 + column, measured / (double)count,
				   predicted / (double)count);
	}
}

static void print_fence_table(const struct hw_rows *rows)
{
	struct table table = { 0 };

	table_add(&table);
	table_set(&table, 0, "longer by a fence, %%");
	for (size_t column = 0; column < ARRAY_SIZE(fence_columns); column++)
		table_set(&table, 1 + column, "%s", gvm_fence_mode_name(fence_columns[column]));
	for (size_t i = 0; i < rows->fence_count; i++) {
		const struct hw_fence *fence = &rows->fences[i];

		table_add(&table);
		table_set(&table, 0, "%.20s %.40s", fence->group, fence->name);
		for (size_t column = 0; column < ARRAY_SIZE(fence_columns); column++) {
			enum gvm_fence_mode mode = fence_columns[column];

			if (fence->known[mode])
				set_growth(&table, 1 + column, fence->measured[mode],
					   fence->predicted[mode]);
		}
	}
	print_mean(&table, rows, "kernel");
	table_print(&table, stdout);
}

/*
 * Fences have no verdict. Chains of loads do not count: their cycles are the GPU's constants.
 * Returns 0 or a negative enum sim_exit.
 */
static int print_fences(const struct hw_rows *rows, struct sim_error *err)
{
	double *errors = calloc(rows->fence_count * GVM_FENCE_MODES, sizeof(*errors));
	double worst = 0;
	size_t count = 0;

	if (!errors)
		return sim_runtime_error(err, "out of memory");
	puts("\nmeasured / predicted by the formula of system guardian:");
	print_fence_table(rows);
	for (size_t i = 0; i < rows->fence_count; i++) {
		const struct hw_fence *fence = &rows->fences[i];

		for (enum gvm_fence_mode mode = 0; mode < GVM_FENCE_MODES; mode++) {
			if (!fence->known[mode] || !strcmp(fence->group, "chain"))
				continue;
			errors[count] = hw_fence_error(fence, mode);
			worst = fmax(worst, errors[count++]);
		}
	}
	if (count)
		printf("fences: median error of times %.1f %%, worst %.1f %% of %zu "
		       "measurements, without a bound\n",
		       100 * errors_median(errors, count), 100 * worst, count);
	free(errors);
	return 0;
}

/* Print the median and the worst error, and judge them and the walk. Returns 0: good enough. */
static int print_verdict(const struct hw_rows *rows, double good_worst, struct sim_error *err)
{
	double *errors = calloc(rows->count, sizeof(*errors));
	bool walk = rows->walk_missed == rows->walk_predicted;
	double median, worst = 0;

	if (!errors)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < rows->count; i++) {
		errors[i] = hw_error(&rows->rows[i]);
		if (rows->rows[i].loop != HW_WALK)
			worst = fmax(worst, errors[i]);
	}
	median = errors_median(errors, rows->count);
	free(errors);
	printf("median error %.1f %%, worst %.1f %% of %zu measurements\n", 100 * median,
	       100 * worst, rows->count);
	if (median <= GOOD_MEDIAN && worst <= good_worst && walk)
		return 0;
	return sim_runtime_error(err,
				 "validate: not good enough: allowed are %.0f %% and %.0f %%%s",
				 100 * GOOD_MEDIAN, 100 * good_worst,
				 walk ? "" : ", and the same accesses that fault");
}

static int validate_print(const struct hw_rows *rows, double good_worst, struct sim_error *err)
{
	int status = 0;

	if (rows->count)
		print_rows(rows);
	if (rows->walk_length) {
		print_accesses("\nwalk, accesses that fault, measured: ", rows->walk_missed);
		print_accesses("walk, accesses that fault, predicted:", rows->walk_predicted);
	}
	if (rows->others)
		printf("rows that say nothing about time, not compared: %zu\n", rows->others);
	if (rows->fence_count)
		status = print_fences(rows, err);
	if (status || !rows->count)
		return status;
	putchar('\n');
	return print_verdict(rows, good_worst, err);
}

/* One file of measurements on one GPU. The one simulation of this process. */
static int validate_file(struct validate_args *args, struct sim_error *err)
{
	struct config config;
	struct hw_rows rows;
	int status;

	snprintf(args->profile, sizeof(args->profile), "gpu.profile=%s", args->gpu);
	/* Its applications do not run: of the scenario, only the machine counts. */
	status = config_load(&machine_registry, "vllm-diffusion-80g", args->overrides,
			     args->override_count, &config, err);
	if (status)
		return status;
	status = hw_load(args->file, &rows, err);
	if (!status) {
		status = hw_predict(&config, &rows, err);
		hw_predict_fences(&config.gpu, &rows);
		if (!status)
			status = validate_print(&rows, args->worst, err);
		hw_destroy(&rows);
	}
	config_destroy(&config);
	return status;
}

/* Our measurements of a GPU. */
static int validate_measured(struct validate_args *args, const struct measured_gpu *gpu,
			     struct sim_error *err)
{
	char inside[PATH_MAX], file[PATH_MAX];
	int status;

	snprintf(inside, sizeof(inside), "reference/hardware/%s", gpu->file);
	status = config_find_data("plots", inside, file, sizeof(file), err);
	if (status)
		return status;
	args->file = file;
	args->gpu = gpu->profile;
	args->worst = gpu->worst;
	printf("%s, %s\n\n", gpu->profile, file);
	status = validate_file(args, err);
	args->file = NULL;
	return status;
}

/*
 * The same in a child, since a process can run one simulation only. The child's mistake comes
 * back through a pipe.
 */
static int validate_in_child(struct validate_args *args, const struct measured_gpu *gpu,
			     struct sim_error *err)
{
	int says[2], how;
	ssize_t length;
	pid_t child;

	if (command_flush(err))
		return -SIM_EXIT_RUNTIME;
	if (pipe2(says, O_CLOEXEC))
		return sim_runtime_error(err, "%s: %s", gpu->profile, strerror(errno));
	child = fork();
	if (!child) {
		struct sim_error own = { 0 };
		int status = validate_measured(args, gpu, &own);

		if (!status)
			status = command_flush(&own);
		if (write(says[1], own.text, strlen(own.text)) < 0)
			_exit(SIM_EXIT_RUNTIME);
		_exit(-status);
	}
	close(says[1]);
	if (child < 0) {
		close(says[0]);
		return sim_runtime_error(err, "%s: %s", gpu->profile, strerror(errno));
	}
	length = read(says[0], err->text, sizeof(err->text) - 1);
	err->text[length > 0 ? length : 0] = '\0';
	close(says[0]);
	if (waitpid(child, &how, 0) != child)
		return sim_runtime_error(err, "%s: %s", gpu->profile, strerror(errno));
	if (WIFSIGNALED(how) && WTERMSIG(how) == SIGPIPE)
		raise(SIGPIPE); /* the reader of its table, and of ours, has gone */
	if (!WIFEXITED(how))
		return sim_runtime_error(err, "%s: its simulation was killed", gpu->profile);
	return -WEXITSTATUS(how);
}

/* What the command line asks for: a file, a GPU that we have measured, or all of these. */
static int validate_hardware(struct validate_args *args, struct sim_error *err)
{
	int status = 0;

	args->worst = GOOD_WORST;
	if (args->file) {
		args->gpu = args->gpu ? args->gpu : measured_gpus[0].profile;
		return validate_file(args, err);
	}
	for (size_t i = 0; args->gpu && i < ARRAY_SIZE(measured_gpus); i++)
		if (!strcmp(args->gpu, measured_gpus[i].profile))
			return validate_measured(args, &measured_gpus[i], err);
	if (args->gpu)
		return sim_user_error(err,
				      "validate hardware: no measurements of '%.60s' are here, "
				      "allowed: h100-80g, h200-141g, and others with FILE",
				      args->gpu);
	for (size_t i = 0; !status && i < ARRAY_SIZE(measured_gpus); i++) {
		if (i)
			putchar('\n');
		status = validate_in_child(args, &measured_gpus[i], err);
	}
	return status;
}

static int run_hardware(int argc, char **argv, struct sim_error *err)
{
	struct validate_args args = { 0 };
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
