/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef SIM_MACHINE_POLICY_GUARD_H
#define SIM_MACHINE_POLICY_GUARD_H

#include "gvmd/plan.h"

/*
 * Run a step of the policy of @plan, a plug-in: as decide() of struct gvmd_world (daemon.h).
 * One that crashes, or computes for longer than its deadline, is an error with its reason in
 * step->why. Such a policy is not called again, not to close it either: its memory is as the
 * crash left it. Only one step at a time in a process.
 */
int policy_guarded_step(struct gvmd_plan *plan, struct gvmd_step *step);

#endif
