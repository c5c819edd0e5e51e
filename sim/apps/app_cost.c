// SPDX-License-Identifier: MIT OR GPL-2.0
/* Costs on the configured machine; see app_cost.h. */
#include "apps/app_cost.h"

#define NS_PER_S 1000000000ull

static u64 cost_saturate(unsigned __int128 ns)
{
	return ns < APP_COST_MAX_NS ? (u64)ns : APP_COST_MAX_NS;
}

/* @flops at @efficiency (ppm) of @peak, in FLOP/s. */
static u64 cost_flops_ns(u64 peak, u64 efficiency, unsigned __int128 flops)
{
	return cost_saturate(flops * (NS_PER_S * CFG_PPM) /
			     ((unsigned __int128)peak * efficiency));
}

u64 app_flops_ns(const struct cfg_gpu *gpu, u64 efficiency, unsigned __int128 flops)
{
	return cost_flops_ns(gpu->flops_bf16, efficiency, flops);
}

u64 app_flops_fp8_ns(const struct cfg_gpu *gpu, u64 efficiency, unsigned __int128 flops)
{
	return cost_flops_ns(gpu->flops_fp8 ? gpu->flops_fp8 : gpu->flops_bf16, efficiency,
			     flops);
}

u64 app_flops_mma_ns(const struct cfg_gpu *gpu, u64 efficiency, unsigned __int128 flops)
{
	return cost_flops_ns(gpu->flops_bf16_mma ? gpu->flops_bf16_mma : gpu->flops_bf16,
			     efficiency, flops);
}

u64 app_bytes_ns(const struct cfg_gpu *gpu, u64 share, unsigned __int128 bytes)
{
	unsigned __int128 rate = (unsigned __int128)gpu->memory_bandwidth * share;

	return cost_saturate(bytes * (NS_PER_S * CFG_PPM) / rate);
}

u64 app_kernel_ns(const struct cfg_gpu *gpu, u64 work_ns, u64 kernels)
{
	return max(1ull, work_ns / kernels + gpu->kernel_overhead);
}

u64 app_host_ns(const struct cfg_host *host, unsigned __int128 ns)
{
	return cost_saturate(ns * CFG_PPM / host->speed);
}

u64 app_launch_ns(const struct cfg_host *host, u64 launch_ns, u64 kernels)
{
	return app_host_ns(host, launch_ns) / kernels;
}
