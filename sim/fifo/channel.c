// SPDX-License-Identifier: MIT OR GPL-2.0
/* The channels of a TSG; see channel.h, and fifo.h for the rules. */
#include "fifo/channel.h"

#include "fifo/burst.h"
#include "fifo/memory.h"

/*
 * The channel whose first burst is ready first; of several that are ready, the next one in
 * turn.
 */
static struct fifo_channel *tsg_next_channel(const struct fifo_tsg *tsg)
{
	struct fifo_channel *channel = tsg->current, *next = channel;
	u64 earliest = ENG_NEVER;

	do {
		u64 ready;

		channel = channel->next;
		if (!channel->first)
			continue;
		ready = burst_ready_date(channel->first, eng_now());
		if (!next->first || ready < earliest) {
			next = channel;
			earliest = ready;
		}
	} while (channel != tsg->current);
	return next;
}

void tsg_choose_channel(struct fifo_tsg *tsg)
{
	const struct fifo_burst *burst = tsg->first;
	bool stays = burst && burst == tsg->current->first;

	/* Most TSGs have one channel. */
	if (tsg->main.next == &tsg->main)
		stays = true;
	else if (stays)
		stays = tsg->stalled || burst_is_at_end(burst) ||
			burst_ready_date(burst, eng_now()) <= eng_now() ||
			(tsg->loaded && tsg_is_faulting(tsg));
	if (!stays)
		tsg->current = tsg_next_channel(tsg);
	tsg->first = tsg->current->first;
}

u64 tsg_turn_date(const struct fifo_tsg *tsg)
{
	u64 now = eng_now(), others = ENG_NEVER;

	if (tsg->main.next == &tsg->main || !tsg->first || tsg->stalled ||
	    burst_is_at_end(tsg->first) || tsg_is_faulting(tsg))
		return ENG_NEVER;
	for (const struct fifo_channel *channel = tsg->current->next; channel != tsg->current;
	     channel = channel->next)
		if (channel->first)
			others = min(others, burst_ready_date(channel->first, now));
	if (others == ENG_NEVER || tsg_work_date(tsg) > now)
		return others;
	return max(others, burst_dry_date(tsg->first, now));
}
