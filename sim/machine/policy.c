// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvmd in simulated time
 *
 * A policy of gvmd runs in an actor of the machine, beside the actor of the scenario's events.
 * It sees each container by the control files that gvm.ko would have, and by the report of its
 * application. A step takes no simulated time. Its writes do, as those of events: a write that
 * lowers a limit returns when the reclaim has ended. The next step is at the next multiple of
 * the period. Files that the system does not honour refuse the write.
 */
#include "machine/parts.h"

#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "gvmd/daemon.h"
#include "gvmd/metrics.h"
#include "gvmd/plan.h"
#include "machine/policy_guard.h"
#include "machine/waits.h"

/* The policy of a machine. */
struct machine_policy {
	struct machine *machine;
	struct gvmd_plan plan;
	struct gvmd gvmd;
	struct gvmd_step step;
	size_t settled[CFG_CONTAINERS_MAX]; /* records of each log that no report needs again */
	size_t write_room;		    /* of the report */
};

/* Write what an LLM server would report. Other applications report nothing. */
static int policy_report(struct machine_policy *policy, const struct sim_container *container,
			 char *text, size_t size)
{
	const struct app_report *report = container->app->report;
	struct waits waits;

	if (!report || !report->has_tokens)
		return -ENOENT;
	waits = waits_of_log(&container->log, &policy->settled[container->index], eng_now());
	return snprintf(text, size, "ttft_us %llu\nwaiting %llu\n", waits.longest_ns / 1000,
			waits.waiting);
}

/* What the container's process has cost the GPU. A new one counts from 0, as in other files. */
static int policy_gpu_stat(const struct sim_container *container, char *text, size_t size)
{
	struct sim_usage usage;

	fifo_update(container->process.tsg.fifo);
	usage = sim_process_usage(&container->process);
	return snprintf(text, size, "busy_us %llu\nstalled_us %llu\n", usage.busy_ns / 1000,
			usage.stall_ns / 1000);
}

/* The library that may have files of its own for this container, or NULL. */
static const struct cuda_library *policy_library(const struct sim_container *container,
						 const char *file)
{
	const struct cuda_library *library = container->machine->system->library;

	/* A file of the core is not asked for there. */
	if (!library || !library->read_file || gvm_control_find(file))
		return NULL;
	return container->cuda.library_data ? library : NULL;
}

/* read() of struct gvmd_world. */
static int policy_read(void *data, u32 index, const char *file, char *text, size_t size,
		       bool wait)
{
	struct machine_policy *policy = data;
	struct sim_container *container = &policy->machine->containers[index];

	if (!container->process.running)
		return -ENOENT;
	if (!strcmp(file, GVMD_REPORT))
		return policy_report(policy, container, text, size);
	if (!strcmp(file, GVMD_GPU_STAT))
		return policy_gpu_stat(container, text, size);
	if (policy_library(container, file))
		return policy_library(container, file)
			->read_file(&container->cuda, file, text, size);
	if (!wait)
		return gvm_control_peek(container->process.container, file, text, size);
	return sim_container_read(container, file, text, size);
}

/* write() of struct gvmd_world. Blocking. */
static int policy_write(void *data, u32 index, const char *file, const char *text, bool no_wait)
{
	struct machine_policy *policy = data;
	const struct machine *machine = policy->machine;
	struct sim_container *container = &machine->containers[index];
	const struct gvm_control_file *control = gvm_control_find(file);

	if (container->process.running && policy_library(container, file))
		return policy_library(container, file)
			->write_file(&container->cuda, file, text);
	if (!container->process.running || !control)
		return -ENOENT;
	if (!sim_system_honours(machine->system, machine->config, control->name))
		return -EOPNOTSUPP;
	return sim_container_write(container, control->name, text, !no_wait);
}

/* decide() of struct gvmd_world. */
static int policy_decide(void *data, struct gvmd_step *step)
{
	struct machine_policy *policy = data;

	if (policy->plan.plugin)
		return policy_guarded_step(&policy->plan, step);
	return policy->plan.policy->step(policy->plan.state, step);
}

