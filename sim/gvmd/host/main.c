// SPDX-License-Identifier: MIT OR GPL-2.0
/* The program gvmd. */
#include "gvmd/host/cmd_daemon.h"
#include "gvmd/host/cmd_hook.h"
#include "gvmd/host/cmd_policies.h"
#include "gvmd/host/cmd_pressure.h"
#include "gvmd/host/cmd_runtime.h"
#include "terminal/program.h"

static const struct command *const commands[] = { &command_daemon,
						  &command_check,
						  &command_policies,
						  &command_pressure,
						  &command_hook,
						  &command_runtime,
						  NULL };

/* clang-format off */
static const struct command gvmd = {
	.name = "gvmd",
	.operands = "COMMAND ...",
	.about =
"gvmd runs on a host with a GPU that gvm.ko manages. It moves the limits of containers by a\n"
"policy: the same code and the same file as gvmsim's policy.file.\n",
	.examples =
"    gvmd check dyn.json\n"
"    gvmd run dyn.json --container vllm=4201 --container diffusion=4242\n",
	.commands = commands,
};
/* clang-format on */

int main(int argc, char **argv)
{
	return program_main(&gvmd, argc, argv);
}
