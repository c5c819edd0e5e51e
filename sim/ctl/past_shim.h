/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Processes that use a GPU without the shim, though their container has it: a child that was
 * started with an empty environment, a program without a dynamic loader, one that is
 * set-user-ID. The shim cannot say it from inside.
 */
#ifndef SIM_CTL_PAST_SHIM_H
#define SIM_CTL_PAST_SHIM_H

#include <stddef.h>

#include "ctl/host_files.h"

/* Why a process is taken to be of a container with the shim. The first one that holds. */
enum ctl_past_reason {
	CTL_PAST_OWN,	   /* its own environment asks for the shim */
	CTL_PAST_ANCESTOR, /* an ancestor has the shim */
	CTL_PAST_ASKED,	   /* the environment of an ancestor asks for it */
	CTL_PAST_CGROUP,   /* a process of the same cgroup has the shim, and a GPU open */
};

struct ctl_past {
	u64 pid;
	char command[CTL_COMMAND_MAX];
	enum ctl_past_reason reason;
	u64 other; /* the ancestor, or the process of the same cgroup; 0: CTL_PAST_OWN */
	char other_command[CTL_COMMAND_MAX];
};

/* All-zero is empty. Owned by the caller: ctl_past_list(), ctl_past_list_destroy(). */
struct ctl_past_list {
	struct ctl_past *processes; /* by number */
	size_t count;
};

/*
 * Find them in /proc. A process whose files the caller may not read is left out:
 * without root, those of other users. An environment is the one that its process
 * started with. Returns 0 or -ENOMEM.
 */
int ctl_past_list(struct ctl_past_list *ret_list);
void ctl_past_list_destroy(struct ctl_past_list *list);

#endif
