// SPDX-License-Identifier: MIT OR GPL-2.0
/* RPCs to the simulated GSP; see rpc.h. */
#include "gsp/rpc.h"

/*
 * Send an RPC and wait until it is done. All RPCs take the same time, so one date is the whole
 * queue: the end of the last RPC.
 */
static void rpc_take_turn(struct gsp_rpc *rpc)
{
	u64 end;

	eng_pay_debt();
	end = max((u64)eng_now(), rpc->end_ns) + rpc->latency_ns;
	rpc->end_ns = end;
	rpc->count++;
	while (eng_now() < end)
		eng_wait(&rpc->waitq, end, false);
}

int gsp_rpc_set_timeslice(struct gsp_rpc *rpc, u32 tsg, u64 timeslice_us)
{
	struct fifo_tsg *found;

	rpc_take_turn(rpc);
	found = fifo_find(rpc->fifo, tsg);
	if (!found)
		return -ENODEV;
	fifo_set_timeslice(found, timeslice_us * 1000);
	return 0;
}

int gsp_rpc_preempt(struct gsp_rpc *rpc, u32 tsg)
{
	struct fifo_tsg *found;

	rpc_take_turn(rpc);
	found = fifo_find(rpc->fifo, tsg);
	if (!found)
		return -ENODEV;
	fifo_preempt(found);
	return 0;
}

static int rpc_for_each(struct gsp_rpc *rpc, const u32 *tsgs, u32 count,
			void (*apply)(struct fifo_tsg *tsg))
{
	int status = -ENODEV;

	for (u32 i = 0; i < count; i++) {
		struct fifo_tsg *tsg = fifo_find(rpc->fifo, tsgs[i]);

		if (!tsg)
			continue;
		apply(tsg);
		status = 0;
	}
	return status;
}

/*
 * All TSGs leave the runlist before any leaves the GPU. Otherwise the GPU would switch to the
 * next of them.
 */
int gsp_rpc_disable(struct gsp_rpc *rpc, const u32 *tsgs, u32 count, bool preempt)
{
	int status;

	rpc_take_turn(rpc);
	status = rpc_for_each(rpc, tsgs, count, fifo_disable);
	if (preempt)
		rpc_for_each(rpc, tsgs, count, fifo_preempt);
	return status;
}

int gsp_rpc_enable(struct gsp_rpc *rpc, const u32 *tsgs, u32 count)
{
	rpc_take_turn(rpc);
	return rpc_for_each(rpc, tsgs, count, fifo_enable);
}
