// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * stock: NVIDIA's driver as it comes. All containers share one GPU, which takes turns between
 * their contexts by equal timeslices, and demand paging brings managed memory in.
 *
 * It has no containers and so no control files: limits and priorities of a scenario are listed
 * as ignored. Its memory is managed by the model of NVIDIA's driver in sim/nvuvm/nvuvm.c: when the
 * device is full, a fault evicts the chunk that was migrated to longest ago, of any container.
 */
#include "systems/system.h"

static bool stock_honours(const struct config *config, const char *control_file)
{
	(void)config;
	(void)control_file;
	return false;
}

static struct sim_memory_policy stock_memory(const struct config *config)
{
	return (struct sim_memory_policy){
		.manager = &sim_manager_nvuvm,
		.host_fragmented = config->host.fragmented,
	};
}

const struct sim_system system_stock = {
	.keys = {
		.name = "stock",
		.summary = "one GPU, equal timeslices, demand paging: NVIDIA's driver as it comes",
	},
	.own_gpu = false,
	.honours = stock_honours,
	.memory = stock_memory,
};
