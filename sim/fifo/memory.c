// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Bursts on memory: progress up to a miss, stalls, replays; see fifo.h
 * ====================================================================
 *
 * The blocks that a burst touches have ordinals, in the order in which it touches them. Its
 * places among them:
 *
 *     ordinal   0           made             cursor         faulting         touch_blocks
 *     blocks    --- used ----|--- resident ----|--- some miss ---|--- not looked at ---|
 *                                              ^ the burst stalls here
 *
 *     made      The larger one of granted_ordinal and burst_progress_ordinal(). Accesses before
 *               it have been made: no eviction there can stall the burst.
 *     cursor    The first block that may miss. gmmu_find_miss() moves it forward. An eviction
 *               between made and cursor moves it back: burst_misses_at() in fifo.c.
 *     faulting  The end of the kernel that faulted last, or of its front. tsg_stall() sets it.
 *               While the cursor is before it, the TSG stays loaded: tsg_is_faulting().
 *
 * A stall reports the misses from the cursor up to faulting, and granted_ordinal is the cursor.
 * A replay moves the cursor to the next miss, and granted_ordinal with it, up to faulting at
 * most: later kernels have not begun.
 *
 * A burst that stalls again and again at one block, stuck_ordinal, is stuck after STUCK_STALLS
 * times, counted by stuck_stalls. Then narrow_ordinal is faulting, and a stall whose cursor is
 * before narrow_ordinal reports one block only.
 *
 * "reached" changes nothing. It is where the touch of the last burst_progress_ordinal() begins,
 * so that the next one does not count the touches before it.
 */
#include "fifo/memory.h"

#include "fifo/burst.h"

/* Stalls at one block before a kernel is stuck: several turns of all pages, one by one. */
#define STUCK_STALLS (4 * GVM_PAGES_PER_BLOCK)

u64 tsg_work_date(const struct fifo_tsg *tsg)
{
	return !tsg->dead && tsg->first ? burst_ready_date(tsg->first, eng_now()) : ENG_NEVER;
}

/* The work before the kernel in which a burst touches block number @ordinal. */
static u64 burst_work_before_kernel(const struct fifo_burst *burst, u64 ordinal)
{
	return fifo_mul_div(burst->kernels, ordinal, burst->touch_blocks) * burst->kernel_ns;
}

/*
 * Is block number @ordinal in the footprint that was looked up last? A kernel is asked about
 * many times, and a look-up counts all blocks before it.
 */
static bool burst_knows_footprint(const struct fifo_burst *burst, u64 ordinal)
{
	return burst->footprint.first <= ordinal && ordinal < burst->footprint.end;
}

/* The footprint of the kernel at the burst's cursor. */
static struct gmmu_footprint burst_footprint(struct fifo_burst *burst)
{
	if (!burst_knows_footprint(burst, burst->cursor.ordinal))
		burst->footprint = gmmu_kernel_footprint(&burst->walk, &burst->cursor);
	return burst->footprint;
}

/*
 * The blocks are touched at an even pace. But a kernel that touches several of them at once has
 * touched all when it has begun.
 */
u64 burst_progress_ordinal(struct fifo_burst *burst)
{
	u64 ordinal = fifo_mul_div(burst->touch_blocks, burst->done_ns, burst_work_ns(burst));

	if (!burst_knows_footprint(burst, ordinal)) {
		struct gmmu_cursor cursor =
			gmmu_seek_from(&burst->walk, &burst->reached, ordinal);

		burst->footprint = gmmu_kernel_footprint(&burst->walk, &cursor);
	}
	if (burst->footprint.first == burst->footprint.end)
		return ordinal;
	return burst_work_before_kernel(burst, burst->footprint.first) < burst->done_ns ?
		       burst->footprint.end :
		       burst->footprint.first;
}

void burst_look(struct fifo_burst *burst)
{
	if (burst->touch_blocks)
		return;
	burst->touch_blocks = gmmu_count_blocks(&burst->walk);
	burst->cursor = gmmu_seek(&burst->walk, burst_progress_ordinal(burst));
}

u64 burst_work_before_miss(struct fifo_burst *burst)
{
	u64 work = burst_work_ns(burst);
	struct gmmu_footprint kernel;
	u64 miss;

	if (!burst->touch_count || gmmu_all_resident(&burst->walk))
		return work;
	burst_look(burst);
	if (!gmmu_find_miss(&burst->walk, &burst->cursor))
		return work;
	kernel = burst_footprint(burst);
	miss = kernel.first < kernel.end ?
		       burst_work_before_kernel(burst, kernel.first) :
		       fifo_mul_div(work, burst->cursor.ordinal, burst->touch_blocks);
	return max(miss, burst->done_ns);
}

bool tsg_at_miss(const struct fifo_tsg *tsg)
{
	return tsg_work_date(tsg) <= eng_now() &&
	       burst_work_before_miss(tsg->first) == tsg->first->done_ns;
}

