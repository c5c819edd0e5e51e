// SPDX-License-Identifier: MIT OR GPL-2.0
/* Writes an application's profile; see torch_app.h. */
#include "import/torch_app.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "apps/phases.h"
#include "config/config.h"
#include "engine/error.h"
#include "gvm/port.h"

#define NS_PER_S 1e9

/*
 * Shares of the peaks that FLOP and bytes are counted by. On the profiled GPU they cancel out.
 * An H200's: scenarios/apps/vllm.json, corun-llama-3.2-3b.json.
 */
#define EFFICIENCY	  0.74
#define MEMORY_EFFICIENCY 0.89

/* Keys of the profile: see app_json(). The last one may be missing. */
#define APP_KEYS 6

/* Parts of the memory. A phase touches those that are its share of the step: so many at most. */
#define PARTS	    24u
#define PHASE_PARTS 8u

/* Launches of a phase. */
struct phase {
	size_t first, end;
};

/* Is the launch at @i the first one of a phase that the host's waits or graphs begin? */
static bool begins_phase(const struct torch_step *step, size_t i)
{
	const struct torch_launch *launch = &step->launches[i];

	return !i || launch->waited || launch->graph || step->launches[i - 1].graph;
}

/* The phase that begins at launch @first. */
static struct phase phase_at(const struct torch_step *step, size_t first)
{
	size_t most = (step->count + TORCH_PHASES - 1) / TORCH_PHASES;
	struct phase phase = { first, first + 1 };

	while (phase.end < step->count && phase.end - first < most &&
	       !begins_phase(step, phase.end))
		phase.end++;
	return phase;
}

size_t torch_app_phases(const struct torch_step *step)
{
	size_t count = 0;

	for (size_t i = 0; i < step->count; i = phase_at(step, i).end)
		count++;
	return count;
}

/* Host time on the reference host. */
static u64 host_ns(const struct torch_app *app, u64 ns)
{
	return (u64)((unsigned __int128)ns * app->host->speed / CFG_PPM);
}

/* Sums over the launches of a phase. */
static struct torch_launch phase_sum(const struct torch_step *step, struct phase phase)
{
	struct torch_launch sum = step->launches[phase.first];

	for (size_t i = phase.first + 1; i < phase.end; i++) {
		const struct torch_launch *launch = &step->launches[i];

		for (size_t bound = 0; bound < TORCH_BOUNDS; bound++)
			sum.gpu_ns[bound] += launch->gpu_ns[bound];
		sum.host_ns += launch->host_ns;
		sum.overhead_ns += launch->overhead_ns;
		sum.sm_ns += launch->sm_ns;
		sum.beside_bytes += launch->beside_bytes;
		sum.kernels += launch->kernels;
		sum.turns += launch->turns;
	}
	return sum;
}

static void set_ns(json_t *object, const char *key, u64 ns)
{
	json_object_set_new(object, key, json_sprintf("%lluns", ns));
}

/* A whole number as text: FLOP can be more than JSON's integers. None of less than 1. */
static void set_amount(json_t *object, const char *key, double amount)
{
	if (amount >= 1)
		json_object_set_new(object, key, json_sprintf("%.0f", amount));
}

/*
 * The host's part: the time of each launch. At the begin of a step, and after a wait, the GPU has
 * nothing to do until the first launch: what that one takes beyond the others is work before the
 * phase.
 */
static void set_host(json_t *object, const struct torch_app *app, struct phase phase,
		     const struct torch_launch *sum)
{
	const struct torch_launch *first = &app->step->launches[phase.first];
	u64 launches = phase.end - phase.first, launch_ns = sum->host_ns / launches;

	if (!phase.first || first->waited) {
		launch_ns = launches > 1 ? (sum->host_ns - first->host_ns) / (launches - 1) : 0;
		if (first->host_ns > launch_ns)
			set_ns(object, "host", host_ns(app, first->host_ns - launch_ns));
	}
	set_ns(object, "launch", host_ns(app, launch_ns));
}

