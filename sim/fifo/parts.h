/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The parts of the host engine: bursts on memory (memory.c), runlists (runlist.c), what partitions
 * share (partition.c), and the calls of fifo.h over them (fifo.c).
 *
 * Everything happens in two steps: an update brings the bursts in execution up to the present, a
 * plan decides what holds now and sets the partition's timer for the next date at which that can
 * change. Submissions, replays, RPCs and timers all do the same: update, change something, plan.
 */
#ifndef SIM_FIFO_PARTS_H
#define SIM_FIFO_PARTS_H

#include "fifo/types.h"

/* memory.c */

/* When a TSG has something to execute; ENG_NEVER: not until something is submitted. */
u64 tsg_work_date(const struct fifo_tsg *tsg);

/* The ordinal of the block that a burst has reached. It has used all blocks before that. */
u64 burst_progress_ordinal(const struct fifo_burst *burst);

/* The work that a burst can do before it touches a missing page; all of it if no page is missing. */
u64 burst_work_before_miss(struct fifo_burst *burst);

/* Is the TSG of a runner about to touch a missing page right now? */
bool runner_at_miss(const struct fifo_runner *runner);

/*
 * Is a runner's TSG in a kernel that has faulted and does not have all of its pages yet? Its warps
 * fault side by side, so it has outstanding faults until it has all pages.
 */
bool runner_is_faulting(const struct fifo_runner *runner);

/* A runner's TSG stands at a missing page: report it, and what the kernel's other warps miss. */
void runner_stall(struct fifo_runner *runner);

/* The accesses of a stalled TSG run again. Those whose pages are mapped now are made. */
void tsg_replay(struct fifo_tsg *tsg);

/* runlist.c */

/* End the first burst of a TSG, with success or failure. */
void tsg_finish_burst(struct fifo_tsg *tsg, int status);

/* Put a TSG on the runlist, behind the one whose turn it is; or take it off. */
void runner_add(struct fifo_runner *runner, struct fifo_tsg *tsg);
void runner_remove(struct fifo_runner *runner, struct fifo_tsg *tsg);

/* Advance the runner's burst and the counters of its TSGs to the present. */
void runner_update(struct fifo_runner *runner);

/* The current TSG's timeslice begins now. */
void runner_start_slice(struct fifo_runner *runner);

/* Decide which TSG of a runner runs now, and whether it switches or stalls. Ignores other runners. */
void runner_decide(struct fifo_runner *runner);

/* The next date at which that can change, at its burst's speed; ENG_NEVER: there is no such date. */
u64 runner_next_date(struct fifo_runner *runner);

/* partition.c */

void partition_init(struct fifo_partition *partition, struct fifo *fifo,
		    const struct fifo_share *share);
void partition_add(struct fifo_partition *partition, struct fifo_tsg *tsg, u32 limit_ppm);
void partition_remove(struct fifo_partition *partition, struct fifo_tsg *tsg);

/* Decide what runs in a partition now, and set its timer. Call after an update. */
void partition_plan(struct fifo_partition *partition);

#endif
