/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* One runlist: turns of its entries, timeslices, context switches. */
#ifndef SIM_FIFO_RUNLIST_H
#define SIM_FIFO_RUNLIST_H

#include "fifo/types.h"

/* End the first burst of a TSG, with success or failure. */
void tsg_finish_burst(struct fifo_tsg *tsg, int status);

/* Put an entry on the runlist, after the one whose turn it is; or take it off. */
void runlist_add(struct fifo_runlist *runlist, struct fifo_entry *entry);
void runlist_remove(struct fifo_entry *entry);

/* A TSG joins an entry, with the timeslice of those in it; or leaves it. */
void entry_join(struct fifo_entry *entry, struct fifo_tsg *tsg);
void entry_leave(struct fifo_tsg *tsg);

/* The current entry's timeslice begins now. */
void runlist_start_slice(struct fifo_runlist *runlist);

/* Decide which entry runs now, and which of its TSGs stall. Ignores other runlists. */
void runlist_decide(struct fifo_runlist *runlist);

/*
 * The next date at which that can change, at its bursts' speeds; @side_by_side: or those
 * speeds; ENG_NEVER: there is no such date.
 */
u64 runlist_next_date(const struct fifo_runlist *runlist, bool side_by_side);

#endif
