// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmd run", see cmd_daemon.h.
 *
 * Signals that end the program are blocked and fetched while it waits for the next step. So it
 * always ends between two steps, and puts back what the policy has changed.
 */
#include "gvmd/host/cmd_daemon.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/units.h"
#include "engine/error.h"
#include "gvmd/daemon.h"
#include "gvmd/host/host_child.h"
#include "gvmd/host/host_world.h"
#include "terminal/signals.h"

#define NS_PER_MS 1000000ull

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command_option options[] = {
	{ "container", "NAME=PID[:GPU]", true,
"a container that the policy sees as NAME: that of a process,\n"
"or of a cgroup, NAME=/PATH[:GPU]; GPU is 0 by default" },
	{ "report", "NAME=FILE", true,
"the report of NAME's application: lines such as\n"
"\"ttft_us 25000\" that it writes again and again" },
	{ "root", "DIR", false,
"where the directories of containers are; by default\n"
"/sys/kernel/debug/gvm, or /sys/kernel/gvm; of the shim /run/gvm-shim" },
	{ "duration", "TIME", false, "end after that time; by default when all containers have gone" },
	{ "quiet", NULL, false, "no line for each write" },
	{ NULL, NULL, false, NULL },
};

const struct command command_daemon = {
	.name = "gvmd run",
	.operands = "POLICY",
	.summary = "run a policy on this host",
	.about =
"Runs a policy over the containers of a GPU that gvm.ko manages, or over processes with the\n"
"shim: once in its period it sees their control files, and asks for writes. POLICY is a JSON\n"
"file, the same as for gvmsim's policy.file.\n",
	.options = options,
	.more =
"The policy has a process of its own. If it crashes, or takes longer than its \"deadline\" for a\n"
"step, it is reported and stopped. When it stops, for whatever reason, each file that it has\n"
"written gets back the text from before; a file that someone else has changed since stays.\n"
"\n"
"Exit code: 0 done, all containers have gone, or a signal ended it; 1 the policy failed; 2 a\n"
"mistake in the policy or the command line.\n",
	.examples =
"    gvmd run dyn.json --container vllm=4201 --container diffusion=4242\n"
"    gvmd run slo.json --container vllm=/tenant-a --container diffusion=/tenant-b \\\n"
"         --report vllm=/run/vllm.report\n",
	.run = run,
};
/* clang-format on */

/* The daemon on a host: data of struct gvmd_world. */
struct host_daemon {
	struct host_world world;
	struct host_child child;
	struct gvmd gvmd;
	struct gvmd_step step;
	u64 start_ns;
	u64 duration_ns; /* 0: until the containers have gone */
	bool quiet;
	const char *root;
};

static u64 clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

static int daemon_read(void *data, u32 index, const char *file, char *text, size_t size,
		       bool wait)
{
	struct host_daemon *daemon = data;

	(void)wait;
	return host_world_read(&daemon->world, index, file, text, size);
}

static int daemon_write(void *data, u32 index, const char *file, const char *text, bool no_wait)
{
	struct host_daemon *daemon = data;

	return host_world_write(&daemon->world, index, file, text, no_wait);
}

static int daemon_decide(void *data, struct gvmd_step *step)
{
	struct host_daemon *daemon = data;

	return host_child_step(&daemon->child, step);
}

static void daemon_wrote(void *data, const struct gvmd_write *write, int status, bool restored)
{
	const struct host_daemon *daemon = data;
	u64 ms = daemon->step.now_ns / NS_PER_MS;

	if (daemon->quiet)
		return;
	printf("%6llu.%03llu s  %s: %s %s%s%s%s\n", ms / 1000, ms % 1000,
	       daemon->world.containers[write->container].name, write->file, write->text,
	       restored ? ", as before" : "", status ? ": " : "",
	       status ? strerror(-status) : "");
	fflush(stdout);
}

