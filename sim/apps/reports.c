// SPDX-License-Identifier: MIT OR GPL-2.0
/* Reports that logs of real applications are turned into as well; see report.h. */
#include "apps/report.h"

static const struct metric request_metrics[] = {
	{ .key = "requests.arrived",
	  .label = "requests arrived",
	  .unit = METRIC_COUNT,
	  .compared = true,
	  .source = METRIC_ARRIVALS },
	METRIC_OUTCOME_ROW("requests.completed", "  completed", COMPLETED),
	METRIC_OUTCOME_ROW("requests.failed", "  failed", FAILED),
	METRIC_OUTCOME_ROW("requests.dropped", "  dropped", DROPPED),
	METRIC_TIME_ROW("ttft_ms.mean", "TTFT mean", MS, TO_FIRST, METRIC_MEAN, true),
	METRIC_TIME_ROW("ttft_ms.p50", "TTFT p50", MS, TO_FIRST, 50, true),
	METRIC_TIME_ROW("ttft_ms.p90", "TTFT p90", MS, TO_FIRST, 90, false),
	METRIC_TIME_ROW("ttft_ms.p99", "TTFT p99", MS, TO_FIRST, 99, true),
	METRIC_TIME_ROW("itl_ms.mean", "ITL mean", MS, GAPS, METRIC_MEAN, true),
	METRIC_TIME_ROW("itl_ms.p50", "ITL p50", MS, GAPS, 50, true),
	METRIC_TIME_ROW("itl_ms.p90", "ITL p90", MS, GAPS, 90, false),
	METRIC_TIME_ROW("itl_ms.p99", "ITL p99", MS, GAPS, 99, true),
	{ .key = "slo_attainment",
	  .label = "SLO attainment",
	  .unit = METRIC_SHARE,
	  .compared = true,
	  .source = METRIC_KEPT },
};

const struct app_report report_requests = {
	.type = "llm-server",
	.record = "request",
	.has_tokens = true,
	.promise = "slo_ttft",
	REPORT_METRICS(request_metrics),
};

static const struct metric image_metrics[] = {
	METRIC_OUTCOME_ROW("images", "images", COMPLETED),
	METRIC_TIME_ROW("latency_s.mean", "image latency mean", S, TO_END, METRIC_MEAN, true),
	METRIC_TIME_ROW("latency_s.p50", "image latency p50", S, TO_END, 50, true),
	METRIC_TIME_ROW("latency_s.p99", "image latency p99", S, TO_END, 99, true),
};

const struct app_report report_images = {
	.type = "diffusion",
	.record = "image",
	REPORT_METRICS(image_metrics),
};
