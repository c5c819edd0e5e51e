// SPDX-License-Identifier: MIT OR GPL-2.0
/* The program gvmcollect: finds the subcommand. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "collect/arguments.h"
#include "collect/cmd_logs.h"
#include "collect/cmd_sample.h"
#include "engine/error.h"

#ifndef GVMSIM_VERSION
#define GVMSIM_VERSION "unknown"
#endif

/* clang-format off */
static const char main_help[] =
"Usage: gvmcollect COMMAND ...\n"
"\n"
"gvmcollect runs on a host with a real GPU. It watches the containers that share it and writes\n"
"the results folder that gvmsim writes, to put hardware beside a simulation.\n"
"\n"
"  gvmcollect sample ...  watch control files, write a results folder\n"
"  gvmcollect logs DIR    put what applications logged into such a folder\n"
"  gvmcollect --version   print the version\n"
"\n"
"\"gvmcollect COMMAND --help\" explains each of them.\n"
"\n"
"Example: an LLM server and a diffusion pipeline run. Collect during a benchmark, then compare\n"
"with the scenario that describes them.\n"
"    gvmcollect sample --container vllm=4201 --container diffusion=4242 --duration 640s\n"
"    gvmcollect logs results/hardware --requests vllm=bench.json --images diffusion=images.csv\n"
"    gvmsim run vllm-diffusion-80g --system stock --out results/simulated\n"
"    gvmsim validate results results/hardware results/simulated\n"
"    gvmsim figure alone-vs-shared results/hardware results/simulated\n";
/* clang-format on */

static int main_print(const char *text)
{
	struct sim_error err = { 0 };
	int status = arguments_print(text, &err);

	if (status)
		fprintf(stderr, "gvmcollect: %s\n", err.text);
	return -status;
}

int main(int argc, char **argv)
{
	static const char allowed[] = "allowed are sample, logs, --help and --version";

	/* A limit on file sizes is then an error of write(), like a full disk, and kills no program. */
	signal(SIGXFSZ, SIG_IGN);
	if (argc < 2) {
		fprintf(stderr, "gvmcollect: what to do is missing, %s\n", allowed);
		return SIM_EXIT_USER;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return main_print(main_help);
	if (!strcmp(argv[1], "--version"))
		return main_print("gvmcollect " GVMSIM_VERSION "\n");
	if (!strcmp(argv[1], "sample"))
		return cmd_sample(argc - 1, argv + 1);
	if (!strcmp(argv[1], "logs"))
		return cmd_logs(argc - 1, argv + 1);
	fprintf(stderr, "gvmcollect: unknown command '%s', %s\n", argv[1], allowed);
	return SIM_EXIT_USER;
}