static const struct gvmd_world daemon_world = {
	.read = daemon_read,
	.write = daemon_write,
	.decide = daemon_decide,
	.wrote = daemon_wrote,
};

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct host_daemon *daemon = data;
	const char *wrong = NULL;

	if (!strcmp(option, "container"))
		wrong = host_world_add(&daemon->world, value);
	else if (!strcmp(option, "report"))
		wrong = host_world_add_report(&daemon->world, value);
	else if (!strcmp(option, "root"))
		daemon->root = value;
	else if (!strcmp(option, "duration"))
		wrong = units_parse_duration(value, &daemon->duration_ns) == UNITS_OK &&
					daemon->duration_ns ?
				NULL :
				"allowed: a duration such as \"10min\"";
	else
		daemon->quiet = true;
	if (wrong)
		return command_bad_value(&command_daemon, option, err, "\"%s\", %s", value,
					 wrong);
	return 0;
}

/* Have all containers been there and gone? */
static bool daemon_is_over(const struct host_daemon *daemon)
{
	for (u32 i = 0; i < daemon->step.container_count; i++)
		if (!daemon->world.containers[i].seen || daemon->step.containers[i].running)
			return false;
	return true;
}

/* Step at multiples of the period since the start. Dates that pass meanwhile are skipped. */
static int daemon_loop(struct host_daemon *daemon, const struct signals *signals,
		       struct sim_error *err)
{
	u64 period_ns = daemon->child.period_ns, date_ns = 0, now_ns;
	int status = 0;

	while (!status) {
		now_ns = clock_ns() - daemon->start_ns;
		date_ns += period_ns;
		if (date_ns <= now_ns)
			date_ns = now_ns - now_ns % period_ns + period_ns;
		if (daemon->duration_ns && date_ns > daemon->duration_ns)
			break;
		if (signals_wait_until(signals, daemon->start_ns + date_ns))
			break;
		status = gvmd_tick(&daemon->gvmd, date_ns);
		if (!status && daemon_is_over(daemon))
			break;
	}
	gvmd_restore(&daemon->gvmd);
	if (!status)
		return 0;
	return sim_runtime_error(err, "policy %s: stopped: %s", daemon->child.policy,
				 daemon->step.why);
}

static int daemon_run(struct host_daemon *daemon, const char *file, struct sim_error *err)
{
	struct signals signals;
	struct stat root;
	int status;

	daemon->step.container_count = daemon->world.count;
	for (u32 i = 0; i < daemon->world.count; i++) {
		memcpy(daemon->step.containers[i].name, daemon->world.containers[i].name,
		       GVMD_NAME_MAX);
		daemon->step.containers[i].gpu = daemon->world.containers[i].gpu;
	}
	if (access(file, R_OK))
		return sim_user_error(err, "%s: cannot be read: %s", file, strerror(errno));
	if (stat(daemon->world.root, &root))
		return sim_runtime_error(err,
					 "%s: %s, is gvm.ko loaded? Files of the shim: --root "
					 "/run/gvm-shim",
					 daemon->world.root, strerror(errno));
	if (!S_ISDIR(root.st_mode))
		return sim_user_error(err, "%s: is no folder", daemon->world.root);
	signals_take(&signals);
	/* The policy goes on without a reader of its lines. SIGPIPE would leave its limits behind. */
	signal(SIGPIPE, SIG_IGN);
	gvmd_init(&daemon->gvmd, &daemon_world, daemon, &daemon->step);
	status = host_child_start(&daemon->child, file, &daemon->step, err);
	daemon->start_ns = clock_ns();
	if (!status)
		status = daemon_loop(daemon, &signals, err);
	host_child_stop(&daemon->child);
	gvmd_destroy(&daemon->gvmd);
	return status;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct host_daemon *daemon = calloc(1, sizeof(*daemon));
	struct command_line line = { 0 };
	int status = daemon ? command_parse(&command_daemon, argc, argv, take_option, daemon,
					    &line, err) :
			      sim_runtime_error(err, "out of memory");

	if (!status && line.help) {
		status = command_print_help(&command_daemon, err);
	} else if (!status && (line.operand_count != 1 || !daemon->world.count)) {
		status = command_mistake(&command_daemon, err, "%s",
					 line.operand_count == 1 ? "no --container" :
								   "no policy, or several");
	} else if (!status) {
		host_world_set_root(&daemon->world, daemon->root);
		status = daemon_run(daemon, line.operands[0], err);
	}
	free(daemon);
	return status;
}
