// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An application in JSON alone: tensors and phases
 * ===============================================
 *
 * The application repeats an iteration: a step of a trainer, an image, a video, a request. An
 * iteration goes through its phases in order (phases_program.c has the form). A phase is a
 * burst of kernels:
 *
 *     work = max or sum of   FLOP / (peak * efficiency)
 *                            traffic / (bandwidth * memory_efficiency)
 *                            + cycles / (SMs * clock)
 *     FLOP = flops + flops_per_token * tokens, traffic likewise
 *
 * app.overlap says which: arithmetic and traffic of a well-tuned library overlap, those of
 * eager kernels mostly do not. It touches the tensors that it reads and writes, all of each or
 * its beginning. A phase with layers goes through them one after the other: each one touches a
 * part of its own, and all of what is "every_layer", such as activations, for which an allocator
 * gives each layer the same memory. Phases are launched ahead, as far as no host work is between
 * them and the channel has room.
 *
 * The speed of a host changes from iteration to iteration. app.host_times is a list of factors.
 * Each iteration draws one of them, and its launches and its host work take that many times as
 * long. The draws depend on the seed and on the container's name.
 *
 * Tokens are those of samples: rows of a trace. A group with "samples" takes new ones at each
 * repetition, and the phases in it count their tokens. In a closed loop, iteration follows
 * iteration, and the trace begins again at its end. In an open loop an iteration is a request
 * of the trace, which arrives at its date and waits for those before it; there samples are
 * taken by iteration.
 *
 * Memory is allocated at the start. What an iteration leaves in a tensor of life "iteration" is
 * not needed: its memory goes back to the driver. A tensor of life "recomputed" is kept, but
 * after a pressure event its memory goes back between two iterations, and the next iteration is
 * a small one: it does what "small" says. A trainer recomputes activations so, a diffusion
 * pipeline makes smaller batches.
 */
#include "apps/phases.h"

#include <stdlib.h>

#include "apps/app.h"
#include "apps/app_cost.h"
#include "config/check.h"
#include "engine/error.h"
#include "engine/random.h"

/*
 * A stream of CUDA takes a bounded number of launches, and one on top waits. Assumption: 1024;
 * NVIDIA does not document the number, and it was not measured. Here the host looks after each
 * half of them, and waits for those before that half: 512 to 1024 are ahead of the GPU. A burst
 * counts as one: the host engine paces its kernels itself.
 */
#define HALF_CHANNEL 512

/* Tokens of the samples in hand. */
struct phases_samples {
	u64 prompt;
	u64 response;
	u64 padded;
};

struct phases {
	const struct app_env *env;
	const struct cfg_phases *cfg;
	struct phases_program *program;
	const struct trace *trace; /* NULL: there is none */
	size_t next_sample;
	struct phases_samples samples;
	struct cuda_memory tensors[PHASES_TENSORS_MAX];
	struct gvm_listener pressure; /* open if it listens */
	bool small;		      /* the iteration in flight is a small one */
	u64 iterations;		      /* started */
	u64 done;		      /* phases gone through, each repetition */
	u64 launches;
	u64 draws;		/* state of the random numbers, of host times */
	u64 host_time;		/* of this iteration, ppm of what its phases say */
	struct cuda_event half; /* after the last half of a channel that was launched */
	/* of the phase that is being launched */
	struct cuda_access touches[PHASES_TOUCHES_MAX];
};

/* Take the next @count rows of the trace, which begins again at its end. */
static void phases_take_samples(struct phases *phases, u64 count)
{
	u64 longest = 0;

	phases->samples = (struct phases_samples){ 0 };
	for (u64 i = 0; i < count; i++) {
		const struct trace_request *row =
			&phases->trace->requests[phases->next_sample++ % phases->trace->count];
		u64 response = row->response_tokens[phases->cfg->trace.response];

		phases->samples.prompt += row->prompt_tokens;
		phases->samples.response += response;
		longest = max(longest, row->prompt_tokens + response);
	}
	phases->samples.padded = count * longest;
}

static u64 phases_tokens(const struct phases *phases, u64 kind)
{
	switch ((enum phases_tokens)kind) {
	case PHASES_TOKENS_PROMPT:
		return phases->samples.prompt;
	case PHASES_TOKENS_RESPONSE:
		return phases->samples.response;
	case PHASES_TOKENS_PADDED:
		return phases->samples.padded;
	case PHASES_TOKENS_ALL:
		break;
	}
	return phases->samples.prompt + phases->samples.response;
}

