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
 * It is one design and has no switches: system.mechanisms.* belong to gvm, and are listed as
 * ignored here.
 */
#include "config/config.h"
#include "systems/system.h"

static bool ghost_honours(const struct config *config, const char *control_file)
{
	(void)config;
	return sim_system_core_takes(control_file, "gmem.") ||
	       sim_system_core_takes(control_file, "hmem.") ||
	       sim_system_core_takes(control_file, "compute.");
}

static struct sim_memory_policy ghost_memory(const struct config *config)
{
	(void)config;
	return (struct sim_memory_policy){ .evictors = true };
}

const struct sim_system system_ghost = {
	.name = "ghost",
	.summary = "one GPU, limits and timeslices by container: the Ghost paper's driver",
	.own_gpu = false,
	.has_pressure = true,
	.honours = ghost_honours,
	.memory = ghost_memory,
};
