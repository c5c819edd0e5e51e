// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Statistics of a run; see summary.h.
 *
 * Who counts where is the benchmark client's view, because that is what was measured: TTFT and
 * inter-token gaps are over completed requests only; requests that the client dropped when it
 * stopped are in no statistic; a request that failed has finished and so counts against the SLO,
 * unless its first token had come in time.
 *
 * Everything is a sum of integers or an exact order statistic, followed by single divisions: the
 * digits do not depend on the compiler.
 */
#include "results/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "engine/stats.h"

#ifndef GVMSIM_VERSION
#define GVMSIM_VERSION "unknown"
#endif

#define NS_PER_MS     1e6
#define NS_PER_S      1e9
#define NS_PER_MS_INT 1000000ull
#define IGNORED_MAX   (2 * CFG_NAME_MAX + 32)

#define METRIC(key_, label_, unit_, apps_, compared_)                           \
	{                                                                       \
		.key = (key_), .label = (label_), .unit = SUMMARY_UNIT_##unit_, \
		.apps = SUMMARY_FOR_##apps_, .compared = (compared_)            \
	}

const struct summary_metric summary_metrics[SUMMARY_METRICS] = {
	[SUMMARY_ARRIVED] = METRIC("requests.arrived", "requests arrived", COUNT, LLM, true),
	[SUMMARY_COMPLETED] = METRIC("requests.completed", "  completed", COUNT, LLM, true),
	[SUMMARY_FAILED] = METRIC("requests.failed", "  failed", COUNT, LLM, true),
	[SUMMARY_DROPPED] = METRIC("requests.dropped", "  dropped", COUNT, LLM, true),
	[SUMMARY_TTFT_MEAN] = METRIC("ttft_ms.mean", "TTFT mean", MS, LLM, true),
	[SUMMARY_TTFT_P50] = METRIC("ttft_ms.p50", "TTFT p50", MS, LLM, true),
	[SUMMARY_TTFT_P90] = METRIC("ttft_ms.p90", "TTFT p90", MS, LLM, false),
	[SUMMARY_TTFT_P99] = METRIC("ttft_ms.p99", "TTFT p99", MS, LLM, true),
	[SUMMARY_ITL_MEAN] = METRIC("itl_ms.mean", "ITL mean", MS, LLM, true),
	[SUMMARY_ITL_P50] = METRIC("itl_ms.p50", "ITL p50", MS, LLM, true),
	[SUMMARY_ITL_P90] = METRIC("itl_ms.p90", "ITL p90", MS, LLM, false),
	[SUMMARY_ITL_P99] = METRIC("itl_ms.p99", "ITL p99", MS, LLM, true),
	[SUMMARY_SLO_ATTAINMENT] = METRIC("slo_attainment", "SLO attainment", SHARE, LLM, true),
	[SUMMARY_IMAGES] = METRIC("images", "images", COUNT, DIFFUSION, true),
	[SUMMARY_LATENCY_MEAN] =
		METRIC("latency_s.mean", "image latency mean", S, DIFFUSION, true),
	[SUMMARY_LATENCY_P50] =
		METRIC("latency_s.p50", "image latency p50", S, DIFFUSION, true),
	[SUMMARY_LATENCY_P99] =
		METRIC("latency_s.p99", "image latency p99", S, DIFFUSION, true),
	[SUMMARY_GMEM_CURRENT] = METRIC("gmem.current", "GPU memory at end", BYTES, ALL, false),
	[SUMMARY_GMEM_PEAK] = METRIC("gmem.peak", "GPU memory peak", BYTES, ALL, false),
	[SUMMARY_GMEM_SWAP] = METRIC("gmem.swap", "swapped out at end", BYTES, ALL, false),
	[SUMMARY_EVENTS_HIGH] =
		METRIC("gmem_events.high", "refused at gmem.limit.high", COUNT, ALL, false),
	[SUMMARY_EVENTS_HMEM] =
		METRIC("gmem_events.hmem", "refused at hmem.limit", COUNT, ALL, false),
	[SUMMARY_EVENTS_OOM] = METRIC("gmem_events.oom", "found no memory", COUNT, ALL, false),
	[SUMMARY_FAULTS] = METRIC("faults", "page faults", COUNT, ALL, false),
	[SUMMARY_FAULT_BATCHES] = METRIC("fault_batches", "fault batches", COUNT, ALL, false),
	[SUMMARY_EVICTIONS] = METRIC("evictions", "evictions", COUNT, ALL, false),
	[SUMMARY_BYTES_H2D] = METRIC("bytes_h2d", "host to device", BYTES, ALL, false),
	[SUMMARY_BYTES_D2H] = METRIC("bytes_d2h", "device to host", BYTES, ALL, false),
	[SUMMARY_GPU_SECONDS] = METRIC("gpu_seconds", "compute", S, ALL, false),
	[SUMMARY_STALL_SECONDS] = METRIC("stall_seconds", "stalled on faults", S, ALL, false),
	[SUMMARY_STALL_CPU_SECONDS] =
		METRIC("stall_cpu_seconds", "CPU fault handling", S, ALL, false),
	[SUMMARY_STALL_D2H_SECONDS] =
		METRIC("stall_d2h_seconds", "device-to-host copies", S, ALL, false),
	[SUMMARY_STALL_H2D_SECONDS] =
		METRIC("stall_h2d_seconds", "host-to-device copies", S, ALL, false),
	[SUMMARY_BLOCKED_SECONDS] =
		METRIC("blocked_seconds", "faults of others", S, ALL, false),
	[SUMMARY_GPU_SHARE] = METRIC("gpu_share", "GPU share", SHARE, ALL, true),
};

