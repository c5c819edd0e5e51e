// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The calls that the core's service layer makes to a simulated GPU: faults and TSGs. They make
 * no decisions. Calls on TSGs become RPCs, which take time. See service.h.
 */
#include "gpu/service.h"

#include "gpu/check.h"
#include "gpu/memory.h"
#include "gpu/stall.h"

void sim_process_die(struct sim_process *process, int status)
{
	if (!process->killed) {
		gvm_container_count_death(process->container, status);
		process->killed = true;
		process->killed_ns = eng_now();
		process->killed_status = status;
	}
	fifo_kill(process->tsg.fifo, process->tsg.id);
}

static u32 gpu_fetch_faults(void *data, struct gvm_fault *faults, u32 max)
{
	struct sim_gpu *gpu = data;

	return gmmu_fetch(&gpu->gmmu, faults, max);
}

static int gpu_space_enter(void *data, void *space, u32 count)
{
	struct sim_gpu *gpu = data;
	struct sim_process *process = space;

	if (!process->running)
		return -EFAULT;
	gpu->servicing = process;
	gpu->servicer = eng_self();
	gpu->in_service = process;
	process->stats.faults += count;
	process->stats.fault_batches++;
	return 0;
}

static void gpu_space_leave(void *data, void *space)
{
	struct sim_gpu *gpu = data;

	(void)space;
	gpu->in_service = NULL;
	eng_wake_all(&gpu->serviced);
}

/* @space has a container: sim_gpu_forget() drops the records of a process before it leaves. */
static u8 gpu_space_priority(void *data, const void *space)
{
	const struct sim_process *process = space;

	(void)data;
	return gvm_container_priority(process->container);
}

static void gpu_cancel_fault(void *data, const struct gvm_fault *fault)
{
	struct sim_gpu *gpu = data;
	struct sim_process *process = fault->space, *client;

	eng_pay_debt();
	/* The process may have exited meanwhile. TSG numbers are never reused. */
	if (!process->running) {
		fifo_kill(&gpu->fifo, fault->tsg);
		return;
	}
	sim_process_die(process, fault->status);
	/* A fatal fault ends all clients of an MPS server. */
	if (process->mps)
		list_for_each_entry(client, &process->mps->clients, mps_node)
			sim_process_die(client, -EFAULT);
}

/*
 * Wait for the device work of the batch: its copies and clears, then its last PTEs, then the
 * push of the replay. The wait for the pushes counts as copy-in time, as it does in GVM Figure
 * 16.
 */
static int gpu_flush_and_replay(void *data, const struct gvm_fence *fence)
{
	struct sim_gpu *gpu = data;
	int status = sim_gpu_fence_wait(gpu, fence);

	if (!status) {
		u64 start = eng_now();

		sim_gpu_service_waits(gpu, SIM_SERVICE_REPLAYS);
		if (gpu->batch_maps)
			gpu->push_end_ns =
				max(gpu->push_end_ns, start + gpu->profile->fault.push);
		gpu->batch_maps = false;
		status = eng_sleep_until(sim_gpu_push(gpu, start));
		sim_gpu_service_waits(gpu, SIM_SERVICE_COMPUTES);
	}
	gpu->servicing = NULL;
	sim_gpu_check_at_replay(gpu);
	gmmu_flush(&gpu->gmmu);
	fifo_replay(&gpu->fifo);
	return status;
}

/* The service thread notices a fault later if it was idle for longer. */
static int gpu_wait_for_faults(void *data)
{
	struct sim_gpu *gpu = data;
	const struct cfg_gpu *profile = gpu->profile;
	u64 idle_since, idle_ns, latency_ns = 0;
	int status = 0;

	eng_pay_debt();
	idle_since = eng_now();
	while (!gmmu_pending(&gpu->gmmu) && status != -EINTR)
		status = eng_wait(&gpu->gmmu.waitq, ENG_NEVER, true);
	if (status == -EINTR)
		return status;
	idle_ns = eng_now() - idle_since;
	if (idle_ns >= profile->fault.linger)
		latency_ns += gpu->interrupt_ns;
	if (idle_ns >= max(profile->fault.linger, profile->fault.cold_after))
		latency_ns += profile->fault.cold_wake;
	return eng_sleep_until(eng_now() + latency_ns);
}

static int gpu_tsg_set_timeslice(void *data, u32 tsg, u64 timeslice_us)
{
	struct sim_gpu *gpu = data;

	return gsp_rpc_set_timeslice(&gpu->rpc, tsg, timeslice_us);
}

static int gpu_tsg_preempt(void *data, u32 tsg)
{
	struct sim_gpu *gpu = data;

	return gsp_rpc_preempt(&gpu->rpc, tsg);
}

static int gpu_tsgs_disable(void *data, const u32 *tsgs, u32 count, bool preempt)
{
	struct sim_gpu *gpu = data;

	return gsp_rpc_disable(&gpu->rpc, tsgs, count, preempt);
}

static int gpu_tsgs_enable(void *data, const u32 *tsgs, u32 count)
{
	struct sim_gpu *gpu = data;

	return gsp_rpc_enable(&gpu->rpc, tsgs, count);
}

static void gpu_tsg_sample(void *data, u32 id, struct gvm_tsg_sample *ret_sample)
{
	struct sim_gpu *gpu = data;
	const struct fifo_tsg *tsg = fifo_find(&gpu->fifo, id), *client;

	if (!tsg)
		return;
	fifo_update(&gpu->fifo);
	*ret_sample = (struct gvm_tsg_sample){ 0 };
	/* The TSG of an MPS server has all its clients' work. */
	fifo_for_each_in(tsg->entry, client) {
		ret_sample->busy |= fifo_pending_kernels(client) > 0;
		ret_sample->on_gpu |= fifo_is_current(client);
		ret_sample->runtime_ns += client->busy_ns + fifo_stall_ns(&client->stall);
	}
}

const struct gvm_gpu_ops sim_gpu_ops = {
	.fetch_faults = gpu_fetch_faults,
	.space_enter = gpu_space_enter,
	.space_leave = gpu_space_leave,
	.space_priority = gpu_space_priority,
	.cancel_fault = gpu_cancel_fault,
	.flush_and_replay = gpu_flush_and_replay,
	.wait_for_faults = gpu_wait_for_faults,
	.tsg_set_timeslice = gpu_tsg_set_timeslice,
	.tsg_preempt = gpu_tsg_preempt,
	.tsgs_disable = gpu_tsgs_disable,
	.tsgs_enable = gpu_tsgs_enable,
	.tsg_sample = gpu_tsg_sample,
};

void sim_gpu_settle(struct sim_gpu *gpu, struct sim_process *process)
{
	gmmu_drop(&gpu->gmmu, process);
	while (gpu->in_service == process)
		eng_wait(&gpu->serviced, ENG_NEVER, false);
}

void sim_gpu_forget(struct sim_gpu *gpu, struct sim_process *process)
{
	gpu->device.memory_ops->space_close(gpu->device.memory, process);
	sim_gpu_settle(gpu, process);
	if (gpu->servicing == process) {
		fifo_book_stall(&process->tsg);
		gpu->servicing = NULL;
	}
}
