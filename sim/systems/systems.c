// SPDX-License-Identifier: MIT OR GPL-2.0
/* The list of systems. A new one is a file of its own and a line in each table. */
#include "systems/system.h"

#include <stddef.h>
#include <string.h>

#include "config/config.h"
#include "gvm/control.h"

const struct sim_system *const sim_systems[] = {
	&system_exclusive, &system_stock, &system_gpreempt, &system_gvm, &system_ghost, NULL,
};

const char *const config_known_systems[] = { "exclusive", "stock", "gpreempt",
					     "gvm",	  "ghost", NULL };

const struct sim_system *sim_system_find(const char *name)
{
	const struct sim_system *const *system;

	for (system = sim_systems; *system; system++)
		if (!strcmp((*system)->name, name))
			return *system;
	return NULL;
}

bool sim_system_has_mechanism(const struct sim_system *system, const char *key)
{
	static const char prefix[] = "system.mechanisms.";
	const char *const *name;

	if (!strncmp(key, prefix, strlen(prefix)))
		key += strlen(prefix);
	for (name = system->mechanisms; name && *name; name++)
		if (!strcmp(*name, key))
			return true;
	return false;
}

bool sim_system_core_takes(const char *control_file, const char *prefix)
{
	const struct gvm_control_file *file = gvm_control_find(control_file);

	return file && file->store && !strncmp(file->name, prefix, strlen(prefix));
}

struct gvm_scheduler_config sim_system_scheduling(const struct config *config)
{
	static const enum gvm_sched_policy policies[] = {
		[CFG_SCHEDULER_TIMESLICES] = GVM_SCHED_TIMESLICES,
		[CFG_SCHEDULER_PRIORITY] = GVM_SCHED_PRIORITY,
		[CFG_SCHEDULER_WEIGHTED] = GVM_SCHED_WEIGHTED,
	};

	return (struct gvm_scheduler_config){
		.policy = policies[config->scheduler],
		.tracking = config->tracking == CFG_TRACKING_EVENTS ? GVM_TRACK_EVENTS :
								      GVM_TRACK_BUSY_BITS,
		.interval_ns = config->tracking_interval,
	};
}

/* Weights set timeslices, and what else would set them is not honoured. */
bool sim_system_scheduler_takes(const struct config *config, const char *control_file)
{
	bool weighted = config->scheduler == CFG_SCHEDULER_WEIGHTED;

	if (!strcmp(control_file, "compute.weight"))
		return weighted;
	if (!strcmp(control_file, "compute.timeslice") ||
	    !strcmp(control_file, "compute.priority"))
		return !weighted;
	return sim_system_core_takes(control_file, "compute.");
}
