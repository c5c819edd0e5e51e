// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Kernels that access host memory over the link.
 *
 *
 * As slow as the link lets them be
 *
 * A page table can have pages that lie in host memory (page_table_map_remote()). An
 * access to one of them is no fault: its bytes cross the link each time. A kernel has
 * thousands of accesses under way, so its other work goes on beside them, and it takes
 * the longer of the two times:
 *
 *     all of it on the GPU             |== 1.0 ms ==|
 *     7 MB in host memory              |== 1.0 ms ==|               0.5 ms at 14.1 GB/s: hidden
 *     28 MB in host memory             |========== 2.0 ms =========|
 *
 * A burst touches its blocks at an even pace (fifo.h). It is cut into pieces: a block each, or
 * a kernel each where a kernel touches several blocks. A piece wants its bytes over its GPU
 * time, in bytes/s. The link says what it gives (struct fifo_link_ops), and what is missing is
 * missing from the speed of the kernels. Pieces without such pages are one piece up to the next
 * that has some, so memory that is all on the GPU costs no events.
 *
 * The GPU caches none of these bytes: a matrix product reads its weights again for each 256
 * rows of the other matrix (plots/reference/hardware/h200-580-remote.txt). So a touch says how
 * often its pages cross the link (gmmu_touch.remote_reads), and the denoiser's of a diffusion
 * pipeline do so 18 times in a pass. Other touches count once.
 */
#include "fifo/remote.h"

#include "fifo/burst.h"
#include "fifo/memory.h"

#define NS_PER_S 1000000000ull

/* The start of piece number @piece of @pieces, of what has @whole units. */
static u64 piece_start(u64 whole, u64 piece, u64 pieces)
{
	return fifo_mul_div(whole, piece, pieces);
}

/* The piece in which a part @at of @whole lies. */
static u64 piece_of(u64 whole, u64 at, u64 pieces)
{
	u64 piece = fifo_mul_div(at, pieces, whole);

	/* Starts are rounded down. */
	while (piece + 1 < pieces && piece_start(whole, piece + 1, pieces) <= at)
		piece++;
	return piece;
}

/* Look up the piece of a burst that has work left. */
static void burst_find_piece(struct fifo_burst *burst)
{
	const struct page_table *table = burst->walk.table;
	u64 work = burst_work_ns(burst), blocks = burst->touch_blocks, reads, writes;
	u64 pieces = min(blocks, (u64)burst->kernels);
	u64 first = piece_of(work, burst->done_ns, pieces), end = first + 1;
	struct gmmu_cursor at = gmmu_seek_from(&burst->walk, &burst->piece_from,
					       piece_start(blocks, first, pieces));
	struct gmmu_cursor next = at;

	gmmu_count_remote(&burst->walk, at, piece_start(blocks, end, pieces), &reads, &writes);
	if (!reads && !writes)
		end = gmmu_find_remote(&burst->walk, &next) ?
			      piece_of(blocks, next.ordinal, pieces) :
			      pieces;
	burst->piece = (struct fifo_piece){
		.changes = table->remote_changes + 1,
		.start_ns = piece_start(work, first, pieces),
		.end_ns = piece_start(work, end, pieces),
		.bytes = { [FIFO_REMOTE_READS] = reads << GVM_PAGE_SHIFT,
			   [FIFO_REMOTE_WRITES] = writes << GVM_PAGE_SHIFT },
	};
}

/* The piece that a burst has reached, or NULL: its pace does not depend on the link. */
static struct fifo_piece *burst_piece(struct fifo_burst *burst)
{
	const struct page_table *table = burst->walk.table;
	struct fifo_piece *piece = &burst->piece;

	if (!burst->touch_count || !table->remote_pages ||
	    burst->done_ns == burst_work_ns(burst))
		return NULL;
	burst_look(burst);
	if (piece->changes != table->remote_changes + 1 || burst->done_ns < piece->start_ns ||
	    burst->done_ns >= piece->end_ns)
		burst_find_piece(burst);
	return piece;
}

u64 remote_step_work(struct fifo_burst *burst)
{
	u64 work = burst_work_before_miss(burst);
	const struct fifo_piece *piece = burst_piece(burst);

	return piece ? min(work, piece->end_ns) : work;
}

static u32 burst_speed(const struct fifo_burst *burst)
{
	return burst->speed_ppm ? burst->speed_ppm : FIFO_ALL_PPM;
}

/* The kernels of a partition that run, or run next: what do they want of the link? */
static void partition_claim(struct fifo_partition *partition)
{
	const struct fifo_tsg *tsg;

	memset(partition->wants, 0, sizeof(partition->wants));
	if (partition->runlist.switching)
		return;
	fifo_for_each_loaded(partition->runlist.current, tsg) {
		struct fifo_piece *piece = tsg->first ? burst_piece(tsg->first) : NULL;

		for (int way = 0; piece && way < FIFO_REMOTE_WAYS; way++) {
			u64 bytes = tsg->stalled ? 0 : piece->bytes[way];

			bytes = fifo_mul_div(bytes, burst_speed(tsg->first), FIFO_ALL_PPM);
			piece->wants[way] =
				fifo_mul_div(bytes, NS_PER_S, piece->end_ns - piece->start_ns);
			partition->wants[way] += piece->wants[way];
		}
	}
}

/* Each kernel gets the same part of what it wants. */
static void burst_slow_down(struct fifo_burst *burst, const u64 *wants, const u64 *gets)
{
	const struct fifo_piece *piece = burst_piece(burst);
	u32 most = burst_speed(burst), speed = most;

	for (int way = 0; piece && way < FIFO_REMOTE_WAYS; way++)
		if (piece->wants[way] && gets[way] < wants[way])
			speed = min(speed, (u32)fifo_mul_div(most, gets[way], wants[way]));
	if (speed < most)
		burst->speed_ppm = max(speed, 1u);
}

void remote_set_speeds(struct fifo_partition *partition)
{
	struct fifo *fifo = partition->fifo;
	u64 wants[FIFO_REMOTE_WAYS] = { 0 }, gets[FIFO_REMOTE_WAYS];
	const struct fifo_tsg *tsg;
	bool claims = false;

	if (!fifo->link_ops.claim)
		return;
	partition_claim(partition);
	for (u32 i = 0; i < fifo->partition_count; i++)
		for (int way = 0; way < FIFO_REMOTE_WAYS; way++) {
			wants[way] += fifo->partitions[i].wants[way];
			claims |= wants[way] > 0;
		}
	if (!claims && !fifo->claims)
		return;
	fifo->claims = claims;
	fifo->link_ops.claim(fifo->link_ops.data, wants, gets);
	if (partition->runlist.switching)
		return;
	fifo_for_each_loaded(partition->runlist.current, tsg) {
		if (tsg->first && !tsg->stalled)
			burst_slow_down(tsg->first, wants, gets);
	}
}
