// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The choice of the core's scheduler. The module's parameters have the words of a scenario.
 * fakegpu_job_run() counts each launch, so that tracking by events knows it at once, without
 * the report of a shim.
 */
#include "fakegpu.h"

#include <linux/moduleparam.h>
#include <linux/string.h>

static char *scheduler = "timeslices";
module_param(scheduler, charp, 0444);
MODULE_PARM_DESC(scheduler, "who runs: timeslices (the runlist's turns), priority or weighted");

static char *tracking = "events";
module_param(tracking, charp, 0444);
MODULE_PARM_DESC(tracking, "how a scheduler learns who has work: events or busy_bits");

static unsigned int tracking_interval_us = 2000;
module_param(tracking_interval_us, uint, 0444);
MODULE_PARM_DESC(tracking_interval_us, "microseconds between two looks of a scheduler");

static const char *const scheduler_names[] = {
	[GVM_SCHED_TIMESLICES] = "timeslices",
	[GVM_SCHED_PRIORITY] = "priority",
	[GVM_SCHED_WEIGHTED] = "weighted",
};

static const char *const tracking_names[] = {
	[GVM_TRACK_EVENTS] = "events",
	[GVM_TRACK_BUSY_BITS] = "busy_bits",
};

int fakegpu_scheduling_start(struct fakegpu *gpu)
{
	int policy = match_string(scheduler_names, ARRAY_SIZE(scheduler_names), scheduler);
	int how = match_string(tracking_names, ARRAY_SIZE(tracking_names), tracking);
	struct gvm_scheduler_config config = {
		.policy = policy,
		.tracking = how,
		.interval_ns = (u64)tracking_interval_us * NSEC_PER_USEC,
	};

	if (policy < 0 || how < 0)
		return -EINVAL;
	if (policy == GVM_SCHED_TIMESLICES)
		return 0;
	return gvm_scheduler_start(&gpu->scheduler, gpu->device, &config);
}

void fakegpu_scheduling_stop(struct fakegpu *gpu)
{
	gvm_scheduler_stop(&gpu->scheduler);
}
