/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Memory pressure for applications on a host without gvm.ko: events over a Unix socket. */
#ifndef SIM_GVMD_HOST_PRESSURE_H
#define SIM_GVMD_HOST_PRESSURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "engine/types.h"

/* What was told of a process on a GPU. */
struct pressure_told {
	pid_t pid;
	u64 gpu;
	u64 target_bytes; /* of the last event; 0: it is within its limit */
	u64 sequence;	  /* of the last event */
	u64 date_ns;	  /* of the last event */
	bool here;	  /* it still has control files */
};

/*
 * A connection. It is let go of when the process has ended, also where a
 * child of that one has it.
 */
struct pressure_peer {
	int fd;
	int pidfd; /* of the process that connected; -1: only its start is known */
	pid_t pid; /* of that process, as the kernel says */
	uid_t uid; /* likewise */
	u64 start; /* of that process, in ticks since the host's; 0: not known */
};

/* All-zero has no socket. The caller owns it: pressure_open(), pressure_close(). */
struct pressure {
	const char *path; /* of the socket; borrowed */
	const char *root; /* of the control files, as for ctl_list(); borrowed */
	u64 repeat_ns;	  /* after which an event is told again */
	int fd;
	struct pressure_told *told;
	size_t told_count;
	struct pressure_peer *peers;
	size_t peer_count;
	size_t peers_max; /* as the descriptors of this process allow */
	u64 events;	  /* lines that were sent */
};

/* Make the socket. A dead one of that name is replaced. Returns 0 or -errno. */
int pressure_open(struct pressure *pressure);
void pressure_close(struct pressure *pressure);

/*
 * One look at @now_ns: take new connections, let go of those that have ended, and tell of each
 * process that is above its limit. Never waits for a peer. Returns 0 or -ENOMEM.
 */
int pressure_tick(struct pressure *pressure, u64 now_ns);

#endif
