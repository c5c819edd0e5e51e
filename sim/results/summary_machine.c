// SPDX-License-Identifier: MIT OR GPL-2.0
/* The summary of a simulated machine; see summary.h. */
#include "results/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "gvm/port.h"
#include "machine/machine.h"
#include "systems/core.h"

#ifndef GVMSIM_VERSION
#define GVMSIM_VERSION "unknown"
#endif

#define NS_PER_S      1e9
#define NS_PER_MS_INT 1000000ull
#define IGNORED_MAX   (2 * CFG_NAME_MAX + 32)

static void set_seconds(struct summary_container *container, enum summary_metric_id metric,
			u64 ns)
{
	summary_set_real(container, metric, (double)ns / NS_PER_S);
}

/*
 * The mean over the samples of the timeline in which the container had memory, once it was warm.
 */
static void compute_mean(struct summary_container *container, const struct sim_container *ran)
{
	const struct machine *machine = ran->machine;
	u64 bytes = 0, samples = 0;

	for (size_t i = 0; i < machine->row_count; i++) {
		const struct timeline_row *row = &machine->timeline[i];

		if (row->container != ran->index || !row->resident_bytes ||
		    row->time_ns < ran->log.warm_ns)
			continue;
		bytes += row->resident_bytes;
		samples++;
	}
	if (samples)
		summary_set_count(container, SUMMARY_GMEM_MEAN, bytes / samples);
}

static void compute_gpu(struct summary_container *container, const struct sim_container *ran)
{
	const struct sim_process_stats *stats = &ran->stats;
	const struct sim_usage *usage = &ran->usage;
	u64 used_ns;

	summary_set_count(container, SUMMARY_GMEM_CURRENT, ran->gmem_current);
	compute_mean(container, ran);
	summary_set_count(container, SUMMARY_GMEM_PEAK, ran->gmem_peak);
	summary_set_count(container, SUMMARY_GMEM_SWAP, ran->gmem_swap);
	summary_set_count(container, SUMMARY_EVENTS_HIGH, ran->events[GVM_EVENT_HIGH]);
	summary_set_count(container, SUMMARY_EVENTS_HMEM, ran->events[GVM_EVENT_HMEM]);
	summary_set_count(container, SUMMARY_EVENTS_OOM, ran->events[GVM_EVENT_OOM]);
	summary_set_count(container, SUMMARY_KERNELS_SUBMITTED, ran->launched_kernels);
	summary_set_count(container, SUMMARY_KERNELS_ENDED, ran->ended_kernels);
	if (ran->launches.launched)
		summary_set_real(container, SUMMARY_KERNELS_PER_S,
				 launches_per_s(&ran->launches));
	summary_set_count(container, SUMMARY_FAULTS, stats->faults);
	summary_set_count(container, SUMMARY_FAULT_BATCHES, stats->fault_batches);
	summary_set_count(container, SUMMARY_EVICTIONS, usage->evictions);
	summary_set_count(container, SUMMARY_BYTES_H2D, usage->bytes_h2d);
	summary_set_count(container, SUMMARY_BYTES_D2H, usage->bytes_d2h);
	set_seconds(container, SUMMARY_GPU_SECONDS, usage->busy_ns);
	set_seconds(container, SUMMARY_SLOW_SECONDS, usage->slow_ns);
	set_seconds(container, SUMMARY_STALL_SECONDS, usage->stall_ns);
	set_seconds(container, SUMMARY_STALL_CPU_SECONDS, sim_usage_cpu_ns(usage));
	set_seconds(container, SUMMARY_STALL_D2H_SECONDS, usage->stall_d2h_ns);
	set_seconds(container, SUMMARY_STALL_H2D_SECONDS, usage->stall_h2d_ns);
	set_seconds(container, SUMMARY_BLOCKED_SECONDS, usage->blocked_ns);
	set_seconds(container, SUMMARY_SWITCHING_SECONDS, usage->switching_ns);
	set_seconds(container, SUMMARY_WAITED_SECONDS, usage->waited_ns);
	used_ns = usage->busy_ns + usage->slow_ns + usage->stall_ns + usage->blocked_ns +
		  usage->switching_ns + usage->waited_ns;
	set_seconds(container, SUMMARY_IDLE_SECONDS,
		    ran->machine->end_ns - min(used_ns, ran->machine->end_ns));
	if (ran->machine->system->traps) {
		summary_set_count(container, SUMMARY_TRAPPED_ACCESSES,
				  stats->traps[SIM_TRAP_ACCESS]);
		summary_set_count(container, SUMMARY_TRAPPED_SUBMISSIONS,
				  stats->traps[SIM_TRAP_SUBMISSION]);
		summary_set_count(container, SUMMARY_TRAPPED_ENTRIES,
				  stats->traps[SIM_TRAP_ENTRY]);
	}
	if (ran->machine->end_ns)
		summary_set_real(container, SUMMARY_GPU_SHARE,
				 (double)usage->busy_ns / (double)ran->machine->end_ns);
}

