// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmsim figure ablation": Figure 14 of the GVM paper, its mechanisms switched on one after the
 * other, with a bar for Ghost; ours beside the published bars.
 */
#include "cli/figure_bars.h"
#include "gvm/port.h"

#define FIGURE_NAME	"ablation"
#define FIGURE_SCENARIO "vllm-diffusion-40g"

#define MECHANISMS(memory_, compute_, paging_)                   \
	"system.mechanisms.memory_isolation=" memory_,           \
		"system.mechanisms.compute_isolation=" compute_, \
		"system.mechanisms.fast_paging=" paging_

static const struct figure_bar bars[] = {
	{ "UVM", { "system.name=stock" } },
	{ "+MemIso", { "system.name=gvm", MECHANISMS("true", "false", "false") } },
	{ "+ComIso", { "system.name=gvm", MECHANISMS("true", "true", "false") } },
	{ "+SwapOpt", { "system.name=gvm", MECHANISMS("true", "true", "true") } },
	{ "Ghost", { "system.name=ghost" } },
};

static const struct figure_bars ablation = {
	.name = FIGURE_NAME,
	.scenario = FIGURE_SCENARIO,
	.headline = "GVM's mechanisms one after the other, and Ghost: vLLM beside diffusion",
	.source = "GVM paper, Figure 14",
	.notes = "UVM: the stock driver\n"
		 "+MemIso: gvm, memory isolation only\n"
		 "+ComIso: with compute isolation, too\n"
		 "+SwapOpt: with fast paging, too\n"
		 "Ghost: not in the published figure",
	.bars = bars,
	.bar_count = ARRAY_SIZE(bars),
	.panels = { &figure_ttft_p50, &figure_ttft_p99, &figure_itl_p50, &figure_itl_p99,
		    &figure_throughput },
};

static int draw(const struct figure_args *args, struct sim_error *err)
{
	return figure_bars_make(&ablation, args, err);
}

const struct figure figure_ablation = {
	.name = FIGURE_NAME,
	.usage = "[--out DIR] [--scenario FILE] [--set PATH=VALUE]... [--fresh]",
	.summary = "GVM's mechanisms one after the other, and Ghost (GVM Figure 14)",
	.help = "Simulates " FIGURE_SCENARIO " under the stock driver (UVM), under gvm with\n"
		"memory isolation only, with compute isolation too, with fast paging too, and\n"
		"under ghost. Draws latencies of the LLM server and throughput of diffusion "
		"(mean\n"
		"image latency of UVM over that of the bar) beside the bars of the GVM "
		"paper's\n"
		"Figure 14. A container that failed has no value, and the others of its run "
		"are\n"
		"marked with a star: they had the GPU to themselves.\n",
	.example = "    gvmsim figure " FIGURE_NAME "\n",
	.runs = true,
	.draw = draw,
};
