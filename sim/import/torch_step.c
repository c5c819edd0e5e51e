// SPDX-License-Identifier: MIT OR GPL-2.0
/* One step of a profiled program; see torch_step.h. */
#include "import/torch_step.h"

#include <stdlib.h>
#include <string.h>

#include "apps/app_cost.h"
#include "config/config.h"
#include "engine/error.h"
#include "gvm/port.h"

#define NS_PER_S 1000000000ull

/* A step with fewer gaps between queued kernels has gpu.kernel_gap and gpu.graph_gap. */
#define GAPS_MIN 8

/* A kernel was queued if its launch had ended so long before the kernel before it. */
#define QUEUED_NS 10000
/* Longer ones are pauses. */
#define GAP_MAX_NS 20000

/* Such a pause of the host counts as if it had waited for the GPU. */
#define PAUSE_NS 100000000

/* Factors of times are whole parts of this number. */
#define FACTORS	   1000u
#define FACTOR_PPM (CFG_PPM / FACTORS)
/* A step that the GPU bounds takes that much longer with a host as slow as it may be. */
#define SLACK_PPM 10000u
/* Kernels are not that much faster without the profiler. */
#define GPU_LEAST_PPM 800000u

/*
 * Host time from the end of the GPU's work to the begin of the next, without the profiler:
 * measured on an H200's host, where a step of one CUDA graph and one kernel took 0.595 ms, 0.564
 * of these by the GPU.
 */
#define WAIT_NS 31000

/* A step while its launches are read. */
struct stepping {
	const struct torch_trace *trace;
	const struct cfg_gpu *gpu;
	struct torch_step *step;
	u64 *gaps, *graph_gaps; /* between queued kernels */
	size_t gap_count, graph_gap_count;
	u64 ready_ns;	/* when the GPU could begin the last launch */
	u64 gpu_end_ns; /* of all work so far */
	bool waited;	/* since the last launch */
};

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 span_ns(const struct torch_span *span)
{
	return span->end_ns - span->start_ns;
}

static int compare_lengths(const void *a, const void *b)
{
	u64 x = span_ns(*(const struct torch_span *const *)a);
	u64 y = span_ns(*(const struct torch_span *const *)b);

	return x < y ? -1 : x > y;
}

