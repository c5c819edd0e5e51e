/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The rings of a TSG's channels; see fifo_set_ring(). */
#ifndef SIM_FIFO_RING_H
#define SIM_FIFO_RING_H

#include "fifo/types.h"

/*
 * The present has come for a TSG whose bursts are advanced to it: did the host thread have to
 * wait for room in a ring? Then what it has not launched yet is launched from now on.
 */
void tsg_bound_launches(struct fifo_tsg *tsg);

#endif
