// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gpreempt: the most important container runs for as long as it has work, the others in its gaps. A
 * baseline of the GVM paper (sections 7.1 and 7.3), as its evaluation ran it.
 *
 * GPreempt (Fan et al., USENIX ATC 2025) preempts with what the hardware has: a best-effort context
 * gets the shortest timeslice, so that the latency-critical one is back on the GPU as soon as it has
 * work, whatever kernel is in execution. No application is changed, and memory is none of its
 * concern: a fault evicts the chunk that was migrated to longest ago, of any container.
 *
 * For the GVM paper this was the published GVM driver with priorities in place of GPreempt's own
 * patch, and without memory limits:
 *
 *     compute.priority    0 for the container with the most important one in the scenario: 524 ms
 *                         15 for all others: 16 us
 *     gmem.limit.*        none
 *
 * A context switch takes many times 16 us, so the others hardly get on while it has work; its gaps,
 * in which an eager framework's host has not launched the next kernel yet, are theirs. And 16 us do
 * not help against a best-effort kernel that has faulted: it cannot be switched out.
 *
 * The scenario's own control files have no effect and are listed as ignored. Containers
 * of the same, most important priority all get 0. A container without a priority has that of the
 * default timeslice. Each GPU of a machine is managed by itself.
 *
 *
 * How it differs from GPreempt
 *
 *   1. Its hint, by which a kernel is preempted before the latency-critical launch arrives, is not in
 *      the evaluated system, and not here.
 *   2. The paper says that its baselines page "with the default GPU driver". The evaluated system
 *      paged with GVM's, which promotes faults to 2 MB and insists on 2 MB of host memory. So do we;
 *      system.mechanisms.fast_paging switches it off.
 */
#include <stdlib.h>
#include <string.h>

#include "gvm/tsg.h"
#include "systems/system.h"

#define PRIORITY_FILE "compute.priority"

struct gpreempt_keys {
	bool fast_paging;
};

static const struct cfg_key gpreempt_rows[] = {
	CFG_SYSTEM_KEY("mechanisms.fast_paging", BOOL, struct gpreempt_keys, fast_paging,
		       "true", "swapping that overlaps copies"),
};

static bool gpreempt_honours(const struct config *config, const char *control_file)
{
	(void)config;
	(void)control_file;
	return false;
}

/* The priority of a container in the scenario; 0 is the most important. */
static unsigned long container_priority(const struct config *config,
					const struct cfg_container *container)
{
	for (size_t i = 0; i < container->control_count; i++) {
		const struct cfg_control *control = &container->controls[i];

		if (!strcmp(control->file, PRIORITY_FILE) && control->text[0])
			return strtoul(control->text, NULL, 10);
	}
	return gvm_timeslice_us_to_priority(config->gpu.sched.timeslice / 1000);
}

static const char *gpreempt_setting(const struct config *config,
				    const struct cfg_container *container,
				    const char *control_file)
{
	unsigned long own = container_priority(config, container);
	size_t gpu = config_gpu_index(config, container);

	if (strcmp(control_file, PRIORITY_FILE) != 0)
		return NULL;
	for (size_t i = 0; i < config->container_count; i++) {
		const struct cfg_container *other = &config->containers[i];

		if (other->enabled && config_gpu_index(config, other) == gpu &&
		    container_priority(config, other) < own)
			return "15";
	}
	return "0";
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
	.honours = gpreempt_honours,
	.setting = gpreempt_setting,
	.memory = gpreempt_memory,
};
