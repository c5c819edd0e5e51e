// SPDX-License-Identifier: MIT OR GPL-2.0
/* Lays out the machine: containers and GPUs, as the configuration and the system say. */
#include "machine/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/error.h"
#include "gpu/mps.h"

static struct sim_memory_policy machine_memory_policy(const struct machine *machine)
{
	const struct sim_system *system = machine->system;

	return system->memory ? system->memory(machine->config) :
				(struct sim_memory_policy){ 0 };
}

/* The view of a container: of its GPU, or of its part of it. */
static const struct config *container_view(struct machine *machine,
					   const struct sim_container *container)
{
	const struct config *config = machine->config;
	const struct config *whole = &machine->views[config_gpu_index(config, container->cfg)];
	struct config *own = &machine->views[config->gpu_count + 1 + container->index];

	if (!machine->system->part)
		return whole;
	*own = *whole;
	machine->system->part(config, container->cfg, &own->gpu);
	return own;
}

/*
 * Make the enabled containers with their environments, and let each application prepare itself.
 */
static int build_containers(struct machine *machine, struct sim_error *err)
{
	const struct config *config = machine->config;
	struct sim_memory_policy policy = machine_memory_policy(machine);
	int status = 0;

	INIT_LIST_HEAD(&machine->apps);
	machine->containers = calloc(config->container_count, sizeof(*machine->containers));
	if (!machine->containers)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; !status && i < config->container_count; i++) {
		const struct cfg_container *cfg = &config->containers[i];
		struct sim_container *container =
			&machine->containers[machine->container_count];

		if (!cfg->enabled)
			continue;
		container->cfg = cfg;
		container->machine = machine;
		container->index = machine->container_count++;
		container->log.scratch_folder = machine->scratch;
		container->config = container_view(machine, container);
		container->app = sim_app_of(cfg->app_type);
		container->env = (struct app_env){
			.config = container->config,
			.container = cfg,
			.cuda = &container->cuda,
			.log = &container->log,
			.all = &machine->apps,
			.listens = cfg->pressure && machine->system->has_pressure,
			.can_prefetch = sim_memory_manager(&policy)->ops->migrate != NULL,
		};
		list_add_tail(&container->env.node, &machine->apps);
		if (container->app->prepare)
			status = container->app->prepare(&container->env, err);
	}
	return status;
}

/* Make one GPU from @view. The profile of the GPU has the costs of its driver's work. */
static int build_gpu(struct machine *machine, const struct config *view, const char *name,
		     struct sim_error *err)
{
	struct sim_memory_policy policy = machine_memory_policy(machine);
	const struct cuda_library *library = machine->system->library;
	struct cuda_device *device = &machine->devices[machine->gpu_count];
	struct sim_gpu *gpu = &machine->gpus[machine->gpu_count];

	if (sim_gpu_init(gpu, name, &view->gpu, &policy))
		return sim_runtime_error(err, "out of memory for %s", name);
	if (machine->system->scheduling)
		gpu->scheduling = machine->system->scheduling(view);
	/* Of a system with turns each GPU is one of the configuration's. */
	if (machine->system->turns)
		gpu->fifo.config.turns =
			machine->system->turns(machine->config, machine->gpu_count);
	record_observe(machine, gpu);
	cuda_device_init(device, gpu);
	device->policy_reads = *machine->config->policy;
	machine->gpu_count++;
	if (library && library->create(device, machine->config))
		return sim_runtime_error(err, "out of memory for %s", name);
	device->library = library;
	return 0;
}

/* The number of the GPU that is @container's part; the number of GPUs if there is none yet. */
static size_t part_index(const struct machine *machine, const struct sim_container *container)
{
	size_t i = 0;

	while (i < machine->gpu_count &&
	       strcmp(machine->gpus[i].name, container->config->gpu.name) != 0)
		i++;
	return i;
}

/*
 * Make the GPUs of the configuration. If containers have GPUs of their own, make one for each
 * container instead, like the GPU that the container names. If parts of GPUs are GPUs of their
 * own, make one for each part.
 */
static int build_gpus(struct machine *machine, struct sim_error *err)
{
	const struct config *config = machine->config;
	bool own = machine->system->own_gpu, parts = machine->system->own_parts;
	size_t wanted = own || parts ? machine->container_count : config->gpu_count + 1;
	int status = 0;

	machine->gpus = calloc(wanted, sizeof(*machine->gpus));
	machine->devices = calloc(wanted, sizeof(*machine->devices));
	machine->gpu_usage = calloc(wanted, sizeof(*machine->gpu_usage));
	if (!machine->gpus || !machine->devices || !machine->gpu_usage)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; !status && i < wanted; i++) {
		const struct config *view =
			own || parts ? machine->containers[i].config : &machine->views[i];
		char name[CFG_NAME_MAX];

		snprintf(name, sizeof(name), "gpu%zu", i);
		if (!parts)
			status = build_gpu(machine, view, own || !i ? name : view->gpu.name,
					   err);
		else if (part_index(machine, &machine->containers[i]) == machine->gpu_count)
			status = build_gpu(machine, view, view->gpu.name, err);
	}
	for (u32 i = 0; i < machine->container_count; i++) {
		struct sim_container *container = &machine->containers[i];
		size_t gpu = config_gpu_index(config, container->cfg);

		if (own || parts)
			gpu = own ? i : part_index(machine, container);
		container->gpu = &machine->gpus[gpu];
		container->device = &machine->devices[gpu];
	}
	return status;
}

/*
 * Make the MPS servers that containers name, and those of a system in which the others of a GPU
 * have a common one. A container with a GPU of its own has none, nor
 * one whose GPU has frame buffers: it is a virtual machine.
 */
static void build_servers(struct machine *machine)
{
	bool servers = !machine->system->own_gpu && !machine->system->frame_buffers;

	for (u32 i = 0; i < machine->container_count && servers; i++) {
		struct sim_container *container = &machine->containers[i];
		const char *name = container->cfg->mps_server;
		const struct sim_system *system = machine->system;
		bool client = *name || (system->keys.common_server &&
					!(system->apart && system->apart(machine->config)));

		for (u32 k = 0; k < i && client && !container->server; k++)
			if (!strcmp(machine->containers[k].cfg->mps_server, name) &&
			    machine->containers[k].gpu == container->gpu)
				container->server = machine->containers[k].server;
		if (client && !container->server) {
			container->server = &container->mps;
			sim_mps_init(container->server, container->gpu);
		}
	}
}

static int build_views(struct machine *machine, struct sim_error *err)
{
	const struct config *config = machine->config;

	machine->views = calloc(config->gpu_count + 1 + config->container_count,
				sizeof(*machine->views));
	machine->missed = calloc(config->event_count + 1, sizeof(*machine->missed));
	if (!machine->views || !machine->missed)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i <= config->gpu_count; i++) {
		machine->views[i] = *config;
		if (i)
			machine->views[i].gpu = config->gpus[i - 1];
	}
	return 0;
}

int machine_build(struct machine *machine, struct sim_error *err)
{
	int status = build_views(machine, err);

	if (!status)
		status = build_containers(machine, err);
	if (!status)
		status = record_init(machine, err);
	if (!status)
		status = policy_init(machine, err);
	if (!status)
		status = build_gpus(machine, err);
	if (!status)
		build_servers(machine);
	return status;
}