bool summary_has(const struct summary_container *container, enum summary_metric_id metric)
{
	return summary_metrics[metric].apps & (1u << container->type);
}

double summary_number(const struct summary_value *value, enum summary_metric_id metric)
{
	switch (summary_metrics[metric].unit) {
	case SUMMARY_UNIT_COUNT:
	case SUMMARY_UNIT_BYTES:
		return (double)value->count;
	default:
		return value->real;
	}
}

const struct summary_container *summary_find(const struct summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->container_count; i++)
		if (!strcmp(summary->containers[i].name, name))
			return &summary->containers[i];
	return NULL;
}

const char *summary_type_name(enum cfg_app_type type)
{
	return type == CFG_APP_LLM_SERVER ? "llm-server" : "diffusion";
}

static void set_count(struct summary_container *container, enum summary_metric_id metric,
		      u64 count)
{
	container->values[metric] = (struct summary_value){ .known = true, .count = count };
}

static void set_real(struct summary_container *container, enum summary_metric_id metric,
		     double real)
{
	container->values[metric] = (struct summary_value){ .known = true, .real = real };
}

/* Statistics of @times (which is sorted); ids of mean, p50, p90 and p99, SUMMARY_METRICS: none. */
static void set_distribution(struct summary_container *container, uint64_t *times, size_t count,
			     double ns_per_unit, const enum summary_metric_id ids[4])
{
	static const unsigned int percents[4] = { 0, 50, 90, 99 };

	if (!count)
		return;
	stats_sort_u64(times, count);
	set_real(container, ids[0], stats_mean_u64(times, count) / ns_per_unit);
	for (size_t i = 1; i < 4; i++)
		if (ids[i] != SUMMARY_METRICS)
			set_real(container, ids[i],
				 stats_percentile_u64(times, count, percents[i]) / ns_per_unit);
}

/* Room for @count times; at least one, so that NULL means no memory. */
static uint64_t *alloc_times(size_t count)
{
	return calloc(count + 1, sizeof(uint64_t));
}

static u64 count_outcome(const struct app_log *log, enum app_outcome outcome)
{
	u64 count = 0;

	for (size_t i = 0; i < log->record_count; i++)
		count += log->records[i].outcome == outcome;
	return count;
}

