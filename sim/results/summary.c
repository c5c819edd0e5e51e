// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The names of the machine's metrics, and access to the metrics of a container; see summary.h.
 */
#include "results/summary.h"

#include <stdlib.h>
#include <string.h>

#define METRIC(key_, label_, unit_, compared_)                            \
	{                                                                 \
		.key = (key_), .label = (label_), .unit = METRIC_##unit_, \
		.compared = (compared_)                                   \
	}

/*
 * A metric that folders of an older gvmsim do not have: it is unknown there. Launches are unknown
 * without a shim on the host, too, and traps under a system without them.
 */
#define LATER(key_, label_, unit_, compared_)                             \
	{                                                                 \
		.key = (key_), .label = (label_), .unit = METRIC_##unit_, \
		.compared = (compared_), .optional = true                 \
	}

const struct metric summary_metrics[SUMMARY_METRICS] = {
	[SUMMARY_GMEM_CURRENT] = METRIC("gmem.current", "GPU memory at end", BYTES, false),
	[SUMMARY_GMEM_MEAN] = METRIC("gmem.mean", "GPU memory mean", BYTES, true),
	[SUMMARY_GMEM_PEAK] = METRIC("gmem.peak", "GPU memory peak", BYTES, true),
	[SUMMARY_GMEM_SWAP] = METRIC("gmem.swap", "swapped out at end", BYTES, false),
	[SUMMARY_EVENTS_HIGH] =
		METRIC("gmem_events.high", "refused at gmem.limit.high", COUNT, false),
	[SUMMARY_EVENTS_HMEM] =
		METRIC("gmem_events.hmem", "refused at hmem.limit", COUNT, false),
	[SUMMARY_EVENTS_OOM] = METRIC("gmem_events.oom", "found no memory", COUNT, false),
	[SUMMARY_KERNELS_SUBMITTED] =
		LATER("kernels.submitted", "kernels launched", COUNT, false),
	[SUMMARY_KERNELS_ENDED] = LATER("kernels.ended", "kernels ended", COUNT, false),
	[SUMMARY_KERNELS_PER_S] = LATER("kernels.per_s", "kernel launches", PER_S, true),
	[SUMMARY_FAULTS] = METRIC("faults", "page faults", COUNT, false),
	[SUMMARY_FAULT_BATCHES] = METRIC("fault_batches", "fault batches", COUNT, false),
	[SUMMARY_EVICTIONS] = METRIC("evictions", "evictions", COUNT, false),
	[SUMMARY_BYTES_H2D] = METRIC("bytes_h2d", "host to device", BYTES, false),
	[SUMMARY_BYTES_D2H] = METRIC("bytes_d2h", "device to host", BYTES, false),
	[SUMMARY_GPU_SECONDS] = METRIC("gpu_seconds", "compute", S, false),
	[SUMMARY_SLOW_SECONDS] = LATER("slow_seconds", "part of the GPU", S, false),
	[SUMMARY_STALL_SECONDS] = METRIC("stall_seconds", "stalled on faults", S, false),
	[SUMMARY_STALL_CPU_SECONDS] =
		METRIC("stall_cpu_seconds", "CPU fault handling", S, false),
	[SUMMARY_STALL_D2H_SECONDS] =
		METRIC("stall_d2h_seconds", "device-to-host copies", S, false),
	[SUMMARY_STALL_H2D_SECONDS] =
		METRIC("stall_h2d_seconds", "host-to-device copies", S, false),
	[SUMMARY_BLOCKED_SECONDS] = METRIC("blocked_seconds", "faults of others", S, false),
	[SUMMARY_SWITCHING_SECONDS] = METRIC("switching_seconds", "context switches", S, false),
	[SUMMARY_WAITED_SECONDS] = METRIC("waited_seconds", "waited for its turn", S, false),
	[SUMMARY_IDLE_SECONDS] = METRIC("idle_seconds", "nothing to execute", S, false),
	[SUMMARY_GPU_SHARE] = METRIC("gpu_share", "GPU share", SHARE, true),
	[SUMMARY_TRAPPED_ACCESSES] = LATER("traps.accesses", "trapped accesses", COUNT, false),
	[SUMMARY_TRAPPED_SUBMISSIONS] =
		LATER("traps.submissions", "trapped writes of submissions", COUNT, false),
	[SUMMARY_TRAPPED_ENTRIES] =
		LATER("traps.entries", "trapped entries of page tables", COUNT, false),
};

const struct metric summary_gpu_metrics[SUMMARY_GPU_METRICS] = {
	[SUMMARY_GPU_BUSY] = METRIC("busy_share", "busy", SHARE, false),
	[SUMMARY_GPU_SWITCHING] = METRIC("switching_share", "switching", SHARE, false),
	[SUMMARY_GPU_STALLED] = METRIC("stalled_share", "stalled on faults", SHARE, false),
	[SUMMARY_GPU_IDLE] = METRIC("idle_share", "idle", SHARE, false),
	[SUMMARY_GPU_SWITCHES] = METRIC("switches", "context switches", COUNT, false),
};

const struct metric *summary_metric(const struct summary_container *container, size_t place,
				    const struct summary_value **ret_value)
{
	const struct app_report *report = container->report;
	size_t logged = report ? report->metric_count : 0;

	if (place < logged) {
		*ret_value = &container->values[SUMMARY_METRICS + place];
		return &report->metrics[place];
	}
	place -= logged;
	if (place >= SUMMARY_METRICS)
		return NULL;
	*ret_value = &container->values[place];
	return &summary_metrics[place];
}

const struct metric *summary_find_metric(const struct summary_container *container,
					 const char *key,
					 const struct summary_value **ret_value)
{
	const struct metric *metric;

	for (size_t i = 0; (metric = summary_metric(container, i, ret_value)); i++)
		if (!strcmp(metric->key, key))
			return metric;
	return NULL;
}

bool summary_is_told(const struct summary_container *container, const struct metric *metric)
{
	if (!container->report || !container->report->no_gpu)
		return true;
	for (size_t i = 0; i < SUMMARY_METRICS; i++)
		if (metric == &summary_metrics[i])
			return false;
	return true;
}

double summary_number(const struct summary_value *value, const struct metric *metric)
{
	switch (metric->unit) {
	case METRIC_COUNT:
	case METRIC_BYTES:
		return (double)value->count;
	default:
		return value->real;
	}
}

bool summary_has_failed(const struct summary_container *container)
{
	/* "context died at 57.100 s: why": no other status has a colon. */
	return strchr(container->status, ':') != NULL;
}

const struct summary_container *summary_find(const struct summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->container_count; i++)
		if (!strcmp(summary->containers[i].name, name))
			return &summary->containers[i];
	return NULL;
}

const char *summary_type_name(const struct summary_container *container)
{
	return container->report ? container->report->type : SUMMARY_UNKNOWN;
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

int summary_set_log(struct summary_container *container, const struct app_log *log,
		    const u64 promises_ns[APP_PROMISES], u64 end_ns)
{
	if (!container->report)
		return 0;
	return log_metrics_compute(container->report, log, promises_ns, end_ns,
				   &container->values[SUMMARY_METRICS]);
}

void summary_destroy(struct summary *summary)
{
	for (size_t i = 0; i < summary->ignored_count; i++)
		free(summary->ignored_keys[i]);
	free(summary->ignored_keys);
	free(summary->containers);
	*summary = (struct summary){ 0 };
}
