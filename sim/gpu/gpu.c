// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * One simulated GPU: the devices behind the core's two tables of calls. See gpu.h.
 *
 * This file makes no decisions. The memory manager decides about pages (manager.h). Calls on TSGs
 * become RPCs, which take time. The calls that a manager makes to the hardware are in memory.c.
 */
#include "gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpu/check.h"
#include "gpu/memory.h"
#include "gpu/process.h"

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

void sim_gpu_forget(struct sim_gpu *gpu, struct sim_process *process)
{
	gmmu_drop(&gpu->gmmu, process);
	gpu->device.memory_ops->space_close(gpu->device.memory, process);
	while (gpu->in_service == process)
		eng_wait(&gpu->serviced, ENG_NEVER, false);
	if (gpu->servicing == process) {
		fifo_book_stall(&process->tsg);
		gpu->servicing = NULL;
	}
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
	struct sim_process *process = fault->space;

	eng_pay_debt();
	/* The process may have exited meanwhile. TSG numbers are never reused. */
	if (process->running)
		sim_process_kill(process);
	else
		fifo_kill(&gpu->fifo, fault->tsg);
}

/*
 * struct fifo_stall_ops: split @ns of stall by the work of the service thread for this TSG. While
 * it waits for copies, the use of the link decides.
 */
static struct fifo_stall gpu_stall_parts(void *data, const struct fifo_tsg *tsg, u64 ns)
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

/*
 * Wait for the device work of the batch: its copies and clears, then its last PTEs, then the push
 * of the replay. The wait for the pushes counts as copy-in time, as it does in GVM Figure 16.
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
		latency_ns += profile->fault.interrupt;
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
	const struct fifo_tsg *tsg = fifo_find(&gpu->fifo, id);

	if (!tsg)
		return;
	fifo_update(&gpu->fifo);
	*ret_sample = (struct gvm_tsg_sample){
		.busy = fifo_pending_kernels(tsg),
		.runtime_ns = tsg->busy_ns + fifo_stall_ns(&tsg->stall),
	};
}

static const struct gvm_gpu_ops gpu_ops = {
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

/* The ring of free chunks, the device over it, and the memory manager of the device. */
static int gpu_init_memory(struct sim_gpu *gpu)
{
	u32 count = (u32)(gpu->profile->memory >> GVM_CHUNK_SHIFT);
	struct gvm_device_config config = {
		.name = gpu->name,
		.chunk_count = count,
		.ops = &gpu_ops,
		.gpu = gpu,
		.memory_ops = gpu->manager->ops,
		.default_timeslice_us = gpu->profile->sched.timeslice / 1000,
		.features = gpu->policy.features,
	};
	struct sim_memory_config manager_config = {
		.device = &gpu->device,
		.mmu = &sim_gpu_mmu_ops,
		.gpu = gpu,
		.policy = &gpu->policy,
	};
	int status;

	gpu->free_chunks = calloc(count, sizeof(*gpu->free_chunks));
	gpu->frames = calloc(count, sizeof(*gpu->frames));
	if (!gpu->free_chunks || !gpu->frames)
		return -ENOMEM;
	/* Chunks are allocated from the lowest address up. */
	for (; gpu->free_count < count; gpu->free_count++)
		gpu->free_chunks[gpu->free_count] = gpu->free_count;
	status = gvm_device_init(&gpu->device, &config);
	if (status)
		return status;
	gpu->device.memory = gpu->manager->create(&manager_config);
	return gpu->device.memory ? 0 : -ENOMEM;
}