static void compute_requests(struct summary_container *container, const struct app_log *log)
{
	set_count(container, SUMMARY_ARRIVED, log->arrived);
	set_count(container, SUMMARY_COMPLETED, count_outcome(log, APP_COMPLETED));
	set_count(container, SUMMARY_FAILED, count_outcome(log, APP_FAILED));
	set_count(container, SUMMARY_DROPPED, count_outcome(log, APP_DROPPED));
}

/* Over completed requests. */
static int compute_ttft(struct summary_container *container, const struct app_log *log)
{
	static const enum summary_metric_id ids[4] = { SUMMARY_TTFT_MEAN, SUMMARY_TTFT_P50,
						       SUMMARY_TTFT_P90, SUMMARY_TTFT_P99 };
	uint64_t *times = alloc_times(log->record_count);
	size_t count = 0;

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < log->record_count; i++) {
		const struct app_record *record = &log->records[i];

		if (record->outcome == APP_COMPLETED && record->first_ns)
			times[count++] = record->first_ns - record->arrival_ns;
	}
	set_distribution(container, times, count, NS_PER_MS, ids);
	free(times);
	return 0;
}

/* The log keeps its own order of gaps: a copy is sorted. */
static int compute_itl(struct summary_container *container, const struct app_log *log)
{
	static const enum summary_metric_id ids[4] = { SUMMARY_ITL_MEAN, SUMMARY_ITL_P50,
						       SUMMARY_ITL_P90, SUMMARY_ITL_P99 };
	uint64_t *gaps = alloc_times(log->gap_count);

	if (!gaps)
		return -ENOMEM;
	for (size_t i = 0; i < log->gap_count; i++)
		gaps[i] = log->gaps_ns[i];
	set_distribution(container, gaps, log->gap_count, NS_PER_MS, ids);
	free(gaps);
	return 0;
}

/* Share of finished requests, completed or failed, whose first token came in time. */
static void compute_slo(struct summary_container *container, const struct app_log *log,
			u64 slo_ns)
{
	u64 finished = 0;
	u64 in_time = 0;

	for (size_t i = 0; i < log->record_count; i++) {
		const struct app_record *record = &log->records[i];

		if (record->outcome == APP_DROPPED)
			continue;
		finished++;
		in_time += record->first_ns && record->first_ns - record->arrival_ns <= slo_ns;
	}
	if (finished)
		set_real(container, SUMMARY_SLO_ATTAINMENT, (double)in_time / (double)finished);
}

static int compute_llm(struct summary_container *container, const struct tenant *tenant)
{
	int rc;

	compute_requests(container, &tenant->log);
	rc = compute_ttft(container, &tenant->log);
	if (!rc)
		rc = compute_itl(container, &tenant->log);
	compute_slo(container, &tenant->log, tenant->cfg->llm.client.slo_ttft);
	return rc;
}

static int compute_diffusion(struct summary_container *container, const struct tenant *tenant)
{
	static const enum summary_metric_id ids[4] = { SUMMARY_LATENCY_MEAN,
						       SUMMARY_LATENCY_P50, SUMMARY_METRICS,
						       SUMMARY_LATENCY_P99 };
	const struct app_log *log = &tenant->log;
	uint64_t *times = alloc_times(log->record_count);
	size_t count = 0;

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < log->record_count; i++)
		if (log->records[i].outcome == APP_COMPLETED)
			times[count++] = log->records[i].finish_ns - log->records[i].arrival_ns;
	set_count(container, SUMMARY_IMAGES, count);
	set_distribution(container, times, count, NS_PER_S, ids);
	free(times);
	return 0;
}

static void set_seconds(struct summary_container *container, enum summary_metric_id metric,
			u64 ns)
{
	set_real(container, metric, (double)ns / NS_PER_S);
}

static void compute_times(struct summary_container *container, const struct tenant_usage *usage)
{
	set_seconds(container, SUMMARY_GPU_SECONDS, usage->busy_ns);
	set_seconds(container, SUMMARY_STALL_SECONDS, usage->stall_ns);
	set_seconds(container, SUMMARY_STALL_CPU_SECONDS, tenant_usage_cpu_ns(usage));
	set_seconds(container, SUMMARY_STALL_D2H_SECONDS, usage->stall_d2h_ns);
	set_seconds(container, SUMMARY_STALL_H2D_SECONDS, usage->stall_h2d_ns);
	set_seconds(container, SUMMARY_BLOCKED_SECONDS, usage->blocked_ns);
}

