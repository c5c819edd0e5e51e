// SPDX-License-Identifier: MIT OR GPL-2.0
/* The program gvmfence. */
#include "cmd_patch.h"
#include "cmd_verify.h"
#include "terminal/program.h"

static const struct command *const commands[] = { &command_patch, &command_stats,
						  &command_verify, NULL };

/* clang-format off */
static const struct command gvmfence = {
	.name = "gvmfence",
	.operands = "COMMAND ...",
	.about =
"gvmfence confines CUDA kernels to a partition of device memory. It works on PTX, the text that\n"
"compilers emit for every NVIDIA GPU, and needs no GPU, no CUDA and no privileges.\n",
	.examples =
"    gvmfence patch saxpy.ptx --out fenced.ptx\n"
"    gvmfence verify fenced.ptx\n"
"    gvmfence stats saxpy.ptx\n",
	.commands = commands,
};
/* clang-format on */

int main(int argc, char **argv)
{
	return program_main(&gvmfence, argc, argv);
}