/*
 * The container's status in words. A dead context is a result of the simulation, not an error.
 */
static void compute_status(struct summary_container *container, const struct sim_container *ran)
{
	u64 ms = ran->failed_ns / NS_PER_MS_INT;
	static const char *const deaths[] = {
		[SIM_DEATH_NO_ROOM] = "an allocation of unmanaged memory found no room",
		[SIM_DEATH_GMEM_LIMIT] =
			"an allocation of unmanaged memory found no room below "
			"its gmem.limit.high",
		[SIM_DEATH_HARD_LIMIT] = "an allocation exceeded its mps.memory_hard",
		[SIM_DEATH_BORROWER] = "MPS ended it: it was above its mps.memory_soft, and "
				       "another client within its own needed memory",
	};
	const char *what = "context died";
	const char *why = "a page fault found no free memory and nothing to evict";

	if (ran->started && !ran->process.killed)
		why = "another rank of its server died";
	if (ran->process.killed_status == -EFAULT)
		why = "a fatal fault of another client of its MPS server";
	else if (ran->process.killed_status == -EDQUOT)
		why = "a page fault found no room below its gmem.limit.high, and none of its "
		      "own memory could go";
	else if (ran->process.killed_status == -ENOSPC)
		why = "a page fault found no room, and its hmem.limit refused the eviction";
	if (ran->process.frame_buffer)
		why = ran->machine->system->frame_buffers ?
			      "an allocation did not fit into its frame buffer" :
			      "an allocation did not fit into its partition"; /* guardian's */
	if (ran->process.death)
		why = deaths[ran->process.death];
	if (ran->stopped) {
		ms = ran->stopped_ns / NS_PER_MS_INT;
		snprintf(container->status, sizeof(container->status),
			 "stopped at %llu.%03llu s", ms / 1000, ms % 1000);
		return;
	}
	if (!ran->status) {
		snprintf(container->status, sizeof(container->status), "%s",
			 ran->cfg->start < ran->machine->end_ns ? SUMMARY_OK : "not started");
		return;
	}
	if (ran->status != -EIO) {
		what = "application failed";
		why = ran->status == -ENOSPC ? "the GPU has no channel left" :
					       strerror(-ran->status);
	}
	snprintf(container->status, sizeof(container->status), "%s at %llu.%03llu s: %s", what,
		 ms / 1000, ms % 1000, why);
}

/* A promised time: the value of the key that the report names; 0: none. */
static u64 promised_ns(const struct cfg_container *cfg, const char *promise)
{
	const struct cfg_keys *keys = cfg->app_type;
	char path[CFG_PATH_MAX];

	if (!promise)
		return 0;
	snprintf(path, sizeof(path), "containers.*.app.%s", promise);
	for (size_t i = 0; i < keys->key_count; i++)
		if (!strcmp(keys->keys[i].path, path))
			return *(const u64 *)((const char *)cfg->app + keys->keys[i].offset);
	return 0;
}

static int compute_container(struct summary_container *container,
			     const struct sim_container *ran)
{
	const struct cfg_container *cfg = ran->cfg;
	const struct app_report *report = ran->app->report;
	u64 promises_ns[APP_PROMISES] = { 0 };

	snprintf(container->name, sizeof(container->name), "%s", cfg->name);
	if (ran->machine->config->gpu_count || ran->machine->system->own_parts)
		snprintf(container->gpu, sizeof(container->gpu), "%s", ran->config->gpu.name);
	container->report = report;
	compute_status(container, ran);
	compute_gpu(container, ran);
	for (int promise = 0; report && promise < APP_PROMISES; promise++)
		promises_ns[promise] = promised_ns(cfg, report->promises[promise]);
	return summary_set_log(container, &ran->log, promises_ns, ran->machine->end_ns);
}

