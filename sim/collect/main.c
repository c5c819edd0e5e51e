// SPDX-License-Identifier: MIT OR GPL-2.0
/* The program gvmcollect. */
#include "collect/cmd_logs.h"
#include "collect/cmd_sample.h"
#include "terminal/program.h"

static const struct command *const commands[] = { &command_sample, &command_logs, NULL };

/* clang-format off */
static const struct command gvmcollect = {
	.name = "gvmcollect",
	.operands = "COMMAND ...",
	.about =
"gvmcollect runs on a host with a real GPU. It watches the containers that share it and writes\n"
"the results folder that gvmsim writes, to put hardware beside a simulation.\n",
	.examples =
"  An LLM server and a diffusion pipeline run. Collect during a benchmark, then compare with the\n"
"  scenario that describes them:\n"
"    gvmcollect sample --container vllm=4201 --container diffusion=4242 --duration 640s\n"
"    gvmcollect logs results/hardware --requests vllm=bench.json --images diffusion=images.csv\n"
"    gvmsim run vllm-diffusion-80g --system stock --out results/simulated\n"
"    gvmsim validate results results/hardware results/simulated\n"
"    gvmsim figure alone-vs-shared results/hardware results/simulated\n",
	.commands = commands,
};
/* clang-format on */

int main(int argc, char **argv)
{
	return program_main(&gvmcollect, argc, argv);
}
