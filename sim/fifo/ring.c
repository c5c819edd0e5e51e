// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The rings of a TSG's channels
 * =============================
 *
 * A process writes its launches into a ring of its channel, and the GPU takes them out as
 * kernels end. A ring has room for a fixed number of launches. The host thread stands still
 * before a launch that finds no room, and then launches one kernel for each that ends.
 *
 *     ordinal     done            done + room                     submitted
 *     kernels  ---- ended ----|---- launched, in the ring ----|---- not launched ----
 *                                                             ^ the host stands here
 *
 * So kernel i of a channel with a ring of N is launched at
 *
 *     L(i) = max(L(i - 1) + launch_ns, end of kernel i - N)
 *
 * As long as the host waits, N kernels are queued, and the GPU has no gaps. So nothing happens
 * at the end of a kernel. At each event of the TSG launches that the schedule of burst.h has
 * too early are moved: to the present if the host stands still, else to the date at which it
 * found room for the last launch of its burst. The same thread makes the later launches of all
 * channels, so these move, too.
 *
 * A launch of a CUDA graph takes one place, whatever its kernels. Copies take places on a real
 * GPU, too; here they do not.
 */
#include "fifo/ring.h"

#include "fifo/burst.h"

/* Take the burst that was submitted first of those that are not taken yet; NULL: none. */
static struct fifo_burst *tsg_take_next(struct fifo_tsg *tsg, struct fifo_channel **ret_channel)
{
	struct fifo_channel *channel, *first = NULL;
	struct fifo_burst *burst;

	fifo_for_each_channel(tsg, channel)
		if (channel->untaken &&
		    (!first || channel->untaken->ordinal < first->untaken->ordinal))
			first = channel;
	if (!first)
		return NULL;
	burst = first->untaken;
	first->untaken = burst->next;
	*ret_channel = first;
	return burst;
}

static void tsg_take_none(struct fifo_tsg *tsg)
{
	struct fifo_channel *channel;

	fifo_for_each_channel(tsg, channel) {
		channel->untaken = channel->first;
		channel->room = tsg->ring;
	}
}

/*
 * When had so many kernels of a channel's first burst ended? It has executed without a break
 * since the last look. 0: before that look, or never.
 */
static u64 channel_date_of_end(const struct fifo_channel *channel, u64 ended)
{
	const struct fifo_burst *burst = channel->first;
	u32 speed = burst->speed_ppm ? burst->speed_ppm : FIFO_ALL_PPM;
	u64 since;

	if (burst->graph || ended <= burst->seen_kernels || ended > burst->done_kernels)
		return 0;
	since = burst->done_ns - ended * burst->kernel_ns;
	return eng_now() - fifo_mul_div(since, FIFO_ALL_PPM, speed);
}

/*
 * All launches of a burst have found room, and leave as much as the channel has now. Its last
 * one needed the end of the kernel that is a ring before it.
 */
static void burst_end_launching(struct fifo_burst *burst, const struct fifo_channel *channel)
{
	u64 done = channel->first->done_kernels, date = 0;

	if (done > channel->room)
		date = channel_date_of_end(channel, done - channel->room);
	if (burst->launch_start_ns + burst->kernels * burst->launch_ns < date)
		burst->launch_start_ns = date - burst->kernels * burst->launch_ns;
}

/*
 * There is not enough room for a burst: the host thread stands within it,
 * or has not reached it.
 */
static void burst_stop_launching(struct fifo_burst *burst, const struct fifo_channel *channel)
{
	u64 launched = burst->graph ? 0 : burst->done_kernels + channel->room;

	if (burst_launched(burst, eng_now()) <= launched)
		return;
	/* The kernel that is next was there already. */
	if (launched) {
		burst->moved_ready_ns = burst_ready_since(burst);
		burst->moved_kernel = burst->done_kernels + 1;
	}
	burst->launch_start_ns = eng_now() - launched * burst->launch_ns;
}

void tsg_bound_launches(struct fifo_tsg *tsg)
{
	struct fifo_channel *channel;
	struct fifo_burst *burst;
	bool stands = false;
	u64 free_ns = 0; /* when the thread has launched the bursts before */

	if (!tsg->ring || tsg->submitted - tsg->ended_kernels <= tsg->ring)
		return;
	tsg_take_none(tsg);
	while ((burst = tsg_take_next(tsg, &channel))) {
		u64 places = burst->graph ? 1 : burst->kernels - burst->done_kernels;

		burst->launch_start_ns = max(burst->launch_start_ns, free_ns);
		if (!stands && places <= channel->room) {
			channel->room -= (u32)places;
			burst_end_launching(burst, channel);
		} else if (!stands) {
			burst_stop_launching(burst, channel);
			stands = true;
		}
		free_ns = burst_launch_end_ns(burst);
	}
	tsg->launch_end_ns = max(tsg->launch_end_ns, free_ns);
	fifo_for_each_channel(tsg, channel)
		if (channel->first)
			channel->first->seen_kernels = channel->first->done_kernels;
}
