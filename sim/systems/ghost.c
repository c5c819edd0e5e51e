// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * ghost: the Ghost paper's driver, on one GPU that all containers share.
 *
 * Ghost is what became of GVM: the same control files, over a core that holds to the papers'
 * design where the published GVM driver took short cuts. A charge is checked before there is
 * memory, a container protected by gmem.limit.low is passed over by every search for a victim,
 * settings outlive the TSGs that they were made for, and an RPC that failed is known to have
 * failed. All of that is in sim/core, with the reasons; the simulator only drives it.
 *
 * It is one design, whose parts cannot be switched off. Three ideas that are in neither paper can be
 * switched on:
 *
 *     system.mechanisms.clean_drop          what was not written leaves without a copy
 *     system.mechanisms.priority_batches    faults are served in the order of compute.priority
 *     system.mechanisms.hint_faults         a reference bit that means it
 *
 * Their essays are in sim/core: block/clean.c, service/fault.c and policy/hint.c.
 */
#include <string.h>

#include "config/config.h"
#include "systems/system.h"

static bool ghost_honours(const struct config *config, const char *control_file)
{
	if (!strcmp(control_file, "compute.priority") && config->mechanisms.priority_batches)
		return true;
	return sim_system_core_takes(control_file, "gmem.") ||
	       sim_system_core_takes(control_file, "hmem.") ||
	       sim_system_scheduler_takes(config, control_file);
}

static struct sim_memory_policy ghost_memory(const struct config *config)
{
	u32 features = 0;

	if (config->mechanisms.clean_drop)
		features |= GVM_CLEAN_DROP;
	if (config->mechanisms.priority_batches)
		features |= GVM_PRIORITY_BATCHES;
	if (config->mechanisms.hint_faults)
		features |= GVM_HINT_FAULTS;
	return (struct sim_memory_policy){ .evictors = true, .features = features };
}

static const char *const ghost_mechanisms[] = {
	"clean_drop",	   "priority_batches",	       "hint_faults", "system.scheduler",
	"system.tracking", "system.tracking_interval", NULL
};

const struct sim_system system_ghost = {
	.name = "ghost",
	.summary = "one GPU, limits and timeslices by container: the Ghost paper's driver",
	.own_gpu = false,
	.mechanisms = ghost_mechanisms,
	.has_pressure = true,
	.honours = ghost_honours,
	.memory = ghost_memory,
	.scheduling = sim_system_scheduling,
};
