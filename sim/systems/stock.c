// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * stock: NVIDIA's driver as it comes. All containers share one GPU, which takes turns between
 * their contexts by equal timeslices, and demand paging brings managed memory in.
 *
 * It has no containers and so no control files: limits and priorities of a scenario are listed
 * as ignored. While memory suffices, how faults are serviced hardly matters; eviction, and the
 * stock driver's own way through it, is not modelled yet. A container that faults when the device
 * is full loses its context, and the run goes on without it.
 */
#include "systems/system.h"

static bool stock_honours(const struct config *config, const char *control_file)
{
	(void)config;
	(void)control_file;
	return false;
}

const struct sim_system system_stock = {
	.name = "stock",
	.summary = "one GPU, equal timeslices, demand paging while memory suffices",
	.own_gpu = false,
	.honours = stock_honours,
};