/* The GPU's part: what its kernels take beside their overhead, by what bounds them. */
static void set_gpu(json_t *object, const struct torch_app *app, const struct torch_launch *sum)
{
	const struct cfg_gpu *gpu = app->gpu;
	u64 overhead_ns = sum->overhead_ns / sum->kernels, work_ns = 0;
	double bandwidth = (double)gpu->memory_bandwidth, work_s[TORCH_BOUNDS];
	bool cycles = gpu->sms && gpu->clock;

	for (size_t i = 0; i < TORCH_BOUNDS; i++) {
		work_ns += sum->gpu_ns[i];
		work_s[i] = (double)sum->gpu_ns[i] / NS_PER_S;
	}
	if (!cycles)
		work_s[TORCH_BY_MEMORY] += work_s[TORCH_BY_SMS];
	if (overhead_ns < gpu->kernel_overhead)
		set_ns(object, "kernel_overhead", max(overhead_ns, 1ull));
	set_amount(object, "flops",
		   (double)gpu->flops_bf16 * EFFICIENCY * work_s[TORCH_BY_PRODUCTS]);
	set_amount(object, "traffic", bandwidth * MEMORY_EFFICIENCY * work_s[TORCH_BY_MEMORY]);
	if (cycles)
		set_amount(object, "cycles",
			   (double)gpu->sms * (double)gpu->clock * work_s[TORCH_BY_SMS]);
	/* Operands may have been in a cache: not more than the memory can move. */
	set_amount(object, "traffic_beside",
		   min((double)sum->beside_bytes, bandwidth * (double)work_ns / NS_PER_S));
	if (sum->turns < sum->kernels * CFG_PPM)
		json_object_set_new(object, "turns",
				    json_real((double)(sum->turns / sum->kernels) / CFG_PPM));
	if (gpu->sms && work_ns)
		json_object_set_new(object, "blocks",
				    json_integer((json_int_t)max(
					    (sum->sm_ns + work_ns - 1) / work_ns, 1ull)));
}

/* A step of one or two launches has fewer parts: its phases touch all of them. */
static u32 part_count(const struct torch_step *step)
{
	return (u32)min(step->count * PHASE_PARTS, (size_t)PARTS);
}

/* "state 3": what part @part of the memory is called. */
static void part_name(const char *kind, u32 part, char name[CFG_NAME_MAX])
{
	snprintf(name, CFG_NAME_MAX, "%s %u", kind, part);
}

/* The parts of a kind that the launches of a phase touch, as names. */
static json_t *parts_of(const struct torch_step *step, struct phase phase, const char *kind)
{
	u32 parts = part_count(step);
	u32 first = (u32)(phase.first * parts / step->count);
	u32 end = (u32)((phase.end * parts + step->count - 1) / step->count);
	json_t *list = json_array();
	char name[CFG_NAME_MAX];

	for (u32 part = first; part < end; part++) {
		part_name(kind, part, name);
		json_array_append_new(list, json_string(name));
	}
	return list;
}

static u64 activation_bytes(const struct torch_trace *trace)
{
	return trace->reserved_bytes - trace->state_bytes;
}

static json_t *phases_json(const struct torch_app *app)
{
	const struct torch_step *step = app->step;
	json_t *list = json_array();
	struct phase phase;

	for (size_t i = 0; i < step->count; i = phase.end) {
		json_t *object = json_object();
		struct torch_launch sum;

		phase = phase_at(step, i);
		sum = phase_sum(step, phase);
		json_object_set_new(object, "name",
				    json_sprintf("%zu-%zu", phase.first + 1, phase.end));
		json_object_set_new(object, "kernels", json_integer((json_int_t)sum.kernels));
		if (sum.graph)
			json_object_set_new(object, "graph", json_true());
		set_host(object, app, phase, &sum);
		set_gpu(object, app, &sum);
		if (app->trace->state_bytes >= PARTS)
			json_object_set_new(object, "reads", parts_of(step, phase, "state"));
		if (activation_bytes(app->trace) >= PARTS)
			json_object_set_new(object, "writes",
					    parts_of(step, phase, "activations"));
		json_array_append_new(list, object);
	}
	return list;
}

/* Add @parts parts of a kind, equal ones of @bytes together. */
static void add_parts(json_t *tensors, const char *kind, u32 parts, u64 bytes)
{
	char name[CFG_NAME_MAX];

	for (u32 part = 0; part < parts && bytes >= PARTS; part++) {
		part_name(kind, part, name);
		json_object_set_new(tensors, name,
				    json_pack("{sI}", "bytes", (json_int_t)(bytes / parts)));
	}
}

static json_t *sourced(json_t *value, json_t *source)
{
	json_t *object = json_pack("{soso}", "value", value, "source", source);

	return object;
}

/* A path stands in the source of numbers, and Jansson takes UTF-8 only. */
static int check_name(const char *path, struct sim_error *err)
{
	json_t *string = json_string(path);

	json_decref(string);
	if (string)
		return 0;
	return sim_user_error(err,
			      "%s: its name is not in UTF-8, allowed: a source of numbers can "
			      "have no other",
			      path);
}

/* The last part of a path. */
static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* To three decimals. */
static json_t *host_times_json(const struct torch_app *app)
{
	json_t *list = json_array();

	for (size_t i = 0; i < app->host_time_count; i++)
		json_array_append_new(list, json_real((app->host_times[i] + 500) / 1000 / 1e3));
	return list;
}

