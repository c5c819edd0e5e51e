/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Systems: who manages the GPU. One file each says what the system is, which GPU each container
 * gets, and which keys of a scenario it can honour.
 */
#ifndef SIM_SYSTEMS_SYSTEM_H
#define SIM_SYSTEMS_SYSTEM_H

#include <stdbool.h>

#include "gpu/gpu.h"

struct cfg_container;
struct config;

/* One way of managing the GPU. */
struct sim_system {
	const char *name;
	const char *summary;	       /* one line for --help */
	bool own_gpu;		       /* every container has a whole GPU of its own */
	const char *const *mechanisms; /* keys below system.mechanisms that it has; NULL ends
					  them, or there are none */
	bool has_pressure;	       /* applications can listen for pressure events */
	/*
	 * Can it, as it is configured, honour this control file ("gmem.limit.high",
	 * "compute.priority", ...)?
	 */
	bool (*honours)(const struct config *config, const char *control_file);
	/*
	 * What it writes there by itself when @container starts, whatever the scenario says:
	 * a text that lives on, or NULL for a file that it leaves alone. The member is NULL: it leaves all to the scenario.
	 */
	const char *(*setting)(const struct config *config,
			       const struct cfg_container *container, const char *control_file);
	/* Who looks after the GPU's memory. NULL: the core by itself. */
	struct sim_memory_policy (*memory)(const struct config *config);
	/* Who shares out its time. NULL: the hardware. */
	struct gvm_scheduler_config (*scheduling)(const struct config *config);
};

extern const struct sim_system system_exclusive;
extern const struct sim_system system_stock;
extern const struct sim_system system_gpreempt;
extern const struct sim_system system_gvm;
extern const struct sim_system system_ghost;

/* All of them, NULL at the end; and their names, for the configuration's messages. */
extern const struct sim_system *const sim_systems[];
extern const char *const config_known_systems[];

/* What system.scheduler and system.tracking ask for, for systems that have the core's scheduler. */
struct gvm_scheduler_config sim_system_scheduling(const struct config *config);

/* Is this a compute.* file that the scheduler asked for takes something from? */
bool sim_system_scheduler_takes(const struct config *config, const char *control_file);

/* Has it the mechanism of this key, "system.mechanisms.fast_paging" or "system.scheduler"? */
bool sim_system_has_mechanism(const struct sim_system *system, const char *key);

/* NULL: there is no such system. */
const struct sim_system *sim_system_find(const char *name);

/* Is this a control file of the core's that starts with @prefix and that can be written? */
bool sim_system_core_takes(const char *control_file, const char *prefix);

#endif
