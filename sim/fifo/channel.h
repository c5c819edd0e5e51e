/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The channels of a TSG: whose first burst is next. CONTEXT of all: an updated runlist. */
#ifndef SIM_FIFO_CHANNEL_H
#define SIM_FIFO_CHANNEL_H

#include "fifo/types.h"

/*
 * Channels take turns. The burst in execution stays until it ends, runs dry between two
 * kernels, or waits; then the next channel's first burst has its turn, if it is ready.
 */
void tsg_choose_channel(struct fifo_tsg *tsg);

/*
 * The first date at which another channel of a loaded TSG can have its turn; ENG_NEVER: there
 * is none.
 */
u64 tsg_turn_date(const struct fifo_tsg *tsg);

#endif
