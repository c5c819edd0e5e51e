// SPDX-License-Identifier: MIT OR GPL-2.0
/* The program gvmsim: finds the subcommand. */
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

static const struct command *const commands[] = {
	&command_run,	&command_figure,    &command_validate,
	&command_trace, &command_reference, NULL,
};

static const struct command command_main = {
	.name = "gvmsim",
	.operands = "COMMAND ...",
	.about = "gvmsim simulates containers that share one GPU: their kernels, the GPU's "
		 "time slices,\n"
		 "its memory with page faults over the PCIe link, and the driver that manages "
		 "all of\n"
		 "it. It replays real request traces and runs hundreds of times faster than "
		 "the real\n"
		 "thing.\n",
	.more = "  gvmsim --version         print the version\n"
		"\n"
		"\"gvmsim COMMAND --help\" teaches each command.\n",
	.examples = "  An LLM server next to a diffusion pipeline, first with a GPU each, then "
		    "sharing\n"
		    "  one:\n"
		    "    gvmsim run vllm-diffusion-80g --system exclusive --out results/alone\n"
		    "    gvmsim run vllm-diffusion-80g --system stock --out results/shared\n"
		    "  What sharing did to them, side by side and as a picture:\n"
		    "    gvmsim figure alone-vs-shared results/alone results/shared\n"
		    "  A published figure, ours beside theirs; its runs are made first:\n"
		    "    gvmsim figure ablation\n"
		    "  The trace of requests that they replayed:\n"
		    "    gvmsim trace info traces/burstgpt1_gvm3256.trace --divide 198.9\n",
	.commands = commands,
};

/* A line for each command that does something: the ones below a command in its place. */
static void print_commands(const struct command *const *list)
{
	for (; *list; list++) {
		char words[64];

		if ((*list)->commands) {
			print_commands((*list)->commands);
			continue;
		}
		snprintf(words, sizeof(words), "%s %s", (*list)->name, (*list)->operands);
		printf("  %-24s %s\n", strlen(words) > 24 ? (*list)->name : words,
		       (*list)->summary);
	}
}

/* Results that did not reach the user are a failure. */
static int end_output(void)
{
	struct sim_error err = { 0 };
	int status = command_flush(&err);

	if (status)
		fprintf(stderr, "gvmsim: %s\n", err.text);
	return -status;
}

int main(int argc, char **argv)
{
	const struct command *command;
	static const char allowed[] =
		"allowed are run, figure, validate, trace, reference, --help and --version";

	/* A limit on file sizes is an error like a full disk, not the end of us. */
	signal(SIGXFSZ, SIG_IGN);
	if (argc < 2) {
		fprintf(stderr, "gvmsim: what to do is missing, %s\n", allowed);
		return SIM_EXIT_USER;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		command_print_head(&command_main);
		print_commands(commands);
		command_print_tail(&command_main);
		return end_output();
	}
	if (!strcmp(argv[1], "--version")) {
		puts("gvmsim " GVMSIM_VERSION);
		return end_output();
	}
	command = command_find(commands, argv[1]);
	if (command)
		return command->run(argc - 1, argv + 1);
	fprintf(stderr, "gvmsim: unknown command '%s', %s\n", argv[1], allowed);
	return SIM_EXIT_USER;
}
