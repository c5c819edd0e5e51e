// SPDX-License-Identifier: MIT OR GPL-2.0
/* The program gvmctl. */
#include "ctl/cmd_list.h"
#include "ctl/cmd_metrics.h"
#include "ctl/cmd_set.h"
#include "terminal/program.h"

static const struct command *const commands[] = { &command_list, &command_metrics, &command_set,
						  &command_watch, NULL };

/* clang-format off */
static const struct command gvmctl = {
	.name = "gvmctl",
	.operands = "COMMAND ...",
	.about =
"gvmctl shows and changes what the processes of this host have of its GPUs: memory, limits,\n"
"timeslices. It works with gvm.ko, and without a kernel module with the shim.\n",
	.examples =
"    gvmctl list\n"
"    gvmctl set 4201 compute.timeslice 512us\n",
	.commands = commands,
};
/* clang-format on */

int main(int argc, char **argv)
{
	return program_main(&gvmctl, argc, argv);
}
