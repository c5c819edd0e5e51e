// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_validate_results.h"

#include <stdio.h>
#include <string.h>

#include "cli/validate_results.h"
#include "engine/error.h"
#include "terminal/command.h"

#define VALIDATE_USAGE "validate results MEASURED PREDICTED"

static const char validate_help[] =
	"Usage: gvmsim " VALIDATE_USAGE "\n"
	"\n"
	"Puts a results folder that gvmcollect wrote on real hardware beside one that was "
	"simulated.\n"
	"For every statistic that both know of a container of the same name (times to first "
	"token and\n"
	"between tokens, image latency, throughput, memory): measured, predicted, and the "
	"error\n"
	"max(p/m, m/p) - 1. The last line has the median and the worst.\n"
	"\n"
	"Example:\n"
	"    gvmsim run vllm-diffusion-80g --system stock --out results/simulated\n"
	"    gvmsim validate results results/hardware results/simulated\n";

static int run(int argc, char **argv, struct sim_error *err)
{
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-')
			continue;
		if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0)
			return sim_user_error(err,
					      "validate: option '%s' is not valid here, usage: "
					      "gvmsim " VALIDATE_USAGE,
					      argv[i]);
		fputs(validate_help, stdout);
		return command_flush(err);
	}
	if (argc != 3)
		return sim_user_error(
			err, "validate: %d folders, expected 2, usage: gvmsim " VALIDATE_USAGE,
			argc - 1);
	return validate_results(argv[1], argv[2], err);
}

int cmd_validate_results(int argc, char **argv)
{
	struct sim_error err = { 0 };
	int rc = run(argc, argv, &err);

	if (rc)
		fprintf(stderr, "gvmsim: %s\n", err.text);
	return -rc;
}
