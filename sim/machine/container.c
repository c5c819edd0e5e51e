// SPDX-License-Identifier: MIT OR GPL-2.0
/* The life of a container: its process, its application, and writes to its control files. */
#include "machine/parts.h"

#include <stdio.h>
#include <string.h>

#include "gvm/control.h"

void sim_container_close_books(struct sim_container *container)
{
	if (!container->gvm)
		return;
	container->gmem_current = gvm_charged_bytes(container->gvm);
	container->gmem_peak = gvm_peak_bytes(container->gvm);
	container->gmem_swap = container->gvm->swapped_bytes;
	memcpy(container->events, container->gvm->events, sizeof(container->events));
	container->stats = container->process.stats;
}

/* Blocking: write a control file. The process may exit meanwhile, so its container is held. */
static void container_write_file(struct sim_container *container, const char *file,
				 const char *text)
{
	struct gvm_container *gvm = container->process.container;

	gvm_container_get(gvm);
	sim_gpu_use_costs(container->gpu);
	gvm_control_write(gvm, file, text, strlen(text));
	gvm_container_put(gvm);
}

/* The text that a control file gets at the start; NULL: it keeps its default. */
static const char *container_wanted_text(const struct sim_container *container,
					 const struct cfg_control *control)
{
	const struct sim_system *system = container->machine->system;
	const struct config *config = container->config;

	if (system->setting)
		return system->setting(config, container->cfg, control->file);
	if (control->text[0] && system->honours(config, control->file))
		return control->text;
	return NULL;
}

/* Blocking: start the container's process and run its application. A dead process ends at once. */
static int container_live(struct sim_container *container)
{
	const struct cfg_container *cfg = container->cfg;
	struct sim_process *process = &container->process;
	int status = sim_process_start(process, container->gpu,
				       MACHINE_FIRST_TGID + container->index);

	if (status) {
		container->failed_ns = eng_now();
		return status;
	}
	cuda_context_create(&container->cuda, container->device, process);
	container->started = true;
	container->gvm = process->container;
	gvm_container_get(container->gvm);
	for (size_t i = 0; i < cfg->control_count; i++) {
		const char *text = container_wanted_text(container, &cfg->controls[i]);

		if (text)
			container_write_file(container, cfg->controls[i].file, text);
	}
	status = container->app->run(&container->env);
	cuda_context_destroy(&container->cuda);
	container->failed_ns = process->killed_ns;
	if (status)
		cuda_process_exit(&container->cuda);
	return status;
}

void sim_container_main(void *data)
{
	struct sim_container *container = data;
	struct machine *machine = container->machine;
	const struct cfg_container *cfg = container->cfg;
	u64 ahead = container->app->ahead_ns ? container->app->ahead_ns(cfg) : 0;

	if (!eng_sleep_until(cfg->start - min((u64)cfg->start, ahead)))
		container->status = container_live(container);
	machine->running--;
	eng_wake_all(&machine->finished);
	/* A server without clients stays up, with its memory, until the run ends. */
	eng_sleep_until(ENG_NEVER);
	cuda_process_exit(&container->cuda);
	if (container->gvm)
		gvm_container_put(container->gvm);
}

/* Blocking: one event. A container that has no control files now misses it, and the user is told. */
static void event_apply(struct machine *machine, size_t index)
{
	const struct cfg_event *event = &machine->config->events[index];
	bool written = false;

	for (u32 t = 0; t < machine->container_count; t++) {
		struct sim_container *container = &machine->containers[t];

		if (strcmp(container->cfg->name, event->container) ||
		    !container->process.running)
			continue;
		container_write_file(container, event->file, event->value);
		written = true;
	}
	if (!written)
		fprintf(stderr,
			"gvmsim: note: events.%zu: container %s is not running at %llu.%03llu "
			"s, "
			"%s is not written\n",
			index, event->container, (u64)event->at / NS_PER_S,
			(u64)event->at % NS_PER_S / 1000000, event->file);
}

void machine_events_main(void *data)
{
	struct machine *machine = data;
	const struct config *config = machine->config;

	for (size_t i = 0; i < config->event_count; i++) {
		if (eng_sleep_until(config->events[i].at))
			return;
		/* The others are for page players. */
		if (config->events[i].file[0] &&
		    machine->system->honours(config, config->events[i].file))
			event_apply(machine, i);
	}
}
