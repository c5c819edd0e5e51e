// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * guardian: what a fence costs.
 *
 *     Lambda = h1 L1 + (1 - h1) (h2 L2 + (1 - h2) D)    cycles of a mean access
 *     F      = cycles of the fence                      growth of a kernel = hide F / Lambda
 *
 *     mode     F                         with alu 4 and branch 80
 *     fence    alu (2 + 2 beta)          8 to 16
 *     once     alu 2                     8: offsets need no fence of their own
 *     4g       alu (1 + 2 beta)          4 to 12: half of an address
 *     check    2 branch                  160
 *     modulo   alu 7                     28
 *     count    alu (5 + 2 beta)          20 to 28: fence, a comparison, and two instructions that
 *                                        only threads with a wild address carry out
 *
 * h1 and h2 are the hit rates of L1 and L2, beta the share of accesses with an offset: a
 * profile of the application, keys containers.NAME.guardian.*. The cycles are those of Table 2
 * and sections 4.4 and 6.5, for both GPUs.
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
#include "systems/guardian.h"

/* Cycles of the fence of an access; @offsets: the share of accesses with an offset, in ppm. */
static u64 fence_cycles_ppm(const struct guardian_keys *keys, enum gvm_fence_mode mode,
			    u64 offsets)
{
	switch (mode) {
	case GVM_FENCE_MASK:
		return keys->alu * (2 * CFG_PPM + 2 * offsets);
	case GVM_FENCE_ONCE:
		return keys->alu * 2 * CFG_PPM;
	case GVM_FENCE_4G:
		return keys->alu * (CFG_PPM + 2 * offsets);
	case GVM_FENCE_CHECK:
		return keys->branch * 2 * CFG_PPM;
	case GVM_FENCE_MODULO:
		return keys->alu * 7 * CFG_PPM;
	case GVM_FENCE_COUNT:
		return keys->alu * (5 * CFG_PPM + 2 * offsets);
	case GVM_FENCE_NONE:
	case GVM_FENCE_NOPROT:
	case GVM_FENCE_MODES:
		break;
	}
	return 0;
}

/* The growth of a fenced kernel: @part of @whole of its time. */
struct fence_growth {
	unsigned __int128 part, whole; /* cycles of an access, x ppm x ppm */
};

/* @every: one launch of so many is counted; the kernels of a burst count as their mean. */
static struct fence_growth fence_growth(const struct guardian_keys *keys,
					const struct cfg_container *container, u64 every)
{
	u64 h1 = container->guardian.l1, h2 = container->guardian.l2;
	u64 behind_l1 = h2 * keys->l2 + (CFG_PPM - h2) * keys->dram; /* cycles x ppm */
	u64 offsets = container->guardian.offsets;
	u64 cycles = fence_cycles_ppm(keys, guardian_mode(keys), offsets);
	u64 counted = fence_cycles_ppm(keys, GVM_FENCE_COUNT, offsets);

	if (every && counted > cycles)
		cycles += (counted - cycles) / every;
	return (struct fence_growth){
		.part = (unsigned __int128)cycles * keys->hide,
		.whole = (unsigned __int128)h1 * keys->l1 * CFG_PPM +
			 (unsigned __int128)(CFG_PPM - h1) * behind_l1,
	};
}

/* A product of shorter times with a share in ppm and struct fence_growth fits into 128 bits. */
#define EXACT_NS (1ull << 45)

/*
 * How long a kernel of @ns is that needs more SMs than it @fills, once it has grown. It needed the
 * share @need. Of kernels of hours a part of a ns is lost.
 */
static u64 grown_ns(u64 ns, u64 need, u64 fills, const struct fence_growth *growth)
{
	unsigned __int128 grown = growth->whole + growth->part;
	unsigned __int128 work = (unsigned __int128)ns * need;
	unsigned __int128 longer = ns < EXACT_NS ? work * grown / (fills * growth->whole) :
						   work / fills * grown / growth->whole;

	return (u64)min(longer, (unsigned __int128)FIFO_BURST_MAX_NS);
}

/* First by SMs that the kernels hold and do not need. */
void guardian_fence_burst(const struct guardian_keys *keys,
			  const struct cfg_container *container, u64 every,
			  struct fifo_burst *burst)
{
	struct fence_growth growth = fence_growth(keys, container, every);
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
