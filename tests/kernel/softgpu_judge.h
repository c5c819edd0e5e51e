/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The patterns of softgpu_patterns.h on the real driver. */
#ifndef SOFTGPU_JUDGE_H
#define SOFTGPU_JUDGE_H

#include "softgpu_guest.h"
#include "softgpu_patterns.h"

/* What else is done with the events of the patterns. */
struct judge_observer {
	void (*begin)(const struct pattern *pattern);
	void (*event)(const struct softgpu_event *event);
	/* @errors: accesses that failed. */
	void (*end)(const struct pattern *pattern, uint64_t errors);
};

/*
 * Run @count patterns and write their transcripts to the console, each line behind "judge: ".
 * UVM has @chunks chunks of 2 MB for managed memory. @observer: or NULL.
 */
void judge_run(struct softgpu_tenant *tenant, const struct pattern *patterns, size_t count,
	       size_t chunks, const struct judge_observer *observer);

#endif
