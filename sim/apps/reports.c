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
	METRIC_REASON_ROW("failures.refused", "    refused by the client's limit", REFUSED),
	METRIC_REASON_ROW("failures.too_long", "    too long for the server", TOO_LONG),
	METRIC_REASON_ROW("failures.out_of_memory", "    out of memory", OUT_OF_MEMORY),
	METRIC_REASON_ROW("failures.killed", "    killed", KILLED),
	METRIC_REASON_ROW("failures.stopped", "    container stopped", STOPPED),
	METRIC_REASON_ROW("failures.error", "    other errors", ERROR),
	METRIC_OUTCOME_ROW("requests.dropped", "  dropped at the end", DROPPED),
	METRIC_TIME_ROWS("ttft_ms", "TTFT", MS, TO_FIRST, ARRIVED),
	METRIC_TIME_ROWS("queue_ms", "queue time", MS, TO_START, ARRIVED),
	METRIC_TIME_ROWS("itl_ms", "ITL", MS, GAPS, ARRIVED),
	METRIC_TIME_ROWS("e2e_s", "end-to-end time", S, TO_END, ARRIVED),
	{ .key = "slo_attainment",
	  .label = "TTFT SLO attainment",
	  .unit = METRIC_SHARE,
	  .compared = true,
	  .source = METRIC_KEPT,
	  .promise = APP_PROMISE_FIRST },
	{ .key = "itl_slo_attainment",
	  .label = "ITL SLO attainment",
	  .unit = METRIC_SHARE,
	  .compared = true,
	  .source = METRIC_KEPT,
	  .promise = APP_PROMISE_GAPS },
	METRIC_RATE_ROW("goodput_per_s", "goodput", GOODPUT),
	METRIC_RATE_ROW("requests_per_s", "completed requests", COMPLETED_RATE),
	METRIC_RATE_ROW("tokens_per_s", "tokens", TOKEN_RATE),
	{ .key = "preemptions",
	  .label = "preemptions (KV)",
	  .unit = METRIC_COUNT,
	  .compared = true,
	  .source = METRIC_PREEMPTIONS },
	{ .key = "prefix_cached_tokens",
	  .label = "prompt tokens in the prefix cache",
	  .unit = METRIC_COUNT,
	  .source = METRIC_CACHED },
	METRIC_TIME_ROWS("client_ttft_ms", "client's TTFT", MS, TO_FIRST, CLIENT),
	METRIC_TIME_ROWS("client_itl_ms", "client's ITL", MS, GAPS, CLIENT),
	{ .key = "client_slo_attainment",
	  .label = "client's TTFT SLO attainment",
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
	.promises = { [APP_PROMISE_FIRST] = "slo_ttft", [APP_PROMISE_GAPS] = "slo_itl" },
	REPORT_METRICS(request_metrics),
};

static const struct metric image_metrics[] = {
	METRIC_OUTCOME_ROW("images", "images", COMPLETED),
	METRIC_RATE_ROW("images_per_s", "images a second", COMPLETED_RATE),
	METRIC_TIME_ROWS("latency_s", "image latency", S, TO_END, ARRIVED),
	METRIC_TIME_ROWS("client_latency_s", "client's image latency", S, TO_END, CLIENT),
};

const struct app_report report_images = {
	.type = "diffusion",
	.record = "image",
	.closed_loop = true,
	REPORT_METRICS(image_metrics),
};
