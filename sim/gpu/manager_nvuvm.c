// SPDX-License-Identifier: MIT OR GPL-2.0
/* The model of NVIDIA's driver as the manager of a simulated GPU's memory; see manager.h. */
#include "gpu/manager.h"

#include "nvuvm/memory.h"
#include "nvuvm/nvuvm.h"
#include "nvuvm/policy.h"

static void *uvm_create(const struct sim_memory_config *config)
{
	struct nvuvm_config nvuvm = {
		.device = config->device,
		.mmu = config->mmu,
		.gpu = config->gpu,
		.limits = config->policy->limits,
		.fast_path = config->policy->fast_path,
		.one_list = config->policy->one_list,
		.host_fragmented = config->policy->host_fragmented,
	};

	return nvuvm_create(&nvuvm);
}

static void *ghost_uvm_create(const struct sim_memory_config *config)
{
	struct nvuvm_config nvuvm = {
		.device = config->device,
		.mmu = config->mmu,
		.gpu = config->gpu,
		.hooks = &nvuvm_policy_hooks,
		.host_fragmented = config->policy->host_fragmented,
	};

	return nvuvm_create(&nvuvm);
}

static void uvm_destroy(void *memory)
{
	nvuvm_destroy(memory);
}

static int uvm_start(void *memory)
{
	return nvuvm_start(memory);
}

static void uvm_stop(void *memory)
{
	nvuvm_stop(memory);
}

const struct sim_memory_manager sim_manager_nvuvm = {
	.ops = &nvuvm_memory_ops,
	.create = uvm_create,
	.destroy = uvm_destroy,
	.start = uvm_start,
	.stop = uvm_stop,
};

const struct sim_memory_manager sim_manager_ghost_uvm = {
	.ops = &nvuvm_memory_ops,
	.create = ghost_uvm_create,
	.destroy = uvm_destroy,
	.start = uvm_start,
	.stop = uvm_stop,
};