/* A phase's arithmetic and memory traffic on the GPU. */
static struct app_work phases_gpu_work(const struct phases *phases,
				       const struct phases_work *work, u64 tokens)
{
	const struct cfg_gpu *gpu = &phases->env->config->gpu;
	unsigned __int128 flops =
		(unsigned __int128)work->flops_per_token * tokens + work->flops;
	unsigned __int128 bytes =
		(unsigned __int128)work->traffic_per_token * tokens + work->traffic;
	u64 compute = app_flops_ns(gpu, phases->cfg->efficiency, flops);
	u64 memory = app_bytes_ns(gpu, phases->cfg->memory_efficiency, bytes);
	u64 products = work->blocks ? work->blocks : app_product_blocks(flops / work->kernels);
	u64 elements = work->blocks ? work->blocks : app_element_blocks(bytes / work->kernels);
	struct app_work sum = { .overhead_ns = work->overhead_ns };

	/* A kernel that does both has blocks enough for either. */
	if (phases->cfg->overlap) {
		app_work_add(&sum, gpu, compute, memory, max(products, elements));
	} else {
		app_work_add(&sum, gpu, compute, 0, products);
		app_work_add(&sum, gpu, 0, memory, elements);
	}
	if (work->cycles)
		app_work_add_cycles(&sum, gpu, app_cycles_ns(gpu, work->cycles),
				    work->blocks ? work->blocks : gpu->sms);
	if (work->turns)
		app_work_save(&sum, work->kernels, (u32)work->turns);
	app_work_move(&sum,
		      app_bytes_ns(gpu, phases->cfg->memory_efficiency, work->traffic_beside));
	return sum;
}

/* The part of a tensor that a phase touches. */
static struct cuda_access phases_access(const struct phases *phases,
					const struct phases_access *access, u64 tokens)
{
	const struct cuda_memory *memory = &phases->tensors[access->tensor];
	enum cuda_mode mode = access->writes ? CUDA_WRITE : CUDA_READ;
	unsigned __int128 bytes = access->bytes_per_token;
	struct cuda_access touched = cuda_access_all(memory, mode);

	bytes = bytes * tokens + access->bytes;
	if ((access->bytes || access->bytes_per_token) && bytes < memory->bytes)
		touched = cuda_access_head(memory, (u64)bytes, mode);
	cuda_access_matrices(&touched, access->matrices);
	return touched;
}

/*
 * What the layers of a phase touch, one layer after the other. Returns the number of touches in
 * phases->touches.
 */
static u32 phases_touch(struct phases *phases, const struct phases_work *work, u64 tokens)
{
	struct cuda_access accesses[PHASES_ACCESSES_MAX];
	u32 layers = (u32)work->layers, count = 0;

	for (u32 i = 0; i < work->access_count; i++)
		accesses[i] = phases_access(phases, &work->accesses[i], tokens);
	for (u32 layer = 0; layer < layers; layer++) {
		for (u32 i = 0; i < work->access_count; i++)
			phases->touches[count++] =
				work->accesses[i].every_layer ?
					accesses[i] :
					cuda_access_part(&accesses[i], layer, layers);
	}
	return count;
}

/* Blocking: wait until the channel has room for half a channel more. As phases_launch(). */
static int phases_make_room(struct phases *phases)
{
	struct cuda_context *cuda = phases->env->cuda;
	int status;

	if (++phases->launches % HALF_CHANNEL)
		return 0;
	status = cuda_event_synchronize(&phases->half);
	return status ? status : cuda_event_record(&phases->half, cuda_default_stream(cuda));
}

/* What the host takes in this iteration for what its phases say takes @ns. */
static u64 phases_host_ns(const struct phases *phases, u64 ns)
{
	return (u64)((unsigned __int128)ns * phases->host_time / CFG_PPM);
}

/* Begin an iteration: how long its host takes. */
static void phases_draw_host_time(struct phases *phases)
{
	const struct phases_program *program = phases->program;

	phases->host_time = CFG_PPM;
	if (program->host_time_count)
		phases->host_time = program->host_times[random_below(&phases->draws,
								     program->host_time_count)];
}

/*
 * Launch a phase, once. Blocking if it has host work, or the channel is full. 0, -EIO, -EINTR
 * or -ENOMEM.
 */
