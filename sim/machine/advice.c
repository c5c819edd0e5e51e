// SPDX-License-Identifier: MIT OR GPL-2.0
#include "machine/advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/app.h"
#include "gvm/control.h"
#include "machine/parts.h"

#define LINE_MAX_BYTES 512
#define HIGH	       "gmem.limit.high"
#define LOW	       "gmem.limit.low"

/* A number of bytes for printf()'s "%.1f %s", in GiB, MiB or KiB. */
#define SIZE(bytes)                                         \
	(double)(bytes) / ((bytes) < 1ull << 20 ? 1 << 10 : \
			   (bytes) < 1ull << 30 ? 1 << 20 : \
						  1 << 30), \
		(bytes) < 1ull << 20 ? "KiB" :              \
		(bytes) < 1ull << 30 ? "MiB" :              \
				       "GiB"

struct advice {
	const struct machine *machine;
	void (*say)(const char *line);
};

static void advise(const struct advice *advice, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void advise(const struct advice *advice, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	advice->say(line);
}

/* The bytes that a container's control file gets at the start; @none: nothing is written. */
static u64 initial_bytes(const struct advice *advice, const struct sim_container *container,
			 const char *file, u64 none)
{
	const struct cfg_container *cfg = container->cfg;
	u64 bytes = none;

	for (size_t i = 0; i < cfg->control_count; i++)
		if (!strcmp(cfg->controls[i].file, file) && *cfg->controls[i].text &&
		    sim_system_honours(advice->machine->system, advice->machine->config, file))
			gvm_parse_bytes(cfg->controls[i].text, &bytes);
	return bytes;
}

static void advise_container(const struct advice *advice, const struct sim_container *container)
{
	u64 high = initial_bytes(advice, container, HIGH, GVM_NO_LIMIT);
	u64 low = initial_bytes(advice, container, LOW, 0);
	const struct app_report *report = container->app->report;
	u64 context = report && report->no_gpu ? 0 : container->config->gpu.context;
	const char *name = container->cfg->name;
	char text[LINE_MAX_BYTES];

	if (container->cfg->start >= advice->machine->config->duration)
		advise(advice,
		       "containers.%s.start: is not before the end of the run, so it never "
		       "starts",
		       name);
	if (container->cfg->read_mostly && container->cfg->memory != CFG_MEMORY_MANAGED)
		advise(advice,
		       "containers.%s.app.read_mostly: has no effect, as app.memory is "
		       "unmanaged",
		       name);
	if (high < context)
		advise(advice,
		       "containers.%s." HIGH ": %.1f %s are less than the context of its "
		       "process, which takes %.1f %s",
		       name, SIZE(high), SIZE(context));
	if (low != GVM_NO_LIMIT && low > high)
		advise(advice,
		       "containers.%s." LOW ": %.1f %s are protected, above its " HIGH
		       " of %.1f %s",
		       name, SIZE(low), SIZE(high));
	for (u32 i = 0; container->app->remark &&
			container->app->remark(&container->env, i, text, sizeof(text));
	     i++)
		advise(advice, "containers.%s.%s", name, text);
}

/* Sums over the containers of one GPU. */
struct sums {
	u64 high, low;	    /* bytes of those that have a limit */
	size_t highs, lows; /* how many have */
	double share;	    /* of the GPU's time that their requests need at least */
	size_t demands;
};

/*
 * Say if the requests of one container need more time than there is. Returns their share of it.
 */
static double advise_demand(const struct advice *advice, const struct sim_container *container)
{
	u64 within_ns = 0;
	u64 least_ns = container->app->least_gpu_ns ?
			       container->app->least_gpu_ns(&container->env, &within_ns) :
			       0;
	double share = within_ns ? (double)least_ns / (double)within_ns : 0;

	if (share > 1)
		advise(advice,
		       "containers.%s: past saturation: the requests of %.1f s need %.1f s of "
		       "GPU time or more",
		       container->cfg->name, (double)within_ns / 1e9, (double)least_ns / 1e9);
	return share;
}

static void advise_gpu(const struct advice *advice, const struct sim_gpu *gpu, u64 memory)
{
	const struct machine *machine = advice->machine;
	struct sums sums = { 0 };
	bool said = false;

	for (u32 i = 0; i < machine->container_count; i++) {
		const struct sim_container *container = &machine->containers[i];
		u64 high = initial_bytes(advice, container, HIGH, GVM_NO_LIMIT);
		u64 low = initial_bytes(advice, container, LOW, 0);
		double share;

		if (container->gpu != gpu)
			continue;
		if (high != GVM_NO_LIMIT && high > memory)
			high = memory;
		sums.highs += high != GVM_NO_LIMIT;
		sums.high += high != GVM_NO_LIMIT ? high : 0;
		sums.lows += low != 0;
		sums.low += low < memory ? low : memory;
		share = advise_demand(advice, container);
		said = said || share > 1;
		sums.share += share;
		sums.demands += share > 0;
	}
	if (sums.highs > 1 && sums.high > memory)
		advise(advice,
		       "%s: the limits of %zu containers add up to %.1f %s, of %.1f %s: within "
		       "them, they can evict each other",
		       gpu->name, sums.highs, SIZE(sums.high), SIZE(memory));
	if (sums.lows > 1 && sums.low > memory)
		advise(advice,
		       "%s: the protected memory of %zu containers adds up to %.1f %s, of "
		       "%.1f %s: not all of it can be protected",
		       gpu->name, sums.lows, SIZE(sums.low), SIZE(memory));
	if (!said && sums.demands > 1 && sums.share > 1)
		advise(advice,
		       "%s: past saturation: the requests of %zu containers need %.0f %% of "
		       "its time or more",
		       gpu->name, sums.demands, 100 * sums.share);
}

/* A write of the policy that the system will refuse. */
static void advise_policy(const struct advice *advice)
{
	const struct machine *machine = advice->machine;
	char place[GVMD_NAME_MAX];
	const char *file;

	for (u32 i = 0; (file = policy_writes(machine, i, place)); i++)
		if (!sim_system_honours(machine->system, machine->config, file))
			advise(advice, "%s: %s: %s does not honour %s, and refuses the write",
			       machine->config->policy, place, machine->system->keys.name,
			       file);
}

/* The run ends before an event of the same date. Later ones have been refused. */
static void advise_events(const struct advice *advice)
{
	const struct config *config = advice->machine->config;

	for (size_t i = 0; i < config->event_count; i++)
		if ((u64)config->events[i].at >= config->duration)
			advise(advice,
			       "events.%zu.at: is the end of the run, so the event has no "
			       "effect",
			       config->events[i].number);
}

void machine_advise(const struct machine *machine, void (*say)(const char *line))
{
	struct advice advice = { machine, say };

	advise_policy(&advice);
	advise_events(&advice);
	for (u32 i = 0; i < machine->container_count; i++)
		advise_container(&advice, &machine->containers[i]);
	for (u32 i = 0; i < machine->container_count; i++) {
		const struct sim_gpu *gpu = machine->containers[i].gpu;
		bool seen = false;

		for (u32 k = 0; k < i; k++)
			seen = seen || machine->containers[k].gpu == gpu;
		if (!seen)
			advise_gpu(&advice, gpu, machine->containers[i].config->gpu.memory);
	}
}

void machine_advise_after(const struct machine *machine, void (*say)(const char *line))
{
	struct advice advice = { machine, say };
	char text[LINE_MAX_BYTES];

	for (u32 i = 0; i < machine->container_count; i++) {
		const struct sim_container *container = &machine->containers[i];

		if (container->app->remark_after &&
		    container->app->remark_after(&container->env, text, sizeof(text)))
			advise(&advice, "containers.%s.%s", container->cfg->name, text);
	}
}