static void gpu_init_engines(struct sim_gpu *gpu)
{
	const struct cfg_gpu *profile = gpu->profile;
	struct fifo_config fifo = {
		.timeslice_ns = profile->sched.timeslice,
		.timeslice_scale_ppm = profile->sched.timeslice_scale,
		.context_switch_ns = profile->sched.context_switch,
		.context_state_ns = profile->sched.context_state,
		.outstanding_faults = (u32)profile->fault.outstanding,
		.faults_per_block = (u32)profile->fault.per_block,
	};
	struct pcie_config link = {
		.bandwidth = profile->link.bandwidth,
		.bandwidth_both = profile->link.bandwidth_both,
		.setup_ns = profile->link.setup,
		.piece_ns = profile->link.piece,
	};

	fifo_init(&gpu->fifo, &fifo, &gpu->gmmu);
	gpu->fifo.stall_ops = (struct fifo_stall_ops){ gpu_stall_parts, gpu };
	gpu->rpc = (struct gsp_rpc){ .fifo = &gpu->fifo, .latency_ns = profile->sched.rpc };
	pcie_link_init(&gpu->link, &link);
}

static void gpu_free_memory(struct sim_gpu *gpu)
{
	gpu->manager->destroy(gpu->device.memory);
	gvm_device_destroy(&gpu->device);
	free(gpu->free_chunks);
	free(gpu->frames);
	gmmu_destroy(&gpu->gmmu);
}

int sim_gpu_init(struct sim_gpu *gpu, const char *name, const struct cfg_gpu *profile,
		 const struct sim_memory_policy *policy)
{
	int status;

	*gpu = (struct sim_gpu){
		.profile = profile,
		.policy = *policy,
		.manager = sim_memory_manager(policy),
	};
	INIT_LIST_HEAD(&gpu->device.containers);
	snprintf(gpu->name, sizeof(gpu->name), "%s", name);
	gpu->check_interval = sim_gpu_check_interval();
	status = gmmu_init(&gpu->gmmu, (u32)profile->fault.buffer_entries);
	if (!status)
		status = gpu_init_memory(gpu);
	if (status) {
		gpu_free_memory(gpu);
		return status;
	}
	gpu_init_engines(gpu);
	return 0;
}

int sim_gpu_start(struct sim_gpu *gpu)
{
	int status = gvm_fault_handler_start(&gpu->handler, &gpu->device);

	if (!status && gpu->policy.evictors)
		status = gvm_evictor_start(&gpu->evictor, &gpu->device, NULL);
	if (!status && gpu->manager->start)
		status = gpu->manager->start(gpu->device.memory);
	/* Time slices are the hardware's own policy and need no scheduler. */
	if (!status && gpu->scheduling.policy != GVM_SCHED_TIMESLICES)
		status = gvm_scheduler_start(&gpu->scheduler, &gpu->device, &gpu->scheduling);
	return status;
}

void sim_gpu_stop(struct sim_gpu *gpu)
{
	gvm_scheduler_stop(&gpu->scheduler);
	gvm_evictor_stop(&gpu->evictor);
	gvm_fault_handler_stop(&gpu->handler);
	if (gpu->manager->stop)
		gpu->manager->stop(gpu->device.memory);
}

void sim_gpu_drain(struct sim_gpu *gpu)
{
	u64 clear_end_ns = gpu->clear_end_ns;

	pcie_drain(&gpu->link, PCIE_H2D);
	pcie_drain(&gpu->link, PCIE_D2H);
	while (eng_now() < clear_end_ns)
		eng_wait(&gpu->drain, clear_end_ns, false);
}

void sim_gpu_destroy(struct sim_gpu *gpu)
{
	fifo_destroy(&gpu->fifo);
	pcie_link_destroy(&gpu->link);
	gpu_free_memory(gpu);
}

static void set_costs(u64 *costs, const struct cfg_gpu *profile)
{
	costs[GVM_COST_BATCH] = profile->fault.batch;
	costs[GVM_COST_ENTRY] = profile->fault.entry;
	costs[GVM_COST_BLOCK] = profile->fault.block;
	costs[GVM_COST_PAGE] = profile->fault.page;
	costs[GVM_COST_REPLAY] = profile->fault.replay;
	costs[GVM_COST_EVICT] = profile->fault.evict;
}

void sim_gpu_set_costs(const struct cfg_gpu *profile)
{
	set_costs(gvm_port_cost_ns, profile);
}

void sim_gpu_use_costs(struct sim_gpu *gpu)
{
	set_costs(gpu->cost_ns, gpu->profile);
	eng_inherit(gpu->cost_ns);
}
