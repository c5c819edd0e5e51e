// SPDX-License-Identifier: MIT OR GPL-2.0
/* The parts of the core that several systems offer; see core.h. */
#include "systems/core.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gvm/control.h"
#include "gvm/tsg.h"

const char *const sim_scheduler_words[] = {
	[SIM_SCHEDULER_TIMESLICES] = "timeslices",
	[SIM_SCHEDULER_PRIORITY] = "priority",
	[SIM_SCHEDULER_WEIGHTED] = "weighted",
	NULL,
};

const char *const sim_tracking_words[] = {
	[SIM_TRACKING_EVENTS] = "events",
	[SIM_TRACKING_BUSY_BITS] = "busy_bits",
	NULL,
};

bool sim_system_core_takes(const char *control_file, const char *prefix)
{
	const struct gvm_control_file *file = gvm_control_find(control_file);

	return file && file->store && !strncmp(file->name, prefix, strlen(prefix));
}

struct gvm_scheduler_config sim_system_scheduling(const struct sim_scheduler_keys *keys)
{
	static const enum gvm_sched_policy policies[] = {
		[SIM_SCHEDULER_TIMESLICES] = GVM_SCHED_TIMESLICES,
		[SIM_SCHEDULER_PRIORITY] = GVM_SCHED_PRIORITY,
		[SIM_SCHEDULER_WEIGHTED] = GVM_SCHED_WEIGHTED,
	};

	return (struct gvm_scheduler_config){
		.policy = policies[keys->scheduler],
		.tracking = keys->tracking == SIM_TRACKING_EVENTS ? GVM_TRACK_EVENTS :
								    GVM_TRACK_BUSY_BITS,
		.interval_ns = keys->interval,
	};
}

/* Weights set timeslices. So with weights, no other file that sets timeslices is honoured. */
bool sim_system_scheduler_takes(const struct sim_scheduler_keys *keys, const char *control_file)
{
	bool weighted = keys->scheduler == SIM_SCHEDULER_WEIGHTED;

	if (!strcmp(control_file, "compute.weight"))
		return weighted;
	if (!strcmp(control_file, "compute.timeslice") ||
	    !strcmp(control_file, "compute.priority"))
		return !weighted;
	return sim_system_core_takes(control_file, "compute.");
}

unsigned long sim_system_priority(const struct config *config,
				  const struct cfg_container *container)
{
	for (size_t i = 0; i < container->control_count; i++) {
		const struct cfg_control *control = &container->controls[i];

		if (!strcmp(control->file, SIM_PRIORITY_FILE) && control->text[0])
			return strtoul(control->text, NULL, 10);
	}
	return gvm_timeslice_us_to_priority(config->gpu.sched.timeslice / 1000);
}

bool sim_system_is_first(const struct config *config, const struct cfg_container *container)
{
	unsigned long own = sim_system_priority(config, container);
	size_t gpu = config_gpu_index(config, container);

	for (size_t i = 0; i < config->container_count; i++) {
		const struct cfg_container *other = &config->containers[i];

		if (other->enabled && config_gpu_index(config, other) == gpu &&
		    sim_system_priority(config, other) < own)
			return false;
	}
	return true;
}
