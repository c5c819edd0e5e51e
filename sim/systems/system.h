/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Systems: ways of managing a GPU. Each has one file, with its keys, the control files that it
 * honours, and its managers of memory and time.
 */
#ifndef SIM_SYSTEMS_SYSTEM_H
#define SIM_SYSTEMS_SYSTEM_H

#include <stdbool.h>

#include "config/config.h"
#include "config/schema.h"
#include "gpu/gpu.h"

/* One way of managing the GPU. */
struct sim_system {
	struct cfg_keys keys; /* its name, and its own keys: parts that can be switched */
	bool own_gpu;	      /* every container has a whole GPU of its own */
	bool has_pressure;    /* applications can listen for pressure events */
	/* Does it honour this control file ("gmem.limit.high"), as @config configures it? */
	bool (*honours)(const struct config *config, const char *control_file);
	/*
	 * The text that the system writes to this file when @container starts, in place of the
	 * scenario's text. The text is static; NULL leaves the file alone. Without this call
	 * the scenario's texts are written.
	 */
	const char *(*setting)(const struct config *config,
			       const struct cfg_container *container, const char *control_file);
	/* The manager of the GPU's memory. NULL: the core. */
	struct sim_memory_policy (*memory)(const struct config *config);
	/* The scheduler of its time. NULL: the hardware. */
	struct gvm_scheduler_config (*scheduling)(const struct config *config);
};

#define SIM_SYSTEM(name_) extern const struct sim_system system_##name_;
#include "systems/list.h"
#undef SIM_SYSTEM

/* The keys of all systems, NULL at the end: the values of system.name. */
extern const struct cfg_keys *const sim_systems[];

/* The system with these keys. */
static inline const struct sim_system *sim_system_of(const struct cfg_keys *keys)
{
	return container_of(keys, struct sim_system, keys);
}

/* The system @name, or NULL. */
const struct sim_system *sim_system_find(const char *name);

/* The policies of the core's scheduler of GPU time: gvm/sched.h. */
enum sim_scheduler {
	SIM_SCHEDULER_TIMESLICES,
	SIM_SCHEDULER_PRIORITY,
	SIM_SCHEDULER_WEIGHTED,
};

/* How the scheduler learns which containers have work. */
enum sim_tracking {
	SIM_TRACKING_EVENTS,
	SIM_TRACKING_BUSY_BITS,
};

/* The keys of systems that have the core's scheduler: a member of the struct of their keys. */
struct sim_scheduler_keys {
	u64 scheduler; /* "system.scheduler": enum sim_scheduler */
	u64 tracking;  /* "system.tracking": enum sim_tracking */
	u64 interval;  /* "system.tracking_interval", ns between events or looks at busy bits */
};

/* The rows of these keys, for a struct @struct_ of keys with the member @member_. */
#define SIM_SCHEDULER_KEYS(struct_, member_)                                             \
	CFG_SYSTEM_KEY("scheduler", ENUM, struct_, member_.scheduler, "timeslices",      \
		       "how GPU time is shared", .words = sim_scheduler_words),          \
		CFG_SYSTEM_KEY("tracking", ENUM, struct_, member_.tracking, "events",    \
			       "how the driver learns which containers have work",       \
			       .words = sim_tracking_words),                             \
		CFG_SYSTEM_KEY("tracking_interval", DURATION, struct_, member_.interval, \
			       "2ms", "between two events or two looks at busy bits",    \
			       CFG_RANGE(10 * CFG_USEC, CFG_SEC))

extern const char *const sim_scheduler_words[];
extern const char *const sim_tracking_words[];

/* The configuration of the scheduler with these keys. */
struct gvm_scheduler_config sim_system_scheduling(const struct sim_scheduler_keys *keys);

/* Does the scheduler with these keys honour this compute.* file? */
bool sim_system_scheduler_takes(const struct sim_scheduler_keys *keys,
				const char *control_file);

/* Does the core have this control file, writable, and with a name that starts with @prefix? */
bool sim_system_core_takes(const char *control_file, const char *prefix);

#endif