static int add_ignored(struct summary *summary, const char *key)
{
	size_t size = (summary->ignored_count + 1) * sizeof(*summary->ignored_keys);
	char **keys = realloc(summary->ignored_keys, size);

	if (!keys)
		return -ENOMEM;
	summary->ignored_keys = keys;
	keys[summary->ignored_count] = strdup(key);
	if (!keys[summary->ignored_count])
		return -ENOMEM;
	summary->ignored_count++;
	return 0;
}

/*
 * Keys of a container: control files that the system does not honour, and app.pressure without
 * events.
 */
static int find_ignored_of_container(struct summary *summary, const struct sim_container *ran)
{
	const struct machine *machine = ran->machine;
	char key[IGNORED_MAX];
	int status = 0;

	if (ran->cfg->pressure && !machine->system->has_pressure) {
		snprintf(key, sizeof(key), "containers.%s.app.pressure", ran->cfg->name);
		status = add_ignored(summary, key);
	}
	if (!status && *ran->cfg->mps_server && !ran->server) {
		snprintf(key, sizeof(key), "containers.%s.mps.server", ran->cfg->name);
		status = add_ignored(summary, key);
	}
	for (size_t i = 0; !status && i < ran->cfg->control_count; i++) {
		const struct cfg_control *control = &ran->cfg->controls[i];

		if (!*control->text ||
		    sim_system_honours(machine->system, machine->config, control->file) ||
		    (machine->system->by_priority && !strcmp(control->file, SIM_PRIORITY_FILE)))
			continue;
		snprintf(key, sizeof(key), "containers.%s.%s", ran->cfg->name, control->file);
		status = add_ignored(summary, key);
	}
	return status;
}

/* A policy has no effect in a system that honours no control file. */
static bool policy_is_ignored(const struct machine *machine)
{
	const struct config *config = machine->config;

	for (u32 i = 0; i < gvm_control_count(); i++)
		if (gvm_control_at(i)->store &&
		    sim_system_honours(machine->system, config, gvm_control_at(i)->name))
			return false;
	return *config->policy;
}

/* List the keys of the scenario that have no effect in this system. */
static int find_ignored(struct summary *summary, const struct machine *machine)
{
	const struct config *config = machine->config;
	char key[IGNORED_MAX];
	int status = 0;

	/* Keys that the simulator does not use yet. */
	for (size_t i = 0; !status && i < config->unused_count; i++)
		status = add_ignored(summary, config->unused_keys[i]);
	/* Keys of mechanisms that this system does not have. */
	for (size_t i = 0; !status && i < config->foreign_count; i++)
		status = add_ignored(summary, config->foreign_keys[i]);
	for (u32 i = 0; !status && i < machine->container_count; i++)
		status = find_ignored_of_container(summary, &machine->containers[i]);
	if (!status && policy_is_ignored(machine))
		status = add_ignored(summary, "policy.file");
	/* Events are numbered as in config.json: in the order of time. */
	for (size_t i = 0; !status && i < config->event_count; i++) {
		const char *file = config->events[i].file;

		if (!file[0] || sim_system_honours(machine->system, config, file))
			continue;
		snprintf(key, sizeof(key), "events.%zu.file", i);
		status = add_ignored(summary, key);
	}
	return status;
}

