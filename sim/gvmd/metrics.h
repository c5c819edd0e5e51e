/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The names of the metrics that policies see, and the texts that they come from. */
#ifndef SIM_GVMD_METRICS_H
#define SIM_GVMD_METRICS_H

#include "gvmd/policy.h"

/* The application's report is read like a control file of this name. */
#define GVMD_REPORT "report"

/* A file that only the simulator has: what a container costs its GPU. */
#define GVMD_GPU_STAT "gpu.stat"

/* Where a metric comes from. */
struct gvmd_metric_row {
	const char *name; /* as rules and documents call it: "gcgroup.stat.pending" */
	const char *file; /* a control file, or GVMD_REPORT */
	const char *line; /* the key of its line; NULL: the file is one value */
	const char *help; /* one line */
};

extern const struct gvmd_metric_row gvmd_metrics[GVMD_METRICS];

/* The metric called @name, or GVMD_METRICS. */
enum gvmd_metric gvmd_metric_find(const char *name);

/* Take the metrics of @file into @container from @text, its content. Nonsense stays unknown. */
void gvmd_metrics_take(struct gvmd_container *container, const char *file, const char *text);

#endif
