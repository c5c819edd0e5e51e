/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The queue of RPCs to the simulated GSP. No other part of the GSP is modelled. The firmware
 * does one RPC after the other, in the order of arrival. Each RPC takes the same time, and has
 * its effect at its end.
 *
 * All calls block, even if the caller is interrupted: an RPC that was sent cannot be called
 * back. They return 0, or -ENODEV if the TSG is gone by then.
 */
#ifndef SIM_GSP_RPC_H
#define SIM_GSP_RPC_H

#include "fifo/fifo.h"

/* The queue of one GPU. */
struct gsp_rpc {
	struct fifo *fifo;
	u64 latency_ns; /* of each RPC */
	u64 end_ns;	/* when the last RPC in the queue will be done */
	u64 count;	/* RPCs sent, ever */
	struct eng_waitq waitq;
};

int gsp_rpc_set_timeslice(struct gsp_rpc *rpc, u32 tsg, u64 timeslice_us);
int gsp_rpc_preempt(struct gsp_rpc *rpc, u32 tsg);

/*
 * One RPC for several TSGs. It skips TSGs that are gone; -ENODEV: all of them are gone.
 * @preempt: they also leave the GPU, and not only the runlist.
 */
int gsp_rpc_disable(struct gsp_rpc *rpc, const u32 *tsgs, u32 count, bool preempt);
int gsp_rpc_enable(struct gsp_rpc *rpc, const u32 *tsgs, u32 count);

#endif
