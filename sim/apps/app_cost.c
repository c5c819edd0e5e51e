// SPDX-License-Identifier: MIT OR GPL-2.0
/* Costs on the configured machine; see app_cost.h. */
#include "apps/app_cost.h"

#include "cuda/cuda.h"

#define NS_PER_S 1000000000ull

/*
 * Rows for which a product reads a matrix once; FLOP of a thread block of a product, and bytes
 * of one that goes element by element.
 */
#define PRODUCT_READ_ROWS   256u
#define PRODUCT_BLOCK_FLOPS (2ull * 128 * 128 * 512)
#define ELEMENT_BLOCK_BYTES (2ull * 128 * 16)

/*
 * Blocks of 256 threads on an SM: compute capability 8.0 and 9.0, CUDA C++ Programming Guide.
 */
#define SM_BLOCKS 8

/*
 * Turns of a kernel with fewer blocks than that: the mean over 27 pairs of an H200, of norms
 * with 32, 128 and 512 blocks (means 0.35, 0.49, 0.64) beside nine other kinds
 * (plots/reference/hardware/h200-580-mps-pairs.txt).
 */
#define NARROW_TURN_PPM 492000

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

u64 app_reduce_ns(const struct cfg_gpu *gpu, u64 ranks, unsigned __int128 bytes)
{
	u64 steps = 2 * (ranks - 1);
	u64 rate = gpu->peer.bandwidth ? gpu->peer.bandwidth : gpu->link.bandwidth;

	return gpu->peer.setup + steps * gpu->peer.step +
	       cost_saturate(bytes * steps * NS_PER_S / ((unsigned __int128)ranks * rate));
}

u64 app_cycles_ns(const struct cfg_gpu *gpu, unsigned __int128 cycles)
{
	return cost_saturate(cycles * NS_PER_S / ((unsigned __int128)gpu->sms * gpu->clock));
}

/* GPU time of each of @kernels equal kernels that do @work together. */
static u64 cost_kernel_ns(const struct app_work *work, const struct cfg_gpu *gpu, u64 kernels)
{
	u64 overhead_ns = work->overhead_ns ? work->overhead_ns : gpu->kernel_overhead;

	return max(1ull, work->ns / kernels + overhead_ns);
}

static u64 cost_blocks(unsigned __int128 amount, u64 of_a_block)
{
	return (u64)min((amount + of_a_block - 1) / of_a_block, (unsigned __int128)U32_MAX);
}

/* A row takes two operations for each number, so one for each byte. */
u32 app_product_reads(unsigned __int128 flops, u64 weights)
{
	u64 rows = weights ? cost_saturate(flops / weights) : 0;

	return (u32)max(cost_blocks(rows, PRODUCT_READ_ROWS), 1ull);
}

u64 app_product_blocks(unsigned __int128 flops)
{
	return cost_blocks(flops, PRODUCT_BLOCK_FLOPS);
}

u64 app_element_blocks(unsigned __int128 bytes)
{
	return cost_blocks(bytes, ELEMENT_BLOCK_BYTES);
}

/* What app_work_add_product() adds. */
static u64 cost_ridge_ns(u64 ridge, u64 longer, u64 shorter)
{
	u64 ratio = longer ? (u64)((unsigned __int128)shorter * CFG_PPM / longer) : 0;
	u64 cube = ratio * ratio / CFG_PPM * ratio / CFG_PPM;

	return (u64)((unsigned __int128)longer * ridge / CFG_PPM * cube / CFG_PPM);
}

/* Add kernels that take @ns, some of it for arithmetic and some for traffic. */
static void cost_add(struct app_work *work, const struct cfg_gpu *gpu, unsigned __int128 ns,
		     u64 flops_ns, u64 bytes_ns, u64 blocks)
{
	u64 sms = blocks < gpu->sms ? max(blocks, 1ull) * CFG_PPM / gpu->sms : CFG_PPM;
	u64 memory_sms = gpu->memory_sms ? min(sms, gpu->memory_sms) : sms;

	work->ns += (u64)ns;
	work->memory_ns += bytes_ns;
	work->held_ns += ns * sms;
	work->needed_ns += max((unsigned __int128)flops_ns * sms,
			       (unsigned __int128)bytes_ns * memory_sms);
}

void app_work_add(struct app_work *work, const struct cfg_gpu *gpu, u64 flops_ns, u64 bytes_ns,
		  u64 blocks)
{
	cost_add(work, gpu, max(flops_ns, bytes_ns), flops_ns, bytes_ns, blocks);
}

void app_work_add_product(struct app_work *work, const struct cfg_gpu *gpu, u64 ridge,
			  u64 flops_ns, u64 bytes_ns, u64 blocks)
{
	u64 longer = max(flops_ns, bytes_ns);
	u64 shorter = min(flops_ns, bytes_ns);

	cost_add(work, gpu, longer + cost_ridge_ns(ridge, longer, shorter), flops_ns, bytes_ns,
		 blocks);
}

void app_work_move(struct app_work *work, u64 bytes_ns)
{
	work->memory_ns = min(work->memory_ns + bytes_ns, work->ns);
}

void app_work_count(struct app_work *work, const struct cfg_gpu *gpu, u64 kernels, u64 blocks)
{
	if (blocks < (u64)gpu->sms * SM_BLOCKS)
		work->narrow += kernels;
}

/* @amount over @ns, in ppm: at least 1, which is not 0, "all". */
static u32 cost_share(unsigned __int128 amount, unsigned __int128 ns)
{
	return (u32)max(min(amount / ns, (unsigned __int128)CFG_PPM), (unsigned __int128)1);
}

void app_work_burst(const struct app_work *work, const struct cfg_gpu *gpu,
		    struct cuda_burst_config *burst)
{
	u64 narrow = min(work->narrow, (u64)burst->kernels);
	unsigned __int128 all_ns;

	/* Products of many tokens and elementwise kernels: gpu.fault.front has the measurement. */
	burst->in_fronts = true;
	burst->kernel_ns = cost_kernel_ns(work, gpu, burst->kernels);
	all_ns = (unsigned __int128)burst->kernel_ns * burst->kernels;
	burst->sm_ppm = cost_share(work->held_ns, max(work->ns, 1ull));
	burst->sm_need_ppm = cost_share(work->needed_ns, max(work->ns, 1ull));
	burst->sm_busy_ppm = cost_share((unsigned __int128)work->ns * CFG_PPM, all_ns);
	burst->sm_turns_ppm =
		(u32)(CFG_PPM - narrow * (CFG_PPM - NARROW_TURN_PPM) / burst->kernels);
	burst->bandwidth_ppm = cost_share((unsigned __int128)work->memory_ns * CFG_PPM, all_ns);
}

u64 app_host_ns(const struct cfg_host *host, unsigned __int128 ns)
{
	return cost_saturate(ns * CFG_PPM / host->speed);
}

u64 app_launch_ns(const struct cfg_host *host, u64 launch_ns, u64 kernels)
{
	return app_host_ns(host, launch_ns) / kernels;
}
