// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The scenario's events
 *
 * They are applied in order, each at its date, or when the one before has ended. Writes of
 * control files, stops and restarts are made here. What tells an application something, the
 * application follows itself (sim/apps); here it is only seen whether one does.
 */
#include "machine/parts.h"

#include <string.h>

/* The container that an event names; NULL: it is not enabled. */
static struct sim_container *event_container(struct machine *machine,
					     const struct cfg_event *event)
{
	for (u32 i = 0; i < machine->container_count; i++)
		if (!strcmp(machine->containers[i].cfg->name, event->container))
			return &machine->containers[i];
	return NULL;
}

/*
 * Blocking: write a control file. Returns false if the container's process does not run: it has
 * no control files then, and the event is missed.
 */
static bool event_write(struct sim_container *container, const struct cfg_event *event)
{
	if (!container->process.running)
		return false;
	sim_container_write(container, event->file, event->value, true);
	return true;
}

/* Has the process of a container exited? It may still be starting. */
static bool event_finds_no_process(const struct sim_container *container)
{
	return container->started ? !container->process.running : container->status != 0;
}

/*
 * Does an application follow this event? Applications do so themselves, from the start of their
 * container on. The load is the client's, who goes on while the container is stopped.
 */
static bool event_has_listener(const struct sim_container *container,
			       const struct cfg_event *event)
{
	if (container->stopped)
		return event->load != 0;
	/* It may have exited just now, by this event. */
	if (event->exit && container->started && container->process.exited_ns == event->at)
		return true;
	return event->at >= container->cfg->start && !event_finds_no_process(container);
}

/*
 * Blocking: stop a container, or restart it. A container that has not begun cannot be stopped,
 * and one that is stopped, or whose process has died, only restarts. The run may end during the
 * stop; then there is no restart. Returns false if there is nothing to do.
 */
static bool event_stop_or_restart(struct sim_container *container, bool restart)
{
	struct machine *machine = container->machine;
	int status;

	if (!container->begun ||
	    (!restart && (container->stopped || event_finds_no_process(container))))
		return false;
	if (!container->stopped)
		sim_container_stop(container);
	status = restart && !eng_interrupted() ? sim_container_restart(container) : 0;
	if (status)
		machine_fail(machine, status);
	return true;
}

/* Blocking: apply an event. Returns false if it is missed. */
static bool event_apply(struct machine *machine, const struct cfg_event *event)
{
	struct sim_container *container = event_container(machine, event);

	if (event->file[0] &&
	    !sim_system_honours(machine->system, machine->config, event->file))
		return true;
	if (!container)
		return false;
	if (event->file[0])
		return event_write(container, event);
	if (event->stop || event->restart)
		return event_stop_or_restart(container, event->restart);
	return event_has_listener(container, event);
}

void machine_events_main(void *data)
{
	struct machine *machine = data;
	const struct config *config = machine->config;

	for (size_t i = 0; i < config->event_count; i++) {
		/* The run may end at the same time, and its books are closed then. */
		if (eng_sleep_until(config->events[i].at) || eng_interrupted())
			return;
		machine->missed[i] = !event_apply(machine, &config->events[i]);
		if (!config->events[i].restart)
			continue;
		machine->restarts_due--;
		eng_wake_all(&machine->finished);
	}
}
