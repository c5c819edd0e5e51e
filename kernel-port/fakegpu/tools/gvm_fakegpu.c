// SPDX-License-Identifier: MIT OR GPL-2.0
/* gvm-fakegpu: a process on a GPU made of RAM, from the command line. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakegpu_lib.h"

static const char help[] =
	"usage: gvm-fakegpu info [--gpu N]\n"
	"       gvm-fakegpu run [OPTION]...\n"
	"\n"
	"run maps memory on the GPU, stores a pattern in all of it, looks for it again, and "
	"does\n"
	"so until it has been told to stop; it says who it is, for its control files are in\n"
	"/sys/kernel/debug/gvm/<tgid>/<gpu>/. Its options:\n"
	"  --gpu N       use /dev/gvm_fakegpuN (0)\n"
	"  --group TGID  join the container of that process (none: a new one)\n"
	"  --mib N       how much to map (64)\n"
	"  --rounds N    how often; 0 is for ever (1)\n"
	"  --order NAME  forward, backward or shuffled (forward)\n"
	"  --seed N      of patterns and shuffles (1)\n"
	"\n"
	"Exit status: 0 done, 1 a pattern was wrong or the GPU refused, 2 a mistake of "
	"yours.\n";

struct options {
	unsigned int gpu;
	uint32_t group;
	uint64_t mib;
	uint64_t rounds;
	uint32_t order;
	uint64_t seed;
};

static void __attribute__((noreturn)) mistake(const char *what, const char *text)
{
	fprintf(stderr, "gvm-fakegpu: %s%s%s\n", what, text ? ": " : "", text ? text : "");
	exit(2);
}

/* Print which request the GPU refused. Returns the exit status. */
static int refused(const char *what, int error)
{
	fprintf(stderr, "gvm-fakegpu: %s: %s\n", what, strerror(error));
	return 1;
}

static uint64_t parse_number(const char *name, const char *text, uint64_t most)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno || end == text || *end || text[0] == '-' || number > most)
		mistake(name, text);
	return number;
}

static uint32_t parse_order(const char *text)
{
	static const char *const names[GVM_FAKEGPU_ORDERS] = {
		[GVM_FAKEGPU_FORWARD] = "forward",
		[GVM_FAKEGPU_BACKWARD] = "backward",
		[GVM_FAKEGPU_SHUFFLED] = "shuffled",
	};
	uint32_t order = 0;

	while (order < GVM_FAKEGPU_ORDERS && strcmp(names[order], text) != 0)
		order++;
	if (order == GVM_FAKEGPU_ORDERS)
		mistake("--order", text);
	return order;
}

static struct options parse_options(int argc, char **argv)
{
	static const struct option names[] = {
		{ "gpu", required_argument, NULL, 'g' },
		{ "group", required_argument, NULL, 't' },
		{ "mib", required_argument, NULL, 'm' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "order", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .mib = 64, .rounds = 1, .seed = 1 };
	int name;

	while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (name == 'g')
			options.gpu = (unsigned int)parse_number("--gpu", optarg, 255);
		else if (name == 't')
			options.group = (uint32_t)parse_number("--group", optarg, INT32_MAX);
		else if (name == 'm')
			options.mib = parse_number("--mib", optarg, GVM_FAKEGPU_MAP_MAX >> 20);
		else if (name == 'r')
			options.rounds = parse_number("--rounds", optarg, UINT64_MAX);
		else if (name == 'o')
			options.order = parse_order(optarg);
		else if (name == 's')
			options.seed = parse_number("--seed", optarg, UINT64_MAX);
		else
			exit(2);
	}
	if (optind < argc)
		mistake("not an option", argv[optind]);
	return options;
}

static int show_info(const struct options *options)
{
	struct gvm_fakegpu_info info;
	int fd;
	int error = fakegpu_open_device(options->gpu, &fd);

	if (!error)
		error = fakegpu_info(fd, &info);
	if (error)
		return refused("cannot ask the GPU", error);
	printf("gpu %u: %u of %u chunks free, %u SMs\n", info.gpu, info.free_chunks,
	       info.chunks, info.sms);
	printf("MiB in %llu, out %llu, cleared %llu\n", info.bytes_in >> 20,
	       info.bytes_out >> 20, info.bytes_cleared >> 20);
	printf("faults %llu, of these lost %llu; replays %llu; switches %llu\n", info.faults,
	       info.lost_faults, info.replays, info.switches);
	close(fd);
	return 0;
}

/* Store the pattern of a round, and verify it. Returns the exit status. */
static int run_round(int context, struct gvm_fakegpu_launch *launch)
{
	int error;

	launch->op = GVM_FAKEGPU_FILL;
	error = fakegpu_launch(context, launch);
	if (error)
		return refused("store", error);
	launch->op = GVM_FAKEGPU_VERIFY;
	error = fakegpu_launch(context, launch);
	if (error == EBADMSG)
		fprintf(stderr, "gvm-fakegpu: %llu words are wrong, one of them at 0x%llx\n",
			launch->ret_mismatches, launch->ret_first_va);
	return error ? refused("verify", error) : 0;
}

static int run(const struct options *options)
{
	struct gvm_fakegpu_launch launch = {
		.bytes = options->mib << 20,
		.seed = options->seed,
		.order = options->order,
	};
	int context;
	int status = 0;
	int error = fakegpu_open(options->gpu, options->group, 1, &context);
	uint64_t va;

	if (error)
		return refused("cannot create a context", error);
	error = fakegpu_map(context, options->mib << 20, &va);
	if (error)
		return refused("cannot map memory", error);
	launch.va = va;
	printf("process %d on GPU %u\n", getpid(), options->gpu);
	fflush(stdout);
	for (uint64_t i = 0; !status && (!options->rounds || i < options->rounds); i++) {
		status = run_round(context, &launch);
		launch.seed++;
	}
	close(context);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;

	if (argc >= 2 && strcmp(argv[1], "--help") == 0) {
		fputs(help, stdout);
		return 0;
	}
	if (argc < 2)
		mistake("say info or run; --help says more", NULL);
	options = parse_options(argc - 1, argv + 1);
	if (strcmp(argv[1], "info") == 0)
		return show_info(&options);
	if (strcmp(argv[1], "run") == 0)
		return run(&options);
	mistake("not a command", argv[1]);
}
