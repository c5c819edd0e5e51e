// SPDX-License-Identifier: MIT OR GPL-2.0
/* On what the time of a fault episode goes; see stall.h. */
#include "gpu/stall.h"

struct fifo_stall sim_gpu_stall_parts(void *data, const struct fifo_tsg *tsg, u64 ns)
{
	struct sim_gpu *gpu = data;
	bool served = gpu->servicing && tsg == &gpu->servicing->tsg;
	struct pcie_use use, before = gpu->booked_use;
	u64 in, out, either;

	if (!served || gpu->waits == SIM_SERVICE_COMPUTES)
		return (struct fifo_stall){ .ns = { [FIFO_STALL_CPU] = ns } };
	if (gpu->waits == SIM_SERVICE_REPLAYS)
		return (struct fifo_stall){ .ns = { [FIFO_STALL_IN] = ns } };
	use = pcie_use(&gpu->link);
	gpu->booked_use = use;
	if (!ns)
		return (struct fifo_stall){ 0 };
	in = use.in_ns - before.in_ns;
	out = use.out_ns - before.out_ns;
	either = use.either_ns - before.either_ns;
	return (struct fifo_stall){ .ns = {
					    [FIFO_STALL_CPU] = ns - either,
					    [FIFO_STALL_IN] = either - out,
					    [FIFO_STALL_OUT] = either - in,
					    [FIFO_STALL_BOTH] = in + out - either,
				    } };
}

void sim_gpu_service_waits(struct sim_gpu *gpu, enum sim_service_wait waits)
{
	if (gpu->servicing)
		fifo_book_stall(&gpu->servicing->tsg);
	gpu->waits = waits;
	if (waits == SIM_SERVICE_WAITS)
		gpu->booked_use = pcie_use(&gpu->link);
}
