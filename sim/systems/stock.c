// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * stock: NVIDIA's driver, unchanged. All containers share one GPU. Their contexts take turns
 * with equal timeslices, and demand paging brings managed memory in.
 *
 * The driver knows no containers and has no control files: the scenario's limits and priorities
 * are listed as ignored. compute.timeslice is honoured: a process can set the timeslice of its own
 * channel groups with a control call of RM (NVA06C_CTRL_CMD_SET_TIMESLICE), as root, on the driver as it
 * comes (plots/reference/hardware/turns.cu, tools/corun/timeslice.c). The model of NVIDIA's driver in sim/nvuvm/nvuvm.c manages memory. When
 * the device is full, a fault evicts the chunk whose last migration is the oldest, of any
 * container.
 */
#include <string.h>

#include "systems/system.h"

static bool stock_honours(const struct config *config, const char *control_file)
{
	(void)config;
	return !strcmp(control_file, "compute.timeslice");
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