bool tsg_is_faulting(const struct fifo_tsg *tsg)
{
	struct fifo_burst *burst = tsg->first;

	/* Looking for the next miss only moves the cursor on. */
	return burst && burst->cursor.ordinal < burst->faulting_ordinal &&
	       burst_work_before_miss(burst) < burst_work_ns(burst) &&
	       burst->cursor.ordinal < burst->faulting_ordinal;
}

/*
 * Does the kernel at the cursor touch its blocks one after the other? burst_footprint() has
 * looked.
 */
static bool burst_is_bit_by_bit(const struct fifo_burst *burst)
{
	return burst->footprint.first >= burst->footprint.end;
}

/*
 * The end of the blocks that the kernel at the cursor touches. In a run that is touched bit by
 * bit, kernels touch equal shares of the burst's blocks.
 */
static u64 burst_kernel_end_ordinal(struct fifo_burst *burst)
{
	struct gmmu_footprint footprint = burst_footprint(burst);
	u64 blocks = burst->touch_blocks;
	u64 kernel, end;

	if (footprint.first < footprint.end)
		return footprint.end;
	kernel = fifo_mul_div(burst->cursor.ordinal, burst->kernels, blocks);
	end = fifo_mul_div(kernel + 1, blocks, burst->kernels);
	/*
	 * Rounded up: both products may have lost their upper bits, but not their difference.
	 */
	end += end * burst->kernels != (kernel + 1) * blocks;
	return max(end, burst->cursor.ordinal + 1);
}

/*
 * The end of the blocks that the kernel at the cursor faults on together, and for which it
 * stays on the GPU: all that it touches at once, or its front in what it goes through bit by
 * bit.
 */
static u64 burst_front_end(struct fifo_burst *burst, u32 front_blocks)
{
	u64 end = burst_kernel_end_ordinal(burst);

	if (burst_is_bit_by_bit(burst) && burst->in_fronts)
		end = min(end, burst->cursor.ordinal + front_blocks);
	return end;
}

/*
 * A burst stalls at its cursor and faults on the blocks up to @end. Returns the end of the
 * faults that it reports.
 */
static u64 burst_window_end(struct fifo_burst *burst, u64 end)
{
	u64 at = burst->cursor.ordinal;

	burst->stuck_stalls = at == burst->stuck_ordinal ? burst->stuck_stalls + 1 : 0;
	burst->stuck_ordinal = at;
	if (burst->stuck_stalls >= STUCK_STALLS)
		burst->narrow_ordinal = end;
	return at < burst->narrow_ordinal ? at + 1 : end;
}

/* SMs of the partition that a TSG is in. */
static u32 tsg_sms(const struct fifo_tsg *tsg)
{
	u64 sm_ppm = tsg->entry->runlist->partition->share.sm_ppm;
	u64 sms = (tsg->fifo->config.sms * sm_ppm + FIFO_ALL_PPM / 2) / FIFO_ALL_PPM;

	return (u32)max(sms, 1ull);
}

void tsg_stall(struct fifo_tsg *tsg)
{
	struct fifo *fifo = tsg->fifo;
	struct fifo_burst *burst = tsg->first;
	u64 front_end = burst_front_end(burst, fifo->config.front_blocks);
	struct gmmu_window window = {
		.end_ordinal = burst_window_end(burst, front_end),
		.faults = fifo->config.outstanding_faults,
		.pages_per_block = fifo->config.faults_per_block,
		.faults_per_page = max(fifo->config.faults_per_page, 1u),
		.in_order = burst_is_bit_by_bit(burst) && !burst->in_fronts &&
			    fifo->config.faults_per_page > 1,
		.sms = tsg_sms(tsg),
		.faults_per_sm = fifo->config.faults_per_sm,
		.again_ppm = fifo->config.faults_again_ppm,
	};

	if (burst->pages_at_once) {
		window.pages_per_block = burst->pages_at_once;
		window.faults_per_page = max(burst->faults_per_page, 1u);
		window.in_order = false;
	}
	burst->faulting_ordinal = front_end;
	/* The date of a miss is rounded down, but all blocks before the miss have been used. */
	burst->granted_ordinal = burst->cursor.ordinal;
	tsg->stalled = true;
	tsg->stalled_ns_since = eng_now();
	tsg->stall_booked_ns = eng_now();
	if (fifo->stall_ops.parts)
		fifo->stall_ops.parts(fifo->stall_ops.data, tsg, 0);
	gmmu_report(fifo->gmmu, tsg->id, &burst->walk, burst->cursor, &window);
}

void tsg_replay(struct fifo_tsg *tsg)
{
	struct fifo_burst *burst = tsg->first;

	tsg->stalled = false;
	gmmu_find_miss(&burst->walk, &burst->cursor);
	burst->granted_ordinal = min(burst->cursor.ordinal, burst->faulting_ordinal);
}
