// SPDX-License-Identifier: MIT OR GPL-2.0
/* A simulated GPU from its profile: made, started, stopped; see gpu.h. */
#include "gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpu/check.h"
#include "gpu/memory.h"
#include "gpu/service.h"
#include "gpu/stall.h"
#include "gvm/charge.h"

/* The ring of free chunks, the device over it, and the memory manager of the device. */
static int gpu_init_memory(struct sim_gpu *gpu)
{
	u32 count = (u32)(gpu->profile->memory >> GVM_CHUNK_SHIFT);
	struct gvm_device_config config = {
		.name = gpu->name,
		.chunk_count = count,
		.ops = &sim_gpu_ops,
		.gpu = gpu,
		.memory_ops = gpu->manager->ops,
		.default_timeslice_us = gpu->profile->sched.timeslice / 1000,
		.features = gpu->policy.features,
		.sub_chunks = gpu->policy.sub_chunks,
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
	if (!gpu->device.memory)
		return -ENOMEM;
	if (!gpu->policy.family)
		return 0;
	status = gvm_container_create(&gpu->device, 0, &gpu->family);
	if (status)
		return status;
	gvm_limit_set_high(gpu->family, gpu->policy.family_high);
	gvm_limit_set_low(gpu->family, gpu->policy.family_low);
	return 0;
}

/* What takes @ns on the host of the profile's numbers takes so long on this one. */
static u64 gpu_host_ns(const struct cfg_gpu *profile, u64 ns)
{
	return profile->fault.host_speed ? ns * CFG_PPM / profile->fault.host_speed : ns;
}

static void gpu_init_costs(struct sim_gpu *gpu)
{
	const struct cfg_gpu *profile = gpu->profile;

	gpu->cost_ns[GVM_COST_BATCH] = gpu_host_ns(profile, profile->fault.batch);
	gpu->cost_ns[GVM_COST_ENTRY] = gpu_host_ns(profile, profile->fault.entry);
	gpu->cost_ns[GVM_COST_BLOCK] = gpu_host_ns(profile, profile->fault.block);
	gpu->cost_ns[GVM_COST_PAGE] = gpu_host_ns(profile, profile->fault.page);
	gpu->cost_ns[GVM_COST_REPLAY] = gpu_host_ns(profile, profile->fault.replay);
	gpu->cost_ns[GVM_COST_EVICT] = gpu_host_ns(profile, profile->fault.evict);
	gpu->cost_ns[GVM_COST_WALK] = gpu_host_ns(profile, profile->fault.walk);
	gpu->interrupt_ns = gpu_host_ns(profile, profile->fault.interrupt);
}

/* Kernels read and write host memory over the link. */
static void gpu_claim_link(void *data, const u64 *wants, u64 *ret_gets)
{
	struct sim_gpu *gpu = data;
	u64 by_direction[PCIE_DIRECTIONS] = {
		[PCIE_H2D] = wants[FIFO_REMOTE_READS], [PCIE_D2H] = wants[FIFO_REMOTE_WRITES]
	};
	u64 gets[PCIE_DIRECTIONS];

	pcie_claim(&gpu->link, by_direction, gets);
	ret_gets[FIFO_REMOTE_READS] = gets[PCIE_H2D];
	ret_gets[FIFO_REMOTE_WRITES] = gets[PCIE_D2H];
}

static void gpu_link_changed(void *data)
{
	struct sim_gpu *gpu = data;

	fifo_link_changed(&gpu->fifo);
}

static void gpu_init_engines(struct sim_gpu *gpu)
{
	const struct cfg_gpu *profile = gpu->profile;
	struct fifo_config fifo = {
		.timeslice_ns = profile->sched.timeslice,
		.timeslice_scale_ppm = profile->sched.timeslice_scale,
		.context_switch_ns = profile->sched.context_switch,
		.context_state_ns = profile->sched.context_state,
		.limited_speed_ppm = (u32)profile->limited_speed,
		.outstanding_faults = (u32)profile->fault.outstanding,
		.faults_per_block = (u32)profile->fault.per_block,
		.front_blocks = (u32)profile->fault.front,
		.faults_per_page = (u32)profile->fault.per_page,
		.sms = (u32)profile->sms,
		.faults_per_sm = profile->sms ? (u32)profile->fault.per_sm : 0,
		.faults_again_ppm = (u32)profile->fault.again,
	};
	struct pcie_config link = {
		.bandwidth = profile->link.bandwidth,
		.bandwidth_both = profile->link.bandwidth_both,
		.setup_ns = profile->link.setup,
		.piece_ns = { [PCIE_H2D] = profile->link.piece_in,
			      [PCIE_D2H] = profile->link.piece_out },
	};

	fifo_init(&gpu->fifo, &fifo, &gpu->gmmu);
	gpu->fifo.stall_ops = (struct fifo_stall_ops){ sim_gpu_stall_parts, gpu };
	gpu->rpc = (struct gsp_rpc){ .fifo = &gpu->fifo, .latency_ns = profile->sched.rpc };
	pcie_link_init(&gpu->link, &link);
	gpu->link.kernels.changed = gpu_link_changed;
	gpu->link.kernels.data = gpu;
	gpu->fifo.link_ops = (struct fifo_link_ops){ gpu_claim_link, gpu };
}

/* Also after gpu_init_memory() has failed anywhere. */
static void gpu_free_memory(struct sim_gpu *gpu)
{
	gpu->manager->destroy(gpu->device.memory);
	if (gpu->family)
		gvm_container_detach(gpu->family);
	if (gpu->device.chunks)
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
	snprintf(gpu->name, sizeof(gpu->name), "%s", name);
	gpu->check_interval = sim_gpu_check_interval();
	gpu_init_costs(gpu);
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

void sim_gpu_use_costs(struct sim_gpu *gpu)
{
	eng_inherit(gpu->cost_ns);
}

int sim_gpu_start(struct sim_gpu *gpu)
{
	int status;

	sim_gpu_use_costs(gpu);
	status = gvm_fault_handler_start(&gpu->handler, &gpu->device);
	if (!status && gpu->policy.evictors)
		status = gvm_evictor_start(&gpu->evictor, &gpu->device);
	if (!status && gpu->policy.evictors && gpu->family)
		status = gvm_container_evictor_get(gpu->family);
	if (!status && gpu->manager->start)
		status = gpu->manager->start(gpu->device.memory);
	/* Time slices are the hardware's own policy and need no scheduler. */
	if (!status && gpu->scheduling.policy != GVM_SCHED_TIMESLICES)
		status = gvm_scheduler_start(&gpu->scheduler, &gpu->device, &gpu->scheduling);
	if (!status && gvm_has_feature(&gpu->device, GVM_OWNER_PREFETCH))
		status = gvm_prefetcher_start(&gpu->prefetcher, &gpu->device);
	return status;
}

void sim_gpu_stop(struct sim_gpu *gpu)
{
	gvm_prefetcher_stop(&gpu->prefetcher);
	gvm_scheduler_stop(&gpu->scheduler);
	if (gpu->family && gpu->policy.evictors)
		gvm_container_evictor_put(gpu->family);
	gvm_evictor_stop(&gpu->evictor);
	gvm_fault_handler_stop(&gpu->handler);
	if (gpu->manager->stop)
		gpu->manager->stop(gpu->device.memory);
}

void sim_gpu_destroy(struct sim_gpu *gpu)
{
	fifo_destroy(&gpu->fifo);
	pcie_link_destroy(&gpu->link);
	gpu_free_memory(gpu);
}
