// SPDX-License-Identifier: MIT OR GPL-2.0
/* The life of a container: its process, its application, and writes to its control files. */
#include "machine/parts.h"

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

/* The process may exit meanwhile, so both take a reference to the container. */
int sim_container_read(struct sim_container *container, const char *file, char *text,
		       size_t size)
{
	struct gvm_container *gvm = container->process.container;
	int length;

	gvm_container_get(gvm);
	length = gvm_control_read(gvm, file, text, size);
	gvm_container_put(gvm);
	return length;
}

int sim_container_write(struct sim_container *container, const char *file, const char *text,
			bool wait)
{
	struct gvm_container *gvm = container->process.container;
	int status;

	gvm_container_get(gvm);
	sim_gpu_use_costs(container->gpu);
	status = wait ? gvm_control_write(gvm, file, text, strlen(text)) :
			gvm_control_set(gvm, file, text, strlen(text));
	gvm_container_put(gvm);
	return status;
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

/*
 * Blocking: start the container's process and run its application. If the application fails,
 * the process exits at once.
 */
static int container_live(struct sim_container *container)
{
	const struct cfg_container *cfg = container->cfg;
	struct sim_process *process = &container->process;
	u32 limit_ppm = (u32)cfg->mps_limit * (FIFO_ALL_PPM / 100);
	int status = sim_process_start_client(process, container->gpu,
					      MACHINE_FIRST_TGID + container->index,
					      container->server, limit_ppm);

	if (status) {
		container->failed_ns = eng_now();
		return status;
	}
	if (container->machine->system->frame_buffers)
		process->frame_buffer = container->config->gpu.memory;
	cuda_context_create(&container->cuda, container->device, process);
	container->started = true;
	if (container->device->library)
		container->device->library->attach(&container->cuda, cfg);
	container->gvm = process->container;
	gvm_container_get(container->gvm);
	for (size_t i = 0; i < cfg->control_count; i++) {
		const char *text = container_wanted_text(container, &cfg->controls[i]);

		if (text)
			sim_container_write(container, cfg->controls[i].file, text, true);
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
	/*
	 * An application that succeeded leaves its process, with its memory, until the run
	 * ends: a server stays up without clients.
	 */
	eng_sleep_until(ENG_NEVER);
	cuda_process_exit(&container->cuda);
	if (container->gvm)
		gvm_container_put(container->gvm);
}

/*
 * Blocking: write a control file of a container. Returns false if its process does not run: it
 * has no control files then, and the event is missed.
 */
static bool event_write(struct machine *machine, const struct cfg_event *event)
{
	bool written = false;

	for (u32 i = 0; i < machine->container_count; i++) {
		struct sim_container *container = &machine->containers[i];

		if (strcmp(container->cfg->name, event->container) ||
		    !container->process.running)
			continue;
		sim_container_write(container, event->file, event->value, true);
		written = true;
	}
	return written;
}

/*
 * Does an application follow this touch or exit? Applications do so themselves, from the start
 * of their container on. The container's process may still be starting.
 */
static bool event_has_listener(const struct machine *machine, const struct cfg_event *event)
{
	for (u32 i = 0; i < machine->container_count; i++) {
		const struct sim_container *container = &machine->containers[i];
		bool ended = container->started ? !container->process.running :
						  container->status != 0;

		if (!strcmp(container->cfg->name, event->container))
			return event->at >= container->cfg->start && !ended;
	}
	return false;
}

void machine_events_main(void *data)
{
	struct machine *machine = data;
	const struct config *config = machine->config;

	for (size_t i = 0; i < config->event_count; i++) {
		const struct cfg_event *event = &config->events[i];

		if (eng_sleep_until(event->at))
			return;
		if (!event->file[0])
			machine->missed[i] = !event_has_listener(machine, event);
		else if (machine->system->honours(config, event->file))
			machine->missed[i] = !event_write(machine, event);
	}
}
