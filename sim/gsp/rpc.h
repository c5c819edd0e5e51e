/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * RPCs to the simulated GSP. The firmware takes one at a time, in the order in which they come, and
 * each takes the same time, at the end of which it has its effect.
 *
 * All calls block, also for who is interrupted: an RPC that is on its way cannot be called back.
 * They return 0, or -ENODEV: there is no such TSG by then.
 */
#ifndef SIM_GSP_RPC_H
#define SIM_GSP_RPC_H

#include "fifo/fifo.h"

/* The queue of one GPU. */
struct gsp_rpc {
	struct fifo *fifo;
	u64 latency_ns;
	u64 end_ns; /* when the last one that has come will be done */
	u64 count;  /* that have come, ever */
	struct eng_waitq waitq;
};

int gsp_rpc_set_timeslice(struct gsp_rpc *rpc, u32 tsg, u64 timeslice_us);
int gsp_rpc_preempt(struct gsp_rpc *rpc, u32 tsg);

/*
 * One RPC for several TSGs. Those that are gone are passed over; -ENODEV: all are. @preempt: they do
 * not only leave the runlist, but the GPU as well.
 */
int gsp_rpc_disable(struct gsp_rpc *rpc, const u32 *tsgs, u32 count, bool preempt);
int gsp_rpc_enable(struct gsp_rpc *rpc, const u32 *tsgs, u32 count);

#endif
