/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* "gvmd hook": an OCI hook by which a container gets its limits before it starts. */
#ifndef SIM_GVMD_HOST_CMD_HOOK_H
#define SIM_GVMD_HOST_CMD_HOOK_H

#include <stdio.h>

#include "engine/types.h"
#include "gvmd/host/host_gpus.h"
#include "terminal/command.h"

#define HOOK_ROOT "/sys/kernel/gvm" /* the control files of gvm.ko */

/* Where limits go, and what they are shares of. */
struct hook_target {
	const char *root; /* HOOK_ROOT, but for tests */
	const char *gpus; /* HOST_GPUS, but for tests */
	u64 gpu_bytes; /* what a GPU of this host has; 0: not known, and a share is an error */
};

extern const struct command command_hook;

/* Rows of struct command_option: where limits go, for hook_take_option(). */
/* clang-format off */
#define HOOK_OPTIONS \
	{ "memory", "SIZE", false, \
"what a GPU of this host has, for containers that are to have a\n" \
"share of it; without it a share is an error" }, \
	{ "gpus", "DIR", false, \
"the host's GPUs, for limits of single ones;\n" HOST_GPUS " by default" }, \
	{ "root", "DIR", false, "the module's control files; " HOOK_ROOT " by default" }
/* clang-format on */

/*
 * Take one of HOOK_OPTIONS into @target; @command names itself in mistakes.
 * Returns 0 or a negative enum sim_exit.
 */
int hook_take_option(const struct command *command, struct hook_target *target,
		     const char *option, const char *value, struct sim_error *err);

/*
 * Give a container what its annotations and environment ask for. @state has its state as a
 * runtime tells it, in JSON. Returns 0 or a negative enum sim_exit, also if only some of it
 * could be given: then the container must not start.
 */
int hook_give_limits(const struct hook_target *target, FILE *state, struct sim_error *err);

#endif
