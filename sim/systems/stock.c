// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * stock: NVIDIA's driver, unchanged. All containers share one GPU. Their contexts take turns
 * with equal timeslices, and demand paging brings managed memory in.
 *
 * The driver knows no containers and has no control files: the scenario's limits and priorities
 * are listed as ignored. The model of NVIDIA's driver in sim/nvuvm/nvuvm.c manages memory. When
 * the device is full, a fault evicts the chunk whose last migration is the oldest, of any
 * container.
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
