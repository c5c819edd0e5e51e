/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Kernels that access host memory over the link; remote.c describes them. */
#ifndef SIM_FIFO_REMOTE_H
#define SIM_FIFO_REMOTE_H

#include "fifo/types.h"

/*
 * Give the kernels that run on a partition, which have their speeds of its SMs and its
 * bandwidth, the speeds that the link permits. CONTEXT: an updated runlist.
 */
void remote_set_speeds(struct fifo_partition *partition);

/* The work of a burst up to its next miss, or to where its pace over the link may change. */
u64 remote_step_work(struct fifo_burst *burst);

#endif
