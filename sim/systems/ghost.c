// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * ghost: the Ghost paper's driver, on one GPU that all containers share.
 *
 * Ghost succeeds GVM. It has the same control files. Its core keeps to the papers' design where
 * the published GVM driver takes short cuts: it checks a charge before it allocates, no search
 * takes a victim from a container protected by gmem.limit.low, settings outlive TSGs, and a
 * failed RPC is reported. All of that is in sim/core, with the reasons. The simulator only
 * drives it.
 *
 * Its parts cannot be switched off. Five ideas that are in neither paper can be switched on:
 *
 *     system.mechanisms.clean_drop          unwritten pages are evicted without a copy
 *     system.mechanisms.priority_batches    faults are served in the order of compute.priority
 *     system.mechanisms.hint_faults         hint faults give the clock a true reference bit
 *     system.mechanisms.lirs                hint faults give an order that survives loops
 *     system.mechanisms.owner_prefetch      blocks come in before their container's turn
 *
 * Their essays are in sim/core: block/clean.c, service/fault.c, policy/hint.c, policy/lirs.c
 * and policy/predictor.c. With both hint_faults and lirs, lirs says which chunks are unmapped.
 *
 * system.mechanisms.sub_chunks serves small blocks with parts of chunks (block/part.c), as
 * NVIDIA's driver does. It is off by default because it changes what the shipped scenarios
 * charge for the ends of their ranges.
 */
#include <string.h>

#include "systems/core.h"
#include "systems/system.h"

struct ghost_keys {
	struct sim_scheduler_keys scheduling;
	/* enum gvm_feature */
	bool clean_drop;
	bool priority_batches;
	bool hint_faults;
	bool lirs;
	bool owner_prefetch;
	bool sub_chunks;
};

static const struct cfg_key ghost_rows[] = {
	SIM_SCHEDULER_KEYS(struct ghost_keys, scheduling),
	CFG_SYSTEM_KEY("mechanisms.clean_drop", BOOL, struct ghost_keys, clean_drop, "false",
		       "pages that were not written are evicted without a copy"),
	CFG_SYSTEM_KEY("mechanisms.priority_batches", BOOL, struct ghost_keys, priority_batches,
		       "false", "faults are serviced in the order of compute.priority"),
	CFG_SYSTEM_KEY("mechanisms.hint_faults", BOOL, struct ghost_keys, hint_faults, "false",
		       "hint faults give the clock a reference bit"),
	CFG_SYSTEM_KEY("mechanisms.lirs", BOOL, struct ghost_keys, lirs, "false",
		       "blocks leave by reuse distance (LIRS over hint faults)"),
	CFG_SYSTEM_KEY("mechanisms.owner_prefetch", BOOL, struct ghost_keys, owner_prefetch,
		       "false", "blocks come in before their container's turn"),
	CFG_SYSTEM_KEY("mechanisms.sub_chunks", BOOL, struct ghost_keys, sub_chunks, "false",
		       "ranges of less than 2 MB share chunks and pay for their bytes"),
};

static bool ghost_honours(const struct config *config, const char *control_file)
{
	const struct ghost_keys *keys = config->system_keys;

	if (!strcmp(control_file, "compute.priority") && keys->priority_batches)
		return true;
	return sim_system_core_takes(control_file, "gmem.") ||
	       sim_system_core_takes(control_file, "hmem.") ||
	       sim_system_scheduler_takes(&keys->scheduling, control_file);
}

static struct sim_memory_policy ghost_memory(const struct config *config)
{
	const struct ghost_keys *keys = config->system_keys;
	u32 features = 0;

	if (keys->clean_drop)
		features |= GVM_CLEAN_DROP;
	if (keys->priority_batches)
		features |= GVM_PRIORITY_BATCHES;
	if (keys->hint_faults)
		features |= GVM_HINT_FAULTS;
	if (keys->lirs)
		features |= GVM_LIRS;
	if (keys->owner_prefetch)
		features |= GVM_OWNER_PREFETCH;
	return (struct sim_memory_policy){
		.evictors = true,
		.features = features,
		.sub_chunks = keys->sub_chunks,
	};
}

static struct gvm_scheduler_config ghost_scheduling(const struct config *config)
{
	const struct ghost_keys *keys = config->system_keys;

	return sim_system_scheduling(&keys->scheduling);
}

const struct sim_system system_ghost = {
	.keys = {
		.name = "ghost",
		.summary = "one GPU, limits and timeslices by container: the Ghost paper's driver",
		CFG_KEYS(ghost_rows),
		.bytes = sizeof(struct ghost_keys),
	},
	.own_gpu = false,
	.has_pressure = true,
	.honours = ghost_honours,
	.memory = ghost_memory,
	.scheduling = ghost_scheduling,
};
