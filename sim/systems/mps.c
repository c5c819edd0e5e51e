// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * mps: NVIDIA's Multi-Process Service on the stock driver. All containers of a GPU are clients
 * of one MPS server, so their kernels run side by side, without turns and context switches.
 *
 * A client gets at most mps.limit percent of the SMs: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of
 * NVIDIA's guide (docs.nvidia.com/deploy/mps). SMs and bandwidth are shared as sim/fifo/beside.h
 * has it, by what kernels fill of them (sim/apps/app_cost.h). A limit does not reserve SMs: it
 * only keeps them from its own client. Memory is the stock driver's, shared without limits. A
 * kernel does not end while another client's waits for its page faults (sim/fifo/fifo.h). A
 * fatal fault of one client ends all of them.
 *
 * A container with an mps.server of its own is a client of that server, which has turns beside
 * the common one. Under other systems only such containers have a server.
 *
 * mps.priority is CUDA_MPS_CLIENT_PRIORITY. mps.memory_hard and .memory_soft are the limits of
 * MPS's third version to memory of cudaMalloc (app.memory "unmanaged"; sim/gpu/unmanaged.h).
 */
#include "systems/system.h"

const struct sim_system system_mps = {
	.keys = {
		.name = "mps",
		.summary = "one GPU, all containers side by side: NVIDIA's MPS",
		.common_server = true,
	},
	.memory = sim_system_nvidia_memory,
};
