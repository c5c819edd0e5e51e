// SPDX-License-Identifier: MIT OR GPL-2.0
#include "gvmd/metrics.h"

#include <stdlib.h>

const struct gvmd_metric_row gvmd_metrics[GVMD_METRICS] = {
	[GVMD_GMEM_HIGH] = { "gmem.limit.high", "gmem.limit.high", NULL, "bytes, or max" },
	[GVMD_GMEM_LOW] = { "gmem.limit.low", "gmem.limit.low", NULL, "bytes, or max" },
	[GVMD_HMEM_LIMIT] = { "hmem.limit", "hmem.limit", NULL, "bytes, or max" },
	[GVMD_TIMESLICE_US] = { "compute.timeslice", "compute.timeslice", NULL,
				"microseconds" },
	[GVMD_PRIORITY] = { "compute.priority", "compute.priority", NULL,
			    "0 is the most important" },
	[GVMD_WEIGHT] = { "compute.weight", "compute.weight", NULL,
			  "share under the weighted scheduler" },
	[GVMD_FREEZE] = { "compute.freeze", "compute.freeze", NULL, "1: off the GPU" },
	[GVMD_GMEM_CURRENT] = { "gmem.current", "gmem.current", NULL, "bytes" },
	[GVMD_GMEM_PEAK] = { "gmem.peak", "gmem.peak", NULL, "bytes" },
	[GVMD_GMEM_SWAP] = { "gmem.swap.current", "gmem.swap.current", NULL, "bytes" },
	[GVMD_GMEM_CLEAN] = { "gmem.clean.current", "gmem.clean.current", NULL, "bytes" },
	[GVMD_EVENTS_HIGH] = { "gmem.events.high", "gmem.events", "high",
			       "met gmem.limit.high, so often" },
	[GVMD_EVENTS_HMEM] = { "gmem.events.hmem", "gmem.events", "hmem",
			       "met hmem.limit, so often" },
	[GVMD_EVENTS_OOM] = { "gmem.events.oom", "gmem.events", "oom", "found no memory" },
	[GVMD_SUBMITTED] = { "gcgroup.stat.submitted", "gcgroup.stat",
			     "nr_submitted_kernels:", "kernels so far" },
	[GVMD_ENDED] = { "gcgroup.stat.ended", "gcgroup.stat",
			 "nr_ended_kernels:", "kernels so far" },
	[GVMD_PENDING] = { "gcgroup.stat.pending", "gcgroup.stat",
			   "nr_pending_kernels:", "kernels now" },
	[GVMD_BUSY_US] = { "gpu.stat.busy_us", GVMD_GPU_STAT, "busy_us",
			   "time of its kernels so far, microseconds; simulator only" },
	[GVMD_STALLED_US] = { "gpu.stat.stalled_us", GVMD_GPU_STAT, "stalled_us",
			      "time so far in which it held the GPU for its faults; simulator "
			      "only" },
	[GVMD_FENCE_SAMPLE] = { "fence.sample", "fence.sample", NULL,
				"one launch of so many is counted; 0: none" },
	[GVMD_FENCE_SAMPLED] = { "fence.stat.sampled", "fence.stat",
				 "sampled:", "counted launches so far" },
	[GVMD_FENCE_FOUND] = { "fence.stat.found", "fence.stat",
			       "found_launches:", "of these, launches with wild accesses" },
	[GVMD_TTFT_US] = { "report.ttft_us", GVMD_REPORT, "ttft_us",
			   "longest time to first token of the last second, microseconds" },
	[GVMD_WAITING] = { "report.waiting", GVMD_REPORT, "waiting",
			   "requests without a first token" },
};

enum gvmd_metric gvmd_metric_find(const char *name)
{
	enum gvmd_metric metric = 0;

	while (metric < GVMD_METRICS && strcmp(gvmd_metrics[metric].name, name) != 0)
		metric++;
	return metric;
}

/* A number with an optional unit "us", or "max". False: it is neither. */
static bool metric_number(const char *text, u64 *ret_value)
{
	char *end;

	text += strspn(text, " ");
	if (!strncmp(text, "max", 3)) {
		*ret_value = GVMD_NO_LIMIT;
		return true;
	}
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_value = strtoull(text, &end, 10);
	end += !strncmp(end, "us", 2) ? 2 : 0;
	return !errno && (!*end || *end == '\n' || *end == ' ');
}

/* The text after the key @line in a text of lines, or NULL. */
static const char *metric_line(const char *text, const char *line)
{
	size_t length = strlen(line);

	while (text && (strncmp(text, line, length) != 0 || text[length] != ' ')) {
		text = strchr(text, '\n');
		text += text ? 1 : 0;
	}
	return text ? text + length : NULL;
}

void gvmd_metrics_take(struct gvmd_container *container, const char *file, const char *text)
{
	for (int i = 0; i < GVMD_METRICS; i++) {
		const struct gvmd_metric_row *row = &gvmd_metrics[i];
		const char *value = text;

		if (strcmp(row->file, file) != 0)
			continue;
		if (row->line)
			value = metric_line(text, row->line);
		container->known &= ~(1ull << i);
		if (value && metric_number(value, &container->value[i]))
			container->known |= 1ull << i;
	}
}
