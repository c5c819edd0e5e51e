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
 * Turns of a small kernel by its thread blocks, for each SM at most so many: means over seven
 * pairs of an H200, of elements in 2 and 8 blocks and norms with 32, 128 and 512 beside
 * products, attention and convolutions. Norms with more blocks take 0.8. Beside elementwise
 * kernels all norms take 0.9 or more, and elements in 2 and 8 blocks a half
 * (plots/reference/hardware/h200-580-mps-pairs.txt).
 */
static const struct small_turn {
	u64 blocks_ppm; /* of the SMs */
	u32 turns_ppm;
} small_turns[] = {
	{ CFG_PPM / 16, 50000 },
	{ CFG_PPM / 4, 190000 },
	{ CFG_PPM, 360000 },
	{ 4 * CFG_PPM, 560000 },
};

static u64 cost_saturate(unsigned __int128 ns)
{
	return ns < APP_COST_MAX_NS ? (u64)ns : APP_COST_MAX_NS;
}

/*
 * @amount at @share (ppm) of @peak, a rate per second. Where the amount times the units would have
 * more than 128 bits, the rate is divided by them instead. What that leaves out of the rate matters
 * only for low rates, at which so much work takes APP_COST_MAX_NS anyway.
 */
static u64 cost_ns(u64 peak, u64 share, unsigned __int128 amount)
{
	const unsigned __int128 units = NS_PER_S * CFG_PPM;
	unsigned __int128 rate = (unsigned __int128)peak * share;

	if (amount <= ~(unsigned __int128)0 / units)
		return cost_saturate(amount * units / rate);
	return cost_saturate(amount / max(rate / units, (unsigned __int128)1));
}

u64 app_flops_ns(const struct cfg_gpu *gpu, u64 efficiency, unsigned __int128 flops)
{
	return cost_ns(gpu->flops_bf16, efficiency, flops);
}

u64 app_flops_fp8_ns(const struct cfg_gpu *gpu, u64 efficiency, unsigned __int128 flops)
{
	return cost_ns(gpu->flops_fp8 ? gpu->flops_fp8 : gpu->flops_bf16, efficiency, flops);
}

u64 app_flops_mma_ns(const struct cfg_gpu *gpu, u64 efficiency, unsigned __int128 flops)
{
	return cost_ns(gpu->flops_bf16_mma ? gpu->flops_bf16_mma : gpu->flops_bf16, efficiency,
		       flops);
}