/* The first call at @date_ns or later. Calls are sorted, and there may be many steps. */
static size_t first_call(const struct torch_trace *trace, u64 date_ns)
{
	size_t low = 0, high = trace->call_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (trace->calls[middle].start_ns < date_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has_kernels(const struct torch_trace *trace, const struct torch_span *span)
{
	for (size_t i = first_call(trace, span->start_ns);
	     i < trace->call_count && trace->calls[i].start_ns < span->end_ns; i++) {
		size_t kernels;

		torch_trace_kernels(trace, &trace->calls[i], &kernels);
		if (kernels)
			return true;
	}
	return false;
}

/* The step of median length among those with kernels. NULL: none, or no memory. */
static const struct torch_span *median_step(const struct torch_trace *trace)
{
	const struct torch_span **sorted =
		calloc(trace->step_count, sizeof(struct torch_span *));
	const struct torch_span *median = NULL;
	size_t count = 0;

	for (size_t i = 0; sorted && i < trace->step_count; i++)
		if (has_kernels(trace, &trace->steps[i]))
			sorted[count++] = &trace->steps[i];
	if (count) {
		qsort(sorted, count, sizeof(*sorted), compare_lengths);
		median = sorted[(count - 1) / 2];
	}
	free(sorted);
	return median;
}

/*
 * Can a kernel that takes @ns have read all its operands? Of its bytes these are a half at least:
 * the size of the result is a guess, that of the largest operand. A gather, whose bytes are more
 * than the memory moves, has not read all of its table.
 */
static bool reads_all(const struct cfg_gpu *gpu, const struct torch_kernel *kernel, u64 ns)
{
	unsigned __int128 most = (unsigned __int128)gpu->memory_bandwidth * ns;

	if (kernel->kind != TORCH_GATHER)
		most *= 2;
	return (unsigned __int128)kernel->bytes * NS_PER_S <= most;
}

/* What the time of a kernel that takes @ns depends on. */
static enum torch_bound bound_of(const struct cfg_gpu *gpu, const struct torch_kernel *kernel,
				 u64 ns)
{
	unsigned __int128 half = (unsigned __int128)gpu->memory_bandwidth * ns / 2;
	bool fast = (unsigned __int128)kernel->bytes * NS_PER_S >= half &&
		    reads_all(gpu, kernel, ns);

	if (kernel->kind == TORCH_COPY)
		return TORCH_BY_SMS;
	if (kernel->kind == TORCH_PRODUCT)
		return kernel->bytes && fast ? TORCH_BY_MEMORY : TORCH_BY_PRODUCTS;
	if (!kernel->bytes || (fast && kernel->bytes > gpu->l2))
		return TORCH_BY_MEMORY;
	return TORCH_BY_SMS;
}

/* Note the gap before a kernel, if it was queued when the one before it ended. */
static void note_gap(struct stepping *stepping, const struct torch_call *call,
		     const struct torch_kernel *kernel)
{
	u64 gap;

	if (!stepping->gpu_end_ns || kernel->start_ns <= stepping->gpu_end_ns)
		return;
	gap = kernel->start_ns - stepping->gpu_end_ns;
	if (gap > GAP_MAX_NS)
		return;
	if (call->graph)
		stepping->graph_gaps[stepping->graph_gap_count++] = gap;
	else if (call->end_ns + QUEUED_NS < stepping->gpu_end_ns)
		stepping->gaps[stepping->gap_count++] = gap;
}

/* Add a kernel to its launch: the time in which no earlier one runs, and the gap after it. */
static void add_kernel(struct stepping *stepping, struct torch_launch *launch,
		       const struct torch_kernel *kernel)
{
	const struct torch_step *step = stepping->step;
	u64 begin_ns = max(kernel->start_ns, stepping->gpu_end_ns);
	u64 ns = launch->graph ? step->graph_gap_ns : step->gap_ns;
	u64 overhead_ns, runs_ns = kernel->end_ns - kernel->start_ns;
	enum torch_bound bound = bound_of(stepping->gpu, kernel, runs_ns);

	launch->kernels++;
	launch->turns += kernel->kind == TORCH_PRODUCT ?
				 CFG_PPM :
				 app_small_turns(stepping->gpu, kernel->blocks);
	if (kernel->end_ns > begin_ns) {
		ns += kernel->end_ns - begin_ns;
		stepping->gpu_end_ns = kernel->end_ns;
	}
	overhead_ns = min(stepping->gpu->kernel_overhead, ns);
	launch->overhead_ns += overhead_ns;
	launch->gpu_ns[bound] += ns - overhead_ns;
	launch->sm_ns += (ns - overhead_ns) * min(kernel->blocks, stepping->gpu->sms);
	if (bound != TORCH_BY_MEMORY && reads_all(stepping->gpu, kernel, runs_ns))
		launch->beside_bytes += min(kernel->bytes, TORCH_MEMORY_MAX);
}

/* When the GPU can begin what @call launches: at its end, or later if nothing else runs. */
static u64 call_ready_ns(const struct stepping *stepping, const struct torch_call *call,
			 const struct torch_kernel *first)
{
	if (call->graph)
		return min(first->start_ns, call->end_ns);
	return stepping->gpu_end_ns < call->end_ns ? max(first->start_ns, call->start_ns) :
						     call->end_ns;
}

static u64 later_by(u64 date_ns, u64 than_ns)
{
	return date_ns > than_ns ? date_ns - than_ns : 0;
}

/* Read one call. Calls before the step count for what they leave behind. */
static void read_call(struct stepping *stepping, const struct torch_call *call, bool inside)
{
	size_t count;
	const struct torch_kernel *kernels = torch_trace_kernels(stepping->trace, call, &count);
	struct torch_launch before, *launch = &before;
	u64 ready_ns, since_ns;

	if (count) {
		if (inside)
			launch = &stepping->step->launches[stepping->step->count++];
		*launch = (struct torch_launch){ .waited = stepping->waited,
						 .graph = call->graph };
		ready_ns = call_ready_ns(stepping, call, kernels);
		since_ns = stepping->waited ? max(stepping->gpu_end_ns, stepping->ready_ns) :
					      stepping->ready_ns;
		if (since_ns)
			launch->host_ns = later_by(ready_ns, since_ns);
		launch->waited |= launch->host_ns >= PAUSE_NS;
		stepping->ready_ns = ready_ns;
		stepping->waited = false;
		for (size_t i = 0; i < count; i++) {
			if (inside)
				note_gap(stepping, call, &kernels[i]);
			add_kernel(stepping, launch, &kernels[i]);
		}
	}
	stepping->waited |= call->waits;
}

static u64 median_gap(u64 *gaps, size_t count, u64 otherwise)
{
	if (count < GAPS_MIN)
		return otherwise;
	qsort(gaps, count, sizeof(*gaps), compare_u64);
	return gaps[count / 2];
}

u64 torch_launch_gpu_ns(const struct torch_launch *launch)
{
	u64 ns = launch->overhead_ns;

	for (size_t i = 0; i < TORCH_BOUNDS; i++)
		ns += launch->gpu_ns[i];
	return ns;
}

static u64 scaled(u64 ns, u64 ppm)
{
	return (u64)((unsigned __int128)ns * ppm / CFG_PPM);
}

/* Host time before a launch, at a factor. A wait, and the launch after it, take their time. */
static u64 host_at(const struct torch_launch *launch, u64 ppm)
{
	u64 least_ns = launch->waited ? min(launch->host_ns, (u64)WAIT_NS) : 0;

	return max(scaled(launch->host_ns, ppm), least_ns);
}

/* How long the step takes with host times and GPU times multiplied by factors, in ppm. */
static u64 play_ns(const struct torch_step *step, u64 host_ppm, u64 gpu_ppm)
{
	u64 host_ns = 0, gpu_ns = 0;

	for (size_t i = 0; i < step->count; i++) {
		const struct torch_launch *launch = &step->launches[i];

		if (launch->waited)
			host_ns = max(host_ns, gpu_ns);
		host_ns += host_at(launch, host_ppm);
		gpu_ns = max(gpu_ns, host_ns) + scaled(torch_launch_gpu_ns(launch), gpu_ppm);
	}
	return max(host_ns, gpu_ns);
}

/* The largest factor of host times with which the step takes up to @wanted_ns. */
static u64 fit_host(const struct torch_step *step, u64 wanted_ns)
{
	u64 low = 0, high = FACTORS;

	while (low < high) {
		u64 middle = (low + high + 1) / 2;

		if (play_ns(step, middle * FACTOR_PPM, CFG_PPM) <= wanted_ns)
			low = middle;
		else
			high = middle - 1;
	}
	return low * FACTOR_PPM;
}

/* Likewise of GPU times. Less than GPU_LEAST_PPM is none: then the lengths do not fit. */
static u64 fit_gpu(const struct torch_step *step, u64 wanted_ns)
{
	u64 ppm = CFG_PPM;

	while (ppm > GPU_LEAST_PPM && play_ns(step, step->host_ppm, ppm) > wanted_ns)
		ppm -= FACTOR_PPM;
	return ppm;
}

/* Make times those of a step without the profiler: see the top of torch_step.h. */
static void fit(struct torch_step *step)
{
	u64 fastest_ns = play_ns(step, 0, CFG_PPM);

	step->host_ppm = step->gpu_ppm = CFG_PPM;
	if (step->plain_ns) {
		step->host_ppm = fit_host(step, max(step->plain_ns,
						    scaled(fastest_ns, CFG_PPM + SLACK_PPM)));
		step->gpu_ppm = fit_gpu(step, step->plain_ns);
	}
	step->reproduced_ns = play_ns(step, step->host_ppm, step->gpu_ppm);
	for (size_t i = 0; i < step->count; i++) {
		struct torch_launch *launch = &step->launches[i];

		launch->host_ns = host_at(launch, step->host_ppm);
		launch->overhead_ns = scaled(launch->overhead_ns, step->gpu_ppm);
		launch->sm_ns = scaled(launch->sm_ns, step->gpu_ppm);
		for (size_t bound = 0; bound < TORCH_BOUNDS; bound++)
			launch->gpu_ns[bound] = scaled(launch->gpu_ns[bound], step->gpu_ppm);
	}
}

/* Read the calls up to the end of @span. */
static void read_calls(struct stepping *stepping, const struct torch_span *span)
{
	const struct torch_trace *trace = stepping->trace;

	stepping->step->count = 0;
	stepping->ready_ns = stepping->gpu_end_ns = 0;
	stepping->waited = false;
	for (size_t i = 0; i < trace->call_count; i++) {
		const struct torch_call *call = &trace->calls[i];

		if (call->start_ns >= span->end_ns)
			break;
		read_call(stepping, call, call->start_ns >= span->start_ns);
	}
}

/* Read the launches of @span: once for the gaps between kernels, and again with these. */
static void read_step(struct stepping *stepping, const struct torch_span *span)
{
	struct torch_step *step = stepping->step;

	read_calls(stepping, span);
	step->gap_ns =
		median_gap(stepping->gaps, stepping->gap_count, stepping->gpu->kernel_gap);
	step->graph_gap_ns = median_gap(stepping->graph_gaps, stepping->graph_gap_count,
					stepping->gpu->graph_gap);
	stepping->gap_count = stepping->graph_gap_count = 0;
	read_calls(stepping, span);
	step->profiled_ns = span_ns(span);
	step->plain_ns = stepping->trace->plain_step_ns;
	fit(step);
}

int torch_step_init(struct torch_step *step, const struct torch_trace *trace,
		    const struct cfg_gpu *gpu, const char *path, struct sim_error *err)
{
	const struct torch_span *span = median_step(trace);
	struct stepping stepping = { .trace = trace, .gpu = gpu, .step = step };
	int status;

	*step = (struct torch_step){ 0 };
	if (!span)
		return sim_user_error(
			err, "%s: no step has kernels, allowed: steps that do work", path);
	step->launches = calloc(trace->call_count, sizeof(*step->launches));
	stepping.gaps = calloc(trace->kernel_count, sizeof(u64));
	stepping.graph_gaps = calloc(trace->kernel_count, sizeof(u64));
	if (step->launches && stepping.gaps && stepping.graph_gaps)
		read_step(&stepping, span);
	free(stepping.gaps);
	free(stepping.graph_gaps);
	if (step->count && max(step->profiled_ns, step->reproduced_ns) <= TORCH_STEP_MAX_NS)
		return 0;
	status = step->count ? sim_user_error(err,
					      "%s: a step is longer than 100 s, allowed: "
					      "shorter steps",
					      path) :
			       sim_runtime_error(err, "%s: out of memory", path);
	torch_step_destroy(step);
	return status;
}

void torch_step_destroy(struct torch_step *step)
{
	free(step->launches);
	*step = (struct torch_step){ 0 };
}
