// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim figure compute": Figure 13a of the GVM paper, sharing with enough memory for all, so that
 * only turns on the GPU matter; ours beside the published bars. With diffusion's speed while the
 * server is lightly loaded, from the authors' image log: plots/reference/lp-progress.csv.
 */
#include <math.h>

#include "apps/llm_server.h"
#include "cli/figure_bars.h"
#include "gvm/port.h"

#define FIGURE_NAME	"compute"
#define FIGURE_SCENARIO "vllm-diffusion-80g"
#define NS_PER_S	1000000000ull

/* The lightly loaded time, after the first request: the first image after it has ended by then. */
#define LIGHT_FROM_NS (44 * NS_PER_S / 10)
#define LIGHT_TO_NS   (70 * NS_PER_S)

/* When the first request of a run's server comes; ENG_NEVER: it has no server. */
static u64 first_request_ns(const struct cached_run *run)
{
	for (size_t i = 0; i < run->config.container_count; i++) {
		const struct cfg_container *container = &run->config.containers[i];

		const struct cfg_llm *llm = container->app;

		if (container->enabled && cfg_app_type_of(container) == CFG_APP_LLM_SERVER)
			return container->start + llm->client.first_request;
	}
	return ENG_NEVER;
}

/* How much of the time from @from to @to a record covers, in images: one that it covers whole is 1. */
static double image_share(const struct app_record *image, u64 from, u64 to)
{
	u64 begin = max(image->arrival_ns, from);
	u64 end = min(image->finish_ns, to);

	if (image->outcome != APP_COMPLETED || begin >= end)
		return 0;
	return (double)(end - begin) / (double)(image->finish_ns - image->arrival_ns);
}

/*
 * Diffusion's speed while the server is lightly loaded; 1 is alone. An image has one speed from its
 * beginning to its end, so this can be told of any log of images.
 */
static double light_progress(const struct cached_run *run, const struct cached_run *first)
{
	double alone_s = figure_run_value(first, CFG_APP_DIFFUSION, SUMMARY_LATENCY_P50);
	size_t diffusion = folder_find_type(&run->folder, CFG_APP_DIFFUSION);
	u64 start = first_request_ns(run);
	u64 from = start + LIGHT_FROM_NS, to = start + LIGHT_TO_NS;
	double images = 0;

	if (start == ENG_NEVER || run->folder.end_ns < to)
		return (double)NAN;
	for (size_t i = 0; i < run->folder.record_count; i++) {
		const struct folder_record *record = &run->folder.records[i];

		if (record->container == diffusion)
			images += image_share(&record->record, from, to);
	}
	return images * alone_s * (double)NS_PER_S / (double)(to - from);
}

static const struct figure_panel light_panel = {
	.key = "light_progress",
	.label = "diffusion's speed, light load",
	.title = "Diffusion: speed in the first 70 s, 1 is alone",
	.unit = "x",
	.value = light_progress,
};

static const struct figure_bars compute = {
	.name = FIGURE_NAME,
	.scenario = FIGURE_SCENARIO,
	.headline = "Sharing a GPU with enough memory: vLLM beside diffusion",
	.source = "GVM paper, Figure 13a, and its authors' image log",
	.notes = "exclusive: a GPU each\n"
		 "stock: NVIDIA's driver\n"
		 "gpreempt: priorities 0 and 15\n"
		 "MIG, TGS and XSched of the published figure are not modelled",
	.bars = figure_systems,
	.bar_count = FIGURE_SYSTEMS,
	.panels = { &figure_ttft_p50, &figure_ttft_p99, &figure_itl_p50, &figure_itl_p99,
		    &figure_throughput, &light_panel },
};

static int draw(const struct figure_args *args, struct sim_error *err)
{
	return figure_bars_make(&compute, args, err);
}

const struct figure figure_compute = {
	.name = FIGURE_NAME,
	.usage = "[--out DIR] [--scenario FILE] [--set PATH=VALUE]... [--fresh]",
	.summary = "all systems with enough memory for all (GVM Figure 13a)",
	.help = "Simulates " FIGURE_SCENARIO " under every system. Draws latencies of the LLM\n"
		"server, throughput of diffusion (mean image latency of exclusive over that of "
		"the\n"
		"bar), and its speed in the first 70 s of requests, when the server is "
		"lightly\n"
		"loaded, beside what is published in the GVM paper's Figure 13a and in its\n"
		"authors' image log.\n",
	.example = "    gvmsim figure " FIGURE_NAME "\n",
	.runs = true,
	.draw = draw,
};
