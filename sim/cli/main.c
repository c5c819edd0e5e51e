// SPDX-License-Identifier: MIT OR GPL-2.0
/* The program gvmsim. */
#include "cli/cmd_advise.h"
#include "cli/cmd_app.h"
#include "cli/cmd_compare.h"
#include "cli/cmd_explain.h"
#include "cli/cmd_figure.h"
#include "cli/cmd_help.h"
#include "cli/cmd_reference.h"
#include "cli/cmd_report.h"
#include "cli/cmd_run.h"
#include "cli/cmd_scenario.h"
#include "cli/cmd_sweep.h"
#include "cli/cmd_trace.h"
#include "cli/cmd_validate.h"
#include "terminal/program.h"

static const struct command *const commands[] = {
	&command_run,	    &command_figure,
	&command_report,    &command_sweep,
	&command_advise,    &command_explain,
	&command_validate,  &command_trace,
	&command_app,	    &command_scenario,
	&command_compare,   &command_help,
	&command_reference, NULL,
};

/* clang-format off */
static const struct command gvmsim = {
	.name = "gvmsim",
	.operands = "COMMAND ...",
	.about =
"gvmsim simulates containers that share one GPU: their kernels, the GPU's time\n"
"slices, its memory with page faults over the PCIe link, and the driver that\n"
"manages it. It replays recorded requests, hundreds of times as fast as a GPU.\n"
"The same scenario and seed give the same results again.\n",
	.examples =
"  An LLM server and a diffusion pipeline, first with a GPU each, then on one:\n"
"    gvmsim run vllm-diffusion-80g --system exclusive --out results/alone\n"
"    gvmsim run vllm-diffusion-80g --system stock --out results/shared\n"
"  What sharing did to them, side by side and as a picture:\n"
"    gvmsim figure alone-vs-shared results/alone results/shared\n"
"  A published figure, ours beside theirs; its runs are made first:\n"
"    gvmsim figure ablation\n"
"  The trace of requests that they replayed:\n"
"    gvmsim trace info traces/burstgpt1_gvm3256.trace --divide 200\n",
	.commands = commands,
};
/* clang-format on */

int main(int argc, char **argv)
{
	return program_main(&gvmsim, argc, argv);
}
