// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * stock: NVIDIA's driver, unchanged. All containers share one GPU. Their contexts take turns
 * with equal timeslices, and demand paging brings managed memory in.
 *
 * The driver knows no containers and has no control files: the scenario's limits and priorities
 * are listed as ignored. compute.timeslice is honoured: a process can set the timeslice of its
 * own channel groups with a control call of RM (NVA06C_CTRL_CMD_SET_TIMESLICE), as root, on the
 * driver as it comes (plots/reference/hardware/turns.cu, tools/corun/timeslice.c). The model of
 * NVIDIA's driver in sim/nvuvm/nvuvm.c manages memory. When the device is full, a fault evicts
 * the chunk whose last migration is the oldest, of any container. The driver splits chunks for
 * small ranges; the model does so with system.mechanisms.sub_chunks, which is off by default:
 * it changes the results of the shipped scenarios.
 */
#include <string.h>

#include "systems/system.h"

struct stock_keys {
	bool sub_chunks;
};

static const struct cfg_key stock_rows[] = {
	CFG_SYSTEM_KEY("mechanisms.sub_chunks", BOOL, struct stock_keys, sub_chunks, "false",
		       "ranges of less than 2 MB share chunks and pay for their bytes"),
};

static bool stock_honours(const struct config *config, const char *control_file)
{
	(void)config;
	return !strcmp(control_file, "compute.timeslice");
}

static struct sim_memory_policy stock_memory(const struct config *config)
{
	const struct stock_keys *keys = config->system_keys;

	return (struct sim_memory_policy){
		.manager = &sim_manager_nvuvm,
		.sub_chunks = keys->sub_chunks,
		.host_fragmented = config->host.fragmented,
	};
}

const struct sim_system system_stock = {
	.keys = {
		.name = "stock",
		.summary = "one GPU, equal timeslices, demand paging: NVIDIA's driver as it comes",
		CFG_KEYS(stock_rows),
		.bytes = sizeof(struct stock_keys),
	},
	.own_gpu = false,
	.honours = stock_honours,
	.memory = stock_memory,
};