/* wrote() of struct gvmd_world: remember the write for the results. */
static void policy_wrote(void *data, const struct gvmd_write *write, int status, bool restored)
{
	struct machine_policy *policy = data;
	struct policy_report *report = &policy->machine->policy_report;
	struct policy_write *row;

	if (report->write_count == policy->write_room) {
		size_t room = policy->write_room ? 2 * policy->write_room : 256;

		row = realloc(report->writes, room * sizeof(*row));
		if (!row) {
			machine_fail(policy->machine, -ENOMEM);
			return;
		}
		report->writes = row;
		policy->write_room = room;
	}
	row = &report->writes[report->write_count++];
	*row = (struct policy_write){ .time_ns = policy->step.now_ns,
				      .container = write->container,
				      .status = status,
				      .restored = restored };
	snprintf(row->file, sizeof(row->file), "%s", write->file);
	snprintf(row->text, sizeof(row->text), "%s", write->text);
}

static const struct gvmd_world policy_world = {
	.read = policy_read,
	.write = policy_write,
	.decide = policy_decide,
	.wrote = policy_wrote,
};

int policy_init(struct machine *machine, struct sim_error *err)
{
	const char *names[CFG_CONTAINERS_MAX];
	struct machine_policy *policy;
	int status;

	if (!*machine->config->policy)
		return 0;
	policy = calloc(1, sizeof(*policy));
	if (!policy)
		return sim_runtime_error(err, "out of memory");
	policy->machine = machine;
	machine->policy = policy;
	policy->step.container_count = machine->container_count;
	for (u32 i = 0; i < machine->container_count; i++) {
		names[i] = machine->containers[i].cfg->name;
		snprintf(policy->step.containers[i].name, GVMD_NAME_MAX, "%s", names[i]);
	}
	gvmd_init(&policy->gvmd, &policy_world, policy, &policy->step);
	status = gvmd_plan_load(&policy->plan, machine->config->policy, err);
	if (status)
		return status;
	return gvmd_plan_check_containers(&policy->plan, names, machine->container_count, err);
}

void policy_destroy(struct machine *machine)
{
	struct machine_policy *policy = machine->policy;

	if (!policy)
		return;
	gvmd_destroy(&policy->gvmd);
	gvmd_plan_destroy(&policy->plan);
	free(machine->policy_report.writes);
	machine->policy_report = (struct policy_report){ 0 };
	free(policy);
	machine->policy = NULL;
}

const char *policy_writes(const struct machine *machine, u32 index, char place[GVMD_NAME_MAX])
{
	const struct machine_policy *policy = machine->policy;

	if (!policy || !policy->plan.policy->writes)
		return NULL;
	return policy->plan.policy->writes(policy->plan.state, index, place);
}

void policy_main(void *data)
{
	struct machine *machine = data;
	struct machine_policy *policy = machine->policy;
	struct policy_report *report = &machine->policy_report;
	u64 date = 0;

	if (!policy)
		return;
	report->name = policy->plan.policy->name;
	/* The policy is read before there are GPUs. */
	for (u32 i = 0; i < machine->container_count; i++)
		policy->step.containers[i].gpu =
			(u32)(machine->containers[i].gpu - machine->gpus);
	while (!policy->gvmd.stopped) {
		u64 now = eng_now();

		date += policy->plan.period_ns;
		if (date <= now)
			date = now - now % policy->plan.period_ns + policy->plan.period_ns;
		if (eng_sleep_until(date))
			return;
		if (gvmd_tick(&policy->gvmd, date) && policy->gvmd.stopped) {
			report->stopped_ns = date;
			report->why = policy->step.why;
		}
		report->steps = policy->gvmd.steps;
		report->applied = policy->gvmd.writes;
		report->refused = policy->gvmd.refused;
	}
}