static int phases_launch(struct phases *phases, const struct phases_work *work)
{
	const struct config *config = phases->env->config;
	u64 tokens = phases_tokens(phases, work->tokens);
	/* A burst has room for launches of a second each: see APP_KERNELS_MAX. */
	u64 launch_ns = min(phases_host_ns(phases, work->launch_ns), (u64)CFG_SEC);
	struct cuda_burst_config burst;
	struct app_work gpu_work;
	int status = 0;

	if (work->host_ns) {
		status = cuda_synchronize(phases->env->cuda);
		if (!status)
			status = app_host_work(phases->env,
					       phases_host_ns(phases, work->host_ns));
	}
	phases->done++;
	if (!status && work->kernels)
		status = phases_make_room(phases);
	if (status || !work->kernels)
		return status;
	gpu_work = phases_gpu_work(phases, work, tokens);
	burst = (struct cuda_burst_config){
		.kernels = (u32)work->kernels,
		.launch_ns = app_launch_ns(&config->host, launch_ns,
					   work->graph ? work->kernels : 1),
		.graph = work->graph,
		.accesses = phases->touches,
		.access_count = phases_touch(phases, work, tokens),
	};
	app_work_burst(&gpu_work, &config->gpu, &burst);
	return cuda_launch(phases->env->cuda, &burst);
}

/* Go through the nodes from @first up to @end, with those below them. As phases_launch(). */
static int phases_go(struct phases *phases, u32 first, u32 end)
{
	const struct phases_node *nodes = phases->program->nodes;
	int status = 0;

	for (u32 i = first; i < end && !status; i = nodes[i].end) {
		const struct phases_work *work =
			phases->small ? &nodes[i].small : &nodes[i].work;
		u64 repeat = work->repeat_response ? phases->samples.response : work->repeat;

		if (nodes[i].once && phases->iterations > 1)
			continue;
		for (u64 n = 0; n < repeat && !status; n++) {
			u64 done = phases->done;

			if (work->samples && phases->trace && !phases->cfg->open_loop)
				phases_take_samples(phases, work->samples);
			status = nodes[i].group ? phases_go(phases, i + 1, nodes[i].end) :
						  phases_launch(phases, work);
			/* What does nothing once does nothing a billion times. */
			if (phases->done == done)
				break;
		}
	}
	return status;
}

/* Give back the memory of tensors of a life. */
static void phases_discard(struct phases *phases, enum phases_life life)
{
	for (u32 i = 0; i < phases->program->tensor_count; i++)
		if (phases->program->tensors[i].life == life)
			cuda_discard(&phases->tensors[i], 0, phases->tensors[i].bytes);
}

/* Blocking: one iteration. 0, -EIO, -EINTR or -ENOMEM. */
static int phases_iterate(struct phases *phases)
{
	struct gvm_pressure_event event;
	int status;

	phases->small = phases->env->listens &&
			gvm_listener_read(&phases->pressure, &event, sizeof(event), false) > 0;
	if (phases->small)
		phases_discard(phases, PHASES_LIFE_RECOMPUTED);
	phases_draw_host_time(phases);
	status = phases_go(phases, 0, phases->program->node_count);
	if (!status)
		status = cuda_synchronize(phases->env->cuda);
	if (!status)
		phases_discard(phases, PHASES_LIFE_ITERATION);
	return status;
}

/* Blocking: one iteration for a user who asked at @arrival_ns. */
static int phases_log_iteration(struct phases *phases, u64 arrival_ns)
{
	struct app_record *record;
	int status = app_begin(phases->env, arrival_ns, &record);

	if (status)
		return status;
	phases->iterations++;
	status = phases_iterate(phases);
	app_log_end(phases->env, record, status);
	return status;
}

/* When request @index of an open loop arrives. */
static u64 phases_date_ns(const struct app_env *env, size_t index)
{
	const struct cfg_phases *cfg = env->container->app;

	return env->log->zero_ns + app_trace_offset_ns(env->prepared, &cfg->trace, index);
}

/*
 * Log the requests of an open loop that arrived before @end_ns and that no iteration has begun.
 * The end of the run drops them. Or they fail, as the container was @stopped: at @fail_ns, or
 * when they arrive, if that is later. Returns 0 or -ENOMEM.
 */