static void compute_head(struct summary *summary, const struct machine *machine)
{
	const struct config *config = machine->config;

	snprintf(summary->name, sizeof(summary->name), "%s", config->name);
	snprintf(summary->system, sizeof(summary->system), "%s", machine->system->keys.name);
	snprintf(summary->config_hash, sizeof(summary->config_hash), "%s", config->hash);
	snprintf(summary->version, sizeof(summary->version), "%s", GVMSIM_VERSION);
	summary->complete = !machine->interrupted;
	summary->seed = config->seed;
	for (size_t i = 0; i <= config->gpu_count; i++) {
		const struct cfg_gpu *gpu = i ? &config->gpus[i - 1] : &config->gpu;
		struct summary_gpu *reported = &summary->gpus[summary->gpu_count++];

		snprintf(reported->name, sizeof(reported->name), "%s", gpu->name);
		reported->reserved = gpu->memory_total - gpu->memory;
	}
	summary->sim_seconds = (double)machine->end_ns / NS_PER_S;
	summary->wall_seconds = (double)machine->wall_ns / NS_PER_S;
	if (machine->wall_ns)
		summary->speedup = (struct summary_value){
			.known = true,
			.real = (double)machine->end_ns / (double)machine->wall_ns,
		};
}

static void compute_policy(struct summary *summary, const struct machine *machine)
{
	const struct policy_report *report = &machine->policy_report;
	u64 ms = report->stopped_ns / NS_PER_MS_INT;

	if (!report->name)
		return;
	snprintf(summary->policy.name, sizeof(summary->policy.name), "%s", report->name);
	snprintf(summary->policy.status, sizeof(summary->policy.status), SUMMARY_OK);
	if (report->stopped_ns)
		snprintf(summary->policy.status, sizeof(summary->policy.status),
			 "stopped at %llu.%03llu s: %.120s", ms / 1000, ms % 1000, report->why);
	summary->policy.steps = report->steps;
	summary->policy.writes = report->applied;
	summary->policy.refused = report->refused;
}

static void set_share(struct summary_value *value, u64 ns, u64 end_ns)
{
	if (end_ns)
		*value = (struct summary_value){ .known = true,
						 .real = (double)ns / (double)end_ns };
}

static void compute_gpu_times(struct summary *summary, const struct machine *machine)
{
	u64 end_ns = machine->end_ns;

	for (u32 i = 0; i < machine->gpu_count; i++) {
		const struct fifo_usage *usage = &machine->gpu_usage[i];
		struct summary_gpu_time *time = &summary->times[summary->time_count++];
		u64 used_ns = usage->busy_ns + usage->switching_ns + usage->stalled_ns;

		snprintf(time->name, sizeof(time->name), "%s", machine->gpus[i].name);
		set_share(&time->values[SUMMARY_GPU_BUSY], usage->busy_ns, end_ns);
		set_share(&time->values[SUMMARY_GPU_SWITCHING], usage->switching_ns, end_ns);
		set_share(&time->values[SUMMARY_GPU_STALLED], usage->stalled_ns, end_ns);
		set_share(&time->values[SUMMARY_GPU_IDLE], end_ns - min(used_ns, end_ns),
			  end_ns);
		time->values[SUMMARY_GPU_SWITCHES] =
			(struct summary_value){ .known = true, .count = usage->switches };
	}
}

/* Count the requests of all containers, and how many a second of wall time simulated. */
static void compute_requests(struct summary *summary)
{
	const struct summary_value *arrived;

	for (size_t i = 0; i < summary->container_count; i++)
		if (summary_find_metric(&summary->containers[i], "requests.arrived", &arrived))
			summary->requests += arrived->count;
	if (summary->requests && summary->wall_seconds > 0)
		summary->requests_per_wall_second = (struct summary_value){
			.known = true,
			.real = (double)summary->requests / summary->wall_seconds,
		};
}

int summary_compute(struct summary *summary, const struct machine *machine,
		    struct sim_error *err)
{
	int status = 0;

	*summary = (struct summary){ 0 };
	compute_head(summary, machine);
	compute_policy(summary, machine);
	compute_gpu_times(summary, machine);
	summary->containers =
		calloc(machine->container_count + 1, sizeof(*summary->containers));
	if (!summary->containers)
		return sim_runtime_error(err, "out of memory for the results");
	for (u32 i = 0; !status && i < machine->container_count; i++)
		status = compute_container(&summary->containers[summary->container_count++],
					   &machine->containers[i]);
	if (!status)
		status = find_ignored(summary, machine);
	compute_requests(summary);
	if (!status)
		return 0;
	summary_destroy(summary);
	return status == -EIO ?
		       sim_runtime_error(err,
					 "records of requests cannot be read back from the "
					 "temporary file") :
		       sim_runtime_error(err, "out of memory for the results");
}
