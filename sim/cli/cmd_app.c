// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_app.h"

#include <stdio.h>
#include <string.h>

#include "apps/phases.h"
#include "cli/cmd_app_lora.h"
#include "cli/replaced.h"
#include "config/config.h"
#include "config/load.h"
#include "config/units.h"
#include "engine/error.h"
#include "engine/whole_file.h"
#include "gvm/port.h"
#include "import/torch_app.h"
#include "import/torch_step.h"
#include "import/torch_trace.h"
#include "machine/machine.h"

#define NS_PER_MS 1e6
#define GB	  1e9

static const struct command_option import_options[] = {
	{ "gpu", "PROFILE", false, "the GPU that the program ran on, of scenarios/gpus" },
	{ "step", "DURATION", false,
	  "how long a step takes without the profiler, such as\n"
	  "5.2ms; by default the profile's own" },
	{ "alone", "FILE", false,
	  "a CSV file whose column step_us has the steps of the\n"
	  "program alone; by default the profile's own" },
	{ NULL, NULL, false, NULL },
};

static int run_import(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command command_import = {
	.name = "gvmsim app import",
	.operands = "PROFILE OUT",
	.summary = "make an application of a PyTorch program's profile",
	.about =
"Reads a trace that torch.profiler exported, plain or .gz, of a program that had the\n"
"GPU alone, and writes an application of type \"phases\": kernels, launches, waits for\n"
"the GPU and memory of one step, which an iteration repeats. The step is the one of\n"
"median length. With python/gvm_profile, a program needs three lines more, and its\n"
"profile has all that is needed:\n"
"\n"
"    with gvm_profile.record(\"mine.json.gz\") as profile:\n"
"        for batch in loader:\n"
"            train(batch)\n"
"            if profile.step(): break\n"
"\n"
"A trace of torch.profiler's own needs its step(). It does not say how long a step takes\n"
"without the profiler, which makes launches slower, nor the memory: then the\n"
"application has none.\n"
"\n"
"The host is not equally fast in all steps. Where the profile has the steps without the\n"
"profiler, or with --alone, each iteration draws how long its host takes from them.\n",
	.options = import_options,
	.examples =
"  Make an application of a profile, and share the GPU with an LLM server:\n"
"    gvmsim app import mine.json.gz scenarios/apps/mine.json --gpu h200-141g\n"
"    gvmsim run vllm-diffusion-80g --set gpu.profile=h200-141g \\\n"
"        --set containers.diffusion.app.type=phases \\\n"
"        --set containers.diffusion.app.profile=mine --system stock\n",
	.run = run_import,
};
/* clang-format on */

static const struct command *const commands[] = { &command_import, &command_app_lora, NULL };

const struct command command_app = {
	.name = "gvmsim app",
	.operands = "import|lora ...",
	.summary = "applications from profiles of programs, and from models",
	.about = "Makes applications of what was measured of real programs, and of the shape "
		 "of\n"
		 "models.\n",
	.commands = commands,
};

/* A parsed command line. Strings are borrowed from argv. */
struct import_args {
	const char *gpu;   /* NULL: not said */
	u64 plain_step_ns; /* 0: not said */
	const char *alone; /* path; NULL: not said */
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct import_args *args = data;
	enum units_status status;

	if (!strcmp(option, "gpu")) {
		args->gpu = value;
		return 0;
	}
	if (!strcmp(option, "alone")) {
		args->alone = value;
		return 0;
	}
	status = units_parse_duration(value, &args->plain_step_ns);
	if (status)
		return command_bad_value(&command_import, option, err, "\"%s\" %s", value,
					 units_strstatus(status));
	if (!args->plain_step_ns || args->plain_step_ns > TORCH_STEP_MAX_NS)
		return command_bad_value(&command_import, option, err,
					 "\"%s\", allowed: more than 0 and up to 100s", value);
	return 0;
}

/* The program's GPU time by what bounds it, in ms. */
static void print_bounds(const struct torch_step *step)
{
	double ms[TORCH_BOUNDS] = { 0 }, overhead_ms = 0;

	for (size_t i = 0; i < step->count; i++) {
		overhead_ms += (double)step->launches[i].overhead_ns / NS_PER_MS;
		for (size_t bound = 0; bound < TORCH_BOUNDS; bound++)
			ms[bound] += (double)step->launches[i].gpu_ns[bound] / NS_PER_MS;
	}
	printf("GPU time             %.3f ms products, %.3f ms memory, %.3f ms SMs, %.3f ms "
	       "overhead\n",
	       ms[TORCH_BY_PRODUCTS], ms[TORCH_BY_MEMORY], ms[TORCH_BY_SMS], overhead_ms);
}

static void print_step(const struct torch_app *app)
{
	const struct torch_trace *trace = app->trace;
	const struct torch_step *step = app->step;
	u64 kernels = 0, waits = 0;

	for (size_t i = 0; i < step->count; i++) {
		kernels += step->launches[i].kernels;
		waits += step->launches[i].waited;
	}
	printf("GPU                  %s\n", *trace->device ? trace->device : "not said");
	printf("step                 %.3f ms under the profiler",
	       (double)step->profiled_ns / NS_PER_MS);
	if (step->plain_ns)
		printf(", %.3f ms without", (double)step->plain_ns / NS_PER_MS);
	printf(", %.3f ms reproduced\n", (double)step->reproduced_ns / NS_PER_MS);
	printf("factors              %.3f for the host's times, %.3f for the GPU's\n",
	       (double)step->host_ppm / CFG_PPM, (double)step->gpu_ppm / CFG_PPM);
	printf("kernels              %llu in %zu launches, %llu waits\n", kernels, step->count,
	       waits);
	print_bounds(step);
	if (trace->reserved_bytes)
		printf("memory               %.3f GB between steps, %.3f GB in all\n",
		       (double)trace->state_bytes / GB, (double)trace->reserved_bytes / GB);
	else
		printf("memory               not in the profile: the application has none\n");
	if (app->host_time_count)
		printf("steps alone          %zu: the host takes %.2f to %.2f times as long\n",
		       trace->plain_steps.count, (double)app->host_times[0] / CFG_PPM,
		       (double)app->host_times[app->host_time_count - 1] / CFG_PPM);
	printf("phases               %zu\n", torch_app_phases(step));
}

/* The profile must be of the GPU that it is said to be of. */
static int check_gpu(const char *path, const struct torch_trace *trace,
		     const struct cfg_gpu *gpu, struct sim_error *err)
{
	if (!trace->sms || !gpu->sms || trace->sms == gpu->sms)
		return 0;
	return sim_user_error(err, "%s: is of %s with %llu SMs, and %s has %llu", path,
			      *trace->device ? trace->device : "a GPU", trace->sms,
			      gpu->profile, gpu->sms);
}

/* The steps that count: those of a file, or none beside a step of another length. */
static int take_steps(const struct import_args *args, struct torch_steps *steps,
		      struct sim_error *err)
{
	if (!args->alone && !args->plain_step_ns)
		return 0;
	torch_steps_destroy(steps);
	return args->alone ? torch_steps_read(args->alone, steps, err) : 0;
}

static int write_app(const struct torch_app *app, const char *path, struct sim_error *err)
{
	struct sim_error why = { 0 };
	struct whole_file file;
	int status = whole_file_open(&file, path, err);

	if (status)
		return status;
	status = torch_app_write(app, file.stream, &why);
	if (!status)
		return whole_file_commit(&file, err);
	whole_file_abort(&file);
	snprintf(err->text, sizeof(err->text), "%.300s: %.700s", path, why.text);
	return status;
}

/* Import the profile @in of a program that ran on the GPU of @config. */
static int import_profile(const char *in, const char *out, const struct import_args *args,
			  const struct config *config, struct sim_error *err)
{
	struct torch_trace trace;
	struct torch_step step;
	u32 host_times[PHASES_HOST_TIMES_MAX];
	struct torch_app app = {
		.profile = in,
		.trace = &trace,
		.step = &step,
		.gpu = &config->gpu,
		.host = &config->host,
		.steps = args->alone ? args->alone : in,
		.host_times = host_times,
	};
	struct replaced replaced;
	int status;

	if (whole_file_is(out, in))
		return sim_user_error(err, "%s: cannot write: is the file to import", out);
	status = replaced_check(&replaced, out, &replaced_application, err);
	if (!status)
		status = torch_trace_read(in, &trace, err);
	if (status)
		return status;
	if (args->plain_step_ns)
		trace.plain_step_ns = args->plain_step_ns;
	status = check_gpu(in, &trace, &config->gpu, err);
	if (!status)
		status = take_steps(args, &trace.plain_steps, err);
	if (!status)
		status = torch_step_init(&step, &trace, &config->gpu, in, err);
	if (!status) {
		app.host_time_count =
			torch_steps_factors(&trace.plain_steps, step.reproduced_ns, 1000,
					    PHASES_HOST_TIME_MAX, host_times,
					    PHASES_HOST_TIMES_MAX);
		status = write_app(&app, out, err);
		if (!status) {
			replaced_note(&replaced);
			print_step(&app);
			status = command_flush(err);
		}
		torch_step_destroy(&step);
	}
	torch_trace_destroy(&trace);
	return status;
}

static int run_import(int argc, char **argv, struct sim_error *err)
{
	struct cfg_override gpu = { .key = "gpu.profile", .option = "--gpu" };
	struct import_args args = { 0 };
	struct command_line line;
	struct config config;
	int status = command_parse(&command_import, argc, argv, take_option, &args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_import, err);
	if (line.operand_count != 2)
		return command_mistake(&command_import, err, "%d file names, expected 2",
				       line.operand_count);
	if (args.alone && args.plain_step_ns)
		return command_mistake(&command_import, err,
				       "--step and --alone, allowed: one of them");
	if (!args.gpu || !*args.gpu)
		return command_mistake(&command_import, err, "no --gpu");
	gpu.path_and_value = args.gpu;
	/* Its applications do not run: of the scenario, only the machine counts. */
	status = config_load(&machine_registry, "vllm-diffusion-80g", &gpu, 1, &config, err);
	if (status)
		return status;
	status = import_profile(line.operands[0], line.operands[1], &args, &config, err);
	config_destroy(&config);
	return status;
}
