// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvm: the GVM paper's driver, on one GPU that all containers share.
 *
 * Each container has its directory of control files, and who deploys it says there what it may
 * take: gmem.limit.high and .low bound its memory, compute.timeslice or .priority its turns on
 * the GPU, compute.freeze takes it off altogether. Nothing of that asks the application, and
 * nothing is a reservation: what one container leaves, the others get.
 *
 * The paper takes it apart in its Figure 14, and so can a scenario, by three switches:
 *
 *     system.mechanisms.memory_isolation    gmem.* control files
 *     system.mechanisms.compute_isolation   compute.* control files
 *     system.mechanisms.fast_paging         swapping that does not wait page by page
 *
 * How GPU time is shared is one of three, system.scheduler: "timeslices" is what was published,
 * "priority" and "weighted" are the paper's policies of section 4.4 as the core has them
 * (sim/core/policy/sched.c). system.tracking says how they learn who has work.
 *
 * With all three mechanisms off this is the stock driver. A mechanism that is off has no control files:
 * what a scenario writes there is listed as ignored, and not quietly kept.
 *
 *
 * How it differs from the paper
 *
 *   1. The published driver's control files of a mechanism stay when it is compiled out. Here
 *      they are gone, so that no run can be taken for one with limits that it did not have.
 *   2. There is no hmem.limit: the paper has it (Table 2), the published driver has not.
 *   3. Memory is managed as the published driver does it, quirks included, and not as the paper
 *      describes: see sim/nvuvm/nvuvm.c. What the paper describes is "ghost".
 */
#include "config/config.h"
#include "systems/system.h"

static bool gvm_honours(const struct config *config, const char *control_file)
{
	if (sim_system_core_takes(control_file, "gmem."))
		return config->mechanisms.memory_isolation;
	return config->mechanisms.compute_isolation &&
	       sim_system_scheduler_takes(config, control_file);
}

static struct sim_memory_policy gvm_memory(const struct config *config)
{
	return (struct sim_memory_policy){
		.nvuvm = true,
		.limits = config->mechanisms.memory_isolation,
		.fast_path = config->mechanisms.fast_paging,
		.host_fragmented = config->host.fragmented,
	};
}

static struct gvm_scheduler_config gvm_scheduling(const struct config *config)
{
	if (!config->mechanisms.compute_isolation)
		return (struct gvm_scheduler_config){ .policy = GVM_SCHED_TIMESLICES };
	return sim_system_scheduling(config);
}

static const char *const gvm_mechanisms[] = {
	"memory_isolation", "compute_isolation",	"fast_paging", "system.scheduler",
	"system.tracking",  "system.tracking_interval", NULL
};

const struct sim_system system_gvm = {
	.name = "gvm",
	.summary = "one GPU, limits and timeslices by container: the GVM paper's driver",
	.own_gpu = false,
	.mechanisms = gvm_mechanisms,
	.honours = gvm_honours,
	.memory = gvm_memory,
	.scheduling = gvm_scheduling,
};
