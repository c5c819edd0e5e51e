// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim figure isolation": Figure 12a of the GVM paper, sharing under memory pressure by system;
 * ours beside the published bars.
 */
#include "cli/figure_bars.h"

#define FIGURE_NAME	"isolation"
#define FIGURE_SCENARIO "vllm-diffusion-40g"

static const struct figure_bars isolation = {
	.name = FIGURE_NAME,
	.scenario = FIGURE_SCENARIO,
	.headline = "Sharing a GPU without enough memory: vLLM beside diffusion",
	.source = "GVM paper, Figure 12a",
	.notes = "exclusive: a GPU each\n"
		 "stock: NVIDIA's driver, published: UVM of Figure 14\n"
		 "gpreempt: priorities 0 and 15, no memory limits\n"
		 "ghost: not in the published figure\n"
		 "TGS and XSched of the published figure are not modelled.",
	.bars = figure_systems,
	.bar_count = FIGURE_SYSTEMS,
	.panels = { &figure_ttft_p50, &figure_ttft_p99, &figure_itl_p50, &figure_itl_p99,
		    &figure_throughput },
};

static int draw(const struct figure_args *args, struct sim_error *err)
{
	return figure_bars_make(&isolation, args, err);
}

const struct figure figure_isolation = {
	.name = FIGURE_NAME,
	.usage = "[--out DIR] [--scenario FILE] [--set PATH=VALUE]... [--fresh]",
	.summary = "all systems under memory pressure (GVM Figure 12a)",
	.help = "Simulates " FIGURE_SCENARIO " under every system. Draws latencies of the LLM\n"
		"server and throughput of diffusion (mean image latency of exclusive over that "
		"of\n"
		"the bar) beside the bars of the GVM paper's Figure 12a. A container that "
		"failed\n"
		"has no value, and the others of its run are marked with a star: they had the\n"
		"GPU to themselves.\n",
	.example = "    gvmsim figure " FIGURE_NAME "\n",
	.runs = true,
	.draw = draw,
};