static void compute_gpu(struct summary_container *container, const struct tenant *tenant)
{
	const struct sim_process_stats *stats = &tenant->stats;
	const struct tenant_usage *usage = &tenant->usage;

	set_count(container, SUMMARY_GMEM_CURRENT, tenant->gmem_current);
	set_count(container, SUMMARY_GMEM_PEAK, tenant->gmem_peak);
	set_count(container, SUMMARY_GMEM_SWAP, tenant->gmem_swap);
	set_count(container, SUMMARY_EVENTS_HIGH, tenant->events[GVM_EVENT_HIGH]);
	set_count(container, SUMMARY_EVENTS_HMEM, tenant->events[GVM_EVENT_HMEM]);
	set_count(container, SUMMARY_EVENTS_OOM, tenant->events[GVM_EVENT_OOM]);
	set_count(container, SUMMARY_FAULTS, stats->faults);
	set_count(container, SUMMARY_FAULT_BATCHES, stats->fault_batches);
	set_count(container, SUMMARY_EVICTIONS, usage->evictions);
	set_count(container, SUMMARY_BYTES_H2D, usage->bytes_h2d);
	set_count(container, SUMMARY_BYTES_D2H, usage->bytes_d2h);
	compute_times(container, usage);
	if (tenant->machine->end_ns)
		set_real(container, SUMMARY_GPU_SHARE,
			 (double)usage->busy_ns / (double)tenant->machine->end_ns);
}

/* What became of the container, in words. A dead context is a result, not an error of ours. */
static void compute_status(struct summary_container *container, const struct tenant *tenant)
{
	u64 ms = tenant->failed_ns / NS_PER_MS_INT;
	const char *what = "context died";
	const char *why = "a page fault found no free memory and nothing to evict";

	if (!tenant->status) {
		snprintf(container->status, sizeof(container->status), "%s",
			 tenant->cfg->start < tenant->machine->end_ns ? SUMMARY_OK :
									"not started");
		return;
	}
	if (tenant->status != -EIO) {
		what = "application failed";
		why = strerror(-tenant->status);
	}
	snprintf(container->status, sizeof(container->status), "%s at %llu.%03llu s: %s", what,
		 ms / 1000, ms % 1000, why);
}

static int compute_container(struct summary_container *container, const struct tenant *tenant)
{
	snprintf(container->name, sizeof(container->name), "%s", tenant->cfg->name);
	container->type = tenant->cfg->app_type;
	compute_status(container, tenant);
	compute_gpu(container, tenant);
	switch (container->type) {
	case CFG_APP_LLM_SERVER:
		return compute_llm(container, tenant);
	case CFG_APP_DIFFUSION:
		return compute_diffusion(container, tenant);
	}
	return 0;
}

static int add_ignored(struct summary *summary, const char *key)
{
	size_t size = (summary->ignored_count + 1) * sizeof(*summary->ignored_keys);
	char **keys = realloc(summary->ignored_keys, size);

	if (!keys)
		return -ENOMEM;
	summary->ignored_keys = keys;
	keys[summary->ignored_count] = strdup(key);
	if (!keys[summary->ignored_count])
		return -ENOMEM;
	summary->ignored_count++;
	return 0;
}

static int find_ignored_controls(struct summary *summary, const struct tenant *tenant)
{
	const struct machine *machine = tenant->machine;
	char key[IGNORED_MAX];
	int rc = 0;

	for (size_t i = 0; !rc && i < tenant->cfg->control_count; i++) {
		const struct cfg_control *control = &tenant->cfg->controls[i];

		if (!*control->text || machine->system->honours(machine->config, control->file))
			continue;
		snprintf(key, sizeof(key), "containers.%s.%s", tenant->cfg->name,
			 control->file);
		rc = add_ignored(summary, key);
	}
	return rc;
}