static int phases_log_unserved(const struct app_env *env, u64 end_ns, bool stopped, u64 fail_ns)
{
	const struct trace *trace = env->prepared;
	int status = 0;

	for (size_t i = env->log->record_count; i < trace->count && !status; i++) {
		u64 date = phases_date_ns(env, i);
		struct app_record record = { .id = i,
					     .arrival_ns = date,
					     .outcome = APP_DROPPED };

		if (date >= end_ns)
			break;
		if (stopped) {
			record.outcome = APP_FAILED;
			record.reason = APP_STOPPED;
			record.finish_ns = max(date, fail_ns);
		}
		status = app_log_add(env->log, &record);
	}
	return status;
}

static int phases_log_absence(const struct app_env *env)
{
	const struct cfg_phases *cfg = env->container->app;

	if (!cfg->open_loop || !env->log->has_zero)
		return 0;
	return phases_log_unserved(env, eng_now(), true, 0);
}

/*
 * Blocking: requests fail, each at its date, until a restarted application has booted. The run
 * may end before. Returns 0, -EINTR or -ENOMEM.
 */
static int phases_boot_again(const struct app_env *env)
{
	const struct trace *trace = env->prepared;
	u64 open_ns = max(env->reopen_ns, (u64)eng_now());
	int status = 0;

	while (!status && env->log->record_count < trace->count) {
		u64 date = phases_date_ns(env, env->log->record_count);

		if (date >= open_ns)
			break;
		if (date > eng_now() && eng_sleep_until(date))
			return -EINTR;
		status = phases_log_unserved(env, date + 1, true, 0);
	}
	return status;
}

/*
 * Blocking: an iteration for each request of the trace, from its date on. Requests that wait at
 * the end of the run are logged as dropped, those that wait at a stop as failed. After a
 * restart, those fail that came since the stop.
 */
static int phases_serve(struct phases *phases)
{
	const struct app_env *env = phases->env;
	u64 now_ns;
	int status = 0;

	if (!env->log->has_zero)
		env->log->zero_ns = max((u64)env->container->start, (u64)eng_now());
	env->log->has_zero = true;
	if (env->reopen_ns)
		status = phases_boot_again(env);
	for (size_t i = env->log->record_count; i < phases->trace->count && !status; i++) {
		u64 date = phases_date_ns(env, i);

		if (date > eng_now() && eng_sleep_until(date))
			return 0;
		phases->next_sample = i;
		phases_take_samples(phases, 1);
		status = phases_log_iteration(phases, date);
	}
	now_ns = app_now_ns(env);
	return phases_log_unserved(env, now_ns + 1, env->stopping, now_ns) ? -ENOMEM : status;
}

static int phases_run(const struct app_env *env)
{
	struct phases phases = { .env = env, .cfg = env->container->app };
	char wrong[PHASES_WRONG_MAX];
	const char *key;
	int status = 0;

	phases.program = phases_program_read(phases.cfg, &key, wrong);
	if (!phases.program)
		return -ENOMEM; /* the declaration was checked */
	phases.trace = env->prepared;
	phases.draws = random_begin(random_begin(env->config->seed, env->container->name),
				    "host_times");
	for (u32 i = 0; i < phases.program->tensor_count && !status; i++)
		status = app_malloc(env, phases.program->tensors[i].bytes,
				    phases.program->tensors[i].on_host, &phases.tensors[i]);
	if (!status)
		status = app_listen(env, &phases.pressure);
	if (!status)
		status = app_start_late(env);
	if (!status && phases.cfg->open_loop)
		status = phases_serve(&phases);
	else
		while (!status) {
			u64 start_ns = eng_now();

			status = phases_log_iteration(&phases, start_ns);
			if (!status && eng_now() == start_ns)
				status = -ELOOP;
		}
	gvm_listener_close(&phases.pressure);
	cuda_context_destroy(env->cuda);
	free(phases.program);
	return status == -EINTR ? 0 : status;
}

/* The declaration is right, and there is a trace if it takes samples or follows dates. */
static int phases_check(struct cfg_load *load, const struct cfg_container *container)
{
	const struct cfg_phases *cfg = container->app;
	struct phases_program *program;
	char wrong[PHASES_WRONG_MAX] = "there is no memory to read it";
	const char *key;
	bool samples, tokens;

	program = phases_program_read(cfg, &key, wrong);
	if (!program)
		return cfg_reject_app(load, container, key ? key : "phases", "%s", wrong);
	samples = program->uses_samples;
	tokens = program->counts_tokens;
	free(program);
	if (!*cfg->trace.file && (samples || tokens || cfg->open_loop))
		return cfg_reject_app(load, container, "trace.file",
				      "is missing, allowed: a trace, as %s",
				      samples ? "phases take samples" :
				      tokens  ? "phases count tokens" :
						"open_loop is true");
	if (tokens && !samples && !cfg->open_loop)
		return cfg_reject_app(load, container, "phases",
				      "count tokens of no samples, allowed: \"samples\" in a "
				      "phase or group, or open_loop true");
	if (app_trace_contradicts(&cfg->trace))
		return cfg_reject_app(load, container, "trace.rate",
				      "is given with trace.divide, allowed: one of them; a "
				      "trace.divide of 1 is none");
	return 0;
}