u64 app_bytes_ns(const struct cfg_gpu *gpu, u64 share, unsigned __int128 bytes)
{
	return cost_ns(gpu->memory_bandwidth, share, bytes);
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

u32 app_small_turns(const struct cfg_gpu *gpu, u64 blocks)
{
	for (size_t i = 0; i < ARRAY_SIZE(small_turns); i++)
		if ((unsigned __int128)blocks * CFG_PPM <=
		    (unsigned __int128)gpu->sms * small_turns[i].blocks_ppm)
			return small_turns[i].turns_ppm;
	return CFG_PPM;
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

/*
 * Add kernels that take @ns, some of it for computing and some for traffic. @tiles: they compute
 * tiles.
 */
static void cost_add(struct app_work *work, const struct cfg_gpu *gpu, unsigned __int128 ns,
		     u64 flops_ns, u64 bytes_ns, u64 blocks, bool tiles)
{
	u64 sms = blocks < gpu->sms ? max(blocks, 1ull) * CFG_PPM / gpu->sms : CFG_PPM;
	u64 memory_sms = gpu->memory_sms ? min(sms, gpu->memory_sms) : sms;

	work->ns += (u64)ns;
	work->memory_ns += bytes_ns;
	work->open_ns += tiles || blocks < gpu->sms ? (u64)ns : 0;
	work->held_ns += ns * sms;
	work->needed_ns += max((unsigned __int128)flops_ns * sms,
			       (unsigned __int128)bytes_ns * memory_sms);
}

void app_work_add(struct app_work *work, const struct cfg_gpu *gpu, u64 flops_ns, u64 bytes_ns,
		  u64 blocks)
{
	cost_add(work, gpu, max(flops_ns, bytes_ns), flops_ns, bytes_ns, blocks, flops_ns > 0);
}

void app_work_add_cycles(struct app_work *work, const struct cfg_gpu *gpu, u64 cycles_ns,
			 u64 blocks)
{
	cost_add(work, gpu, cycles_ns, cycles_ns, 0, blocks, false);
}

void app_work_add_product(struct app_work *work, const struct cfg_gpu *gpu, u64 ridge,
			  u64 flops_ns, u64 bytes_ns, u64 blocks)
{
	u64 longer = max(flops_ns, bytes_ns);
	u64 shorter = min(flops_ns, bytes_ns);

	cost_add(work, gpu, longer + cost_ridge_ns(ridge, longer, shorter), flops_ns, bytes_ns,
		 blocks, true);
}

void app_work_move(struct app_work *work, u64 bytes_ns)
{
	work->memory_ns = min(work->memory_ns + bytes_ns, work->ns);
}

void app_work_save(struct app_work *work, u64 kernels, u32 turns)
{
	work->saved += kernels * (CFG_PPM - turns);
}

void app_work_count(struct app_work *work, const struct cfg_gpu *gpu, u64 kernels, u64 blocks)
{
	app_work_save(work, kernels, app_small_turns(gpu, blocks));
}

/* @amount over @ns, in ppm: at least 1, which is not 0, "all". */
static u32 cost_share(unsigned __int128 amount, unsigned __int128 ns)
{
	return (u32)max(min(amount / ns, (unsigned __int128)CFG_PPM), (unsigned __int128)1);
}

/* @part of @whole, in ppm, of which at most all. */
static u32 cost_part(u64 part, u64 whole)
{
	return (u32)((unsigned __int128)min(part, whole) * CFG_PPM / whole);
}

void app_work_burst(const struct app_work *work, const struct cfg_gpu *gpu,
		    struct cuda_burst_config *burst)
{
	u64 saved = min(work->saved / burst->kernels, (u64)CFG_PPM - 1);
	u64 overhead_ns = work->overhead_ns ? work->overhead_ns : gpu->kernel_overhead;
	u64 gap_ns = min(burst->graph ? gpu->graph_gap : gpu->kernel_gap, overhead_ns);

	/* Products of many tokens and elementwise kernels: gpu.fault.front has the measurement. */
	burst->in_fronts = true;
	burst->kernel_ns = max(1ull, work->ns / burst->kernels + overhead_ns);
	/* Kernels of overhead alone wait for their turns as others do. */
	burst->sm_ppm = work->ns ? cost_share(work->held_ns, work->ns) : CFG_PPM;
	burst->sm_need_ppm = cost_share(work->needed_ns, max(work->ns, 1ull));
	/* At least 1, which is not 0, "all". */
	burst->sm_busy_ppm = max(CFG_PPM - cost_part(gap_ns, burst->kernel_ns), 1u);
	burst->sm_fixed_ppm = cost_part(overhead_ns - gap_ns, burst->kernel_ns);
	burst->sm_open_ppm = work->ns ? cost_part(work->open_ns, work->ns) : CFG_PPM;
	burst->sm_turns_ppm = (u32)(CFG_PPM - saved);
	burst->bandwidth_ppm = cost_share((unsigned __int128)work->memory_ns * CFG_PPM,
					  (unsigned __int128)burst->kernel_ns * burst->kernels);
}

u64 app_host_ns(const struct cfg_host *host, unsigned __int128 ns)
{
	return cost_saturate(ns * CFG_PPM / host->speed);
}

u64 app_launch_ns(const struct cfg_host *host, u64 launch_ns, u64 kernels)
{
	return app_host_ns(host, launch_ns) / kernels;
}