/* A wish to listen where nobody is told anything. */
static int find_ignored_pressure(struct summary *summary, const struct tenant *tenant)
{
	char key[IGNORED_MAX];

	if (!tenant->cfg->pressure || tenant->machine->system->has_pressure)
		return 0;
	snprintf(key, sizeof(key), "containers.%s.app.pressure", tenant->cfg->name);
	return add_ignored(summary, key);
}

/* Events are counted as in config.json: in the order of time. */
static int find_ignored_events(struct summary *summary, const struct machine *machine)
{
	char key[IGNORED_MAX];
	int rc = 0;

	for (size_t i = 0; !rc && i < machine->config->event_count; i++) {
		if (machine->system->honours(machine->config, machine->config->events[i].file))
			continue;
		snprintf(key, sizeof(key), "events.%zu.file", i);
		rc = add_ignored(summary, key);
	}
	return rc;
}

/* Keys that nothing here reads yet, whatever the system. */
static int find_ignored_unused(struct summary *summary, const struct config *config)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < config->unused_count; i++)
		rc = add_ignored(summary, config->unused_keys[i]);
	return rc;
}

/* Switches of mechanisms that this system does not have. */
static int find_ignored_mechanisms(struct summary *summary, const struct machine *machine)
{
	const struct config *config = machine->config;
	int rc = 0;

	if (machine->system->has_mechanisms)
		return 0;
	for (size_t i = 0; !rc && i < config->mechanism_count; i++)
		rc = add_ignored(summary, config->mechanism_keys[i]);
	return rc;
}

static int find_ignored(struct summary *summary, const struct machine *machine)
{
	int rc = find_ignored_unused(summary, machine->config);

	if (!rc)
		rc = find_ignored_mechanisms(summary, machine);
	for (u32 i = 0; !rc && i < machine->tenant_count; i++) {
		rc = find_ignored_pressure(summary, &machine->tenants[i]);
		if (!rc)
			rc = find_ignored_controls(summary, &machine->tenants[i]);
	}
	return rc ? rc : find_ignored_events(summary, machine);
}

static void compute_head(struct summary *summary, const struct machine *machine)
{
	const struct config *config = machine->config;

	snprintf(summary->name, sizeof(summary->name), "%s", config->name);
	snprintf(summary->system, sizeof(summary->system), "%s", machine->system->name);
	snprintf(summary->config_hash, sizeof(summary->config_hash), "%s", config->hash);
	snprintf(summary->version, sizeof(summary->version), "%s", GVMSIM_VERSION);
	summary->complete = !machine->interrupted;
	summary->seed = config->seed;
	summary->gpu_reserved = config->gpu.memory_total - config->gpu.memory;
	summary->sim_seconds = (double)machine->end_ns / NS_PER_S;
	summary->wall_seconds = (double)machine->wall_ns / NS_PER_S;
	if (machine->wall_ns)
		summary->speedup = (struct summary_value){
			.known = true,
			.real = (double)machine->end_ns / (double)machine->wall_ns,
		};
}

int summary_compute(struct summary *summary, const struct machine *machine,
		    struct sim_error *err)
{
	int rc = 0;

	*summary = (struct summary){ 0 };
	compute_head(summary, machine);
	summary->containers = calloc(machine->tenant_count + 1, sizeof(*summary->containers));
	if (!summary->containers)
		return sim_runtime_error(err, "out of memory for the results");
	for (u32 i = 0; !rc && i < machine->tenant_count; i++)
		rc = compute_container(&summary->containers[summary->container_count++],
				       &machine->tenants[i]);
	if (!rc)
		rc = find_ignored(summary, machine);
	if (!rc)
		return 0;
	summary_destroy(summary);
	return sim_runtime_error(err, "out of memory for the results");
}

void summary_destroy(struct summary *summary)
{
	for (size_t i = 0; i < summary->ignored_count; i++)
		free(summary->ignored_keys[i]);
	free(summary->ignored_keys);
	free(summary->containers);
	*summary = (struct summary){ 0 };
}