/* Cycles take a time on a GPU whose SMs and clock are known. */
static int phases_check_gpu(const struct app_env *env, struct sim_error *err)
{
	struct phases_program *program;
	char wrong[PHASES_WRONG_MAX];
	const char *key;
	bool cycles;

	program = phases_program_read(env->container->app, &key, wrong);
	if (!program)
		return sim_runtime_error(err, "out of memory");
	cycles = program->counts_cycles;
	free(program);
	return cycles ? app_check_cycles(env, "phases", err) : 0;
}

static int phases_prepare(struct app_env *env, struct sim_error *err)
{
	const struct cfg_phases *cfg = env->container->app;
	int status = phases_check_gpu(env, err);

	if (!status && *cfg->trace.file)
		status = app_trace_prepare(env, &cfg->trace, err);
	return status;
}

static u64 phases_ahead_ns(const struct cfg_container *container)
{
	const struct cfg_phases *cfg = container->app;

	return cfg->boot;
}

#define PHASES(leaf_, type_, member_, help_, ...) \
	CFG_APP_KEY(leaf_, type_, struct cfg_phases, member_, help_, __VA_ARGS__)

static const struct cfg_key phases_keys[] = {
	PHASES("tensors", JSON, tensors,
	       "what it allocates, by name: bytes, on_host, life (run, iteration, recomputed)"),
	PHASES("phases", JSON, phases,
	       "what an iteration does, in order: a list of phases and groups, see the model"),
	PHASES("efficiency", PPM, efficiency, "share of gpu.flops_bf16 that its kernels reach",
	       CFG_RANGE(1, CFG_PPM)),
	PHASES("memory_efficiency", PPM, memory_efficiency,
	       "share of gpu.memory_bandwidth that its kernels reach", CFG_RANGE(1, CFG_PPM)),
	PHASES("overlap", BOOL, overlap,
	       "arithmetic and memory traffic of a phase overlap; else their times add up",
	       CFG_DEFAULT("true")),
	PHASES("kernel_launch", DURATION, kernel_launch,
	       "host time of a launch, on the reference host", CFG_RANGE(0, CFG_SEC)),
	PHASES("host_times", JSON, host_times,
	       "how long the host takes for an iteration, over what the phases say: numbers, "
	       "of which each iteration draws one; []: as they say",
	       CFG_DEFAULT("[]")),
	PHASES("boot", DURATION, boot,
	       "its process starts this long before the container's start",
	       CFG_RANGE(0, CFG_HOUR), CFG_DEFAULT("0s")),
	PHASES("trace.file", TRACE, trace.file, "where samples come from", CFG_DEFAULT("")),
	APP_TRACE_KEYS(struct cfg_phases, trace),
	PHASES("open_loop", BOOL, open_loop,
	       "an iteration is a request of the trace, and begins at its date at the earliest",
	       CFG_DEFAULT("false")),
};

static const struct metric iteration_metrics[] = {
	METRIC_OUTCOME_ROW("iterations", "iterations", COMPLETED),
	METRIC_RATE_ROW("iterations_per_s", "iterations a second", COMPLETED_RATE),
	METRIC_TIME_ROWS("latency_s", "iteration", S, TO_END, ARRIVED),
	METRIC_TIME_ROWS("client_latency_s", "client's iteration", S, TO_END, CLIENT),
};

static const struct app_report phases_report = {
	.type = "phases",
	.record = "iteration",
	.closed_loop = true,
	REPORT_METRICS(iteration_metrics),
};

const struct sim_app phases_app = {
	.keys = {
		.name = "phases",
		.summary = "any application, declared by its tensors and phases",
		CFG_KEYS(phases_keys),
		.bytes = sizeof(struct cfg_phases),
		.check = phases_check,
	},
	.report = &phases_report,
	.prepare = phases_prepare,
	.discard = app_trace_discard,
	.ahead_ns = phases_ahead_ns,
	.run = phases_run,
	.log_absence = phases_log_absence,
};
