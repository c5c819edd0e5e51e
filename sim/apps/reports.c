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
	METRIC_TIME_ROWS("ttft_ms", "TTFT", MS, TO_FIRST, ARRIVED),
	METRIC_TIME_ROWS("itl_ms", "ITL", MS, GAPS, ARRIVED),
	{ .key = "slo_attainment",
	  .label = "SLO attainment",
	  .unit = METRIC_SHARE,
	  .compared = true,
	  .source = METRIC_KEPT,
	  .promise = APP_PROMISE_FIRST },
	METRIC_TIME_ROWS("client_ttft_ms", "client's TTFT", MS, TO_FIRST, CLIENT),
	METRIC_TIME_ROWS("client_itl_ms", "client's ITL", MS, GAPS, CLIENT),
	{ .key = "client_slo_attainment",
	  .label = "client's SLO attainment",
	  .unit = METRIC_SHARE,
	  .compared = true,
	  .source = METRIC_KEPT,
	  .view = METRIC_OF_CLIENT,
	  .promise = APP_PROMISE_FIRST },
};

const struct app_report report_requests = {
	.type = "llm-server",
	.record = "request",
	.has_tokens = true,
	.promises = { [APP_PROMISE_FIRST] = "slo_ttft" },
	REPORT_METRICS(request_metrics),
};

static const struct metric image_metrics[] = {
	METRIC_OUTCOME_ROW("images", "images", COMPLETED),
	METRIC_TIME_ROWS("latency_s", "image latency", S, TO_END, ARRIVED),
	METRIC_TIME_ROWS("client_latency_s", "client's image latency", S, TO_END, CLIENT),
};

const struct app_report report_images = {
	.type = "diffusion",
	.record = "image",
	.closed_loop = true,
	REPORT_METRICS(image_metrics),
};
