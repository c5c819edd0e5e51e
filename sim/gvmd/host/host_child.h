/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A policy in a process of its own: one that crashes or hangs takes nothing along. Its plug-in
 * is loaded there, too.
 */
#ifndef SIM_GVMD_HOST_HOST_CHILD_H
#define SIM_GVMD_HOST_HOST_CHILD_H

#include <sys/types.h>

#include "gvmd/policy.h"

struct sim_error;
struct host_shared;

/* The caller owns it: host_child_start(), host_child_stop(). */
struct host_child {
	pid_t pid;
	int socket;		    /* a byte each way for each step */
	struct host_shared *shared; /* the step, in memory that both see */
	char policy[GVMD_NAME_MAX];
	u64 period_ns;
	u64 deadline_ns; /* of a step */
};

/*
 * Start the policy of @file for containers with the @count names in @step. Returns 0 or a
 * negative enum sim_exit: the mistakes that gvmd_plan_load() finds, and a policy that crashes
 * or hangs while it is loaded.
 */
int host_child_start(struct host_child *child, const char *file, const struct gvmd_step *step,
		     struct sim_error *err);

/*
 * Run a step: as decide() of struct gvmd_world (daemon.h). A policy that does not answer within
 * its deadline is killed.
 */
int host_child_step(struct host_child *child, struct gvmd_step *step);

void host_child_stop(struct host_child *child);

#endif
