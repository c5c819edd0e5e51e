// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * ghost-uvm: Ghost's policy on NVIDIA's own driver, as gvm.ko brings it to a real GPU.
 *
 * On a real GPU NVIDIA's uvm_va_block owns chunks, residency, copies and PTEs. gvm.ko is called
 * at its hooks and decides, but does not move pages. The system "ghost" is the papers' full
 * design, in which the driver's core services faults itself. This system shows which parts of
 * it remain:
 *
 *     part of Ghost                              here
 *     gmem.limit.high, never exceeded            yes: charged before each allocation
 *     gmem.limit.low, hmem.limit                 yes
 *     own victims first, dual CLOCK              yes: at the hook that picks a root chunk
 *     background evictors ahead of need          yes: the driver has a call to evict a chunk
 *     pressure events, discard                   yes
 *     promotion to 2 MB                          yes: at the hook before a block is serviced
 *     schedulers, timeslices, freeze             yes: RPCs, as everywhere
 *     priority batches                           yes: the outer loop is ours
 *     copy first over all blocks of a batch      no: a block is finished before the next begins
 *     room made without a restart                no: a block that finds no chunk starts again
 *     clean drop                                 no: reads map for writing: all is copied out
 *     hint faults                                no: no call unmaps without moving the data
 *     contexts and page tables in gmem.current   no: RM takes them, and no hook sees it
 *     host memory given back on swap-in          no: the driver keeps it until the range dies
 *
 * So hmem.limit bounds the bytes whose only copy is on the host, not the host memory that the
 * driver keeps allocated. Memory that RM takes is charged to no container, and it is not free:
 * the device's evictor asks the device how much is free (gvm_memory_ops.free_chunks), not the
 * books. If RM finds no free chunk, its victim comes from the core's order, which spares
 * protected containers. The published GVM takes the first of its global list.
 *
 * How a real driver will differ from this model:
 *  1. RM calls for memory with its own locks held. The model has its two calls: one chunk of
 *     the driver's choice, and a range that RM names (nvuvm_evict_range()). No allocation here
 *     needs a range.
 *  2. Root chunks are split there for small ranges. Here each block has a whole one, unless
 *     system.mechanisms.sub_chunks is on: it changes the results of the shipped scenarios.
 *  3. A block of less than 2 MB is promoted here. There each of its pages is charged, and comes
 *     when the driver wants it.
 */
#include <string.h>

#include "config/config.h"
#include "systems/core.h"
#include "systems/system.h"

struct ghost_uvm_keys {
	struct sim_scheduler_keys scheduling;
	bool priority_batches;
	bool sub_chunks;
};

static const struct cfg_key ghost_uvm_rows[] = {
	SIM_SCHEDULER_KEYS(struct ghost_uvm_keys, scheduling),
	CFG_SYSTEM_KEY("mechanisms.priority_batches", BOOL, struct ghost_uvm_keys,
		       priority_batches, "false",
		       "faults are serviced in the order of compute.priority"),
	CFG_SYSTEM_KEY("mechanisms.sub_chunks", BOOL, struct ghost_uvm_keys, sub_chunks,
		       "false",
		       "ranges of less than 2 MB share chunks and pay for their bytes"),
};

static bool ghost_uvm_honours(const struct config *config, const char *control_file)
{
	const struct ghost_uvm_keys *keys = config->system_keys;

	if (!strcmp(control_file, "compute.priority") && keys->priority_batches)
		return true;
	return sim_system_core_takes(control_file, "gmem.") ||
	       sim_system_core_takes(control_file, "hmem.") ||
	       sim_system_scheduler_takes(&keys->scheduling, control_file);
}

static struct sim_memory_policy ghost_uvm_memory(const struct config *config)
{
	const struct ghost_uvm_keys *keys = config->system_keys;

	return (struct sim_memory_policy){
		.manager = &sim_manager_ghost_uvm,
		.evictors = true,
		.features = keys->priority_batches ? GVM_PRIORITY_BATCHES : 0,
		.sub_chunks = keys->sub_chunks,
		.host_fragmented = config->host.fragmented,
	};
}

static struct gvm_scheduler_config ghost_uvm_scheduling(const struct config *config)
{
	const struct ghost_uvm_keys *keys = config->system_keys;

	return sim_system_scheduling(&keys->scheduling);
}

const struct sim_system system_ghost_uvm = {
	.keys = {
		.name = "ghost-uvm",
		.summary = "one GPU, Ghost's policy at the hooks of NVIDIA's driver: what gvm.ko can do",
		CFG_KEYS(ghost_uvm_rows),
		.bytes = sizeof(struct ghost_uvm_keys),
	},
	.own_gpu = false,
	.has_pressure = true,
	.honours = ghost_uvm_honours,
	.memory = ghost_uvm_memory,
	.scheduling = ghost_uvm_scheduling,
};
