// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gpreempt: the most important container runs as long as it has work, the others run in its
 * gaps. A baseline of the GVM paper (sections 7.1 and 7.3), as its evaluation ran it.
 *
 * GPreempt (Fan et al., USENIX ATC 2025) preempts with timeslices: a best-effort context gets
 * the shortest one. So the latency-critical context is back on the GPU as soon as it has work,
 * whatever kernel runs. It changes no application and does not manage memory: a fault evicts
 * the chunk whose last migration is the oldest, of any container.
 *
 * The GVM paper ran the published GVM driver, with priorities in place of GPreempt's own patch
 * and without memory limits:
 *
 *     compute.priority    0 (524 ms) for the container with the scenario's highest priority
 *                         15 (16 us) for all others
 *     gmem.limit.*        none
 *
 * A context switch takes many times 16 us, so the others make little progress while the first
 * has work. They run in its gaps, before an eager framework's host launches the next kernel. A
 * short timeslice does not help against a best-effort kernel that has faulted: it cannot be
 * switched out.
 *
 * The scenario's other control files have no effect and are listed as ignored, and so are its
 * events. Containers of the same, most important priority all get 0. A container without a priority counts with the
 * priority of the default timeslice. Each GPU of a machine is managed alone.
 *
 *
 * How it differs from GPreempt
 *
 *   1. GPreempt's hint preempts a kernel before the latency-critical launch arrives. The
 *      evaluated system does not have the hint, nor does this one.
 *   2. The paper says that its baselines page "with the default GPU driver". The evaluated
 *      system paged with GVM's driver, which promotes faults to 2 MB and requires 2 MB of host
 *      memory. So does this one; system.mechanisms.fast_paging switches it off.
 */
#include <string.h>

#include "systems/core.h"
#include "systems/system.h"

struct gpreempt_keys {
	bool fast_paging;
};

static const struct cfg_key gpreempt_rows[] = {
	CFG_SYSTEM_KEY("mechanisms.fast_paging", BOOL, struct gpreempt_keys, fast_paging,
		       "true", "swapping that overlaps copies"),
};

static const char *gpreempt_setting(const struct config *config,
				    const struct cfg_container *container,
				    const char *control_file)
{
	if (strcmp(control_file, SIM_PRIORITY_FILE) != 0)
		return NULL;
	return sim_system_is_first(config, container) ? "0" : "15";
}

static struct sim_memory_policy gpreempt_memory(const struct config *config)
{
	const struct gpreempt_keys *keys = config->system_keys;

	return (struct sim_memory_policy){
		.manager = &sim_manager_nvuvm,
		.fast_path = keys->fast_paging,
		.host_fragmented = config->host.fragmented,
	};
}

const struct sim_system system_gpreempt = {
	.keys = {
		.name = "gpreempt",
		.summary = "one GPU, the most important container first, no memory limits: GPreempt",
		CFG_KEYS(gpreempt_rows),
		.bytes = sizeof(struct gpreempt_keys),
	},
	.own_gpu = false,
	.by_priority = true,
	.setting = gpreempt_setting,
	.memory = gpreempt_memory,
};
