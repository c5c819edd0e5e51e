// SPDX-License-Identifier: MIT OR GPL-2.0
/* Lays out the machine: containers and GPUs from the configuration, as the system has them. */
#include "machine/machine_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/error.h"

static struct sim_memory_policy machine_memory_policy(const struct machine *machine)
{
	const struct sim_system *system = machine->system;

	return system->memory ? system->memory(machine->config) :
				(struct sim_memory_policy){ 0 };
}

/* What the application of @container is given; and its own preparations. */
static int prepare_app(struct sim_container *container, struct sim_error *err)
{
	const struct machine *machine = container->machine;
	struct sim_memory_policy policy = machine_memory_policy(machine);

	container->app = sim_app_of(container->cfg->app_type);
	container->env = (struct app_env){
		.config = machine->config,
		.container = container->cfg,
		.cuda = &container->cuda,
		.log = &container->log,
		.listens = container->cfg->pressure && machine->system->has_pressure,
		.can_prefetch = sim_memory_manager(&policy)->ops->migrate != NULL,
	};
	return container->app->prepare ? container->app->prepare(&container->env, err) : 0;
}

static int build_containers(struct machine *machine, struct sim_error *err)
{
	const struct config *config = machine->config;

	machine->containers = calloc(config->container_count, sizeof(*machine->containers));
	if (!machine->containers)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < config->container_count; i++) {
		struct sim_container *container =
			&machine->containers[machine->container_count];
		int status;

		if (!config->containers[i].enabled)
			continue;
		container->cfg = &config->containers[i];
		container->machine = machine;
		container->index = machine->container_count++;
		status = prepare_app(container, err);
		if (status)
			return status;
	}
	return 0;
}

static int build_gpus(struct machine *machine, struct sim_error *err)
{
	bool own = machine->system->own_gpu;
	u32 wanted = own ? machine->container_count : 1;
	struct sim_memory_policy policy = machine_memory_policy(machine);

	machine->gpus = calloc(wanted, sizeof(*machine->gpus));
	machine->devices = calloc(wanted, sizeof(*machine->devices));
	if (!machine->gpus || !machine->devices)
		return sim_runtime_error(err, "out of memory");
	sim_gpu_set_costs(&machine->config->gpu);
	for (u32 i = 0; i < wanted; i++) {
		struct sim_gpu *gpu = &machine->gpus[i];
		char name[CFG_NAME_MAX];

		snprintf(name, sizeof(name), "gpu%u", i);
		if (sim_gpu_init(gpu, name, &machine->config->gpu, &policy))
			return sim_runtime_error(err, "out of memory for %s", name);
		if (machine->system->scheduling)
			gpu->scheduling = machine->system->scheduling(machine->config);
		cuda_device_init(&machine->devices[i], gpu);
		machine->gpu_count++;
	}
	for (u32 i = 0; i < machine->container_count; i++) {
		machine->containers[i].gpu = &machine->gpus[own ? i : 0];
		machine->containers[i].device = &machine->devices[own ? i : 0];
	}
	return 0;
}

int machine_build(struct machine *machine, struct sim_error *err)
{
	int status = build_containers(machine, err);

	if (!status)
		status = record_init(machine, err);
	return status ? status : build_gpus(machine, err);
}
