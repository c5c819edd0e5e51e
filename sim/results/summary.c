// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Statistics: their names, and those of what applications logged; see summary.h.
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
#include <stdlib.h>
#include <string.h>

#include "engine/stats.h"

#define NS_PER_MS 1e6
#define NS_PER_S  1e9

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
	[SUMMARY_ROUNDS] = METRIC("rounds", "rounds", COUNT, PAGES, true),
	[SUMMARY_ROUND_MEAN] = METRIC("round_ms.mean", "round mean", MS, PAGES, true),
	[SUMMARY_ROUND_P50] = METRIC("round_ms.p50", "round p50", MS, PAGES, true),
	[SUMMARY_ROUND_P99] = METRIC("round_ms.p99", "round p99", MS, PAGES, true),
	[SUMMARY_ROUND_MAX] = METRIC("round_ms.max", "round max", MS, PAGES, false),
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
	static const char *const names[] = {
		[CFG_APP_LLM_SERVER] = "llm-server",
		[CFG_APP_DIFFUSION] = "diffusion",
		[CFG_APP_PAGES] = "pages",
		[CFG_APP_UNKNOWN] = "unknown",
	};

	return names[type];
}

void summary_set_count(struct summary_container *container, enum summary_metric_id metric,
		       u64 count)
{
	container->values[metric] = (struct summary_value){ .known = true, .count = count };
}

void summary_set_real(struct summary_container *container, enum summary_metric_id metric,
		      double real)
{
	container->values[metric] = (struct summary_value){ .known = true, .real = real };
}

/* What is said of a distribution: mean, p50, p90, p99 and the most. SUMMARY_METRICS: not that. */
#define DISTRIBUTION 5

/* Statistics of @times, which is sorted here. */
static void set_distribution(struct summary_container *container, uint64_t *times, size_t count,
			     double ns_per_unit, const enum summary_metric_id ids[DISTRIBUTION])
{
	static const unsigned int percents[DISTRIBUTION] = { 0, 50, 90, 99, 100 };

	if (!count)
		return;
	stats_sort_u64(times, count);
	summary_set_real(container, ids[0], stats_mean_u64(times, count) / ns_per_unit);
	for (size_t i = 1; i < DISTRIBUTION; i++)
		if (ids[i] != SUMMARY_METRICS)
			summary_set_real(container, ids[i],
					 stats_percentile_u64(times, count, percents[i]) /
						 ns_per_unit);
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
	summary_set_count(container, SUMMARY_ARRIVED, log->arrived);
	summary_set_count(container, SUMMARY_COMPLETED, count_outcome(log, APP_COMPLETED));
	summary_set_count(container, SUMMARY_FAILED, count_outcome(log, APP_FAILED));
	summary_set_count(container, SUMMARY_DROPPED, count_outcome(log, APP_DROPPED));
}

/* Over completed requests. */
static int compute_ttft(struct summary_container *container, const struct app_log *log)
{
	static const enum summary_metric_id ids[DISTRIBUTION] = {
		SUMMARY_TTFT_MEAN, SUMMARY_TTFT_P50, SUMMARY_TTFT_P90, SUMMARY_TTFT_P99,
		SUMMARY_METRICS
	};
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
	static const enum summary_metric_id ids[DISTRIBUTION] = {
		SUMMARY_ITL_MEAN, SUMMARY_ITL_P50, SUMMARY_ITL_P90, SUMMARY_ITL_P99,
		SUMMARY_METRICS
	};
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
		summary_set_real(container, SUMMARY_SLO_ATTAINMENT,
				 (double)in_time / (double)finished);
}

static int compute_llm(struct summary_container *container, const struct app_log *log,
		       u64 slo_ns)
{
	int rc;

	compute_requests(container, log);
	rc = compute_ttft(container, log);
	if (!rc)
		rc = compute_itl(container, log);
	if (slo_ns)
		compute_slo(container, log, slo_ns);
	return rc;
}

/* How long each image or round took that was completed; ids as in set_distribution(). */
static int compute_loop(struct summary_container *container, const struct app_log *log,
			enum summary_metric_id count_id, double ns_per_unit,
			const enum summary_metric_id ids[DISTRIBUTION])
{
	uint64_t *times = alloc_times(log->record_count);
	size_t count = 0;

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < log->record_count; i++)
		if (log->records[i].outcome == APP_COMPLETED)
			times[count++] = log->records[i].finish_ns - log->records[i].arrival_ns;
	summary_set_count(container, count_id, count);
	set_distribution(container, times, count, ns_per_unit, ids);
	free(times);
	return 0;
}

static int compute_diffusion(struct summary_container *container, const struct app_log *log)
{
	static const enum summary_metric_id ids[DISTRIBUTION] = {
		SUMMARY_LATENCY_MEAN, SUMMARY_LATENCY_P50, SUMMARY_METRICS, SUMMARY_LATENCY_P99,
		SUMMARY_METRICS
	};

	return compute_loop(container, log, SUMMARY_IMAGES, NS_PER_S, ids);
}

static int compute_pages(struct summary_container *container, const struct app_log *log)
{
	static const enum summary_metric_id ids[DISTRIBUTION] = {
		SUMMARY_ROUND_MEAN, SUMMARY_ROUND_P50, SUMMARY_METRICS, SUMMARY_ROUND_P99,
		SUMMARY_ROUND_MAX
	};

	return compute_loop(container, log, SUMMARY_ROUNDS, NS_PER_MS, ids);
}

int summary_set_log(struct summary_container *container, const struct app_log *log, u64 slo_ns)
{
	switch (container->type) {
	case CFG_APP_LLM_SERVER:
		return compute_llm(container, log, slo_ns);
	case CFG_APP_DIFFUSION:
		return compute_diffusion(container, log);
	case CFG_APP_PAGES:
		return compute_pages(container, log);
	case CFG_APP_UNKNOWN:
		break;
	}
	return 0;
}

void summary_destroy(struct summary *summary)
{
	for (size_t i = 0; i < summary->ignored_count; i++)
		free(summary->ignored_keys[i]);
	free(summary->ignored_keys);
	free(summary->containers);
	*summary = (struct summary){ 0 };
}
