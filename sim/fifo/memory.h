/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Bursts on memory: progress up to a miss, stalls, replays. CONTEXT of all: an updated runlist.
 */
#ifndef SIM_FIFO_MEMORY_H
#define SIM_FIFO_MEMORY_H

#include "fifo/types.h"

/* When a TSG has something to execute; ENG_NEVER: not until something is submitted. */
u64 tsg_work_date(const struct fifo_tsg *tsg);

/* The first look at a burst's touches: count them, and find the place that it has reached. */
void burst_look(struct fifo_burst *burst);

/* The ordinal of the block that a burst has reached. It has used all blocks before that. */
u64 burst_progress_ordinal(struct fifo_burst *burst);

/*
 * The work that a burst can do before it touches a missing page; all of it if no page is
 * missing.
 */
u64 burst_work_before_miss(struct fifo_burst *burst);

/* Is a loaded TSG about to touch a missing page right now? */
bool tsg_at_miss(const struct fifo_tsg *tsg);

/*
 * Is a loaded TSG in a kernel that has faulted and does not have all of its pages yet? Its
 * warps fault side by side, so it has outstanding faults until it has all pages.
 */
bool tsg_is_faulting(const struct fifo_tsg *tsg);

/* A TSG stands at a missing page: report it, and what the kernel's other warps miss. */
void tsg_stall(struct fifo_tsg *tsg);

/* The accesses of a stalled TSG run again. Those whose pages are mapped now are made. */
void tsg_replay(struct fifo_tsg *tsg);

#endif
