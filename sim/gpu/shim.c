// SPDX-License-Identifier: MIT OR GPL-2.0
/* Launch counts and sparse events; see shim.h. */
#include "gpu/shim.h"

#include "gpu/process.h"
#include "gvm/sched.h"

/* Report what a process has launched and ended since its last event. True: it was idle then. */
static bool shim_report(struct sim_process *process)
{
	u64 ended = fifo_ended_kernels(&process->tsg);
	u64 launched = ended + fifo_pending_kernels(&process->tsg);
	bool was_idle = process->kernels_reported == process->kernels_ended;

	gvm_container_count_kernels(process->container, launched - process->kernels_reported,
				    ended - process->kernels_ended);
	process->kernels_reported = launched;
	process->kernels_ended = ended;
	return was_idle && launched > ended;
}

static void shim_fire(struct eng_timer *timer)
{
	struct sim_shim *shim = container_of(timer, struct sim_shim, timer);
	struct fifo *fifo = &shim->gpu->fifo;
	struct fifo_tsg *tsg = fifo->runlist;
	bool kick = false;

	fifo_update(fifo);
	if (tsg) {
		do
			kick |= shim_report(container_of(tsg, struct sim_process, tsg));
		while ((tsg = tsg->next) != fifo->runlist);
	}
	if (kick)
		gvm_scheduler_kick(&shim->gpu->device);
	eng_timer_set(timer, eng_now() + shim->interval_ns);
}

void sim_shim_start(struct sim_shim *shim, struct sim_gpu *gpu, u64 interval_ns)
{
	*shim = (struct sim_shim){ .gpu = gpu, .interval_ns = interval_ns };
	shim->timer.fire = shim_fire;
	eng_timer_set(&shim->timer, eng_now() + interval_ns);
}

void sim_shim_stop(struct sim_shim *shim)
{
	if (shim->gpu)
		eng_timer_cancel(&shim->timer);
}

void sim_shim_forget(struct sim_process *process)
{
	if (process->kernels_reported == process->kernels_ended)
		return;
	gvm_container_count_kernels(process->container, 0,
				    process->kernels_reported - process->kernels_ended);
	process->kernels_ended = process->kernels_reported;
}