/* The whole profile. NULL: no memory. */
static json_t *app_json(const struct torch_app *app)
{
	const struct torch_trace *trace = app->trace;
	const char *file = file_name(app->profile);
	const char *device = *trace->device ? trace->device : "a GPU";
	json_t *tensors = json_object(), *keys = json_object();

	add_parts(tensors, "state", part_count(app->step), trace->state_bytes);
	add_parts(tensors, "activations", part_count(app->step), activation_bytes(trace));
	json_object_set_new(
		keys, "tensors",
		sourced(tensors, json_sprintf("Measured on %s (%s): bytes between steps, and "
					      "the rest of the allocator's. Assumption: a step "
					      "touches each part once, in order.",
					      device, file)));
	json_object_set_new(
		keys, "phases",
		sourced(phases_json(app),
			json_sprintf("Measured on %s (%s), by gvmsim app import " GVMSIM_VERSION
				     ": kernels, their times as FLOP, bytes and cycles of %s, "
				     "and the host's times with a speed of %.3g.",
				     device, file, app->gpu->profile,
				     (double)app->host->speed / CFG_PPM)));
	json_object_set_new(keys, "efficiency",
			    sourced(json_real(EFFICIENCY),
				    json_string("As vllm.json. On the profiled GPU it cancels "
						"out.")));
	json_object_set_new(
		keys, "memory_efficiency",
		sourced(json_real(MEMORY_EFFICIENCY),
			json_string("As corun-llama-3.2-3b.json. On the profiled GPU "
				    "it cancels out.")));
	json_object_set_new(keys, "overlap",
			    sourced(json_false(),
				    json_string("Each kernel has one bound: times add up.")));
	json_object_set_new(keys, "kernel_launch",
			    sourced(json_string("0s"), json_string("Each phase has its own.")));
	if (app->host_time_count)
		json_object_set_new(
			keys, "host_times",
			sourced(host_times_json(app),
				json_sprintf("Measured on %s (%s): its steps alone, without "
					     "the profiler.",
					     device, file_name(app->steps))));
	return json_pack("{so}", "app", keys);
}

/* Write the value of @key as a run keeps it into @text. Reports one that a run has no room for. */
static int keep_value(const struct torch_app *app, const json_t *json, const char *key,
		      char text[PHASES_JSON_MAX], struct sim_error *err)
{
	const json_t *leaf = json_object_get(json_object_get(json, "app"), key);
	size_t length = json_dumpb(json_object_get(leaf, "value"), text, PHASES_JSON_MAX - 1,
				   JSON_COMPACT);

	if (length >= PHASES_JSON_MAX)
		return sim_user_error(err,
				      "%s: a step makes %zu phases, whose %s take %zu bytes, "
				      "allowed: up to %d; record shorter steps",
				      app->profile, torch_app_phases(app->step), key, length,
				      PHASES_JSON_MAX - 1);
	text[length] = '\0';
	return 0;
}

/* A run must accept the application. */
static int check_app(const struct torch_app *app, const json_t *json, struct sim_error *err)
{
	struct cfg_phases *cfg = calloc(1, sizeof(*cfg));
	char wrong[PHASES_WRONG_MAX] = "there is no memory to read it";
	struct phases_program *program = NULL;
	const char *key = NULL;
	int status = -SIM_EXIT_RUNTIME;

	if (cfg)
		status = keep_value(app, json, "tensors", cfg->tensors, err);
	if (!status)
		status = keep_value(app, json, "phases", cfg->phases, err);
	if (!status && app->host_time_count)
		status = keep_value(app, json, "host_times", cfg->host_times, err);
	if (!status)
		program = phases_program_read(cfg, &key, wrong);
	if (!status && !program)
		status = key ? sim_user_error(err,
					      "%s: a run would refuse the application's %s: %s",
					      app->profile, key, wrong) :
			       -SIM_EXIT_RUNTIME;
	if (status == -SIM_EXIT_RUNTIME)
		sim_runtime_error(err, "out of memory");
	free(program);
	free(cfg);
	return status;
}

int torch_app_write(const struct torch_app *app, FILE *stream, struct sim_error *err)
{
	size_t phases = torch_app_phases(app->step);
	json_t *json;
	int status = 0;

	if (phases > TORCH_PHASES_MAX)
		return sim_user_error(err,
				      "%s: a step has %zu waits and graphs, allowed: up to %u "
				      "phases; record shorter steps",
				      app->profile, phases, TORCH_PHASES_MAX);
	status = check_name(app->profile, err);
	if (!status && app->host_time_count)
		status = check_name(app->steps, err);
	if (status)
		return status;
	json = app_json(app);
	/* A key is missing if there was no memory. */
	if (json_object_size(json_object_get(json, "app")) ==
	    APP_KEYS + (app->host_time_count > 0))
		status = check_app(app, json, err);
	else
		status = sim_runtime_error(err, "out of memory");
	errno = 0;
	if (!status && (json_dumpf(json, stream, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) ||
			fputc('\n', stream) == EOF))
		status = sim_runtime_error(err, "%s: cannot write an application of it: %s",
					   app->profile,
					   errno ? strerror(errno) : "out of memory");
	json_decref(json);
	return status;
}
