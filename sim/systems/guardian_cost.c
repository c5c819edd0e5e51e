// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * guardian: what a fence costs.
 *
 *     Lambda = h1 L1 + (1 - h1) (h2 L2 + (1 - h2) D)    cycles of a mean access
 *     F      = cycles of the fence                      growth of a kernel = hide F / Lambda
 *
 * h1 and h2 are the hit rates of L1 and L2, beta the share of accesses with an offset: a
 * profile of the application, keys containers.NAME.guardian.*. The cycles are the GPU's, keys
 * gpu.cycles.*. Those of the paper (Table 2, sections 4.4 and 6.5), for both of its GPUs, follow
 * from 4 for a bitwise instruction and 80 for a branch; those of an H200 are measured
 * (plots/reference/hardware/fence):
 *
 *     mode     the paper's, without and with an offset       measured
 *     fence    2 bitwise; 2 more for the offset    8, 16     7.45, 15.07
 *     once     2: offsets need no fence                8     7.45
 *     4g       1: half of an address; 2 more       4, 12     7.2, 7.2: the offset stays
 *     check    2 branches                            160     46.01, 50.01
 *     modulo   7 bitwise                              28     95.89, 100.89
 *     count    5: fence, a comparison, and two    20, 28     50.58, 56.57
 *              that only threads with a wild
 *              address carry out; 2 more
 *
 * A kernel that memory bounds needs fewer SMs than its blocks hold. Its fence takes of that
 * room first. It becomes slower only when it needs more SMs than it holds. The kernels of a
 * burst count as their mean.
 *
 * hide is the part of the fence that other warps do not hide in a kernel that computes. It is 1,
 * derived from Figure 10: 3.2 % as a mean over lenet's kernels, whose hit rates are 37 % and
 * 72 % (6.5), so that a fence is 5.6 % of an access. 32 of its 72 kernels are updates, which
 * memory bounds and which grow by nothing; 40 / 72 of 5.6 % are 3.1 %, and nothing is left for
 * other warps to hide. It was 0.57 (3.2 / 5.6) once, which counted the updates twice.
 */
#include "systems/guardian_cost.h"

#include "systems/guardian.h"

u64 guardian_fence_cycles(const struct cfg_gpu *gpu, enum gvm_fence_mode mode, u64 offsets)
{
	u64 without = 0, with = 0;

	switch (mode) {
	case GVM_FENCE_MASK:
		without = gpu->cycles.fence;
		with = gpu->cycles.fence_offset;
		break;
	case GVM_FENCE_ONCE:
		without = with = gpu->cycles.once;
		break;
	case GVM_FENCE_4G:
		without = gpu->cycles.upper;
		with = gpu->cycles.upper_offset;
		break;
	case GVM_FENCE_CHECK:
		without = gpu->cycles.check;
		with = gpu->cycles.check_offset;
		break;
	case GVM_FENCE_MODULO:
		without = gpu->cycles.modulo;
		with = gpu->cycles.modulo_offset;
		break;
	case GVM_FENCE_COUNT:
		without = gpu->cycles.count;
		with = gpu->cycles.count_offset;
		break;
	case GVM_FENCE_NONE:
	case GVM_FENCE_NOPROT:
	case GVM_FENCE_MODES:
		break;
	}
	return (without * (CFG_PPM - offsets) + with * offsets) / CFG_PPM;
}

/* Without cycles of less than 1e-12 the result is exact. Whole cycles have none. */
struct guardian_growth guardian_growth(const struct cfg_gpu *gpu, u64 l1, u64 l2, u64 cycles,
				       u64 hide)
{
	unsigned __int128 behind_l1 = /* cycles x ppm x ppm */
		(unsigned __int128)l2 * gpu->cycles.l2 +
		(unsigned __int128)(CFG_PPM - l2) * gpu->cycles.dram;

	return (struct guardian_growth){
		.part = (unsigned __int128)cycles * hide,
		.whole = ((unsigned __int128)l1 * gpu->cycles.l1 * CFG_PPM +
			  (CFG_PPM - l1) * behind_l1) /
			 CFG_PPM,
	};
}

/* @every: one launch of so many is counted; the kernels of a burst count as their mean. */
static struct guardian_growth fence_growth(const struct guardian_keys *keys,
					   const struct cfg_gpu *gpu,
					   const struct cfg_container *container, u64 every)
{
	u64 offsets = container->guardian.offsets;
	u64 cycles = guardian_fence_cycles(gpu, guardian_mode(keys), offsets);
	u64 counted = guardian_fence_cycles(gpu, GVM_FENCE_COUNT, offsets);

	if (every && counted > cycles)
		cycles += (counted - cycles) / every;
	return guardian_growth(gpu, container->guardian.l1, container->guardian.l2, cycles,
			       keys->hide);
}

/* A product of shorter times with a share in ppm and struct guardian_growth fits into 128 bits. */
#define EXACT_NS (1ull << 45)

/*
 * How long a kernel of @ns is that needs more SMs than it @fills, once it has grown. It needed the
 * share @need. Of kernels of hours a part of a ns is lost.
 */
static u64 grown_ns(u64 ns, u64 need, u64 fills, const struct guardian_growth *growth)
{
	unsigned __int128 grown = growth->whole + growth->part;
	unsigned __int128 work = (unsigned __int128)ns * need;
	unsigned __int128 longer = ns < EXACT_NS ? work * grown / (fills * growth->whole) :
						   work / fills * grown / growth->whole;

	return (u64)min(longer, (unsigned __int128)FIFO_BURST_MAX_NS);
}

/* First by SMs that the kernels hold and do not need. */
void guardian_fence_burst(const struct guardian_keys *keys, const struct cfg_gpu *gpu,
			  const struct cfg_container *container, u64 every,
			  struct fifo_burst *burst)
{
	struct guardian_growth growth = fence_growth(keys, gpu, container, every);
	u64 fills = burst->sm_ppm ? burst->sm_ppm : FIFO_ALL_PPM;
	u64 need = burst->sm_need_ppm ? min((u64)burst->sm_need_ppm, fills) : fills;
	unsigned __int128 grown = growth.whole + growth.part;
	u64 ns = burst->kernel_ns;

	if (need * grown <= fills * growth.whole) {
		burst->sm_need_ppm = (u32)(need * grown / growth.whole);
		return;
	}
	burst->kernel_ns = grown_ns(ns, need, fills, &growth);
	burst->sm_need_ppm = (u32)fills;
	burst->bandwidth_ppm =
		(u32)((unsigned __int128)burst->bandwidth_ppm * ns / burst->kernel_ns);
}
