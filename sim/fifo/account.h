/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Time accounts: each ns since the last update is counted as running, waiting, blocked, stalled,
 * switching or idle, of each TSG, and is told to the fifo's observer.
 */
#ifndef SIM_FIFO_ACCOUNT_H
#define SIM_FIFO_ACCOUNT_H

#include "fifo/types.h"

/* Advance the bursts of the current entry and the counters of its TSGs to the present. */
void runlist_update(struct fifo_runlist *runlist);

#endif
