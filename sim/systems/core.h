/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The parts of the core that several systems offer: its scheduler of GPU time, with keys, and
 * its control files.
 */
#ifndef SIM_SYSTEMS_CORE_H
#define SIM_SYSTEMS_CORE_H

#include <stdbool.h>

#include "config/config.h"
#include "config/schema.h"
#include "gvm/sched.h"

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

#define SIM_PRIORITY_FILE "compute.priority"

/*
 * The compute.priority of a container at the start; 0 is the most important. One without a
 * priority counts with that of the default timeslice.
 */
unsigned long sim_system_priority(const struct config *config,
				  const struct cfg_container *container);

/* For systems with two classes: has no container on its GPU a more important priority? */
bool sim_system_is_first(const struct config *config, const struct cfg_container *container);

/* Does the core have this control file, writable, and with a name that starts with @prefix? */
bool sim_system_core_takes(const char *control_file, const char *prefix);

#endif
