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

#include "fifo/fifo.h"

/* memory.c */

/* The block that a burst has got to, all before it having been used. */
u64 burst_progress_ordinal(const struct fifo_burst *burst);

/*
 * How much of the burst's work can be done before it touches something that is not resident:
 * all of it if nothing is missing.
 */
u64 burst_work_before_miss(struct fifo_burst *burst);

/* Is the TSG of a runner about to touch a missing page right now? */
bool runner_at_miss(const struct fifo_runner *runner);

/*
 * Is a runner's TSG in a kernel that has faulted and has not got all of its pages yet? Its warps
 * fault side by side: until it has, there is no instant without an outstanding fault.
 */
bool runner_is_faulting(const struct fifo_runner *runner);

/* A runner's TSG stands at a missing page: report it, and what the kernel's other warps miss. */
void runner_stall(struct fifo_runner *runner);

/* The accesses of a stalled TSG run again: those whose pages are there are made now. */
void tsg_replay(struct fifo_tsg *tsg);

/* runlist.c */

/* When a TSG has something to execute; ENG_NEVER: not until something is submitted. */
u64 tsg_work_date(const struct fifo_tsg *tsg);

/* The first burst of a TSG is through, or has failed. */
void tsg_finish_burst(struct fifo_tsg *tsg, int status);

/* Join the runlist behind the TSG whose turn it is, or leave it. */
void runner_add(struct fifo_runner *runner, struct fifo_tsg *tsg);
void runner_remove(struct fifo_runner *runner, struct fifo_tsg *tsg);

/* Advance the runner's burst and the counters of its TSGs to the present. */
void runner_update(struct fifo_runner *runner);

/* The current TSG's timeslice begins now. */
void runner_start_slice(struct fifo_runner *runner);

/* Decide what holds now on a runner, without regard to others: who runs, switches or stalls. */
void runner_decide(struct fifo_runner *runner);

/* The next date at which that can change, at the speed that its burst has; ENG_NEVER: no date. */
u64 runner_next_date(struct fifo_runner *runner);

/* partition.c */

void partition_init(struct fifo_partition *partition, struct fifo *fifo,
		    const struct fifo_share *share);
void partition_add(struct fifo_partition *partition, struct fifo_tsg *tsg, u32 limit_ppm);
void partition_remove(struct fifo_partition *partition, struct fifo_tsg *tsg);

/* Decide what holds now in a partition, and when that may change. The past is up to date. */
void partition_plan(struct fifo_partition *partition);

#endif
