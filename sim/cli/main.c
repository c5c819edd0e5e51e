// SPDX-License-Identifier: MIT OR GPL-2.0
/* The program gvmsim: finds the subcommand. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd_figure.h"
#include "cli/cmd_reference.h"
#include "cli/cmd_run.h"
#include "cli/cmd_trace.h"
#include "cli/cmd_validate.h"
#include "engine/error.h"

#ifndef GVMSIM_VERSION
#define GVMSIM_VERSION "unknown"
#endif

static const char main_help[] =
	"Usage: gvmsim COMMAND ...\n"
	"\n"
	"gvmsim simulates containers that share one GPU: their kernels, the GPU's time "
	"slices,\n"
	"its memory with page faults over the PCIe link, and the driver that manages all of "
	"it.\n"
	"It replays real request traces and runs hundreds of times faster than the real "
	"thing.\n"
	"\n"
	"  gvmsim run SCENARIO      simulate, print a table, write a results folder\n"
	"  gvmsim figure NAME ...   a published figure or a comparison, as table and picture\n"
	"  gvmsim validate hardware what a real GPU took, and what the simulated one takes\n"
	"  gvmsim validate results  a simulation beside what gvmcollect saw on a real host\n"
	"  gvmsim trace ...         import request traces and look at them\n"
	"  gvmsim reference ...     keys, control files, systems: the reference documents\n"
	"  gvmsim --version         print the version\n"
	"\n"
	"\"gvmsim COMMAND --help\" teaches each of them.\n"
	"\n"
	"Examples:\n"
	"  An LLM server next to a diffusion pipeline, first with a GPU each, then sharing "
	"one:\n"
	"    gvmsim run vllm-diffusion-80g --system exclusive --out results/alone\n"
	"    gvmsim run vllm-diffusion-80g --system stock --out results/shared\n"
	"  What sharing did to them, side by side and as a picture:\n"
	"    gvmsim figure alone-vs-shared results/alone results/shared\n"
	"  A published figure, ours beside theirs; what it needs is simulated by itself:\n"
	"    gvmsim figure ablation\n"
	"  What the trace of requests is like that they replayed:\n"
	"    gvmsim trace info traces/burstgpt1_gvm3256.trace --divide 198.9\n";

struct main_command {
	const char *name;
	int (*run)(int argc, char **argv);
};

static const struct main_command main_commands[] = {
	{ "run", cmd_run },	{ "figure", cmd_figure },	{ "validate", cmd_validate },
	{ "trace", cmd_trace }, { "reference", cmd_reference },
};

static int main_print(const char *text)
{
	fputs(text, stdout);
	if (!fflush(stdout) && !ferror(stdout))
		return SIM_EXIT_OK;
	fprintf(stderr, "gvmsim: standard output: cannot write: %s\n", strerror(errno));
	return SIM_EXIT_RUNTIME;
}

int main(int argc, char **argv)
{
	static const char allowed[] =
		"allowed are run, figure, validate, trace, reference, --help and --version";

	/* A limit on file sizes is an error like a full disk, not the end of us. */
	signal(SIGXFSZ, SIG_IGN);
	if (argc < 2) {
		fprintf(stderr, "gvmsim: what to do is missing, %s\n", allowed);
		return SIM_EXIT_USER;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return main_print(main_help);
	if (!strcmp(argv[1], "--version"))
		return main_print("gvmsim " GVMSIM_VERSION "\n");
	for (size_t i = 0; i < sizeof(main_commands) / sizeof(main_commands[0]); i++)
		if (!strcmp(argv[1], main_commands[i].name))
			return main_commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "gvmsim: unknown command '%s', %s\n", argv[1], allowed);
	return SIM_EXIT_USER;
}
