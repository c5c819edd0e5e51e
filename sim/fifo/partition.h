/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A partition's plan: what runs in it now, and when that can change.
 *
 * Everything happens in two steps: an update brings the bursts in execution up to the present,
 * a plan decides what holds now and sets the partition's timer for the next date at which that
 * can change. Submissions, replays, RPCs and timers all do the same: update, change something,
 * plan.
 */
#ifndef SIM_FIFO_PARTITION_H
#define SIM_FIFO_PARTITION_H

#include "fifo/types.h"

void partition_init(struct fifo_partition *partition, struct fifo *fifo,
		    const struct fifo_share *share);

/*
 * A new TSG comes into a partition, as a client of @server if there is one; or leaves its
 * partition.
 */
void partition_add(struct fifo_partition *partition, struct fifo_tsg *tsg,
		   struct fifo_entry *server, u32 limit_ppm);
void partition_remove(struct fifo_tsg *tsg);

/* Decide what runs in a partition now, and set its timer. Call after an update. */
void partition_plan(struct fifo_partition *partition);

#endif
