// SPDX-License-Identifier: MIT OR GPL-2.0
#include "cli/cmd_validate_results.h"

#include <stdio.h>

#include "cli/validate_results.h"
#include "engine/error.h"

const struct command command_validate_results = {
	.name = "gvmsim validate results",
	.operands = "MEASURED PREDICTED",
	.summary = "a simulation beside the collected results of a real host",
	.about = "Puts a results folder that gvmcollect wrote on real hardware beside a "
		 "simulated one.\n"
		 "For every statistic that both know of a container of the same name (times to "
		 "first\n"
		 "token and between tokens, image latency, throughput, memory): measured, "
		 "predicted,\n"
		 "and the error max(p/m, m/p) - 1. The last line has the median and the "
		 "worst.\n",
	.examples = "    gvmsim run vllm-diffusion-80g --system stock --out results/simulated\n"
		    "    gvmsim validate results results/hardware results/simulated\n",
	.run = cmd_validate_results,
};

static int run(int argc, char **argv, struct sim_error *err)
{
	struct command_line line;
	int status =
		command_parse(&command_validate_results, argc, argv, NULL, NULL, &line, err);

	if (status)
		return status;
	if (line.help) {
		command_print_head(&command_validate_results);
		command_print_tail(&command_validate_results);
		return command_flush(err);
	}
	if (line.operand_count != 2)
		return command_mistake(&command_validate_results, err, "%d folders, expected 2",
				       line.operand_count);
	return validate_results(line.operands[0], line.operands[1], err);
}

int cmd_validate_results(int argc, char **argv)
{
	struct sim_error err = { 0 };
	int status = run(argc, argv, &err);

	if (status)
		fprintf(stderr, "gvmsim: %s\n", err.text);
	return -status;
}
