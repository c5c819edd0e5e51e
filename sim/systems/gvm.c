// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvm: the GVM paper's driver, on one GPU that all containers share.
 *
 * Each container has a directory of control files, in which the operator sets its limits.
 * gmem.limit.high bounds its memory, and compute.timeslice or .priority its turns on the GPU.
 * compute.freeze takes it off the GPU. Applications do not change. Limits are not
 * reservations: other containers use the memory and time that a container leaves unused.
 *
 * Three switches take the system apart, as the paper's Figure 14 does:
 *
 *     system.mechanisms.memory_isolation    gmem.* control files
 *     system.mechanisms.compute_isolation   compute.* control files
 *     system.mechanisms.fast_paging         swapping that does not wait page by page
 *
 * system.scheduler says how GPU time is shared: "timeslices" is the published way, "priority"
 * and "weighted" are the paper's policies of section 4.4, from the core
 * (sim/core/policy/sched.c). system.tracking says how they learn which containers have work.
 *
 * A fourth one, system.mechanisms.one_list, is how its authors' driver found a victim until 22
 * October 2025: it walked one list of all chunks (sim/nvuvm/walk.c). Fast paging is older: 10
 * September and, for promotion, 8 October.
 *
 * With all three mechanisms off this is the stock driver. A mechanism that is off has no
 * control files: a scenario's writes to them are listed as ignored.
 *
 *
 * How it differs from the paper
 *
 *   1. The published driver keeps the control files of a mechanism that is compiled out. Here
 *      they are gone, so that a run without limits cannot be taken for one with limits.
 *   2. There is no hmem.limit: the paper has it (Table 2), the published driver has not. There
 *      is no gmem.limit.low: a full GPU evicts in the order of last faults, of any container.
 *   3. Memory is managed as in the published driver, quirks included, not as in the paper: see
 *      sim/nvuvm/nvuvm.c. The paper's design is "ghost".
 *   4. memory_isolation without fast_paging is that driver as it was before its authors made
 *      paging fast. So it has one list.
 */
#include <string.h>

#include "systems/core.h"
#include "systems/system.h"

struct gvm_keys {
	struct sim_scheduler_keys scheduling;
	bool memory_isolation;
	bool compute_isolation;
	bool fast_paging;
	bool one_list;
};

static const struct cfg_key gvm_rows[] = {
	SIM_SCHEDULER_KEYS(struct gvm_keys, scheduling),
	CFG_SYSTEM_KEY("mechanisms.memory_isolation", BOOL, struct gvm_keys, memory_isolation,
		       "true", "gmem.* control files"),
	CFG_SYSTEM_KEY("mechanisms.compute_isolation", BOOL, struct gvm_keys, compute_isolation,
		       "true", "compute.* control files"),
	CFG_SYSTEM_KEY("mechanisms.fast_paging", BOOL, struct gvm_keys, fast_paging, "true",
		       "swapping that overlaps copies"),
	CFG_SYSTEM_KEY("mechanisms.one_list", BOOL, struct gvm_keys, one_list, "false",
		       "victims of a container are searched in one list of all chunks, as "
		       "until the driver's commit 919ce57a of 22 October 2025"),
};

static bool gvm_honours(const struct config *config, const char *control_file)
{
	const struct gvm_keys *keys = config->system_keys;

	if (!strcmp(control_file, "gmem.limit.low"))
		return false;
	if (sim_system_core_takes(control_file, "gmem."))
		return keys->memory_isolation;
	return keys->compute_isolation &&
	       sim_system_scheduler_takes(&keys->scheduling, control_file);
}

static struct sim_memory_policy gvm_memory(const struct config *config)
{
	const struct gvm_keys *keys = config->system_keys;

	return (struct sim_memory_policy){
		.manager = &sim_manager_nvuvm,
		.limits = keys->memory_isolation,
		.fast_path = keys->fast_paging,
		.one_list = keys->one_list || !keys->fast_paging,
		.host_fragmented = config->host.fragmented,
	};
}

static struct gvm_scheduler_config gvm_scheduling(const struct config *config)
{
	const struct gvm_keys *keys = config->system_keys;

	if (!keys->compute_isolation)
		return (struct gvm_scheduler_config){ .policy = GVM_SCHED_TIMESLICES };
	return sim_system_scheduling(&keys->scheduling);
}

const struct sim_system system_gvm = {
	.keys = {
		.name = "gvm",
		.summary = "one GPU, limits and timeslices by container: the GVM paper's driver",
		CFG_KEYS(gvm_rows),
		.bytes = sizeof(struct gvm_keys),
	},
	.own_gpu = false,
	.honours = gvm_honours,
	.memory = gvm_memory,
	.scheduling = gvm_scheduling,
};
