// SPDX-License-Identifier: MIT OR GPL-2.0
/* What the TSGs of a partition get of its SMs and bandwidth; see fifo.h for the rules. */
#include "fifo/partition.h"

#include "fifo/burst.h"
#include "fifo/memory.h"
#include "fifo/runlist.h"

/* The part @ppm of @whole. */
static u32 part_of(u32 whole, u32 ppm)
{
	return (u32)((u64)whole * ppm / FIFO_ALL_PPM);
}

/* Does a loaded TSG execute, or wait for its faults, right now? */
static bool tsg_is_active(const struct fifo_tsg *tsg)
{
	return tsg->first && !tsg->entry->runlist->switching &&
	       (tsg->stalled || tsg_work_date(tsg) <= eng_now());
}

/* The number of loaded TSGs that have a burst, whether or not its next kernel is launched. */
static u32 partition_count_busy(const struct fifo_partition *partition)
{
	const struct fifo_tsg *tsg;
	u32 busy = 0;

	fifo_for_each_loaded(partition->runlist.current, tsg)
		busy += tsg->first != NULL;
	return busy;
}

/*
 * Max-min: share @total among @count users that want @wants, and replace each want by its
 * share. Users that want no more than an equal share of the rest get all they want. When no
 * such user is left, the others get equal shares, in whole ppm.
 */
static void share_max_min(u32 total, u32 *wants, u32 count)
{
	u64 satisfied = 0; /* set of the users that have got all they want */
	u32 left = count;
	bool again = true;

	while (again && left) {
		u32 equal = total / left;

		again = false;
		for (u32 i = 0; i < count && left; i++) {
			if (satisfied & 1ull << i || wants[i] > equal)
				continue;
			satisfied |= 1ull << i;
			total -= wants[i];
			left--;
			again = true;
		}
	}
	for (u32 i = 0; i < count; i++)
		if (!(satisfied & 1ull << i))
			wants[i] = total / left;
}

/* What one kernel of a partition is given. */
struct partition_claim {
	struct fifo_burst *burst;
	u32 fills; /* SMs that its kernel can fill */
	bool stalled;
};

/* The claims of the kernels that are on the SMs. Returns their number. */
static u32 partition_collect(const struct fifo_partition *partition,
			     struct partition_claim *claims, u32 *ret_sms)
{
	/* A burst without neighbours is planned ahead through the gaps between its kernels. */
	bool alone = partition_count_busy(partition) == 1;
	const struct fifo_tsg *tsg;
	u32 count = 0;

	fifo_for_each_loaded(partition->runlist.current, tsg) {
		struct fifo_burst *burst = tsg->first;
		u32 fills;

		if (!burst)
			continue;
		burst->speed_ppm = 0;
		if (!alone && !tsg_is_active(tsg))
			continue;
		fills = burst->sm_ppm ? burst->sm_ppm : FIFO_ALL_PPM;
		claims[count] = (struct partition_claim){ burst, fills, tsg->stalled };
		ret_sms[count++] = min(fills, tsg->sm_limit_ppm);
	}
	return count;
}

/* Give each kernel on the partition the speed that its shares permit. */
static void partition_set_speeds(struct fifo_partition *partition)
{
	struct partition_claim claims[FIFO_CHANNELS_MAX];
	u32 sms[FIFO_CHANNELS_MAX], bandwidth[FIFO_CHANNELS_MAX];
	const struct fifo_share *share = &partition->share;
	u32 count = partition_collect(partition, claims, sms);

	/* A kernel without neighbours that can have all it wants, as in time slicing. */
	if (count == 1 && sms[0] == claims[0].fills && sms[0] <= share->sm_ppm &&
	    claims[0].burst->bandwidth_ppm <= share->bandwidth_ppm)
		return;
	share_max_min(share->sm_ppm, sms, count);
	for (u32 i = 0; i < count; i++) {
		sms[i] = (u32)((u64)sms[i] * FIFO_ALL_PPM / claims[i].fills);
		bandwidth[i] =
			claims[i].stalled ? 0 : part_of(claims[i].burst->bandwidth_ppm, sms[i]);
	}
	share_max_min(share->bandwidth_ppm, bandwidth, count);
	for (u32 i = 0; i < count; i++) {
		struct fifo_burst *burst = claims[i].burst;
		u32 speed = sms[i];

		if (bandwidth[i] < part_of(burst->bandwidth_ppm, speed))
			speed = (u32)((u64)bandwidth[i] * FIFO_ALL_PPM / burst->bandwidth_ppm);
		burst->speed_ppm = max(speed, 1u);
	}
}

/*
 * The next date at which a loaded TSG's burst begins or ends a gap, which changes others'
 * shares.
 */
static u64 tsg_gap_date(const struct fifo_tsg *tsg)
{
	u64 now = eng_now(), ready;

	if (tsg->stalled || tsg->entry->runlist->switching)
		return ENG_NEVER;
	ready = tsg_work_date(tsg);
	return ready > now ? ready : burst_dry_date(tsg->first, now);
}

void partition_plan(struct fifo_partition *partition)
{
	struct fifo_runlist *runlist = &partition->runlist;
	const struct fifo_tsg *tsg;
	u64 date;

	runlist_decide(runlist);
	partition_set_speeds(partition);
	date = runlist_next_date(runlist);
	if (partition_count_busy(partition) > 1) {
		fifo_for_each_loaded(runlist->current, tsg)
			date = min(date, tsg_gap_date(tsg));
	}
	if (date == ENG_NEVER)
		eng_timer_cancel(&partition->timer);
	else
		eng_timer_set(&partition->timer, date);
}

static void partition_fire(struct eng_timer *timer)
{
	struct fifo_partition *partition = container_of(timer, struct fifo_partition, timer);
	struct fifo_runlist *runlist = &partition->runlist;

	runlist_update(runlist);
	if (runlist->switching && runlist->switch_end_ns <= eng_now()) {
		runlist->switching = false;
		runlist_start_slice(runlist);
	}
	partition_plan(partition);
}

void partition_init(struct fifo_partition *partition, struct fifo *fifo,
		    const struct fifo_share *share)
{
	GVM_ASSERT(share->sm_ppm && share->sm_ppm <= FIFO_ALL_PPM);
	GVM_ASSERT(share->bandwidth_ppm && share->bandwidth_ppm <= FIFO_ALL_PPM);
	*partition = (struct fifo_partition){ .fifo = fifo, .share = *share };
	partition->timer.fire = partition_fire;
	partition->runlist.partition = partition;
	partition->runlist.updated_ns = eng_now();
	if (share->in_space)
		runlist_add(&partition->runlist, &partition->space);
}

void partition_add(struct fifo_partition *partition, struct fifo_tsg *tsg,
		   struct fifo_entry *server, u32 limit_ppm)
{
	tsg->sm_limit_ppm = part_of(partition->share.sm_ppm, limit_ppm);
	if (!server && partition->share.in_space)
		server = &partition->space;
	entry_join(server ? server : &tsg->own, tsg);
	if (!server)
		runlist_add(&partition->runlist, &tsg->own);
}

void partition_remove(struct fifo_tsg *tsg)
{
	if (tsg->entry == &tsg->own)
		runlist_remove(&tsg->own);
	else
		entry_leave(tsg);
}
